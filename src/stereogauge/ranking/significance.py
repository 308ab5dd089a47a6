"""Tests of difference: Friedman with Nemenyi's critical distance over many algorithms, Wilcoxon with Holm for pairs.

Every number comes from SciPy, scikit-posthocs and statsmodels; this module prepares what they read and keeps what
they say. The blocks of all tests are the flat columns (scene × region × metric) of the selection. Columns of one
scene depend on each other, nested regions most of all: with few scenes the tests are optimistic; select one
region to avoid that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scikit_posthocs
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon
from statsmodels.stats.multitest import multipletests

from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.ranking.costs import Costs, prepare
from stereogauge.ranking.run import Scores, as_cube
from stereogauge.scores.cube import ScoreCube, Values, metric_of
from stereogauge.scores.selection import Selection, missing_rule

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Friedman:
    """Whether the algorithms differ at all, and by how much two must differ to be told apart.

    `average_rank` (ties averaged, gaps under the rule `worst` too) stands in ascending order with `algorithms`. Two of
    them differ at the level `alpha` when their average ranks lie at least `critical_distance` apart; `cliques` are the
    maximal runs (first, last) of algorithms that do not. `nemenyi[a, b]` is the p-value of the pair.
    """

    selection: Selection
    algorithms: tuple[str, ...]
    blocks: int
    alpha: float
    statistic: float
    p_value: float
    average_rank: Values
    critical_distance: float
    cliques: tuple[tuple[int, int], ...]
    nemenyi: Values

    @property
    def differ(self) -> bool:
        """Whether the hypothesis that all algorithms perform alike is rejected."""
        return self.p_value < self.alpha

    def to_pandas(self) -> pd.DataFrame:
        """The p-values of Nemenyi's test, algorithms on both axes."""
        import pandas as pd

        return pd.DataFrame(self.nemenyi, index=self.algorithms, columns=self.algorithms)


class Pair(NamedTuple):
    """Wilcoxon's signed-rank test of two algorithms over the columns of one metric.

    `better` is the one with more columns won ("" when even). `median` is the median of first − second in the metric's
    unit, as the scores are shown: negative where the first is better if lower is better, positive if higher is; for a
    bias, of the distances from 0. `p_holm` is the p-value after Holm's correction over all pairs tested together.
    """

    first: str
    second: str
    columns: int
    better: str
    median: float
    p_value: float
    p_holm: float


def friedman(
    scores: Scores,
    metrics: Iterable[str] | None = None,
    regions: Iterable[str] | None = None,
    scenes: Iterable[str] | None = None,
    algorithms: Iterable[str] | None = None,
    *,
    missing: str = "drop-algorithm",
    alpha: float = 0.05,
) -> Friedman:
    """Friedman's test over the columns with Nemenyi's post-hoc comparison (Demšar, JMLR 2006).

    CD = q_α √(k (k + 1) / (6 N)) for k algorithms and N columns, q_α = the studentised range / √2.
    """
    if not 0 < alpha < 1:
        raise StereogaugeError(f"A significance level lies between 0 and 1, for example 0.05; found {alpha:g}.")
    costs, selection = _costs(scores, metrics, regions, scenes, algorithms, missing)
    count, blocks = costs.matrix.shape
    if count < 3 or blocks < 2:
        raise StereogaugeError(
            f"Friedman's test needs at least three algorithms and two columns; found {count} and {blocks}. "
            "For two algorithms take Wilcoxon's test."
        )
    ranks = np.asarray(rankdata(costs.matrix, axis=0), np.float64)
    average = ranks.mean(axis=1)
    order = np.lexsort((np.arange(count), average))
    if np.ptp(ranks) == 0:
        statistic, p_value = 0.0, 1.0
    else:
        statistic, p_value = friedmanchisquare(*ranks)
    q = float(studentized_range.ppf(1 - alpha, count, np.inf)) / math.sqrt(2)
    distance = q * math.sqrt(count * (count + 1) / (6 * blocks))
    nemenyi = scikit_posthocs.posthoc_nemenyi_friedman(ranks[order].T).to_numpy(np.float64)
    return Friedman(
        selection=selection,
        algorithms=tuple(costs.algorithms[place] for place in order),
        blocks=blocks,
        alpha=alpha,
        statistic=float(statistic),
        p_value=float(p_value),
        average_rank=average[order],
        critical_distance=distance,
        cliques=cliques(average[order], distance),
        nemenyi=nemenyi,
    )


def cliques(average_rank: Values, distance: float) -> tuple[tuple[int, int], ...]:
    """Maximal runs (first, last) of at least two ascending average ranks that span less than `distance`."""
    last = np.searchsorted(average_rank, average_rank + distance, side="left") - 1
    runs: list[tuple[int, int]] = []
    for first, end in enumerate(last.tolist()):
        if end > first and (not runs or end > runs[-1][1]):
            runs.append((first, end))
    return tuple(runs)


def wilcoxon_pairs(
    scores: Scores,
    metric: str,
    pairs: Sequence[tuple[str, str]] | None = None,
    regions: Iterable[str] | None = None,
    scenes: Iterable[str] | None = None,
    algorithms: Iterable[str] | None = None,
    *,
    missing: str = "drop-algorithm",
) -> tuple[Pair, ...]:
    """Wilcoxon's signed-rank test for chosen pairs (all of them by default), corrected by Holm over those pairs.

    One metric only: differences in different units cannot be ranked together. Equal scores everywhere give p = 1;
    two perfect ones (infinite PSNR) are equal.
    """
    if missing == "worst":
        raise StereogaugeError(
            "Wilcoxon's test compares sizes, which a gap has not; use drop-algorithm or drop-column."
        )
    costs, _ = _costs(scores, [metric], regions, scenes, algorithms, missing)
    place = {name: index for index, name in enumerate(costs.algorithms)}
    chosen = list(itertools.combinations(costs.algorithms, 2) if pairs is None else pairs)
    if not chosen:
        raise StereogaugeError(f"A pair needs two algorithms; the selection has {', '.join(costs.algorithms)}.")
    for name in itertools.chain.from_iterable(chosen):
        if name not in place:
            raise unknown_name("algorithm of these scores", name, place)
    differences = [_difference(costs.matrix[place[first]], costs.matrix[place[second]]) for first, second in chosen]
    sign = -1.0 if metric_of(costs.metrics[0]).metric.direction == "higher" else 1.0
    p_values = [1.0 if not np.any(difference) else float(wilcoxon(difference).pvalue) for difference in differences]
    corrected = multipletests(p_values, method="holm")[1]
    return tuple(
        Pair(
            first,
            second,
            len(difference),
            _better(first, second, difference),
            sign * float(np.median(difference)) + 0.0,
            p,
            float(holm),
        )
        for (first, second), difference, p, holm in zip(chosen, differences, p_values, corrected, strict=True)
    )


def _difference(first: Values, second: Values) -> Values:
    return np.subtract(first, second, out=np.zeros_like(first), where=first != second)


def _better(first: str, second: str, difference: Values) -> str:
    balance = int(np.sign(difference).sum())
    return "" if balance == 0 else first if balance < 0 else second


def _costs(
    scores: Scores,
    metrics: Iterable[str] | None,
    regions: Iterable[str] | None,
    scenes: Iterable[str] | None,
    algorithms: Iterable[str] | None,
    missing: str,
) -> tuple[Costs, Selection]:
    cube = as_cube(scores).select(metrics=metrics, regions=regions, scenes=scenes, algorithms=algorithms)
    return prepare(cube, missing_rule(missing))


def different_from_best(cube: ScoreCube, place: int, costs: Values, alpha: float = 0.05) -> list[bool]:
    """Which algorithms Wilcoxon's test over scenes, corrected by Holm, tells apart from a column's best.

    `costs` are those of the column over all scenes.
    """
    none = [False] * len(cube.algorithms)
    if 2.0 ** (1 - len(cube.scenes)) >= alpha or not np.isfinite(costs).any():
        return none
    best = cube.algorithms[int(np.nanargmin(np.where(np.isfinite(costs), costs, np.nan)))]
    complete = [name for name, cost in zip(cube.algorithms, costs, strict=True) if np.isfinite(cost) and name != best]
    if not complete:
        return none
    try:
        pairs = wilcoxon_pairs(
            cube.take(columns=[place]), cube.columns[place].metric, [(best, name) for name in complete]
        )
    except StereogaugeError:
        return none
    worse = {pair.second for pair in pairs if pair.p_holm < alpha}
    return [name in worse for name in cube.algorithms]


def mark_note(scenes: int, alpha: float) -> str:
    """What the mark of `different_from_best` means, or why so few scenes allow none."""
    smallest = 2.0 ** (1 - scenes)
    if smallest >= alpha:
        return f"With {scenes} scenes Wilcoxon's test cannot fall below p = {smallest:.3g}, so no difference is marked."
    return f"† differs from the best of its column (Wilcoxon over scenes, Holm, α = {alpha:g})."
