"""Pictures for the pages as small PNG files: a palette instead of full colour, which no figure here needs."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from stereogauge.figures.chart import Chart
from stereogauge.figures.pictures import PictureFigure


def save_small(picture: Chart | PictureFigure | bytes, path: Path, scale: float = 1.6, colours: int = 256) -> int:
    """Write a figure, or the bytes of a picture, with at most `colours` colours; the size of the file."""
    if isinstance(picture, PictureFigure):
        data = picture.encoded("png", scale)
    else:
        data = picture.encoded("png") if isinstance(picture, Chart) else picture
    path.parent.mkdir(exist_ok=True)
    Image.open(io.BytesIO(data)).convert("RGB").quantize(colours).save(path, optimize=True)
    return path.stat().st_size
