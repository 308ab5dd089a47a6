"""Using a confidence map: keep the most confident disparities, fill the rest by a rule, and measure the gain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures.sparsification import is_bad
from stereogauge.disparity import as_plane
from stereogauge.errors import NotApplicable, StereogaugeError, check_one_size, unknown_name
from stereogauge.kernels.edges import fill_background
from stereogauge.matching.postprocess import OCCLUDED, interpolate
from stereogauge.model import DisparityMap, Mask, as_disparity

Fill: TypeAlias = Literal["none", "row", "median", "background", "classes"]
FILLS: dict[str, str] = {
    "none": "removed pixels stay unknown",
    "row": "the smaller of the two neighbours in the row, as KITTI fills",
    "median": "the median of the nearest known pixels in eight directions",
    "background": "the second smallest of the nearest known pixels in eight directions",
    "classes": "background where the left-right check says occluded, median elsewhere",
}


def filter(  # noqa: A001 – the verb of the public interface
    disparity: NDArray[Any],
    confidence: NDArray[Any],
    density: float | None = None,
    *,
    threshold: float | None = None,
    fill: Fill = "none",
    classes: NDArray[np.uint8] | None = None,
    higher_is_better: bool = False,
) -> DisparityMap:
    """The most confident disparities of a map; NaN elsewhere, or filled by a rule.

    `density` keeps that share of all pixels, unknown ones leaving first; pixels of equal confidence stay or go at
    random, the same in every call. `threshold` keeps pixels with a confidence value of at most that (at least, where
    higher is better). `fill`: "row", "median", "background", or "classes" with the `classes` of a `sg.match` result
    that was made with `lr_check`.

    >>> kept = sg.filter(np.array([[4.0, 5.0, 9.0, 6.0]]), np.array([[0.1, 0.2, 0.9, 0.3]]), density=0.75)
    >>> kept.tolist()
    [[4.0, 5.0, nan, 6.0]]
    """
    estimate = as_disparity(disparity)
    order = as_plane(confidence, "confidence map")
    check_one_size("The confidence map", order.shape, "the disparity map", estimate.shape)
    if (density is None) == (threshold is None):
        raise StereogaugeError("A filter takes either a density between 0 and 1 or a threshold of the confidence.")
    values = -order.astype(np.float64) if higher_is_better else order.astype(np.float64)
    if density is not None:
        keep = surest(np.where(np.isfinite(estimate), values, np.nan), density)
    else:
        limit = float(threshold or 0.0)
        keep = np.asarray(values <= (-limit if higher_is_better else limit), np.bool_)
    return filled(np.where(keep, estimate, np.float32(np.nan)), fill, classes)


def surest(values: NDArray[np.float64], density: float) -> NDArray[np.bool_]:
    """The share `density` of all pixels with the lowest values; undefined ones are never among them."""
    if not 0 <= density <= 1:
        raise StereogaugeError(f"A density lies between 0 and 1; found {density:g}.")
    # Ties by a fixed random order: a row-wise one would empty the lower part of the image first.
    chance = np.random.default_rng(0).random(values.size)
    flat = values.reshape(-1)
    order = np.lexsort((chance, flat))
    keep = np.zeros(values.size, np.bool_)
    keep[order[: round(density * values.size)]] = True
    return np.asarray((keep & ~np.isnan(flat)).reshape(values.shape), np.bool_)


def filled(disparity: DisparityMap, fill: str, classes: NDArray[np.uint8] | None = None) -> DisparityMap:
    """The map with its unknown pixels filled by one of the `FILLS`."""
    if fill not in FILLS:
        raise unknown_name("fill rule", fill, FILLS)
    if fill == "none":
        return disparity
    if fill == "row":
        result = disparity.copy()
        fill_background(result)
        return result
    if fill == "classes":
        if classes is None:
            raise NotApplicable("The fill rule 'classes' needs those of a left-right check (match with lr_check).")
        return interpolate(disparity, np.asarray(classes) == OCCLUDED)
    return interpolate(disparity, np.full(disparity.shape, fill == "background"))


def gains(
    disparity: NDArray[Any],
    confidence: NDArray[Any],
    gt: NDArray[Any],
    densities: Sequence[float] = (),
    *,
    thresholds: Sequence[float] = (),
    fill: Fill = "none",
    classes: NDArray[np.uint8] | None = None,
    higher_is_better: bool = False,
    bad: float = 3.0,
    mask: Mask | None = None,
) -> list[dict[str, Any]]:
    """One row per step: the map as given, filtered by each density or threshold, and filled where a rule is chosen.

    Of the pixels with ground truth inside `mask`: `density` that has an estimate, `bad` estimates (error above `bad`
    px), their share `bad_rate` among the estimates, `bad_or_missing` among all pixels, and `fewer_bad`, the bad
    estimates that the step takes off. Shares are in per cent.
    """
    truth = as_disparity(gt, "ground truth")
    inside = np.isfinite(truth) if mask is None else np.isfinite(truth) & mask
    if not inside.any():
        raise NotApplicable("There is nothing to evaluate: no ground truth inside the mask.")
    given = as_disparity(disparity)
    steps = [("as given", given)]
    cuts: list[tuple[str, dict[str, float]]] = [(f"surest {100 * one:g} %", {"density": one}) for one in densities]
    cuts += [(f"confidence {'≥' if higher_is_better else '≤'} {one:g}", {"threshold": one}) for one in thresholds]
    for name, cut in cuts:
        kept = filter(given, confidence, higher_is_better=higher_is_better, **cut)  # type: ignore[arg-type]
        steps.append((name, kept))
        if fill != "none":
            steps.append((f"{name}, then {fill}", filled(kept, fill, classes)))
    rows: list[dict[str, Any]] = []
    for name, values in steps:
        known = inside & np.isfinite(values)
        wrong = int(np.count_nonzero(is_bad(values, truth, bad) & known))
        pixels, estimates = int(inside.sum()), int(known.sum())
        rows.append(
            {
                "step": name,
                "density": 100 * estimates / pixels,
                "bad": wrong,
                "bad_rate": 100 * wrong / estimates if estimates else float("nan"),
                "bad_or_missing": 100 * (wrong + pixels - estimates) / pixels,
                "fewer_bad": rows[0]["bad"] - wrong if rows else 0,
            }
        )
    return rows
