"""Which metric reacts to which damage: responses at reference strengths, made comparable in two steps.

1. Each metric in units of its own largest response (`scaled`): a metric in degrees and one in pixels become comparable.
2. Each damage in units of its total effect, the root of the sum of squares over the metrics (`selective`): no damage
dominates by being stronger.

A metric is well named when, after both steps, it reacts most to the damage that it is named after.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.model import Scene
from stereogauge.study.damage import damage_called, damages
from stereogauge.study.run import GEOMETRY_METRICS, Study, label, run_study
from stereogauge.text import json_value

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Sensitivity:
    """Responses (metrics × damages) in the metrics' own units; NaN where a metric had no value."""

    metrics: tuple[str, ...]
    damages: tuple[str, ...]
    responses: Matrix

    @property
    def scaled(self) -> Matrix:
        """Each row divided by its largest response; improvements count as 0, rows without any response stay 0."""
        worse = np.maximum(self.responses, 0.0)
        largest = np.nanmax(np.where(np.isfinite(worse), worse, 0.0), axis=1, keepdims=True)
        return worse / np.where(largest > 0, largest, 1.0)

    @property
    def selective(self) -> Matrix:
        """`scaled`, each column divided by the root of its sum of squares."""
        scaled = np.nan_to_num(self.scaled)
        total = np.sqrt((scaled**2).sum(axis=0, keepdims=True))
        return scaled / np.where(total > 0, total, 1.0)

    def strongest(self) -> dict[str, str]:
        """For each metric, the damage that it reacts to most after both steps."""
        return {m: self.damages[int(np.argmax(row))] for m, row in zip(self.metrics, self.selective, strict=True)}

    def namesakes(self) -> dict[str, bool]:
        """For each metric that a damage here is named after and that has a value: does it react most to that one?"""
        named_after = {damage_called(d).metric: d for d in self.damages if damage_called(d).metric in self.metrics}
        strongest = self.strongest()
        valued = [bool(np.isfinite(row).any()) for row in self.responses]
        return {
            metric: strongest[metric] == named_after[metric]
            for metric, has_value in zip(self.metrics, valued, strict=True)
            if has_value and metric in named_after
        }

    def named(self) -> Sensitivity | None:
        """The square part: metrics that a damage here is named after, and those damages; None where there is none."""
        named_after = {damage_called(damage).metric: column for column, damage in enumerate(self.damages)}
        rows = [row for row, metric in enumerate(self.metrics) if metric in named_after and metric]
        if not rows:
            return None
        columns = [named_after[self.metrics[row]] for row in rows]
        metrics, damages_ = (
            tuple(names[i] for i in indices) for names, indices in ((self.metrics, rows), (self.damages, columns))
        )
        return Sensitivity(metrics, damages_, self.responses[np.ix_(rows, columns)])

    def margin(self, metric: str) -> float:
        """How far the response to the strongest damage leads the second one, as a share of it."""
        row = np.sort(self.selective[self.metrics.index(metric)])[::-1]
        return float(1.0 - row[1] / row[0]) if row.size > 1 and row[0] > 0 else 0.0

    def to_json(self) -> str:
        """One document with all three matrices; NaN is null."""
        document = {
            "metrics": self.metrics,
            "damages": self.damages,
            "responses": self.responses,
            "scaled": self.scaled,
            "selective": self.selective,
            "strongest": self.strongest(),
        }
        return json.dumps(json_value(document), indent=1, allow_nan=False)


def sensitivity_of(study: Study) -> Sensitivity:
    """The matrix of a study that holds one strength per damage, or the reference strengths where it holds them."""
    found = np.full((len(study.metrics), len(study.damages)), np.nan)
    for response in study.responses:
        row, column = study.metrics.index(label(response)), study.damages.index(response.damage)
        if np.isnan(found[row, column]) or response.strength == damage_called(response.damage).reference:
            found[row, column] = response.response
    return Sensitivity(study.metrics, study.damages, found)


def named_damages() -> tuple[str, ...]:
    """The damages that geometry metrics are named after, in the order of those metrics."""
    named = {d.metric: d.id for d in damages().values() if d.metric}
    return tuple(named[metric] for metric in GEOMETRY_METRICS if metric in named)


def run_sensitivity(
    scene: Scene,
    metrics: Sequence[str] = GEOMETRY_METRICS,
    *,
    damage_ids: Sequence[str] | None = None,
    **options: Any,
) -> Sensitivity:
    """Every metric on every damage at its reference strength; the nine named damages unless others are given.

    `options` are the regions, protocol, seed and progress of `run_study`.
    """
    chosen = named_damages() if damage_ids is None else tuple(damage_ids)
    strengths = {name: (damage_called(name).reference,) for name in chosen}
    return sensitivity_of(run_study(scene, metrics, damage_ids=chosen, strengths=strengths, **options))
