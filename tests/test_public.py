"""The public interface, used as the documentation promises it, on the real Motorcycle pair."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg


@pytest.fixture(scope="module")
def motorcycle() -> sg.Scene:
    return sg.load_dataset("motorcycle")["motorcycle"]


@pytest.fixture(scope="module")
def crop(motorcycle: sg.Scene) -> sg.Scene:
    rows, columns = slice(150, 330), slice(200, 520)
    return sg.Scene(
        "crop",
        gt=motorcycle.gt[rows, columns],
        left=motorcycle.left[rows, columns],
        right=motorcycle.right[rows, columns],
        calibration=motorcycle.calibration,
        resolution=0.25,
    )


def test_importing_the_package_imports_nothing_else() -> None:
    program = "import sys, stereogauge; print(sorted({'numpy', 'cv2', 'pandas'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("name", sg.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(sg, name) is not None


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        sg.nonsense  # noqa: B018


def test_read_evaluate_and_look(tmp_path: Path) -> None:
    truth = np.full((20, 30), 12, np.float32)
    sg.write_disparity(tmp_path / "disp0GT.pfm", truth)
    cv2.imwrite(str(tmp_path / "teddy.png"), np.full((20, 30), 52, np.uint8))
    gt = sg.read_disparity(tmp_path / "disp0GT.pfm")
    est = sg.read_disparity(tmp_path / "teddy.png", encoding="middlebury", scale=4)
    assert (gt.dtype, est.dtype) == (np.float32, np.float32)
    calibration = sg.Calibration(focal=1500, baseline=0.08, doffs=52, ndisp=64)
    scene = sg.Scene("teddy", gt=gt, left="im2.png", right="im6.png", calibration=calibration)
    table = sg.evaluate(
        est, scene, metrics=["bad@1", "sze", "d-fat"], regions=["all", "nonocc", "disc"], protocol="middlebury-v2"
    )
    assert table.value("bad@1", "nonocc") == 0
    assert table.value("sze", "all") == pytest.approx(600 * (120 / 64 - 120 / 65), rel=1e-5)
    assert np.isnan(table.value("d-fat"))  # a flat map has no discontinuity
    assert "discontinuit" in table.score("d-fat").note
    assert list(table.to_pandas().columns)[:5] == ["dataset", "scene", "algorithm", "metric", "region"]


def test_masks_by_name_and_rule(crop: sg.Scene) -> None:
    names = ["all", "nonocc", "disc", "boundary", "interior", "occluded"]
    masks = sg.regions(crop, names, rule="middlebury-v2")
    assert list(masks) == names
    assert all(mask.dtype == bool and mask.shape == crop.shape for mask in masks.values())


def test_match_confidence_and_sparsification(crop: sg.Scene) -> None:
    sgm = sg.match(crop.left, crop.right, matcher="sgm", ndisp=64, p1=20, p2=100)
    assert sgm.disparity.shape == crop.shape
    assert sgm.right_disparity is not None
    assert sgm.costs is not None
    assert sgm.seconds > 0
    wanted = ["curvature", "perturbation", "peak-ratio", "entropy", "lr-difference", "product"]
    conf = sg.confidence(sgm, wanted)
    assert list(conf) == wanted
    curve = sg.sparsify(conf["product"], sgm.disparity, crop.gt, threshold=1.0, mask=None)
    assert curve.density[0] != curve.density[-1]
    assert curve.bad.max() > 0
    assert 0 <= curve.auc <= 1
    assert curve.at(0.9) <= curve.at(1.0)


def test_algorithms_by_scenes_and_every_model(crop: sg.Scene) -> None:
    rng = np.random.default_rng(0)
    noise = {name: rng.normal(0, size, crop.shape).astype(np.float32) for name, size in (("good", 0.3), ("bad", 3.0))}
    many = sg.evaluate(
        {n: {"crop": crop.gt + e} for n, e in noise.items()}, [crop], ["bad@1", "rms"], ["all", "nonocc"]
    )
    for model in ("middlebury", "extended", "a-star", "weighted"):
        rank = sg.rank(many, model=model, metrics=["rms"] if model == "middlebury" else None)
        frame = rank.to_pandas()
        assert list(frame.columns)[:4] == ["algorithm", "rank", "value", "group"]
        assert frame.iloc[0]["algorithm"] == "good"


def test_the_motorcycle_pair_is_real_and_rectified(motorcycle: sg.Scene) -> None:
    """Warping the right image by the ground truth gives the left one, far better than by no disparity."""
    left = cv2.cvtColor(motorcycle.left, cv2.COLOR_RGB2GRAY).astype(np.float32)
    right = cv2.cvtColor(motorcycle.right, cv2.COLOR_RGB2GRAY).astype(np.float32)
    visible = sg.regions(motorcycle, ["nonocc"])["nonocc"]
    y, x = np.indices(left.shape, dtype=np.float32)
    warped = cv2.remap(right, x - np.nan_to_num(motorcycle.gt), y, cv2.INTER_LINEAR)
    assert np.abs(warped - left)[visible].mean() < 0.4 * np.abs(right - left)[visible].mean()
