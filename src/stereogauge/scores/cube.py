"""The score cube: algorithms × scenes × columns, with gaps as NaN. Everything that ranks or analyses scores reads one.

A column is a metric on a region. Sums, counts and missing pixels are kept with the values, so that pooling stays
possible.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

import numpy as np
from msgspec import Struct, field
from msgspec.structs import force_setattr, replace
from numpy.typing import NDArray

from stereogauge.datasets.places import independent_units
from stereogauge.errors import StereogaugeError, one_of, unknown_name
from stereogauge.masks.expression import region_id
from stereogauge.metrics.run_time import states_conditions
from stereogauge.protocol import Aggregation, Aggregations, Protocol, common_unit
from stereogauge.scores.column import Column, HasColumns, matching
from stereogauge.scores.facts import SceneFacts
from stereogauge.scores.scope import LEAST_COVERAGE
from stereogauge.scores.score import ARRAYS, NO_ESTIMATE, Score
from stereogauge.tags import TagBook, Tags, expanded

Values = NDArray[np.float64]
T = TypeVar("T")
NOT_KEPT: Values = np.empty(0)
"""Instead of sums, counts or missing pixels that are not known: they become NaN, and no missing pixels."""


class ScoreCube(HasColumns, Struct, frozen=True, eq=False, dict=True):
    """Scores of `algorithms` on `scenes` in `columns`, as arrays of shape (algorithms, scenes, columns).

    `values` holds the scores as declared (not negated), NaN where there is none. `sums`, `counts` and `missing` hold
    the sufficient statistics; where they were not kept, sums and counts are NaN and missing pixels 0. `protocol` is the
    hash under which every score was computed. Scenes of several datasets are called "dataset/scene"; `datasets` names
    the dataset of each scene. `void` (scenes, columns) marks scenes that have nothing to measure in a column, whatever
    the algorithm; None takes those on which no algorithm has a score. `facts` gives what is known of each scene.
    `depth_units` gives the unit of depth errors on each scene, "" where it is unknown.
    `invalid` is the protocol's policy for missing estimates, which decides whether `counts` include them.
    `tags` are those of algorithms and scenes. `runs` holds the conditions of run times, by (algorithm, scene).
    `least_coverage` and `least_support` say which of the scores may enter an order: see `usable_scores`.
    `aggregation` and `scene_weights` say how scenes become one number: see `aggregated` and `scene_shares`.
    `known_scenes` is the number of scenes that were requested, with those on which no algorithm has a score.
    """

    algorithms: tuple[str, ...]
    scenes: tuple[str, ...]
    columns: tuple[Column, ...]
    values: Values
    sums: Values = NOT_KEPT
    counts: Values = NOT_KEPT
    missing: Values = NOT_KEPT
    protocol: str = ""
    datasets: tuple[str, ...] = ()
    void: NDArray[np.bool_] | None = None
    facts: tuple[SceneFacts, ...] = ()
    depth_units: tuple[str, ...] = ()
    invalid: str = "count"
    least_coverage: float = LEAST_COVERAGE
    least_support: float | None = None
    aggregation: Aggregations = "mean"
    scene_weights: Mapping[str, float] = field(default_factory=dict)
    tags: TagBook = field(default_factory=TagBook)
    runs: Mapping[tuple[str, str], str] = field(default_factory=dict)
    known_scenes: int = 0

    def __post_init__(self) -> None:
        shape = (len(self.algorithms), len(self.scenes), len(self.columns))
        for name in ARRAYS:
            array = getattr(self, name)
            if array is NOT_KEPT:
                force_setattr(self, name, np.broadcast_to(0.0 if name == "missing" else np.nan, shape))
            elif array.shape != shape:
                raise StereogaugeError(
                    f"A score cube of {shape[0]} algorithms × {shape[1]} scenes × {shape[2]} columns needs {name} "
                    f"of that shape; found {array.shape}."
                )
        for name, unknown in (("datasets", ""), ("facts", SceneFacts()), ("depth_units", "")):
            if not getattr(self, name):
                force_setattr(self, name, (unknown,) * len(self.scenes))
        if self.void is not None and self.void.shape != shape[1:]:
            raise StereogaugeError(f"A score cube needs `void` of shape {shape[1:]}; found {self.void.shape}.")
        for kind, names in (("algorithm", self.algorithms), ("scene", self.scenes), ("column", self.columns)):
            if len(set(names)) != len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise StereogaugeError(f"The {kind} {str(twice)!r} occurs twice in a score cube; names must differ.")
        if len(self.datasets) != len(self.scenes):
            raise StereogaugeError(
                f"A score cube needs one dataset per scene; found {len(self.datasets)} for {len(self.scenes)} scenes."
            )

    def limited(self, least_coverage: float | None = None, least_support: float | None = None) -> ScoreCube:
        """The same scores under other limits on what may enter an order; None keeps a limit as it is."""
        if least_coverage is None and least_support is None:
            return self
        coverage = self.least_coverage if least_coverage is None else least_coverage
        support = self.least_support if least_support is None else least_support
        if not 0 <= coverage <= 1:
            raise StereogaugeError(f"least_coverage is a share between 0 and 1, for example 0.9; found {coverage:g}.")
        if support is not None and not support >= 0:
            raise StereogaugeError(f"least_support is a number of pixels of at least 0; found {support:g}.")
        return replace(self, least_coverage=coverage, least_support=support)

    def read_by(self, protocol: Protocol | None, how: Aggregation | None = None) -> ScoreCube:
        """The same scores with the protocol's way from scenes to one number, or with another one."""
        if how is not None:
            one_of("aggregation", how, get_args(Aggregation))
        if protocol is None:
            return self if how is None else replace(self, aggregation=how)
        return replace(self, aggregation=how or protocol.aggregation, scene_weights=protocol.scene_weights)

    def __repr__(self) -> str:
        return f"ScoreCube({len(self.algorithms)} algorithms × {len(self.scenes)} scenes × {len(self.columns)} columns)"

    @property
    def requested_scenes(self) -> int:
        """The number of scenes that were requested, measured or not."""
        return max(self.known_scenes, len(self.scenes))

    @property
    def measured(self) -> ScoreCube:
        """The same without scenes on which none of these algorithms has an estimate; they stay requested ones.

        A map that could not be scored on a scene keeps it: what it lacks is a gap.
        """
        absent = (np.isnan(self.values) & ~((self.counts > 0) | (self.missing > 0))).all(axis=(0, 2))
        if not absent.any() or absent.all():
            return self
        kept = self.take(scenes=np.flatnonzero(~absent).tolist())
        return replace(kept, known_scenes=self.requested_scenes)

    @property
    def sizes(self) -> tuple[float, ...]:
        """The size of each scene relative to full resolution, NaN where it is unknown."""
        return tuple(one.size for one in self.facts)

    @property
    def unit_of(self) -> NDArray[np.intp]:
        """The number of the independent unit that each scene belongs to: see `independent_units`."""
        tags = self.scene_tags
        truths = [one.truth for one in self.facts]
        return independent_units(self.scene_names, truths, [tags[scene] for scene in self.scenes], self.datasets)

    @property
    def depth_unit(self) -> str:
        """The unit of depth errors on these scenes."""
        return common_unit(self.depth_units)

    @property
    def scene_names(self) -> tuple[str, ...]:
        """The scenes' names within their datasets."""
        return tuple(scene.removeprefix(f"{name}/") for scene, name in zip(self.scenes, self.datasets, strict=True))

    @property
    def scene_keys(self) -> tuple[tuple[str, str], ...]:
        """Dataset and name of each scene; the dataset is "" where it is not known."""
        return tuple(zip(self.datasets, self.scene_names, strict=True))

    @property
    def scene_tags(self) -> dict[str, Tags]:
        """The tags of the scenes by their names here."""
        return {scene: self.tags.scenes.get(key, {}) for scene, key in zip(self.scenes, self.scene_keys, strict=True)}

    @property
    def applies(self) -> NDArray[np.bool_]:
        """Which scenes count in a column, shape (scenes, columns): all but those with nothing to measure there."""
        if self.void is None:
            return np.asarray(~np.isnan(self.values).all(axis=0), np.bool_)
        return ~self.void

    @functools.cached_property
    def coverage(self) -> Values:
        """Share of each score's own pixels that have an estimate; NaN where it is undefined or not known."""
        return self._covered(self.counts, self.missing)

    @property
    def coverage_over_scenes(self) -> Values:
        """Share of the pixels of all scenes that have an estimate, shape (algorithms, columns)."""
        return self._covered(self.counts.sum(axis=1), self.missing.sum(axis=1))

    def _covered(self, counts: Values, missing: Values) -> Values:
        shares = np.empty_like(counts)
        for place, column in enumerate(self.columns):
            shares[..., place] = column.declared.metric.coverage(counts[..., place], missing[..., place], self.invalid)
        return shares

    @functools.cached_property
    def support(self) -> Values:
        """Size of the set that each score was measured on, in pixels, structures or runs; NaN where not known."""
        apart = [not column.declared.metric.counts_missing(self.invalid) for column in self.columns]
        return np.asarray(self.counts + self.missing * np.array(apart, np.float64), np.float64)

    def column(self, text: str) -> int:
        """The index of the column that `bad@1:nonocc`, or a metric with one region only, names."""
        found = _columns(self, [text])
        if len(found) != 1:
            raise StereogaugeError(
                f"{text!r} names {len(found)} columns; write one as metric:region, for example {self.columns[0]}."
            )
        return found[0]

    @classmethod
    def of(
        cls,
        table: Sequence[Score],
        *,
        facts: Mapping[tuple[str, str], SceneFacts] | None = None,
        depth_units: Mapping[tuple[str, str], str] | None = None,
        invalid: str = "count",
        tags: TagBook | None = None,
    ) -> ScoreCube:
        """The cube of scores under one protocol; a key that they lack is a gap.

        `facts` gives what is known of scenes and `depth_units` the unit of their depth errors by (dataset, scene);
        `invalid` is the protocol's policy for missing estimates.
        """
        several = len({score.dataset for score in table}) > 1
        algorithms: dict[str, int] = {}
        scenes: dict[tuple[str, str], int] = {}
        columns: dict[Column, int] = {}
        places = np.empty((len(table), 3), np.intp)
        for index, score in enumerate(table):
            places[index] = (
                algorithms.setdefault(score.algorithm, len(algorithms)),
                scenes.setdefault((score.dataset, score.scene), len(scenes)),
                columns.setdefault(Column(score.metric, score.region), len(columns)),
            )
        shape = (len(algorithms), len(scenes), len(columns))
        flat: NDArray[np.intp] = np.asarray(np.ravel_multi_index(tuple(places.T), shape) if len(table) else [], np.intp)
        if len(set(flat.tolist())) != len(flat):
            raise StereogaugeError(
                "Two of these scores have the same algorithm, dataset, scene, metric and region; keep one."
            )

        def spread(part: str, gap: float) -> Values:
            array = np.full(math.prod(shape), gap)
            array[flat] = [getattr(score, part) for score in table]
            return array.reshape(shape)

        timed = {column for column in columns if column.declared.metric.counts == "runs"}
        runs = {
            (score.algorithm, f"{score.dataset}/{score.scene}" if several else score.scene): score.note
            for score in (table if timed else ())
            if states_conditions(score.note) and Column(score.metric, score.region) in timed
        }
        measured = np.zeros(math.prod(shape), bool)
        measured[flat] = [score.note != NO_ESTIMATE for score in table]
        values, sums = spread("value", np.nan), spread("sum", 0.0)
        counts, missing = known_counts(values, spread("count", 0.0), spread("missing", 0.0))
        return cls(
            algorithms=tuple(algorithms),
            scenes=tuple(f"{dataset}/{scene}" if several else scene for dataset, scene in scenes),
            columns=tuple(columns),
            values=values,
            sums=sums,
            counts=counts,
            missing=missing,
            void=void_scenes(measured.reshape(shape), counts, missing),
            protocol=table[0].protocol if len(table) else "",
            datasets=tuple(dataset for dataset, _ in scenes),
            facts=tuple((facts or {}).get(scene, SceneFacts()) for scene in scenes),
            depth_units=tuple((depth_units or {}).get(scene, "") for scene in scenes),
            invalid=invalid,
            tags=tags or TagBook(),
            runs=runs,
        )

    def select(
        self,
        *,
        scenes: Iterable[str] | None = None,
        metrics: Iterable[str] | None = None,
        regions: Iterable[str] | None = None,
        algorithms: Iterable[str] | None = None,
    ) -> ScoreCube:
        """The requested part, in the order of the request; None means everything.

        A metric may be written with its region (`bad@1:nonocc`). A metric that is bound to its own pixel set is
        kept whatever `regions` names. Algorithms and scenes may be named by their tags: `tag:technique=learned`.
        """
        if scenes is None and metrics is None and regions is None and algorithms is None:
            return self
        columns = range(len(self.columns)) if metrics is None else _columns(self, metrics)
        if regions is not None:
            columns = _in_regions(self, columns, tuple(region_id(region) for region in regions))
        return self.take(
            algorithms=_places("algorithm", self.algorithms, self.tags.algorithms, algorithms),
            scenes=_places("scene", self.scenes, self.scene_tags, scenes),
            columns=columns,
        )

    def take(
        self,
        *,
        algorithms: Sequence[int] | None = None,
        scenes: Sequence[int] | None = None,
        columns: Sequence[int] | None = None,
    ) -> ScoreCube:
        """The part at these indices; None means everything."""
        rows, middle, last = (
            None if places is None or list(places) == list(range(length)) else list(places)
            for places, length in zip((algorithms, scenes, columns), self.values.shape, strict=True)
        )
        arrays: dict[str, Any] = {name: _cut(getattr(self, name), rows, middle, last) for name in ARRAYS}
        return replace(
            self,
            algorithms=_chosen(self.algorithms, rows),
            scenes=_chosen(self.scenes, middle),
            columns=_chosen(self.columns, last),
            void=_cut(self.void, middle, last),
            known_scenes=self.known_scenes if scenes is None else 0,
            datasets=_chosen(self.datasets, middle),
            facts=_chosen(self.facts, middle),
            depth_units=_chosen(self.depth_units, middle),
            **arrays,
        )

    def scores(self) -> Iterator[Score]:
        """The scores in long form; statistics that were not kept are NaN and 0."""
        keys = itertools.product(self.algorithms, self.scene_keys, self.columns)
        arrays = self.values, self.sums, np.nan_to_num(self.counts).astype(int), self.missing.astype(int)
        numbers = zip(*(array.ravel().tolist() for array in arrays), strict=True)
        for (algorithm, (dataset, scene), column), (value, total, count, lost) in zip(keys, numbers, strict=True):
            key = dataset, scene, algorithm, column.metric, column.region
            yield Score(*key, value, total, count, lost, self.protocol)


def _chosen(names: tuple[T, ...], places: list[int] | None) -> tuple[T, ...]:
    return names if places is None else tuple(names[place] for place in places)


def _cut(array: NDArray[Any] | None, *places: list[int] | None) -> Any:
    """The part of an array at these indices of its axes; all of an axis for None."""
    for axis, chosen in enumerate(places):
        array = array if array is None or chosen is None else array.take(chosen, axis=axis)
    return array


def known_counts(values: Values, counts: Values, missing: Values) -> tuple[Values, Values]:
    """Counts and missing pixels, NaN and 0 where a score from elsewhere came without them."""
    unknown = np.isfinite(values) & (counts == 0) & (missing == 0)
    return np.where(unknown, np.nan, counts), missing


def void_scenes(measured: NDArray[np.bool_], counts: Values, missing: Values) -> NDArray[np.bool_]:
    """Scenes and columns where at least one algorithm was measured and no measured one had a pixel to measure."""
    empty = (counts == 0) & (missing == 0)
    return np.asarray((empty | ~measured).all(axis=0) & measured.any(axis=0), np.bool_)


def _places(
    kind: str, known: tuple[str, ...], tags: Mapping[str, Tags], wanted: Iterable[str] | None
) -> list[int] | None:
    if wanted is None:
        return None
    index = {name: place for place, name in enumerate(known)}
    return [index[one_of(f"{kind} of these scores", name, index)] for name in expanded(kind, known, tags, wanted)]


def _columns(cube: ScoreCube, wanted: Iterable[str]) -> list[int]:
    found: dict[int, None] = {}
    for text in [wanted] if isinstance(wanted, str) else wanted:
        found_here = matching(text, cube.columns)
        if not found_here:
            raise unknown_name("metric of these scores", text, {*cube.metrics, *map(str, cube.columns)})
        found.update(dict.fromkeys(found_here))
    return list(found)


def _in_regions(cube: ScoreCube, columns: Iterable[int], wanted: tuple[str, ...]) -> list[int]:
    order = {one_of("region of these scores", name, cube.regions): place for place, name in enumerate(wanted)}
    kept = [k for k in columns if cube.columns[k].region in order or cube.columns[k].declared.metric.region is not None]
    return sorted(kept, key=lambda place: order.get(cube.columns[place].region, len(order)))
