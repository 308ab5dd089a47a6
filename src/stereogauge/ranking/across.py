"""One order from several datasets or benchmarks: average of the ranks on each, and Schulze's method.

A dataset is one vote, however many scenes it has. Schulze's method is the one by which the Robust Vision Challenge
joins leaderboards: M. Schulze, A new monotonic, clone-independent, reversal symmetric, and Condorcet-consistent
single-winner election method, Social Choice and Welfare 36, 2011.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.ranking.model import Ranking
from stereogauge.ranking.ranks import final_ranks
from stereogauge.ranking.run import Scores, as_cube, rank
from stereogauge.scores.cube import Values

if TYPE_CHECKING:
    import pandas as pd


class AcrossDatasets(Struct, frozen=True, eq=False):
    """Algorithms in the order of Schulze's method, then of their average rank.

    `ranks` (algorithms, datasets) holds the rank on each dataset, NaN where an algorithm is not ranked there.
    """

    algorithms: tuple[str, ...]
    datasets: tuple[str, ...]
    ranks: Values
    average: Values
    schulze: NDArray[np.int64]

    def to_pandas(self) -> pd.DataFrame:
        """One row per algorithm: its Schulze rank, its average rank, and its rank on each dataset."""
        import pandas as pd

        parts = {f"rank on {name}": self.ranks[:, place] for place, name in enumerate(self.datasets)}
        return pd.DataFrame({"algorithm": self.algorithms, "rank": self.schulze, "average rank": self.average, **parts})


def rank_across(scores: Scores, model: str = "a-star", **options: Any) -> AcrossDatasets:
    """Rank on each dataset of the scores by one model, and join the orders; options are those of `sg.rank`."""
    cube = as_cube(scores)
    names = tuple(dict.fromkeys(cube.datasets))
    if len(names) < 2:
        raise StereogaugeError(
            f"An order across datasets needs at least two; the scores are of {', '.join(names) or 1}."
        )
    parts = [cube.take(scenes=[k for k, own in enumerate(cube.datasets) if own == name]) for name in names]
    return joined_orders({name: rank(part, model, **options) for name, part in zip(names, parts, strict=True)})


def joined_orders(rankings: dict[str, Ranking]) -> AcrossDatasets:
    """Several orders of the same algorithms as one; an algorithm that an order lacks has no vote in it."""
    algorithms = tuple(dict.fromkeys(name for ranking in rankings.values() for name in ranking.algorithms))
    ranks = np.full((len(algorithms), len(rankings)), np.nan)
    for column, ranking in enumerate(rankings.values()):
        own = dict(zip(ranking.algorithms, ranking.rank.tolist(), strict=True))
        ranks[:, column] = [own.get(name, np.nan) for name in algorithms]
    average = np.nanmean(ranks, axis=1)
    places = schulze(ranks)
    order = np.lexsort((np.arange(len(algorithms)), average, places))
    return AcrossDatasets(
        tuple(algorithms[k] for k in order), tuple(rankings), ranks[order], average[order], places[order]
    )


def schulze(ranks: Values) -> NDArray[np.int64]:
    """Ranks by Schulze's method from ranks (algorithms, votes); NaN takes no part in a vote.

    d[a, b] counts the votes that prefer a to b; a path is as strong as its weakest preference, and a is before b
    when its strongest path to b is stronger than b's to a. The rank counts how many are before.

    >>> schulze(np.array([[1.0, 2, 1], [2, 1, 2], [3, 3, 3]])).tolist()
    [1, 2, 3]
    """
    with np.errstate(invalid="ignore"):
        prefers = (ranks[:, None] < ranks[None, :]).sum(axis=2)
    paths = np.where(prefers > prefers.T, prefers, 0)
    for middle in range(len(paths)):
        np.maximum(paths, np.minimum(paths[:, middle : middle + 1], paths[middle : middle + 1]), out=paths)
    before = (paths < paths.T).sum(axis=1)
    return final_ranks(before.astype(np.float64))
