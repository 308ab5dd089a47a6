"""Hashes that tell whether code or plain values changed; `stereogauge.io.files.content_hash` does so for data files."""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent
SOURCE_SUFFIXES = (".py", ".cpp", ".h")
_IN_ORDER = json.JSONEncoder(sort_keys=True)  # one for all: json.dumps makes a new one per call

_quoted = json.encoder.encode_basestring_ascii


def values_hash(values: Any) -> str:
    """SHA-256, in hexadecimal, of values that JSON can hold; the order of a mapping's keys does not matter."""
    return values_digest(values).hex()


def values_digest(values: Any) -> bytes:
    """The bytes of `values_hash`."""
    return hashlib.sha256(_json(values).encode()).digest()


def _json(values: Any) -> str:
    """What `_IN_ORDER` makes of values, three times as fast for a list of texts; plans make thousands of these."""
    if type(values) is not list:
        return "{}" if values == {} else _IN_ORDER.encode(values)
    parts = [_quoted(one) if type(one) is str else "false" if one is False else _json(one) for one in values]
    return f"[{', '.join(parts)}]"


@functools.cache
def source_hash(*names: str, package: Path = PACKAGE) -> str:
    """SHA-256, in hexadecimal, of sources: files (`native/edges.cpp`) and folders with all sources in them.

    A folder that does not exist has none. A hash is computed once per process, since a running process does not load
    changed sources either.
    """
    digest = hashlib.sha256()
    for name in names:
        path = package / name
        found = [path] if path.suffix else [one for one in sorted(path.rglob("*")) if one.suffix in SOURCE_SUFFIXES]
        for source in found:
            digest.update(f"{source.relative_to(package).as_posix()} {source.stat().st_size}\n".encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()
