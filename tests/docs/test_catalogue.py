"""The generated catalogue shows what the declarations say."""

from __future__ import annotations

import html
import importlib.util
import re
from types import ModuleType

import pytest
from matplotlib import font_manager, ft2font

from .snippets import ROOT


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    """What the documentation's builder runs."""
    specification = importlib.util.spec_from_file_location("documentation_hooks", ROOT / "docs" / "hooks.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_no_character_of_a_formula_is_blank(hooks: ModuleType) -> None:
    """A browser draws nothing, or a box, for what no font has; Matplotlib brings DejaVu Sans, which has much."""
    drawn = ft2font.FT2Font(font_manager.findfont("DejaVu Sans")).get_charmap()
    formulas = re.findall(r"<math.*?</math>", hooks.catalogue(), re.DOTALL)
    assert len(formulas) > 50
    shown = set("".join(html.unescape(re.sub(r"<[^>]+>", "", formula)) for formula in formulas))
    assert {character for character in shown if ord(character) not in drawn} == set()


def test_a_difference_of_sets_is_drawn_as_an_operator(hooks: ModuleType) -> None:
    assert "<mi>&#x003A9;</mi><mo>&#x2216;</mo><msub>" in hooks.mathml(r"\Omega \setminus M_e")
