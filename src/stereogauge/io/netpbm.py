"""Binary PGM and PPM: a text header, then 8-bit or big-endian 16-bit samples, top row first."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.io.content import Content

LONGEST_HEADER = 4096
_BREAK = rb"(?:\s|#[^\n]*\n)+"
_HEADER = re.compile(rb"P[56]" + _BREAK + rb"(\d{1,9})" + _BREAK + rb"(\d{1,9})" + _BREAK + rb"(\d{1,9})\s")


def is_netpbm(content: Content) -> bool:
    """Whether the file claims to be a binary PGM or PPM."""
    return content.starts_with(b"P5") or content.starts_with(b"P6")


def decode(content: Content) -> NDArray[Any]:
    """The samples, (H, W) or (H, W, 3) RGB, uint8 or uint16 as they are stored."""
    if not is_netpbm(content):
        raise content.wrong_kind("a binary PGM or PPM file")
    header = _HEADER.match(bytes(content.data[:LONGEST_HEADER]))
    if header is None:
        raise content.error("the header is broken; it should be P5 or P6, width, height and the largest value.")
    width, height, largest = (int(group) for group in header.groups())
    content.check_dimensions(width, height)
    if not 1 <= largest <= 65535:
        raise content.error(f"the header gives {largest} as the largest value; it must be between 1 and 65535.")
    channels = 3 if content.starts_with(b"P6") else 1
    sample = np.dtype(np.uint8) if largest < 256 else np.dtype(">u2")
    content.check_length(header.end() + width * height * channels * sample.itemsize, width, height)
    samples = np.frombuffer(content.data, sample, width * height * channels, header.end())
    shape = (height, width) if channels == 1 else (height, width, 3)
    return samples.reshape(shape).astype(sample.newbyteorder("="), copy=True)


def encode(samples: NDArray[np.uint8]) -> bytes:
    """A binary PGM of 8-bit samples."""
    height, width = samples.shape
    return f"P5\n{width} {height}\n255\n".encode("ascii") + samples.tobytes()
