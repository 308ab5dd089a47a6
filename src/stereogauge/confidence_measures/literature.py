"""Further measures from the literature, turned round where needed so that lower means more confident.

X. Hu, P. Mordohai, "A quantitative evaluation of confidence measures for stereo vision", IEEE TPAMI 34(11), 2012,
unless said otherwise. A are the aggregated costs of a pixel, d₀ the winner, A₀ = A(d₀), d₁ the second smallest local
minimum, A₂ the second smallest cost. Those of windows are named as in M. Poggi et al., "On the confidence of stereo
matching in a deep-learning era: a quantitative evaluation", IEEE TPAMI 44(9), 2022.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures.declaration import measure
from stereogauge.confidence_measures.evidence import Evidence
from stereogauge.errors import NotApplicable
from stereogauge.kernels.confidence import count_minima, doubled_matches, least_difference, window_agreement
from stereogauge.kernels.cost_summary import NONE
from stereogauge.matching.result import eight_bit
from stereogauge.matching.sgm import census

SOURCE = "Hu, Mordohai 2012"
WINDOW = 7


@measure("matching-score", "matching score", "A₀", SOURCE)
def matching_score(evidence: Evidence) -> NDArray[np.float32]:
    """The winner's cost."""
    return evidence.summary.minimum.astype(np.float32)


@measure("naive-peak-ratio", "naive peak ratio", "(A₀ + 1) / (A₂ + 1)", SOURCE)
def naive_peak_ratio(evidence: Evidence) -> NDArray[np.float32]:
    """The winner against the second smallest cost anywhere, mostly its neighbour's; 0 where there is no second."""
    summary = evidence.summary
    ratio = (summary.minimum.astype(np.float32) + 1) / (summary.second.astype(np.float32) + 1)
    return np.where(summary.second == NONE, np.float32(0), ratio)


@measure("maximum-margin", "maximum margin", "−(A(d₁) − A₀)", SOURCE)
def maximum_margin(evidence: Evidence) -> NDArray[np.float32]:
    """How much cheaper the winner is than the next local minimum; where there is none, as if that cost 65535."""
    summary = evidence.summary
    return summary.minimum.astype(np.float32) - summary.second_minimum.astype(np.float32)


@measure("winner-margin", "winner margin", "−(A(d₁) − A₀) / (Σ A + 1)", SOURCE)
def winner_margin(evidence: Evidence) -> NDArray[np.float32]:
    """The margin over the next local minimum relative to all costs."""
    margin = evidence.measured(maximum_margin)
    return (margin / (evidence.summary.total + 1.0)).astype(np.float32)


@measure("maximum-likelihood", "maximum likelihood", "1 − 1 / Σ exp(−(A(d) − A₀)/T)", SOURCE, scale="temperature")
def maximum_likelihood(evidence: Evidence) -> NDArray[np.float32]:
    """One minus the winner's probability when costs are taken as exponents; T = P2 of the matcher unless given."""
    return (1 - 1 / evidence.summary.partition).astype(np.float32)


@measure(
    "ambiguity",
    "ambiguity",
    "mean over d ≤ x of max(0, 1 − (A(d) − A₀) / (paths · P2))",
    "after Sarrazin et al., ISPRS Archives 2021",
)
def ambiguity(evidence: Evidence) -> NDArray[np.float32]:
    """How many disparities rival the winner, each by how little more it costs.

    Only those that stay inside the right image.
    """
    return evidence.summary.ambiguity


@measure("local-curve", "local curve", "1 / max(1, max(A(d₀−1), A(d₀+1)) − A₀)", SOURCE)
def local_curve(evidence: Evidence) -> NDArray[np.float32]:
    """The inverse slope of the V that fits the winner and its costlier neighbour."""
    summary = evidence.summary
    lowest = summary.minimum.astype(np.float32)
    sides = [np.where(side == NONE, lowest, side.astype(np.float32)) for side in (summary.below, summary.above)]
    slope = np.maximum(sides[0], sides[1]) - lowest
    return (1 / np.maximum(slope, 1)).astype(np.float32)


@measure(
    "left-right-margin",
    "left-right difference of costs",
    "−(A₂ − A₀) / (|A₀ − min A_r(x − d₀)| + 1)",
    SOURCE,
    needs=("costs", "right"),
)
def left_right_margin(evidence: Evidence) -> NDArray[np.float32]:
    """The margin over the second cost, divided by how much the right view's best cost there differs.

    0 outside the right image.
    """
    if evidence.result.right_minimum is None:
        raise NotApplicable(f"{evidence.result.matcher} gave no costs of the right view.")
    summary = evidence.summary
    lowest = summary.minimum.astype(np.float32)
    there = np.arange(lowest.shape[1]) - evidence.winners.astype(np.int64)
    other = np.take_along_axis(evidence.result.right_minimum, np.maximum(there, 0), axis=1).astype(np.float32)
    margin = np.where(summary.second == NONE, np.float32(0), summary.second.astype(np.float32) - lowest)
    return np.where(there >= 0, -margin / (np.abs(lowest - other) + 1), np.float32(0))


@measure(
    "median-deviation", "deviation from the median", "|D − median₅ₓ₅ D|", "Spyropoulos, Mordohai 2016", needs=("image",)
)
def median_deviation(evidence: Evidence) -> NDArray[np.float32]:
    """How far the disparity is from the median of its neighbourhood, in pixels; unknown neighbours count as 0."""
    known = np.nan_to_num(evidence.disparity, nan=0.0)
    deviation: NDArray[np.float32] = np.abs(evidence.disparity - cv2.medianBlur(known, 5))
    return deviation


@measure(
    "distance-border",
    "distance to the border",
    "−min(x, y, W−1−x, H−1−y)",
    "Spyropoulos, Mordohai 2016",
    needs=("image",),
)
def distance_border(evidence: Evidence) -> NDArray[np.float32]:
    """Pixels to the nearest image border, negative: close to it less of the scene supports a match."""
    height, width = evidence.disparity.shape
    rows, columns = np.arange(height), np.arange(width)
    vertical = np.minimum(rows, rows[::-1])[:, np.newaxis]
    horizontal = np.minimum(columns, columns[::-1])[np.newaxis]
    return -np.minimum(vertical, horizontal).astype(np.float32)


@measure("texture", "texture", "1 / (1 + σ₇ₓ₇(I))", "Haeusler, Nair, Kondermann 2013", needs=("image",))
def texture(evidence: Evidence) -> NDArray[np.float32]:
    """The inverse standard deviation of the left image's 8-bit grey values in a 7 × 7 window."""
    image = eight_bit(evidence.result.left).astype(np.float64)
    mean = cv2.blur(image, (WINDOW, WINDOW))
    variance = np.maximum(cv2.blur(image * image, (WINDOW, WINDOW)) - mean * mean, 0)
    return (1 / (1 + np.sqrt(variance))).astype(np.float32)


RADIUS = 4
SIDE = 2 * RADIUS + 1
TENSOR_WINDOW = 7
TOLERANCE = 1.0
EDGE = 1.0


@measure(
    "attainable-likelihood",
    "attainable maximum likelihood",
    "1 − 1 / Σ exp(−(A(d) − A₀)²/ς²)",
    f"Merrell et al. 2007; {SOURCE}",
    scale="sigma",
)
def attainable_likelihood(evidence: Evidence) -> NDArray[np.float32]:
    """One minus the winner's share of the likelihood when costs are Gaussian around the smallest one.

    With 2σ² = ς² it orders pixels as the perturbation does; the scales of both may differ.
    """
    return (1 - 1 / (1 + evidence.summary.perturbation)).astype(np.float32)


@measure(
    "inflection-points",
    "number of inflection points",
    "number of local minima of A(d)",
    "Haeusler, Nair, Kondermann 2013; Poggi et al. 2022",
    needs=("volume",),
)
def inflection_points(evidence: Evidence) -> NDArray[np.float32]:
    """How many valleys the costs have; a plateau is one minimum, range ends may be minima."""
    return count_minima(evidence.costs).astype(np.float32)


@measure(
    "distinctiveness",
    "distinctiveness",
    "−min over 0 < |d| < ndisp of the census distance of x and x + d in the left image",
    f"Manduchi, Tomasi 1999; {SOURCE}",
    needs=("image",),
)
def distinctiveness(evidence: Evidence) -> NDArray[np.float32]:
    """How unlike the most similar other point of its row within the search range a pixel is (7 × 7 census), negated."""
    found = least_difference(census(evidence.result.left), max(1, evidence.result.ndisp - 1))
    return -found.astype(np.float32)


@measure(
    "distinctive-similarity",
    "distinctive similarity",
    "−distinctiveness / (A₀ + 1)²",
    f"Yoon, Kweon 2008; {SOURCE}",
    needs=("costs", "image"),
)
def distinctive_similarity(evidence: Evidence) -> NDArray[np.float32]:
    """Distinctiveness divided by the square of the winner's cost, negative."""
    lowest = evidence.summary.minimum.astype(np.float32) + 1
    similarity: NDArray[np.float32] = evidence.measured(distinctiveness) / (lowest * lowest)
    return similarity


def _agreement(evidence: Evidence) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return window_agreement(evidence.disparity, RADIUS, TOLERANCE)


@measure(
    "disparity-agreement",
    "disparity agreement",
    "1 − share of the 9 × 9 window with |D′ − D| ≤ 1",
    "Poggi, Mattoccia 2016",
    needs=("image",),
)
def disparity_agreement(evidence: Evidence) -> NDArray[np.float32]:
    """How few neighbours have the same disparity to within a pixel; 1 where the pixel has none itself."""
    return np.float32(1) - _agreement(evidence)[0]


@measure(
    "disparity-scattering",
    "disparity scattering",
    "number of different whole disparities in the 9 × 9 window / number of known ones",
    "Poggi, Mattoccia 2016",
    needs=("image",),
)
def disparity_scattering(evidence: Evidence) -> NDArray[np.float32]:
    """How many different disparities a window holds; 1 where the pixel has none itself."""
    return _agreement(evidence)[1]


@measure(
    "disparity-variance",
    "disparity variance",
    "σ² of D in a 9 × 9 window",
    "Haeusler, Nair, Kondermann 2013",
    needs=("image",),
)
def disparity_variance(evidence: Evidence) -> NDArray[np.float32]:
    """Variance of the known disparities of a window, px²; NaN where the pixel has none itself."""
    known = np.isfinite(evidence.disparity)
    values = np.where(known, evidence.disparity, 0).astype(np.float64)
    number = np.maximum(_sums(known.astype(np.float64)), 1)
    mean = _sums(values) / number
    variance = np.maximum(_sums(values * values) / number - mean * mean, 0)
    return np.where(known, variance, np.nan).astype(np.float32)


def _sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(cv2.boxFilter(values, -1, (SIDE, SIDE), normalize=False, borderType=cv2.BORDER_CONSTANT))


@measure(
    "distance-discontinuity",
    "distance to a disparity edge",
    "−px to the nearest step of D above 1 px",
    "Spyropoulos, Mordohai 2016",
    needs=("image",),
)
def distance_discontinuity(evidence: Evidence) -> NDArray[np.float32]:
    """Pixels to the nearest place where neighbouring disparities differ by more than 1 px, negated.

    An unknown pixel is such a place.
    """
    disparity = evidence.disparity
    flat = np.isfinite(disparity)
    across, down = np.abs(np.diff(disparity, axis=1)) > EDGE, np.abs(np.diff(disparity, axis=0)) > EDGE
    flat[:, 1:] &= ~across
    flat[:, :-1] &= ~across
    flat[1:] &= ~down
    flat[:-1] &= ~down
    found = cv2.distanceTransform(flat.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    # OpenCV's roots differ in the last bit with the place of a pixel in memory; squared distances are whole numbers.
    distance = np.sqrt(np.rint(np.square(found, dtype=np.float64)))
    return -np.minimum(distance, np.hypot(*disparity.shape)).astype(np.float32)


@measure(
    "uniqueness",
    "uniqueness constraint",
    "1 where another pixel matches x − d₀ at a lower cost, else 0",
    f"Di Stefano et al. 2004; {SOURCE}",
    needs=("costs",),
)
def uniqueness(evidence: Evidence) -> NDArray[np.float32]:
    """Whether a pixel shares its match with a better one, or matches outside the right image."""
    return doubled_matches(evidence.winners, evidence.summary.minimum)


@measure(
    "structure-tensor",
    "structure tensor",
    "1 / (1 + smaller eigenvalue of Σ₇ₓ₇ ∇I ∇Iᵀ)",
    "Förstner, Gülch 1987; Shi, Tomasi 1994",
    needs=("image",),
)
def structure_tensor(evidence: Evidence) -> NDArray[np.float32]:
    """Texture in every direction: small where the window is flat or has a single edge direction."""
    image = eight_bit(evidence.result.left).astype(np.float32)
    smaller = cv2.cornerMinEigenVal(image, TENSOR_WINDOW, ksize=3)
    return (1 / (1 + np.maximum(smaller, 0))).astype(np.float32)
