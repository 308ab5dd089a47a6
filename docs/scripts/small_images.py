"""Pictures for the pages as small PNG files: a palette instead of full colour, which no figure here needs."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from stereogauge.figures.chart import Chart
from stereogauge.figures.pictures import PictureFigure, encoded


def save_small(picture: Chart | PictureFigure | Figure | bytes, path: Path, dpi: int = 150, colours: int = 256) -> int:
    """Write a figure, or the bytes of a picture, with at most `colours` colours; the size of the file."""
    if isinstance(picture, Chart | PictureFigure):
        data = picture.encoded("png")
    else:
        data = encoded(picture, "png", dpi=dpi) if isinstance(picture, Figure) else picture
    path.parent.mkdir(exist_ok=True)
    Image.open(io.BytesIO(data)).convert("RGB").quantize(colours).save(path, optimize=True)
    return path.stat().st_size
