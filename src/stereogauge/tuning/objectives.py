"""Objectives of a search: an application's weighted score, or a metric itself, over several scenes.

The weighted score is that of `stereogauge rank --model weighted`, lower is better. A metric without a known maximum or
range has the default parameters' worst cost as its unit, so that no unit depends on what a search happened to try.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.metrics.registry import parse_column
from stereogauge.ranking.bootstrap import resample_scenes
from stereogauge.ranking.profile import Profile, checked_weights, load_profile, shipped_profiles
from stereogauge.ranking.ranks import Scale, heuristic_scale
from stereogauge.ranking.weighted_score import shared_weights, term_columns
from stereogauge.scores.column import Column, columns_of, metric_of
from stereogauge.scores.cube import Values
from stereogauge.scores.scope import DRAWS

Direction = Literal["minimize", "maximize"]
Scores = Mapping[str, Sequence[float | None]]
"""For each scene the value of every column; None where there is none."""


def score_matrix(scores: Scores, scenes: Sequence[str], columns: int) -> Values:
    """Scores as (scenes, columns); NaN where there is none."""
    unknown = (None,) * columns
    return np.array([scores.get(scene, unknown) for scene in scenes], np.float64)


class Objective(Struct, frozen=True):
    """What is optimised: weights of metrics, or one metric as it is (`raw`, in its own unit)."""

    name: str
    weights: Mapping[str, float]
    raw: bool = False

    @property
    def direction(self) -> Direction:
        """Whether a larger value is better."""
        only = next(iter(self.weights)).partition(":")[0]
        return "maximize" if self.raw and metric_of(only).metric.direction == "higher" else "minimize"

    @property
    def unit(self) -> str:
        """The unit of the value."""
        return metric_of(next(iter(self.weights)).partition(":")[0]).metric.unit if self.raw else "weighted score"

    @property
    def axis(self) -> str:
        """The label of an axis: name and unit."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


def profile_objective(profile: str | Path | Mapping[str, float] | Profile) -> Objective:
    """The objective of a profile, which is given by its name, its file, its weights or itself."""
    if isinstance(profile, Mapping):
        return Objective("weights", checked_weights(profile, "The weights"))
    found = profile if isinstance(profile, Profile) else load_profile(profile)
    return Objective(found.id, dict(found.weights))


def parse_objective(text: str) -> Objective:
    """The objective that `--objective` names: a metric (`f-por`, `bad@1:nonocc`) or a profile."""
    if text in shipped_profiles() or text.endswith(".toml"):
        return profile_objective(text)
    metric, region = parse_column(text)
    name = metric.id if region is None else f"{metric.id}:{region}"
    return Objective(name, {name: 1.0}, raw=True)


def objective_columns(objectives: Sequence[Objective], regions: Sequence[str]) -> tuple[Column, ...]:
    """Every column with a weight, on the protocol's regions where a metric names none."""
    texts = [name for objective in objectives for name, weight in objective.weights.items() if weight > 0]
    return columns_of(dict.fromkeys(texts), regions)


class _Term(NamedTuple):
    """A weighted metric, the indices of its columns, and the scale that makes its costs comparable."""

    name: str
    weight: float
    columns: NDArray[np.intp]
    scale: Scale


class ObjectiveFunction:
    """An objective on given scenes and columns: scores (scenes, columns) to one number, with the share of every scene.

    `baseline` are the scores of the default parameters: a column that they have no score for says nothing about a
    scene (it has no fine structure, for example) and is left out there. Where only a trial has none, it gets the cost
    of the defaults or one unit, whichever is worse. `maxima` are the usual maxima, of the same shape.
    """

    def __init__(
        self, objective: Objective, columns: Sequence[Column], baseline: Values, maxima: Values | None = None
    ) -> None:
        self.objective = objective
        self._columns = tuple(columns)
        self._maxima = np.full(baseline.shape, np.nan) if maxima is None else maxima
        self._signs = np.array([_sign(column) for column in columns])
        self._baseline = self._costs(baseline)
        self._applies = np.isfinite(self._baseline)
        columns_of_terms = {name: np.array(term_columns(name, self._columns), np.intp) for name in objective.weights}
        scored = {name for name, places in columns_of_terms.items() if self._applies[:, places].any()}
        stated = {name: weight for name, weight in objective.weights.items() if weight > 0}
        self._terms = [
            _Term(name, weight, columns_of_terms[name], self._scale(name, columns_of_terms[name]))
            for name, weight in shared_weights(stated, scored).items()
        ]
        if not self._terms:
            raise StereogaugeError(
                f"None of the metrics of {objective.name!r} ({', '.join(objective.weights)}) has a score for the "
                "default parameters on these scenes; choose another profile or other scenes."
            )
        self._weights = np.array([term.weight for term in self._terms])
        counts = [self._applies[:, term.columns].sum(axis=1) for term in self._terms]
        self._counts = np.stack(counts, axis=1).astype(np.float64)

    def _costs(self, scores: Values) -> Values:
        costs = np.where(self._signs == 0, np.abs(scores), scores * self._signs)
        return np.asarray(costs, np.float64)

    def _scale(self, name: str, columns: NDArray[np.intp]) -> Scale:
        applies, costs = self._applies[:, columns], self._baseline[:, columns]
        known = np.where(applies, self._maxima[:, columns], 1.0)
        return heuristic_scale(name.partition(":")[0], costs[applies], known)

    def cells(self, scores: Values) -> Values:
        """Summed badness of every term on every scene, shape (scenes, terms); NaN where a scene has no scores yet."""
        costs = self._costs(scores)
        result = np.empty(self._counts.shape)
        for index, (_, _, columns, scale) in enumerate(self._terms):
            worst = np.fmax(self._baseline[:, columns], np.where(scale.unit > 0, scale.unit, 1.0) - scale.best)
            filled = np.where(np.isfinite(costs[:, columns]), costs[:, columns], worst)
            badness = filled if self.objective.raw else scale.badness(filled)
            result[:, index] = np.where(self._applies[:, columns], badness, 0.0).sum(axis=1)
        result[np.isnan(scores).all(axis=1) & self._applies.any(axis=1)] = np.nan
        return result

    def costs(self, scores: Values, multiplicity: Values) -> Values:
        """The value as a cost for each row of scene multiplicities (draws, scenes); terms without scenes drop out."""
        cells = np.where((multiplicity.sum(axis=0) > 0)[:, None], self.cells(scores), 0.0)
        counts = multiplicity @ self._counts
        means = (multiplicity @ cells) / np.maximum(counts, 1)
        present = (counts > 0) @ self._weights
        return np.asarray((means @ self._weights) / np.where(present > 0, present, np.nan), np.float64)

    def value(self, scores: Values, scenes: Sequence[int] | None = None) -> float:
        """The optimised number, over all scenes or some."""
        cost = float(self.costs(scores, self._rows(scenes))[0])
        return -cost if self.objective.direction == "maximize" else cost

    def shares(self, scores: Values, scenes: Sequence[int] | None = None) -> Values:
        """What each scene adds to the cost over `scenes`: they sum to it; NaN where a scene has no scores yet."""
        rows = self._rows(scenes)[0]
        counts = rows @ self._counts
        weights = np.where(counts > 0, self._weights, 0.0)
        scale = weights / np.maximum(counts, 1) / weights.sum()
        return np.asarray(np.where(rows > 0, self.cells(scores) @ scale, 0.0), np.float64)

    def scene_values(self, scores: Values) -> Values:
        """The value on each scene alone; NaN where no metric applies."""
        costs = self.costs(scores, np.eye(len(scores)))
        return -costs if self.objective.direction == "maximize" else costs

    @property
    def bounded(self) -> bool:
        """Whether no scene can lower the cost of the others: shares are never negative."""
        return all(_sign(self._columns[index]) >= 0 for term in self._terms for index in term.columns)

    def _rows(self, scenes: Sequence[int] | None) -> Values:
        rows = np.zeros((1, len(self._baseline)))
        rows[0, list(range(len(self._baseline))) if scenes is None else list(scenes)] = 1.0
        return rows

    @property
    def scales(self) -> dict[str, dict[str, float | str]]:
        """For each weighted metric its share of the weight, its largest unit, and where the unit comes from."""
        return {
            term.name: {"weight": term.weight, "unit": float(term.scale.unit.max()), "origin": term.scale.origin}
            for term in self._terms
        }


def _sign(column: Column) -> float:
    return {"lower": 1.0, "higher": -1.0, "zero": 0.0}[column.declared.metric.direction]


LEVEL = 0.95


class Improvement(Struct, frozen=True):
    """The value of an objective (`goal`) with the default and with the tuned parameters.

    `difference` is positive where tuning made it better, whatever the objective's direction; `low` and `high` bound the
    central share `level` of it over draws of scenes (those of one ground truth drawn together), NaN where all scenes
    share one. `percent` is relative to the default. `scene_default` and `scene_tuned` are the values on each scene
    alone: a metric of the objective applies to `compared` of them, and the tuned parameters are `better` on so many.
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
    level: float
    draws: int
    better: int
    compared: int


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
    low = high = math.nan
    if len(groups) > 1:
        drawn = resample_scenes(len(groups), DRAWS, seed)
        multiplicity = np.zeros((DRAWS, len(default)))
        for index, group in enumerate(groups):
            multiplicity[:, list(group)] = drawn[:, [index]]
        differences = function.costs(default, multiplicity) - function.costs(tuned, multiplicity)
        found = differences[np.isfinite(differences)]
        low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    difference = costs[0] - costs[1]
    alone = [function.scene_values(scores) for scores in (default, tuned)]
    return Improvement(
        goal=objective.name,
        unit=objective.unit,
        direction=objective.direction,
        default=sign * costs[0],
        tuned=sign * costs[1],
        difference=difference,
        low=low,
        high=high,
        percent=100.0 * difference / abs(costs[0]) if costs[0] else math.nan,
        scenes=tuple(scenes),
        scene_default=tuple(alone[0].tolist()),
        scene_tuned=tuple(alone[1].tolist()),
        level=LEVEL,
        draws=DRAWS,
        better=int((sign * (alone[0] - alone[1]) > 0).sum()),
        compared=int(np.isfinite(alone[0]).sum()),
    )
