"""Further measures from the literature, turned round where needed so that lower means more confident.

X. Hu, P. Mordohai, "A quantitative evaluation of confidence measures for stereo vision", IEEE TPAMI 34(11), 2012,
unless said otherwise. A are the aggregated costs of a pixel, d₀ the winner, A₀ = A(d₀), d₁ the second smallest local
minimum, A₂ the second smallest cost.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures.declaration import measure
from stereogauge.confidence_measures.evidence import Evidence
from stereogauge.errors import NotApplicable
from stereogauge.kernels.cost_summary import NONE
from stereogauge.matching.images import eight_bit

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
    margin = maximum_margin.compute(evidence)
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
    """How far the disparity stands out from its neighbourhood, in pixels; unknown neighbours count as 0."""
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
