"""Real files of the public datasets, with the ranges that their README gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stereogauge import read_disparity
from stereogauge.io import MaskFile, inspect_disparity, load_image, load_mask


@pytest.mark.parametrize(
    ("path", "options", "shape", "low", "high"),
    [
        ("middlebury-v2/tsukuba/groundtruth.png", {"encoding": "middlebury", "scale": 16}, (288, 384), 5, 14),
        ("middlebury-v2/venus/groundtruth.png", {"encoding": "middlebury", "scale": 8}, (383, 434), 3, 19.75),
        ("middlebury-v2/teddy/groundtruth.png", {"encoding": "middlebury", "scale": 4}, (375, 450), 12.5, 52.75),
        ("middlebury-v2/cones/groundtruth.png", {"encoding": "middlebury", "scale": 4}, (375, 450), 5.5, 55),
        ("middlebury-2006/HalfSize/Cloth3/disp1.png", {"encoding": "middlebury", "scale": 2}, (555, 626), 22.5, 83),
        ("middlebury-2006/HalfSize/Reindeer/disp1.png", {"encoding": "middlebury", "scale": 2}, (555, 671), 5.5, 100.5),
        ("middlebury-2014/trainingQ/Adirondack/disp0GT.pfm", {}, (496, 718), 9.46, 63.04),
        ("middlebury-2014/trainingQ/Motorcycle/disp0GT.pfm", {}, (497, 741), 9.18, 62.88),
        ("middlebury-2014/trainingQ/Pipes/disp0GT.pfm", {}, (485, 735), 8.05, 67.28),
        ("sceneflow/disparity/left/A-0032-0006.pfm", {}, (540, 960), 1.21, 130.37),
        ("hci-4dlf/antinous/gt_disp_lowres.pfm", {}, (512, 512), -3.13, 2.69),
        ("middlebury-v2/results/OpenCV-SGBM-HH4/teddy.png",
         {"encoding": "middlebury", "scale": 16, "offset": -1}, (375, 450), 0, 47),
    ],
)  # fmt: skip
def test_sizes_and_ranges(
    data_root: Path, path: str, options: dict[str, Any], shape: tuple[int, int], low: float, high: float
) -> None:
    disparity = read_disparity(data_root / path, **options)
    assert disparity.shape == shape
    assert disparity.dtype == np.float32
    assert np.nanmin(disparity) == pytest.approx(low, abs=0.006)
    assert np.nanmax(disparity) == pytest.approx(high, abs=0.006)


@pytest.mark.parametrize(
    ("scene", "unknown"),
    [("Adirondack", 0.34), ("ArtL", 0.18), ("Motorcycle", 2.09), ("Piano", 5.36), ("Pipes", 3.52), ("Teddy", 2.33)],
)
def test_the_share_of_unknown_pixels(data_root: Path, scene: str, unknown: float) -> None:
    report = inspect_disparity(data_root / "middlebury-2014" / "trainingQ" / scene / "disp0GT.pfm")
    assert 100 * (1 - report.valid_share) == pytest.approx(unknown, abs=0.006)
    assert report.problems == ()


@pytest.mark.parametrize(
    ("scene", "region", "share"),
    [("tsukuba", "nonocc", 77.3), ("venus", "all", 90.4), ("teddy", "disc", 24.0), ("cones", "disc", 28.0)],
)
def test_the_share_of_official_masks(data_root: Path, scene: str, region: str, share: float) -> None:
    assert 100 * load_mask(data_root / "middlebury-v2" / scene / f"{region}.png").mean() == pytest.approx(
        share, abs=0.06
    )


def test_middlebury_2014_masks_have_three_values(data_root: Path) -> None:
    path = data_root / "middlebury-2014" / "trainingQ" / "Motorcycle" / "mask0nocc.png"
    assert 100 * load_mask(path).mean() == pytest.approx(86.6, abs=0.06)
    assert 100 * (1 - MaskFile(path, (128, 255)).read().mean()) == pytest.approx(2.09, abs=0.01)


def test_an_estimate_with_a_fractional_scale_agrees_with_the_ground_truth(data_root: Path) -> None:
    truth = read_disparity(data_root / "kitti2012" / "training" / "disp_noc" / "000000_10.png")
    path = data_root / "kitti2012" / "results" / "MC-CNN-8bit" / "000000_10.png"
    error = np.abs(read_disparity(path, encoding="middlebury", scale=255 / 70) - truth)
    assert np.mean(error[~np.isnan(error)] > 3) < 0.05


def test_kitti_ground_truth_is_sparse(data_root: Path) -> None:
    for path in sorted((data_root / "kitti2012" / "training" / "disp_noc").glob("*.png")):
        report = inspect_disparity(path)
        assert report.encoding == "kitti"
        assert 0.1 < report.valid_share < 0.4
        assert report.problems == ()


def test_every_image_and_every_result_in_the_folder_is_read(data_root: Path) -> None:
    for path in sorted((data_root / "middlebury-v2").glob("*/im*.png")):
        assert load_image(path).shape[2] == 3
    for path in sorted((data_root / "kitti2012" / "training" / "image_0").glob("*.png")):
        assert load_image(path).dtype == np.uint8
    assert load_image(next((data_root / "sceneflow" / "RGB_cleanpass" / "left").glob("*.png"))).shape == (540, 960, 3)


def test_results_never_multiplied_by_256_are_suspected(data_root: Path) -> None:
    path = data_root / "kitti2012" / "results" / "xiyu" / "data" / "000000_10.png"
    assert "never multiplied by 256" in inspect_disparity(path).problems[0]
    assert inspect_disparity(path, encoding="middlebury", scale=1).problems == ()


def test_kitti_values_that_were_not_divided_are_suspected(data_root: Path) -> None:
    path = data_root / "kitti2012" / "training" / "disp_noc" / "000000_10.png"
    assert "never divided by 256" in inspect_disparity(path, encoding="middlebury", scale=1).problems[0]
