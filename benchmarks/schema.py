"""The form of what `python -m benchmarks --json` writes, as a JSON schema."""

from __future__ import annotations

from typing import Any

from benchmarks.report import FORMAT

AMOUNT: dict[str, Any] = {"type": "number", "minimum": 0}
AMOUNTS: dict[str, Any] = {"type": "array", "items": AMOUNT, "minItems": 1}
TEXT: dict[str, Any] = {"type": "string"}


def _record(properties: dict[str, Any]) -> dict[str, Any]:
    """An object with all of these and nothing else."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


ROW = _record(
    {
        "group": TEXT,
        "work": TEXT,
        "unit": TEXT,
        "ours": AMOUNTS,
        "ours_median": AMOUNT,
        "ours_fastest": AMOUNT,
        "peer": TEXT,
        "theirs": AMOUNTS,
        "theirs_median": AMOUNT,
        "theirs_fastest": AMOUNT,
        "ratio_median": AMOUNT,
        "ratio_fastest": AMOUNT,
        "noise": {"type": ["number", "null"], "minimum": 1},
        "goal": AMOUNT,
        "by": {"enum": ["median", "fastest"]},
        "met": {"type": "boolean"},
        "verdict": {"enum": ["met", "missed", "missed within noise"]},
        "note": TEXT,
    }
)
CURVE = _record({"over": TEXT, "name": TEXT, "sizes": AMOUNTS, "seconds": AMOUNTS, "slope": {"type": "number"}})
MACHINE = _record(
    {
        "processor": TEXT,
        "features": {"type": "array", "items": TEXT},
        "cores": {"type": "integer", "minimum": 1},
        "memory_gb": AMOUNT,
        "system": TEXT,
        "versions": {"type": "object", "additionalProperties": TEXT},
        "load": {"type": "array", "items": AMOUNT},
        "busy": AMOUNT,
        "others": AMOUNT,
        "stolen": AMOUNT,
    }
)
SCHEMA = _record(
    {
        "format": {"const": FORMAT},
        "date": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
        "machine": MACHINE,
        "rows": {"type": "array", "items": ROW},
        "missing": {"type": "array", "items": _record({"group": TEXT, "work": TEXT, "why": TEXT})},
        "curves": {"type": "array", "items": CURVE},
    }
)
