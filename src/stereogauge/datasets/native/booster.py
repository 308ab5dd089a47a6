"""Booster: indoor scenes with transparent and specular surfaces, each under several lights."""

from __future__ import annotations

from pathlib import Path

from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import first_file, subfolders, wrong_folder
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile, ImageFile, MaskFile
from stereogauge.model import Calibration, Dataset, Scene
from stereogauge.opencv import cv2

MATERIALS = 4
RIGHT_CAMERAS = {"balanced": "02", "unbalanced": "01"}
_MILLIMETRE = 1e-3


def load(root: Path, variant: str) -> Dataset:
    """Every image of every scene that has ground truth; the lights of a scene share it."""
    setup = variant or "balanced"
    title = "booster" if setup == "balanced" else "booster:unbalanced"
    places = [root, root / setup, root / "train" / setup]
    scenes = [scene for place in places for folder in subfolders(place) for scene in _scenes(folder, setup, title)]
    if not scenes:
        raise wrong_folder(
            title,
            root,
            f"train/{setup}/SCENE/ with camera_00/, camera_{RIGHT_CAMERAS[setup]}/ and disp_00.npy, here or further in",
        )
    return Dataset(title, scenes, version=setup, root=root)


def _scenes(folder: Path, setup: str, dataset: str) -> list[Scene]:
    camera = RIGHT_CAMERAS[setup]
    truth, others = folder / "disp_00.npy", folder / f"camera_{camera}"
    if not truth.is_file() or not others.is_dir():
        return []
    right_truth = first_file(folder, f"disp_{camera}.npy")
    visible, classes = first_file(folder, "mask_00.png"), first_file(folder, "mask_cat.png")
    masks = {} if visible is None else {"nonocc": MaskFile(visible)}
    if classes is not None:
        masks |= {f"class-{number}": MaskFile(classes, value=number) for number in range(MATERIALS)}
    return [
        Scene(
            f"{folder.name}-{left.stem}",
            gt=DisparityFile(truth, encoding="npy"),
            gt_right=None if right_truth is None else DisparityFile(right_truth, encoding="npy"),
            left=ImageFile(left),
            right=ImageFile(others / left.name),
            calibration=_calibration(folder / f"calib_00-{camera}.xml"),
            masks=masks,
            dataset=dataset,
            metadata={} if classes is None else {"classes": str(classes)},
        )
        for left in sorted((folder / "camera_00").glob("*.png"))
        if (others / left.name).is_file()
    ]


def _calibration(path: Path) -> Calibration:
    """f of the rectified left camera in px and the baseline, stored in millimetres; none without the file."""
    if not path.is_file():
        return Calibration()
    try:
        stored = cv2.FileStorage(str(path), cv2.FILE_STORAGE_READ)
        matrix, baseline = stored.getNode("proj_matL").mat(), stored.getNode("baselineLR").real()
        stored.release()
    except (cv2.error, SystemError):
        matrix = None
    if matrix is None or matrix[0, 0] <= 0 or not baseline:
        raise FileError(f"{path} is not a calibration of Booster: it has no proj_matL or baselineLR.")
    return Calibration(focal=float(matrix[0, 0]), baseline=abs(float(baseline)) * _MILLIMETRE)


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
    load=load,
    variants={"balanced": "two cameras of 12 MP (default)", "unbalanced": "12 MP on the left, 1.1 MP on the right"},
    homepage="https://cvlab-unibo.github.io/booster-web",
)
