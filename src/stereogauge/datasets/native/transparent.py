"""Scenes with glass and mirrors: Booster and LayeredFlow."""

from __future__ import annotations

from pathlib import Path

from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.scene_layout import SceneFolders, SceneLayout, ScenePlace
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile, LabelFile, MaskFile
from stereogauge.model import Calibration

_MILLIMETRE = 1e-3


def _booster_camera(path: Path) -> Calibration:
    """f of the rectified left camera in px and the baseline, stored in millimetres."""
    import cv2

    try:
        stored = cv2.FileStorage(str(path), cv2.FILE_STORAGE_READ)
        matrix, baseline = stored.getNode("proj_matL").mat(), stored.getNode("baselineLR").real()
        stored.release()
    except (cv2.error, SystemError):
        matrix = None
    if matrix is None or matrix[0, 0] <= 0 or not baseline:
        raise FileError(f"{path} is not a calibration of Booster: it has no proj_matL or baselineLR.")
    return Calibration(focal=float(matrix[0, 0]), baseline=abs(float(baseline)) * _MILLIMETRE)


def _booster_calibration(place: ScenePlace) -> Calibration:
    path = place.find("{scene}/calib_00-{camera}.xml")
    return Calibration() if path is None else place.once(_booster_camera, path)


def _classes(place: ScenePlace) -> dict[str, dict[str, str]]:
    path = place.find("{scene}/mask_cat.png")
    return {} if path is None else {"metadata": {"classes": str(path)}}


BOOSTER = DatasetFamily(
    id="booster",
    name="Booster",
    layout=(
        "train/balanced/SCENE/ with camera_00/ and camera_02/ (im0.png, im1.png, … one per light), disp_00.npy, "
        "disp_02.npy, mask_00.png, mask_cat.png, calib_00-02.xml; train/unbalanced/ with camera_01 likewise"
    ),
    terms="As stated with the download, for research.",
    citation=(
        "P. Zama Ramirez, A. Costanzino, F. Tosi, M. Poggi, S. Salti, S. Mattoccia and L. Di Stefano, Booster: a "
        "benchmark for depth from images of specular and transparent surfaces, TPAMI 2023 (first: CVPR 2022)."
    ),
    obtain="download the training set from https://amsacta.unibo.it/id/eprint/6876.",
    scenes=SceneFolders(
        SceneLayout(
            each="{scene}/camera_00/{light}.png",
            id="{scene}-{light}",
            truth=DisparityFile("{scene}/disp_00.npy", encoding="npy"),
            truth_right=DisparityFile("{scene}/disp_{camera}.npy", encoding="npy"),
            left="{scene}/camera_00/{light}.png",
            right="{scene}/camera_{camera}/{light}.png",
            masks={
                "nonocc": MaskFile("{scene}/mask_00.png"),
                **{f"class-{number}": MaskFile("{scene}/mask_cat.png", value=number) for number in range(4)},
            },
            calibration=_booster_calibration,
            details=_classes,
            needs=("gt", "right"),
        ),
        roots=("", "{variant}", "train/{variant}"),
        fields={"balanced": {"camera": "02"}, "unbalanced": {"camera": "01"}},
    ),
    default="balanced",
    variants={"balanced": "two cameras of 12 MP (default)", "unbalanced": "12 MP on the left, 1.1 MP on the right"},
    homepage="https://cvlab-unibo.github.io/booster-web",
)

MATERIALS = {"diffuse": 1, "transparent": 2, "reflective": 3}
LAYEREDFLOW = DatasetFamily(
    id="layeredflow",
    name="LayeredFlow",
    layout=(
        "val/SCENE/ with TIME_0.png and TIME_1.png (left, right; times 0 and 3), and, converted from gt.pickle, "
        "TIME_LAYER.npy and TIME_LAYER_material.png"
    ),
    terms="The code is under the BSD licence; the page states no other terms for the data.",
    citation=(
        "H. Wen, E. Liang and J. Deng, LayeredFlow: a real-world benchmark for non-Lambertian multi-layer optical "
        "flow, ECCV 2024."
    ),
    obtain=(
        "download the benchmark from https://layeredflow.cs.princeton.edu or through the link in "
        "https://github.com/princeton-vl/LayeredFlow, and convert the gt.pickle of its validation set as the page on "
        "your own data shows."
    ),
    scenes=SceneFolders(
        SceneLayout(
            id="{scene}-{time}",
            truth=DisparityFile("{scene}/{time}_{variant}.npy", encoding="npy"),
            left="{scene}/{time}_0.png",
            right="{scene}/{time}_1.png",
            masks={
                f"label:{name}": LabelFile("{scene}/{time}_{variant}_material.png", value)
                for name, value in MATERIALS.items()
            },
            needs=("gt", "left", "right"),
        ),
        roots=("", "val", "layeredflow/val"),
    ),
    default="first",
    variants={
        "first": "the surface seen first, glass included (default)",
        "second": "what is seen through one transparent surface",
        "third": "what is seen through two",
        "last": "the first surface that is not transparent, behind any number of others",
    },
    homepage="https://layeredflow.cs.princeton.edu",
)
