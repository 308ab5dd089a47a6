"""What the JSON Schemas of commands are made of: plain values, records, rows and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
REAL: Schema = {"type": "number"}
VALUE: Schema = {"description": "a number; null where there is none", "anyOf": [REAL, {"enum": [None, "inf", "-inf"]}]}
TEXTS: Schema = {"type": "array", "items": TEXT}
ANY: Schema = {}


def record(description: str, optional: Mapping[str, Schema] | None = None, /, **fields: Schema) -> Schema:
    """An object with these fields, of which only the optional ones may be absent."""
    return {
        "type": "object",
        "description": description,
        "properties": {**fields, **(optional or {})},
        "required": list(fields),
    }


def several(item: Schema) -> Schema:
    """An array."""
    return {"type": "array", "items": item}


def either(schema: Schema) -> Schema:
    """The schema, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def by_name(item: Schema) -> Schema:
    """An object that may have any keys, all of one kind."""
    return {"type": "object", "additionalProperties": item}


TABLE = record(
    "one table",
    title=TEXT,
    header=TEXTS,
    rows=several(several({"type": ["number", "string", "null"]})),
    notes=TEXTS,
)
TABLES: Schema = {"type": "object", "description": "tables by name", "additionalProperties": TABLE}
ROWS: Schema = {
    "type": "array",
    "description": "one object per row, all with the same keys",
    "items": {"type": "object", "additionalProperties": {"type": ["number", "string", "boolean", "null"]}},
}


def tables_called(*names: str) -> Schema:
    """Tables by name, these among them."""
    return {**TABLES, "required": list(names)}
