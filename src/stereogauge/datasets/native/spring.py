"""Spring: film frames in Full HD with ground truth on a grid twice as fine (HDF5 `.dsp5`, values in Full-HD pixels).

The map is brought to the images' grid by taking every second row and column; the protocol `spring` uses all four values
of a pixel. Baseline 0.065 m; the focal length of each frame stands in `cam_data/intrinsics.txt` (one line per frame: fx
fy cx cy). The maps of detail, matches and sky, where they were downloaded, are masks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import first_file, subfolders, wrong_folder
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile, FlagFile, ImageFile, MaskSource
from stereogauge.model import Calibration, Dataset, Scene

BASELINE = 0.065


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
        gt=DisparityFile(truth, encoding="spring", step=2),
        gt_right=None if truth_right is None else DisparityFile(truth_right, encoding="spring", step=2),
        gt_fine=DisparityFile(truth, encoding="spring"),
        left=None if left is None else ImageFile(left),
        right=None if right is None else ImageFile(right),
        calibration=Calibration(
            focal=focal_lengths[index] if 0 <= index < len(focal_lengths) else None, baseline=BASELINE
        ),
        masks=_masks(sequence / "maps", number),
        dataset=dataset,
    )


def _masks(folder: Path, number: str) -> dict[str, MaskSource]:
    """The benchmark's maps: detail, unmatched pixels, and sky, which is drawn on the fine grid."""
    found = {
        name: first_file(folder / kind, f"{kind}_{number}.png")
        for name, kind in (("high-detail", "detailmap_disp1_left"), ("unmatched", "matchmap_disp1_left"))
    }
    masks: dict[str, MaskSource] = {name: FlagFile(path) for name, path in found.items() if path is not None}
    if found["unmatched"] is not None:
        masks["nonocc"] = FlagFile(found["unmatched"], invert=True)
    sky = first_file(folder / "skymap_left", f"skymap_left_{number}.png")
    return masks if sky is None else {**masks, "sky": FlagFile(sky, halved=True)}


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
        "disp1_right/, cam_data/intrinsics.txt, maps/{detailmap_disp1_left, matchmap_disp1_left, skymap_left}/"
    ),
    terms="Creative Commons BY 4.0.",
    citation=(
        "L. Mehl, J. Schmalfuss, A. Jahedi, Y. Nalivayko and A. Bruhn, Spring: A high-resolution high-detail dataset "
        "and benchmark for scene flow, optical flow and stereo, CVPR 2023."
    ),
    obtain=(
        "download train_frame_left.zip, train_frame_right.zip, train_disp1_left.zip, train_cam_data.zip and, for "
        "the benchmark's strata, the maps from https://doi.org/10.18419/darus-3376 and unpack them into one folder."
    ),
    load=load,
    homepage="https://spring-benchmark.org/",
)
