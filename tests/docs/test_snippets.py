"""Every command and every Python snippet of the README and the guide does what a reader will see it do."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import COMMANDS, main
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Measurement

from .snippets import ROOT, Snippet, guide_pages, snippets

PAGES = guide_pages()
SPECIAL = ("extending.md",)  # has a test of its own: its snippets are a package


def of_page(page: Path, *, slow: bool) -> list[Snippet]:
    """The snippets to run; a page with a slow snippet runs whole with the slow tests, and without it otherwise."""
    return [s for s in snippets(page) if slow or "slow" not in s.directives]


def run_command(words: list[str]) -> tuple[int, str]:
    """The exit code and the error output of one stereogauge command, run in this process."""
    errors, output = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(output), pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0), errors.getvalue() + output.getvalue()


def check_make(words: list[str]) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(words) <= set(targets), f"make {words}: the Makefile has {targets}"


def check_install(words: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in re.findall(r"\[([\w,]+)\]", " ".join(words)):
        assert set(extra.split(",")) <= set(project["optional-dependencies"]), extra


def check_options(words: list[str]) -> None:
    """A command that is not run here: it exists and has the options that the page writes."""
    assert words[0] in COMMANDS, words
    code, text = run_command([words[0], "--help"])
    assert code == 0
    for option in (word.partition("=")[0] for word in words if word.startswith("--")):
        assert re.search(rf"{re.escape(option)}\b", text), f"stereogauge {words[0]} has no option {option}"


def run_console(snippet: Snippet) -> None:
    for words in snippet.commands:
        program, arguments = words[0], words[1:]
        if program == "make":
            check_make(arguments)
        elif program == "pip":
            check_install(arguments)
        elif program == "stereogauge" and "not run" in snippet.directives:
            check_options(arguments)
        elif program == "stereogauge":
            code, text = run_command(arguments)
            assert code == int(snippet.directives.get("exit", 0)), f"{snippet}: {' '.join(words)}\n{text[-2000:]}"
            shown = [line for line in snippet.text.splitlines() if line.startswith(("stereogauge: ", "note: "))]
            assert all(line.removesuffix("…") in text for line in shown), f"{snippet}: expected {shown}, found {text}"
        else:
            assert "not run" in snippet.directives, f"{snippet}: {program} is not run by the tests; say why"


def run(snippet: Snippet, names: dict[str, Any]) -> None:
    if "file" in snippet.directives:
        path = Path(snippet.directives["file"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(snippet.text, encoding="utf-8")
    elif snippet.language == "console":
        run_console(snippet)
    elif snippet.language == "python" and "not run" not in snippet.directives:
        code = compile(snippet.text, str(snippet), "exec")
        exec(code, names)


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in SPECIAL], ids=lambda page: page.stem)
def test_the_snippets_of_a_page_run_in_order(page: Path) -> None:
    names: dict[str, Any] = {}
    for snippet in of_page(page, slow=False):
        run(snippet, names)


@pytest.mark.slow
@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any("slow" in s.directives for s in snippets(page))], ids=lambda page: page.stem
)
def test_the_slow_snippets_of_a_page_run_too(page: Path) -> None:
    names: dict[str, Any] = {}
    for snippet in of_page(page, slow=True):
        run(snippet, names)


def test_every_page_of_the_guide_is_run() -> None:
    assert {*(ROOT / "docs" / "guide").rglob("*.md"), ROOT / "README.md"} <= set(PAGES)


def test_what_is_not_run_says_why() -> None:
    for page in PAGES:
        for snippet in snippets(page):
            assert snippet.directives.get("not run", "a reason"), f"{snippet} is not run and does not say why"


def test_the_metric_of_the_page_on_taking_part_measures() -> None:
    names: dict[str, Any] = {}
    for snippet in snippets(ROOT / "CONTRIBUTING.md"):
        if snippet.language == "python":
            exec(snippet.text, names)
    truth = np.array([[4, 4], [8, 8]], np.float32)
    regions = SceneRegions(sg.Scene("step", gt=truth), sg.load_protocol())
    found = names["mine"].bind().measure(Measurement(truth + np.float32([0, 4]), regions), "all")
    assert (found.sum, found.count, found.missing) == (4, 4, 0)


EXTENDING = ROOT / "docs" / "guide" / "extending.md"


def write_files(blocks: list[Snippet], folder: Path) -> None:
    """The files of a page, each made of all its snippets."""
    for name in {block.directives["file"] for block in blocks if "file" in block.directives}:
        parts = [block.text for block in blocks if block.directives.get("file") == name]
        (folder / name).write_text("\n\n".join(parts), encoding="utf-8")


@pytest.mark.slow
def test_the_package_of_the_page_on_extending_can_be_installed(tmp_path: Path) -> None:
    """As the page says, apart from the place: into a folder of its own."""
    write_files(list(snippets(EXTENDING)), tmp_path)
    target = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", "--target", str(target), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), *sys.path])}
    words = [sys.executable, "-m", "stereogauge", "metrics", "too-near"]
    done = subprocess.run(words, cwd=target, capture_output=True, text=True, check=False, env=environment)
    assert "seem nearer than they are" in done.stdout, done.stderr


@pytest.mark.usefixtures("workspace")
def test_the_file_of_the_page_on_extending_is_a_plug_in(tmp_path: Path) -> None:
    write_files(list(snippets(EXTENDING)), tmp_path)
    words = [sys.executable, "-m", "stereogauge", "metrics", "too-near", "--plugin", str(tmp_path / "garden_stereo.py")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert "seem nearer than they are" in done.stdout, done.stderr


def test_the_package_of_the_page_on_extending_adds_one_thing_of_each_kind(workspace: Path) -> None:
    """Its snippets are written as a module, its entry points as an installed package would have them."""
    blocks = list(snippets(EXTENDING))
    module = "\n\n".join(block.text for block in blocks if block.directives.get("file") == "garden_stereo.py")
    (workspace / "garden_stereo.py").write_text(module, encoding="utf-8")
    declared = next(tomllib.loads(block.text) for block in blocks if block.directives.get("file") == "pyproject.toml")
    information = workspace / "garden_stereo-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: garden-stereo\nVersion: 1.0\n")
    groups = declared["project"]["entry-points"]
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items()) for group, entries in groups.items()]
    (information / "entry_points.txt").write_text("\n".join(lines))
    use = "\n".join(block.text for block in blocks if block.language == "python" and "file" not in block.directives)
    done = subprocess.run(
        [sys.executable, "-c", use], cwd=workspace, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
