"""Stages of a computation, for progress displays; the computation itself shows nothing.

A function that takes long accepts a `Stage` and does each of its parts inside `with stage("name of the part")`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

Stage: TypeAlias = Callable[[str], AbstractContextManager[None]]

READING = "reading"
OCCLUSIONS = "occlusions"
DISCONTINUITIES = "discontinuities"
FINE_STRUCTURES = "fine structures"
PLANES = "planes"
GEOMETRY = "geometry sets"


def unseen(name: str) -> AbstractContextManager[None]:
    """A stage that is not displayed."""
    return nullcontext()


def scores_of(algorithm: str) -> str:
    """The stage in which an algorithm's map is measured."""
    return f"scores of {algorithm}"
