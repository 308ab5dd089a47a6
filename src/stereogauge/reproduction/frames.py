"""One stereo pair with the confidence measures of Haeusler and Klette, sparsified on their evaluation domain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stereogauge.confidence.domain import evaluation_domain
from stereogauge.confidence.evaluation import SceneCurves, evaluate_maps
from stereogauge.confidence.measures import PAPER as MEASURES
from stereogauge.confidence.measures import confidence
from stereogauge.matching.run import match
from stereogauge.model import Scene


class Frame(NamedTuple):
    """Sparsification of one pair."""

    name: str
    curves: SceneCurves

    @property
    def bad(self) -> int:
        """Bad pixels in the domain."""
        return self.curves.curves["product"].bad_pixels

    @property
    def good_share(self) -> float:
        """Share of good pixels in the domain."""
        return self.curves.curves["product"].good_share

    def left(self, measure: str, density: float | None = None) -> float:
        """Bad pixels that remain at a density, by default at the share of good pixels."""
        return self.curves.curves[measure].at(self.good_share if density is None else density)

    @property
    def bound(self) -> float:
        """s(φ) at the share of good pixels."""
        return float("nan") if self.curves.bound is None else self.curves.bound.at(self.good_share)

    def gain(self, measure: str, density: float | None = None) -> float:
        """How much better than a random order: 0 as random, 1 none of the bad pixels left."""
        kept = self.good_share if density is None else density
        return 1.0 - self.left(measure, kept) / (self.bad * kept)

    def best(self, measures: tuple[str, ...] = MEASURES, density: float | None = None) -> str:
        """The measure that leaves the fewest bad pixels."""
        return min(measures, key=lambda measure: self.left(measure, density))

    def worst(self, measures: tuple[str, ...] = MEASURES, density: float | None = None) -> str:
        """The measure that leaves the most bad pixels."""
        return max(measures, key=lambda measure: self.left(measure, density))


def frame_of(scene: Scene, name: str, ndisp: int, threshold: float) -> Frame:
    """A pair matched by census SGM with the paper's penalties, and every measure of the paper sparsified."""
    result = match(scene.left, scene.right, "sgm", ndisp, p1=20, p2=100)
    maps = confidence(result, (*MEASURES, "product"))
    domain = evaluation_domain(result, scene.gt)
    return Frame(name, evaluate_maps(name, maps, np.asarray(result.raw), scene.gt, threshold=threshold, mask=domain))
