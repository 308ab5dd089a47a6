"""Calibration files, whole and broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stereogauge import Calibration, Scene, StereogaugeError
from stereogauge.datasets.calibration import read_calibration, read_kitti_calibration, read_middlebury_calibration
from stereogauge.errors import FileError
from stereogauge.evaluation.fingerprints import inputs_hash

MIDDLEBURY = "cam0=[1000 0 300; 0 1000 200; 0 0 1]\ncam1=[1000 0 330; 0 1000 200; 0 0 1]\ndoffs=30\nbaseline=193.001\n"
KITTI = "P0: 700 0 600 0 0 700 180 0 0 0 1 0\nP1: 700 0 600 -378 0 700 180 0 0 0 1 0\n"


def _write(folder: Path, content: str) -> Path:
    path = folder / "calib.txt"
    path.write_text(content, encoding="utf-8")
    return path


def test_millimetres_become_metres_and_what_is_absent_stays_absent(tmp_path: Path) -> None:
    calibration = read_middlebury_calibration(_write(tmp_path, MIDDLEBURY))
    assert calibration.baseline == pytest.approx(0.193001)
    assert (calibration.focal, calibration.doffs, calibration.ndisp) == (1000.0, 30.0, None)
    assert calibration.centre == (300.0, 200.0)


@pytest.mark.parametrize("content", [MIDDLEBURY, KITTI, '{"focal": 700, "baseline": 0.54}'])
def test_a_mark_of_the_byte_order_at_the_beginning_is_no_text(tmp_path: Path, content: str) -> None:
    wanted = read_calibration(_write(tmp_path, content))
    assert read_calibration(_write(tmp_path, "\ufeff" + content)) == wanted


def test_a_kitti_baseline_is_the_difference_of_the_fourth_column(tmp_path: Path) -> None:
    calibration = read_kitti_calibration(_write(tmp_path, KITTI), (0, 1))
    assert (calibration.focal, calibration.doffs) == (700.0, 0.0)
    assert calibration.baseline == pytest.approx(0.54)
    assert calibration.centre == (600.0, 180.0)


def test_points_lie_on_the_rays_of_the_calibration_file(tmp_path: Path) -> None:
    calibration = read_middlebury_calibration(_write(tmp_path, MIDDLEBURY))
    disparity = np.full((210, 310), 70.0)
    x, y, z = calibration.points(disparity)[200, 300]
    assert (x, y) == (0, 0)
    assert z == pytest.approx(1000 * 0.193001 / (70 + 30))
    assert calibration.points(disparity)[205, 290] == pytest.approx([-10 * z / 1000, 5 * z / 1000, z])
    assert calibration.points(disparity, (10, 20))[20, 10, :2] == pytest.approx([0, 0])
    assert calibration.scaled(0.5).centre == (149.75, 99.75)
    plain = replace(calibration, centre=None)
    truth = np.tile(np.linspace(20, 60, 60, dtype=np.float32), (40, 1))
    hashes = {inputs_hash([Scene("s", gt=truth, calibration=one)]) for one in (calibration, plain)}
    assert len(hashes) == 2


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "not a Middlebury calib.txt"),
        ("hello", "found 'hello'"),
        ("doffs=3\n", "calib.txt needs cam0, a list of 3 lists of 3 numbers (3 × 3 matrix"),
        (MIDDLEBURY.replace("baseline", "base"), "calib.txt needs baseline, a number greater than 0 in mm"),
        (
            MIDDLEBURY.replace("193.001", "wide"),
            "baseline must be a number greater than 0 in mm",
        ),
        (
            MIDDLEBURY.replace("193.001", "inf"),
            "baseline must be a number greater than 0 in mm",
        ),
        (MIDDLEBURY.replace("193.001", "0"), "baseline must be a number greater than 0"),
        (MIDDLEBURY.replace("[1000 0 300;", "[1000 0;"), "cam0.1 must be a list of 3 numbers; found [1000.0, 0.0]"),
        (MIDDLEBURY.replace("[1000 0 300;", "[f 0 300;"), "cam0 must be a list of 3 lists of 3 numbers"),
        ("cam0=[1 0 0\n" * 9000, "at most 65536"),
    ],
)
def test_a_malformed_middlebury_calibration_gets_its_own_sentence(tmp_path: Path, content: str, sentence: str) -> None:
    with pytest.raises(FileError) as error:
        read_middlebury_calibration(_write(tmp_path, content))
    assert sentence in str(error.value)
    assert "calib.txt" in str(error.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "neither P0 nor P_rect_00"),
        (KITTI.replace("P1", "P7"), "neither P1 nor P_rect_01"),
        (KITTI.replace(" 0 0 0 1 0", "", 1), "12 numbers of a 3 × 4 matrix; found 7"),
        (KITTI.replace("-378", "left"), "P1 must be a list of numbers (3 × 4 projection matrix by rows); found"),
        (KITTI.replace("-378", "378"), "baseline is -0.54 m"),
        (KITTI.replace("P1: 700", "P1: 710"), "one positive focal length, found 700 and 710"),
    ],
)
def test_a_malformed_kitti_calibration_gets_its_own_sentence(tmp_path: Path, content: str, sentence: str) -> None:
    with pytest.raises(FileError) as error:
        read_kitti_calibration(_write(tmp_path, content), (0, 1))
    assert sentence in str(error.value)


def test_a_file_that_is_no_text_or_not_there_is_told(tmp_path: Path) -> None:
    path = tmp_path / "calib.txt"
    with pytest.raises(FileError, match="cannot be read"):
        read_middlebury_calibration(path)
    path.write_bytes(b"\xff\xfe\x80")
    with pytest.raises(FileError, match="not text"):
        read_middlebury_calibration(path)


@given(st.text(max_size=200))
def test_no_text_makes_a_parser_crash(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    path = _write(tmp_path_factory.mktemp("calib"), content.encode("utf-8", "ignore").decode())
    for read in (read_middlebury_calibration, lambda file: read_kitti_calibration(file, (0, 1))):
        with pytest.raises(FileError):
            read(path)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"focal": 0}, "focal is a positive number of pixels; found 0"),
        ({"focal": float("nan")}, "focal is a positive number of pixels; found nan"),
        ({"focal": "700"}, "focal is a positive number of pixels; found '700'"),
        ({"baseline": -0.1}, "baseline is a positive number of metres; found -0.1"),
        ({"doffs": float("inf")}, "doffs is a finite number of pixels; found inf"),
        ({"ndisp": 0}, "ndisp is a number of disparities, at least 1; found 0"),
        ({"centre": (1, float("nan"))}, "centre is a point .x, y. in pixels"),
    ],
)
def test_an_impossible_calibration_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(StereogaugeError, match=said) as refusal:
        Calibration(**values)
    assert not isinstance(refusal.value, FileError)  # no file is wrong


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("deep.yaml", "a: " + "[" * 20_000),
        ("deep.json", "[" * 60_000),
        ("long.json", f'{{"fx": {"9" * 5000}}}'),
        ("long.yaml", f"fx: {'9' * 400}\nbaseline: 1\n"),
        ("no-size.yaml", "fx: 5\nbaseline: 1\nimage_width: .nan\nimage_height: 3\n"),
        ("words.yaml", "fx: 5\nbaseline: 1\nsize: [a, b]\n"),
        ("no-list.yaml", "cam0: {intrinsics: 5}\ncam1: {intrinsics: 5}\n"),
    ],
)
def test_entries_of_another_kind_are_one_sentence(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(FileError, match=name) as refused:
        read_calibration(tmp_path / name)
    assert len(str(refused.value)) < 1000
