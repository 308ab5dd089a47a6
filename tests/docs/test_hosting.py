"""The recipes of the hosting guide fit the store that the guide makes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import stereogauge as sg
from stereogauge.web.hiding import Hidden

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


@pytest.mark.parametrize("name", ["hosting.md", "hosting/stereogauge.service", "hosting/compose.yaml"])
def test_the_scenes_of_the_guide_are_hidden_by_its_recipes(name: str, example_files: Path) -> None:
    text = (GUIDE / name).read_text(encoding="utf-8")
    dataset = sg.load_dataset("middlebury-v3:Q", example_files / "MiddEval3")
    patterns = re.findall(r"--hidden '([^']+)'", text)
    assert patterns
    assert all(Hidden([pattern])(scene.id, dataset.name) for pattern in patterns for scene in dataset)
