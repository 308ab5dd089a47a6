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
    "confidence": "stereogauge.confidence_measures.measures",
    "explain": "stereogauge.decision.explain",
    "error_density": "stereogauge.evaluation.error_density",
    "evaluate": "stereogauge.evaluation.evaluate",
    "filter": "stereogauge.confidence_measures.filtering",
    "load_dataset": "stereogauge.datasets",
    "load_protocol": "stereogauge.protocol",
    "log_scores": "stereogauge.report.loggers",
    "match": "stereogauge.matching.run",
    "open_store": "stereogauge.store",
    "picture": "stereogauge.evaluation.evaluate",
    "rank": "stereogauge.ranking",
    "read_disparity": "stereogauge.io",
    "regions": "stereogauge.masks.scene_regions",
    "sparsify": "stereogauge.confidence_measures.sparsification",
    "tune": "stereogauge.tuning",
    "write_disparity": "stereogauge.io",
}

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
    from stereogauge.confidence_measures.filtering import filter  # noqa: A004 – the verb of the public interface
    from stereogauge.confidence_measures.measures import confidence
    from stereogauge.confidence_measures.sparsification import sparsify
    from stereogauge.datasets import load_dataset
    from stereogauge.decision.answer import answer
    from stereogauge.decision.explain import explain
    from stereogauge.errors import StereogaugeError
    from stereogauge.evaluation.error_density import error_density
    from stereogauge.evaluation.evaluate import evaluate, picture
    from stereogauge.io import read_disparity, write_disparity
    from stereogauge.masks.scene_regions import regions
    from stereogauge.matching.run import match
    from stereogauge.model import Calibration, Dataset, ResultSet, Scene
    from stereogauge.protocol import Protocol, load_protocol
    from stereogauge.ranking import rank
    from stereogauge.report.loggers import log_scores
    from stereogauge.scores.table import ScoreTable
    from stereogauge.store import open_store
    from stereogauge.tuning import tune


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'stereogauge' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
