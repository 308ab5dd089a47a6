"""Answers of the API as plain values for JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stereogauge.text import json_value

Plain = dict[str, Any]
"""A JSON object: null where a number is missing, the text "inf" where it is infinite."""


def plain(found: Any, names: Iterable[str], **stated: Any) -> Plain:
    """Attributes of a library's object as plain values, and what is stated besides."""
    values = {name: getattr(found, name) for name in names} | stated
    return {name: json_value(value) for name, value in values.items()}
