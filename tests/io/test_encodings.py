"""The table of encodings, and what it costs to have it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stereogauge import read_disparity
from stereogauge.errors import FileError, UnknownNameError
from stereogauge.io import ENCODINGS

HEAVY = ("cv2", "h5py", "tifffile", "imagecodecs", "OpenEXR", "PIL", "scipy", "pandas", "fsspec")


def test_the_encodings_are_those_promised() -> None:
    files = {"pfm", "kitti", "middlebury", "sintel", "spring", "npy", "npz", "tiff", "exr", "mat", "fsd"}
    assert set(ENCODINGS) == files | {"inverse", "depth-m", "depth-mm"}
    assert all(encoding.description and encoding.files for encoding in ENCODINGS.values())


def test_no_suffix_belongs_to_two_encodings() -> None:
    suffixes = [suffix for encoding in ENCODINGS.values() for suffix in encoding.suffixes]
    assert len(set(suffixes)) == len(suffixes)


def test_the_table_needs_no_package_that_reads_files() -> None:
    program = f"import stereogauge.io.files, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_encoding_suggests_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "a.pfm").write_bytes(b"Pf")
    with pytest.raises(UnknownNameError, match=r"Unknown encoding 'midlebury'.*Did you mean 'middlebury'"):
        read_disparity(tmp_path / "a.pfm", encoding="midlebury")


def test_an_unknown_suffix_lists_the_encodings(tmp_path: Path) -> None:
    (tmp_path / "a.xyz").write_bytes(b"Pf")
    with pytest.raises(
        FileError, match=r"a\.xyz: the suffix '\.xyz' does not say the encoding; give one of pfm, kitti"
    ):
        read_disparity(tmp_path / "a.xyz")


def test_the_suffix_may_be_in_capitals(tmp_path: Path) -> None:
    (tmp_path / "A.PFM").write_bytes(b"Pf\n1 1\n-1\n\0\0\0\0")
    assert read_disparity(tmp_path / "A.PFM").tolist() == [[0]]
