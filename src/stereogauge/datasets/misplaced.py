"""Whether a map lies elsewhere than its ground truth: flipped, transposed, padded, of another size or another view."""

from __future__ import annotations

from typing import Any

import numpy as np

from stereogauge.datasets.agreement import SampledPair, sampled
from stereogauge.io.files import FLIPS
from stereogauge.io.inspection import Suspicion
from stereogauge.model import DisparityMap

SWAP_DIFFERENCE, SWAP_RATIO = 0.08, 1.4
CLEAR_SWAP_SHARE, CLEAR_SWAP_RATIO = 0.01, 4.0
FLIP_DIFFERENCE, FLIP_RATIO = 0.25, 1.6
LARGEST_PADDING = 0.25
"""The part of the width or height that padding may add."""


def flipped(pair: SampledPair) -> Suspicion | None:
    """Whether the map fits the ground truth far better when it is mirrored."""
    agreement = pair.agreement()
    # A map that is merely shifted by a constant fits better unturned.
    shift = np.float32(np.median(pair.found - pair.known)) if pair.found.size else np.float32(0)
    straight = max(agreement, pair.agreement(pair.estimates - shift))
    turned = {name: pair.agreement(pair.estimate[where][pair.rows, pair.columns]) for name, where in FLIPS.items()}
    best = max(turned, key=lambda name: turned[name])
    if turned[best] < straight + FLIP_DIFFERENCE or turned[best] < FLIP_RATIO * straight:
        return None
    words = {"left-right": "mirrored left to right", "up-down": "upside down", "both": "turned by 180°"}[best]
    return Suspicion(
        "flipped",
        f"The map is {words}: turned back, {turned[best]:.0%} of the known pixels are close to the ground truth, now "
        f"{agreement:.0%}; set flip to {best}.",
    )


def other_view(pair: SampledPair) -> Suspicion | None:
    """Whether the map fits the right view better, in which (x, y) with disparity d lies at (x − d, y)."""
    targets = pair.columns - np.rint(pair.true_values).astype(np.int64)
    inside = (targets >= 0) & (targets < pair.truth.shape[1])
    known, here = pair.true_values[inside], pair.estimates[inside]
    if not known.size:
        return None
    fits_left = pair.close(here, known)
    fits_right = pair.close(pair.estimate[pair.rows[inside], targets[inside]], known)
    difference = here - known
    # A map that is merely shifted by a constant belongs to the left view.
    shift = np.nanmedian(difference) if np.isfinite(difference).any() else 0.0
    if np.mean(pair.close(here - shift, known)) >= np.mean(fits_right):
        return None
    only_left, only_right = float(np.mean(fits_left & ~fits_right)), float(np.mean(fits_right & ~fits_left))
    clear = only_right > CLEAR_SWAP_SHARE and only_right > CLEAR_SWAP_RATIO * only_left
    likely = only_right - only_left > SWAP_DIFFERENCE and only_right > SWAP_RATIO * only_left
    if not (clear or likely):
        return None
    return Suspicion(
        "swapped-views",
        f"The map fits the right view better than the left one ({np.mean(fits_right):.0%} against "
        f"{np.mean(fits_left):.0%} of the known pixels): were the views swapped? Give the left view's map.",
    )


def wrong_size(estimate: DisparityMap, truth: DisparityMap, scale: float = 1.0) -> Suspicion:
    """Why a map has another size than the ground truth, as far as its values tell."""
    (height, width), (known_height, known_width) = estimate.shape, truth.shape
    sizes = f"The map has {width} × {height} pixels, the ground truth {known_width} × {known_height}"
    if estimate.shape == truth.shape[::-1] and _fits(estimate.T, truth):
        return Suspicion("transposed", f"{sizes}: rows and columns are exchanged; set flip to transpose.")
    padded = _padding(estimate, truth)
    if padded is not None:
        x, y = padded
        return Suspicion(
            "padded", f"{sizes}: it was padded, and fits from column {x} and row {y} on; set crop to {x},{y}."
        )
    rows, columns = np.arange(known_height) * height // known_height, np.arange(known_width) * width // known_width
    spread = np.asarray(estimate)[np.ix_(rows, columns)]
    factor = known_width / width
    if _fits(spread * np.float32(factor), truth):
        return Suspicion(
            "wrong-size",
            f"{sizes}: it was computed on smaller or larger images; set resize, which scales the disparities "
            "with the width.",
        )
    if _fits(spread, truth):
        return Suspicion(
            "wrong-size",
            f"{sizes}, and its disparities are in pixels of that size already; set resize, and "
            f"scale to {scale * factor:.6g}.",
        )
    return Suspicion(
        "wrong-size",
        f"{sizes}, and neither cropping nor resizing makes it fit; give a map of the ground truth's size.",
    )


def _fits(estimate: Any, truth: DisparityMap) -> bool:
    pair = sampled(estimate, truth)
    return bool(pair.error <= pair.tolerance)


def _padding(estimate: DisparityMap, truth: DisparityMap) -> tuple[int, int] | None:
    """Column and row from which the map fits, where it is a little larger than the ground truth."""
    height, width = truth.shape
    more_rows, more_columns = estimate.shape[0] - height, estimate.shape[1] - width
    limits = (LARGEST_PADDING * height, LARGEST_PADDING * width)
    if more_rows < 0 or more_columns < 0 or more_rows > limits[0] or more_columns > limits[1]:
        return None
    places = [
        (x, y) for y in sorted({0, more_rows // 2, more_rows}) for x in sorted({0, more_columns // 2, more_columns})
    ]
    pairs = {(x, y): sampled(estimate[y : y + height, x : x + width], truth) for x, y in places}
    best = min(places, key=lambda place: -pairs[place].agreement())
    return best if pairs[best].error <= pairs[best].tolerance else None
