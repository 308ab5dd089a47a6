"""Scores with everything that a report can show, and maps for galleries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.ranking import Column, ScoreCube

REGIONS = ("disc", "nonocc", "all", "boundary", "interior", "occluded")


@pytest.fixture(scope="session")
def scores() -> ScoreCube:
    """Five algorithms on six scenes with everything that a report can show."""
    random = np.random.default_rng(7)
    shape = (5, 6)
    grade = np.array([1, 1.2, 2, 3, 5])[:, None]
    boundary, interior, occluded = (np.rint(random.integers(5, 40, shape) * grade) for _ in range(3))
    errors = np.stack(
        [boundary, boundary + interior, boundary + interior + occluded, boundary, interior, occluded], axis=2
    )
    names = [
        "bad@2:all",
        "rms:all",
        "sze:all",
        "rms:disc-background",
        "d-fat:disc-background",
        "p-mis:planar",
        "f-por:fine",
    ]
    others = random.random((*shape, len(names))) * grade[:, :, None] * 0.1
    columns = [Column("bad@1", region) for region in REGIONS] + [Column(*name.split(":")) for name in names]
    return ScoreCube(
        ("Census", "BM & co", "<b>SGM</b>", "Deep_1", "Ünïcode 100 %"),
        tuple(f"scene_{place}" for place in range(6)),
        tuple(columns),
        np.concatenate([errors / 10, others], axis=2),
        sums=np.concatenate([errors, others], axis=2),
        counts=np.full((*shape, len(columns)), 1000.0),
        missing=np.zeros((*shape, len(columns))),
        protocol="0123456789abcdef",
        datasets=("made",) * 6,
    )


@pytest.fixture(scope="session")
def map_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Maps of two algorithms on one small scene."""
    folder = tmp_path_factory.mktemp("maps")
    truth = np.full((60, 80), 10, np.float32)
    truth[20:40, 30:60] = 24
    sg.write_disparity(folder / "gt.pfm", truth)
    sg.write_disparity(folder / "good.pfm", truth + 0.25)
    sg.write_disparity(folder / "bad.pfm", np.roll(truth, 3, axis=1))
    return folder
