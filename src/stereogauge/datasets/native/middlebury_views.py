"""Middlebury 2005 and 2006: seven views a scene, of which view1 and view5 are the pair with ground truth.

8-bit ground truth, 0 = unknown: d = value / s with s = 1, 2, 3 in full, half and third size. Published for both sets: f
= 3740 px at full size, baseline 160 mm; the images are cropped, and `dmin.txt` holds the pixels (of full size) to add
to a disparity for depth.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from stereogauge.datasets.declaration import Archive, DatasetFamily
from stereogauge.datasets.layout import MIDDLEBURY_TERMS, first_file, image, subfolders, wrong_folder
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile, ImageFile
from stereogauge.model import Calibration, Dataset, Scene

SIZES = {"FullSize": 1, "HalfSize": 2, "ThirdSize": 3}
FOCAL_LENGTH = 3740.0
BASELINE = 0.160
_PAIR = (1, 5)
SCENES_2005 = ("Art", "Books", "Dolls", "Laundry", "Moebius", "Reindeer")
SCENES_2006 = (
    *("Aloe", "Baby1", "Baby2", "Baby3", "Bowling1", "Bowling2", "Cloth1", "Cloth2", "Cloth3", "Cloth4", "Flowerpots"),
    *("Lampshade1", "Lampshade2", "Midd1", "Midd2", "Monopoly", "Plastic", "Rocks1", "Rocks2", "Wood1", "Wood2"),
)
_SITE = "https://vision.middlebury.edu/stereo/data"


def _scene(folder: Path, divisor: int, dataset: str) -> Scene | None:
    files = [image(folder, stem) for stem in ("view1", "view5", "disp1")]
    if None in files:
        return None
    left, right, truth = (path for path in files if path is not None)
    right_truth = image(folder, "disp5")
    offset = _crop_offset(folder, divisor)
    metadata: dict[str, Any] = {"scale": float(divisor)}
    if offset is None:
        metadata["calibration"] = "dmin.txt is missing, so metric depth is unknown"
    return Scene(
        folder.name,
        gt=DisparityFile(truth, encoding="middlebury", scale=divisor),
        left=ImageFile(left),
        right=ImageFile(right),
        gt_right=None if right_truth is None else DisparityFile(right_truth, encoding="middlebury", scale=divisor),
        calibration=Calibration(
            focal=FOCAL_LENGTH / divisor,
            baseline=None if offset is None else BASELINE,
            doffs=0.0 if offset is None else offset,
        ),
        views=_further_views(folder),
        dataset=dataset,
        resolution=1.0 / divisor,
        metadata=metadata,
    )


def _further_views(folder: Path) -> dict[float, ImageFile]:
    first, last = _PAIR
    found = {
        (number - first) / (last - first): image(folder, f"view{number}") for number in range(7) if number not in _PAIR
    }
    return {position: ImageFile(path) for position, path in found.items() if path is not None}


def _crop_offset(folder: Path, divisor: int) -> float | None:
    path = first_file(folder, "dmin.txt")
    if path is None:
        return None
    text = path.read_text(encoding="utf-8", errors="replace").strip()
    try:
        return float(text) / divisor
    except ValueError:
        raise FileError(
            f"{path} should hold one number, the disparity offset in pixels; found {text[:40]!r}."
        ) from None


def _sized_folder(root: Path, variant: str, name: str) -> tuple[Path, str]:
    """The folder that holds the scenes, and its size: FullSize where neither variant nor path states another."""
    if variant and (root / variant).is_dir():
        return root / variant, variant
    inside = next((size for size in SIZES if (root / size).is_dir()), None)
    if not variant and inside:
        return root / inside, inside
    stated = root.name if root.name in SIZES else None
    if variant and stated not in (None, variant):
        raise wrong_folder(f"{name}:{variant}", root, f"the folder {variant}/")
    return root, variant or stated or "FullSize"


def load(root: Path, variant: str, *, name: str, **options: Any) -> Dataset:
    """All scenes of one size, by name."""
    folder, size = _sized_folder(root, variant, name)
    title = f"{name}:{size}"
    scenes = [scene for entry in subfolders(folder) if (scene := _scene(entry, SIZES[size], title))]
    if not scenes:
        raise wrong_folder(
            name, root, "FullSize/, HalfSize/ or ThirdSize/ with scene folders that hold view1, view5 and disp1 (.png)"
        )
    return Dataset(title, scenes, version=size, root=root)


def _family(year: str, scenes: tuple[str, ...], citation: str) -> DatasetFamily:
    name = f"middlebury-{year}"
    return DatasetFamily(
        id=name,
        name=f"Middlebury {year}",
        layout="FullSize/, HalfSize/ or ThirdSize/ with SCENE/{view1.png, view5.png, disp1.png, disp5.png, dmin.txt}",
        terms=MIDDLEBURY_TERMS,
        citation=citation,
        obtain=f"`stereogauge datasets fetch {name}:HalfSize` or {_SITE}/scenes{year}/.",
        load=functools.partial(load, name=name),
        variants={size: f"disparities in pixels = value / {divisor}" for size, divisor in SIZES.items()},
        archives={
            size: tuple(
                Archive(f"{_SITE}/scenes{year}/{size}/zip-2views/{scene}-2views.zip", target=size) for scene in scenes
            )
            for size in ("HalfSize", "ThirdSize", "FullSize")
        },
        homepage=f"{_SITE}/scenes{year}/",
    )


_PAPERS = (
    "D. Scharstein and C. Pal, Learning conditional random fields for stereo, CVPR 2007. "
    "H. Hirschmüller and D. Scharstein, Evaluation of cost functions for stereo matching, CVPR 2007."
)
MIDDLEBURY_2005 = _family("2005", SCENES_2005, _PAPERS)
MIDDLEBURY_2006 = _family("2006", SCENES_2006, _PAPERS)
