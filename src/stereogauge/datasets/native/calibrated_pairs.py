"""Pairs with floating-point ground truth and a `calib.txt` each: Middlebury 2014 and 2021, its version 3, and ETH3D.

In the mask `mask0nocc.png` 255 is visible in both views, 128 is occluded, 0 is unknown.
"""

from __future__ import annotations

from dataclasses import replace

from stereogauge.datasets.calibration import read_middlebury_calibration
from stereogauge.datasets.declaration import Archive, DatasetFamily
from stereogauge.datasets.layout import MIDDLEBURY_TERMS, png_size
from stereogauge.datasets.scene_layout import FoundScene, SceneFolders, SceneLayout, without_truth
from stereogauge.io.files import DisparityFile, MaskFile
from stereogauge.model import Calibration

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
_FOLDER = "{folder}"


def _calibration(place: FoundScene) -> Calibration:
    """The scene's calib.txt, which must be for images of this size."""
    path, left = place.find(f"{_FOLDER}/calib.txt"), place.find(f"{_FOLDER}/im0.png")
    return Calibration() if path is None or left is None else read_middlebury_calibration(path, png_size(left))


def _pair(truth: str, truth_right: str, *, right: str = "im1.png", folders: tuple[str, ...] = ("",)) -> SceneLayout:
    """Pairs with ground truth of these names, beside the images or in folders of the same name below `folders`."""
    places = [f"{folder}{_FOLDER}" for folder in folders]

    def mask(value: int) -> tuple[MaskFile, ...]:
        return tuple(MaskFile(f"{place}/mask0nocc.png", value=value) for place in places)

    return SceneLayout(
        each=(f"{_FOLDER}/im0.png", f"{_FOLDER}/{right}"),
        id="{scene}",
        truth=tuple(DisparityFile(f"{place}/{truth}", encoding="pfm") for place in places),
        truth_right=DisparityFile(f"{_FOLDER}/{truth_right}", encoding="pfm") if truth_right else (),
        left=f"{_FOLDER}/im0.png",
        right=f"{_FOLDER}/{right}",
        masks={"nonocc": mask(255), "occluded": mask(128)},
        calibration=_calibration,
        derive=lambda place: {"scene": place.fields["folder"].removesuffix("-perfect")},
        needs=("left", "right"),
        pairs=lambda place: place.fields["variant"] not in ("E", "L"),  # few scenes have other light
    )


MIDDLEBURY_V3 = DatasetFamily(
    id="middlebury-v3",
    name="Middlebury evaluation, version 3",
    layout=(
        "trainingQ/, trainingH/ or trainingF/ (also below MiddEval3/) with SCENE/{im0.png, im1.png, disp0GT.pfm, "
        "mask0nocc.png, calib.txt} and optionally disp1GT.pfm"
    ),
    terms=MIDDLEBURY_TERMS,
    citation=_GCPR,
    obtain=f"`stereogauge datasets fetch middlebury-v3:Q` or {_SITE}/submit3/.",
    scenes=SceneFolders(
        replace(_pair("disp0GT.pfm", "disp1GT.pfm"), resolution=lambda place: RESOLUTIONS[place.fields["variant"]]),
        roots=("{split}{variant}", "MiddEval3/{split}{variant}", "../{split}{variant}"),
        choices={"split": ("training", "test")},
        order=TRAINING_ORDER,
    ),
    any_variant=True,
    names_default=True,
    variants={"Q": "quarter size", "H": "half size", "F": "full size"},
    options={"split": "training (default) or test, which has no ground truth"},
    archives={
        letter: tuple(Archive(f"{_SITE}/submit3/zip/MiddEval3-{part}-{letter}.zip") for part in ("data", "GT0", "GT1"))
        for letter in RESOLUTIONS
    },
    homepage=f"{_SITE}/eval3/",
    threshold=2.0,
)

_PERFECT = SceneFolders(
    replace(_pair("disp0.pfm", "disp1.pfm", right="im1{variant}.png"), needs=("gt", "left", "right")),
    roots=("", "data", "datasets"),
)
MIDDLEBURY_2014 = DatasetFamily(
    id="middlebury-2014",
    name="Middlebury 2014",
    layout="SCENE/ or SCENE-perfect/ with im0.png, im1.png (im1E.png, im1L.png), disp0.pfm, disp1.pfm, calib.txt",
    terms=MIDDLEBURY_TERMS,
    citation=_GCPR,
    obtain=f"`stereogauge datasets fetch middlebury-2014` or {_SITE}/data/scenes2014/.",
    scenes=_PERFECT,
    variants={"E": "right image with other exposure", "L": "right image with other lighting"},
    archives={"": tuple(Archive(f"{_SITE}/data/scenes2014/zip/{scene}-perfect.zip") for scene in SCENES_2014)},
    homepage=f"{_SITE}/data/scenes2014/",
    threshold=2.0,
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
    scenes=_PERFECT,
    archives={"": (Archive(f"{_SITE}/data/scenes2021/zip/all.zip"),)},
    homepage=f"{_SITE}/data/scenes2021/",
    threshold=2.0,
)
_ETH3D_PAIR = replace(
    _pair("disp0GT.pfm", "", folders=("", "two_view_training_gt/", "../two_view_training_gt/")),
    needs=("gt", "left", "right"),
    pairs=None,
)
ETH3D = DatasetFamily(
    id="eth3d",
    name="ETH3D low-resolution two-view",
    layout=(
        "SCENE/{im0.png, im1.png, calib.txt, disp0GT.pfm, mask0nocc.png}, as unpacked into two_view_training/ and "
        "two_view_training_gt/ or all in one"
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
    scenes=SceneFolders(
        (_ETH3D_PAIR, without_truth(_ETH3D_PAIR, f"{_FOLDER}/im0.png")),
        roots=("two_view_{split}", ""),
        choices={"split": ("training", "test")},
    ),
    options={"split": "training (default) or test, which has no ground truth"},
    homepage="https://www.eth3d.net/datasets#low-res-two-view",
    ndisp=64,
)
