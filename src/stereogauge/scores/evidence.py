"""Which scores are evidence: enough of their pixels estimated, and enough pixels to begin with.

A score that says nothing about missing estimates (`missing = "left out"`) needs coverage, or an algorithm would climb
by leaving pixels out. A set of six pixels is no evidence for anybody. What fails is a gap with its reason where orders
are made; tables still show the number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereogauge.scores.cube import ScoreCube, Values


@dataclass(frozen=True, eq=False)
class Evidence:
    """What may enter an order: `values` with NaN for gaps, and masks of the scores that were taken out.

    `sparse` marks scores whose coverage is below the limit, `small` those whose set has too few pixels. All have shape
    (algorithms, scenes, columns).
    """

    cube: ScoreCube
    values: Values
    sparse: NDArray[np.bool_]
    small: NDArray[np.bool_]

    def reason(self, algorithm: int, scene: int, column: int) -> str:
        """Why a score is a gap: "covers 65 %", "only 6 pixels", or "no score"."""
        if self.sparse[algorithm, scene, column]:
            return f"covers {100 * self.cube.coverage[algorithm, scene, column]:.0f} %"
        if self.small[algorithm, scene, column]:
            what = self.cube.columns[column].declared.metric.counts
            return f"only {self.cube.support[algorithm, scene, column]:.0f} {what}"
        return "no score"


def evidence(cube: ScoreCube) -> Evidence:
    """The scores that may enter an order, by the limits of the cube.

    `least_coverage` is the share of its pixels that a left-out score must cover. `least_support` is the number of
    pixels that a set must have; None takes the rule of `Metric.least_support` for the size of each scene, 0
    takes any.
    Scores whose pixels were not kept are taken as they are.
    """
    sparse = np.zeros(cube.values.shape, bool)
    small = np.zeros(cube.values.shape, bool)
    if cube.counts is None or cube.missing is None:
        return Evidence(cube, cube.values, sparse, small)
    known = ~np.isnan(cube.values)
    sizes = np.nan_to_num(cube.sizes or [0.0] * len(cube.scenes))  # the least limit where a size is unknown
    stated = cube.least_support
    for place, column in enumerate(cube.columns):
        metric = column.declared.metric
        if metric.left_out(cube.invalid):
            sparse[:, :, place] = known[:, :, place] & (cube.coverage[:, :, place] < cube.least_coverage)
        limits = np.array([metric.least_support(size) if stated is None else stated for size in sizes])
        support = cube.support[:, :, place]
        small[:, :, place] = known[:, :, place] & (support > 0) & (support < limits)
    return Evidence(cube, np.where(sparse | small, np.nan, cube.values), sparse, small)
