"""ETH3D's two-view rules, as its evaluation program has them, on a real semi-dense map."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.io import DisparityFile


def test_metrics_are_over_estimated_pixels_and_coverage_is_said(data_root: Path) -> None:
    scene = sg.load_dataset("middlebury-v3", data_root / "middlebury-2014")["Pipes"]
    path = data_root / "middlebury-2014/results/semidense-8bit/Pipes.png"
    estimate = DisparityFile(path, encoding="middlebury", scale=255 / 80).read()
    table = sg.evaluate(estimate, scene, protocol="eth3d")
    known = np.isfinite(scene.gt) & scene.mask("nonocc")
    error = np.sort(np.abs(estimate - scene.gt)[known & np.isfinite(estimate)].astype(np.float64))
    assert table.value("density", "nonocc") == pytest.approx(100 * error.size / known.sum())
    for threshold in (0.5, 1, 2, 4):
        expected = 100 * np.count_nonzero(error > threshold) / error.size
        assert table.value(f"bad@{threshold}", "nonocc") == pytest.approx(expected)
    assert table.value("mae", "nonocc") == pytest.approx(error.mean(), rel=1e-6)
    assert table.value("rms", "nonocc") == pytest.approx(np.sqrt((error**2).mean()), rel=1e-6)
    for percentage in (50, 90, 95, 99):
        place = int(np.floor(error.size * percentage / 100))
        assert table.value(f"quantile@{percentage}", "nonocc") == error[place]
