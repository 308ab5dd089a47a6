"""Whether a map lies elsewhere than its ground truth: flipped, transposed, padded, of another size or another view."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.io.files import FLIPS
from stereogauge.model import DisparityMap

SMALL_ERROR = 3.0
SMALL_SHARE = 0.15
MOST_SAMPLES = 60_000
SWAP_DIFFERENCE, SWAP_RATIO = 0.08, 1.4
CLEAR_SWAP_SHARE, CLEAR_SWAP_RATIO = 0.01, 4.0
FLIP_DIFFERENCE, FLIP_RATIO = 0.25, 1.6
LARGEST_PADDING = 0.25
"""The part of the width or height that padding may add."""


class Suspicion(NamedTuple):
    """What kind of mistake, and one sentence that names the option that fixes it."""

    kind: str
    sentence: str


@dataclass(frozen=True)
class SampledPair:
    """Every few rows and columns of two maps of one size; `found` and `known` are the values where both have one."""

    estimate: DisparityMap
    truth: DisparityMap
    step: int

    @functools.cached_property
    def both(self) -> NDArray[np.bool_]:
        """Where both have a value."""
        known: NDArray[np.bool_] = np.isfinite(self._thinned(self.estimate)) & np.isfinite(self._thinned(self.truth))
        return known

    @functools.cached_property
    def found(self) -> NDArray[np.float64]:
        """The estimates there."""
        return self._thinned(self.estimate)[self.both].astype(np.float64)

    @functools.cached_property
    def known(self) -> NDArray[np.float64]:
        """The true disparities there."""
        return self._thinned(self.truth)[self.both].astype(np.float64)

    @functools.cached_property
    def error(self) -> float:
        """The median error in px; infinite without a common pixel."""
        return float(np.median(np.abs(self.found - self.known))) if self.found.size else float("inf")

    @functools.cached_property
    def typical(self) -> float:
        """The median true disparity."""
        return float(np.median(np.abs(self.known))) if self.known.size else 0.0

    @property
    def tolerance(self) -> float:
        """The largest median error of a map without any mistake."""
        return max(SMALL_ERROR, SMALL_SHARE * self.typical)

    def agreement(self) -> float:
        """The share of the true disparities that the estimate is close to."""
        known = self._thinned(self.truth)
        close = np.abs(self._thinned(self.estimate) - known) <= max(1.0, 0.05 * self.typical)
        return float(close.sum() / max(1, np.isfinite(known).sum()))

    def _thinned(self, values: DisparityMap) -> DisparityMap:
        return values[:: self.step, :: self.step]


def sampled(estimate: DisparityMap, truth: DisparityMap) -> SampledPair:
    """Two maps of one size, thinned out where they are large; sparse ground truth is taken whole."""
    count = int(np.isfinite(truth).sum())
    return SampledPair(estimate, truth, max(1, int(np.sqrt(count / MOST_SAMPLES))))


def flipped(pair: SampledPair) -> Suspicion | None:
    """Whether the map fits the ground truth far better when it is mirrored."""
    agreement = pair.agreement()
    # A map that is merely shifted by a constant fits better unturned.
    shifted = pair.estimate - np.float32(np.median(pair.found - pair.known)) if pair.found.size else pair.estimate
    straight = max(agreement, SampledPair(shifted, pair.truth, pair.step).agreement())
    turned = {
        name: SampledPair(pair.estimate[where], pair.truth, pair.step).agreement() for name, where in FLIPS.items()
    }
    best = max(turned, key=lambda name: turned[name])
    if turned[best] < straight + FLIP_DIFFERENCE or turned[best] < FLIP_RATIO * straight:
        return None
    words = {"left-right": "mirrored left to right", "up-down": "upside down", "both": "turned by 180°"}[best]
    return Suspicion(
        "flipped",
        f"The map is {words}: turned back, {turned[best]:.0%} of the known pixels are close to the ground truth, now "
        f"{agreement:.0%}; set flip to {best}.",
    )


def other_view(estimate: DisparityMap, truth: DisparityMap) -> Suspicion | None:
    """Whether the map fits the right view better, in which (x, y) with disparity d lies at (x − d, y)."""
    rows, columns = np.nonzero(np.isfinite(truth))
    thin = max(1, rows.size // MOST_SAMPLES)
    rows, columns = rows[::thin], columns[::thin]
    known = truth[rows, columns]
    targets = columns - np.rint(known).astype(np.int64)
    inside = (targets >= 0) & (targets < truth.shape[1])
    rows, columns, targets, known = rows[inside], columns[inside], targets[inside], known[inside]
    if not known.size:
        return None
    tolerance = max(1.0, 0.05 * float(np.median(np.abs(known))))
    fits_left = np.abs(estimate[rows, columns] - known) <= tolerance
    fits_right = np.abs(estimate[rows, targets] - known) <= tolerance
    difference = estimate[rows, columns] - known
    # A map that is merely shifted by a constant belongs to the left view.
    shift = np.nanmedian(difference) if np.isfinite(difference).any() else 0.0
    if np.mean(np.abs(difference - shift) <= tolerance) >= np.mean(fits_right):
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
