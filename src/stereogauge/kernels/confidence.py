"""Confidence from the shape of all costs, the row of one image, windows of a map, and trees (native/confidence.cpp)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.cost_summary import flat_costs
from stereogauge.kernels.library import INTEGER, REAL, Reads, Writes, native

LONGEST_CODE = 31
"""Bytes of a code whose differing bits can be counted in a byte, with one number to spare."""

_map = ("height", "width")
_count_minima = native(
    "count_minima",
    costs=Reads(np.uint16, "size"),
    found=Writes(np.uint16, "pixels"),
    padded=INTEGER,
    ndisp=INTEGER,
)
_least_difference = native(
    "least_difference",
    codes=Reads(np.uint8, "bytes", *_map),
    found=Writes(np.uint16, *_map),
    best=Writes(np.uint8, "width"),
    reach=INTEGER,
)
_window_agreement = native(
    "window_agreement",
    disparity=Reads(np.float32, *_map),
    agreeing=Writes(np.float32, *_map),
    kinds=Writes(np.float32, *_map),
    seen=Writes(np.float32, "pixels"),
    radius=INTEGER,
    tolerance=REAL,
)
_doubled_matches = native(
    "doubled_matches",
    winners=Reads(np.uint16, *_map),
    lowest=Reads(np.uint16, *_map),
    doubled=Writes(np.float32, *_map),
    best=Writes(np.int64, "width"),
)
_tree_scores = native(
    "tree_scores",
    table=Reads(np.float32, "rows", "features"),
    feature=Reads(np.int32, "nodes"),
    threshold=Reads(np.float64, "nodes"),
    missing_left=Reads(np.bool_, "nodes"),
    left=Reads(np.int32, "nodes"),
    right=Reads(np.int32, "nodes"),
    value=Reads(np.float64, "nodes"),
    roots=Reads(np.int32, "trees"),
    scores=Writes(np.float32, "rows"),
    baseline=REAL,
)


def count_minima(costs: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Per pixel the number of local minima of its costs (H, W, ndisp): plateaus with nothing lower beside them, range
    ends too.
    """
    height, width, ndisp = costs.shape
    found = np.empty(height * width, np.uint16)
    flat, padded = flat_costs(costs)
    _count_minima(flat, found, padded, ndisp)
    return found.reshape(height, width)


def least_difference(codes: NDArray[np.uint8], reach: int) -> NDArray[np.uint16]:
    """Per pixel the smallest Hamming distance of its code (bytes, H, W) to the others within `reach` in its row.

    65535 where there is no other pixel.
    """
    size, height, width = codes.shape
    if size > LONGEST_CODE:
        raise ValueError(f"least_difference: codes have at most {LONGEST_CODE} bytes, not {size}.")
    found = np.empty((height, width), np.uint16)
    _least_difference(codes, found, np.empty(width, np.uint8), reach)
    return found


def window_agreement(
    disparity: NDArray[np.float32], radius: int, tolerance: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Per pixel, over the window's pixels inside the image: the share within `tolerance` of its disparity, and the
    number of different whole disparities divided by the number of known ones.

    Where the pixel itself is unknown: 0 and 1.
    """
    if radius < 0:
        raise ValueError(f"window_agreement: a radius is not negative; found {radius}.")
    agreeing, kinds = np.empty(disparity.shape, np.float32), np.empty(disparity.shape, np.float32)
    seen = np.empty((2 * radius + 1) ** 2, np.float32)
    _window_agreement(np.ascontiguousarray(disparity), agreeing, kinds, seen, radius, tolerance)
    return agreeing, kinds


def doubled_matches(winners: NDArray[np.uint16], lowest: NDArray[np.uint16]) -> NDArray[np.float32]:
    """1 where another pixel of the row matches the same right pixel at a lower cost, or the match is outside, else
    0.
    """
    doubled = np.empty(winners.shape, np.float32)
    best = np.empty(winners.shape[-1], np.int64)
    _doubled_matches(np.ascontiguousarray(winners, np.uint16), np.ascontiguousarray(lowest), doubled, best)
    return doubled


def tree_scores(
    table: NDArray[np.float32],
    baseline: float,
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    missing_left: NDArray[np.bool_],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    value: NDArray[np.float64],
    roots: NDArray[np.int32],
) -> NDArray[np.float32]:
    """`baseline` + the leaves that each row of `table` reaches; see `stereogauge.confidence_measures.learned.Trees`."""
    if not sound_trees(table.shape[1], feature, left, right, roots):
        raise ValueError("tree_scores: a node of these trees refers to a feature or node that does not exist.")
    scores = np.empty(len(table), np.float32)
    _tree_scores(table, feature, threshold, missing_left, left, right, value, roots, scores, baseline)
    return scores


def sound_trees(
    features: int,
    feature: NDArray[np.int32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    roots: NDArray[np.int32],
) -> bool:
    """Whether every path leads to a leaf, within the arrays: children come after their parents."""
    count = len(feature)
    if left.shape != (count,) or right.shape != (count,):
        return False
    (inner,) = np.nonzero(feature >= 0)
    children = np.concatenate([left[inner], right[inner]])
    return bool(
        feature.max(initial=-1) < features
        and ((roots >= 0) & (roots < count)).all()
        and ((children > np.concatenate([inner, inner])) & (children < count)).all()
    )
