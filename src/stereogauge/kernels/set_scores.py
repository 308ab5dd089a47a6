"""What an estimate scores on the pixels of a set: sorted flat positions (row · width + column), with their values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.library import FLAG, INTEGER, Reads, Writes, native

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Positions = NDArray[np.int32]
Labels = NDArray[np.int16]

WINDOW = 5  # px: the side of the windows in which normals are fitted
MOMENTS = 5  # per column: n, Σv, Σv², ΣE, ΣvE
MAP = Reads(np.float32, "height", "width")
PIXELS = Reads(np.int32, "count")
LABELS = Reads(np.int16, "count")
PLANES = Reads(np.float64, "planes", 3)
ASCENDING = "the positions of a set do not ascend inside the map"
WITH_PLANES = f"{ASCENDING}, or a label has no plane among {{planes}}."

_edge_fuzziness = native(
    "edge_fuzziness",
    estimate=MAP,
    pixels=PIXELS,
    gradient=Reads(np.float32, "count"),
    to_discontinuity=Reads(np.float32, "count"),
    to_outside=Reads(np.float32, "count"),
    fuzziness=Writes(np.float32, "count"),
    returns=FLAG,
    refusal=f"{ASCENDING}.",
)
_direction_counts = native(
    "direction_counts",
    estimate=MAP,
    pixels=PIXELS,
    counts=Writes(np.int64, "bins"),
    returns=FLAG,
    refusal=f"{ASCENDING}, or there are no bins.",
)
_second_differences = native(
    "second_differences",
    values=MAP,
    pixels=PIXELS,
    bump=Writes(np.float32, "count"),
    returns=FLAG,
    refusal=f"{ASCENDING}.",
)
_plane_distances = native(
    "plane_distances",
    values=MAP,
    pixels=PIXELS,
    labels=LABELS,
    planes=PLANES,
    scale=Writes(np.float64, "planes"),
    distance=Writes(np.float32, "count"),
    returns=FLAG,
    refusal=WITH_PLANES,
)
_normal_angles = native(
    "normal_angles",
    values=MAP,
    pixels=PIXELS,
    labels=LABELS,
    planes=PLANES,
    moments=Writes(np.float64, MOMENTS, f"width + {WINDOW - 1}"),
    slopes=Writes(np.float64, 2, "width"),
    angles=Writes(np.float32, "count"),
    returns=FLAG,
    refusal=WITH_PLANES,
)
_sum_and_count = native(
    "sum_and_count", values=Reads((np.float32, np.float64), "length"), sum=Writes(np.float64, 1), returns=INTEGER
)


def edge_fuzziness(
    estimate: Floats, pixels: Positions, gradient: Floats, to_discontinuity: Floats, to_outside: Floats
) -> Floats:
    """f = |G|·dist(x, M_d) where G = ‖∇D‖ − ‖∇E‖ < 0, else G·dist(x, Ω∖M_e); NaN where ∇E needs a missing estimate."""
    fuzziness = np.empty(pixels.shape, np.float32)
    _edge_fuzziness(estimate, pixels, gradient, to_discontinuity, to_outside, fuzziness)
    return fuzziness


def direction_counts(estimate: Floats, pixels: Positions, bins: int) -> NDArray[np.int64]:
    """How many of the pixels' gradient directions atan2(∂y, ∂x) fall into each of `bins` bins, the first around −π.

    A pixel without an estimate, a gradient of 0, or one that needs a missing estimate has no direction and is not
    counted.
    """
    counts = np.zeros(bins, np.int64)
    _direction_counts(estimate, pixels, counts)
    return counts


def second_differences(values: Floats, pixels: Positions) -> Floats:
    """|ΔE| with the 4-neighbour Laplacian; NaN where one of the five is missing.

    On the image's rim the second difference across it does not exist and is left out of the sum.
    """
    bump = np.empty(pixels.shape, np.float32)
    _second_differences(values, pixels, bump)
    return bump


def plane_distances(values: Floats, pixels: Positions, labels: Labels, planes: Doubles) -> Floats:
    """Signed distance (E − a·x − b·y − c)/√(1 + a² + b²) of each point to its plane; NaN where E is missing."""
    distance = np.empty(pixels.shape, np.float32)
    _plane_distances(values, pixels, labels, planes, np.empty(len(planes)), distance)
    return distance


def normal_angles(values: Floats, pixels: Positions, labels: Labels, planes: Doubles) -> Floats:
    """Angle in degrees between the 5 × 5 least-squares normal of E and the plane's normal.

    NaN where E is missing or its known neighbours determine no plane.
    """
    angles = np.empty(pixels.shape, np.float32)
    width = values.shape[1]
    moments, slopes = np.empty((MOMENTS, width + WINDOW - 1)), np.empty((2, width))
    _normal_angles(values, pixels, labels, planes, moments, slopes, angles)
    return angles


def sum_and_count(values: NDArray[np.floating[Any]]) -> tuple[float, int]:
    """Sum, in double precision, and number of the values that are not NaN."""
    total = np.empty(1)
    count = _sum_and_count(values, total)
    return float(total[0]), int(count)
