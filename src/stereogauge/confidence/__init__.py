"""Confidence: measures, their combination, and how well they foretell errors. Names are imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stereogauge.callable_module import make_callable

if TYPE_CHECKING:
    from stereogauge.confidence.bound import combination_bound
    from stereogauge.confidence.declaration import ConfidenceMeasure, confidence_measures
    from stereogauge.confidence.domain import evaluation_domain
    from stereogauge.confidence.measures import confidence
    from stereogauge.confidence.sparsification import SparsificationCurve, pooled, sparsify

_HOMES = {
    "confidence": "measures",
    "sparsify": "sparsification",
    "pooled": "sparsification",
    "SparsificationCurve": "sparsification",
    "combination_bound": "bound",
    "evaluation_domain": "domain",
    "ConfidenceMeasure": "declaration",
    "confidence_measures": "declaration",
}

__all__ = [
    "ConfidenceMeasure",
    "SparsificationCurve",
    "combination_bound",
    "confidence",
    "confidence_measures",
    "evaluation_domain",
    "pooled",
    "sparsify",
]

make_callable(__name__, "stereogauge.confidence.measures", "confidence")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
