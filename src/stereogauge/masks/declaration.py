"""What a region is: a pure function from a scene to a mask, and its declaration. The registry of all of them.

A package adds regions through the entry-point group `stereogauge.regions`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from stereogauge.model import Mask
from stereogauge.registry import Parameter, Registry, check_call, is_ours

ENTRY_POINTS = "stereogauge.regions"
HCI = "Honauer, Maier-Hein & Kondermann, ICCV 2015"
LIGHT_FIELDS = "Honauer, Johannsen, Kondermann & Goldluecke, ACCV 2016"
"""The sources that regions and metrics share."""


class Region(Struct, frozen=True):
    """A declared region; `region` explains its fields. `compute` is the function."""

    id: str
    name: str
    definition: str
    source: str
    compute: Callable[..., Mask]
    needs: frozenset[str] = frozenset({"gt"})
    parameters: tuple[Parameter, ...] = ()
    version: int = 1

    @property
    def complete(self) -> bool:
        """Whether its id alone names it, without numbers."""
        return all(parameter.default is not None for parameter in self.parameters)

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
    parameters: tuple[Parameter, ...] = (),
    version: int = 1,
) -> Callable[[Callable[..., Mask]], Region]:
    """Declare the decorated function as a region: `function(evaluated_scene)` returns the mask of its pixels.

    The function need not exclude unknown ground truth and the border: every region is cut to the known pixels.
    needs: parts of the scene ("gt", "left", "right", "gt_right", "calibration", "mask:NAME"). parameters: numbers in
    the region's id, which the function takes after the scene: `depth@2,30`. version: to be raised when the same scene
    gives another mask.
    """

    def declare(function: Callable[..., Mask]) -> Region:
        if not is_ours(function):
            given = ("regions", *(parameter.name for parameter in parameters))
            check_call(f"The function of the region {id}", function, given)
        return Region(id, name, definition, source, function, frozenset(needs), parameters, version)

    return declare


@functools.cache
def declared_regions() -> Mapping[str, Region]:
    """Every declared region by id: ours, then those of installed packages."""
    return Registry("region", Region, "stereogauge.masks", ENTRY_POINTS)
