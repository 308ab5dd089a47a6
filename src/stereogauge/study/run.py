"""A study: every metric on every damage at every strength, as a table of responses, and which reacts to which.

Responses at reference strengths are made comparable in two steps:

1. Each metric in units of its own largest response (`scaled`): a metric in degrees and one in pixels become comparable.
2. Each damage in units of its total effect, the root of the sum of squares over the metrics (`selective`): no damage
dominates by being stronger.

A metric is well named when, after both steps, it reacts most to the damage that it is named after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import asdict
from numpy.typing import NDArray

from stereogauge.evaluation.evaluate import SceneEstimate, evaluate_cell
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.registry import parse_metric
from stereogauge.model import DisparityMap, Scene
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.scores.column import Column, columns_of
from stereogauge.study.damage import Damage, GradedDamage, damage_called, damages, ground_truth_of
from stereogauge.text import WrittenAsCsv, WrittenAsJson, json_values

GEOMETRY_METRICS = ("d-fat", "d-thin", "d-fuz-rel", "p-bump", "p-off", "p-mis", "f-por", "f-frag", "f-fat")
OTHER_METRICS = (
    "bad@1",
    "bad@2",
    "mae",
    "rms",
    "sze-mean",
    "quantile@95",
    "r-ssim",
    "invalid",
    "smooth-gradient@1",
    "view-psnr",
)
Progress = Callable[[int, int], None]
Kind = TypeVar("Kind", bound=GradedDamage[Any])


class Response(Struct, frozen=True):
    """The response of one metric to one damage: its value, that on the ground truth, and how much worse it is."""

    damage: str
    strength: float
    metric: str
    region: str
    value: float
    truth: float
    response: float

    @property
    def label(self) -> str:
        """The metric's name in tables: with its region, unless the metric has a fixed one."""
        bound = parse_metric(self.metric).metric.region is not None
        return self.metric if bound else f"{self.metric}:{self.region}"


def worsening(metric: str, value: float, truth: float) -> float:
    """How much worse `value` is than `truth`, positive = worse, in the metric's unit; NaN where either is unknown."""
    direction = parse_metric(metric).metric.direction
    if direction == "higher":
        return truth - value
    return abs(value) - abs(truth) if direction == "zero" else value - truth


class Study(WrittenAsJson, WrittenAsCsv, Struct, frozen=True):
    """The responses of some metrics on one scene; `idle` are damages that apply to no pixel of it.

    A study `of_images` damages the input of a matcher instead of a map: see `stereogauge.study.images`.
    """

    scene: str
    responses: Sequence[Response]
    protocol: str
    idle: tuple[str, ...] = ()
    of_images: bool = False

    @property
    def damages(self) -> tuple[str, ...]:
        """Ids in order."""
        return tuple(dict.fromkeys(response.damage for response in self.responses))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Ids in order, each with its region unless the metric has a fixed one."""
        return tuple(dict.fromkeys(response.label for response in self.responses))

    def curve(self, metric: str, damage: str) -> list[tuple[float, float]]:
        """(strength, value) from 0 upwards; the value at 0 is that of the ground truth."""
        found = [r for r in self.responses if r.label == metric and r.damage == damage]
        steps = sorted((r.strength, r.value) for r in found)
        return [(0.0, found[0].truth), *steps] if found else []

    def to_pandas(self) -> pd.DataFrame:
        """One row per response."""
        return pd.DataFrame([{"scene": self.scene, **asdict(r), "protocol": self.protocol} for r in self.responses])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON; what is unknown is null."""
        return json_values(self, ("scene", "protocol", "idle", "responses"))


def run_study(
    scene: Scene,
    metrics: Sequence[str] = GEOMETRY_METRICS,
    *,
    damage_ids: Sequence[str] | None = None,
    strengths: Mapping[str, Sequence[float]] | None = None,
    regions: Sequence[str] = ("nonocc",),
    protocol: Protocol | str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Study:
    """Damage the scene's ground truth and measure each damaged map.

    `strengths` replaces a damage's own steps, by id. `progress(done, total)` is called after every map. The same seed
    gives the same study.
    """
    chosen = load_protocol(protocol)
    known = [damage_called(name) for name in damage_ids] if damage_ids is not None else list(damages().values())
    wanted = columns_of(metrics, regions)
    scene_regions = SceneRegions(scene, chosen)
    ground_truth = ground_truth_of(scene, chosen)
    idle = tuple(kind.id for kind in known if not kind.zone(ground_truth).any())
    active = [kind for kind in known if kind.id not in idle]

    def made(kind: Damage, strength: float) -> DisparityMap:
        return kind.apply(ground_truth, strength, seed)

    undamaged = ground_truth.disparity
    responses = responses_of(active, strengths, made, undamaged, scene_regions, wanted, progress)
    return Study(scene.id, responses, chosen.scoring_hash, idle)


def responses_of(
    damages: Sequence[Kind],
    strengths: Mapping[str, Sequence[float]] | None,
    made: Callable[[Kind, float], DisparityMap],
    undamaged: DisparityMap,
    scene_regions: SceneRegions,
    columns: Sequence[Column],
    progress: Progress | None,
) -> list[Response]:
    """The responses to every damage at the given strengths, or at its own; `made` gives the map of a step."""

    def measured(disparity: DisparityMap, name: str) -> list[float]:
        return [score.value for score in evaluate_cell(SceneEstimate(name, disparity), scene_regions, columns)]

    given = strengths or {}
    steps = [(kind, float(strength)) for kind in damages for strength in given.get(kind.id, kind.strengths)]
    truths = measured(undamaged, "undamaged")
    responses = []
    for done, (kind, strength) in enumerate(steps, start=1):
        values = measured(made(kind, strength), kind.id)
        for (metric, region), value, truth in zip(columns, values, truths, strict=True):
            worse = worsening(metric, value, truth)
            responses.append(Response(kind.id, strength, metric, region, value, truth, worse))
        if progress is not None:
            progress(done, len(steps))
    return responses


Matrix = NDArray[np.float64]


class Sensitivity(WrittenAsJson, Struct, frozen=True):
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

    @property
    def named_after(self) -> dict[str, str]:
        """The damage here that is named after each metric that has one, in the order of the metrics."""
        damages = {damage_called(damage).metric: damage for damage in self.damages}
        return {metric: damages[metric] for metric in self.metrics if metric in damages}

    def namesakes(self) -> dict[str, bool]:
        """For each metric that a damage here is named after and that has a value: does it react most to that one?"""
        strongest = self.strongest()
        valued = {m for m, row in zip(self.metrics, self.responses, strict=True) if np.isfinite(row).any()}
        return {metric: strongest[metric] == damage for metric, damage in self.named_after.items() if metric in valued}

    def named(self) -> Sensitivity | None:
        """The square part: metrics that a damage here is named after, and those damages; None where there is none."""
        kept = self.named_after
        if not kept:
            return None
        rows = [self.metrics.index(metric) for metric in kept]
        columns = [self.damages.index(damage) for damage in kept.values()]
        return Sensitivity(tuple(kept), tuple(kept.values()), self.responses[np.ix_(rows, columns)])

    def margin(self, metric: str) -> float:
        """How far the response to the strongest damage leads the second one, as a share of it."""
        row = np.sort(self.selective[self.metrics.index(metric)])[::-1]
        return float(1.0 - row[1] / row[0]) if row.size > 1 and row[0] > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """All three matrices as plain values for JSON; NaN is null."""
        parts = ("metrics", "damages", "responses", "scaled", "selective")
        return json_values(self, parts, strongest=self.strongest())


def sensitivity_of(study: Study) -> Sensitivity:
    """The matrix of a study that holds one strength per damage, or the reference strengths where it holds them."""
    found = np.full((len(study.metrics), len(study.damages)), np.nan)
    for response in study.responses:
        row, column = study.metrics.index(response.label), study.damages.index(response.damage)
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
