"""The real Motorcycle pair that scikit-image ships: images and ground truth without any download.

Motorcycle is the imperfectly rectified version of the Middlebury 2014 scene at a quarter of its size, 741 × 500.
scikit-image publishes its calibration: f = 994.978 px, doffs = 31.086 px, baseline 193.001 mm. Pixels without ground
truth are +inf in the file. The number of disparities is that of the scene in the quarter-size evaluation kit.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.errors import DatasetError
from stereogauge.io.files import DisparityFile, ImageFile
from stereogauge.model import Calibration, Dataset, Scene

MOTORCYCLE_CALIBRATION = Calibration(focal=994.978, baseline=0.193001, doffs=31.086, ndisp=70)


def load_motorcycle(root: Path | None, variant: str, **options: Any) -> Dataset:
    """One scene, `motorcycle`, from the files of the installed scikit-image."""
    folder = Path(str(files("skimage"))) / "data"
    paths = {name: folder / f"motorcycle_{name}" for name in ("left.png", "right.png", "disp.npz")}
    missing = [str(path) for path in paths.values() if not path.is_file()]
    if missing:
        raise DatasetError(f"The installed scikit-image does not carry the Motorcycle pair: {missing[0]} is missing.")
    scene = Scene(
        "motorcycle",
        gt=DisparityFile(paths["disp.npz"], encoding="npz"),
        left=ImageFile(paths["left.png"]),
        right=ImageFile(paths["right.png"]),
        calibration=MOTORCYCLE_CALIBRATION,
        dataset="motorcycle",
        resolution=0.25,
        metadata={"source": "Middlebury 2014, Motorcycle-imperfect, through scikit-image"},
    )
    return Dataset("motorcycle", [scene], root=folder)


MOTORCYCLE = DatasetFamily(
    id="motorcycle",
    name="Motorcycle (Middlebury 2014, built in)",
    layout="none: the files come with scikit-image",
    terms=(
        "Middlebury grants permission to use and publish all images and disparity maps, with the request to cite the "
        "paper."
    ),
    citation=(
        "D. Scharstein, H. Hirschmüller, Y. Kitajima, G. Krathwohl, N. Nešić, X. Wang and P. Westling, High-resolution "
        "stereo datasets with subpixel-accurate ground truth, GCPR 2014."
    ),
    obtain="it is installed already.",
    load=load_motorcycle,
    needs_root=False,
    homepage="https://vision.middlebury.edu/stereo/data/scenes2014/",
)
