"""What the report on a file says, and what it finds suspicious."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stereogauge.errors import FileError
from stereogauge.io import inspect_disparity


def saved(folder: Path, values: NDArray[np.float32]) -> Path:
    path = folder / "map.npy"
    np.save(path, values.astype(np.float32))
    return path


def test_the_report_counts_valid_pixels_only(tmp_path: Path) -> None:
    report = inspect_disparity(saved(tmp_path, np.array([[1, 2, np.nan, 3], [4, 5, np.inf, 3]])))
    assert (report.width, report.height, report.encoding) == (4, 2, "npy")
    assert report.valid_share == 0.75
    assert (report.minimum, report.maximum, report.percentiles[50]) == (1, 5, 3)
    assert report.name.endswith("map.npy")


def ramp(low: float, high: float) -> NDArray[np.float32]:
    return np.linspace(low, high, 5000, dtype=np.float32).reshape(50, 100)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.full((2, 2), np.nan), "No pixel has a disparity"),
        (np.zeros((2, 2)), "Every disparity is 0"),
        (np.full((2, 2), 5.5), "Every disparity is 5.5"),
        (-ramp(1, 60), "100% of the disparities are negative"),
        (ramp(256, 60 * 256), "never divided by 256"),
        (ramp(1e6, 1e8), "cannot be in pixels of this image"),
        (np.where(ramp(1, 60) > 55, 5000, ramp(1, 60)), "as large as the image is wide"),
    ],
)
def test_each_suspicion_has_its_sentence(tmp_path: Path, values: NDArray[np.float32], said: str) -> None:
    problems = inspect_disparity(saved(tmp_path, values)).problems
    assert len(problems) == 1
    assert said in problems[0]


def test_an_ordinary_map_is_not_suspicious(tmp_path: Path) -> None:
    assert inspect_disparity(saved(tmp_path, ramp(1, 60))).problems == ()


def test_what_cannot_be_read_raises_the_readers_error(tmp_path: Path) -> None:
    (tmp_path / "a.pfm").write_bytes(b"Pf\n")
    with pytest.raises(FileError, match=r"a\.pfm: the PFM header is broken"):
        inspect_disparity(tmp_path / "a.pfm")
