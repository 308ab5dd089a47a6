"""Average ranks: the Middlebury model over one metric, and the extended model over several.

Middlebury: Scharstein and Szeliski, 2002. Extended: several metrics as several experts, and which algorithms perform
alike (Cabezas et al., 2013).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.ranking.costs import Costs
from stereogauge.ranking.model import Model, Outcome
from stereogauge.ranking.ranks import column_ranks, final_ranks
from stereogauge.scores.cube import Values


def average_ranks(costs: Costs, ties: str = "min") -> Outcome:
    """Average over the columns of one metric of the rank in each column.

    value = (1/K) Σₖ rankₖ over the K = scenes × regions columns; `arrays["column_ranks"]` holds the ranks
    (algorithms, K) and `names["columns"]` the names of the columns.
    """
    if len(costs.metrics) > 1:
        raise StereogaugeError(
            f"The Middlebury model takes one metric; the selection has {', '.join(costs.metrics)}: choose one of "
            f"them, or the "
            "model 'extended', which sums the ranks of several."
        )
    ranks = column_ranks(costs.matrix, ties)
    value = ranks.mean(axis=1)
    return Outcome(
        rank=final_ranks(value),
        value=value,
        extra={"first places": (ranks == 1).sum(axis=1).tolist(), "worst column rank": ranks.max(axis=1).tolist()},
        arrays={"column_ranks": ranks},
        axes={"column_ranks": ("algorithms", "columns")},
        names={"columns": costs.labels},
    )


def resampled_average_ranks(costs: Costs, multiplicity: NDArray[np.int64], ties: str = "min") -> Values:
    """Average ranks for many draws of scenes: the ranks within a column do not change when scenes are drawn."""
    per_scene = column_ranks(costs.matrix, ties) @ costs.in_scene
    columns = multiplicity @ costs.in_scene.sum(axis=0)
    return np.asarray((multiplicity @ per_scene.T) / columns[:, None], np.float64)


MIDDLEBURY = Model(
    id="middlebury",
    name="Middlebury",
    definition="Rank the algorithms in each column (scene × region) of one metric, average the ranks, sort by "
    "the average.",
    source="D. Scharstein and R. Szeliski, A taxonomy and evaluation of dense two-frame stereo correspondence "
    "algorithms, "
    "IJCV 47, 2002.",
    value_name="average rank",
    compute=average_ranks,
    resample=resampled_average_ranks,
    options={"ties": "ranks of equal scores: min (competition, the default), average or dense"},
)


def rank_sums(costs: Costs, ties: str = "min", tau: float | None = None) -> Outcome:
    """Sum over the metrics of each one's final Middlebury rank; two algorithms are alike when |sumᵢ − sumⱼ| < τ.

    τ defaults to the number of metrics. Alike is reflexive and symmetric but not transitive, so `arrays["alike"]` is
    the relation itself (algorithms, algorithms) and no groups are formed. `arrays["metric_ranks"]` holds the
    intermediate ranks (algorithms, metrics), named by `names["metrics"]`.
    """
    threshold = float(len(costs.metrics)) if tau is None else float(tau)
    if not 0 < threshold < math.inf:
        raise StereogaugeError(
            f"τ must be a number greater than 0, or no algorithm is alike itself; found {threshold:g}."
        )
    ranks = column_ranks(costs.matrix, ties)
    averages = [ranks[:, costs.metric_places == metric].mean(axis=1) for metric in range(len(costs.metrics))]
    intermediate = np.stack([final_ranks(average) for average in averages], axis=1)
    sums = intermediate.sum(axis=1).astype(np.float64)
    alike = np.abs(sums[:, None] - sums[None, :]) < threshold
    return Outcome(
        rank=final_ranks(sums),
        value=sums,
        extra={
            **{f"rank by {name}": intermediate[:, place].tolist() for place, name in enumerate(costs.metrics)},
            "alike with": [_names(costs.algorithms, row, place) for place, row in enumerate(alike)],
        },
        arrays={"metric_ranks": intermediate, "alike": alike, "tau": np.array(threshold)},
        axes={"metric_ranks": ("algorithms", "metrics"), "alike": ("algorithms", "algorithms"), "tau": ()},
        names={"metrics": costs.metrics},
        notes=(f"Algorithms perform alike where their sums of ranks differ by less than τ = {threshold:g}.",),
    )


def resampled_rank_sums(
    costs: Costs, multiplicity: NDArray[np.int64], ties: str = "min", tau: float | None = None
) -> Values:
    """Rank sums for many draws of scenes; a draw without any column of a metric leaves that metric out."""
    ranks = column_ranks(costs.matrix, ties)
    total = np.zeros((len(multiplicity), len(costs.algorithms)))
    for metric in range(len(costs.metrics)):
        own = costs.metric_places == metric
        columns = multiplicity @ costs.in_scene[own].sum(axis=0)
        sums = multiplicity @ (ranks[:, own] @ costs.in_scene[own]).T
        total += final_ranks(sums / np.maximum(columns, 1)[:, None]) * (columns > 0)[:, None]
    return total


def _names(algorithms: tuple[str, ...], row: NDArray[np.bool_], itself: int) -> str:
    return ", ".join(algorithms[other] for other in np.flatnonzero(row) if other != itself)


EXTENDED = Model(
    id="extended",
    name="Extended Middlebury",
    definition="Apply the Middlebury model to each metric, sum the final ranks, sort by the sum; sums closer than "
    "τ perform alike.",
    source="I. Cabezas, M. Trujillo and M. Florian, An evaluation methodology for stereo correspondence algorithms, "
    "Ingeniería y Competitividad 15(2), 2013.",
    value_name="sum of ranks",
    compute=rank_sums,
    resample=resampled_rank_sums,
    options={
        "ties": "ranks of equal scores within a column: min (competition, the default), average or dense",
        "tau": "two algorithms whose rank sums differ by less than τ perform alike (default: the number of metrics)",
    },
)
