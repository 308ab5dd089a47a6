"""Middlebury's 2001 and 2003 pairs and the version 2 evaluation on four of them.

Ground truth is 8-bit: d = value / scale, 0 = unknown; the scale belongs to the scene.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from stereogauge.datasets.declaration import Archive, DatasetFamily
from stereogauge.datasets.layout import MIDDLEBURY_TERMS, first_file, image, in_order, subfolders, wrong_folder
from stereogauge.io.files import DisparityFile, ImageFile, MaskFile
from stereogauge.model import Calibration, Dataset, Scene

EVALUATION_ORDER = ("tsukuba", "venus", "teddy", "cones")
SCALES: Mapping[str, float] = {
    **dict.fromkeys(("barn1", "barn2", "bull", "map", "poster", "sawtooth", "venus"), 8.0),
    "tsukuba": 16.0,
    "teddy": 4.0,
    "cones": 4.0,
    "teddyh": 2.0,
    "conesh": 2.0,
    "teddyf": 1.0,
    "conesf": 1.0,
}
_SCENES_2003 = {name for name in SCALES if name.startswith(("teddy", "cones"))}
BORDERS: Mapping[str, int] = {"tsukuba": 18, "venus": 10}
DISPARITIES: Mapping[str, int] = {"tsukuba": 16, "venus": 20, "sawtooth": 20, "map": 30, "teddy": 60, "cones": 60}
OFFICIAL_MASKS = ("nonocc", "all", "disc")
# (left image, right image, left ground truth, right ground truth), the first complete set that a folder holds counts.
FILE_NAMES = (
    ("im2", "im6", "groundtruth", "disp6"),
    ("im2", "im6", "disp2", "disp6"),
    ("im3", "im4", "groundtruth", ""),
    ("scene1.row3.col3", "scene1.row3.col4", "truedisp.row3.col3", ""),
    ("im0", "im1", "disp0", "disp1"),
)
_SITE = "https://vision.middlebury.edu/stereo/data"
_IJCV = (
    "D. Scharstein and R. Szeliski, A taxonomy and evaluation of dense two-frame stereo correspondence algorithms, "
    "IJCV 47(1/2/3):7-42, 2002."
)
_CVPR = "D. Scharstein and R. Szeliski, High-accuracy stereo depth maps using structured light, CVPR 2003."
_LOOKED_FOR = "scene folders ({}) with im2/im6 and groundtruth.png or disp2 (tsukuba: im3/im4 or scene1.row3.col3/col4)"


def _scene(folder: Path, dataset: str) -> Scene | None:
    known = folder.name.lower()
    scale = SCALES.get(known)
    if scale is None:
        return None
    for left, right, truth, truth_right in FILE_NAMES:
        pictures = [image(folder, stem) for stem in (left, right, truth)]
        if None in pictures:
            continue
        left_path, right_path, truth_path = (path for path in pictures if path is not None)
        right_truth = image(folder, truth_right) if truth_right else None
        masks = {name: path for name in OFFICIAL_MASKS if (path := first_file(folder, f"{name}.png"))}
        return Scene(
            folder.name,
            gt=DisparityFile(truth_path, encoding="middlebury", scale=scale),
            left=ImageFile(left_path),
            right=ImageFile(right_path),
            gt_right=None if right_truth is None else DisparityFile(right_truth, encoding="middlebury", scale=scale),
            calibration=Calibration(ndisp=DISPARITIES.get(known)),
            masks={name: MaskFile(path, value=255) for name, path in masks.items()},
            views=_further_views(folder, left),
            dataset=dataset,
            resolution=1.0 / scale if known in _SCENES_2003 else None,
            border=BORDERS.get(known, 0),
            metadata={"scale": scale},
        )
    return None


def _further_views(folder: Path, left: str) -> dict[float, ImageFile]:
    """The other images of the nine-view scenes; im2 lies at 0 and im6 at 1: one step is a quarter of the baseline."""
    if left != "im2":
        return {}
    found = {(index - 2) / 4: image(folder, f"im{index}") for index in (0, 1, 3, 4, 5, 7, 8)}
    return {position: ImageFile(path) for position, path in found.items() if path is not None}


def load(root: Path, variant: str, *, name: str, allowed: Collection[str], order: tuple[str, ...] = ()) -> Dataset:
    """The scenes whose lower-case names are `allowed`, those of `order` first."""
    here = [root] if root.name.lower() in allowed and image(root, "im2") else []
    folders = {folder.name: folder for folder in here or subfolders(root) if folder.name.lower() in allowed}
    scenes = [scene for scene_id in in_order(folders, order) if (scene := _scene(folders[scene_id], name))]
    if not scenes:
        raise wrong_folder(name, root, _LOOKED_FOR.format(", ".join(sorted(allowed))))
    return Dataset(name, scenes, root=root)


def _files(scene: str, names: Iterable[str]) -> tuple[Archive, ...]:
    return tuple(
        Archive(f"{_SITE}/scenes2001/data/{scene}/{name}", target=f"{scene}/{name}", unpack=False) for name in names
    )


_PLANAR = ("im2.ppm", "im6.ppm", "disp2.pgm", "disp6.pgm")
_PLANAR_SCENES = tuple(
    file for scene in ("barn1", "barn2", "bull", "poster", "sawtooth", "venus") for file in _files(scene, _PLANAR)
)
_TSUKUBA = _files("tsukuba", ("scene1.row3.col3.ppm", "scene1.row3.col4.ppm", "truedisp.row3.col3.pgm"))
_ARCHIVES_2003 = tuple(Archive(f"{_SITE}/scenes2003/newdata/{scene}/{scene}-png-2.zip") for scene in ("teddy", "cones"))

MIDDLEBURY_V2 = DatasetFamily(
    id="middlebury-v2",
    name="Middlebury evaluation, version 2",
    layout=(
        "tsukuba/ venus/ teddy/ cones/, each with im2, im6 (tsukuba: im3, im4), groundtruth.png or disp2, optionally "
        "disp6 and the official masks nonocc.png all.png disc.png, in which only the value 255 counts"
    ),
    terms=MIDDLEBURY_TERMS,
    citation=f"{_IJCV} {_CVPR} Tsukuba: courtesy of the University of Tsukuba.",
    obtain=f"`stereogauge datasets fetch middlebury-v2` or the pages {_SITE}/scenes2001/ and {_SITE}/scenes2003/.",
    load=functools.partial(load, name="middlebury-v2", allowed=EVALUATION_ORDER, order=EVALUATION_ORDER),
    archives={"": (*_TSUKUBA, *_files("venus", _PLANAR), *_ARCHIVES_2003)},
    homepage="https://vision.middlebury.edu/stereo/eval/",
)
MIDDLEBURY_2001 = DatasetFamily(
    id="middlebury-2001",
    name="Middlebury 2001",
    layout=(
        "barn1/ barn2/ bull/ map/ poster/ sawtooth/ tsukuba/ venus/ (any of them), each with im2, im6, disp2, disp6 "
        "as .ppm/.pgm or .png"
    ),
    terms=MIDDLEBURY_TERMS,
    citation=_IJCV,
    obtain=f"`stereogauge datasets fetch middlebury-2001` or {_SITE}/scenes2001/.",
    load=functools.partial(load, name="middlebury-2001", allowed=SCALES.keys() - _SCENES_2003),
    archives={"": (*_PLANAR_SCENES, *_files("map", ("im0.pgm", "im1.pgm", "disp0.pgm", "disp1.pgm")), *_TSUKUBA)},
    homepage=f"{_SITE}/scenes2001/",
)
MIDDLEBURY_2003 = DatasetFamily(
    id="middlebury-2003",
    name="Middlebury 2003",
    layout=(
        "teddy/ cones/ (quarter size; teddyH, conesH half, teddyF, conesF full size), each with im2, im6, disp2, disp6"
    ),
    terms=MIDDLEBURY_TERMS,
    citation=_CVPR,
    obtain=f"`stereogauge datasets fetch middlebury-2003` or {_SITE}/scenes2003/.",
    load=functools.partial(load, name="middlebury-2003", allowed=_SCENES_2003, order=("teddy", "cones")),
    archives={"": _ARCHIVES_2003},
    homepage=f"{_SITE}/scenes2003/",
)
