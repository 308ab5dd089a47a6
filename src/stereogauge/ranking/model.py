"""What an evaluation model is: a declared function from costs to an order. The registry of all of them.

A package adds models through the entry-point group `stereogauge.models`: each entry names a module, a `Model`, or a
list of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.ranking.costs import Costs
from stereogauge.registry import collect
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import Dropped

ENTRY_POINTS = "stereogauge.models"
MODULES = ("middlebury", "extended", "pareto", "weighted")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a model says about the algorithms of its costs, in their order.

    `rank` counts from 1, smaller is better, equal for algorithms that the model does not separate; `value` is the
    number behind it; `group` a class that the model forms, or None. `extra` holds more facts of each algorithm, by
    heading; `arrays` whatever else the model found (named and described in its definition); `axes` says what each axis
    of an array counts: "algorithms", or a key of `names`, which names the entries along it. `dropped` lists what the
    model had to leave out.
    """

    rank: NDArray[np.int64]
    value: Values
    group: NDArray[np.int64] | None = None
    extra: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = ()

    def __post_init__(self) -> None:
        for name, array in self.arrays.items():
            if len(self.axes.get(name, ())) != array.ndim:
                raise StereogaugeError(
                    f"A model's array {name!r} has {array.ndim} axes; `axes` must say what each of them counts, "
                    f"found {self.axes.get(name, ())}."
                )


@dataclass(frozen=True)
class Model:
    """A declared evaluation model.

    `compute(costs, **options)` returns an `Outcome`. `resample(costs, multiplicity, **options)`, where a model has
    it, gives the figures that decide the order (ascending) for many draws of scenes at once: multiplicity (draws,
    scenes) → (draws, algorithms); without it the bootstrap calls `compute` for each draw. `narrow(cube, **options)`
    keeps the columns that the model reads, so that a gap elsewhere removes nobody. `options` names what a user may
    set, with its meaning. `classes`
    is true where ranks number classes of algorithms instead of places.
    """

    id: str
    name: str
    definition: str
    source: str
    value_name: str
    compute: Callable[..., Outcome]
    resample: Callable[..., Values] | None = None
    narrow: Callable[..., ScoreCube] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    classes: bool = False

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse options that this model does not have."""
        for option in options:
            if option not in self.options:
                raise unknown_name(f"option of the model {self.id!r}", option, self.options)

    def draw(self, costs: Costs, multiplicity: NDArray[np.int64], **options: Any) -> Values:
        """The figures that decide the order, for many draws of scenes."""
        if self.resample is not None:
            return self.resample(costs, multiplicity, **options)
        scenes = np.arange(len(costs.scenes))
        draws = (self.compute(costs.resampled(np.repeat(scenes, times).tolist()), **options) for times in multiplicity)
        return np.array([outcome.rank for outcome in draws], np.float64)


@functools.cache
def models() -> Mapping[str, Model]:
    """Every model by id: ours, then those of installed packages."""
    return collect("model", Model, "stereogauge.ranking.models", ENTRY_POINTS)


def model_declaration(name: str) -> Model:
    """The model called `name`."""
    known = models()
    if name not in known:
        raise unknown_name("model", name, known)
    return known[name]
