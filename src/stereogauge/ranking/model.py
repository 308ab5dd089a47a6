"""What an evaluation model is: a declared function from costs to an order. The registry of all of them.

A package adds models through the entry-point group `stereogauge.models`: each entry names a module, a `Model`, or a
list of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.display import Displayed
from stereogauge.errors import StereogaugeError, one_of
from stereogauge.ranking.costs import Costs
from stereogauge.registry import Registry
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.scope import MissingPixels
from stereogauge.scores.selection import Dropped, Selection
from stereogauge.stages import checkpoint
from stereogauge.text import WrittenAsCsv, WrittenAsJson, json_value, json_values

if TYPE_CHECKING:
    import pandas as pd

ENTRY_POINTS = "stereogauge.models"


class Order(Struct, frozen=True, eq=False):
    """Ranks of algorithms, and what was found with them; everything is in the order of the same algorithms.

    `rank` counts from 1, smaller is better, equal for algorithms that the model does not separate; `value` is the
    number behind it; `group` a class that the model forms, or None. `extra` holds more facts of each algorithm, by
    heading; `arrays` whatever else the model found (named and described in its definition); `axes` says what each axis
    of an array counts: "algorithms", or a key of `names`, which names the entries along it. `notes` are sentences that
    a reader of the order should see.
    """

    rank: NDArray[np.int64]
    value: Values
    group: NDArray[np.int64] | None = None
    extra: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, array in self.arrays.items():
            if len(self.axes.get(name, ())) != array.ndim:
                raise StereogaugeError(
                    f"A model's array {name!r} has {array.ndim} axes; `axes` must say what each of them counts, "
                    f"found {self.axes.get(name, ())}."
                )

    def parts(self, places: NDArray[np.intp]) -> dict[str, Any]:
        """The fields of an order of the algorithms at `places`, in that order."""
        arrays = dict(self.arrays)
        for name in arrays:
            for axis, what in enumerate(self.axes.get(name, ())):
                arrays[name] = arrays[name].take(places, axis=axis) if what == "algorithms" else arrays[name]
        return {
            "rank": self.rank[places],
            "value": self.value[places],
            "group": None if self.group is None else self.group[places],
            "extra": {name: [values[place] for place in places] for name, values in self.extra.items()},
            "arrays": arrays,
            "axes": self.axes,
            "names": self.names,
            "notes": self.notes,
        }


class Outcome(Order, frozen=True, eq=False):
    """What a model says about the algorithms of its costs, in their order.

    `dropped` lists what the model had to leave out. Algorithms of equal rank are in the order of `tie_break`
    (ascending, the first array first), else of `value`.
    """

    dropped: tuple[Dropped, ...] = ()
    tie_break: tuple[Values, ...] = ()


class Model(Struct, frozen=True):
    """A declared evaluation model.

    `compute(costs, **options)` returns an `Outcome`. `resample(costs, multiplicity, **options)`, where a model has
    it, gives the figures that decide the order (ascending) for many draws of scenes at once: multiplicity (draws,
    scenes) → (draws, algorithms); without it the bootstrap calls `compute` for each draw. A model whose figures are
    means over scenes may have `redraw(costs, draws, seed, level, **options)` instead, which draws by itself.
    `narrow(cube, **options)` keeps the columns that the model reads, so that a gap elsewhere removes no algorithm;
    before, `resolve(cube, options)` may replace options that depend on the scores. `options` names what a user may set,
    with its meaning. `classes` is true where ranks number classes of algorithms instead of places.
    """

    id: str
    name: str
    definition: str
    source: str
    value_name: str
    compute: Callable[..., Outcome]
    resample: Callable[..., Values] | None = None
    redraw: Callable[..., Values] | None = None
    narrow: Callable[..., ScoreCube] | None = None
    resolve: Callable[[ScoreCube, dict[str, Any]], dict[str, Any]] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    classes: bool = False

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse options that this model does not have."""
        for option in options:
            one_of(f"option of the model {self.id!r}", option, self.options)

    def read(self, cube: ScoreCube, options: dict[str, Any]) -> tuple[ScoreCube, dict[str, Any]]:
        """The columns that the model reads, and its options on these scores."""
        self.check(options)
        known = options if self.resolve is None else self.resolve(cube, options)
        return cube if self.narrow is None else self.narrow(cube, **known), known

    def draw(self, costs: Costs, multiplicity: NDArray[np.int64], **options: Any) -> Values:
        """The figures that decide the order, for many draws of scenes."""
        if self.resample is not None:
            return self.resample(costs, multiplicity, **options)
        scenes = np.arange(len(costs.scenes))
        ranks = []
        for times in multiplicity:
            checkpoint()
            ranks.append(self.compute(costs.resampled(np.repeat(scenes, times).tolist()), **options).rank)
        return np.array(ranks, np.float64)


@functools.cache
def models() -> Mapping[str, Model]:
    """Every model by id: ours, then those of installed packages."""
    return Registry("model", Model, "stereogauge.ranking.models", ENTRY_POINTS)


def model_declaration(name: str) -> Model:
    """The model called `name`."""
    known = models()
    return known[one_of("model", name, known)]


class Ranking(Order, Displayed, WrittenAsJson, WrittenAsCsv, frozen=True, eq=False, kw_only=True):
    """Algorithms from best to worst under one model (ties by name order of the selection).

    `changed_if` is the other rule for missing pixels, where the order would change under it. `shared_regions` are those
    regions whose pixels count several times.
    """

    model: str
    value_name: str
    options: Mapping[str, Any]
    selection: Selection
    algorithms: tuple[str, ...]
    changed_if: MissingPixels | None = None
    shared_regions: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.algorithms)

    def __repr__(self) -> str:
        places = ", ".join(f"{rank} {name}" for rank, name in zip(self.rank, self.algorithms, strict=True))
        return f"Ranking({self.model}: {places})"

    @property
    def winners(self) -> tuple[str, ...]:
        """Algorithms on rank 1: several when the model does not separate them."""
        return tuple(name for name, rank in zip(self.algorithms, self.rank, strict=True) if rank == 1)

    def head(self, most: int) -> Ranking:
        """The first `most` algorithms with their places among all; for figures with limited room."""
        if len(self) <= most:
            return self
        return replace(self, algorithms=self.algorithms[:most], **self.parts(np.arange(most)))

    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Members of group 1, 2, …; empty when the model forms none."""
        if self.group is None:
            return ()
        pairs = list(zip(self.algorithms, self.group, strict=True))
        return tuple(
            tuple(name for name, own in pairs if own == group) for group in range(1, int(self.group.max()) + 1)
        )

    def to_pandas(self) -> pd.DataFrame:
        """algorithm, rank, value, group (missing where the model forms none), then the model's further facts.

        `attrs["selection"]` holds what it was computed from.
        """
        import pandas as pd

        group = [None] * len(self) if self.group is None else self.group.tolist()
        frame = pd.DataFrame(
            {
                "algorithm": self.algorithms,
                "rank": self.rank,
                "value": self.value,
                "group": pd.array(group, dtype="Int64"),
                **self.extra,
            }
        )
        if self.group is not None:
            frame["group size"] = np.bincount(self.group)[self.group]
        if "tau" in self.arrays:
            frame["τ"] = float(self.arrays["tau"])
        frame.attrs["model"] = self.model
        frame.attrs["selection"] = self.selection.to_dict()
        return frame

    def to_dict(self) -> dict[str, Any]:
        """The whole ranking as plain values: model, options, selection, one entry per algorithm, then the arrays.

        Those are, in the order of the entries, what the model found beyond them: ranks in every column, who performs
        alike, shares of the weighted score; `names` names their second axes. Who dominates whom is in the entries.
        """
        group = [None] * len(self) if self.group is None else self.group.tolist()
        columns = {"algorithm": self.algorithms, "rank": self.rank, "value": self.value, "group": group, **self.extra}
        listed = zip(*(json_value(values) for values in columns.values()), strict=True)
        return json_values(
            self,
            ("model", "value_name", "selection", "names", "notes"),
            options={
                key: value if isinstance(value, int | float | dict) else str(value)
                for key, value in self.options.items()
            },
            ranking=[dict(zip(columns, row, strict=True)) for row in listed],
            arrays={name: array for name, array in self.arrays.items() if name != "dominates"},
            group_sizes=None if self.group is None else np.bincount(self.group)[1:],
        )
