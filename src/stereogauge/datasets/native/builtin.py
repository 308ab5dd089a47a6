"""Datasets without a folder: the Motorcycle pair that scikit-image ships, and rendered scenes.

Motorcycle is the imperfectly rectified version of the Middlebury 2014 scene at a quarter of its size, 741 × 500.
scikit-image publishes its calibration: f = 994.978 px, doffs = 31.086 px, baseline 193.001 mm. Pixels without ground
truth are +inf in the file. The number of disparities is that of the scene in the quarter-size evaluation kit.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import MIDDLEBURY_PAPER, MIDDLEBURY_TERMS
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.datasets.synthetic.scene import PRESETS
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
        raise DatasetError(f"The installed scikit-image does not contain the Motorcycle pair: {missing[0]} is missing.")
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
    terms=MIDDLEBURY_TERMS,
    citation=MIDDLEBURY_PAPER,
    obtain="it is installed already.",
    load=load_motorcycle,
    needs_root=False,
    homepage="https://vision.middlebury.edu/stereo/data/scenes2014/",
    threshold=2.0,
)


def _load(
    root: Path | None,
    variant: str,
    *,
    seed: int | str = 0,
    size: tuple[int, int] | str = (480, 640),
    scenes: int | str = 1,
    views: tuple[float, ...] = (),
) -> Dataset:
    if root is not None:
        raise DatasetError(f"The synthetic dataset has no folder; found {root}.")
    return load_synthetic(variant or "mixed", seed=int(seed), size=_size(size), scenes=int(scenes), views=views)


def _size(size: tuple[int, int] | str) -> tuple[int, int]:
    """(height, width), or its spelling WIDTHxHEIGHT."""
    if not isinstance(size, str):
        return size
    width, _, height = size.lower().partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise DatasetError(f"A size is written WIDTHxHEIGHT, for example 640x480; found {size!r}.")
    return int(height), int(width)


SYNTHETIC = DatasetFamily(
    id="synthetic",
    name="Synthetic worlds",
    layout="none: scenes are rendered",
    terms="made by this program",
    citation="none needed",
    obtain="nothing to obtain",
    load=_load,
    variants={
        **{preset.id: preset.description for preset in PRESETS.values()},
        "all": "one scene of each preset",
    },
    options={
        "seed": "the first scene's seed (0)",
        "size": "(height, width), or the text WIDTHxHEIGHT (640x480)",
        "scenes": "how many seeds (1)",
        "views": "positions of further images on the baseline",
    },
    needs_root=False,
)
