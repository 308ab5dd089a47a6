"""A map of another size than its scene is refused before its pixels are decoded, whatever the format."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from tests.io.malformed import exr_file, hdf5_file, npy_file, npz_file

from stereogauge import read_disparity, write_disparity
from stereogauge.errors import FileError, SizeError

LARGE = (1500, 2000)


@pytest.mark.parametrize("suffix", ["pfm", "png", "pgm", "npy", "tiff", "npz", "dsp5"])
def test_nothing_is_decoded_of_a_map_of_another_size(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"large.{suffix}"
    values = np.full(LARGE, 9.0, np.float32)
    if suffix == "npz":
        path.write_bytes(npz_file({"disparity.npy": npy_file(values)}))
    elif suffix == "dsp5":
        path.write_bytes(hdf5_file(array=values, compression="gzip"))
    else:
        write_disparity(path, values, **{"png": {"encoding": "kitti"}, "pgm": {"scale": 4.0}}.get(suffix, {}))
    options = {"scale": 4.0} if suffix == "pgm" else {}
    read_disparity(path, shape=LARGE, **options)
    tracemalloc.start()
    with pytest.raises(SizeError, match="2000 × 1500 pixels, not 56 × 40"):
        read_disparity(path, shape=(40, 56), **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A file is mapped or copied once at most; the pixels are 12 MB.
    assert peak < max(2_000_000, 1.5 * path.stat().st_size if suffix in ("npz", "dsp5", "tiff") else 0)


def test_an_exr_of_another_size_is_refused(tmp_path: Path) -> None:
    (tmp_path / "map.exr").write_bytes(exr_file())
    with pytest.raises(SizeError, match="not 3 × 2"):
        read_disparity(tmp_path / "map.exr", shape=(2, 3))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("offset", [2**63, 2**64 - 1])
def test_a_directory_at_an_offset_beyond_all_files_is_one_sentence(tmp_path: Path, order: str, offset: int) -> None:
    head = b"II+\0" if order == "<" else b"MM\0+"
    (tmp_path / "map.tiff").write_bytes(head + struct.pack(f"{order}HHQ", 8, 0, offset) + bytes(64))
    with pytest.raises(FileError, match="directory lies beyond"):
        read_disparity(tmp_path / "map.tiff")
