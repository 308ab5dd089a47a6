"""Stereogauge works where the modules and calls are missing that only Unix has."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "stereogauge"
HIDING = Path(__file__).parent / "elsewhere"
UNIX_CALLS = {
    *("os.killpg", "os.fork", "os.getuid", "os.geteuid", "os.sched_getaffinity", "os.uname", "os.setsid"),
    *("signal.SIGKILL", "signal.SIGHUP", "signal.SIGALRM", "signal.alarm", "signal.SIGCHLD"),
}
UNIX_ONLY = {"resource", "fcntl", "pwd", "grp", "termios", "tty", "pty", "syslog", "crypt"}

CORE = """
import importlib, os, pkgutil, sys
from pathlib import Path
import numpy as np
import stereogauge as sg

for name in ("resource", "fcntl"):
    try:
        importlib.import_module(name)
    except ImportError:
        continue
    raise SystemExit(f"{name} is not hidden")

left = np.random.default_rng(0).integers(0, 255, (40, 60), np.uint8)
right = np.roll(left, -5, 1)
sgm = sg.match(left, right, "sgm", ndisp=16)
scene = sg.Scene("shift", gt=np.full(left.shape, 5, np.float32), left=left, right=right)
assert sg.evaluate(sgm, scene, ["bad@1"], ["nonocc"]).value("bad@1") < 5
assert sg.confidence(sgm, ["peak-ratio"])

Path("mine.py").write_text(
    "import sys, shutil, numpy as np\\n"
    "left, right, out = sys.argv[1:]\\n"
    "np.save(out, np.full((40, 60), 5, np.float32))\\n"
)
program = f"cmd:{sys.executable} mine.py {{left}} {{right}} {{out}}"
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
program = program.replace("mine.py", str(Path("mine.py").resolve()))
assert (sg.match(left, right, program, ndisp=16, extension="npy").disparity == 5).all()
for options, message in (({"time_limit": 0.05}, "time limit"), ({"memory_limit": 1.0}, "cannot limit the memory")):
    slow = f"cmd:{sys.executable} -c 'import time; time.sleep(60)' {{left}} {{right}} {{out}}"
    try:
        sg.match(left, right, slow, ndisp=16, **options)
    except sg.StereogaugeError as problem:
        assert message in str(problem), problem
    else:
        raise SystemExit(f"{options} had no effect")

with sg.open_store("scores.sqlite") as store:
    assert store.datasets() == []
for module in pkgutil.walk_packages(sg.__path__, "stereogauge."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def run_hidden(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command of this Python with everything hidden that only Unix has."""
    paths = [str(HIDING), *(path for path in sys.path if path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )


def test_no_module_needs_what_only_unix_has() -> None:
    """An import at the top of a module is allowed only where its absence is caught."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & UNIX_ONLY, f"{path.relative_to(ROOT)}:{node.lineno}"


def test_no_module_calls_what_only_unix_has() -> None:
    """`hasattr` and `getattr` say that a call may be missing; naming it outright does so only beside them."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name = f"{node.value.id}.{node.attr}"
                line = text.splitlines()[node.lineno - 1]
                assert name not in UNIX_CALLS or "hasattr" in line, f"{path.relative_to(ROOT)}:{node.lineno}: {name}"


def test_the_core_works_without_unix(tmp_path: Path) -> None:
    (tmp_path / "core.py").write_text(CORE, encoding="utf-8")
    done = run_hidden(["core.py"], tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_matcher_is_evaluated_in_worker_processes_without_unix(tmp_path: Path) -> None:
    words = ["-m", "stereogauge", "evaluate", "motorcycle", "--matcher", "opencv-bm", "--jobs", "2"]
    done = run_hidden([*words, "-m", "bad@1", "--maps", "maps", "--store", "scores.sqlite"], tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.slow
def test_the_suites_core_passes_without_unix(tmp_path: Path) -> None:
    """Tests of files, matchers, metrics, evaluation and the command line, as they are."""
    files = [
        *("tests/test_public.py", "tests/matching/test_match.py", "tests/evaluation/test_estimates.py"),
        *("tests/evaluation/test_matchers.py", "tests/io/test_round_trips.py", "tests/cli/test_compare.py"),
    ]
    # What a program takes of the processor and of memory is known on Unix only.
    skipped = "not slow and not memory and not program_is_a_matcher and not started_ends"
    words = ["-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-k", skipped, *files]
    done = run_hidden(words, ROOT)
    assert done.returncode == 0, done.stdout[-3000:]
