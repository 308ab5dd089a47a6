"""How easily an order changes: with the metric, region or model, with the weights, and with a threshold."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from numpy.typing import NDArray
from scipy.stats import kendalltau, spearmanr

from stereogauge.errors import StereogaugeError
from stereogauge.ranking.bootstrap import CONCENTRATION, rank_interval
from stereogauge.ranking.model import Ranking, models
from stereogauge.ranking.profile import Profile
from stereogauge.ranking.ranks import final_ranks
from stereogauge.ranking.run import rank
from stereogauge.ranking.weighted_score import Tie, weigh
from stereogauge.scores.column import metric_of
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.scope import DRAWS
from stereogauge.scores.selection import Selection, missing_rule


class OrderAgreement(Struct, frozen=True, eq=False):
    """Agreement of orders over the algorithms that all of them rank: 1 the same, 0 unrelated, −1 reversed.

    NaN where an order ties all algorithms. `ranks` has shape (algorithms, orders).
    """

    names: tuple[str, ...]
    algorithms: tuple[str, ...]
    ranks: Values
    kendall: Values
    spearman: Values

    def to_pandas(self) -> pd.DataFrame:
        """Ranks: one row per algorithm, one column per order."""
        return pd.DataFrame(self.ranks, index=self.algorithms, columns=self.names)


def agreement(orders: Mapping[str, Ranking]) -> OrderAgreement:
    """Rank correlations between named orders."""
    if len(orders) < 2:
        raise StereogaugeError(f"Agreement compares at least two orders; found {', '.join(orders) or 'none'}.")
    rankings = list(orders.values())
    common = [name for name in rankings[0].algorithms if all(name in other.algorithms for other in rankings)]
    ranks_of = [dict(zip(ranking.algorithms, ranking.rank.tolist(), strict=True)) for ranking in rankings]
    ranks = np.array([[ranks[name] for ranks in ranks_of] for name in common], np.float64)
    kendall, spearman = np.full((2, len(rankings), len(rankings)), np.nan)
    varying = [place for place in range(len(rankings)) if len(common) > 1 and np.ptp(ranks[:, place]) > 0]
    for pair in itertools.product(varying, repeat=2):
        first, second = ranks[:, pair].T
        kendall[pair] = kendalltau(first, second, variant="b").statistic
        spearman[pair] = spearmanr(first, second).statistic
    return OrderAgreement(tuple(orders), tuple(common), ranks, kendall, spearman)


def by_metric(cube: ScoreCube, model: str = "middlebury", **options: Any) -> dict[str, Ranking]:
    """One order for each metric."""
    return {metric: rank(cube, model, metrics=[metric], **options) for metric in cube.metrics}


def by_region(cube: ScoreCube, metric: str, **options: Any) -> dict[str, Ranking]:
    """One order for each region of one metric."""
    regions = cube.select(metrics=[metric]).regions
    return {region: rank(cube, "middlebury", metrics=[f"{metric}:{region}"], **options) for region in regions}


def by_model(cube: ScoreCube, *, missing: str = "common") -> dict[str, Ranking]:
    """One order for each model, leaving out the Middlebury model where several metrics are selected."""
    chosen = [name for name in models() if name != "middlebury" or len(cube.metrics) == 1]
    return {name: rank(cube, name, missing=missing) for name in chosen}


class WeightStability(Struct, frozen=True, eq=False):
    """What becomes of the order when weights move.

    Algorithms are in the order of the stated weights. `first` is the share of draws that each one wins, `rank_low`
    and `rank_high` bound its rank in 95 % of the draws; `changed` is the share of draws with another winner. `tie` is
    the smallest change of one weight that puts the second place first, None where there is none.
    """

    selection: Selection
    algorithms: tuple[str, ...]
    terms: tuple[str, ...]
    weights: Values
    concentration: float
    draws: int
    seed: int
    first: Values
    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    changed: float
    tie: Tie | None = None


def weight_stability(
    cube: ScoreCube,
    weights: Mapping[str, float] | None = None,
    profile: str | Path | Profile | None = None,
    *,
    normalisation: str = "heuristic",
    missing: str = "common",
    concentration: float = CONCENTRATION,
    draws: int = DRAWS,
    seed: int = 0,
) -> WeightStability:
    """Draw weights around those stated (see `perturb_weights`), and rank with each draw."""
    if not concentration > 0:
        raise StereogaugeError(f"The concentration must be greater than 0; found {concentration:g}.")
    if draws < 1:
        raise StereogaugeError(f"Stability under weights needs at least one draw; found {draws}.")
    score, selection = weigh(cube, weights, profile, missing_rule(missing), normalisation)
    ranks = final_ranks(score.perturbed(draws, seed, concentration))
    order = score.order
    low, high = rank_interval(ranks)
    return WeightStability(
        selection=selection,
        algorithms=tuple(score.algorithms[place] for place in order),
        terms=tuple(score.terms),
        weights=score.weights,
        concentration=concentration,
        draws=draws,
        seed=seed,
        first=np.asarray((ranks == 1).mean(axis=0)[order], np.float64),
        rank_low=low[order],
        rank_high=high[order],
        changed=float((ranks[:, order[0]] != 1).mean()),
        tie=score.nearest_tie,
    )


class ThresholdStability(Struct, frozen=True, eq=False):
    """Orders along the thresholds of one family, for example bad@0.5, bad@1, bad@2, bad@4.

    `rankings` has one order per threshold; `changed` is the share of neighbouring thresholds between which the winners
    change.
    """

    family: str
    thresholds: tuple[float, ...]
    rankings: tuple[Ranking, ...]
    changed: float

    @property
    def winners(self) -> tuple[tuple[str, ...], ...]:
        """Rank 1 at each threshold."""
        return tuple(ranking.winners for ranking in self.rankings)


def threshold_stability(cube: ScoreCube, family: str = "bad", **options: Any) -> ThresholdStability:
    """Rank with each threshold of `family` that the cube holds, in ascending order."""
    members = sorted(
        (bound.arguments[0], bound.id)
        for bound in map(metric_of, cube.metrics)
        if bound.metric.id == family and len(bound.arguments) == 1
    )
    if len(members) < 2:
        raise StereogaugeError(
            f"Stability under thresholds needs at least two metrics of the family {family!r}; the selection has "
            f"{', '.join(cube.metrics)}."
        )
    rankings = tuple(rank(cube, "middlebury", metrics=[name], **options) for _, name in members)
    winners = [set(ranking.winners) for ranking in rankings]
    changes = sum(before != after for before, after in itertools.pairwise(winners))
    return ThresholdStability(family, tuple(value for value, _ in members), rankings, changes / (len(members) - 1))
