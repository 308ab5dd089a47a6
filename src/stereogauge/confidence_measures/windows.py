"""The rest of the usual measure set: from the shape of all costs, the image alone, and windows of the map.

Named as in M. Poggi et al., "On the confidence of stereo matching in a deep-learning era: a quantitative evaluation",
IEEE TPAMI 44(9), 2022, and turned round where needed so that lower means more confident. A are the aggregated costs of
a pixel, A₀ the smallest of them.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures.declaration import measure
from stereogauge.confidence_measures.evidence import Evidence
from stereogauge.kernels.confidence_windows import count_minima, doubled_matches, least_difference, window_agreement
from stereogauge.matching.census import census
from stereogauge.matching.images import eight_bit

HU = "Hu, Mordohai 2012"
RADIUS = 4
SIDE = 2 * RADIUS + 1
TENSOR_WINDOW = 7
TOLERANCE = 1.0
EDGE = 1.0


@measure(
    "attainable-likelihood",
    "attainable maximum likelihood",
    "1 − 1 / Σ exp(−(A(d) − A₀)²/ς²)",
    f"Merrell et al. 2007; {HU}",
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
    found = np.empty(evidence.costs.shape[:2], np.uint16)
    count_minima(evidence.costs, found)
    return found.astype(np.float32)


def _distinctiveness(evidence: Evidence) -> NDArray[np.float32]:
    codes = census(evidence.result.left)
    found = np.empty(codes.shape[1:], np.uint16)
    least_difference(codes, max(1, evidence.result.ndisp - 1), found)
    return found.astype(np.float32)


@measure(
    "distinctiveness",
    "distinctiveness",
    "−min over 0 < |d| < ndisp of the census distance of x and x + d in the left image",
    f"Manduchi, Tomasi 1999; {HU}",
    needs=("image",),
)
def distinctiveness(evidence: Evidence) -> NDArray[np.float32]:
    """How unlike the most similar other point of its row within the search range a pixel is (7 × 7 census), negated."""
    return -_distinctiveness(evidence)


@measure(
    "distinctive-similarity",
    "distinctive similarity",
    "−distinctiveness / (A₀ + 1)²",
    f"Yoon, Kweon 2008; {HU}",
    needs=("costs", "image"),
)
def distinctive_similarity(evidence: Evidence) -> NDArray[np.float32]:
    """Distinctiveness divided by the square of the winner's cost, negative."""
    lowest = evidence.summary.minimum.astype(np.float32) + 1
    similarity: NDArray[np.float32] = -_distinctiveness(evidence) / (lowest * lowest)
    return similarity


def _agreement(evidence: Evidence) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    maps = (np.empty(evidence.disparity.shape, np.float32), np.empty(evidence.disparity.shape, np.float32))
    window_agreement(np.ascontiguousarray(evidence.disparity), RADIUS, TOLERANCE, *maps)
    return maps


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
    distance = cv2.distanceTransform(flat.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    return -np.minimum(distance, np.hypot(*disparity.shape)).astype(np.float32)


@measure(
    "uniqueness",
    "uniqueness constraint",
    "1 where another pixel matches x − d₀ at a lower cost, else 0",
    f"Di Stefano et al. 2004; {HU}",
    needs=("costs",),
)
def uniqueness(evidence: Evidence) -> NDArray[np.float32]:
    """Whether a pixel shares its match with a better one, or matches outside the right image."""
    doubled = np.empty(evidence.disparity.shape, np.float32)
    doubled_matches(evidence.winners, evidence.summary.minimum, doubled)
    return doubled


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
