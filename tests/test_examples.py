"""Every public name ends its docstring with an example, and the example says what happens."""

from __future__ import annotations

import doctest
import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stereogauge as sg

NAMES = sorted(name for name in sg.__all__ if name != "__version__")
DOCTEST_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented(name: str) -> Any:
    """What carries the docstring of a public name: itself, or the function that a callable package stands for."""
    found = getattr(sg, name)
    if not hasattr(found, "_target"):
        return found
    module, function = found._target
    return getattr(importlib.import_module(module), function)


@pytest.mark.parametrize("name", NAMES)
def test_the_docstring_ends_with_an_example(name: str) -> None:
    text = documented(name).__doc__ or ""
    assert doctest.DocTestParser().get_examples(text), f"{name} has no example"
    last = text.rstrip().rpartition("\n\n")[2]
    assert ">>>" in last, f"the docstring of {name} goes on after its example"


@pytest.mark.parametrize("name", NAMES)
def test_the_example_says_what_happens(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = documented(name)
    names = {**vars(sys.modules[found.__module__]), "np": np, "sg": sg}
    test = doctest.DocTestParser().get_doctest(found.__doc__ or "", names, name, None, None)
    report: list[str] = []
    with np.printoptions(precision=4, suppress=True, linewidth=100):
        doctest.DocTestRunner(optionflags=DOCTEST_OPTIONS, verbose=False).run(test, out=report.append)
    assert not report, "".join(report)
