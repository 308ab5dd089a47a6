"""Pictures in rows and columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class PictureRow(NamedTuple):
    """Pictures side by side (RGB), with a name for the row."""

    label: str
    pictures: tuple[NDArray[np.uint8], ...]


class PicturePanels(NamedTuple):
    """Rows of pictures under common headings."""

    title: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[PictureRow, ...]
