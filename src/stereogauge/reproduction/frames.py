"""One pair as Haeusler and Klette analyse it: their measures on census SGM, sparsified, and what else they speak of."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures.evaluation import SceneCurves, evaluate_maps
from stereogauge.confidence_measures.measures import confidence
from stereogauge.confidence_measures.paper import PAPER as MEASURES
from stereogauge.confidence_measures.run import evaluation_domain
from stereogauge.confidence_measures.sparsification import SparsificationCurve, sparsify
from stereogauge.matching.run import match
from stereogauge.model import DisparityMap, Mask, Scene

SYMBOLS = dict(zip((*MEASURES, "product"), ("Γ0", "Γ1", "Γ2", "Γ3", "Γ4", "Γ"), strict=True))
PRINTED, PATH_MEAN, P2 = "entropy as printed", "entropy@8", "entropy"
READINGS = {PRINTED: "as printed", PATH_MEAN: "T = 8", P2: "T = P2"}
"""Γ3 as printed (temperature 1), with the mean over the eight paths instead of their sum, and with temperature P2."""
SECOND_COST = "naive-peak-ratio"
CLOSE = 1.0
LOCKED = 0.125


class Frame(NamedTuple):
    """Sparsification of one pair, and further facts of its pixels.

    `inside` is the ROC area of each measure where Γ4 < 1; `rank_correlation` Spearman's of each two measures; `locked`
    the share of estimates and of true disparities within 1/8 px of a whole number; `failing` the share of pixels that
    fail the left-right check by more than 1 px with and without ground truth, below its highest row; `covered` the
    share of these pixels that have ground truth.
    """

    name: str
    curves: SceneCurves
    further: Mapping[str, SparsificationCurve]
    inside: Mapping[str, float]
    rank_correlation: Mapping[tuple[str, str], float]
    locked: tuple[float, float]
    failing: tuple[float, float]
    covered: float
    disparity: DisparityMap
    gt: DisparityMap
    domain: Mask

    @property
    def product(self) -> SparsificationCurve:
        """The curve of Γ."""
        return self.curves.curves["product"]

    @property
    def bad(self) -> int:
        """Bad pixels in the domain."""
        return self.product.bad_pixels

    @property
    def good_share(self) -> float:
        """Share of good pixels in the domain."""
        return self.product.good_share

    def curve(self, measure: str) -> SparsificationCurve:
        """The curve of a measure, or of another reading of Γ3."""
        return self.further[measure] if measure in self.further else self.curves.curves[measure]

    def left(self, measure: str, density: float | None = None) -> float:
        """Bad pixels that remain at a density, by default at the share of good pixels."""
        return self.curve(measure).at(self.good_share if density is None else density)

    @property
    def bound(self) -> float:
        """s(φ) at the share of good pixels."""
        return float("nan") if self.curves.bound is None else self.curves.bound.at(self.good_share)

    def gain(self, measure: str, density: float | None = None) -> float:
        """How much better than a random order: 0 as random, 1 none of the bad pixels left."""
        kept = self.good_share if density is None else density
        return 1.0 - self.left(measure, kept) / (self.bad * kept)

    def relative_area(self, measure: str) -> float:
        """AURG / (random − oracle): 0 as random, 1 as the oracle."""
        curve = self.curve(measure)
        return curve.aurg / (curve.random.auc - curve.oracle.auc)

    def best(self, measures: tuple[str, ...] = MEASURES, density: float | None = None) -> str:
        """The measure that leaves the fewest bad pixels."""
        return min(measures, key=lambda measure: self.left(measure, density))

    def worst(self, measures: tuple[str, ...] = MEASURES, density: float | None = None) -> str:
        """The measure that leaves the most bad pixels."""
        return max(measures, key=lambda measure: self.left(measure, density))

    def spread(self, measures: tuple[str, ...], density: float) -> float:
        """How much more bad pixels the worst of the measures leaves than the best, as a share."""
        left = [self.left(measure, density) for measure in measures]
        return max(left) / min(left) - 1


def singles(entropy: str = P2) -> tuple[str, ...]:
    """Γ0 … Γ4 with one of the readings of Γ3."""
    return tuple(entropy if measure == "entropy" else measure for measure in MEASURES)


def frame_of(scene: Scene, name: str, ndisp: int, threshold: float) -> Frame:
    """A pair matched by census SGM with the paper's penalties, and every measure of the paper sparsified."""
    result = match(scene.left, scene.right, "sgm", ndisp, p1=20, p2=100)
    maps = confidence(result, (*MEASURES, "product"))
    others = confidence(result, (PATH_MEAN, SECOND_COST))
    others[PRINTED] = confidence(result, ["entropy"], literal=True)["entropy"]
    truth = np.where(scene.mask("nonocc"), scene.gt, np.float32(np.nan)) if "nonocc" in scene.masks else scene.gt
    raw, domain = np.asarray(result.raw), evaluation_domain(result, truth)
    curves = evaluate_maps(name, maps, raw, truth, threshold=threshold, mask=domain)
    difference = maps["lr-difference"]
    consistent = domain & (difference < CLOSE)
    below = np.zeros_like(domain)
    below[np.argmax(np.isfinite(truth).any(axis=1)) :, ndisp + result.window_radius :] = True
    known = np.isfinite(truth)
    return Frame(
        name=name,
        curves=curves,
        further={key: sparsify(others[key], raw, truth, threshold, domain) for key in (PRINTED, PATH_MEAN)},
        inside={key: sparsify(maps[key], raw, truth, threshold, consistent).roc_auc for key in MEASURES},
        rank_correlation=_rank_correlation(
            {key: values[domain] for key, values in {**maps, SECOND_COST: others[SECOND_COST]}.items()}
        ),
        locked=(_locked(raw[domain]), _locked(truth[domain])),
        failing=(float((difference[below & known] > CLOSE).mean()), float((difference[below & ~known] > CLOSE).mean())),
        covered=float(known[below].mean()),
        disparity=raw,
        gt=truth,
        domain=domain,
    )


def _locked(disparity: NDArray[np.float32]) -> float:
    return float(np.mean(np.abs(disparity - np.rint(disparity)) <= LOCKED))


def _rank_correlation(values: Mapping[str, NDArray[np.floating]]) -> dict[tuple[str, str], float]:
    from scipy.stats import rankdata

    ranks = {name: rankdata(one) for name, one in values.items()}
    return {
        (first, second): float(np.corrcoef(ranks[first], ranks[second])[0, 1])
        for first, second in itertools.combinations(ranks, 2)
    }
