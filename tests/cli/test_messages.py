"""Messages name settings by words that are both options and parameters, and what they advise works."""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main

TRUTH = np.tile(np.linspace(5, 30, 60, dtype=np.float32), (40, 1))


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out + captured.err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    sg.write_disparity("gt.pfm", TRUTH)
    sg.write_disparity("mine.png", TRUTH, encoding="middlebury", scale=4)
    cv2.imwrite("mine.jpg", np.rint(TRUTH * 4).astype(np.uint8))
    for name in ("left.png", "right.png"):
        cv2.imwrite(name, np.random.default_rng(1).integers(0, 255, (40, 60), np.uint8))
    return tmp_path


def test_no_message_speaks_python(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["compare", "gt.pfm", "mine.png"],
        ["compare", "gt.pfm", "mine.jpg"],
        ["compare", "gt.pfm", "mine.png", "--encoding", "middlebury"],
        ["compare", "gt.pfm", "mine.png", "--encoding", "kitti"],
        ["convert", "mine.png", "x.pfm"],
        ["convert", "gt.pfm", "x.png"],
        ["convert", "gt.pfm", "x.png", "--to", "middlebury"],
        ["match", "left.png", "right.png", "--out", "x.png"],
    ):
        code, text = run(capsys, *words)
        assert code == 2, words
        assert not re.search(r'\b(encoding|scale|offset)=["\d]', text), text
        assert re.search(r"\b(encoding|scale|--to)\b", text), text


def test_what_a_message_asks_for_works(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["compare", "gt.pfm", "mine.png", "--encoding", "middlebury", "--scale", "4", "-m", "mae", "-r", "all"],
        ["compare", "gt.pfm", "mine.jpg", "--encoding", "middlebury", "--scale", "4", "-m", "mae", "-r", "all"],
        ["convert", "gt.pfm", "a.png", "--to", "middlebury", "--to-scale", "4"],
        ["convert", "gt.pfm", "b.png", "--to", "middlebury", "--scale", "4"],
        ["convert", "gt.pfm", "c.png", "--to", "kitti"],
    ):
        code, text = run(capsys, *words)
        assert code == 0, text
    assert (
        "the file's lossy compression changes values".lower()
        in run(
            capsys,
            *(
                *(
                    "compare",
                    "gt.pfm",
                    "mine.jpg",
                    "--encoding",
                    "middlebury",
                    "--scale",
                    "4",
                    "-m",
                    "mae",
                    "-r",
                    "all",
                ),
            ),
        )[1].lower()
    )


def test_a_match_is_not_lost_to_its_file_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run(capsys, "match", "left.png", "right.png", "--ndisp", "16", "--out", "new/x.png")
    assert code == 2
    assert "give --to kitti, or --to middlebury" in text
    assert "seconds" not in text
    code, _ = run(capsys, *("match", "left.png", "right.png", "--ndisp", "16", "--out", "new/x.png", "--to", "kitti"))
    assert code == 0
    assert sg.read_disparity("new/x.png").shape == (40, 60)
    assert "the map was not kept; --out" in run(capsys, "match", "left.png", "right.png", "--ndisp", "16")[1]
