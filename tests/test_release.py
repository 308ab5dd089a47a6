"""Wheel and source archive hold everything, agree with each other, and the wheel works where only it is installed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.version import VERSION

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("build", "hatchling")),
        reason="the packages build and hatchling are not installed",
    ),
]


def run(*words: str | Path, folder: Path = ROOT, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        list(map(str, words)), cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def made_in(folder: Path, kind: str, source: Path = ROOT) -> Path:
    run(sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", folder, source)
    (found,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return found


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def shipped() -> set[str]:
    """Every file of the package that is under version control or would be."""
    files = (path for path in (SOURCE / "stereogauge").rglob("*") if path.is_file())
    return {path.relative_to(SOURCE).as_posix() for path in files if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("release")
    return made_in(folder / "wheel", "wheel"), made_in(folder / "sdist", "sdist")


def test_the_wheel_holds_the_whole_package_and_nothing_else(archives: tuple[Path, Path]) -> None:
    inside = names(archives[0])
    package = {name for name in inside if not name.startswith(f"stereogauge-{VERSION}.dist-info/")}
    assert package == shipped()
    assert {Path(name).suffix for name in package} >= {".py", ".toml", ".js", ".css", ".html", ".svg"}
    assert "stereogauge/py.typed" in package


def test_the_source_archive_gives_the_same_wheel(archives: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, source = archives
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert {"README.md", "LICENSE", "pyproject.toml", "CHANGELOG.md", "CITATION.cff"} <= {
        path.name for path in unpacked.iterdir()
    }
    assert names(made_in(tmp_path / "again", "wheel", unpacked)) == names(wheel)


def test_an_index_would_take_them(archives: tuple[Path, Path]) -> None:
    pytest.importorskip("twine", reason="the package twine is not installed")
    assert "PASSED" in run(sys.executable, "-m", "twine", "check", "--strict", *archives)


def installed(wheel: Path, folder: Path) -> Sequence[str | Path]:
    """A command line of a fresh environment with the wheel; what it depends on is this environment's."""
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    dependencies = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(dependencies), encoding="utf-8")
    return [python, "-I", "-m", "stereogauge"]


def test_the_wheel_works_where_it_is_installed(archives: tuple[Path, Path], tmp_path: Path) -> None:
    command = installed(archives[0], tmp_path / "fresh")
    truth = np.tile(np.linspace(5, 30, 60, dtype=np.float32), (40, 1))
    sg.write_disparity(tmp_path / "gt.pfm", truth)
    sg.write_disparity(tmp_path / "mine.pfm", truth + 3)
    place = run(command[0], "-I", "-c", "import stereogauge; print(stereogauge.__file__)", folder=tmp_path).strip()
    assert Path(place).is_relative_to(tmp_path / "fresh")
    assert run(*command, "--version", folder=tmp_path).strip() == f"stereogauge {VERSION}"
    assert "d-fat" in run(*command, "metrics", folder=tmp_path)
    words = ("gt.pfm", "mine.pfm", "--metrics", "bad@2", "--regions", "all", "--protocol", "hci", "--format", "csv")
    assert ",100.0," in run(*command, "compare", *words, folder=tmp_path)
