"""The Middlebury model: average rank over the columns of one metric (Scharstein and Szeliski, 2002)."""

from __future__ import annotations

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
    per_scene = costs.scene_sums(column_ranks(costs.matrix, ties))
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
