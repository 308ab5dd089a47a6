"""OpenCV's published figures for a block-matching map on an MPI Sintel frame (opencv_extra, reference_accuracy.xml)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import stereogauge as sg
from stereogauge.io import DisparityFile

PRINTED_MSE, PRINTED_BAD = "5043.6495", "48.5417"


def test_opencv_figures_to_all_printed_digits(data_root: Path) -> None:
    """OpenCV truncates the truth to 1/16 px and calls an error of 1.5 px bad, so the last good one is 23/16 px."""
    frame = next(iter(sg.load_dataset("sintel", data_root / "sintel")))
    truncated = np.floor(frame.gt * 16) / 16
    scene = sg.Scene("frame", gt=truncated, masks={"roi": frame.mask("roi")})
    estimate = DisparityFile(data_root / "sintel/disparity_left_raw.png", encoding="middlebury", scale=1)
    # Zero is a disparity of 0 in OpenCV's evaluation, not a gap.
    values = np.nan_to_num(estimate.read(), nan=0.0)
    table = sg.evaluate(values, scene, ["mse", f"bad@{23 / 16}"], ["roi"])
    assert f"{table.value('mse'):.4f}" == PRINTED_MSE
    assert f"{table.value('bad@1.4375'):.4f}" == PRINTED_BAD
