"""What is known of the scenes that scores were measured on, and the maximum that each metric reaches on them.

Size, calibration and the range of the ground truth are facts of a scene. The maximum is the score that poor but real
algorithms reach: what counts as 1 when scores are normalised. `maxima.toml` was measured on real results; `python -m
benchmarks maxima` measures it again. Where it has no entry, the maximum is that of the metric's declaration (the HCI
supplement: 13 algorithms on 12 Middlebury images).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict
from numpy.typing import NDArray

from stereogauge.datasets.places import truth_hash
from stereogauge.errors import StereogaugeError
from stereogauge.loading import Declaration, convert, entry, number, parse_toml
from stereogauge.metrics.costs import plain_sum
from stereogauge.model import Scene, SceneRange
from stereogauge.protocol import EITHER_UNIT
from stereogauge.scores.column import Column, metric_of

FILE = Path(__file__).with_name("maxima.toml")


class SceneFacts(Struct, frozen=True):
    """What is known of one scene; NaN, None and "" where something is not.

    `size` is relative to full resolution, and `stated` says whether the dataset or the user gave it: otherwise it is
    guessed from the width. `truth` is a hash of the ground truth's values; `low` and `high` bound its disparities,
    `near` and `far` its depths.
    """

    size: float = math.nan
    stated: bool = False
    calibrated: bool | None = None
    truth: str = ""
    low: float = math.nan
    high: float = math.nan
    near: float = math.nan
    far: float = math.nan

    @classmethod
    def of_scene(cls, scene: Scene) -> SceneFacts:
        """The facts of a scene; what cannot be read stays unknown."""
        stated = scene.stated_resolution is not None
        known: dict[str, Any] = {"calibrated": scene.calibration.metric, "stated": stated}
        try:
            known["size"] = scene.resolution
            known |= scene.range._asdict()
            if scene.has("gt"):
                known["truth"] = truth_hash(scene.gt)
        except StereogaugeError:
            pass  # what cannot be read is said where it is measured
        return cls(**known)

    @classmethod
    def of_values(cls, described: Mapping[str, Any]) -> SceneFacts:
        """The facts that `to_values` wrote; older stores hold some of them."""
        names = cls.__struct_fields__
        return cls(**{name: value for name, value in described.items() if name in names and value is not None})

    def to_values(self) -> dict[str, Any]:
        """Plain values for JSON, without what is not known."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value is not None and not (isinstance(value, float) and not math.isfinite(value))
        }

    @property
    def depth_range(self) -> float:
        """The range of the scene's depths, in metres where it is calibrated, else with f·B = 1 in 1/px."""
        if math.isfinite(self.far - self.near):
            return self.far - self.near
        return 1 / self.low - 1 / self.high if 0 < self.low < self.high else math.nan

    @property
    def range(self) -> SceneRange:
        """The size of the scene and the range of its ground truth."""
        return SceneRange(self.size, self.low, self.high, self.near, self.far)


def unit_means(by_scene: NDArray[np.float64], unit_of: NDArray[np.intp]) -> NDArray[np.float64]:
    """Means over the scenes of each independent unit, shape (…, units), of an array with scenes last.

    `unit_of` numbers the unit of each scene; units without a scene are left out.

    >>> unit_means(np.array([1.0, 3.0, 5.0]), np.array([0, 2, 2])).tolist()
    [1.0, 4.0]
    """
    member = np.asarray(unit_of[:, None] == np.unique(unit_of), np.float64)
    return np.asarray(by_scene @ (member / member.sum(axis=0)), np.float64)


class MeasuredMaxima(Declaration, frozen=True):
    """The maxima by metric, before `scene_scale`, and what they were measured on."""

    measured_on: Annotated[str, entry("the results that the maxima were measured on")]
    quantile: Annotated[float, number("share of the scores that lie below the maximum", least=0, most=1)]
    maxima: Annotated[Mapping[str, float], entry("maximum by metric")]


@functools.cache
def measured_maxima() -> MeasuredMaxima:
    """The shipped maxima."""
    text = FILE.read_text(encoding="utf-8")
    return convert(parse_toml(text, FILE.name), MeasuredMaxima, FILE.name)


def maximum(metric: str) -> float | None:
    """The score that poor real algorithms reach at full size; None where neither measurement nor source states it."""
    measured = measured_maxima().maxima.get(metric)
    if measured is not None:
        return measured
    declared = metric_of(metric).metric
    return None if declared.heuristic_range is None or declared.parameters else declared.heuristic_range[1]


def usual_maximum(column: Column, facts: SceneFacts, pixels: float = math.nan) -> float:
    """The maximum of a column on a scene, with `pixels` in its set; NaN where it is not known.

    A length in px follows the size of the scene. Errors in depth are measured as shares of the scene's range of depths,
    and a sum of them is one for each pixel.

    >>> flat = SceneFacts(size=0.5)
    >>> usual_maximum(Column("rms", "all"), flat) == maximum("rms") / 2
    True
    """
    found = maximum(column.metric)
    return math.nan if found is None else found * scene_scale(column, facts, pixels)


def scene_scale(column: Column, facts: SceneFacts, pixels: float = math.nan) -> float:
    """What a maximum is multiplied by on a scene; NaN where the scene's range of depths is needed and not known."""
    metric = column.declared.metric
    if metric.scaling == "length":
        return 1.0 if math.isnan(facts.size) else facts.size
    if metric.unit != EITHER_UNIT:
        return 1.0
    return facts.depth_range * (pixels if metric.finalize is plain_sum else 1.0)
