"""What a region is: a pure function from a scene to a mask, and its declaration. The registry of all of them.

A package adds regions through the entry-point group `stereogauge.regions`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from stereogauge.errors import unknown_name
from stereogauge.model import Mask
from stereogauge.regions.evaluated_scene import EvaluatedScene
from stereogauge.registry import collect

ENTRY_POINTS = "stereogauge.regions"


@dataclass(frozen=True)
class Region:
    """A declared region; `region` explains its fields. `compute` is the function."""

    id: str
    name: str
    definition: str
    source: str
    compute: Callable[[EvaluatedScene], Mask]
    needs: frozenset[str] = frozenset({"gt"})
    version: int = 1

    @property
    def description(self) -> str:
        """The function's docstring."""
        return (self.compute.__doc__ or "").strip()


def region(
    *,
    id: str,  # noqa: A002 – the field's name
    name: str,
    definition: str,
    source: str,
    needs: Iterable[str] = ("gt",),
    version: int = 1,
) -> Callable[[Callable[[EvaluatedScene], Mask]], Region]:
    """Declare the decorated function as a region: `function(evaluated_scene)` returns the mask of its pixels.

    The function need not exclude unknown ground truth and the border: every region is cut to the known pixels.
    needs: parts of the scene ("gt", "left", "right", "gt_right", "mask:NAME"). version: to be raised when the same
    scene gives another mask.
    """

    def declare(function: Callable[[EvaluatedScene], Mask]) -> Region:
        return Region(id, name, definition, source, function, frozenset(needs), version)

    return declare


@functools.cache
def declared_regions() -> Mapping[str, Region]:
    """Every declared region by id: ours, then those of installed packages."""
    return collect("region", Region, "stereogauge.regions", ENTRY_POINTS)


def region_declaration(name: str) -> Region:
    """The region called `name`."""
    known = declared_regions()
    if name not in known:
        raise unknown_name("region", name, known)
    return known[name]
