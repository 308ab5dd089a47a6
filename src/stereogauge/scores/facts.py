"""What scores must know of the scenes that they were measured on: size, calibration, and the ground truth's range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict
from numpy.typing import NDArray

from stereogauge.datasets.places import truth_hash
from stereogauge.errors import StereogaugeError
from stereogauge.model import Scene


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
    def span(self) -> float:
        """The largest error of an estimate inside the scene's range of disparities, in px."""
        return self.high - self.low


def unit_means(by_scene: NDArray[np.float64], unit_of: NDArray[np.intp]) -> NDArray[np.float64]:
    """Means over the scenes of each independent unit, shape (…, units), of an array with scenes last.

    `unit_of` numbers the unit of each scene; units without a scene are left out.

    >>> unit_means(np.array([1.0, 3.0, 5.0]), np.array([0, 2, 2])).tolist()
    [1.0, 4.0]
    """
    member = np.asarray(unit_of[:, None] == np.unique(unit_of), np.float64)
    return np.asarray(by_scene @ (member / member.sum(axis=0)), np.float64)
