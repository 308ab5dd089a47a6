"""PFM, by files written byte for byte in the test."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from stereogauge import read_disparity, write_disparity
from stereogauge.errors import FileError


def write(path: Path, header: bytes, order: str = "<", values: tuple[float, ...] = (1, 2, 3, 4, 5, 6)) -> Path:
    path.write_bytes(header + struct.pack(f"{order}{len(values)}f", *values))
    return path


def test_rows_are_stored_bottom_up(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pfm", b"Pf\n3 2\n-1.0\n")
    assert read_disparity(path).tolist() == [[4, 5, 6], [1, 2, 3]]


@pytest.mark.parametrize(
    ("scale", "order"), [(b"-1", "<"), (b"1.0", ">"), (b"-0.003922", "<"), (b"255", ">"), (b"-1e-3", "<")]
)
def test_the_sign_of_the_scale_is_the_byte_order_and_its_magnitude_is_ignored(
    tmp_path: Path, scale: bytes, order: str
) -> None:
    path = write(tmp_path / "a.pfm", b"Pf\n3 2\n" + scale + b"\n", order)
    assert read_disparity(path).tolist() == [[4, 5, 6], [1, 2, 3]]


@pytest.mark.parametrize(
    "header",
    [
        b"Pf\r\n3 2\r\n-1\r\n",
        b"Pf 3 2 -1\n",
        b"Pf\n# by hand\n3\t2\n# scale\n-1.0\n",
        b"Pf\n3\n2\n-1.000000 \n",
        b"Pf\n3 2\n-1 ",
    ],
)
def test_headers_as_various_programs_write_them(tmp_path: Path, header: bytes) -> None:
    assert read_disparity(write(tmp_path / "a.pfm", header)).tolist() == [[4, 5, 6], [1, 2, 3]]


@pytest.mark.parametrize("header", [b"Pf\n1 2\n-1 ", b"Pf\n1 2\n-1\r", b"Pf\n1 2\n-1\n"])
@pytest.mark.parametrize("first", [b"\n\n\n\x41", b"\r\n \x41", b"\t \n\x41"])
def test_data_that_starts_with_white_space_is_no_header(tmp_path: Path, header: bytes, first: bytes) -> None:
    (tmp_path / "a.pfm").write_bytes(header + first + struct.pack("<f", 7))
    assert read_disparity(tmp_path / "a.pfm").tolist() == [[7], [struct.unpack("<f", first)[0]]]


def test_infinities_and_nan_are_unknown(tmp_path: Path) -> None:
    values = (np.inf, -np.inf, np.nan, 0.0, -1.5, 7.0)
    disparity = read_disparity(write(tmp_path / "a.pfm", b"Pf\n3 2\n-1\n", "<", values))
    assert disparity.dtype == np.float32
    assert disparity[0].tolist() == [0.0, -1.5, 7.0]
    assert np.isnan(disparity[1]).all()


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"PF\n3 2\n-1\n", "colour PFM"),
        (b"Pf\n3 2\n0\n", "no byte order"),
        (b"Pf\n3 2\n1.2.3\n", "no byte order"),
        (b"Pf\n30 2\n-1\n", "truncated: 30 × 2 pixels need"),
        (b"Pf\n2 2\n-1\n", "header is wrong"),
        (b"Pf\n0 2\n-1\n", "0 × 2 pixels"),
        (b"Pf\n-3 2\n-1\n", "-3 × 2 pixels"),
        (b"Pf\n99999999999999999999 2\n-1\n", "absurd"),
        (b"Pf\n3 2\n", "broken"),
        (b"Px\n3 2\n-1\n", "not a PFM file"),
    ],
)
def test_each_mistake_in_a_header_gets_its_own_sentence(tmp_path: Path, header: bytes, said: str) -> None:
    path = write(tmp_path / "wrong.pfm", header)
    with pytest.raises(FileError, match=r"wrong\.pfm: .*" + said):
        read_disparity(path)


def test_what_is_written_is_what_middlebury_writes(tmp_path: Path) -> None:
    write_disparity(tmp_path / "a.pfm", np.array([[1.5, np.nan]], np.float32))
    assert (tmp_path / "a.pfm").read_bytes() == b"Pf\n2 1\n-1\n" + struct.pack("<2f", 1.5, np.inf)
