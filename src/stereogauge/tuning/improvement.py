"""How much better tuned parameters are than the defaults, and how certain that is: bootstrap over scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stereogauge.ranking.bootstrap import resample_scenes
from stereogauge.scores.cube import Values
from stereogauge.tuning.objectives import Direction, ObjectiveFunction

DRAWS, LEVEL = 2000, 0.95


@dataclass(frozen=True)
class Improvement:
    """The value of an objective (`goal`) with the default and with the tuned parameters.

    `difference` is positive where tuning made it better, whatever the objective's direction; `low` and `high` bound the
    central share `level` of it over draws of scenes (those of one ground truth drawn together), NaN where all scenes
    share one. `percent` is relative to the default. `scene_default` and `scene_tuned` are the values on each scene
    alone.
    """

    goal: str
    unit: str
    direction: Direction
    default: float
    tuned: float
    difference: float
    low: float
    high: float
    percent: float
    scenes: tuple[str, ...]
    scene_default: tuple[float, ...]
    scene_tuned: tuple[float, ...]
    level: float = LEVEL
    draws: int = DRAWS

    @property
    def better(self) -> int:
        """On how many of the compared scenes the tuned parameters are better."""
        sign = -1 if self.direction == "maximize" else 1
        return sum(sign * (d - t) > 0 for d, t in zip(self.scene_default, self.scene_tuned, strict=True))

    @property
    def compared(self) -> int:
        """Scenes on which a metric of the objective applies."""
        return int(np.isfinite(self.scene_default).sum())


def improvement(
    function: ObjectiveFunction,
    default: Values,
    tuned: Values,
    scenes: Sequence[str],
    groups: Sequence[Sequence[int]],
    seed: int,
) -> Improvement:
    """Compare two sets of scores (scenes, columns) under an objective."""
    objective = function.objective
    sign = -1.0 if objective.direction == "maximize" else 1.0
    whole = np.ones((1, len(default)))
    costs = [float(function.costs(scores, whole)[0]) for scores in (default, tuned)]
    low, high = _interval(function, default, tuned, groups, seed)
    difference = costs[0] - costs[1]
    return Improvement(
        goal=objective.name,
        unit=objective.unit,
        direction=objective.direction,
        default=sign * costs[0],
        tuned=sign * costs[1],
        difference=difference,
        low=low,
        high=high,
        percent=100.0 * difference / abs(costs[0]) if costs[0] else float("nan"),
        scenes=tuple(scenes),
        scene_default=tuple(function.scene_values(default).tolist()),
        scene_tuned=tuple(function.scene_values(tuned).tolist()),
    )


def _interval(
    function: ObjectiveFunction, default: Values, tuned: Values, groups: Sequence[Sequence[int]], seed: int
) -> tuple[float, float]:
    count = len(groups)
    if count < 2:
        return float("nan"), float("nan")
    drawn = resample_scenes(count, DRAWS, seed)
    multiplicity = np.zeros((DRAWS, len(default)))
    for index, group in enumerate(groups):
        multiplicity[:, list(group)] = drawn[:, [index]]
    differences = function.costs(default, multiplicity) - function.costs(tuned, multiplicity)
    found = differences[np.isfinite(differences)]
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
