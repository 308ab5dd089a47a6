"""How sure an order is: what it would have been on other scenes of the same kind (bootstrap over scenes)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.ranking.costs import prepare
from stereogauge.ranking.model import model_declaration
from stereogauge.ranking.ranks import DIGITS, final_ranks
from stereogauge.ranking.run import Scores, selected
from stereogauge.scores.cube import Values
from stereogauge.scores.scope import DRAWS
from stereogauge.scores.selection import Selection, missing_pixels_rule, missing_rule

if TYPE_CHECKING:
    import pandas as pd

CONCENTRATION = 30.0
"""Of the Dirichlet distribution around stated weights: a weight of 20 % moves by 7 percentage points."""
LEVEL = 0.95


def generator(seed: int | np.random.Generator) -> np.random.Generator:
    """The random numbers of a seed."""
    if not isinstance(seed, np.random.Generator) and seed < 0:
        raise StereogaugeError(f"A seed is a whole number of at least 0; found {seed}.")
    return np.random.default_rng(seed)


def resample_scenes(
    count: int, draws: int, seed: int | np.random.Generator = 0, size: int | None = None
) -> NDArray[np.int64]:
    """How often each of `count` scenes is drawn in each draw of `size` scenes with replacement; (draws, count).

    `size` is by default the number of scenes.

    >>> resample_scenes(3, 4).sum(axis=1).tolist()
    [3, 3, 3, 3]
    """
    drawn = generator(seed).multinomial(size or count, np.full(count, 1 / count), size=draws)
    return np.asarray(drawn, np.int64)


def redrawn_means(values: Values, draws: int, seed: int = 0, tail: float = (1 + LEVEL) / 2) -> Values:
    """Means over randomly weighed scenes, shape (draws, rows), of values of shape (rows, scenes): a Bayesian bootstrap.

    The weights are Dirichlet(1, …, 1); D. B. Rubin, The Bayesian bootstrap, Annals of Statistics 9, 1981. Deviations
    from the mean are widened by √((n + 1)/(n − 1)) · t/z, with the quantiles of Student's and of the normal
    distribution at `tail`, the one that is read from the draws: without it draws of few scenes vary less than a mean of
    n scenes does.
    """
    from scipy.special import ndtri, stdtrit  # quick to import, unlike scipy.stats

    count = values.shape[1]
    mean = values.mean(axis=1)
    wider = np.sqrt((count + 1) / (count - 1)) * stdtrit(count - 1, tail) / ndtri(tail)
    drawn = generator(seed).dirichlet(np.ones(count), size=draws) @ values.T
    return np.asarray(mean + wider * (drawn - mean), np.float64)


def perturb_weights(weights: Values, draws: int, seed: int = 0, concentration: float = CONCENTRATION) -> Values:
    """Weights around those given, shape (draws, weights): Dirichlet with mean w and parameter c·w.

    The larger the concentration c, the closer the draws stay: the standard deviation of a weight w is √(w (1 − w) /
    (c + 1)).
    """
    return generator(seed).dirichlet(concentration * weights, size=draws)


def tails(level: float = LEVEL) -> tuple[float, float]:
    """The shares below the two ends of the central share `level`."""
    return (1 - level) / 2, (1 + level) / 2


def rank_interval(ranks: NDArray[np.int64], level: float = LEVEL) -> NDArray[np.int64]:
    """The ranks that bound the central share `level` of the draws, shape (2, algorithms)."""
    return np.asarray(np.quantile(ranks, tails(level), axis=0, method="inverted_cdf"), np.int64)


class Bootstrap(Struct, frozen=True, eq=False):
    """Intervals of ranks and of the figures behind them, in the order of the ranking on all scenes.

    `value` is the figure that decides the order (for a model of classes, the class) on all scenes, `value_low` and
    `value_high` bound its central share `level` over the draws; ranks likewise. `first` is the share of draws in
    which an algorithm has rank 1. `beats[a, b]` is the share in which a's figure is better than b's, ties counting
    half.
    """

    model: str
    value_name: str
    selection: Selection
    algorithms: tuple[str, ...]
    level: float
    draws: int
    seed: int
    value: Values
    value_low: Values
    value_high: Values
    rank: NDArray[np.int64]
    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    first: Values
    beats: Values

    def to_pandas(self) -> pd.DataFrame:
        """One row per algorithm: rank and value with their intervals, and the share of first places."""
        import pandas as pd

        parts = ("rank", "rank_low", "rank_high", "value", "value_low", "value_high", "first")
        columns = {name.replace("_", " "): getattr(self, name) for name in parts}
        return pd.DataFrame({"algorithm": self.algorithms, **columns})


def bootstrap(
    scores: Scores,
    model: str = "middlebury",
    metrics: Iterable[str] | None = None,
    *,
    missing: str = "common",
    missing_pixels: str = "charged",
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = 0,
    **options: Any,
) -> Bootstrap:
    """Draw as many scenes as there are, with replacement, `draws` times, and rank again on each draw.

    Weighted scores are drawn as an answer draws them, by random weights of the scenes: see `redrawn_means`.

    Says nothing about metrics or regions that were not selected, and little on very few scenes: four scenes have 35
    different draws. One scene has a single draw and is refused.
    """
    if not 0 < level < 1:
        raise StereogaugeError(f"The level of an interval lies between 0 and 1, for example 0.95; found {level:g}.")
    if draws < 1:
        raise StereogaugeError(f"A bootstrap needs at least one draw; found {draws}.")
    declared = model_declaration(model)
    read, options = declared.read(selected(scores, metrics), options)
    costs, selection = prepare(read, missing_rule(missing), missing_pixels_rule(missing_pixels))
    if costs.units < 2:
        raise StereogaugeError(
            "A bootstrap draws scenes and needs at least two independent ones; the selection has "
            f"{', '.join(costs.scenes)}."
        )
    if declared.redraw is not None:
        whole = declared.compute(costs, **options).value
        figures = declared.redraw(costs, draws, seed, level, **options)
    else:
        whole = declared.draw(costs, np.ones((1, len(costs.scenes)), np.int64), **options)[0]
        multiplicity = resample_scenes(costs.units, draws, seed)[:, costs.unit_of]
        figures = np.round(declared.draw(costs, multiplicity, **options), DIGITS)
    ranks = final_ranks(figures, classes=declared.classes)
    order = np.lexsort((np.arange(len(whole)), whole))
    rank_low, rank_high = rank_interval(ranks, level)
    value_low, value_high = np.quantile(figures, tails(level), axis=0)
    value_low = np.maximum(value_low, min(0.0, float(whole.min())))  # widened draws may go below what a score can be
    return Bootstrap(
        model=model,
        value_name="group" if declared.classes else declared.value_name,
        selection=selection,
        algorithms=tuple(costs.algorithms[place] for place in order),
        level=level,
        draws=draws,
        seed=seed,
        value=whole[order],
        value_low=value_low[order],
        value_high=value_high[order],
        rank=final_ranks(whole, classes=declared.classes)[order],
        rank_low=rank_low[order],
        rank_high=rank_high[order],
        first=np.asarray((ranks == 1).mean(axis=0)[order], np.float64),
        beats=np.stack([beats(figures[:, order], place) for place in range(len(order))]),
    )


def beats(figures: Values, place: int) -> Values:
    """Share of the draws in which one algorithm's figure is below each other's, ties counting half.

    `figures` has shape (draws, algorithms), and `place` is that of the one algorithm.
    """
    own = figures[:, [place]]
    return np.asarray((own < figures).mean(axis=0) + 0.5 * (own == figures).mean(axis=0), np.float64)
