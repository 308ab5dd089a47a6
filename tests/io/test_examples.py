"""The examples in docstrings of the model and the readers give what they show."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["disparity", "io.encodings", "model"])
def test_examples_give_what_they_show(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"stereogauge.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
