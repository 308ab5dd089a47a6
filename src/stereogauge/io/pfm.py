"""PFM: a text header `Pf`, width, height, scale; then 32-bit floats, bottom row first.

The sign of the scale gives the byte order (negative = little endian). Its magnitude is ignored: Middlebury writes a
display factor there, and multiplying by it would turn 1.5 into 0.006. Libraries disagree on this, so the reader is our
own. ±inf and NaN are unknown.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from stereogauge.disparity import DisparityMap
from stereogauge.io.content import Decoding, FileContent

LONGEST_HEADER = 4096
ROWS_PER_BLOCK = 16
VALUES_TRIED, FEWEST_TRIED, ORDINARY = 4096, 16, (1e-6, 1e6)
_SIZE, _SCALE = rb"([+-]?\d+)", rb"([+-]?[\d.]+(?:[eE][+-]?\d+)?)(?:[ \t]*\r?\n|\s)"
_HEADER = re.compile(rb"(?:\s|#[^\n]*\n)+".join([rb"P[fF]", _SIZE, _SIZE, _SCALE]))


def read(content: FileContent, decoding: Decoding) -> DisparityMap:
    """The map of a PFM file."""
    if content.starts_with(b"PF"):
        raise content.error("a colour PFM (PF, three channels); a disparity map is a grey one (Pf).")
    if not content.starts_with(b"Pf"):
        raise content.wrong_kind("a PFM file")
    header = _HEADER.match(bytes(content.data[:LONGEST_HEADER]))
    if header is None:
        raise content.error("the PFM header is broken; it should be the lines Pf, width and height, scale.")
    if max(len(header[1]), len(header[2])) > 12:
        raise content.error("the PFM header gives an absurd width or height.")
    width, height = int(header[1]), int(header[2])
    content.check_dimensions(width, height)
    # One blank may end the header, and the first bytes of data may look like blanks; the file size tells them apart.
    exact = content.size - 4 * width * height
    start = exact if header.end(3) < exact < header.end() else header.end()
    content.check_length(start + 4 * width * height, width, height)
    try:
        scale = float(header[3])
    except ValueError:  # two points, or nothing but one
        scale = 0.0
    if scale == 0:
        said = header[3].decode("ascii")
        raise content.error(f"the PFM scale {said!r} says no byte order; it must be a positive or negative number.")
    little_endian = scale < 0
    stored = np.frombuffer(content.data, "<f4" if little_endian else ">f4", width * height, start)
    _check_byte_order(content, stored, little_endian)
    return _upright(stored.reshape(height, width))


def _check_byte_order(content: FileContent, stored: NDArray[np.float32], little_endian: bool) -> None:
    """Refuse values that are absurd in the byte order that the header says, and ordinary in the other one.

    Different values are the evidence: one value that many pixels share may be absurd by intention.
    """
    some = np.unique_counts(stored[:: max(1, stored.size // VALUES_TRIED)]).values
    if some.size < FEWEST_TRIED:
        return
    if _ordinary(some) < 0.5 and _ordinary(some.view(some.dtype.newbyteorder())) > 0.95:
        said, sign = ("little", "positive") if little_endian else ("big", "negative")
        raise content.error(
            f"the header says {said}-endian, and the values make sense only in the other byte order; the scale, the "
            f"third line of the header, must be {sign}."
        )


def _ordinary(values: NDArray[np.float32]) -> float:
    """The share of the values other than 0 and infinity that are of a size that disparities and depths have."""
    with np.errstate(invalid="ignore"):
        sizes = np.abs(values.astype(np.float64))
    sizes = sizes[~(np.isinf(sizes) | (sizes == 0))]
    return float(np.mean((sizes > ORDINARY[0]) & (sizes < ORDINARY[1]))) if sizes.size else 1.0


def _upright(stored: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> DisparityMap:
    """The map with its top row first and NaN for infinities.

    In blocks that stay in the cache, and in the order of the file: the system reads ahead, not back.
    """
    disparity = np.empty(stored.shape, np.float32)
    last = len(stored)
    for start in range(0, last, ROWS_PER_BLOCK):
        rows = stored[start : start + ROWS_PER_BLOCK]
        block = disparity[last - start - len(rows) : last - start]
        block[...] = rows[::-1]
        infinite = np.isinf(block)
        if infinite.any():
            block[infinite] = np.nan
    return disparity


def encode(disparity: DisparityMap, decoding: Decoding, name: str) -> bytearray:
    """A little-endian PFM; NaN is written as +inf, as Middlebury does."""
    height, width = disparity.shape
    header = f"Pf\n{width} {height}\n-1\n".encode("ascii")
    data = bytearray(len(header) + 4 * disparity.size)
    data[: len(header)] = header
    stored = np.frombuffer(data, "<f4", offset=len(header)).reshape(height, width)
    np.copyto(stored, disparity[::-1])
    stored[np.isnan(stored)] = np.inf
    return data
