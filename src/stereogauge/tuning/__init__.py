"""Tuning: Optuna over a matcher's parameters against an application's profile. Names are imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stereogauge.errors import MissingDependency

if TYPE_CHECKING:
    from stereogauge.tuning.definition import tuning_protocol as tuning_protocol
    from stereogauge.tuning.figures import history_data as history_data
    from stereogauge.tuning.figures import importance_data as importance_data
    from stereogauge.tuning.figures import trade_off_data as trade_off_data
    from stereogauge.tuning.result import TuningResult as TuningResult
    from stereogauge.tuning.result import load_result as load_result
    from stereogauge.tuning.result import studies as studies
    from stereogauge.tuning.result import study_summary as study_summary
    from stereogauge.tuning.run import tune as tune

_HOMES = {
    "tune": "run",
    "tuning_protocol": "definition",
    "TuningResult": "result",
    "load_result": "result",
    "studies": "result",
    "study_summary": "result",
    "history_data": "figures",
    "importance_data": "figures",
    "trade_off_data": "figures",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as problem:
        if problem.name != "optuna":
            raise
        raise MissingDependency("optuna", "tune", "Tuning") from None
