"""Scene Flow: FlyingThings3D, Driving and Monkaa, rendered pairs with dense PFM ground truth of both views.

Nominal cameras as published: f = 1050 px (Driving with 15 mm lens: 450 px), baseline 1 scene unit, taken as metre.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import first_file, subfolders, wrong_folder
from stereogauge.errors import DatasetError
from stereogauge.io.files import DisparityFile, ImageFile, MaskFile
from stereogauge.model import Calibration, Dataset, Scene

FOCAL_LENGTH = 1050.0
SHORT_FOCAL_LENGTH = 450.0
_SUBSETS = ("FlyingThings3D", "Driving", "Monkaa")


def _frames_folder(base: Path, rendering: str) -> Path | None:
    names = (f"frames_{rendering}pass", f"RGB_{rendering}pass", f"image_{rendering}")
    return next((base / name for name in names if (base / name).is_dir()), None)


def _scene(base: Path, frames: Path, truth: Path, dataset: str, prefix: str) -> Scene:
    """`truth` is …/left/NAME.pfm; images and the other view lie at the same place below their own folders."""
    below = truth.relative_to(base / "disparity")
    sides = [below.parent.parent / side / below.stem for side in ("left", "right")]
    left, right = (
        first_file(frames / side.parent, *(side.name + suffix for suffix in (".png", ".webp"))) for side in sides
    )
    truth_right = first_file(base / "disparity" / sides[1].parent, sides[1].name + ".pfm")
    occlusion = first_file(base / "occlusion" / sides[0].parent, sides[0].name + ".png")
    parts = (*prefix.split(), *below.parent.parent.parts, below.stem)
    return Scene(
        "-".join(parts),
        gt=DisparityFile(truth, encoding="pfm"),
        gt_right=None if truth_right is None else DisparityFile(truth_right, encoding="pfm"),
        left=None if left is None else ImageFile(left),
        right=None if right is None else ImageFile(right),
        calibration=Calibration(
            focal=SHORT_FOCAL_LENGTH if "15mm_focallength" in parts else FOCAL_LENGTH, baseline=1.0
        ),
        masks={}
        if occlusion is None
        else {"nonocc": MaskFile(occlusion, value=0), "occluded": MaskFile(occlusion, value=255)},
        dataset=dataset,
        metadata={"calibration": "nominal camera; the baseline is one scene unit"},
    )


def _scenes(base: Path, rendering: str, split: str, dataset: str, prefix: str) -> list[Scene]:
    frames, disparity = _frames_folder(base, rendering), base / "disparity"
    if frames is None or not disparity.is_dir():
        return []
    places = [place for place in (disparity / split,) if split] or [disparity]
    found = sorted(path for place in places for path in place.rglob("*.pfm") if path.parent.name == "left")
    return [_scene(base, frames, truth, dataset, prefix) for truth in found]


def load(root: Path, variant: str, *, split: str = "", **options: Any) -> Dataset:
    """Every frame below `root` or below its three subsets; clean pass unless the variant is `final`."""
    if split not in ("", "TRAIN", "TEST"):
        raise DatasetError(f"The split of sceneflow is 'TRAIN' or 'TEST', not {split!r}.")
    rendering = variant or "clean"
    title = "sceneflow" if rendering == "clean" else f"sceneflow:{rendering}"
    scenes = _scenes(root, rendering, split, title, "")
    known = {folder.name.lower(): folder for folder in subfolders(root)}
    for subset in _SUBSETS:
        if not scenes or subset.lower() in known:
            scenes += _scenes(known.get(subset.lower(), root / subset), rendering, split, title, subset)
    if not scenes:
        raise wrong_folder(
            "sceneflow",
            root,
            f"frames_{rendering}pass/ (or RGB_{rendering}pass/) and disparity/ with …/left/NAME.pfm, here or "
            f"below {', '.join(_SUBSETS)}",
        )
    return Dataset(title, scenes, version=rendering, root=root)


SCENEFLOW = DatasetFamily(
    id="sceneflow",
    name="Scene Flow (FlyingThings3D, Driving, Monkaa)",
    layout=(
        "frames_cleanpass/, frames_finalpass/ and disparity/ as unpacked, with …/left/NAME and …/right/NAME; here or "
        "below FlyingThings3D/, Driving/, Monkaa/; or flat as RGB_cleanpass/left/, disparity/left/, occlusion/left/"
    ),
    terms="For research, not for commercial use; the download page asks for agreement.",
    citation=(
        "N. Mayer, E. Ilg, P. Häusser, P. Fischer, D. Cremers, A. Dosovitskiy and T. Brox, A large dataset to train "
        "convolutional networks for disparity, optical flow, and scene flow estimation, CVPR 2016."
    ),
    obtain=(
        "read the terms and download frames (43 GB) and disparity (87 GB), or the small sampler, from "
        "https://lmb.informatik.uni-freiburg.de/resources/datasets/SceneFlowDatasets.en.html."
    ),
    load=load,
    variants={"clean": "clean pass (default)", "final": "final pass with blur"},
    options={"split": "TRAIN or TEST of FlyingThings3D; without it both"},
    homepage="https://lmb.informatik.uni-freiburg.de/resources/datasets/SceneFlowDatasets.en.html",
)
