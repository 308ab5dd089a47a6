"""The command line as a whole: help, mistakes, exit codes, and what it does not import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import COMMANDS, main


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stereogauge", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


def exit_code(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return int(stopped.value.code or 0)


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    program = (
        "import sys\nfrom stereogauge.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'cv2', 'pandas', 'numpy', 'matplotlib', 'scipy', 'sqlalchemy'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "HEAVY []" in result.stdout
    for name in COMMANDS:
        assert f"  {name} " in result.stdout


def test_comparing_two_files_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    sg.write_disparity(tmp_path / "gt.pfm", np.arange(2000.0).reshape(40, 50) / 100)
    sg.write_disparity(tmp_path / "est.pfm", np.arange(2000.0).reshape(40, 50) / 100 + 0.5)
    program = (
        "import sys\nfrom stereogauge.cli import main\n"
        f"try: main(['compare', {str(tmp_path / 'gt.pfm')!r}, {str(tmp_path / 'est.pfm')!r}])\n"
        "except SystemExit: pass\n"
        "heavy = {'pandas', 'matplotlib', 'sqlalchemy', 'numpy.ma'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "HEAVY []" in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(name, "--help") == 0
    assert "Usage: stereogauge " + name in capsys.readouterr().out


def test_an_unknown_command_and_option_end_with_code_2() -> None:
    assert run("compar").returncode == 2
    wrong = run("compare", "--nonsense")
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr


def test_version() -> None:
    assert run("--version").stdout.strip() == f"stereogauge {sg.__version__}"


def test_the_catalogue_of_metrics_prints_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("metrics") == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines()[1:3]] == ["bad@THRESHOLD", "rms"], "the usual ones first"
    assert exit_code("metrics", "bad", "--format", "json") == 0
    declared = json.loads(capsys.readouterr().out)
    assert declared["unit"] == "%"
    assert "delta" in declared["formula"]
    assert exit_code("metrics", "nonsense") == 2


def test_protocols_are_listed_and_printed_as_toml(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert exit_code("protocols") == 0
    assert "kitti-2015" in capsys.readouterr().out
    assert exit_code("protocols", "kitti-2015", "--set", "invalid=count") == 0
    text = capsys.readouterr().out
    path = tmp_path / "p.toml"
    path.write_text(text, encoding="utf-8")
    assert sg.load_protocol(path).hash == sg.load_protocol("kitti-2015").replace(invalid="count").hash


@pytest.mark.parametrize("words", ["metrics", "metrics --format json", "study --list", "datasets"])
def test_output_into_a_closed_pipe_is_no_error(words: str) -> None:
    command = f"set -o pipefail; {sys.executable} -m stereogauge {words} | true"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert result.returncode == 0
    assert result.stderr == ""


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    """A file stands where the folder should be: nobody, not even root, can write below it."""
    sg.write_disparity(tmp_path / "gt.pfm", np.ones((20, 30), np.float32))
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    truth = str(tmp_path / "gt.pfm")
    result = run("compare", truth, truth, "--as-given", "--metrics", "bad@1", "--out", str(tmp_path / "taken" / "x"))
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert str(tmp_path / "taken") in result.stderr.splitlines()[-1]
    assert "this is a file, and a folder is needed" in result.stderr


def test_an_impossible_port_is_refused(tmp_path: Path) -> None:
    result = run("serve", str(tmp_path / "s.sqlite"), "--port", "99999")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert "65535" in result.stderr


def test_ctrl_c_says_what_it_leaves_behind(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stopped() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("stereogauge.cli.metrics.metrics", stopped)
    assert exit_code("metrics") == 130
    assert "interrupted; what is finished is kept" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("protocols", "none.toml"),
        ("store", "import", "s.sqlite", "none.csv"),
        ("match", "a.png", "b.png", "--matcher", "none.toml"),
    ],
)
def test_a_file_that_is_not_there_is_named_once(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_code(*words) == 2
    told = capsys.readouterr().err
    assert told.count("none.") == 1
    assert "Errno" not in told
    assert "No such file" in told


@pytest.mark.parametrize(
    "words",
    [("study", "--size", "64x48"), ("confidence", "motorcycle"), ("tune", "--matcher", "sgm", "-d", "motorcycle")],
)
def test_a_folder_for_the_output_is_made_before_the_work(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    assert exit_code(*words, "--out", "taken/x") == 2
    told = capsys.readouterr().err
    assert "to compute" not in told
    assert "to judge" not in told
    assert "taken" in told
