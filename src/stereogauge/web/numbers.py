"""Numbers in typed answers."""

from __future__ import annotations

from typing import Any

from stereogauge.scores.plain import json_value


def finite(value: Any) -> Any:
    """A plain number, or null where it is not finite: the page shows a dash there."""
    plain = json_value(value)
    return None if plain in ("inf", "-inf") else plain
