"""Distances between point clouds, worked out by hand, and the clouds as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.io.writing import write_ply

CALIBRATION = sg.Calibration(focal=100, baseline=0.2)
METRICS = ["cloud-accuracy", "cloud-completeness", "cloud-chamfer", "cloud-f@0.5", "cloud-f@0.05"]


def scored(estimate: np.ndarray, truth: np.ndarray, **options: object) -> dict[str, float]:
    scene = sg.Scene("wall", gt=truth, calibration=CALIBRATION)
    table = sg.evaluate(estimate, scene, METRICS, ["all"], **options)
    return {name: table.value(name) for name in METRICS}


def test_a_perfect_map_has_no_distance_and_a_full_score() -> None:
    truth = np.full((40, 50), 10, np.float32)
    assert scored(truth, truth) == dict(zip(METRICS, [0, 0, 0, 100, 100], strict=True))


def test_a_wall_that_seems_nearer_is_off_by_that_much() -> None:
    """Z = 20 / d: 2 m and 1.6 m, in the middle of the image straight behind each other."""
    truth = np.full((41, 51), 10, np.float32)
    found = scored(truth + 2.5, truth)
    assert 0.4 <= found["cloud-accuracy"] < 0.401
    assert found["cloud-f@0.5"] == pytest.approx(100, abs=5)
    assert found["cloud-f@0.05"] == 0
    assert found["cloud-chamfer"] == pytest.approx((found["cloud-accuracy"] + found["cloud-completeness"]) / 2)


def test_a_hole_costs_as_much_as_the_worst_estimate_of_the_scene() -> None:
    """A wall at 2 m and a column at 1 m: a missing estimate costs the 1 m to there, along its ray."""
    truth = np.full((41, 51), 10, np.float32)
    truth[:, 0] = 20
    estimate = truth.copy()
    estimate[20, 25] = np.nan  # the centre, whose ray has length 1 per metre
    found = scored(estimate, truth)
    assert found["cloud-accuracy"] == pytest.approx(1 / truth.size, rel=1e-6)
    assert found["cloud-completeness"] == pytest.approx(0.02 / truth.size, rel=1e-6), "its neighbour is 0.02 m away"
    left_out = scored(estimate, truth, protocol=sg.load_protocol().replace(invalid="exclude"))
    assert left_out["cloud-accuracy"] == left_out["cloud-completeness"] == 0
    nothing = scored(truth * np.nan, truth)
    assert nothing["cloud-f@0.5"] == 0
    assert nothing["cloud-accuracy"] == nothing["cloud-completeness"] > 0.9


def test_without_calibration_there_is_a_reason() -> None:
    truth = np.full((4, 5), 10, np.float32)
    table = sg.evaluate(truth, sg.Scene("s", gt=truth), ["cloud-chamfer"], ["all"])
    assert "needs a calibration" in table.score("cloud-chamfer").note


def read_ply(path: Path) -> tuple[str, np.ndarray]:
    header, _, data = path.read_bytes().partition(b"end_header\n")
    fields = [
        (line.split()[2], {"float": "<f4", "uchar": "u1"}[line.split()[1]])
        for line in header.decode().splitlines()
        if line.startswith("property")
    ]
    return header.decode(), np.frombuffer(data, np.dtype(fields))


def test_a_cloud_as_a_file(tmp_path: Path) -> None:
    disparity = np.array([[10, np.nan, 20]], np.float32)
    image = np.array([[[1, 2, 3], [4, 5, 6], [7, 8, 9]]], np.uint8)
    assert write_ply(tmp_path / "cloud.ply", CALIBRATION.points(disparity), image) == 2
    header, rows = read_ply(tmp_path / "cloud.ply")
    assert "element vertex 2" in header
    assert rows["z"].tolist() == [2.0, 1.0]
    assert rows["x"] == pytest.approx([-0.02, 0.01])
    assert rows[["red", "green", "blue"]].tolist() == [(1, 2, 3), (7, 8, 9)]
    with pytest.raises(sg.StereogaugeError, match=r"image of the colours .* both must have one size"):
        write_ply(tmp_path / "cloud.ply", CALIBRATION.points(disparity), image[:, :2])


def test_convert_writes_clouds_and_asks_for_a_calibration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sg.write_disparity(tmp_path / "map.pfm", np.full((4, 5), 10, np.float32))
    words = ["convert", str(tmp_path / "map.pfm"), str(tmp_path / "cloud.ply")]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "give --calib, or --focal in px and --baseline in metres" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main([*words, "--focal", "100", "--baseline", "0.2", "--centre", "0", "0"])
    assert ended.value.code == 0
    assert "20 points" in capsys.readouterr().out
    assert read_ply(tmp_path / "cloud.ply")[1]["x"].min() == 0
