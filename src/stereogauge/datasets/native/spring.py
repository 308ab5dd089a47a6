"""Spring: film frames in Full HD with ground truth on a grid twice as fine (HDF5 `.dsp5`, values in Full-HD pixels).

The map is brought to the images' grid by taking every second row and column. Baseline 0.065 m; the focal length of each
frame stands in `cam_data/intrinsics.txt` (one line per frame: fx fy cx cy).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import first_file, subfolders, wrong_folder
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile, ImageFile
from stereogauge.model import Calibration, Dataset, DisparityMap, Scene

BASELINE = 0.065


@dataclass(frozen=True)
class EverySecondPixel(DisparityFile):
    """A map on a grid twice as fine as the images', of which the even rows and columns are taken."""

    def read(self, shape: tuple[int, int] | None = None) -> DisparityMap:
        """The map at the images' size."""
        return np.ascontiguousarray(super().read(None if shape is None else (2 * shape[0], 2 * shape[1]))[::2, ::2])


def _focal_lengths(sequence: Path) -> list[float]:
    path = first_file(sequence / "cam_data", "intrinsics.txt")
    if path is None:
        return []
    lines = [line.split() for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    try:
        return [float(line[0]) for line in lines]
    except ValueError:
        raise FileError(f"{path} should hold one line of numbers (fx fy cx cy) a frame.") from None


def _frame(sequence: Path, truth: Path, focal_lengths: list[float], dataset: str) -> Scene:
    number = truth.stem.rsplit("_", 1)[-1]
    index = int(number) - 1 if number.isdigit() else -1
    left = first_file(sequence / "frame_left", f"frame_left_{number}.png")
    right = first_file(sequence / "frame_right", f"frame_right_{number}.png")
    truth_right = first_file(sequence / "disp1_right", f"disp1_right_{number}.dsp5")
    return Scene(
        f"{sequence.name}-{number}",
        gt=EverySecondPixel(truth, encoding="spring"),
        gt_right=None if truth_right is None else EverySecondPixel(truth_right, encoding="spring"),
        left=None if left is None else ImageFile(left),
        right=None if right is None else ImageFile(right),
        calibration=Calibration(
            focal=focal_lengths[index] if 0 <= index < len(focal_lengths) else None, baseline=BASELINE
        ),
        dataset=dataset,
    )


def load(root: Path, variant: str, **options: Any) -> Dataset:
    """All training frames, by sequence and number."""
    for base in (root / "train", root / "spring" / "train", root):
        scenes = []
        for sequence in subfolders(base):
            truths = sorted((sequence / "disp1_left").glob("disp1_left_*.dsp5"))
            focal_lengths = _focal_lengths(sequence) if truths else []
            scenes += [_frame(sequence, truth, focal_lengths, "spring") for truth in truths]
        if scenes:
            return Dataset("spring", scenes, root=root)
    raise wrong_folder(
        "spring", root, "train/SEQUENCE/{frame_left, frame_right, disp1_left, cam_data}/ with disp1_left_0001.dsp5"
    )


SPRING = DatasetFamily(
    id="spring",
    name="Spring",
    layout=(
        "train/SEQUENCE/ with frame_left/frame_left_0001.png, frame_right/, disp1_left/disp1_left_0001.dsp5, "
        "disp1_right/, cam_data/intrinsics.txt"
    ),
    terms="Creative Commons BY 4.0.",
    citation=(
        "L. Mehl, J. Schmalfuss, A. Jahedi, Y. Nalivayko and A. Bruhn, Spring: A high-resolution high-detail dataset "
        "and benchmark for scene flow, optical flow and stereo, CVPR 2023."
    ),
    obtain=(
        "download train_frame_left.zip, train_frame_right.zip, train_disp1_left.zip and train_cam_data.zip from "
        "https://doi.org/10.18419/darus-3376 and unpack them into one folder."
    ),
    load=load,
    homepage="https://spring-benchmark.org/",
)
