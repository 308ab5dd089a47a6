"""Two maps at the same pixels: how well one explains the other, and whether it fits at other pixels.

A map may be flipped, transposed, padded, of another size or that of another view.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.disparity import DisparityMap, median
from stereogauge.io.files import FLIPS
from stereogauge.io.inspection import Suspicion

SMALL_ERROR, CLOSE = 3.0, 1.0
SMALL_SHARE, CLOSE_SHARE = 0.15, 0.05
USUAL_DISPARITY = 5.0
"""The median disparity in px below which `SMALL_ERROR` and `CLOSE` shrink with it, as in light fields."""
MOST_SAMPLES = 20_000
MOST_RANKED = 2_000
"""Values whose ranks are correlated."""
ALL_WRONG = 0.95
"""The share of its pixels from which a value is wrong wherever it is."""

Values = NDArray[np.float64]


class SampledPair:
    """Two maps of one size at some of the pixels that have a true disparity, `rows` and `columns`.

    `true_values` and `estimates` are those of all samples, NaN where there is no estimate; `found` and `known` are the
    estimates and true disparities where there is one. `error` is the median error, infinite without a common pixel, and
    `typical` the median true disparity. By `fineness` limits in px are multiplied: 1, or less where disparities are
    small. `tolerance` is the largest median error of a map without any mistake.
    """

    def __init__(
        self, estimate: DisparityMap, truth: DisparityMap, rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> None:
        self.estimate, self.truth, self.rows, self.columns = estimate, truth, rows, columns
        self.true_values, self.estimates = truth[rows, columns], estimate[rows, columns]
        there = np.isfinite(self.estimates)
        self.found, self.known = self.estimates[there].astype(np.float64), self.true_values[there].astype(np.float64)
        self.error = median(np.abs(self.found - self.known)) if self.found.size else math.inf
        self.typical = median(np.abs(self.known)) if self.known.size else 0.0
        self.fineness = min(1.0, self.typical / USUAL_DISPARITY)
        self.tolerance = max(SMALL_ERROR * self.fineness, SMALL_SHARE * self.typical)

    @property
    def medians(self) -> str:
        """The medians of both maps in words, without a unit."""
        return f"median {median(self.found):.4g}, ground truth {median(self.known):.4g}"

    @property
    def ratio(self) -> float:
        """The median quotient of estimate and truth; 0 where there is none."""
        nonzero = self.known != 0
        found = median(self.found[nonzero] / self.known[nonzero]) if nonzero.any() else 0.0
        return found if math.isfinite(found) else 0.0

    def close(self, estimates: NDArray[Any], known: NDArray[Any] | None = None) -> NDArray[np.bool_]:
        """Where estimates of the samples are close to the true disparities."""
        truth = self.true_values if known is None else known
        return np.asarray(np.abs(estimates - truth) <= max(CLOSE * self.fineness, CLOSE_SHARE * self.typical))

    def without(self, values: Sequence[float]) -> SampledPair:
        """The samples whose estimate is none of these values."""
        kept = ~np.isin(self.estimates, np.asarray(values, np.float32))
        return SampledPair(self.estimate, self.truth, self.rows[kept], self.columns[kept])

    def is_wrong(self, value: float, corrected: Callable[[Values], Values] | None = None) -> bool:
        """Whether an estimate of this value is wrong at nearly all of its pixels, as it is or as corrected."""
        at = self.found == value
        found = self.found[at] if corrected is None else corrected(self.found[at])
        return float(np.mean(np.abs(found - self.known[at]) > self.tolerance)) >= ALL_WRONG

    def error_of(self, values: Values) -> float:
        """The median error that these values would have in place of the estimates; what is not finite is infinite."""
        return median_error(values, self.known)

    def clipped_error(self, values: Values) -> float:
        """Their mean error, of which no pixel counts more than a few times the tolerance."""
        return float(np.mean(np.fmin(np.abs(values - self.known), CLIPPED * self.tolerance)))

    def agreement(self, estimates: NDArray[Any] | None = None) -> float:
        """The share of the true disparities that the estimates, or others at these pixels, are close to."""
        return float(self.close(self.estimates if estimates is None else estimates).mean()) if self.rows.size else 0.0


def sampled(estimate: DisparityMap, truth: DisparityMap) -> SampledPair:
    """Two maps of one size, at no more pixels than are needed to judge them."""
    places = np.flatnonzero(np.isfinite(truth))
    # An odd step does not follow the rows of images, whose widths are even.
    places = places[:: max(1, places.size // MOST_SAMPLES) | 1]
    return SampledPair(estimate, truth, *np.divmod(places, truth.shape[1]))


def median_error(found: Values, known: Values) -> float:
    """The median error; values that are not finite are infinitely wrong."""
    error = np.abs(found - known)
    return median(np.where(np.isfinite(error), error, np.inf))


def rank_correlation(found: Values, known: Values) -> float:
    """Spearman's rank correlation, which is −1 for d and any c / (d + b); 0 where a map has one value only."""
    step = max(1, found.size // MOST_RANKED)
    ranks_found, ranks_known = _ranks(found[::step]), _ranks(known[::step])
    if np.ptp(ranks_found) == 0 or np.ptp(ranks_known) == 0:
        return 0.0
    return float(np.corrcoef(ranks_found, ranks_known)[0, 1])


def _ranks(values: Values) -> Values:
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")).astype(np.float64)


SWAP_DIFFERENCE, SWAP_RATIO = 0.08, 1.4
CLEAR_SWAP_SHARE, CLEAR_SWAP_RATIO = 0.01, 4.0
FLIP_DIFFERENCE, FLIP_RATIO = 0.25, 1.6
LARGEST_PADDING, LARGEST_CUT = 0.25, 1.0
"""The part of the width or height that padding may add, and that cutting may have removed of what is left."""
CLIPPED = 3.0
"""Tolerances up to which an error counts."""
RESCALED = 0.15
"""How far a change of size must be from none, so that disparities in pixels of the other size are recognised."""


def flipped(pair: SampledPair) -> Suspicion | None:
    """Whether the map fits the ground truth far better when it is mirrored."""
    agreement = pair.agreement()
    # A map that is merely shifted by a constant fits better unturned.
    shift = np.float32(median(pair.found - pair.known) if pair.found.size else 0.0)
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
    shift = median(difference[np.isfinite(difference)]) if np.isfinite(difference).any() else 0.0
    if np.mean(pair.close(here - np.float32(shift), known)) >= np.mean(fits_right):
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
    """Why a map has another size than the ground truth: of what is tried, what makes it agree best."""
    (height, width), (known_height, known_width) = estimate.shape, truth.shape
    sizes = f"The map has {width} × {height} pixels, the ground truth {known_width} × {known_height}"
    factor = known_width / width
    tried: list[tuple[DisparityMap, DisparityMap, str, str]] = []
    if estimate.shape == truth.shape[::-1]:
        tried.append((estimate.T, truth, "transposed", ": rows and columns are exchanged; set flip to transpose."))
    for x, y in _places_within(estimate.shape, truth.shape, LARGEST_PADDING):
        said = f": it was padded, and fits from column {x} and row {y} on; set crop to {x},{y}."
        tried.append((estimate[y : y + known_height, x : x + known_width], truth, "padded", said))
    for x, y in _places_within(truth.shape, estimate.shape, LARGEST_CUT):
        said = (
            f": it was cut, and fits from column {x} and row {y} of the ground truth on; give the map of the whole "
            "image, or a ground truth that is cut alike."
        )
        tried.append((estimate, truth[y : y + height, x : x + width], "wrong-size", said))
    rows, columns = np.arange(known_height) * height // known_height, np.arange(known_width) * width // known_width
    spread = np.asarray(estimate)[np.ix_(rows, columns)]
    said = ": it was computed on smaller or larger images; set resize, which scales the disparities with the width."
    tried.append((spread * np.float32(factor), truth, "wrong-size", said))
    if abs(factor - 1) > RESCALED:
        further = f"set resize, and scale to {scale * factor:.6g}."
        said = f", and its disparities are in pixels of that size already; {further}"
        tried.append((spread, truth, "wrong-size", said))
    fitting: list[tuple[float, Suspicion]] = []
    for map_, known, kind, said in tried:
        pair = sampled(map_, known)
        if pair.error <= pair.tolerance:  # of its error, the factor between both maps says nothing about the place
            fitting.append((pair.clipped_error(pair.found / (pair.ratio or 1.0)), Suspicion(kind, sizes + said)))
    neither = f"{sizes}, and neither cropping nor resizing makes it fit; give a map of the ground truth's size."
    return min(fitting, key=lambda one: one[0])[1] if fitting else Suspicion("wrong-size", neither)


def _places_within(larger: tuple[int, ...], smaller: tuple[int, ...], most: float) -> list[tuple[int, int]]:
    """Columns and rows at which a map may lie in one that is larger by at most this part: at edges, in the middle."""
    rows, columns = (more - less for more, less in zip(larger, smaller, strict=True))
    if not (0 <= rows <= most * smaller[0] and 0 <= columns <= most * smaller[1]):
        return []
    return [(x, y) for y in sorted({0, rows // 2, rows}) for x in sorted({0, columns // 2, columns})]
