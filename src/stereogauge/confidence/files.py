"""Confidence maps that others have made, from files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import FileError

IMAGES = (".png", ".pgm")


def read_confidence(path: str | os.PathLike[str], *, higher_is_better: bool) -> NDArray[np.float32]:
    """A map in which lower means more confident, NaN = undefined; the direction of the file must be declared.

    PNG and PGM give their stored numbers, whatever their scale: only the order counts. Other files are read as
    disparity maps are.
    """
    from stereogauge.io.disparity import read_disparity
    from stereogauge.io.images import read_pixels

    if Path(path).suffix.lower() in IMAGES:
        values: NDArray[Any] = read_pixels(path)
        if values.ndim == 3 and (values[..., :3] == values[..., :1]).all():
            values = values[..., 0]
        if values.ndim != 2:
            raise FileError(f"{path}: a confidence map has one channel, or three that are equal; this one is coloured.")
    else:
        values = read_disparity(path)
    real = values.astype(np.float32)
    return -real if higher_is_better else real
