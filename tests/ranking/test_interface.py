"""One interface: scores from anywhere, models from any package."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge import StereogaugeError, rank
from stereogauge.ranking import ScoreCube
from stereogauge.ranking.bootstrap import bootstrap
from stereogauge.ranking.costs import Costs
from stereogauge.ranking.model import Model, Outcome, models
from stereogauge.ranking.ranks import final_ranks

Build = Callable[..., ScoreCube]


def worst_case(costs: Costs) -> Outcome:
    """Order by the greatest cost."""
    worst = costs.matrix.max(axis=1)
    return Outcome(rank=final_ranks(worst), value=worst)


THEIRS = Model("minimax", "Minimax", "Sort by the worst column.", "a test", "worst score", worst_case)


class _Entry:
    name, value, module, dist = "minimax", "theirs:THEIRS", "theirs", None

    @staticmethod
    def load() -> Model:
        return THEIRS


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with a model of its own."""
    real = importlib.metadata.entry_points

    def found(**wanted: str) -> object:
        return [_Entry()] if wanted.get("group") == "stereogauge.models" else real(**wanted)

    monkeypatch.setattr(importlib.metadata, "entry_points", found)
    models.cache_clear()
    yield
    models.cache_clear()


@pytest.mark.usefixtures("installed")
def test_a_package_adds_a_model_by_entry_point(cube_of: Build) -> None:
    cube = cube_of([[[1.0], [9.0]], [[5.0], [5.0]]])
    ranking = rank(cube, "minimax")
    assert ranking.algorithms == ("B", "A")
    assert ranking.value_name == "worst score"
    assert bootstrap(cube, "minimax", draws=30).algorithms == ("B", "A")


def test_without_the_package_the_model_is_unknown(cube_of: Build) -> None:
    with pytest.raises(StereogaugeError, match="minimax"):
        rank(cube_of([[1.0]]), "minimax")


def test_every_model_is_defined_in_words() -> None:
    for model in models().values():
        assert len(model.definition) > 40
        assert model.source
        assert all(model.options.values())


def test_scores_come_from_a_table_a_cube_or_a_store(cube_of: Build, tmp_path: Path) -> None:
    cube = cube_of([[[3.0], [4.0]], [[1.0], [2.0]]])
    path = tmp_path / "scores.sqlite"
    with sg.open_store(path) as store:
        store.write(sg.ScoreTable(cube.scores()))
    for scores in (cube, sg.ScoreTable(cube.scores()), path, str(path)):
        assert sg.rank(scores, model="middlebury").algorithms == ("B", "A")


def test_the_head_keeps_places_among_all_and_cuts_relations(cube_of: Build) -> None:
    whole = rank(cube_of(np.arange(6.0)[:, None, None] * np.ones((1, 2, 1))), "a-star")
    head = whole.head(3)
    assert head.algorithms == ("A", "B", "C")
    assert head.rank.tolist() == [1, 2, 3]
    assert head.arrays["dominates"].tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    assert head.selection == whole.selection
    assert whole.head(99) is whole


def test_ranking_imports_nothing_that_draws() -> None:
    code = (
        "import sys, numpy as np; from stereogauge.ranking import *;"
        "rank(ScoreCube(('a', 'b'), ('s',), (Column('bad@1', 'all'),), np.ones((2, 1, 1))), 'a-star');"
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'scikit_posthocs', 'vl_convert')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
