"""Tests of difference: Friedman with Nemenyi's critical distance over many algorithms, Wilcoxon with Holm for pairs.

The distributions are SciPy's; this module prepares what they read and keeps what they say. The blocks of all tests
are independent scenes: the columns (region × metric) of one scene depend on each other, and so do scenes of one place,
so they are averaged first, and N is the number of independent scenes.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError, one_of
from stereogauge.ranking.bootstrap import resample_scenes
from stereogauge.ranking.costs import prepare
from stereogauge.ranking.ranks import tied_ranks
from stereogauge.ranking.run import Scores, selected
from stereogauge.scores.column import metric_of
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import Selection, missing_rule
from stereogauge.text import p_text

if TYPE_CHECKING:
    import pandas as pd


class Friedman(Struct, frozen=True, eq=False, dict=True):
    """Whether the algorithms differ at all, and by how much the average ranks of two must differ.

    `blocks` is the number of scenes. `average_rank` (ties averaged, gaps under the rule `worst` too) is in
    ascending order with `algorithms`. Two of them differ at the level `alpha` when their average ranks lie at least
    `critical_distance` apart; `cliques` are the maximal runs (first, last) of algorithms that do not. `ranks`
    (algorithms, scenes) are what the average is taken of. `scenes_needed` estimates how many scenes would distinguish
    the algorithms; None where a thousand would not.
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
    ranks: Values
    scenes_needed: int | None = None

    @functools.cached_property
    def nemenyi(self) -> Values:
        """The p-value of each pair by Nemenyi's test, algorithms on both axes: P(q > √2 |R_i − R_j| / s).

        q is the studentized range of k algorithms with infinite degrees of freedom and s = √(k (k + 1) / 6 N); P. B.
        Nemenyi, Distribution-free multiple comparisons, 1963.
        """
        from scipy.stats import studentized_range

        count = len(self.algorithms)
        first, second = np.triu_indices(count, 1)
        error = math.sqrt(count * (count + 1) / (6 * self.blocks))
        distances = np.abs(self.average_rank[first] - self.average_rank[second]) / error
        found: Values = np.eye(count)
        found[first, second] = studentized_range.sf(math.sqrt(2) * distances, count, np.inf)
        found[second, first] = found[first, second]
        return found

    @property
    def differ(self) -> bool:
        """Whether the hypothesis that all algorithms perform alike is rejected."""
        return self.p_value < self.alpha

    @property
    def can_tell(self) -> bool:
        """Whether these scenes could distinguish any two algorithms: average ranks differ by at most k − 1."""
        return self.critical_distance <= len(self.algorithms) - 1

    @property
    def sentence(self) -> str:
        """What the test says, in words."""
        needed = (
            f" With differences as observed, about {self.scenes_needed} scenes would be needed."
            if self.scenes_needed is not None
            else " With differences as observed, not even a thousand scenes would do."
        )
        scenes = f"{self.blocks} scenes"
        if not self.can_tell:
            return (
                f"{scenes} cannot distinguish {len(self.algorithms)} algorithms: average ranks differ by at most "
                f"{len(self.algorithms) - 1}, and {self.critical_distance:.2f} are needed at α = {self.alpha:g}."
                f"{needed}"
            )
        if not self.differ:
            return f"The algorithms cannot be distinguished on {scenes} (Friedman: {p_text(self.p_value)}).{needed}"
        return (
            f"The algorithms differ (Friedman over {scenes}: χ² = {self.statistic:.2f}, {p_text(self.p_value)}); two "
            f"of them do when their average ranks lie {self.critical_distance:.2f} apart (Nemenyi, α = {self.alpha:g})."
        )

    def to_pandas(self) -> pd.DataFrame:
        """The p-values of Nemenyi's test, algorithms on both axes."""
        import pandas as pd

        return pd.DataFrame(self.nemenyi, index=self.algorithms, columns=self.algorithms)


class PairTest(NamedTuple):
    """Wilcoxon's signed-rank test of two algorithms over the scenes, by one metric.

    `better` is the one that wins more scenes ("" when even). `median` is the median of first − second in the metric's
    unit, as the scores are shown: negative where the first is better if lower is better, positive if higher is; for a
    bias, of the distances from 0. `superiority` is the effect size: the share of scenes on which the first is better,
    ties counting half. `p_holm` is the p-value after Holm's correction over all pairs tested together.
    """

    first: str
    second: str
    scenes: int
    better: str
    median: float
    superiority: float
    p_value: float
    p_holm: float


def friedman(
    scores: Scores,
    metrics: Iterable[str] | None = None,
    *,
    missing: str = "common",
    alpha: float = 0.05,
) -> Friedman:
    """Friedman's test over the scenes with Nemenyi's post-hoc comparison (Demšar, JMLR 2006).

    Within a scene the ranks over the selected columns are averaged, and the averages ranked again.
    CD = q_α √(k (k + 1) / (6 N)) for k algorithms and N scenes, q_α = the studentised range / √2.
    """
    costs, selection = prepare(selected(scores, metrics), missing_rule(missing))
    within = costs.unit_means(costs.scene_means(tied_ranks(costs.matrix, axis=0)))
    return friedman_of(costs.algorithms, within, selection, alpha)


def check_alpha(alpha: float) -> None:
    """Raise an error unless `alpha` is a level of significance."""
    if not 0 < alpha < 1:
        raise StereogaugeError(f"A significance level lies between 0 and 1, for example 0.05; found {alpha:g}.")


def friedman_of(algorithms: Sequence[str], costs: Values, selection: Selection, alpha: float = 0.05) -> Friedman:
    """Friedman's test of one cost per (algorithm, independent scene), e.g. what each adds to a weighted score."""
    from scipy.stats import friedmanchisquare, studentized_range

    check_alpha(alpha)
    count, blocks = costs.shape
    if count < 3 or blocks < 2:
        raise StereogaugeError(
            f"Friedman's test needs at least three algorithms and two independent scenes; found {count} and {blocks}. "
            "For two algorithms take Wilcoxon's test."
        )
    ranks = tied_ranks(costs, axis=0)
    average = ranks.mean(axis=1)
    order = np.lexsort((np.arange(count), average))
    if np.ptp(ranks) == 0:
        statistic, p_value = 0.0, 1.0
    else:
        statistic, p_value = friedmanchisquare(*ranks)
    q = float(studentized_range.ppf(1 - alpha, count, np.inf)) / math.sqrt(2)
    distance = q * math.sqrt(count * (count + 1) / (6 * blocks))
    return Friedman(
        selection=selection,
        algorithms=tuple(algorithms[place] for place in order),
        blocks=blocks,
        alpha=alpha,
        statistic=float(statistic),
        p_value=float(p_value),
        average_rank=average[order],
        critical_distance=distance,
        cliques=cliques(average[order], distance),
        ranks=ranks[order],
        scenes_needed=None if p_value < alpha else _scenes_for_friedman(ranks, alpha),
    )


MOST_SCENES = 1000
POWER = 0.8
"""Share of simulated selections of scenes in which a difference must be found to call it enough scenes."""
SIMULATIONS = 200


def _fewest_scenes(present: int, finds: Callable[[NDArray[np.int64], int], Values], alpha: float) -> int | None:
    """The fewest scenes, drawn from those present, on which a test mostly finds a difference.

    `finds(drawn, scenes)` gives the p-values of draws of that many scenes. Each number that is tried is about a seventh
    more than the last; None where a thousand would not do.
    """
    random = np.random.default_rng(0)
    steps: Values = np.geomspace(max(2, present), MOST_SCENES, 48)
    for scenes in sorted({int(step) for step in steps if step <= MOST_SCENES}):
        drawn = resample_scenes(present, SIMULATIONS, random, scenes)
        if np.mean(finds(drawn, scenes) < alpha) >= POWER:
            return scenes
    return None


def _scenes_for_friedman(ranks: Values, alpha: float) -> int | None:
    """The fewest scenes on which Friedman's test mostly finds a difference."""
    from scipy.special import chdtrc  # the upper tail of χ²

    count, present = ranks.shape

    def p_values(drawn: NDArray[np.int64], scenes: int) -> Values:
        average = drawn @ ranks.T / scenes
        statistic = 12 * scenes / (count * (count + 1)) * ((average - (count + 1) / 2) ** 2).sum(axis=1)
        return np.asarray(chdtrc(count - 1, statistic), np.float64)

    return _fewest_scenes(present, p_values, alpha)


def scenes_for_pair(differences: Values, alpha: float = 0.05) -> int | None:
    """The fewest scenes, drawn from those with these differences, on which the one-sided test mostly rejects.

    None where a thousand scenes would not do.
    """

    def p_values(drawn: NDArray[np.int64], scenes: int) -> Values:
        return np.maximum(_normal_p(drawn @ differences, drawn @ differences**2), 0.5**scenes)

    return _fewest_scenes(len(differences), p_values, alpha)


def _normal_p(sums: Values, squares: Values) -> Values:
    """One-sided p of sums of differences d: with random signs they are about normal, with the variance Σ d²."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-sums / np.sqrt(np.maximum(squares, TINY))), np.float64)


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
    *,
    missing: str = "common",
) -> tuple[PairTest, ...]:
    """Wilcoxon's signed-rank test over scenes for chosen pairs (all of them by default), corrected by Holm.

    One metric only: differences in different units cannot be ranked together. The differences of a scene's columns
    are averaged. Equal scores everywhere give p = 1; two perfect ones (infinite PSNR) are equal.
    """
    if missing == "worst":
        raise StereogaugeError(
            "Wilcoxon's test compares sizes, which a gap has not; use drop-algorithm or drop-column."
        )
    costs, _ = prepare(selected(scores, [metric]), missing_rule(missing))
    row = dict(zip(costs.algorithms, costs.matrix, strict=True))
    chosen = list(itertools.combinations(costs.algorithms, 2) if pairs is None else pairs)
    if not chosen:
        raise StereogaugeError(f"A pair needs two algorithms; the selection has {', '.join(costs.algorithms)}.")
    for name in itertools.chain.from_iterable(chosen):
        one_of("algorithm of these scores", name, row)
    differences = []
    for first, second in chosen:
        a, b = row[first], row[second]
        apart = np.subtract(a, b, out=np.zeros_like(a), where=a != b)  # two perfect ones (−inf) are equal
        differences.append(costs.unit_means(costs.scene_means(apart)))
    sign = -1.0 if metric_of(costs.metrics[0]).metric.direction == "higher" else 1.0
    p_values = [float(signed_rank_p(difference[:, None])[0]) for difference in differences]
    tests = zip(chosen, differences, p_values, holm_corrected(p_values).tolist(), strict=True)
    return tuple(
        PairTest(
            first=first,
            second=second,
            scenes=len(apart),
            better={1: second, 0: "", -1: first}[int(np.sign(np.sign(apart).sum()))],
            median=sign * float(np.median(apart)) + 0.0,
            superiority=float(np.mean(apart < 0) + np.mean(apart == 0) / 2),
            p_value=p_value,
            p_holm=p_holm,
        )
        for (first, second), apart, p_value, p_holm in tests
    )


def holm_corrected(p_values: Sequence[float]) -> Values:
    """p-values of m tests after Holm's step-down correction: the i-th smallest times m − i + 1, never falling.

    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979.

    >>> holm_corrected([0.04, 0.01, 0.03]).tolist()
    [0.06, 0.03, 0.06]
    """
    found = np.asarray(p_values, np.float64)
    order = np.argsort(found, kind="stable")
    steps = np.maximum.accumulate(found[order] * np.arange(len(found), 0, -1))
    corrected = np.empty_like(found)
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


def signed_rank_p(differences: Values) -> Values:
    """p of Wilcoxon's signed-rank test of each column of paired differences, shape (scenes, columns).

    1 where all differences are 0, or where there are fewer than two.
    """
    p_values = np.ones(differences.shape[1])
    differing = differences.any(axis=0)
    if len(differences) > 1 and differing.any():
        from scipy.stats import wilcoxon  # slow to import, and not every answer needs it

        p_values[differing] = wilcoxon(differences[:, differing], axis=0).pvalue
    return p_values


ALL_SIGNS = 14
"""Up to this many scenes every assignment of signs is tried, then as many random ones as there are for this number."""
MANY_SCENES = 60
"""Above this many scenes the sum of differences with random signs is taken as normal."""
TINY = 1e-300


def greater_p(differences: Values) -> Values:
    """One-sided p that the mean of each column of differences lies above 0, shape (scenes, columns).

    The sum is compared with its distribution over all 2^n assignments of signs to the differences, above 14 scenes over
    2^14 of them: the observed one and random ones. Such a test is exact where the differences are symmetric, and its
    statistic is the mean itself (R. A. Fisher, The Design of Experiments, 1935, section 21; E. J. G. Pitman,
    Significance tests which may be applied to samples from any populations, 1937). A difference of 0 counts as positive
    and smaller than all others, so a tie does not speak against. Above 60 scenes the normal distribution is used. Not
    corrected for several columns: to call one algorithm the best every test must reject, an intersection–union test.

    >>> greater_p(np.array([[1.0, -1.0], [2.0, 2.0], [3.0, 3.0]])).tolist()
    [0.125, 0.25]
    """
    scenes = len(differences)
    observed = differences.sum(axis=0)
    if scenes > MANY_SCENES:
        return _normal_p(observed, (differences**2).sum(axis=0))
    if scenes <= ALL_SIGNS:
        negative = np.arange(2**scenes)[:, None] >> np.arange(scenes) & 1
    else:
        negative = np.random.default_rng(0).integers(2, size=(2**ALL_SIGNS, scenes))
        negative[0] = 0
    above = (1.0 - 2.0 * negative) @ differences - observed
    rounding = 1e-9 * np.abs(differences).sum(axis=0)
    ties = 0.5 ** (differences == 0).sum(axis=0)  # of equal sums, only that with all ties positive is not smaller
    return np.asarray((above > rounding).mean(axis=0) + ties * (np.abs(above) <= rounding).mean(axis=0), np.float64)


def different_from_best(cube: ScoreCube, place: int, costs: Values, alpha: float = 0.05) -> list[bool]:
    """Which algorithms Wilcoxon's test over scenes, corrected by Holm, distinguishes from a column's best.

    `costs` are those of the column over all scenes.
    """
    none = [False] * len(cube.algorithms)
    if 2.0 ** (1 - len(np.unique(cube.unit_of))) >= alpha or not np.isfinite(costs).any():
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
