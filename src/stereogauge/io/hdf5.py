"""Spring's `.dsp5`: an HDF5 file whose dataset `disparity` holds the values; the sign is dropped, NaN is unknown."""

from __future__ import annotations

import io
import math
from collections.abc import Collection
from typing import Any

import numpy as np

from stereogauge.disparity import DisparityMap, as_disparity
from stereogauge.errors import StereogaugeError, one_line
from stereogauge.io.content import LARGEST_DEFLATE_RATIO, Content, Decoding, require

MAGIC = b"\x89HDF\r\n\x1a\n"
DATASET = "disparity"


def read(content: Content, decoding: Decoding) -> DisparityMap:
    """The absolute values of the dataset `disparity`."""
    if not content.starts_with(MAGIC):
        raise content.wrong_kind("an HDF5 file (.dsp5)")
    h5py = require("h5py", content.name, "an HDF5 file")
    try:
        with h5py.File(io.BytesIO(content.data), "r") as file:
            return np.abs(read_dataset(h5py, file, content, DATASET, ("f",)))
    except StereogaugeError:
        raise
    except Exception as error:  # h5py turns damage into OSError, RuntimeError, KeyError, ValueError and others
        raise content.error(f"the HDF5 file is truncated or damaged ({one_line(error)}).") from error


def read_dataset(
    h5py: Any, file: Any, content: Content, name: str, kinds: Collection[str] = "fiu", *, transposed: bool = False
) -> DisparityMap:
    """A dataset of two dimensions and of numbers of these kinds, stored in this file, maybe by columns."""
    link = file.get(name, getlink=True)
    # A soft or external link, or external storage, could point to any other file of the machine.
    if link is not None and not isinstance(link, h5py.HardLink):
        raise content.error(f"{name!r} is a link; it must be a dataset stored in this file.")
    if link is None:
        names = ", ".join(sorted(file)[:8]) or "none"
        raise content.error(f"a .dsp5 file holds a dataset called {name!r}; this one holds {names}.")
    dataset = file[name]
    if not isinstance(dataset, h5py.Dataset) or dataset.is_virtual or dataset.external:
        raise content.error(f"{name!r} is not a dataset stored in this file.")
    if dataset.shape is None or len(dataset.shape) != 2:
        raise content.error(f"a disparity map has two dimensions (height, width); {name!r} has shape {dataset.shape}.")
    if dataset.dtype.kind not in kinds:
        numbers = "floats" if len(kinds) == 1 else "numbers"
        raise content.error(f"{name!r} must hold {numbers}; it holds {dataset.dtype}.")
    height, width = dataset.shape[::-1] if transposed else dataset.shape
    content.check_dimensions(width, height)
    _check_storage(dataset, content, name)
    values = as_disparity(dataset[...])
    return np.ascontiguousarray(values.T) if transposed else values


def _check_storage(dataset: Any, content: Content, name: str) -> None:
    """Raise an error unless all pixels are stored in the file; called before memory is allocated for them."""
    stored = dataset.id.get_storage_size()
    ratio = LARGEST_DEFLATE_RATIO if dataset.chunks and dataset.compression else 1
    whole = dataset.chunks is None or dataset.id.get_num_chunks() == math.prod(
        -(-size // chunk) for size, chunk in zip(dataset.shape, dataset.chunks, strict=True)
    )
    chunk_bytes = math.prod(dataset.chunks or (1,)) * dataset.dtype.itemsize
    if stored > content.size or not whole or max(dataset.nbytes, chunk_bytes) > ratio * stored:
        raise content.error(
            f"truncated: {name!r} promises {dataset.nbytes} bytes, the file holds {min(stored, content.size)} of them."
        )
