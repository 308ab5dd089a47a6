"""Maps as people have them: depth, arrays with a third dimension, OpenCV's ×16, MATLAB, gzip, transparency, JPEG."""

from __future__ import annotations

import gzip
from pathlib import Path

import cv2
import h5py
import numpy as np
import pytest
import scipy.io
from numpy.typing import NDArray

import stereogauge as sg
from stereogauge import StereogaugeError
from stereogauge.errors import FileError, SizeError
from stereogauge.io import DisparityFile, content_hash

CAMERA = sg.Calibration(focal=1000, baseline=0.2, doffs=5)
VALUES = np.array([[4.0, 8.5, 16.0], [20.0, 25.0, 40.0]], np.float32)
DEPTH = 200 / (VALUES + 5)


def same(found: NDArray[np.float32], expected: object) -> bool:
    return bool(np.allclose(found, np.asarray(expected, np.float32), rtol=1e-5, equal_nan=True))


def test_depth_becomes_disparity_with_the_calibration(tmp_path: Path) -> None:
    np.save(tmp_path / "z.npy", DEPTH)
    assert same(sg.read_disparity(tmp_path / "z.npy", encoding="depth-m", calibration=CAMERA), VALUES)
    cv2.imwrite(str(tmp_path / "z.png"), np.rint(DEPTH * 1000).astype(np.uint16))
    found = sg.read_disparity(tmp_path / "z.png", encoding="depth-mm", calibration=CAMERA)
    assert np.abs(found - VALUES).max() < 0.01
    scaled = sg.read_disparity(tmp_path / "z.png", encoding="depth-m", scale=1000, calibration=CAMERA)
    assert same(scaled, found)


def test_a_depth_of_zero_is_unknown_and_a_missing_calibration_is_said(tmp_path: Path) -> None:
    np.save(tmp_path / "z.npy", np.array([[0.0, -1.0, 10.0]]))
    found = sg.read_disparity(tmp_path / "z.npy", encoding="depth-m", calibration=CAMERA)
    assert same(found, [[np.nan, np.nan, 15.0]])
    with pytest.raises(FileError, match=r"focal length and baseline are not both known here; give a calibration"):
        sg.read_disparity(tmp_path / "z.npy", encoding="depth-m")


@pytest.mark.parametrize("shape", [(1, 2, 3), (2, 3, 1), (1, 1, 2, 3)])
def test_a_third_dimension_of_one_is_dropped(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "a.npy", VALUES.reshape(shape))
    assert same(sg.read_disparity(tmp_path / "a.npy"), VALUES)
    table = sg.evaluate(VALUES.reshape(shape), sg.Scene("x", gt=VALUES), ["mae"], ["all"])
    assert table.value("mae") == 0


def test_the_scale_acts_on_arrays_and_stored_values_may_mean_unknown(tmp_path: Path) -> None:
    stored = np.array([[-16, 0, 40]], np.int16)
    np.save(tmp_path / "opencv.npy", stored)
    found = sg.read_disparity(tmp_path / "opencv.npy", scale=16, unknown=(-16,))
    assert same(found, [[np.nan, 0, 2.5]])
    cv2.imwrite(str(tmp_path / "a.png"), np.array([[0, 255, 8]], np.uint8))
    assert same(sg.read_disparity(tmp_path / "a.png", scale=4, unknown=(255,)), [[np.nan, np.nan, 2]])


def test_transparency_without_any_transparent_pixel_is_dropped(tmp_path: Path) -> None:
    samples = np.full((2, 3, 4), 255, np.uint8)
    samples[..., :3] = 8
    cv2.imwrite(str(tmp_path / "a.png"), samples)
    assert same(sg.read_disparity(tmp_path / "a.png", scale=4), np.full((2, 3), 2))


def test_a_picture_in_false_colours_is_called_so(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "a.png"), cv2.applyColorMap(np.arange(60, dtype=np.uint8).reshape(6, 10), 2))
    for options in ({}, {"encoding": "middlebury", "scale": 4}):
        with pytest.raises(FileError, match=r"false colours.*PFM, NPY or 16-bit PNG"):
            sg.read_disparity(tmp_path / "a.png", **options)


def test_matlab_files_of_both_kinds(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "a.mat", {"D": VALUES.astype(np.float64)}, do_compression=True)
    assert same(sg.read_disparity(tmp_path / "a.mat"), VALUES)
    scipy.io.savemat(tmp_path / "two.mat", {"a": VALUES, "b": VALUES})
    with pytest.raises(FileError, match="one matrix or one called 'disparity'; it holds a, b"):
        sg.read_disparity(tmp_path / "two.mat")
    with h5py.File(tmp_path / "new.mat", "w", userblock_size=512) as file:
        file["disparity"] = VALUES.T
    assert same(sg.read_disparity(tmp_path / "new.mat"), VALUES)
    (tmp_path / "cut.mat").write_bytes((tmp_path / "a.mat").read_bytes()[:150])
    with pytest.raises(FileError, match="truncated or damaged"):
        sg.read_disparity(tmp_path / "cut.mat")


def test_a_gzipped_file_is_read_as_the_one_in_it(tmp_path: Path) -> None:
    sg.write_disparity(tmp_path / "a.pfm", VALUES)
    (tmp_path / "a.pfm.gz").write_bytes(gzip.compress((tmp_path / "a.pfm").read_bytes()))
    assert same(sg.read_disparity(tmp_path / "a.pfm.gz"), VALUES)
    (tmp_path / "cut.pfm.gz").write_bytes((tmp_path / "a.pfm.gz").read_bytes()[:30])
    with pytest.raises(FileError, match="gzip file is truncated"):
        sg.read_disparity(tmp_path / "cut.pfm.gz")


def test_a_lossy_picture_is_read_when_its_scale_is_said(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "a.jpg"), np.full((16, 16), 80, np.uint8))
    assert abs(float(sg.read_disparity(tmp_path / "a.jpg", encoding="middlebury", scale=4)[0, 0]) - 20) < 1
    with pytest.raises(FileError, match=r"lossy .* scale to .* 4"):
        sg.read_disparity(tmp_path / "a.jpg")
    cv2.imwrite(str(tmp_path / "a.bmp"), np.full((16, 16), 80, np.uint8))
    assert sg.read_disparity(tmp_path / "a.bmp", encoding="middlebury", scale=4)[0, 0] == 20
    with pytest.raises(FileError, match=r"a BMP image does not say .* scale to .* 4"):
        sg.read_disparity(tmp_path / "a.bmp")


def test_what_was_said_of_a_file_is_in_its_hash(tmp_path: Path) -> None:
    sg.write_disparity(tmp_path / "a.pfm", VALUES)
    variants: list[dict[str, object]] = [
        {},
        {"scale": 2.0},
        {"unknown": (4.0,)},
        {"flip": "left-right"},
        {"crop": (0, 0, 2, 2)},
        {"encoding": "depth-m", "calibration": CAMERA},
        {"encoding": "depth-m", "calibration": sg.Calibration(focal=900, baseline=0.2)},
    ]
    hashes = [content_hash(DisparityFile(tmp_path / "a.pfm", **options)) for options in variants]  # type: ignore[arg-type]
    assert len(set(hashes)) == len(variants)


def test_a_map_is_turned_and_cropped_when_asked(tmp_path: Path) -> None:
    sg.write_disparity(tmp_path / "a.pfm", VALUES)
    assert same(DisparityFile(tmp_path / "a.pfm", flip="up-down").read(), VALUES[::-1])
    assert same(DisparityFile(tmp_path / "a.pfm", flip="transpose").read(), VALUES.T)
    assert same(DisparityFile(tmp_path / "a.pfm", crop=(1, 0, 2, 1)).read(), VALUES[:1, 1:])
    with pytest.raises(StereogaugeError, match=r"do not lie within the map of 3 × 2"):
        DisparityFile(tmp_path / "a.pfm", crop=(2, 0, 2, 1)).read()
    with pytest.raises(StereogaugeError, match="Unknown flip 'upward'"):
        DisparityFile(tmp_path / "a.pfm", flip="upward").read()


def test_a_size_that_is_expected_is_checked_in_every_form(tmp_path: Path) -> None:
    sg.write_disparity(tmp_path / "a.pfm", VALUES)
    (tmp_path / "a.pfm.gz").write_bytes(gzip.compress((tmp_path / "a.pfm").read_bytes()))
    scipy.io.savemat(tmp_path / "old.mat", {"D": VALUES})
    with h5py.File(tmp_path / "new.mat", "w", userblock_size=512) as file:
        file["disparity"] = VALUES.T
    for name in ("a.pfm", "a.pfm.gz", "old.mat", "new.mat"):
        assert same(sg.read_disparity(tmp_path / name, shape=(2, 3)), VALUES)
        with pytest.raises(SizeError, match="it has 3 × 2 pixels, not 2 × 3"):
            sg.read_disparity(tmp_path / name, shape=(3, 2))
    turned = DisparityFile(tmp_path / "a.pfm", flip="transpose")
    assert same(turned.read((3, 2)), VALUES.T)
    with pytest.raises(SizeError, match="it has 3 × 2 pixels, not 2 × 3"):
        turned.read((2, 3))


def test_compressed_files_unpack_to_no_more_than_a_map_of_the_expected_size(tmp_path: Path) -> None:
    sg.write_disparity(tmp_path / "a.pfm", VALUES)
    zeros = bytes(2 << 20)
    (tmp_path / "a.pfm.gz").write_bytes(gzip.compress((tmp_path / "a.pfm").read_bytes() + zeros))
    with pytest.raises(FileError, match="the gzip file holds more than the 1048672 bytes that it may have"):
        sg.read_disparity(tmp_path / "a.pfm.gz", shape=(2, 3))
    scipy.io.savemat(tmp_path / "a.mat", {"disparity": VALUES})
    scipy.io.savemat(tmp_path / "b.mat", {"more": np.zeros(1 << 18)}, do_compression=True)
    (tmp_path / "a.mat").write_bytes((tmp_path / "a.mat").read_bytes() + (tmp_path / "b.mat").read_bytes()[128:])
    with pytest.raises(FileError, match="a variable unpacks to more than the 1048672 bytes that it may have"):
        sg.read_disparity(tmp_path / "a.mat", shape=(2, 3))
    assert same(sg.read_disparity(tmp_path / "a.mat"), VALUES)
