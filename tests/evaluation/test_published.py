"""Published numbers are traced to the evaluator that gives them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import stereogauge as sg
from stereogauge import write_disparity
from stereogauge.cli import application
from stereogauge.errors import FileError
from stereogauge.evaluation.published import PrintedNumber, agreements, in_words, read_published

PRESETS = ("raft-stereo", "gwcnet", "psmnet", "kitti-2015", "openstereo")


@pytest.fixture
def frames(tmp_path: Path) -> tuple[sg.Dataset, sg.ResultSet, float, float]:
    """Two frames of different size with known mean error of images and pooled share beyond 3 px."""
    rng = np.random.default_rng(4)
    scenes, maps, every = [], {}, []
    for name, shape in (("a", (20, 40)), ("b", (60, 50))):
        truth = rng.uniform(5, 80, shape).astype(np.float32)
        estimate = (truth + rng.normal(0, 3 if name == "a" else 1.5, shape)).astype(np.float32)
        scenes.append(sg.Scene(name, gt=truth, dataset="frames"))
        maps[name] = estimate
        every.append(np.abs(estimate - truth))
        write_disparity(tmp_path / f"gt-{name}.pfm", truth)
        (tmp_path / "maps").mkdir(exist_ok=True)
        write_disparity(tmp_path / "maps" / f"{name}.pfm", estimate)
    epe = float(np.mean([one.mean() for one in every]))
    d1 = 100 * float(np.mean(np.concatenate([one.ravel() for one in every]) > 3))
    return sg.Dataset("frames", scenes), sg.ResultSet("A", maps), epe, d1


def test_the_digits_of_a_row_name_the_code_that_printed_them(frames: tuple) -> None:
    data, result, epe, d1 = frames
    numbers = [PrintedNumber("EPE", f"{epe:.6f}"), PrintedNumber("D1", f"{d1:.4f}")]
    found = agreements(numbers, data, result, presets=PRESETS)
    own = {(one.number.name, one.preset) for one in found if one.own}
    assert ("D1", "raft-stereo") in own
    assert not {("D1", "gwcnet"), ("D1", "psmnet"), ("D1", "kitti-2015")} & own
    assert {("EPE", "raft-stereo"), ("EPE", "gwcnet")} <= own
    said = in_words(numbers, found)
    assert said[0] == "all numbers together: `raft-stereo`"
    assert "bad@3 on all, pooled over pixels" in said[-1]


def test_a_share_and_a_wrong_number_are_told_apart(frames: tuple) -> None:
    data, result, _, d1 = frames
    share, wrong = PrintedNumber("outliers", f"{d1 / 100:.5f}"), PrintedNumber("D1", "77.7777")
    found = agreements([share, wrong], data, result, presets=PRESETS)
    assert {one.number for one in found} == {share}
    assert in_words([share, wrong], found)[-1] == "77.7777 (D1) is no preset's own number"


def test_rounding_is_that_of_the_printed_number() -> None:
    assert PrintedNumber("x", "1.23").agrees(1.2349)
    assert not PrintedNumber("x", "1.23").agrees(1.2351)
    assert not PrintedNumber("x", "1.230").agrees(1.2349)


def test_tables_are_read_by_row(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("method,EPE,D1 [%],code\nOurs,0.51,1.8%,yes\nTheirs,0.49,-,no\n")
    assert read_published(path, "Ours") == [PrintedNumber("EPE", "0.51"), PrintedNumber("D1 [%]", "1.8")]
    with pytest.raises(FileError, match="choose one of: Ours, Theirs"):
        read_published(path)


def test_the_command_prints_the_presets(frames: tuple, tmp_path: Path) -> None:
    (tmp_path / "stereogauge.toml").write_text('[paths]\nground_truth = "gt-{scene}.pfm"\n')
    table = tmp_path / "table.csv"
    table.write_text(f"method,D1\nA,{frames[3]:.5f}\n")
    arguments = ["identify", str(table), str(tmp_path), str(tmp_path / "maps"), "--format", "json"]
    done = CliRunner().invoke(application("identify", {}), arguments)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["numbers"][0]["agreements"]
    assert ("raft-stereo", "bad@3:all", "pooled") in {(one["preset"], one["column"], one["how"]) for one in found}


def test_a_row_of_the_kitti_leaderboard_is_found_with_background_and_foreground() -> None:
    truth = np.full((20, 40), 50, np.float32)
    estimate = truth.copy()
    estimate[:3, :25] += 4
    near = np.zeros(truth.shape, bool)
    near[2:12] = True
    masks = {"fg": near, "bg": ~near, "nonocc": np.ones(truth.shape, bool)}
    data = sg.Dataset("frames", [sg.Scene("a", gt=truth, masks=masks, dataset="frames")])
    row = [PrintedNumber("D1-bg", "12.50"), PrintedNumber("D1-fg", "6.25"), PrintedNumber("D1-all", "9.38")]
    found = agreements(row, data, sg.ResultSet("A", {"a": estimate}), presets=PRESETS)
    assert in_words(row, found)[0] == "all numbers together: `kitti-2015`"
    assert {str(one.column) for one in found if one.number == row[0] and one.own} == {"d1-bg:bg"}
