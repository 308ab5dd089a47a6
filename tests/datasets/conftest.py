"""Small files in the native layouts of datasets, made for the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stereogauge import write_disparity

HEIGHT, WIDTH = 6, 9


@pytest.fixture
def picture() -> Callable[..., Path]:
    """`picture(path, value)` writes a small grey image; an array writes that one."""
    import cv2

    def write(path: Path, pixels: int | NDArray[Any] = 100) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        array = np.full((HEIGHT, WIDTH), pixels, np.uint8) if isinstance(pixels, int) else pixels
        assert cv2.imwrite(str(path), array)
        return path

    return write


@pytest.fixture
def disparity() -> Callable[..., Path]:
    """`disparity(path, value, **encoding)` writes a small constant map; an array writes that one."""

    def write(path: Path, values: float | NDArray[Any] = 2.0, **encoding: Any) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        array = values if isinstance(values, np.ndarray) else np.full((HEIGHT, WIDTH), values, np.float32)
        write_disparity(path, array, **encoding)
        return path

    return write


@pytest.fixture
def text() -> Callable[[Path, str], Path]:
    """`text(path, content)` writes a text file."""

    def write(path: Path, content: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    return write


CALIB = """cam0=[3997.684 0 1176.728; 0 3997.684 1011.728; 0 0 1]
cam1=[3997.684 0 1307.839; 0 3997.684 1011.728; 0 0 1]
doffs=131.111
baseline=193.001
width={width}
height={height}
ndisp=280
isint=0
"""


@pytest.fixture
def calib() -> str:
    """A Middlebury calib.txt for the small images."""
    return CALIB.format(width=WIDTH, height=HEIGHT)
