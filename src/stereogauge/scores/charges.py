"""What missing pixels cost where orders are made, so that no algorithm gains by leaving pixels out.

A score that leaves missing estimates out says nothing about them. Before scores are compared, each missing pixel is
charged the most that any estimate inside the range of the scene's ground truth could have cost there
(`Metric.charge`): value = finalize(sum + missing·r, count + missing). A deleted estimate cost no more than r, so the
score with it deleted is not better, whatever share is deleted. The charge depends on the scene and the metric only.

A quantile is measured with its missing pixels charged where it is measured (`Metric.keeps_charged`). Other metrics that
do not pool are charged in proportion, (1 − m)·value + m·r for a missing share m, and still need their coverage. So do
scores on scenes of unknown range, where r is the maximum by which the metric is normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stereogauge.metrics.costs import mean, percent, root_mean
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.facts import SceneFacts
from stereogauge.scores.maxima import usual_maximum

QUICK: Mapping[Callable[[float, int], float], Callable[[Values], Values]] = {
    mean: np.asarray,
    percent: lambda means: 100 * means,
    root_mean: np.sqrt,
}
"""The usual reducers, of means of many scores at once."""


def charged(cube: ScoreCube) -> ScoreCube:
    """The scores with their missing pixels charged; those that cannot be charged keep them as missing.

    >>> truth = np.array([[2.0, 4.0, 10.0, 10.0]])
    >>> maps = {"whole": truth + [[0, 0, 0, -4]], "cut": truth + [[0, 0, 0, np.nan]]}
    >>> scores = sg.evaluate(maps, sg.Scene("s", gt=truth), ["mae"], ["all"])
    >>> charged(scores.cube).values.ravel().tolist()
    [1.0, 2.0]
    """
    if cube.sums is None or cube.counts is None or cube.missing is None or not cube.missing.any():
        return cube
    values, sums, counts, missing = (part.copy() for part in (cube.values, cube.sums, cube.counts, cube.missing))
    facts = cube.facts or (SceneFacts(),) * len(cube.scenes)
    ranged = np.isfinite([one.span for one in facts])
    for place, column in enumerate(cube.columns):
        metric = column.declared.metric
        lost = cube.missing[:, :, place]
        if not lost.any() or metric.counts != "pixels" or not metric.left_out(cube.invalid):
            continue
        exact = np.array([metric.charge(one, *column.declared.arguments) for one in facts])
        most = np.array([usual_maximum(column, one) for one in facts])
        counting = metric.counts_missing(cube.invalid)
        size = cube.counts[:, :, place] + (0.0 if counting else lost)
        share = np.divide(lost, size, out=np.zeros_like(lost), where=size > 0)
        total = cube.sums[:, :, place]
        total = (np.abs(total) if metric.direction == "zero" else total) + lost * exact
        old = cube.values[:, :, place]
        kept = (1 - share) * np.where(share == 1, 0.0, old)
        new = kept + share * exact if metric.finalize is None else _finalized(metric.finalize, total, size)
        new = np.where(np.isnan(exact), kept + share * np.maximum(np.where(share == 1, most, old), most), new)
        kept_charged = metric.keeps_charged & ranged & (share < 1) & np.isfinite(cube.sums[:, :, place])
        new = np.where(kept_charged, cube.sums[:, :, place], new)
        here: NDArray[np.bool_] = (lost > 0) & np.isfinite(new)
        values[:, :, place] = np.where(here, new, old)
        sure = here & (np.isfinite(exact) if metric.pools else kept_charged)
        total = total if metric.pools else new
        for array, changed in ((sums, total), (counts, size), (missing, np.zeros_like(lost))):
            array[:, :, place] = np.where(sure, changed, array[:, :, place])
    return replace(cube, values=values, sums=sums, counts=counts, missing=missing)


def _finalized(finalize: Callable[[float, int], float], total: Values, size: Values) -> Values:
    """The values of sums and counts; NaN where a charge is not known or nothing is counted."""
    means = np.divide(total, size, out=np.full(total.shape, np.nan), where=size > 0)
    if finalize in QUICK:
        return np.asarray(QUICK[finalize](means), np.float64)
    found = np.full(total.shape, np.nan)
    for place in zip(*np.nonzero(np.isfinite(means)), strict=True):
        found[place] = finalize(float(total[place]), int(size[place]))
    return found
