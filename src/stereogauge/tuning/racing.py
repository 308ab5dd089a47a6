"""Which scene a trial runs on next, and when it has lost: cheap or telling scenes first, so that bad ones end early."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, wilcoxon

from stereogauge.scores.cube import Values

ENOUGH_TRIALS = 8
"""Complete trials from which on it is known which scenes tell."""
FEWEST_SCENES = 4
"""Scenes before a comparison with the best trial can be significant."""
SIGNIFICANT = 0.1


def scene_order(work: Values, history: Values) -> tuple[int, ...]:
    """Scenes in the order in which a trial visits them.

    `work` is pixels × disparities of each scene, `history` (trials, scenes) what the scenes added to the cost of the
    complete trials. At first the cheapest come first; later those whose part follows the whole most closely
    (Spearman's ρ) for their work.
    """
    if len(history) < ENOUGH_TRIALS:
        return tuple(int(place) for place in np.argsort(work, kind="stable"))
    ranks = rankdata(np.column_stack([history, history.sum(axis=1)]), axis=0)
    centred = ranks - ranks.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=0))
    agreement = (centred[:, :-1] * centred[:, -1:]).sum(axis=0) / np.maximum(spread[:-1] * spread[-1], 1e-12)
    telling = np.maximum(agreement, 0.0) / work
    return tuple(int(place) for place in np.argsort(-telling, kind="stable"))


@dataclass(frozen=True)
class Race:
    """The best complete trial when a new one started: what it cost on each scene.

    `bounded`: no scene lowers a cost, so that a sum which exceeds the whole of the best has lost for certain.
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
