"""What a region is: a named, pure function from a scene to a mask, and its declaration. The registry of all of them.

A package adds regions through the entry-point group `stereogauge.regions`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stereogauge.errors import unknown_name
from stereogauge.model import Mask
from stereogauge.registry import collect

if TYPE_CHECKING:
    from stereogauge.regions.scene_regions import SceneRegions

ENTRY_POINTS = "stereogauge.regions"


@dataclass(frozen=True)
class Region:
    """A declared region.

    `compute(regions)` returns a mask; known ground truth and the border are applied by the caller.
    """

    id: str
    name: str
    definition: str
    source: str
    compute: Callable[[SceneRegions], Mask]
    needs: frozenset[str] = frozenset({"gt"})
    version: int = 1

    @property
    def description(self) -> str:
        """The function's docstring."""
        return (self.compute.__doc__ or "").strip()


def region(**declaration: Any) -> Callable[[Callable[[SceneRegions], Mask]], Region]:
    """Declare the decorated function as a region."""
    needs = frozenset(declaration.pop("needs", ("gt",)))

    def declare(function: Callable[[SceneRegions], Mask]) -> Region:
        return Region(compute=function, needs=needs, **declaration)

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
