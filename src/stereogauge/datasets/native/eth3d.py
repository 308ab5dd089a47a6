"""ETH3D's low-resolution two-view benchmark: grey pairs with sparse laser ground truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import first_file, subfolders, wrong_folder
from stereogauge.datasets.native.middlebury_calibrated import pair_scene
from stereogauge.model import Dataset

IMAGES, TRUTH = "two_view_training", "two_view_training_gt"


def load(root: Path, variant: str, **options: Any) -> Dataset:
    """The training pairs; ground truth may lie beside the images or in its own archive's folder."""
    base = next(folder for folder in (root / IMAGES, root) if folder.is_dir())
    places = [base, root / TRUTH, root.parent / TRUTH]
    scenes = []
    for folder in subfolders(base):
        if not (folder / "im0.png").is_file() or not (folder / "im1.png").is_file():
            continue
        truth = next((path for place in places if (path := first_file(place / folder.name, "disp0GT.pfm"))), None)
        if truth is not None:
            scenes.append(pair_scene(folder.name, folder, "eth3d", truth=truth, truth_right=None))
    if not scenes:
        raise wrong_folder(
            "eth3d", root, f"{IMAGES}/SCENE/{{im0.png, im1.png, calib.txt}} and disp0GT.pfm there or in {TRUTH}/SCENE"
        )
    return Dataset("eth3d", scenes, root=root)


ETH3D = DatasetFamily(
    id="eth3d",
    name="ETH3D low-resolution two-view",
    layout=(
        f"SCENE/{{im0.png, im1.png, calib.txt, disp0GT.pfm, mask0nocc.png}}, as unpacked into {IMAGES}/ and {TRUTH}/ "
        f"or all in one"
    ),
    terms="Creative Commons BY-NC-SA 4.0.",
    citation=(
        "T. Schöps, J. L. Schönberger, S. Galliani, T. Sattler, K. Schindler, M. Pollefeys and A. Geiger, A multi-view "
        "stereo benchmark with high-resolution images and multi-camera videos, CVPR 2017."
    ),
    obtain=(
        "download https://www.eth3d.net/data/two_view_training.7z and two_view_training_gt.7z and unpack both with "
        "7-Zip into one folder (this program unpacks only zip and tar)."
    ),
    load=load,
    homepage="https://www.eth3d.net/datasets#low-res-two-view",
)
