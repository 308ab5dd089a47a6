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
    "Running": "stereogauge.evaluation.running",
    "Scene": "stereogauge.model",
    "ScoreTable": "stereogauge.scores.table",
    "StereogaugeError": "stereogauge.errors",
    "StereogaugeWarning": "stereogauge.errors",
    "answer": "stereogauge.decision.answer",
    "confidence": "stereogauge.confidence_measures.measures",
    "explain": "stereogauge.decision.explain",
    "error_density": "stereogauge.evaluation.error_density",
    "evaluate": "stereogauge.evaluation.evaluate",
    "filter": "stereogauge.confidence_measures.filtering",
    "load_dataset": "stereogauge.datasets",
    "load_protocol": "stereogauge.protocol",
    "load_results": "stereogauge.datasets.results.find",
    "log_scores": "stereogauge.evaluation.running",
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

__all__ = ["__version__", *_PUBLIC]

if TYPE_CHECKING:
    from stereogauge.confidence_measures.filtering import filter as filter  # noqa: A004 – the verb of the public interface
    from stereogauge.confidence_measures.measures import confidence as confidence
    from stereogauge.confidence_measures.sparsification import sparsify as sparsify
    from stereogauge.datasets import load_dataset as load_dataset
    from stereogauge.datasets.results.find import load_results as load_results
    from stereogauge.decision.answer import answer as answer
    from stereogauge.decision.explain import explain as explain
    from stereogauge.errors import StereogaugeError as StereogaugeError
    from stereogauge.errors import StereogaugeWarning as StereogaugeWarning
    from stereogauge.evaluation.error_density import error_density as error_density
    from stereogauge.evaluation.evaluate import evaluate as evaluate
    from stereogauge.evaluation.evaluate import picture as picture
    from stereogauge.evaluation.running import Running as Running
    from stereogauge.evaluation.running import log_scores as log_scores
    from stereogauge.io import read_disparity as read_disparity
    from stereogauge.io import write_disparity as write_disparity
    from stereogauge.masks.scene_regions import regions as regions
    from stereogauge.matching.run import match as match
    from stereogauge.model import Calibration as Calibration
    from stereogauge.model import Dataset as Dataset
    from stereogauge.model import ResultSet as ResultSet
    from stereogauge.model import Scene as Scene
    from stereogauge.protocol import Protocol as Protocol
    from stereogauge.protocol import load_protocol as load_protocol
    from stereogauge.ranking import rank as rank
    from stereogauge.scores.table import ScoreTable as ScoreTable
    from stereogauge.store import open_store as open_store
    from stereogauge.tuning import tune as tune


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'stereogauge' has no attribute {name!r}")
    from stereogauge.errors import MissingDependency

    try:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
    except MissingDependency as problem:
        return _needing(problem)
    globals()[name] = value
    return value


def _needing(problem: Exception) -> Any:
    """A function in place of one that needs a package that is not installed; its call says which."""

    def missing(*arguments: Any, **options: Any) -> Any:
        raise problem

    return missing


def __dir__() -> list[str]:
    return __all__
