"""Real learned confidence maps (CCNN on AD-Census, KITTI 2012) against an independent, exact computation."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.confidence_measures.files import read_confidence

FRAMES = ("000020_10", "000021_10", "000022_10")


@pytest.mark.parametrize("frame", FRAMES)
def test_curve_of_a_real_confidence_map_is_exact(data_root: Path, frame: str) -> None:
    root = data_root / "kitti2012"
    folder = root / "results" / "AD-Census"
    estimate = cv2.imread(str(folder / f"{frame}.png"), cv2.IMREAD_UNCHANGED).astype(np.float64)
    stored = cv2.imread(str(folder / "confidence" / "CCNN" / f"{frame}.png"), cv2.IMREAD_UNCHANGED).astype(np.int64)
    truth = cv2.imread(str(root / "training" / "disp_noc" / f"{frame}.png"), cv2.IMREAD_UNCHANGED) / 256.0
    truth[truth == 0] = np.nan
    known = np.isfinite(truth)
    curve = sg.sparsify(
        read_confidence(folder / "confidence" / "CCNN" / f"{frame}.png", higher_is_better=True), estimate, truth, 3.0
    )

    # Independent: tied blocks from the most confident down, their bad pixels spread evenly, in whole numbers.
    bad = np.abs(estimate - truth)[known] > 3
    levels = stored[known]
    pixels = np.bincount(levels, minlength=65536)[::-1]
    bad_pixels = np.bincount(levels[bad], minlength=65536)[::-1]
    kept, left = np.cumsum(pixels), np.cumsum(bad_pixels)
    total = int(kept[-1])
    for share in (Fraction(1, 20), Fraction(1, 3), Fraction(7, 10), Fraction(9, 10), Fraction(1)):
        wanted = share * total
        block = int(np.searchsorted(kept, float(wanted)))
        before = (int(kept[block - 1]), int(left[block - 1])) if block else (0, 0)
        inside = Fraction(int(bad_pixels[block]), int(pixels[block])) * (wanted - before[0])
        assert curve.at(float(share)) == pytest.approx(float(before[1] + inside), rel=1e-9)
    assert curve.pixels == total
    assert curve.bad_pixels == bad.sum()

    # The area, as the mean over every number of kept pixels of the expected rate.
    counts = np.arange(1, total + 1)
    rates = np.interp(counts, np.append(0, kept), np.append(0, left)) / counts
    assert curve.auc == pytest.approx(rates.mean(), abs=2e-5)
    share_bad = bad.mean()
    assert curve.oracle.auc == pytest.approx(share_bad + (1 - share_bad) * np.log1p(-share_bad), rel=1e-9)
    assert curve.oracle.auc < curve.auc < curve.random.auc
    assert curve.roc_auc > 0.9


def test_ccnn_orders_ad_census_nearly_as_well_as_published(data_root: Path) -> None:
    """Published over 174 other frames: AUC 0.1222, optimal 0.1073, a ratio of 1.14."""
    root = data_root / "kitti2012"
    ratios = []
    for frame in FRAMES:
        folder = root / "results" / "AD-Census"
        curve = sg.sparsify(
            read_confidence(folder / "confidence" / "CCNN" / f"{frame}.png", higher_is_better=True),
            sg.read_disparity(folder / f"{frame}.png", encoding="middlebury", scale=1),
            sg.read_disparity(root / "training" / "disp_noc" / f"{frame}.png", encoding="kitti"),
            3.0,
        )
        ratios.append(curve.auc / curve.oracle.auc)
    assert 1.0 < np.mean(ratios) < 1.4
