"""Stores to test: a SQLite file, and a real PostgreSQL server where the system has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from stereogauge import open_store
from stereogauge.scores.column import VersionedColumn
from stereogauge.scores.score import CellScores
from stereogauge.store import Store

COLUMNS = tuple(VersionedColumn(metric, 1, region, 1) for metric in ("bad@1", "mae") for region in ("all", "nonocc"))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be made, in each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "scores.sqlite")
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    with open_store(location, timeout=1.0) as opened:
        yield opened


MakeCell = Callable[..., CellScores]


@pytest.fixture
def make_cell() -> MakeCell:
    """A cell with made-up numbers that depend on its names, one of them NaN with a note."""

    def make(
        algorithm: str = "A",
        scene: str = "s",
        *,
        dataset: str = "d",
        protocol: str = "p1",
        columns: tuple[VersionedColumn, ...] = COLUMNS,
        inputs: int = 7,
        seed: int = 0,
    ) -> CellScores:
        numbers = np.random.default_rng([seed, *f"{algorithm}/{scene}/{dataset}/{protocol}".encode()])
        values = numbers.random(len(columns))
        values[-1] = np.nan
        return CellScores(
            dataset,
            scene,
            algorithm,
            protocol,
            columns,
            values,
            numbers.random(len(columns)) * 1e9,
            numbers.integers(0, 2**40, len(columns)),
            numbers.integers(0, 99, len(columns)),
            {len(columns) - 1: "nothing to measure “hier”"},
            inputs,
            0.25,
            "host",
        )

    return make
