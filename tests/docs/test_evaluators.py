"""The page on other evaluators says what its script finds now."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from .snippets import ROOT


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = ROOT / "docs" / "scripts" / "evaluators.py"
    specification = importlib.util.spec_from_file_location("evaluators_page", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("part", ["agreement", "missing_pixels", "pooling", "readers", "presets"])
def test_the_tables_of_the_page_are_what_is_measured(script: ModuleType, data_root: Path, part: str) -> None:
    page = (ROOT / "docs" / "evaluators.md").read_text(encoding="utf-8")
    assert getattr(script, part)(data_root) in page


def test_an_empty_mask_has_no_score(script: ModuleType) -> None:
    assert script.empty_mask() in (ROOT / "docs" / "evaluators.md").read_text(encoding="utf-8")


def test_no_two_presets_give_the_same_figures(script: ModuleType, data_root: Path) -> None:
    rows = [row.split("|") for row in script.presets(data_root).splitlines()[2:]]
    figures = [row[3] for row in rows]
    assert len(set(figures)) == len(figures)
    page = (ROOT / "docs" / "evaluators.md").read_text(encoding="utf-8")
    described = re.findall(
        r"^\| (`[a-z0-9-]+`) \|", page.partition("## Whose numbers")[2].partition("The same maps")[0], re.MULTILINE
    )
    assert [row[1].strip() for row in rows] == described
