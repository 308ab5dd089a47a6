"""Stereogauge tells which stereo matching algorithm, with which parameters, is right for an application, and why.

The names below are the public interface; they are imported when first used, so that `import stereogauge` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from stereogauge.version import VERSION

__version__ = VERSION

_PUBLIC = {
    "Calibration": "stereogauge.model",
    "Dataset": "stereogauge.model",
    "Protocol": "stereogauge.protocol",
    "ResultSet": "stereogauge.model",
    "Scene": "stereogauge.model",
    "ScoreTable": "stereogauge.scores.table",
    "StereogaugeError": "stereogauge.errors",
    "answer": "stereogauge.decision.answer",
    "explain": "stereogauge.decision.explain",
    "error_density": "stereogauge.evaluation.error_density",
    "evaluate": "stereogauge.evaluation.evaluate",
    "filter": "stereogauge.confidence.filtering",
    "load_dataset": "stereogauge.datasets",
    "load_protocol": "stereogauge.protocol",
    "log_scores": "stereogauge.report.loggers",
    "match": "stereogauge.matching.run",
    "open_store": "stereogauge.store",
    "picture": "stereogauge.evaluation.evaluate",
    "rank": "stereogauge.ranking",
    "read_disparity": "stereogauge.io",
    "sparsify": "stereogauge.confidence.sparsification",
    "tune": "stereogauge.tuning",
    "write_disparity": "stereogauge.io",
}
_CALLABLE_PACKAGES = ("confidence", "regions")

__all__ = [
    "Calibration",
    "Dataset",
    "Protocol",
    "ResultSet",
    "Scene",
    "ScoreTable",
    "StereogaugeError",
    "__version__",
    "answer",
    "confidence",
    "error_density",
    "evaluate",
    "explain",
    "filter",
    "load_dataset",
    "load_protocol",
    "log_scores",
    "match",
    "open_store",
    "picture",
    "rank",
    "read_disparity",
    "regions",
    "sparsify",
    "tune",
    "write_disparity",
]

if TYPE_CHECKING:
    from stereogauge.confidence.filtering import filter  # noqa: A004 – the verb of the public interface
    from stereogauge.confidence.measures import confidence
    from stereogauge.confidence.sparsification import sparsify
    from stereogauge.datasets import load_dataset
    from stereogauge.decision.answer import answer
    from stereogauge.decision.explain import explain
    from stereogauge.errors import StereogaugeError
    from stereogauge.evaluation.error_density import error_density
    from stereogauge.evaluation.evaluate import evaluate, picture
    from stereogauge.io import read_disparity, write_disparity
    from stereogauge.matching.run import match
    from stereogauge.model import Calibration, Dataset, ResultSet, Scene
    from stereogauge.protocol import Protocol, load_protocol
    from stereogauge.ranking import rank
    from stereogauge.regions.scene_regions import regions
    from stereogauge.report.loggers import log_scores
    from stereogauge.scores.table import ScoreTable
    from stereogauge.store import open_store
    from stereogauge.tuning import tune


def __getattr__(name: str) -> Any:
    if name in _CALLABLE_PACKAGES:
        return importlib.import_module(f"stereogauge.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'stereogauge' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
