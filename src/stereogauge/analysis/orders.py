"""Whether two metrics, regions or models put the algorithms in the same order: Kendall's τ-b and Spearman's ρ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, spearmanr

from stereogauge.errors import StereogaugeError
from stereogauge.ranking.model import models
from stereogauge.ranking.result import Ranking
from stereogauge.ranking.run import rank
from stereogauge.scores.cube import ScoreCube, Values


@dataclass(frozen=True, eq=False)
class OrderAgreement:
    """Agreement of orders over the algorithms that all of them rank: 1 the same, 0 unrelated, −1 reversed.

    NaN where an order ties everybody. `ranks` has shape (algorithms, orders).
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
    count = len(rankings)
    kendall, spearman = np.full((count, count), np.nan), np.full((count, count), np.nan)
    varies = [np.ptp(ranks[:, order]) > 0 for order in range(count)] if len(common) > 1 else [False] * count
    for first in range(count):
        for second in range(count):
            if varies[first] and varies[second]:
                kendall[first, second] = kendalltau(ranks[:, first], ranks[:, second], variant="b").statistic
                spearman[first, second] = spearmanr(ranks[:, first], ranks[:, second]).statistic
    return OrderAgreement(tuple(orders), tuple(common), ranks, kendall, spearman)


def by_metric(cube: ScoreCube, model: str = "middlebury", **options: Any) -> dict[str, Ranking]:
    """One order for each metric."""
    return {metric: rank(cube, model, metrics=[metric], **options) for metric in cube.metrics}


def by_region(cube: ScoreCube, metric: str, model: str = "middlebury", **options: Any) -> dict[str, Ranking]:
    """One order for each region of one metric."""
    regions = cube.select(metrics=[metric]).regions
    return {region: rank(cube, model, metrics=[f"{metric}:{region}"], **options) for region in regions}


def by_model(cube: ScoreCube, names: Sequence[str] | None = None, *, missing: str = "common") -> dict[str, Ranking]:
    """One order for each model, leaving out the Middlebury model where several metrics are selected."""
    chosen = names or [name for name in models() if name != "middlebury" or len(cube.metrics) == 1]
    return {name: rank(cube, name, missing=missing) for name in chosen}
