"""Evaluation of gradient-boosted trees on many pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import kernel


@kernel
def tree_scores(
    table: NDArray[np.float32],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    missing_left: NDArray[np.bool_],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    value: NDArray[np.float64],
    roots: NDArray[np.int32],
    baseline: float,
    scores: NDArray[np.float32],
) -> None:
    """scores[i] = baseline + the leaves that row i of `table` reaches; see `stereogauge.confidence.trees.Trees`."""
    for i in range(table.shape[0]):
        row = table[i]
        total = baseline
        for root in roots:
            node = root
            while feature[node] >= 0:
                found = row[feature[node]]
                goes_left = missing_left[node] if np.isnan(found) else found <= threshold[node]
                node = left[node] if goes_left else right[node]
            total += value[node]
        scores[i] = total
