"""Tuning: Optuna over a matcher's parameters against an application's profile. Names are imported when first used."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from stereogauge.errors import MissingDependency

if TYPE_CHECKING:
    from stereogauge.tuning.reading import load_result
    from stereogauge.tuning.result import TuningResult
    from stereogauge.tuning.run import tune

_HOMES = {"tune": "run", "TuningResult": "result", "load_result": "reading"}

__all__ = ["TuningResult", "load_result", "studies", "study_summary", "tune"]


def studies(store: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The tunings that a store holds, as plain values: name, matcher, dataset, objectives and states of the trials."""
    summary: Any = _module("summary")
    found: list[dict[str, Any]] = summary.studies(store)
    return found


def study_summary(store: str | os.PathLike[str], name: str) -> dict[str, Any]:
    """One tuning as plain values that JSON can hold; `stereogauge.tuning.summary` lists the keys."""
    summary: Any = _module("summary")
    found: dict[str, Any] = summary.study_summary(store, name)
    return found


def _module(name: str) -> Any:
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as problem:
        if problem.name != "optuna":
            raise
        raise MissingDependency("optuna", "tune", "Tuning") from None


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_module(_HOMES[name]), name)
