"""Early end of losing trials: the order of scenes, cheap or informative ones first, and the test that ends a trial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, wilcoxon

from stereogauge.scores.cube import Values

ENOUGH_TRIALS = 8
"""Complete trials that it takes to know which scenes are informative."""
FEWEST_SCENES = 4
"""Scenes that it takes for a significant difference from the best trial."""
SIGNIFICANT = 0.1


def scene_order(work: Values, history: Values) -> tuple[int, ...]:
    """Scenes in the order in which a trial visits them.

    `work` is pixels × disparities of each scene, `history` (trials, scenes) the share of each scene in the cost of the
    complete trials. At first the cheapest come first; later those whose share correlates best with the whole cost
    (Spearman's ρ), relative to their work.
    """
    if len(history) < ENOUGH_TRIALS:
        return tuple(int(index) for index in np.argsort(work, kind="stable"))
    ranks = rankdata(np.column_stack([history, history.sum(axis=1)]), axis=0)
    centred = ranks - ranks.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=0))
    agreement = (centred[:, :-1] * centred[:, -1:]).sum(axis=0) / np.maximum(spread[:-1] * spread[-1], 1e-12)
    informative = np.maximum(agreement, 0.0) / work
    return tuple(int(index) for index in np.argsort(-informative, kind="stable"))


@dataclass(frozen=True)
class Race:
    """The best complete trial when a new one started: its cost on each scene.

    `bounded`: no scene lowers a cost, so that a trial whose sum exceeds the whole cost of the best has lost.
    """

    best: Values
    bounded: bool

    def is_lost(self, shares: Values) -> bool:
        """Whether a trial with these shares (NaN = scene not visited) need not go on.

        Either its sum exceeds the best trial's already, or on the visited scenes it is worse by Wilcoxon's signed-rank
        test (one-sided, p < 0.1, at least four scenes).
        """
        done = np.isfinite(shares)
        if done.all() or not done.any():
            return False
        if self.bounded and shares[done].sum() > self.best.sum():
            return True
        worse = (shares - self.best)[done]
        if len(worse) < FEWEST_SCENES or worse.sum() <= 0:
            return False
        return bool(wilcoxon(worse, alternative="greater", zero_method="zsplit").pvalue < SIGNIFICANT)
