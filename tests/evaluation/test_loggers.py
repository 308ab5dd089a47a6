"""One call logs a table to a tracker; the trackers here have the signatures of the real ones."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import stereogauge as sg

TRUTH = np.full((20, 30), 5, np.float32)


@pytest.fixture
def table() -> sg.ScoreTable:
    scenes = [sg.Scene("a", gt=TRUTH), sg.Scene("b", gt=TRUTH)]
    maps = {"my net": {"a": TRUTH + 1, "b": TRUTH + 3}}
    return sg.evaluate(maps, scenes, ["mae", "bad@2"], ["all"])


EXPECTED = {"my_net/mae/all": 2.0, "my_net/bad_2/all": 50.0}


class Writer:
    """As torch.utils.tensorboard.SummaryWriter."""

    def __init__(self) -> None:
        self.logged: list[tuple[str, float, int | None]] = []

    def add_scalar(self, tag: str, scalar_value: float, global_step: int | None = None) -> None:
        self.logged.append((tag, scalar_value, global_step))


def test_tensorboard(table: sg.ScoreTable) -> None:
    writer = Writer()
    assert sg.log_scores(table, writer, step=7) == EXPECTED
    assert writer.logged == [(name, value, 7) for name, value in EXPECTED.items()]


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_trackers_by_name(table: sg.ScoreTable, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    logged: list[Any] = []
    module: Any = ModuleType(name)

    def log(values: dict[str, float], step: int | None = None) -> None:
        logged.append((values, step))

    setattr(module, {"mlflow": "log_metrics", "wandb": "log"}[name], log)
    monkeypatch.setitem(sys.modules, name, module)
    sg.log_scores(table, name, step=2, prefix="val/")
    assert logged == [({f"val/{key}": value for key, value in EXPECTED.items()}, 2)]


def test_a_score_without_a_value_is_not_logged(table: sg.ScoreTable) -> None:
    empty = sg.evaluate((TRUTH * np.nan, TRUTH), metrics=["mae"], regions=["all"])
    assert sg.log_scores(empty, Writer()) == {}


@pytest.mark.parametrize(("to", "message"), [("tensorbored", "Unknown tracker"), (3, "found int")])
def test_what_is_no_tracker_is_named(table: sg.ScoreTable, to: Any, message: str) -> None:
    with pytest.raises(sg.StereogaugeError, match=message):
        sg.log_scores(table, to)


def test_a_tracker_that_is_not_installed(table: sg.ScoreTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(sg.StereogaugeError, match="pip install mlflow"):
        sg.log_scores(table, "mlflow")
