"""Middlebury 2014, 2021 and the version 3 evaluation kit: floating-point ground truth with a `calib.txt` each."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from stereogauge.datasets.calibration import read_middlebury_calibration
from stereogauge.datasets.declaration import Archive, DatasetFamily
from stereogauge.datasets.layout import MIDDLEBURY_TERMS, first_file, in_order, png_size, subfolders, wrong_folder
from stereogauge.errors import DatasetError
from stereogauge.io.files import DisparityFile, ImageFile, MaskFile
from stereogauge.model import Calibration, Dataset, Scene

RESOLUTIONS = {"Q": 0.25, "H": 0.5, "F": 1.0}
TRAINING_ORDER = (
    *("Adirondack", "ArtL", "Jadeplant", "Motorcycle", "MotorcycleE", "Piano", "PianoL", "Pipes", "Playroom"),
    *("Playtable", "PlaytableP", "Recycle", "Shelves", "Teddy", "Vintage"),
)
SCENES_2014 = (
    *("Adirondack", "Backpack", "Bicycle1", "Cable", "Classroom1", "Couch", "Flowers", "Jadeplant", "Mask"),
    *("Motorcycle", "Piano", "Pipes", "Playroom", "Playtable", "Recycle", "Shelves", "Shopvac", "Sticks"),
    *("Storage", "Sword1", "Sword2", "Umbrella", "Vintage"),
)
_SITE = "https://vision.middlebury.edu/stereo"
_GCPR = (
    "D. Scharstein, H. Hirschmüller, Y. Kitajima, G. Krathwohl, N. Nešić, X. Wang and P. Westling, High-resolution "
    "stereo datasets with subpixel-accurate ground truth, GCPR 2014."
)


def pair_scene(
    scene_id: str,
    folder: Path,
    dataset: str,
    *,
    truth: Path | None,
    truth_right: Path | None,
    right: str = "im1.png",
    resolution: float | None = None,
) -> Scene:
    """A scene of im0.png, im1.png, calib.txt and PFM ground truth (+inf = unknown), with its `mask0nocc.png` where
    there is one.

    In that mask 255 is visible in both views, 128 is occluded, 0 is unknown.
    """
    beside = folder if truth is None else truth.parent
    mask = first_file(beside, "mask0nocc.png") or first_file(folder, "mask0nocc.png")
    calibration = first_file(folder, "calib.txt")
    return Scene(
        scene_id,
        gt=None if truth is None else DisparityFile(truth, encoding="pfm"),
        gt_right=None if truth_right is None else DisparityFile(truth_right, encoding="pfm"),
        left=ImageFile(folder / "im0.png"),
        right=ImageFile(folder / right),
        calibration=Calibration()
        if calibration is None
        else read_middlebury_calibration(calibration, png_size(folder / "im0.png")),
        masks={} if mask is None else {"nonocc": MaskFile(mask, value=255), "occluded": MaskFile(mask, value=128)},
        dataset=dataset,
        resolution=resolution,
    )


def _has_pair(folder: Path, right: str = "im1.png") -> bool:
    """Whether both images are there; one alone is a damaged scene, except under another exposure or light."""
    missing = [name for name in ("im0.png", right) if not (folder / name).is_file()]
    if len(missing) == 1 and right == "im1.png":
        raise DatasetError(
            f"{folder} lacks {missing[0]}; put it there, or move the folder away to leave the scene out."
        )
    return not missing


def load_v3(root: Path, variant: str, *, split: str = "training", **options: Any) -> Dataset:
    """The evaluation kit in one resolution; without a variant the smallest that is there."""
    if split not in ("training", "test"):
        raise DatasetError(f"The split of middlebury-v3 is 'training' or 'test', not {split!r}.")
    bases = [root, root / "MiddEval3"]
    named = {f"{split}{letter}": letter for letter in ([variant] if variant else RESOLUTIONS)}
    places = [(base / name, letter) for base in bases for name, letter in named.items()]
    places += [(root, letter) for name, letter in named.items() if root.name == name]
    folder, letter = next(((place, letter) for place, letter in places if place.is_dir()), (None, ""))
    folders = {} if folder is None else {entry.name: entry for entry in subfolders(folder) if _has_pair(entry)}
    if not folders:
        raise wrong_folder(
            "middlebury-v3",
            root,
            f"{', '.join(f'{name}/' for name in named)} with SCENE/{{im0.png, im1.png, disp0GT.pfm, calib.txt}}",
        )
    title = f"middlebury-v3:{letter}"
    scenes = [
        pair_scene(
            name,
            folders[name],
            title,
            truth=first_file(folders[name], "disp0GT.pfm"),
            truth_right=first_file(folders[name], "disp1GT.pfm"),
            resolution=RESOLUTIONS[letter],
        )
        for name in in_order(folders, TRAINING_ORDER)
    ]
    return Dataset(title, scenes, version=letter, root=root)


def load(root: Path, variant: str, *, name: str) -> Dataset:
    """Scene folders with im0.png, im1.png, disp0.pfm, disp1.pfm and calib.txt, in `root` or its `data` folder.

    The variants E and L take the right image with other exposure or lighting.
    """
    title, right = f"{name}:{variant}" if variant else name, f"im1{variant}.png"
    for base in (root, root / "data", root / "datasets"):
        scenes = [
            pair_scene(
                folder.name.removesuffix("-perfect"),
                folder,
                title,
                truth=first_file(folder, "disp0.pfm"),
                truth_right=first_file(folder, "disp1.pfm"),
                right=right,
            )
            for folder in subfolders(base)
            if _has_pair(folder, right) and first_file(folder, "disp0.pfm")
        ]
        if scenes:
            return Dataset(title, scenes, root=root)
    raise wrong_folder(name, root, f"SCENE/{{im0.png, {right}, disp0.pfm, disp1.pfm, calib.txt}}")


MIDDLEBURY_V3 = DatasetFamily(
    id="middlebury-v3",
    name="Middlebury evaluation, version 3",
    layout=(
        "trainingQ/, trainingH/ or trainingF/ (also below MiddEval3/) with SCENE/{im0.png, im1.png, disp0GT.pfm, "
        "mask0nocc.png, calib.txt} and "
        "optionally disp1GT.pfm"
    ),
    terms=MIDDLEBURY_TERMS,
    citation=_GCPR,
    obtain=f"`stereogauge datasets fetch middlebury-v3:Q` or {_SITE}/submit3/.",
    load=load_v3,
    variants={"Q": "quarter size", "H": "half size", "F": "full size"},
    options={"split": "training (default) or test, which has no ground truth"},
    archives={
        letter: tuple(Archive(f"{_SITE}/submit3/zip/MiddEval3-{part}-{letter}.zip") for part in ("data", "GT0", "GT1"))
        for letter in RESOLUTIONS
    },
    homepage=f"{_SITE}/eval3/",
)
MIDDLEBURY_2014 = DatasetFamily(
    id="middlebury-2014",
    name="Middlebury 2014",
    layout="SCENE/ or SCENE-perfect/ with im0.png, im1.png (im1E.png, im1L.png), disp0.pfm, disp1.pfm, calib.txt",
    terms=MIDDLEBURY_TERMS,
    citation=_GCPR,
    obtain=f"`stereogauge datasets fetch middlebury-2014` or {_SITE}/data/scenes2014/.",
    load=functools.partial(load, name="middlebury-2014"),
    variants={"E": "right image with other exposure", "L": "right image with other lighting"},
    archives={"": tuple(Archive(f"{_SITE}/data/scenes2014/zip/{scene}-perfect.zip") for scene in SCENES_2014)},
    homepage=f"{_SITE}/data/scenes2014/",
)
MIDDLEBURY_2021 = DatasetFamily(
    id="middlebury-2021",
    name="Middlebury 2021 mobile",
    layout="SCENE/ (also below data/) with im0.png, im1.png, disp0.pfm, disp1.pfm, calib.txt",
    terms=MIDDLEBURY_TERMS,
    citation=(
        "G. Pan, T. Sun, T. Weed and D. Scharstein, 2021 Mobile stereo datasets with ground truth, Middlebury College."
    ),
    obtain=f"`stereogauge datasets fetch middlebury-2021` or {_SITE}/data/scenes2021/.",
    load=functools.partial(load, name="middlebury-2021"),
    archives={"": (Archive(f"{_SITE}/data/scenes2021/zip/all.zip"),)},
    homepage=f"{_SITE}/data/scenes2021/",
)
