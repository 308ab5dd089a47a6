"""MATLAB's .mat files: the only matrix, or the one called `disparity`; NaN and ±inf are unknown.

Versions up to 7 are read by SciPy. Version 7.3 is HDF5, in which MATLAB stores matrices transposed.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from stereogauge.disparity import DisparityMap, as_disparity
from stereogauge.errors import one_line
from stereogauge.io import hdf5
from stereogauge.io.apart import decode_apart
from stereogauge.io.content import (
    Content,
    Decoding,
    largest_content,
    require_installed,
)
from stereogauge.io.inflation import inflates_beyond

HDF5_START = 512
"""Bytes that MATLAB puts before the HDF5 content of a 7.3 file."""
HEADER = 128
COMPRESSED = 15


def read(content: Content, decoding: Decoding) -> DisparityMap:
    """The matrix of a .mat file."""
    if bytes(content.data[HDF5_START : HDF5_START + 8]) == hdf5.MAGIC:
        require_installed("h5py", content.name, "a MATLAB file of version 7.3")
        return np.ascontiguousarray(as_disparity(decode_apart("matlab-7.3", content)).T)
    if not content.starts_with(b"MATLAB 5.0 MAT-file"):
        raise content.wrong_kind("a MATLAB file (.mat) of version 5 or later")
    _check_inflated(content)
    return as_disparity(decode_apart("matlab", content)).copy()


def _check_inflated(content: Content) -> None:
    """Refuse compressed variables that unpack to more than a map of the expected size, which SciPy would all unpack."""
    limit = largest_content(content.shape)
    order = "<" if bytes(content.data[HEADER - 2 : HEADER]) == b"IM" else ">"
    place = HEADER
    while place + 8 <= content.size:
        kind, length = struct.unpack_from(f"{order}II", content.data, place)
        start, place = place + 8, place + 8 + length
        try:
            too_large = kind == COMPRESSED and inflates_beyond(content.data[start:place], limit)
        except zlib.error as error:
            raise content.error(f"the MATLAB file is truncated or damaged ({one_line(error)}).") from error
        if too_large:
            raise content.error(f"a variable unpacks to more than the {limit} bytes that it may have.")
