"""How well confidence measures predict errors: curves per scene and pooled, and the table of their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.confidence_measures.sparsification import SparsificationCurve, is_bad, pooled, sparsify
from stereogauge.errors import NotApplicable
from stereogauge.model import DisparityMap, Mask


class CombinationBound(Struct, frozen=True, eq=False):
    """For each number k of pixels that each measure keeps: how many of them all keep, and how many of those are bad."""

    entries: NDArray[np.int64]
    bad_entries: NDArray[np.int64]
    pixels: int

    def at(self, density: float) -> float:
        """s(φ): bad pixels with Γᵢ ≤ γᵢ(φ) for every i, γᵢ(φ) the value of Γᵢ that keeps a share φ of all pixels."""
        return float(self.counts(density))

    def density_at(self, density: float) -> float:
        """The share of pixels that all measures keep at φ."""
        return float(self.densities(density))

    def counts(self, densities: Any) -> NDArray[np.float64]:
        """s at several densities."""
        return np.searchsorted(self.bad_entries, self._kept(densities), side="right").astype(np.float64)

    def densities(self, densities: Any) -> NDArray[np.float64]:
        """The bound's own density at several φ."""
        return np.searchsorted(self.entries, self._kept(densities), side="right") / self.pixels

    def _kept(self, densities: Any) -> NDArray[np.int64]:
        return np.ceil(np.asarray(densities) * self.pixels - 1e-9).astype(np.int64)


def combination_bound(
    maps: Mapping[str, NDArray[Any]], bad: NDArray[np.bool_], domain: NDArray[np.bool_]
) -> CombinationBound:
    """The bound for these measures on the pixels of `domain`.

    A measure keeps pixel p at φ when fewer than φ·N pixels are strictly more confident; the pixel enters when the
    last measure admits it.
    """
    pixels = int(domain.sum())
    if pixels == 0 or not maps:
        raise NotApplicable("The bound needs at least one measure and one pixel with ground truth.")
    entries = np.zeros(pixels, np.int64)
    for values in maps.values():
        inside = np.nan_to_num(np.asarray(values)[domain].astype(np.float64), nan=np.inf)
        ordered = np.sort(inside)
        entries = np.maximum(entries, np.searchsorted(ordered, inside, side="left") + 1)
    return CombinationBound(np.sort(entries), np.sort(entries[bad[domain]]), pixels)


Named = TypeVar("Named")
COMBINATIONS = ("product", "learned", "oracle")


def single_maps(maps: Mapping[str, Named]) -> dict[str, Named]:
    """The maps that neither combine others nor see the ground truth: what s(φ), the bound of combining, is over."""
    return {name: values for name, values in maps.items() if name.partition("@")[0] not in COMBINATIONS}


POOLED = "(pooled)"
COLUMNS = {
    "scene": "",
    "measure": "",
    "pixels": "pixels in the domain",
    "bad": "bad pixels in the domain",
    "good_share": "share of good pixels",
    "bad_at_good_share": "bad pixels left at the density of good ones",
    "rate_70_95": "mean bad-pixel rate between 70 % and 95 % density",
    "auc": "area under the sparsification curve of rates",
    "oracle_auc": "the same for a perfect order",
    "ause": "auc − oracle_auc",
    "aurg": "random − auc",
    "roc_auc": "probability that a bad pixel is less confident than a good one",
}
FIGURES = attrgetter(
    *("pixels", "bad_pixels", "good_share", "at_good_share", "range_mean"),
    *("auc", "oracle.auc", "ause", "aurg", "roc_auc"),
)


class SceneCurves(Struct, frozen=True, eq=False):
    """The curves of one scene by measure, and the bound for combining them where there are several."""

    scene: str
    curves: Mapping[str, SparsificationCurve]
    bound: CombinationBound | None = None


def evaluate_maps(
    scene: str,
    maps: Mapping[str, NDArray[Any]],
    disparity: DisparityMap,
    gt: DisparityMap,
    *,
    threshold: float,
    mask: Mask | None = None,
) -> SceneCurves:
    """Sparsify by each of the maps; all of them lower = more confident. Missing estimates are bad."""
    curves = {name: sparsify(values, disparity, gt, threshold, mask) for name, values in maps.items()}
    single, domain = single_maps(maps), np.isfinite(gt) if mask is None else np.isfinite(gt) & mask
    bound = combination_bound(single, is_bad(disparity, gt, threshold), domain) if len(single) > 1 else None
    return SceneCurves(scene, curves, bound)


def pooled_curves(scenes: Sequence[SceneCurves]) -> SceneCurves:
    """All scenes at equal densities, for the measures that every scene has."""
    common = [name for name in scenes[0].curves if all(name in scene.curves for scene in scenes)]
    return SceneCurves(POOLED, {name: pooled(scene.curves[name] for scene in scenes) for name in common})


def rows(scenes: Sequence[SceneCurves]) -> list[dict[str, Any]]:
    """One row a scene and measure, then the pooled ones where there are several scenes; see `COLUMNS`."""
    several = [*scenes, pooled_curves(scenes)] if len(scenes) > 1 else list(scenes)
    return [
        dict(zip(COLUMNS, (scene.scene, name, *FIGURES(curve)), strict=True))
        for scene in several
        for name, curve in scene.curves.items()
    ]


def curve_rows(scenes: Sequence[SceneCurves]) -> list[dict[str, Any]]:
    """The curves themselves at steps of 1 % density: bad pixels left and their rate, by scene and measure.

    `(oracle)` and `(random)` frame the measures. `(bound)` is s(φ); its rate is that of the pixels that it keeps, and
    `kept_density` their share.
    """
    densities = np.arange(101) / 100
    found = []
    for scene in scenes:
        first = next(iter(scene.curves.values()))
        for name, curve in {"(oracle)": first.oracle, "(random)": first.random, **scene.curves}.items():
            found += _points(scene.scene, name, densities, densities, curve.counts(densities), curve.rates(densities))
        if scene.bound is not None:
            own, counts = scene.bound.densities(densities), scene.bound.counts(densities)
            rates = np.divide(counts, own * scene.bound.pixels, out=np.full(len(own), np.nan), where=own > 0)
            found += _points(scene.scene, "(bound)", densities, own, counts, rates)
    return found


def _points(scene: str, measure: str, *columns: NDArray[np.float64]) -> list[dict[str, Any]]:
    names = ("density", "kept_density", "bad", "rate")
    rows = np.column_stack(columns).tolist()
    return [{"scene": scene, "measure": measure, **dict(zip(names, row, strict=True))} for row in rows]
