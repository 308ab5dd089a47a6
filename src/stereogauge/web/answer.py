"""Answers of the API as plain values for JSON."""

from __future__ import annotations

from typing import Any

from stereogauge.text import json_values

Plain = dict[str, Any]
"""A JSON object: null where a number is missing, the text "inf" where it is infinite."""


plain = json_values
