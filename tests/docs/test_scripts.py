"""The scripts that make the pages, and the benchmarks, name only what exists."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from .snippets import ROOT

SCRIPTS = sorted([*(ROOT / "docs" / "scripts").glob("*.py"), *(ROOT / "benchmarks").glob("*.py")])


def unresolved(path: Path) -> list[str]:
    """Names that a file takes from this package, or from a module of it, and that are not there."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules, missing = {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stereogauge"):
            home = importlib.import_module(node.module or "")
            for name in node.names:
                try:
                    found = getattr(home, name.name, None) or importlib.import_module(f"{node.module}.{name.name}")
                except ImportError:
                    missing.append(f"{node.module}.{name.name}")
                else:
                    modules[name.asname or name.name] = found
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            home = modules.get(node.value.id)
            if type(home) is type(ast) and not hasattr(home, node.attr):
                missing.append(f"{home.__name__}.{node.attr}")
    return missing


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_names_only_what_exists(path: Path) -> None:
    assert unresolved(path) == []
