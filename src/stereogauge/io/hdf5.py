"""Spring's `.dsp5`: an HDF5 file whose dataset `disparity` holds the values; the sign is dropped, NaN is unknown."""

from __future__ import annotations

import numpy as np

from stereogauge.disparity import DisparityMap, as_disparity
from stereogauge.io.apart import decode_apart
from stereogauge.io.content import Content, Decoding, require_installed

MAGIC = b"\x89HDF\r\n\x1a\n"


def read(content: Content, decoding: Decoding) -> DisparityMap:
    """The absolute values of the dataset `disparity`."""
    if not content.starts_with(MAGIC):
        raise content.wrong_kind("an HDF5 file (.dsp5)")
    require_installed("h5py", content.name, "an HDF5 file")
    return np.abs(as_disparity(decode_apart("hdf5", content)))
