"""The page on other evaluators says what its script finds now."""

from __future__ import annotations

import importlib.util
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


@pytest.mark.parametrize("part", ["agreement", "missing_pixels", "pooling", "readers"])
def test_the_tables_of_the_page_are_what_is_measured(script: ModuleType, data_root: Path, part: str) -> None:
    page = (ROOT / "docs" / "evaluators.md").read_text(encoding="utf-8")
    assert getattr(script, part)(data_root) in page


def test_an_empty_mask_has_no_score(script: ModuleType) -> None:
    assert script.empty_mask() in (ROOT / "docs" / "evaluators.md").read_text(encoding="utf-8")
