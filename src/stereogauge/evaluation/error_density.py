"""The error–density curve: the error of an algorithm when only its most confident pixels are kept.

Scores that leave missing estimates out compare only at equal density, the share of a region's pixels that have an
estimate: who keeps fewer pixels keeps the easier ones. An algorithm that brings a confidence map is cut by it at
falling density; one without such a map is a point at its own density. Every number is the metric itself, measured on
the map that is left. The idea of error over density as in X. Hu, P. Mordohai (TPAMI 2012).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.confidence_measures.files import ConfidenceSource
from stereogauge.errors import NotApplicable, StereogaugeError, check_one_size
from stereogauge.evaluation.evaluate import measure, result_sets, scene_list
from stereogauge.io.files import load_disparity
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.declaration import Statistic
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import Dataset, DisparityMap, Mask, ResultSet, Scene, as_disparity
from stereogauge.protocol import Aggregations, Protocol, load_protocol
from stereogauge.scores.aggregation import aggregated
from stereogauge.scores.column import Column, columns_of
from stereogauge.scores.cube import ScoreCube
from stereogauge.store.sources import confidence_of_text, source_of_text

if TYPE_CHECKING:
    import pandas as pd

    from stereogauge.store.store import Store
    from stereogauge.store.write import MapRecord

STEPS = 20
MOST_REFERENCES = 6
SAME_DENSITY = 0.001
"""Densities that differ by less are equal."""

Values = NDArray[np.float64]
Densities = tuple[float, ...]
"""One density per scene."""


class Point(NamedTuple):
    """The mean density of a map over the scenes, and its score there."""

    density: float
    value: float


class EqualDensity(Struct, frozen=True, eq=False):
    """Scores at one density: the only ones of a semi-dense map that can be put in order.

    `reference` names the algorithms without a confidence map whose own density this is; it is empty at the largest
    density that all others reach. `values` holds NaN for an algorithm that cannot be cut to this density, and `reasons`
    says why.
    """

    density: float
    reference: tuple[str, ...]
    values: Mapping[str, float]
    reasons: Mapping[str, str]

    @property
    def name(self) -> str:
        """`at 83.1 %, as BM`; without a reference `at 90.0 %`."""
        more = f" and {len(self.reference) - 1} more" if len(self.reference) > 1 else ""
        return f"at {100 * self.density:.1f} %{f', as {self.reference[0]}{more}' if self.reference else ''}"


class ErrorDensity(Struct, frozen=True, eq=False):
    """Error–density curves of several algorithms over the same scenes.

    `curves` has one entry for each algorithm with confidence maps: its scores at `densities`, NaN above the density
    that it reaches on every scene. `points` holds every algorithm as it was given. `notes` says why an algorithm is a
    point only.
    """

    column: Column
    aggregation: Aggregations
    scenes: tuple[str, ...]
    densities: Values
    points: Mapping[str, Point]
    curves: Mapping[str, Values]
    equal: tuple[EqualDensity, ...]
    notes: tuple[str, ...] = ()

    @property
    def algorithms(self) -> tuple[str, ...]:
        """All algorithms, in the order in which they were given."""
        return tuple(self.points)

    def to_pandas(self) -> pd.DataFrame:
        """Long form: algorithm, kind (`curve`, `point`, or what an equal density is), density and value."""
        import pandas as pd

        rows: list[tuple[str, str, float, float]] = []
        for name, values in self.curves.items():
            rows += [(name, "curve", float(d), float(v)) for d, v in zip(self.densities, values, strict=True)]
        rows += [(name, "point", *point) for name, point in self.points.items()]
        rows += [(name, one.name, one.density, value) for one in self.equal for name, value in one.values.items()]
        return pd.DataFrame(rows, columns=["algorithm", "kind", "density", "value"])


class _Map:
    """One algorithm's map of one scene, with the pixels of the region from the most to the least confident."""

    def __init__(self, estimate: DisparityMap, regions: SceneRegions, domain: Mask, doubt: NDArray[np.float32] | None):
        self.estimate = estimate
        self.regions = regions
        self.pixels = np.flatnonzero(domain)
        known = self.pixels[np.isfinite(estimate.ravel()[self.pixels])]
        self.density = len(known) / len(self.pixels) if len(self.pixels) else math.nan
        self.sure: NDArray[np.intp] | None = None
        if doubt is not None:
            # Pixels of equal confidence are removed in an order that depends on a fixed seed only, not on their place.
            drawn = np.random.default_rng(0).permutation(len(known))
            self.sure = known[np.lexsort((drawn, doubt.ravel()[known]))]

    def cut(self, density: float) -> DisparityMap | None:
        """The map with the most confident pixels of the region up to `density`; None where that is not reached.

        Without a confidence map only the map's own density is available.
        """
        if density >= self.density - SAME_DENSITY and density <= self.density + SAME_DENSITY:
            return self.estimate
        if self.sure is None or density > self.density:
            return None
        left = self.estimate.ravel().copy()
        left[self.pixels] = np.nan
        kept = self.sure[: round(density * len(self.pixels))]
        left[kept] = self.estimate.ravel()[kept]
        return left.reshape(self.estimate.shape)

    def measured(self, column: Column, density: float) -> Statistic:
        """The statistic at a density; empty where it is not reached."""
        left = self.cut(density)
        if left is None:
            return Statistic.empty("this density is not reached")
        metrics = [column.declared]
        own = (column.region,) if column.declared.metric.region is None else ()
        return measure(Measurement(left, self.regions, metrics=metrics, regions=own), column)


def error_density(
    estimates: Any,
    scenes: Scene | Dataset | Sequence[Scene],
    metric: str = "bad@1",
    region: str | None = None,
    protocol: Protocol | str | None = None,
    *,
    steps: int = STEPS,
) -> ErrorDensity:
    """Scores of the most confident pixels of each algorithm at falling density, and scores at equal density.

    `estimates` are given as to `sg.evaluate`; result sets bring confidence maps. The metric is measured on the pixels
    that are left and on no others (`invalid = "exclude"`), in a region of the protocol unless one is named. Several
    scenes are cut to the same density each, then aggregated as the protocol says.

    >>> truth = np.full((10, 10), 8.0)
    >>> estimate = truth + np.repeat([[0.0] * 8 + [4.0] * 2], 10, axis=0)  # the last two columns are wrong
    >>> doubt = np.abs(estimate - truth)
    >>> sure = sg.ResultSet("sure", {"flat": estimate}, confidence={"flat": doubt}, confidence_better="lower")
    >>> found = sg.error_density([sure], sg.Scene("flat", gt=truth), "bad@1", "all", steps=5)
    >>> [(round(float(d), 1), float(v)) for d, v in zip(found.densities, found.curves["sure"])]
    [(0.2, 0.0), (0.4, 0.0), (0.6, 0.0), (0.8, 0.0), (1.0, 20.0)]
    """
    listed = scene_list(scenes)
    return density_curves(
        {scene.id: scene for scene in listed}, result_sets(estimates, listed), metric, region, protocol, steps=steps
    )


def density_curves(
    scenes: Mapping[str, Scene],
    results: Sequence[ResultSet],
    metric: str,
    region: str | None = None,
    protocol: Protocol | str | None = None,
    *,
    steps: int = STEPS,
    progress: Callable[[str], None] | None = None,
) -> ErrorDensity:
    """`error_density` of scenes by the names that the results use; `progress` is called with each scene."""
    chosen = load_protocol(protocol).replace(invalid="exclude")
    column = _column(metric, region, chosen)
    if steps < 2:
        raise StereogaugeError(f"A curve needs at least 2 densities; found {steps}.")
    if not scenes or not results:
        raise StereogaugeError("An error–density curve needs at least one scene and one algorithm.")
    notes = _without_confidence(results, scenes)
    regions = {name: SceneRegions(scene, chosen) for name, scene in scenes.items()}
    own = np.full((len(results), len(scenes)), np.nan)
    for place, name in enumerate(scenes):
        for row, result in enumerate(results):
            found = _read(result, name, regions[name], column, False)
            own[row, place] = math.nan if found is None else found.density
    scenes = {name: scene for place, (name, scene) in enumerate(scenes.items()) if not np.isnan(own[:, place]).all()}
    if not scenes:
        raise StereogaugeError(f"No scene has a map and a pixel to measure {column} on.")
    own = own[:, ~np.isnan(own).all(axis=0)]
    grid = np.arange(1, steps + 1) / steps
    curved = np.array([result.name not in notes for result in results])
    references = _references([result.name for result in results], own, curved)
    wanted = [(float(density),) * len(scenes) for density in grid] + [densities for densities, _ in references]
    statistics = np.empty((len(wanted) + 1, len(results), len(scenes)), object)
    for place, name in enumerate(scenes):
        if progress is not None:
            progress(name)
        for row, result in enumerate(results):
            found = _read(result, name, regions[name], column, bool(curved[row]))
            levels = [densities[place] for densities in wanted] + [own[row, place]]
            statistics[:, row, place] = [
                Statistic.empty("") if found is None else found.measured(column, level) for level in levels
            ]
    names = [result.name for result in results]
    scores = [_aggregated(part, names, list(scenes), column, chosen) for part in statistics]
    missing: dict[str, str] = {}
    for row, name in enumerate(names):
        uncut = "does not reach this density" if curved[row] else "no confidence map to cut it by"
        missing[name] = "lacks a scene" if np.isnan(own[row]).any() else uncut
    equal = []
    for (densities, whose), scored in zip(references, scores[steps:-1], strict=True):
        values = dict(zip(names, scored.tolist(), strict=True))
        reasons = {name: missing[name] for name, value in values.items() if math.isnan(value)}
        equal.append(EqualDensity(float(np.mean(densities)), whose, values, reasons))
    mean = own.mean(axis=1)
    return ErrorDensity(
        column,
        chosen.aggregation,
        tuple(scenes),
        grid,
        {name: Point(float(mean[row]), float(scores[-1][row])) for row, name in enumerate(names)},
        {name: np.array([part[row] for part in scores[:steps]]) for row, name in enumerate(names) if curved[row]},
        tuple(one for one in equal if sum(not math.isnan(value) for value in one.values.values()) > 1),
        tuple(
            f"{', '.join(name for name, own in notes.items() if own == reason)}: {reason}"
            for reason in dict.fromkeys(notes.values())
        ),
    )


def _column(metric: str, region: str | None, protocol: Protocol) -> Column:
    """The one column that is measured: the protocol's first region where none is named."""
    column = columns_of([metric], [region or protocol.regions[0]])[0]
    declared = column.declared.metric
    if declared.missing == "not about pixels" or "gt" not in declared.needs or "confidence" in declared.needs:
        raise StereogaugeError(
            f"An error–density curve is of the errors of pixels against ground truth; {metric} is none. Choose a "
            "metric such as bad@1, mae or rms."
        )
    return column


def _without_confidence(results: Sequence[ResultSet], scenes: Mapping[str, Scene]) -> dict[str, str]:
    """Why an algorithm cannot be cut, by its name; one that can is absent."""
    reasons: dict[str, str] = {}
    for result in results:
        lacking = [name for name in scenes if name in result.maps and name not in result.confidence]
        if lacking:
            where = "" if len(lacking) == len(scenes) else f" for {lacking[0]}"
            reasons[result.name] = f"a point only, since it brings no confidence map{where}"
        elif result.confidence_better is None:
            reasons[result.name] = (
                "a point only, since nothing says whether higher or lower confidence is better "
                "(better = … under [confidence] in results.toml)"
            )
    return reasons


def _read(result: ResultSet, name: str, regions: SceneRegions, column: Column, cut: bool) -> _Map | None:
    """An algorithm's map of a scene; None where there is none, or nothing to measure."""
    if name not in result.maps:
        return None
    estimate = as_disparity(load_disparity(result.maps[name]), f"map of {result.name}")
    source = ConfidenceSource.of(result, name) if cut else None
    doubt = None if source is None else source.read()
    for what, values in (("map", estimate), ("confidence map", doubt)):
        if values is not None:
            check_one_size(f"The {what} of {result.name!r} on {name!r}", values.shape, "the scene", regions.scene.shape)
    try:
        domain = regions.mask(column.region) & np.isfinite(regions.scene.gt)
    except NotApplicable:
        return None
    return _Map(estimate, regions, domain, doubt)


def _references(
    names: Sequence[str], own: Values, curved: NDArray[np.bool_]
) -> list[tuple[Densities, tuple[str, ...]]]:
    """The densities at which algorithms are compared: the largest that all curves reach, then those of the points."""
    found: list[tuple[Values, list[str]]] = []
    for row, name in enumerate(names):
        if curved[row] or np.isnan(own[row]).any():
            continue
        same = next((whose for densities, whose in found if np.abs(densities - own[row]).max() < SAME_DENSITY), None)
        if same is None:
            found.append((own[row], [name]))
        else:
            same.append(name)
    references = [(tuple(map(float, densities)), tuple(whose)) for densities, whose in found[:MOST_REFERENCES]]
    reached = own[curved]
    if len(reached) and not np.isnan(reached).any():
        references.insert(0, ((float(reached.min()),) * own.shape[1], ()))
    return references


def _aggregated(
    statistics: NDArray[Any], names: Sequence[str], scenes: Sequence[str], column: Column, protocol: Protocol
) -> Values:
    """One score per algorithm over the scenes; a scene on which a density is not reached is a gap."""
    value_of = column.declared.metric.value_of
    shape = (len(names), len(scenes), 1)

    def each(part: Callable[[Statistic], float]) -> Values:
        return np.array([part(one) for one in statistics.ravel()], np.float64).reshape(shape)

    cube = ScoreCube(
        tuple(names),
        tuple(scenes),
        (column,),
        values=each(value_of),
        sums=each(lambda one: one.sum),
        counts=each(lambda one: one.count),
        missing=each(lambda one: one.missing),
        void=np.zeros(shape[1:], np.bool_),
        invalid=protocol.invalid,
    )
    return aggregated(cube, protocol.aggregation, protocol.scene_weights)[:, 0]


MOST_CURVES = 3

FindMap: TypeAlias = "Callable[[str, str, str], MapRecord | None]"


def density_columns(cube: ScoreCube) -> list[Column]:
    """The columns that can be measured on part of a map: sums over single pixels against ground truth."""
    metrics = {column: column.declared.metric for column in cube.columns}
    return [
        column
        for column, metric in metrics.items()
        if metric.counts == "pixels" and metric.pools and metric.missing in ("left out", "counted")
        if set(metric.needs) == {"gt"}
    ]


def stored_density(
    store: Store, cube: ScoreCube, protocol: Protocol | None, progress: Callable[[str], None]
) -> list[ErrorDensity]:
    """The curves of the algorithms and scenes of a cube, one for each of the first three metrics.

    Scenes without ground truth and algorithms without maps are left out.
    """
    chosen: dict[str, Column] = {}
    for column in density_columns(cube):
        chosen.setdefault(column.metric, column)
    if not chosen:
        raise StereogaugeError(
            f"None of {', '.join(cube.metrics)} can be measured on part of a map; select a metric such as bad@1 or rms."
        )
    scenes, results = stored_results(store, cube)

    def curves(column: Column) -> ErrorDensity:
        return density_curves(
            scenes,
            results,
            column.metric,
            column.region,
            protocol,
            progress=lambda scene: progress(f"{column} over density: {scene}"),
        )

    return [curves(column) for column in list(chosen.values())[:MOST_CURVES]]


def stored_results(
    store: Store, cube: ScoreCube, find: FindMap | None = None
) -> tuple[dict[str, Scene], list[ResultSet]]:
    """The scenes of a cube by its names, and the maps of its algorithms with their confidence.

    `find(algorithm, dataset, scene)` gives the record of a map; by default the store's.
    """
    owners = dict(zip(cube.scenes, cube.scene_keys, strict=True))
    scenes = {name: store.scene(*owner) for name, owner in owners.items()}
    scenes = {name: scene for name, scene in scenes.items() if scene.has("gt")}
    with_truth = {name: owners[name] for name in scenes}
    results = [_result(find or store.map_record, algorithm, with_truth) for algorithm in cube.algorithms]
    known = [result for result in results if result.maps]
    if not scenes or not known:
        raise StereogaugeError(
            "Error over density needs the maps and the ground truth at the paths from which they were evaluated; "
            "these scores came without them."
        )
    return scenes, known


def _result(find: FindMap, algorithm: str, owners: Mapping[str, tuple[str, str]]) -> ResultSet:
    maps: dict[str, Any] = {}
    confidence: dict[str, Any] = {}
    better: Literal["higher", "lower"] | None = None
    for name, (dataset, scene) in owners.items():
        record = find(algorithm, dataset, scene)
        source = None if record is None else source_of_text(record.source)
        if record is None or source is None:
            continue
        maps[name] = source
        doubt = confidence_of_text(record.confidence)
        if doubt is not None:
            confidence[name], better = doubt.source, doubt.better
    return ResultSet(algorithm, maps, confidence=confidence, confidence_better=better)
