"""`stereogauge warmup`: what it has compiled, no command compiles again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
import psutil
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.cli.warmup import RARE
from stereogauge.kernels.jit import kernel_count


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def command(cache: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stereogauge", *map(str, words)],
        env=os.environ | {"STEREOGAUGE_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )


def forms(cache: Path) -> set[str]:
    """Compiled kernels by module, name and form."""
    return {path.name for path in cache.glob("kernels/*/*.nbc")}


def kernels(cache: Path) -> set[str]:
    return {name.split("-")[0] for name in forms(cache)}


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """Images with their map and an estimate, as files."""
    import cv2

    random = np.random.default_rng(0)
    left = cv2.GaussianBlur(random.integers(0, 255, (60, 120), np.uint8), (0, 0), 1)
    cv2.imwrite(str(tmp_path / "left.png"), left)
    cv2.imwrite(str(tmp_path / "right.png"), np.roll(left, -4, axis=1))
    truth = np.full(left.shape, 4, np.float32)
    truth[20:40, 40:60] = 12
    truth[5, 5] = np.nan
    sg.write_disparity(tmp_path / "gt.pfm", truth)
    sg.write_disparity(tmp_path / "mine.pfm", truth + random.random(truth.shape).astype(np.float32))
    return tmp_path


def test_after_a_warm_up_commands_compile_nothing(pair: Path) -> None:
    cache = pair / "cache"
    said = command(cache, "warmup").stderr
    assert said.startswith("compiling kernels, once …\n")
    assert f"{kernel_count(RARE)} kernels to compile" in said
    ready = forms(cache)
    assert len(kernels(cache)) == kernel_count(RARE)
    maps = (pair / "gt.pfm", pair / "mine.pfm")
    calibrated = (*maps, "--left", pair / "left.png", "--right", pair / "right.png", "--focal", 100, "--baseline", 0.1)
    command(cache, "compare", *maps)
    command(cache, "compare", *maps, "-m", "bad@1,rms")
    command(cache, "compare", *calibrated, "--protocol", "hci")
    command(cache, "compare", *calibrated, "-m", "sze,z-mae,quantile@50", "-r", "all,disc,boundary,textureless")
    images = (pair / "left.png", pair / "right.png", "--ndisp", 16)
    command(cache, "match", *images, "--out", pair / "sgm.pfm", "--confidence", pair / "sure", "--set", "fill=true")
    assert forms(cache) == ready
    command(cache, "warmup", "--all")
    assert len(kernels(cache)) == kernel_count()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other interrupts")
def test_an_interrupt_ends_both_processes(tmp_path: Path) -> None:
    environment = os.environ | {"STEREOGAUGE_CACHE": str(tmp_path)}
    warming = subprocess.Popen(
        [sys.executable, "-m", "stereogauge", "warmup"], env=environment, stderr=subprocess.PIPE, start_new_session=True
    )
    while not forms(tmp_path) and warming.poll() is None:
        time.sleep(0.05)
    others = psutil.Process(warming.pid).children(recursive=True)
    os.killpg(warming.pid, signal.SIGINT)
    said = warming.communicate(timeout=60)[1]
    assert (warming.returncode, b"interrupted" in said, b"Traceback" in said) == (130, True, False)
    assert others
    assert not psutil.wait_procs(others, timeout=10)[1]


def test_an_error_in_the_second_process_is_told(tmp_path: Path) -> None:
    code = """
import stereogauge.cli.warmup as warmup
def fail(*, everything): raise warmup.typer.BadParameter("nothing can be compiled")
fail.__module__, fail.__qualname__, warmup.compile_scenes = warmup.__name__, "compile_scenes", fail
warmup.compile_maps = lambda *, everything: []
from stereogauge.cli import main
main(["warmup"])
"""
    environment = os.environ | {"STEREOGAUGE_CACHE": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "nothing can be compiled" in ended.stderr


def test_a_second_warm_up_says_that_all_is_compiled(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("stereogauge.kernels.compiler.kernel_cache", lambda: tmp_path)
    monkeypatch.setattr("stereogauge.cli.warmup.compile_all", lambda other, everything: None)
    monkeypatch.setattr("stereogauge.cli.warmup._compiled", lambda folder: 7)
    assert "all 7 kernels were compiled already" in run(capsys, "warmup")[2]


def test_after_a_complete_warm_up_nothing_is_looked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def compile_all(other: Executor | None, *, everything: bool) -> None:
        (tmp_path / f"kernel {len(list(tmp_path.glob('*.nbc')))}.nbc").touch()

    monkeypatch.setattr("stereogauge.kernels.compiler.kernel_cache", lambda: tmp_path)
    monkeypatch.setattr("stereogauge.cli.warmup.compile_all", compile_all)
    assert "compiled in" in run(capsys, "warmup")[2]
    assert "all 1 kernels were compiled already" in run(capsys, "warmup")[2]
    (tmp_path / "kernel 0.nbc").unlink()
    assert "compiled in" in run(capsys, "warmup")[2]
    assert "compiled in" in run(capsys, "warmup", "--all")[2]  # what few need may be missing still
