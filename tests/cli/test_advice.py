"""What messages advise is run: commands that they print exist and are complete, settings that they name help."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import typer

import stereogauge as sg
from stereogauge import cli
from stereogauge.cli import main

SOURCE = Path(sg.__file__).parent
PRINTED = re.compile(r"`stereogauge ([^`]+)`")
SETTING = re.compile(r"\b(gt-\w+|\w+) to (-?[\w.,-]*[\w])")


def printed_commands() -> list[str]:
    """The commands in all texts of the program; a value that is filled in becomes a name."""
    found: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                text = "".join(part.value if isinstance(part, ast.Constant) else "VALUE" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            found += [" ".join(match.split()) for match in PRINTED.findall(text)]
    return sorted(set(found))


@pytest.mark.parametrize("text", printed_commands())
def test_a_command_in_a_message_exists(text: str) -> None:
    assert "…" not in text
    words = shlex.split(text)
    called = next(word for word in words if not word.startswith("-"))
    assert called in cli.COMMANDS
    command: Any = typer.main.get_command(cli.application(called, {})).commands[called]
    rest = words[words.index(called) + 1 :]
    if rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest[0]]
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    for word in rest:
        assert not word.startswith("-") or word.partition("=")[0] in options, f"{called} has no option {word}"


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    truth = sg.load_dataset("motorcycle")["motorcycle"].gt
    noisy = truth + np.random.default_rng(1).normal(0, 0.7, truth.shape).astype(np.float32)
    holes = np.random.default_rng(2).random(truth.shape) < 0.1
    depth = 994.978 * 193.001 / (noisy + 31.086)
    maps = {
        "sixteen": noisy * 16, "thousand": noisy * 1000, "negated": -noisy, "shifted": noisy + 20,
        "mirrored": noisy[:, ::-1], "transposed": noisy.T, "padded": np.pad(noisy, ((0, 12), (0, 27))),
        "coded": np.where(holes, -1, noisy), "millimetres": depth, "half": noisy[::2, ::2],
    }  # fmt: skip
    sg.write_disparity("gt.pfm", truth)
    np.save("coded-gt.npy", np.where(holes, 0, truth))
    sg.write_disparity("mine.pfm", noisy)
    for name, values in maps.items():
        np.save(f"{name}.npy", np.ascontiguousarray(values))
    np.save("opencv.npy", np.where(holes, -16, np.rint(np.nan_to_num(noisy, nan=-1) * 16)).astype(np.int16))
    cv2.imwrite("counts.png", np.rint(np.nan_to_num(noisy) * 16).astype(np.uint16))
    return tmp_path


CAMERA = ["--focal", "994.978", "--baseline", "0.193001", "--doffs", "31.086"]
CASES = [
    *(("gt.pfm", f"{name}.npy") for name in ("sixteen", "thousand", "negated", "shifted", "mirrored", "transposed")),
    ("gt.pfm", "opencv.npy"),
    *(("gt.pfm", f"{name}.npy") for name in ("padded", "coded", "millimetres", "half")),
    *(("gt.pfm", "counts.png"), ("coded-gt.npy", "mine.pfm")),
]


@pytest.mark.parametrize(("truth", "estimate"), CASES)
def test_the_settings_that_a_message_names_help(
    truth: str, estimate: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", truth, estimate, "-m", "mae", "-r", "all", *CAMERA]
    code, err = run(capsys, *words)
    advice = re.split(r"\bset ", " ".join(err.split()))[-1]
    if not advice.startswith("gt-") and code == 0:
        assert "note:" in err
    settings = [word for name, value in SETTING.findall(advice) for word in (f"--{name}", value)]
    settings += ["--resize"] if advice.startswith("resize") else []
    assert settings, err
    code, err = run(capsys, *words, *settings)
    assert code == 0, err
    assert "note:" not in err
