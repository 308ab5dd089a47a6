"""Tables on narrow terminals: whatever the width, every name and every number can be read whole."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys

import pytest
from rich.console import Console

from stereogauge.tables.table import Cell, Table, table
from stereogauge.tables.terminal import print_table


def printed(shown: Table, width: int, *, boxed: bool = True) -> str:
    stream = io.StringIO()
    print_table(Console(file=stream, width=width, highlight=False), shown, boxed=boxed)
    return stream.getvalue()


def numbers_table() -> Table:
    rows = [
        [f"an-algorithm-with-a-name-{row}", *(Cell(1.0, f"{row}.{place}0123") for place in range(8))]
        for row in range(3)
    ]
    return table("scores", "Scores", ["algorithm", *(f"metric number {place}" for place in range(8))], rows, ["a note"])


@pytest.mark.parametrize("width", [40, 50, 80, 120, 300])
@pytest.mark.parametrize("box", [False, True])
def test_no_name_and_no_number_is_cut_at_any_width(width: int, box: bool) -> None:
    text = printed(numbers_table(), width, boxed=box)
    assert "…" not in text
    assert all(len(line) <= width for line in text.splitlines())
    for row in range(3):
        assert f"an-algorithm-with-a-name-{row}" in text
        for place in range(8):
            assert text.count(f"{row}.{place}0123") == 1


def test_parts_repeat_the_names_and_the_title_stands_once() -> None:
    text = printed(numbers_table(), 80)
    assert text.count("Scores") == 1
    assert text.count("a note") == 1
    parts = text.count("an-algorithm-with-a-name-0")
    assert parts > 1
    assert text.count("an-algorithm-with-a-name-2") == parts


def test_prose_wraps_between_words() -> None:
    meaning = "the percentage of pixels whose error is larger than a threshold"
    lines = printed(table("", "", ["id", "meaning"], [["bad", meaning]]), 40, boxed=False).splitlines()
    assert len(lines) > 2
    assert " ".join(" ".join(lines[1:]).split()) == f"bad {meaning}"


def test_words_that_do_not_fit_side_by_side_stand_below_each_other() -> None:
    row = ["a-very-long-name-of-an-algorithm", "a-long-scene", "wrong-scale"]
    shown = printed(table("", "", ["algorithm", "scene", "finding"], [row]), 44)
    lines = [line.split() for line in shown.splitlines()]
    assert lines == [
        ["algorithm", "a-very-long-name-of-an-algorithm"],
        ["scene", "a-long-scene"],
        ["finding", "wrong-scale"],
    ]


def on_a_terminal(width: int, *words: str) -> str:
    """What the command shows on a terminal of that width."""
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(width), "NO_COLOR": "1", "TERM": "xterm"}
    command = [sys.executable, "-m", "stereogauge", *words]
    process = subprocess.Popen(command, stdout=slave, stderr=subprocess.DEVNULL, env=environment)
    os.close(slave)
    received = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        received += part
    os.close(master)
    assert process.wait(60) == 0
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", received.decode()).replace("\r", "")


@pytest.mark.parametrize("width", [50, 80])
def test_lists_of_confidence_measures_and_matchers_show_every_id(width: int) -> None:
    metrics = on_a_terminal(width, "confidence", "--list")
    assert "maximum-likelihood" in metrics
    assert "left-right-margin" in metrics
    matchers = on_a_terminal(width, "match", "--list")
    assert "opencv-sgbm" in matchers
    assert "right_view" in matchers
    assert "…" not in metrics.replace("0…", "") + matchers
    assert all(len(line) <= width for line in (metrics + matchers).splitlines())
