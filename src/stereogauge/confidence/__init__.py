"""Confidence: measures, their combination, and how well they foretell errors; callable as `sg.confidence(match, …)`."""

from stereogauge.callable_module import make_callable

make_callable(__name__, "stereogauge.confidence.measures", "confidence")
