"""Unpacking compressed data without ever holding more than was expected."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator

from stereogauge.errors import FileError

STEP = 1 << 20
SMALL_STEP = 1 << 16


def gunzipped(data: memoryview, name: str, limit: int) -> memoryview:
    """The content of a gzip file; an error that names it where it is damaged or holds more than `limit` bytes."""
    pieces, total = [], 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while piece := file.read(STEP):
                total += len(piece)
                if total > limit:
                    raise FileError(f"{name}: the gzip file holds more than the {limit} bytes that it may have.")
                pieces.append(piece)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{name}: the gzip file is truncated or damaged ({error}).") from error
    return memoryview(b"".join(pieces))


def inflate(parts: Iterable[memoryview], expected: int) -> bytearray | None:
    """The `expected` bytes that a zlib stream, given in parts, holds; None when it is broken or holds fewer or more.

    Memory grows with what really comes out, not with what a header promised.
    """
    stream = zlib.decompressobj()
    produced = bytearray()
    try:
        for piece in _pieces(parts):
            pending: bytes | memoryview = piece
            while len(pending) and not stream.eof:
                produced += stream.decompress(pending, min(STEP, expected + 1 - len(produced)))
                if len(produced) > expected:
                    return None
                pending = stream.unconsumed_tail
    except zlib.error:
        return None
    return produced if stream.eof and len(produced) == expected else None


def inflates_beyond(data: memoryview, limit: int) -> bool:
    """Whether a zlib stream holds more than `limit` bytes; what comes out is counted and not kept."""
    stream, produced = zlib.decompressobj(), 0
    for piece in _pieces([data]):
        pending: bytes | memoryview = piece
        while len(pending) and not stream.eof:
            produced += len(stream.decompress(pending, STEP))
            if produced > limit:
                return True
            pending = stream.unconsumed_tail
    return False


def _pieces(parts: Iterable[memoryview]) -> Iterator[memoryview]:
    """The parts cut into small pieces, because zlib copies what it has not consumed at each step."""
    for part in parts:
        for start in range(0, len(part), SMALL_STEP):
            yield part[start : start + SMALL_STEP]
