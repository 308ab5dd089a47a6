"""How many erroneous pixels a set of regions counts more than once (Cabezas et al., 2013, table 1).

Middlebury's disc ⊂ nonocc ⊂ all are nested: an error near a discontinuity is counted three times. Boundary, interior
and occluded are a partition: none is counted twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.metrics.pooling import percent
from stereogauge.scores.column import metric_of
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.selection import Dropped, Selection

NESTED = ("disc", "nonocc", "all")
PARTITION = ("boundary", "interior", "occluded")
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DoubleCounting:
    """Erroneous pixels of each algorithm by region, shape (algorithms, regions), summed over the scenes.

    `distinct` counts each erroneous pixel once; `counted` is the sum over the regions; `repeated` the pixels that
    stand in more than one region.
    """

    algorithms: tuple[str, ...]
    regions: tuple[str, ...]
    errors: Counts
    distinct: Counts
    repeated: Counts
    selection: Selection | None = None

    @property
    def counted(self) -> Counts:
        """Sum over the regions: what a total score is made of."""
        return np.asarray(self.errors.sum(axis=1), np.int64)

    @property
    def repeated_share(self) -> NDArray[np.float64]:
        """Percentage of the erroneous pixels that are counted more than once; NaN without any error."""
        shares = np.full(len(self.algorithms), np.nan)
        np.divide(100.0 * self.repeated, self.distinct, out=shares, where=self.distinct > 0)
        return shares

    def to_pandas(self) -> pd.DataFrame:
        """One row per algorithm: errors by region, counted, distinct, repeated and its share in per cent."""
        by_region = {f"errors {name}": self.errors[:, index] for index, name in enumerate(self.regions)}
        totals = {
            "counted": self.counted,
            "distinct": self.distinct,
            "repeated": self.repeated,
            "repeated %": self.repeated_share,
        }
        return pd.DataFrame({"algorithm": self.algorithms, **by_region, **totals})


def nested(algorithms: Sequence[str], regions: Sequence[str], errors: Counts) -> DoubleCounting:
    """Regions that contain each other, smallest first: the last holds each error once, the one before what repeats."""
    if np.any(np.diff(errors, axis=1) < 0):
        raise StereogaugeError(
            f"{' ⊂ '.join(regions)} is not a chain: a smaller region has more errors than a larger one; state the "
            "regions from the smallest to the largest."
        )
    second = errors[:, -2] if errors.shape[1] > 1 else np.zeros(len(errors), np.int64)
    return DoubleCounting(tuple(algorithms), tuple(regions), errors, errors[:, -1], second)


def partition(algorithms: Sequence[str], regions: Sequence[str], errors: Counts, total: Counts) -> DoubleCounting:
    """Regions that should not overlap, checked against the errors of their union."""
    counted = errors.sum(axis=1)
    for name, added, whole in zip(algorithms, counted, total, strict=True):
        if added != whole:
            raise StereogaugeError(
                f"{', '.join(regions)} are no partition for {name}: their errors add up to {added}, the union has "
                f"{whole}."
            )
    return DoubleCounting(tuple(algorithms), tuple(regions), errors, total, np.zeros(len(errors), np.int64))


def error_counts(cube: ScoreCube, metric: str, regions: Sequence[str]) -> Counts:
    """Erroneous pixels (algorithms, regions), summed over the scenes, from the sums that a bad-pixel metric keeps."""
    declared = metric_of(metric).metric
    if declared.finalize is not percent or declared.direction != "lower":
        raise StereogaugeError(
            f"{metric} does not count erroneous pixels; choose a metric that does, for example bad@1."
        )
    if cube.sums is None:
        raise StereogaugeError(
            "These scores came without their sums, so errors cannot be counted; evaluate them again."
        )
    columns = [cube.column(f"{metric}:{name}") for name in regions]
    values = cube.values[:, :, columns]
    if np.isnan(values).any():
        row = int(np.argwhere(np.isnan(values))[0][0])
        raise StereogaugeError(
            f"{cube.algorithms[row]} has no score of {metric} on some of {', '.join(regions)}; select algorithms "
            f"and scenes without gaps."
        )
    return np.asarray(np.rint(cube.sums[:, :, columns].sum(axis=1)), np.int64)


def double_counting(
    cube: ScoreCube, metric: str = "bad@1", chain: Sequence[str] = NESTED, parts: Sequence[str] = PARTITION
) -> tuple[DoubleCounting, DoubleCounting]:
    """Nested regions and partition side by side, over the scenes of the cube; the chain ends with their union.

    Errors are counted on what is common: an algorithm that lacks more than half of the scores is left out, then the
    scenes that another one lacks; `selection` says so.
    """
    needed = [*dict.fromkeys([*chain, *parts])]
    lacking = [name for name in needed if name not in cube.regions]
    if lacking:
        raise StereogaugeError(
            f"Double counting compares {', '.join(chain)} with {', '.join(parts)}; these scores have no "
            f"{', '.join(lacking)}: evaluate with --regions {','.join(needed)}."
        )
    both = cube.select(metrics=[metric], regions=needed).limited(least_coverage=0.0, least_support=0.0)
    gap = np.isnan(both.values)
    rows = np.flatnonzero(gap.reshape(len(gap), -1).mean(axis=1) <= 0.5)
    scenes = np.flatnonzero(~gap[rows].any(axis=(0, 2)))
    if not len(rows) or not len(scenes):
        raise StereogaugeError(f"No scene has scores of {metric} on {', '.join(needed)} for the algorithms selected.")
    dropped = [Dropped("algorithm", name, "lacks most scores") for name in np.delete(both.algorithms, rows)]
    dropped += [Dropped("scene", name, "not every algorithm has a score") for name in np.delete(both.scenes, scenes)]
    both = both.take(algorithms=rows.tolist(), scenes=scenes.tolist())
    selection = Selection.of(both, dropped=tuple(dropped))
    chained = nested(both.algorithms, chain, error_counts(both, metric, chain))
    parted = partition(both.algorithms, parts, error_counts(both, metric, parts), chained.distinct)
    return replace(chained, selection=selection), replace(parted, selection=selection)
