"""Every writer, read back by its reader."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stereogauge import read_disparity, write_disparity
from stereogauge.errors import FileError, SizeError
from stereogauge.io import ENCODINGS
from stereogauge.model import DisparityMap

SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=40)
MAPS = hnp.arrays(np.float32, SHAPES, elements=st.floats(width=32, allow_infinity=False, allow_nan=True))


def round_trip(disparity: DisparityMap, suffix: str, **options: Any) -> DisparityMap:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"map{suffix}"
        write_disparity(path, disparity, **options)
        assert [entry.name for entry in Path(folder).iterdir()] == [path.name]
        return read_disparity(path, **options)


@pytest.mark.parametrize("suffix", [".pfm", ".npy", ".tif", ".tiff"])
@given(disparity=MAPS)
@settings(max_examples=60, deadline=None)
def test_float_encodings_give_back_every_bit(suffix: str, disparity: DisparityMap) -> None:
    again = round_trip(disparity, suffix)
    assert again.dtype == np.float32
    assert again.flags.c_contiguous
    assert np.array_equal(np.isnan(again), np.isnan(disparity))
    known = ~np.isnan(disparity)
    assert again[known].tobytes() == disparity[known].tobytes()


@given(samples=hnp.arrays(np.uint16, SHAPES))
@settings(max_examples=60, deadline=None)
def test_kitti_gives_back_every_value_that_it_can_hold(samples: np.ndarray[Any, np.dtype[np.uint16]]) -> None:
    disparity = np.where(samples == 0, np.nan, samples / 256).astype(np.float32)
    assert np.array_equal(round_trip(disparity, ".png", encoding="kitti"), disparity, equal_nan=True)


@given(disparity=hnp.arrays(np.float32, SHAPES, elements=st.floats(0.0625, 255.5, width=32)))
@settings(max_examples=60, deadline=None)
def test_kitti_is_right_to_half_a_256th(disparity: DisparityMap) -> None:
    assert np.abs(round_trip(disparity, ".png", encoding="kitti") - disparity).max() <= 1 / 512


@pytest.mark.parametrize("suffix", [".png", ".pgm"])
@given(samples=hnp.arrays(np.uint8, SHAPES), scale=st.sampled_from([1.0, 2.0, 3.0, 4.0, 8.0, 16.0, 255 / 70]))
@settings(max_examples=40, deadline=None)
def test_middlebury_gives_back_every_value_that_it_can_hold(
    suffix: str, samples: np.ndarray[Any, np.dtype[np.uint8]], scale: float
) -> None:
    disparity = np.where(samples == 0, np.nan, samples / scale).astype(np.float32)
    assert np.array_equal(round_trip(disparity, suffix, encoding="middlebury", scale=scale), disparity, equal_nan=True)


def test_an_offset_goes_both_ways() -> None:
    disparity = np.array([[0.0, 3.5, np.nan]], np.float32)
    again = round_trip(disparity, ".png", encoding="middlebury", scale=2, offset=-1)
    assert np.array_equal(again, disparity, equal_nan=True)


def test_writing_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    write_disparity(path, np.ones((2, 2)))
    write_disparity(path, np.zeros((3, 1)))
    assert read_disparity(path).shape == (3, 1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npy"]


def test_infinities_are_written_as_unknown() -> None:
    assert np.isnan(round_trip(np.array([[np.inf, -np.inf]], np.float32), ".npy")).all()


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("a.png", {}, "a PNG can hold several encodings; set encoding to kitti"),
        ("a.jpg", {}, "the suffix '.jpg' does not say the encoding; give one of pfm, kitti, middlebury, npy, tiff"),
        ("a.exr", {}, "the encoding exr can be read but not written"),
        ("a.png", {"encoding": "middlebury"}, "needs a scale"),
        ("a.pfm", {"scale": 4}, "the encoding pfm has no scale or offset"),
        ("missing/a.pfm", {}, "the folder does not exist"),
    ],
)
def test_what_cannot_be_written_says_why(tmp_path: Path, name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(FileError, match=said):
        write_disparity(tmp_path / name, np.ones((2, 2)), **options)


def test_a_map_that_is_none_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(SizeError, match="two dimensions"):
        write_disparity(tmp_path / "a.pfm", np.ones((2, 2, 3)))


def test_the_writers_are_those_promised() -> None:
    assert {encoding.id for encoding in ENCODINGS.values() if encoding.writer} == {
        "pfm",
        "kitti",
        "middlebury",
        "npy",
        "tiff",
    }
