"""MATLAB's .mat files: the only matrix, or the one called `disparity`; NaN and ±inf are unknown.

Versions up to 7 are read by SciPy. Version 7.3 is HDF5, in which MATLAB stores matrices transposed.
"""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Sequence

import numpy as np

from stereogauge.disparity import DisparityMap, as_disparity
from stereogauge.errors import StereogaugeError, one_line
from stereogauge.io import hdf5
from stereogauge.io.content import (
    LARGEST_DEFLATE_RATIO,
    Content,
    Decoding,
    largest_content,
    require,
)
from stereogauge.io.inflation import inflates_beyond

NAME = "disparity"
HDF5_START = 512
"""Bytes that MATLAB puts before the HDF5 content of a 7.3 file."""
HEADER = 128
COMPRESSED = 15
NUMBERS = ("double", "single", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def read(content: Content, decoding: Decoding) -> DisparityMap:
    """The matrix of a .mat file."""
    if bytes(content.data[HDF5_START : HDF5_START + 8]) == hdf5.MAGIC:
        return _read_hdf5(content)
    if not content.starts_with(b"MATLAB 5.0 MAT-file"):
        raise content.wrong_kind("a MATLAB file (.mat) of version 5 or later")
    from scipy.io import loadmat, whosmat

    try:
        found = whosmat(io.BytesIO(content.data))
        matrices = {name: shape for name, shape, kind in found if len(shape) == 2 and kind in NUMBERS}
        name = _chosen(list(matrices), content)
        height, width = matrices[name]
        content.check_dimensions(width, height)
        if math.prod(matrices[name]) > LARGEST_DEFLATE_RATIO * content.size:
            raise content.error(
                f"{name!r} promises {width} × {height} values, more than {content.size} bytes can hold."
            )
        _check_inflated(content)
        return as_disparity(np.array(loadmat(io.BytesIO(content.data), variable_names=[name])[name]))
    except StereogaugeError:
        raise
    except Exception as error:  # SciPy raises many kinds of exceptions on damaged files
        raise content.error(f"the MATLAB file is truncated or damaged ({one_line(error)}).") from error


def _check_inflated(content: Content) -> None:
    """Refuse compressed variables that unpack to more than a map of the expected size, which SciPy would all unpack."""
    limit = largest_content(content.shape)
    order = "<" if bytes(content.data[HEADER - 2 : HEADER]) == b"IM" else ">"
    place = HEADER
    while place + 8 <= content.size:
        kind, length = struct.unpack_from(f"{order}II", content.data, place)
        start, place = place + 8, place + 8 + length
        if kind == COMPRESSED and inflates_beyond(content.data[start:place], limit):
            raise content.error(f"a variable unpacks to more than the {limit} bytes that it may have.")


def _read_hdf5(content: Content) -> DisparityMap:
    h5py = require("h5py", content.name, "a MATLAB file of version 7.3")
    try:
        with h5py.File(io.BytesIO(content.data), "r") as file:
            kept = [name for name in file if isinstance(file.get(name, getlink=True), h5py.HardLink)]
            matrices = [name for name in kept if isinstance(file[name], h5py.Dataset) and file[name].ndim == 2]
            return hdf5.read_dataset(h5py, file, content, _chosen(matrices, content), transposed=True)
    except StereogaugeError:
        raise
    except Exception as error:  # as above, of h5py
        raise content.error(f"the MATLAB file is truncated or damaged ({one_line(error)}).") from error


def _chosen(names: Sequence[str], content: Content) -> str:
    if NAME in names or len(names) == 1:
        return NAME if NAME in names else names[0]
    shown = ", ".join(sorted(names)[:8]) or "none"
    raise content.error(f"the file must hold one matrix or one called {NAME!r}; it holds {shown}.")
