"""Where a difference in one column on one scene arises: its shares in the parts of the scene."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.masks.expression import region_id
from stereogauge.masks.geometric import PARTS
from stereogauge.metrics.declaration import Metric
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.score import Score

OWN_PARTS: Mapping[str, str] = {
    "disc-background": "part-background",
    "disc-foreground": "part-foreground",
    "planar": "part-planar",
    "fine": "part-fine",
    "fine-surround": "part-fine",
}
"""The part to which metrics bound to these pixel sets belong as a whole."""
MEAN_ERROR, SQUARED_ERROR = "bias", ("mse", "rms")
CANCELLED = 1e-9
UNATTRIBUTED = "not attributed"
"""The name of the part of a difference that no region accounts for."""
SHIFT = "common shift"
"""The name of the cause where the errors of two maps differ by their mean."""


class MapMeasurer(Protocol):
    """Measures maps; `stereogauge.evaluation.stored_maps` has those of stores and of folders."""

    def measure(self, scene: str, algorithms: Sequence[str], columns: Sequence[Column]) -> Iterable[Score]:
        """The scores of some algorithms on one scene."""
        ...


class Amount(NamedTuple):
    """The sufficient statistics of one score."""

    total: float
    pixels: float


Statistics = Mapping[tuple[str, str, Column], Amount]
"""By algorithm, scene and column."""


def part_columns(column: Column) -> Mapping[str, Column]:
    """The columns, by part, whose sums make up that of `column`; empty where the metric is not a sum over pixels."""
    metric = column.declared.metric
    if not metric.pools or metric.counts != "pixels" or metric.region in OWN_PARTS:
        return {}
    if column.region in PARTS:
        return {column.region: column}
    if column.region in ("all", "nonocc"):
        seen = (part for part in PARTS if column.region == "all" or part != "part-occluded")
        return {part: Column(column.metric, part) for part in seen}
    return {part: Column(column.metric, region_id(f"({column.region})&{part}")) for part in PARTS}


def shift_columns() -> tuple[Column, ...]:
    """The columns that show a common shift."""
    return Column(MEAN_ERROR, "all"), Column(SQUARED_ERROR[0], "all")


def stored_statistics(cube: ScoreCube, algorithms: Iterable[str]) -> dict[tuple[str, str, Column], Amount]:
    """What a cube holds of the columns of some algorithms."""
    if cube.sums is None or cube.counts is None:
        return {}
    return {
        (name, scene, column): Amount(float(cube.sums[row, s, c]), float(cube.counts[row, s, c]))
        for name in algorithms
        for row in (cube.algorithms.index(name),)
        for s, scene in enumerate(cube.scenes)
        for c, column in enumerate(cube.columns)
    }


def measured_statistics(
    maps: MapMeasurer,
    algorithms: Sequence[str],
    scenes: Iterable[str],
    columns: Iterable[Column],
    progress: Callable[[str], None] | None = None,
) -> tuple[dict[tuple[str, str, Column], Amount], list[str]]:
    """The statistics of columns, measured from the maps, and the reasons where a map could not be read."""
    wanted = tuple(dict.fromkeys(columns))
    found: dict[tuple[str, str, Column], Amount] = {}
    reasons = []
    for scene in scenes if wanted else ():
        if progress is not None:
            progress(scene)
        try:
            for score in maps.measure(scene, algorithms, wanted):
                found[score.algorithm, scene, Column(score.metric, score.region)] = Amount(score.sum, score.count)
        except (StereogaugeError, OSError) as reason:
            reasons.append(f"{scene}: {reason}")
    return found, reasons


def own_part(column: Column) -> NDArray[np.float64] | None:
    """All of the difference in the part that a metric with pixels of its own belongs to; None for other metrics."""
    own = OWN_PARTS.get(column.declared.metric.region or "")
    return None if own is None else np.array([float(part == own) for part in PARTS])


def part_shares(column: Column, scene: str, a: str, b: str, known: Statistics) -> NDArray[np.float64] | None:
    """Shares of the difference a − b in a column that arise in each part, in the order of `PARTS`; they sum to 1.

    The mean of a pooled metric is Σ_p sum_p / count, so part p adds sum_{a,p}/count_a − sum_{b,p}/count_b; a root of a
    mean divides in the same proportions. None where the statistics of the parts are not known, or cancel out.
    """
    metric = column.declared.metric
    divided = part_columns(column)
    whole = [known.get((name, scene, column)) for name in (a, b)]
    if not divided or whole[0] is None or whole[1] is None:
        return None
    amounts = dict.fromkeys(PARTS, 0.0)
    for sign, name, whole_of in ((1.0, a, whole[0]), (-1.0, b, whole[1])):
        parts = {part: known.get((name, scene, one)) for part, one in divided.items()}
        sums = {part: amount.total for part, amount in parts.items() if amount is not None}
        if len(sums) < len(parts) or whole_of.pixels == 0:
            return None
        if not math.isclose(sum(sums.values()), whole_of.total, rel_tol=1e-6, abs_tol=1e-6):
            return None
        weight = sign / (whole_of.pixels if _averages(metric) else 1.0)
        for part, total in sums.items():
            amounts[part] += weight * total
    found = np.array(list(amounts.values()))
    difference, size = found.sum(), np.abs(found).sum()
    if metric.direction == "zero" and whole[0].total * whole[1].total < 0:
        return None
    return None if abs(difference) <= CANCELLED * size else np.asarray(found / difference, np.float64)


class MeanErrors(NamedTuple):
    """How two maps of a scene differ in the mean of their signed errors, in px, and in its square and the rest.

    The mean of e² is the square of the mean of e, and the variance of e. `square` and `variance` are differences of the
    first and the second map.
    """

    shift: float
    square: float
    variance: float

    def explains(self, amount: float) -> bool:
        """Whether a shift makes most of the squared errors' difference, which has the sign of `amount`."""
        return self.square * amount > 0 and abs(self.square) > abs(self.variance)


def mean_errors(scene: str, a: str, b: str, known: Statistics) -> MeanErrors | None:
    """How the errors of two maps differ in their mean; None where mean and squared errors are not known."""
    means, squares = [], []
    for name in (a, b):
        signed = known.get((name, scene, Column(MEAN_ERROR, "all")))
        squared = (known.get((name, scene, Column(metric, "all"))) for metric in SQUARED_ERROR)
        square = next((one for one in squared if one is not None), None)
        if signed is None or square is None or not signed.pixels or not square.pixels:
            return None
        means.append(signed.total / signed.pixels)
        squares.append(square.total / square.pixels)
    by_mean = means[0] ** 2 - means[1] ** 2
    return MeanErrors(means[1] - means[0], by_mean, squares[0] - squares[1] - by_mean)


def _averages(metric: Metric) -> bool:
    """Whether a metric divides by its count: twice the sum over twice the pixels is the same value."""
    assert metric.finalize is not None
    return math.isclose(metric.finalize(2.0, 4), metric.finalize(1.0, 2))


def with_rest(shares: NDArray[np.float64] | None) -> Values:
    """Shares over the parts and, last, over what cannot be attributed."""
    if shares is None:
        return np.append(np.zeros(len(PARTS)), 1.0)
    return np.append(shares, 0.0)
