"""kitti, middlebury and sintel: what the values mean, and what is refused."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from stereogauge import read_disparity, write_disparity
from stereogauge.errors import FileError, SizeError


def write_png(path: Path, samples: list[object], kind: type[np.generic] = np.uint8) -> Path:
    """`samples` in OpenCV's order: blue, green, red."""
    assert cv2.imwrite(str(path), np.array(samples, kind))
    return path


def test_kitti_is_a_256th_and_zero_is_unknown(tmp_path: Path) -> None:
    path = write_png(tmp_path / "a.png", [[0, 1, 256], [257, 65535, 128]], np.uint16)
    expected = [[np.nan, 1 / 256, 1], [257 / 256, 65535 / 256, 0.5]]
    assert np.array_equal(read_disparity(path), np.array(expected, np.float32), equal_nan=True)


def test_middlebury_divides_by_the_scale_and_adds_the_offset(tmp_path: Path) -> None:
    path = write_png(tmp_path / "a.png", [[0, 16, 255]])
    assert read_disparity(path, encoding="middlebury", scale=16).tolist()[0][1:] == [1.0, 255 / 16]
    shifted = read_disparity(path, encoding="middlebury", scale=16, offset=-1)
    assert np.isnan(shifted[0, 0])
    assert shifted.tolist()[0][1:] == [0.0, 255 / 16 - 1]
    stretched = read_disparity(path, encoding="middlebury", scale=255 / 70)
    assert stretched[0, 2] == np.float32(70)


def test_sixteen_bits_of_whole_pixels_are_read_with_a_scale(tmp_path: Path) -> None:
    path = write_png(tmp_path / "a.png", [[0, 3, 300]], np.uint16)
    assert read_disparity(path, encoding="middlebury", scale=1).tolist()[0][1:] == [3.0, 300.0]


def test_a_scale_alone_says_that_values_are_divided_by_it(tmp_path: Path) -> None:
    path = write_png(tmp_path / "a.png", [[0, 8]])
    assert read_disparity(path, scale=4)[0, 1] == 2


def test_three_equal_channels_count_as_one_and_different_ones_do_not(tmp_path: Path) -> None:
    equal = write_png(tmp_path / "equal.png", [[[4, 4, 4], [8, 8, 8]]])
    assert read_disparity(equal, encoding="middlebury", scale=4).tolist() == [[1, 2]]
    coloured = write_png(tmp_path / "coloured.png", [[[4, 4, 5], [8, 8, 8]]])
    with pytest.raises(FileError, match=r"coloured\.png: a disparity map has one channel; .* three that differ"):
        read_disparity(coloured, encoding="middlebury", scale=4)


def test_sintel_combines_the_three_channels(tmp_path: Path) -> None:
    path = write_png(tmp_path / "a.png", [[[64, 32, 10], [0, 0, 0]]])  # blue, green, red
    assert read_disparity(path, encoding="sintel").tolist() == [[10 * 4 + 32 / 64 + 64 / 16384, 0]]


def test_sintel_masks_make_pixels_unknown(tmp_path: Path) -> None:
    path = write_png(tmp_path / "a.png", [[[0, 0, 1], [0, 0, 2], [0, 0, 3]]])
    outside = write_png(tmp_path / "outofframe.png", [[255, 0, 0]])
    occluded = write_png(tmp_path / "occlusions.png", [[0, 0, 255]])
    disparity = read_disparity(path, encoding="sintel", masks=(outside, occluded))
    assert np.array_equal(disparity, [[np.nan, 8, np.nan]], equal_nan=True)


def test_a_mask_of_another_size_names_both_sizes(tmp_path: Path) -> None:
    path = write_png(tmp_path / "a.png", [[[0, 0, 1], [0, 0, 2]]])
    mask = write_png(tmp_path / "mask.png", [[255, 0, 0]])
    with pytest.raises(SizeError, match=r"The mask .*mask\.png is 3×1, .*a\.png 2×1"):
        read_disparity(path, encoding="sintel", masks=(mask,))


def test_pgm_is_read_with_eight_and_sixteen_bits(tmp_path: Path) -> None:
    (tmp_path / "a.pgm").write_bytes(b"P5 # made by hand\n2 1\n255\n\x00\x08")
    (tmp_path / "b.pgm").write_bytes(b"P5\n2 1\n1023\n\x00\x00\x01\x00")
    assert read_disparity(tmp_path / "a.pgm", encoding="middlebury", scale=4)[0, 1] == 2
    assert read_disparity(tmp_path / "b.pgm", encoding="middlebury", scale=4)[0, 1] == 64


@pytest.mark.parametrize(
    ("samples", "kind", "options", "said"),
    [
        ([[1, 2]], np.uint8, {}, r"an 8-bit PNG does not say how .* set encoding to middlebury and scale"),
        ([[[1, 2, 3]]], np.uint8, {}, r"a coloured PNG .*encoding to sintel"),
        ([[1, 2]], np.uint8, {"encoding": "kitti"}, "KITTI's encoding is a 16-bit grey PNG, this one is 8-bit grey"),
        ([[1, 2]], np.uint8, {"encoding": "middlebury"}, "needs the scene's scale"),
        ([[1, 2]], np.uint16, {"encoding": "middlebury"}, r"a 16-bit PNG is usually KITTI\'s \(encoding kitti\)"),
        ([[[1, 2, 3]]], np.uint16, {"encoding": "kitti"}, "one channel, this PNG is 16-bit RGB"),
        ([[1, 2]], np.uint8, {"encoding": "sintel"}, "Sintel's encoding is an 8-bit RGB PNG, this one is 8-bit grey"),
        ([[1, 2]], np.uint16, {"encoding": "kitti", "scale": 2}, "the encoding kitti has no scale"),
        ([[[1, 2, 3, 4]]], np.uint8, {"encoding": "middlebury", "scale": 2}, "transparency"),
        ([[1, 2]], np.uint16, {"encoding": "pfm"}, "not a PFM file; it looks like a PNG image"),
    ],
)
def test_what_is_not_certain_is_demanded(
    tmp_path: Path, samples: list[object], kind: type[np.generic], options: dict[str, object], said: str
) -> None:
    path = write_png(tmp_path / "teddy.png", samples, kind)
    with pytest.raises(FileError, match=r"teddy\.png: .*" + said):
        read_disparity(path, **options)  # type: ignore[arg-type]  # options vary by row


@pytest.mark.parametrize("scale", [0, -4, float("nan"), float("inf"), "4"])
def test_an_impossible_scale_is_refused(tmp_path: Path, scale: float) -> None:
    path = write_png(tmp_path / "a.png", [[1]])
    with pytest.raises(FileError, match=r"scale .* is not possible"):
        read_disparity(path, encoding="middlebury", scale=scale)


def test_kitti_keeps_a_disparity_of_zero_known_and_right_to_a_256th(tmp_path: Path) -> None:
    write_disparity(tmp_path / "a.png", np.array([[0.0, 0.001, np.nan, 1 / 256]]), encoding="kitti")
    assert read_disparity(tmp_path / "a.png").tolist()[0][:2] == [1 / 256, 1 / 256]
    assert np.isnan(read_disparity(tmp_path / "a.png")).tolist() == [[False, False, True, False]]


@pytest.mark.parametrize(("encoding", "scale"), [("kitti", None), ("middlebury", 255.99)])
@pytest.mark.parametrize("value", [-1.0, -0.001, 256.0, 1e9])
def test_what_an_integer_encoding_cannot_hold_is_refused_and_nothing_is_written(
    tmp_path: Path, encoding: str, scale: float | None, value: float
) -> None:
    with pytest.raises(FileError, match=r"a\.png: 2 disparities do not fit"):
        write_disparity(tmp_path / "a.png", np.array([[value, value, 0.5]]), encoding=encoding, scale=scale)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [0.0, 0.001])
def test_a_zero_of_coarse_steps_is_refused(tmp_path: Path, value: float) -> None:
    with pytest.raises(FileError, match=r"a\.png: 2 disparities do not fit"):
        write_disparity(tmp_path / "a.png", np.array([[value, value, 5.0]]), encoding="middlebury", scale=4)
    assert list(tmp_path.iterdir()) == []
