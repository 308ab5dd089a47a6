"""Matchers behind one interface: ours, OpenCV's, any program, any function. Names are imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stereogauge.matching.declaration import Matcher, MatcherParameter, matchers
    from stereogauge.matching.result import MatcherOutput, MatchResult
    from stereogauge.matching.run import match
    from stereogauge.matching.text import parse_matcher

_HOMES = {
    "match": "run",
    "MatchResult": "result",
    "MatcherOutput": "result",
    "Matcher": "declaration",
    "MatcherParameter": "declaration",
    "matchers": "declaration",
    "parse_matcher": "text",
}

__all__ = ["MatchResult", "Matcher", "MatcherOutput", "MatcherParameter", "match", "matchers", "parse_matcher"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
