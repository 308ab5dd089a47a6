"""The rules between packages: who imports whom, and one word for one thing."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import stereogauge as sg
from stereogauge.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "stereogauge"
MODULES = sorted(PACKAGE.rglob("*.py"))
TEXTS = sorted(path for path in PACKAGE.rglob("*") if path.suffix in {".py", ".js", ".html", ".css", ".toml"})
PAPERS_WORD = re.compile(r"\bcriteri(on|a)\b", re.IGNORECASE)
MEASURE_AS_NOUN = re.compile(
    r"\b(an?|the|this|that|these|those|which|all|every|each|other|error|of|by) measures?\b", re.IGNORECASE
)


def test_packages_import_only_what_stands_below_them() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--config", "pyproject.toml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def inner_imports(path: Path) -> Iterator[str]:
    """Imports of this package inside functions; the lazy names of a package (PEP 562) are no such import."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if path.name == "__init__.py" and function.name == "__getattr__":
            continue
        for node in ast.walk(function):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else names
            inside = isinstance(node, ast.ImportFrom) and node.level > 0
            if inside or any(name.partition(".")[0] == "stereogauge" for name in names):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}"


def test_no_function_outside_the_command_line_imports_from_the_package() -> None:
    """Such an import hides a cycle; the commands may, so that `stereogauge --help` does not load everything."""
    outside = [path for path in MODULES if path.relative_to(PACKAGE).parts[0] != "cli"]
    assert sorted({place for path in outside for place in inner_imports(path)}) == []


def test_a_set_of_pixels_is_called_a_region() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in TEXTS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if PAPERS_WORD.search(line) and "papers" not in line
    ]
    assert found == []


def help_of(command: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), pytest.raises(SystemExit):
        main([command, "--help"])
    return printed.getvalue()


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "confidence"])
def test_a_command_speaks_of_metrics_and_regions(command: str) -> None:
    """`confidence` alone has measures: confidence measures, which are no metrics."""
    text = re.sub(r"\s+", " ", help_of(command))
    assert not PAPERS_WORD.search(text)
    assert not re.search(r"--(measure|criteri)\w*", text)
    assert not MEASURE_AS_NOUN.search(text.replace("confidence measure", ""))


def test_the_interface_of_the_site_speaks_of_metrics_and_regions(tmp_path: Path) -> None:
    from stereogauge.web.app import create_app
    from stereogauge.web.site import Site
    from stereogauge.web.source import StoreSource

    truth = np.full((8, 8), 4.0)
    with sg.open_store(tmp_path / "scores.sqlite") as store:
        store.write(sg.evaluate({"A": truth + 1}, sg.Scene("flat", gt=truth), ["mae"], ["all"]))
        description = create_app(Site(StoreSource(store))).openapi()
    calls = [call for path in description["paths"].values() for call in path.values()]
    names = {parameter["name"] for call in calls for parameter in call.get("parameters", ())}
    assert {"metrics", "regions"} <= names
    assert {name for name in names if re.search(r"measure|criteri", name)} == set()


def test_every_dependency_is_pinned_to_a_version_that_it_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [line.split("#")[0].strip() for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()]
    pins = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines if line)}
    extras = [text for extra in project["optional-dependencies"].values() for text in extra]
    for wanted in map(Requirement, [*project["dependencies"], *extras]):
        name = canonicalize_name(wanted.name)
        assert name == "stereogauge" or pins.get(name, "missing") in wanted.specifier, wanted
