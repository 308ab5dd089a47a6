"""npy, npz, tiff, exr and spring: which array is taken, what is unknown, what is refused."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import OpenEXR
import pytest
import tifffile

from stereogauge import read_disparity
from stereogauge.errors import FileError, MissingDependency

VALUES = np.array([[1.5, np.inf, -2.25], [np.nan, 0.0, 100.125]], np.float32)
KNOWN = np.array([[1.5, np.nan, -2.25], [np.nan, 0.0, 100.125]], np.float32)


def write_exr(path: Path, channels: Mapping[str, np.ndarray[Any, Any]], compression: int, **header: Any) -> Path:
    OpenEXR.File({"compression": compression, "type": OpenEXR.scanlineimage, **header}, dict(channels)).write(str(path))
    return path


def same(disparity: np.ndarray[Any, Any], expected: np.ndarray[Any, Any] = KNOWN) -> bool:
    return disparity.dtype == np.float32 and np.array_equal(disparity, expected, equal_nan=True)


@pytest.mark.parametrize("kind", ["<f4", ">f4", "<f8", ">f8", "<f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_any_float_type_and_order(tmp_path: Path, kind: str, order: Any) -> None:
    np.save(tmp_path / "a.npy", np.asarray(VALUES, kind, order=order))
    assert same(read_disparity(tmp_path / "a.npy"))


def test_npy_of_whole_numbers_keeps_zero_as_a_value(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[0, 7]], np.int16))
    assert read_disparity(tmp_path / "a.npy").tolist() == [[0, 7]]


def test_what_is_read_can_be_written_to(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", KNOWN)
    disparity = read_disparity(tmp_path / "a.npy")
    disparity[0, 0] = 3
    assert read_disparity(tmp_path / "a.npy")[0, 0] == 1.5


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match=r"a\.npy: a disparity map holds real numbers; this array is of type '\|O'"):
        read_disparity(tmp_path / "a.npy")


def test_npz_takes_its_only_array_or_the_one_called_disparity(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", anything=VALUES)
    np.savez_compressed(tmp_path / "two.npz", other=np.zeros(3), disparity=VALUES)
    np.savez(tmp_path / "wrong.npz", left=VALUES, right=VALUES)
    assert same(read_disparity(tmp_path / "one.npz"))
    assert same(read_disparity(tmp_path / "two.npz"))
    with pytest.raises(FileError, match=r"one called 'disparity'; it holds 'left', 'right'"):
        read_disparity(tmp_path / "wrong.npz")


def test_a_constant_map_may_be_compressed_a_thousandfold(tmp_path: Path) -> None:
    constant = np.full((1000, 1000), 7, np.float32)
    np.savez_compressed(tmp_path / "a.npz", constant)
    tifffile.imwrite(tmp_path / "a.tif", constant, compression="zlib")
    for name in ("a.npz", "a.tif"):
        assert (tmp_path / name).stat().st_size < constant.nbytes / 100
        assert same(read_disparity(tmp_path / name), constant)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "zlib"},
        {"compression": "lzw", "predictor": 3},
        {"tile": (16, 16)},
        {"byteorder": ">"},
        {"bigtiff": True},
        {"rowsperstrip": 1},
    ],
    ids=str,
)
def test_tiff_in_the_ways_it_is_stored(tmp_path: Path, options: dict[str, Any]) -> None:
    tifffile.imwrite(tmp_path / "a.tif", VALUES, **options)
    assert same(read_disparity(tmp_path / "a.tif"))


@pytest.mark.parametrize("nodata", ["-2.25", "-2.25\0", " -2.25 "])
def test_the_nodata_tag_of_a_tiff_is_honoured(tmp_path: Path, nodata: str) -> None:
    tifffile.imwrite(tmp_path / "a.tif", VALUES, extratags=[(42113, "s", 0, nodata, True)])
    expected = KNOWN.copy()
    expected[0, 2] = np.nan
    assert same(read_disparity(tmp_path / "a.tif"), expected)


def test_a_nodata_tag_that_is_no_number_is_named(tmp_path: Path) -> None:
    tifffile.imwrite(tmp_path / "a.tif", VALUES, extratags=[(42113, "s", 0, "none", True)])
    with pytest.raises(FileError, match=r"a\.tif: the TIFF's nodata tag holds 'none'"):
        read_disparity(tmp_path / "a.tif")


def test_a_tiff_of_whole_numbers_is_read_with_a_scale_only(tmp_path: Path) -> None:
    tifffile.imwrite(tmp_path / "a.tif", np.array([[0, 16, 40]], np.uint16))
    with pytest.raises(FileError, match=r"a TIFF of uint16 does not say .* scale .for example 16"):
        read_disparity(tmp_path / "a.tif")
    assert same(read_disparity(tmp_path / "a.tif", scale=16), np.array([[np.nan, 1, 2.5]], np.float32))


@pytest.mark.parametrize("compression", ["NO", "ZIPS", "ZIP", "RLE", "PIZ"])
def test_exr_in_the_ways_it_is_stored(tmp_path: Path, compression: str) -> None:
    values = np.random.default_rng(0).uniform(-5, 300, (37, 53)).astype(np.float32)
    values[3, 4:9] = np.nan
    values[20] = 12.5
    path = write_exr(tmp_path / "a.exr", {"Y": values}, getattr(OpenEXR, f"{compression}_COMPRESSION"))
    assert same(read_disparity(path), values)


def test_exr_rows_may_be_stored_from_below(tmp_path: Path) -> None:
    values = np.arange(40 * 3, dtype=np.float32).reshape(40, 3)
    path = write_exr(tmp_path / "a.exr", {"Z": values}, OpenEXR.ZIP_COMPRESSION, lineOrder=OpenEXR.DECREASING_Y)
    assert same(read_disparity(path), values)


def test_exr_takes_the_channel_called_disparity_among_others(tmp_path: Path) -> None:
    other = np.ones(VALUES.shape, np.float16)
    channels = {"A": other, "disparity": VALUES, "z": np.ones(VALUES.shape, np.uint32)}
    assert same(read_disparity(write_exr(tmp_path / "a.exr", channels, OpenEXR.ZIP_COMPRESSION)))
    path = write_exr(tmp_path / "b.exr", {"A": other, "B": other}, OpenEXR.ZIP_COMPRESSION)
    with pytest.raises(FileError, match=r"b\.exr: a disparity map has one channel .* this image has 'A, B'"):
        read_disparity(path)


def test_exr_half_floats_are_values_too(tmp_path: Path) -> None:
    path = write_exr(tmp_path / "a.exr", {"Y": np.array([[0.5, 12.25]], np.float16)}, OpenEXR.ZIP_COMPRESSION)
    assert read_disparity(path).tolist() == [[0.5, 12.25]]


def test_spring_drops_the_sign(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.dsp5", "w") as file:
        file.create_dataset("disparity", data=VALUES, compression="gzip")
    assert same(read_disparity(tmp_path / "a.dsp5"), np.abs(KNOWN))


def test_spring_does_not_follow_links_out_of_the_file(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file.create_dataset("disparity", data=VALUES)
    with h5py.File(tmp_path / "a.dsp5", "w") as file:
        file["disparity"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "disparity")
    with h5py.File(tmp_path / "b.dsp5", "w") as file:
        file.create_dataset("disparity", (2, 3), "<f4", external=[(str(tmp_path / "secret.h5"), 0, 24)])
    with pytest.raises(FileError, match=r"a\.dsp5: 'disparity' is a link"):
        read_disparity(tmp_path / "a.dsp5")
    with pytest.raises(FileError, match=r"b\.dsp5: 'disparity' is not a dataset stored in this file"):
        read_disparity(tmp_path / "b.dsp5")


def test_a_partly_written_spring_file_is_truncated(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.dsp5", "w") as file:
        file.create_dataset("disparity", (64, 64), "<f4", chunks=(8, 8))[:8] = 1
    with pytest.raises(FileError, match=r"a\.dsp5: truncated: 'disparity' promises 16384 bytes"):
        read_disparity(tmp_path / "a.dsp5")


@pytest.mark.parametrize(("suffix", "package"), [(".tif", "tifffile"), (".dsp5", "h5py"), (".exr", "OpenEXR")])
def test_a_missing_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, package: str
) -> None:
    path = tmp_path / f"a{suffix}"
    if suffix == ".tif":
        tifffile.imwrite(path, VALUES)
    elif suffix == ".exr":
        write_exr(path, {"Y": VALUES}, OpenEXR.PIZ_COMPRESSION)
    else:
        h5py.File(path, "w").close()
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(MissingDependency, match=rf"a{suffix}: .*needs the package {package}; .*stereogauge\[io\]"):
        read_disparity(path)


def test_nothing_but_numpy_is_needed_for_npy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", VALUES)
    original = builtins.__import__

    def refuse(name: str, *arguments: Any, **options: Any) -> Any:
        assert name not in ("cv2", "h5py", "tifffile", "OpenEXR", "PIL"), name
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert same(read_disparity(tmp_path / "a.npy"))
