"""Evaluation of ensembles of decision trees on many pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import kernel

BLOCK = 1024
"""Pixels that pass through one tree after the other, so that the nodes of a tree stay in the cache."""


@kernel(vectorised=False)
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
    """scores[i] = baseline + the leaves that row i of `table` reaches; see `Trees`."""
    totals = np.empty(BLOCK)
    for start in range(0, table.shape[0], BLOCK):
        rows = table[start : start + BLOCK]
        count = len(rows)
        for i in range(count):
            totals[i] = baseline
        for root in roots:
            for i in range(count):
                node = root
                while feature[node] >= 0:
                    found = rows[i, feature[node]]
                    goes_left = missing_left[node] if np.isnan(found) else found <= threshold[node]
                    node = right[node] + goes_left * (left[node] - right[node])  # no branch to mispredict
                totals[i] += value[node]
        for i in range(count):
            scores[start + i] = totals[i]
