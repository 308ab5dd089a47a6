"""The native library is built by the compiler that there is; where there is none, one sentence says what to do."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "hatch_build.py"


def build(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script without any installed package, so also without ziglang."""
    words = [sys.executable, "-I", "-S", str(SCRIPT), str(folder), "--levels", "v2", "base", *options]
    surroundings = {name: value for name, value in os.environ.items() if name != "CXX"} | environment
    return subprocess.run(words, env=surroundings, capture_output=True, text=True, check=False)


def hook() -> ModuleType:
    specification = importlib.util.spec_from_file_location("hatch_build_tested", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_without_any_compiler_a_sentence_names_two_ways_out(tmp_path: Path) -> None:
    done = build(tmp_path, PATH=str(tmp_path))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "needs a C++17 compiler and none was found" in done.stderr
    assert "apt-get install g++" in done.stderr
    assert "pip install ziglang" in done.stderr


@pytest.mark.parametrize("compiler", ["false", "no-such-compiler --flag"])
def test_a_named_compiler_that_cannot_compile_is_refused(tmp_path: Path, compiler: str) -> None:
    done = build(tmp_path, CXX=compiler)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"CXX names {compiler!r}, which cannot compile C++17 with vector extensions; name another compiler, or none: "
        "then the first one on the path that can is used."
    ]


def test_a_platform_without_a_library_is_refused(tmp_path: Path) -> None:
    done = build(tmp_path, "--target", "plan9-mips")
    assert done.returncode == 2
    assert "linux-x86_64" in done.stderr


def test_zig_is_a_build_dependency_only_where_it_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("STEREOGAUGE_TARGET", raising=False)
    asked = hook().NativeLibrary.dependencies
    if shutil.which("c++"):
        assert asked(None) == []
    monkeypatch.setenv("STEREOGAUGE_TARGET", "macos-aarch64")
    (needed,) = asked(None)
    assert needed.startswith("ziglang==")
    monkeypatch.delenv("STEREOGAUGE_TARGET")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hook().NativeLibrary.dependencies(None) == [needed]


@pytest.mark.slow
def test_a_source_tree_builds_its_library_again_when_a_source_has_changed(tmp_path: Path) -> None:
    sources = shutil.ignore_patterns("__pycache__", "libstereogauge.*", "static", "web")
    shutil.copytree(ROOT / "src" / "stereogauge", tmp_path / "src" / "stereogauge", ignore=sources)
    shutil.copy(SCRIPT, tmp_path)
    (tmp_path / "build").symlink_to(ROOT / "build")  # objects of unchanged sources are used again
    native = tmp_path / "src" / "stereogauge" / "native"
    program = "from stereogauge.kernels import library; print(library.library()._name, library.compiler())"
    words = [sys.executable, "-c", program]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    environment.pop("STEREOGAUGE_NATIVE_LIBRARY", None)

    def named() -> str:
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout

    assert str(native) in named()
    built = next(native.glob("libstereogauge.*"))
    first = built.stat().st_mtime_ns
    named()
    assert built.stat().st_mtime_ns == first
    level = native / "level.cpp"
    level.write_text(
        level.read_text(encoding="utf-8")
        .replace('"GCC "', '"A changed GCC "')
        .replace('"Clang "', '"A changed Clang "')
    )
    assert "A changed " in named()
