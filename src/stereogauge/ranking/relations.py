"""Relations between metrics: r² of linear fits, histograms of scores, RMS on a metric's own pixels, double counting.

Determination, histograms and the experiment with RMS follow Honauer et al., The HCI Stereo Metrics, 2015, section 4.4
and figure 12; double counting follows Cabezas et al., 2013, table 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.stats import linregress

from stereogauge.errors import StereogaugeError, one_of
from stereogauge.masks.standard import PARTITION
from stereogauge.metrics.costs import percent
from stereogauge.ranking.run import rank
from stereogauge.ranking.stability import agreement
from stereogauge.scores.aggregation import usable_scores
from stereogauge.scores.column import Column, metric_of
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.facts import maximum
from stereogauge.scores.selection import Dropped, Selection

FEWEST_POINTS = 3


class Determination(Struct, frozen=True, eq=False):
    """r² of every pair of columns over all (scene, algorithm) points where both have a score; NaN below three points.

    `points` counts them. 1: one column is a straight function of the other; 0: it says nothing about it.
    """

    selection: Selection
    columns: tuple[Column, ...]
    r_squared: Values
    points: NDArray[np.int64]

    def to_pandas(self) -> pd.DataFrame:
        """The table, columns on both axes."""
        names = [str(column) for column in self.columns]
        return pd.DataFrame(self.r_squared, index=names, columns=names)


class SceneFit(NamedTuple):
    """The least-squares line y = slope · x + intercept of one scene and its r²; NaN where x or y does not vary."""

    scene: str
    slope: float
    intercept: float
    r_squared: float
    points: int


class Scatter(NamedTuple):
    """Two columns against each other: one point per (scene, algorithm), one fitted line per scene."""

    selection: Selection
    x: Column
    y: Column
    x_values: Values
    y_values: Values
    fits: tuple[SceneFit, ...]
    r_squared: float


def determination(cube: ScoreCube) -> Determination:
    """r² over all pairs of the cube's columns, from the scores that may enter an order (`usable_scores`)."""
    points = _usable(cube).reshape(-1, len(cube.columns))
    correlation = pd.DataFrame(points).corr(min_periods=FEWEST_POINTS).to_numpy(np.float64)
    known = np.isfinite(points).astype(np.int64)
    return Determination(Selection.of(cube), cube.columns, correlation**2, known.T @ known)


SAME_FACT = 0.9999
"""r² from which one column is another one in other words."""


def telling_pairs(found: Determination) -> list[tuple[Column, Column]]:
    """The two columns of different metrics with the lowest r², and the two with the highest.

    The first pair shows what one measure says nothing about, the second which one could be spared. Thresholds make no
    other metric (bad@1, bad@2), nor does the same fact in other words (density, invalid); run time is not compared, and
    both columns need at least half of the most points.
    """
    metrics = [column.declared.metric for column in found.columns]
    most = np.max(found.points, initial=0)
    pairs = sorted(
        (float(found.r_squared[row, place]), place, row)
        for row, first in enumerate(metrics)
        for place, second in enumerate(metrics[:row])
        if first.id != second.id
        and "not about pixels" not in (first.missing, second.missing)
        and found.points[row, place] >= most / 2
        and found.r_squared[row, place] < SAME_FACT
    )
    return [(found.columns[place], found.columns[row]) for _, place, row in pairs[:1] + pairs[1:][-1:]]


def scatter(cube: ScoreCube, x: str, y: str) -> Scatter:
    """Column y against column x with one least-squares line per scene; values have shape (algorithms, scenes).

    Scores that may not enter an order (`usable_scores`) are NaN.
    """
    first, second = cube.column(x), cube.column(y)
    x_values, y_values = (_usable(cube)[:, :, place] for place in (first, second))
    fits = tuple(SceneFit(name, *line(*pair)) for name, *pair in zip(cube.scenes, x_values.T, y_values.T, strict=True))
    overall = line(x_values.ravel(), y_values.ravel())[2]
    selected = cube.take(columns=[first, second] if first != second else [first])
    return Scatter(Selection.of(selected), cube.columns[first], cube.columns[second], x_values, y_values, fits, overall)


def line(x: Values, y: Values) -> tuple[float, float, float, int]:
    """Slope, intercept, r² and number of points of the least-squares line through the points that have both numbers."""
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if len(x) < FEWEST_POINTS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan, np.nan, np.nan, len(x)
    fit = linregress(x, y)
    return float(fit.slope), float(fit.intercept), float(fit.rvalue) ** 2, len(x)


def _usable(cube: ScoreCube) -> Values:
    """The finite scores that may enter an order, NaN for the others: too few pixels, or too little coverage."""
    values = usable_scores(cube).values
    return np.where(np.isfinite(values), values, np.nan)


class ScoreHistogram(NamedTuple):
    """Counts of scores between `edges`, one score per (scene, algorithm), and where chosen algorithms lie.

    `marked` holds the scores of each chosen algorithm by scene. `empirical` is the range in this selection,
    `heuristic` what real algorithms reach as stated by the HCI supplement (None where unstated), `theoretical` the
    declared range.
    """

    selection: Selection
    column: Column
    edges: Values
    counts: NDArray[np.int64]
    marked: dict[str, Values]
    empirical: tuple[float, float]
    heuristic: tuple[float, float] | None
    theoretical: tuple[float, float]


def score_histogram(cube: ScoreCube, column: str, mark: tuple[str, ...] = (), bins: int = 20) -> ScoreHistogram:
    """The histogram of one column's scores over all scenes and algorithms: finite ones that may enter an order."""
    place = cube.column(column)
    chosen = cube.columns[place]
    for name in mark:
        one_of("algorithm of these scores", name, cube.algorithms)
    scores = _usable(cube)[:, :, place]
    finite = scores[np.isfinite(scores)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (np.nan, np.nan)
    declared = chosen.declared.metric
    start = declared.range[0] if declared.range[0] == 0 else low
    span = (start, high if high > start else start + 1.0) if finite.size else (0.0, 1.0)
    counts, edges = np.histogram(finite, bins=bins, range=span)
    usual = maximum(chosen.metric)
    return ScoreHistogram(
        selection=Selection.of(cube.take(columns=[place])),
        column=chosen,
        edges=edges,
        counts=counts.astype(np.int64),
        marked={name: scores[cube.algorithms.index(name)] for name in mark},
        empirical=(low, high),
        heuristic=None if usual is None else ((declared.heuristic_range or (0.0, 0.0))[0], usual),
        theoretical=declared.range,
    )


class SubsetComparison(NamedTuple):
    """One metric against RMS everywhere and against RMS on the metric's own pixels.

    `r_squared_*` over all (scene, algorithm) points, `kendall_*` between the orders of the Middlebury model; NaN
    where there are too few scores.
    """

    metric: str
    subset: str
    r_squared_whole: float
    r_squared_subset: float
    kendall_whole: float
    kendall_subset: float


class SubsetExperiment(NamedTuple):
    """The comparison for every metric whose own pixel set also has an RMS."""

    selection: Selection
    reference: Column
    rows: tuple[SubsetComparison, ...]


def subset_experiment(cube: ScoreCube) -> SubsetExperiment:
    """Compare each metric that is bound to a pixel set with the RMS of an image and with the RMS on that set.

    The RMS of an image is that on the region "all", else on "nonocc", else on the first region that is no metric's own
    pixel set.
    """
    bound = [column for column in cube.columns if column.declared.metric.region is not None]
    sets = {column.region for column in bound}
    regions = [column.region for column in cube.columns if column.metric == "rms" and column.region not in sets]
    usual = [name for name in ("all", "nonocc") if name in regions]
    whole = cube.columns[cube.column(f"rms:{[*usual, *regions, 'all'][0]}")]
    rows = []
    for column in bound:
        subset = Column("rms", column.region)
        if subset in cube.columns:
            compared = column, whole, subset
            own, *others = (cube.values[:, :, cube.columns.index(one)].ravel() for one in compared)
            orders = {str(one): rank(cube, "middlebury", metrics=[str(one)], missing="worst") for one in compared}
            r_squared, kendall = [line(own, other)[2] for other in others], agreement(orders).kendall[0, 1:].tolist()
            rows.append(SubsetComparison(column.metric, column.region, *r_squared, *kendall))
    if not rows:
        raise StereogaugeError(
            "The experiment with rms on each metric's own pixels needs such a metric and rms on its pixel set, for "
            f"example d-fat and rms:disc-background; found {', '.join(cube.metrics)}."
        )
    return SubsetExperiment(Selection.of(cube), whole, tuple(rows))


NESTED = ("disc", "nonocc", "all")
Counts = NDArray[np.int64]


class DoubleCounting(Struct, frozen=True, eq=False):
    """Erroneous pixels of each algorithm by region, shape (algorithms, regions), summed over the scenes.

    `distinct` counts each erroneous pixel once; `counted` is the sum over the regions; `repeated` the pixels that
    are in more than one region.
    """

    algorithms: tuple[str, ...]
    regions: tuple[str, ...]
    errors: Counts
    distinct: Counts
    repeated: Counts
    selection: Selection | None = None

    @property
    def counted(self) -> Counts:
        """Sum over the regions: what a total score is made of."""
        return np.asarray(self.errors.sum(axis=1), np.int64)

    @property
    def repeated_share(self) -> NDArray[np.float64]:
        """Percentage of the erroneous pixels that are counted more than once; NaN without any error."""
        shares = np.full(len(self.algorithms), np.nan)
        np.divide(100.0 * self.repeated, self.distinct, out=shares, where=self.distinct > 0)
        return shares

    def to_pandas(self) -> pd.DataFrame:
        """One row per algorithm: errors by region, counted, distinct, repeated and its share in per cent."""
        by_region = {f"errors {name}": self.errors[:, index] for index, name in enumerate(self.regions)}
        totals = {
            "counted": self.counted,
            "distinct": self.distinct,
            "repeated": self.repeated,
            "repeated %": self.repeated_share,
        }
        return pd.DataFrame({"algorithm": self.algorithms, **by_region, **totals})


def nested(algorithms: Sequence[str], regions: Sequence[str], errors: Counts) -> DoubleCounting:
    """Regions that contain each other, smallest first: the last holds each error once, the one before what repeats."""
    if np.any(np.diff(errors, axis=1) < 0):
        raise StereogaugeError(
            f"{' ⊂ '.join(regions)} is not a chain: a smaller region has more errors than a larger one; state the "
            "regions from the smallest to the largest."
        )
    second = errors[:, -2] if errors.shape[1] > 1 else np.zeros(len(errors), np.int64)
    return DoubleCounting(tuple(algorithms), tuple(regions), errors, errors[:, -1], second)


def partition(algorithms: Sequence[str], regions: Sequence[str], errors: Counts, total: Counts) -> DoubleCounting:
    """Regions that should not overlap, checked against the errors of their union."""
    counted = errors.sum(axis=1)
    for name, added, whole in zip(algorithms, counted, total, strict=True):
        if added != whole:
            raise StereogaugeError(
                f"{', '.join(regions)} are no partition for {name}: their errors add up to {added}, the union has "
                f"{whole}."
            )
    return DoubleCounting(tuple(algorithms), tuple(regions), errors, total, np.zeros(len(errors), np.int64))


def counts_errors(metric: str) -> bool:
    """Whether the sums of a metric are numbers of wrong pixels."""
    declared = metric_of(metric).metric
    return bool(declared.wrong) and declared.finalize is percent and declared.direction == "lower"


def error_counts(cube: ScoreCube, metric: str, regions: Sequence[str]) -> Counts:
    """Erroneous pixels (algorithms, regions), summed over the scenes, from the sums that a bad-pixel metric keeps."""
    if not counts_errors(metric):
        raise StereogaugeError(
            f"{metric} does not count erroneous pixels; choose a metric that does, for example bad@1."
        )
    columns = [cube.column(f"{metric}:{name}") for name in regions]
    if np.isnan(cube.sums[:, :, columns]).all():
        raise StereogaugeError(
            "These scores came without their sums, so errors cannot be counted; evaluate them again."
        )
    gaps = np.argwhere(np.isnan(cube.values[:, :, columns]))
    if len(gaps):
        raise StereogaugeError(
            f"{cube.algorithms[gaps[0][0]]} has no score of {metric} on some of {', '.join(regions)}; select "
            "algorithms and scenes without gaps."
        )
    return np.asarray(np.rint(cube.sums[:, :, columns].sum(axis=1)), np.int64)


def double_counting(
    cube: ScoreCube, metric: str = "bad@1", chain: Sequence[str] = NESTED, parts: Sequence[str] = PARTITION
) -> tuple[DoubleCounting, DoubleCounting]:
    """Nested regions and partition side by side, over the scenes of the cube; the chain ends with their union.

    Errors are counted on what is common: an algorithm that lacks more than half of the scores is left out, then the
    scenes that another one lacks; `selection` says so.
    """
    needed = [*dict.fromkeys([*chain, *parts])]
    lacking = [name for name in needed if name not in cube.regions]
    if lacking:
        raise StereogaugeError(
            f"Double counting compares {', '.join(chain)} with {', '.join(parts)}; these scores have no "
            f"{', '.join(lacking)}: evaluate with --regions {','.join(needed)}."
        )
    both = cube.select(metrics=[metric], regions=needed).limited(least_coverage=0.0, least_support=0.0)
    gap = np.isnan(both.values)
    rows = np.flatnonzero(gap.reshape(len(gap), -1).mean(axis=1) <= 0.5)
    scenes = np.flatnonzero(~gap[rows].any(axis=(0, 2)))
    if not len(rows) or not len(scenes):
        raise StereogaugeError(f"No scene has scores of {metric} on {', '.join(needed)} for the algorithms selected.")
    dropped = [Dropped("algorithm", name, "lacks most scores") for name in np.delete(both.algorithms, rows)]
    dropped += [Dropped("scene", name, "not every algorithm has a score") for name in np.delete(both.scenes, scenes)]
    both = both.take(algorithms=rows.tolist(), scenes=scenes.tolist())
    selection = Selection.of(both, dropped=tuple(dropped))
    chained = nested(both.algorithms, chain, error_counts(both, metric, chain))
    parted = partition(both.algorithms, parts, error_counts(both, metric, parts), chained.distinct)
    return replace(chained, selection=selection), replace(parted, selection=selection)
