"""A per-pixel map with what is needed to draw and to read it; drawing it is the business of `stereogauge.figures`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereogauge.display import Displayed

Kind = Literal["sequential", "diverging", "cyclic", "disparity", "labels", "rgb"]


@dataclass(frozen=True)
class Picture(Displayed):
    """Values per pixel.

    kind "sequential": heat from `limits[0]` to `limits[1]`, clipped there; "diverging": the same around 0; "cyclic":
    both limits are the same colour; "disparity": near is bright; "labels": small integers named and coloured by
    `legend` {value: (text, "#rrggbb")}; "rgb": finished colours (H, W, 3) uint8, `legend` explains them. NaN is drawn
    as background (`backdrop`, a grey image, where given). `unknown` marks pixels without ground truth (black),
    `missing` those without an estimate (hatched).
    """

    title: str
    values: NDArray[Any]
    kind: Kind
    unit: str = ""
    limits: tuple[float, float] | None = None
    legend: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    unknown: NDArray[np.bool_] | None = None
    missing: NDArray[np.bool_] | None = None
    backdrop: NDArray[np.uint8] | None = None

    def __repr__(self) -> str:
        height, width = self.values.shape[:2]
        return f"Picture({self.title}: {width}×{height}{f', {self.unit}' if self.unit else ''})"
