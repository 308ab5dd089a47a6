"""Measures exactly as Haeusler and Klette print them, with what that does to real data.

They need the whole volume. Undefined values are NaN, which sparsification takes as the least confident. Entropy and
product are in float64: in float32 the entropies of all clear winners would be one and the same 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures.evidence import Evidence

ROWS = 16


def _by_rows(
    evidence: Evidence, function: Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float32]]
) -> NDArray[np.float32]:
    """`function(costs, winners)` on blocks of rows: the costs in float32 would not fit into memory at once."""
    costs, winners = evidence.costs, evidence.winners.astype(np.int64)[:, :, np.newaxis]
    blocks = [slice(start, start + ROWS) for start in range(0, costs.shape[0], ROWS)]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        return np.concatenate([function(costs[rows].astype(np.float32), winners[rows]) for rows in blocks])


def _at(costs: NDArray[np.float32], disparity: NDArray[np.int64]) -> NDArray[np.float32]:
    inside = (disparity >= 0) & (disparity < costs.shape[2])
    values = np.take_along_axis(costs, np.clip(disparity, 0, costs.shape[2] - 1), axis=2)
    return np.where(inside, values, np.float32(np.nan))[:, :, 0]


def curvature(evidence: Evidence) -> NDArray[np.float32]:
    """1/(A(d₀−1) − 2A₀ + A(d₀+1)): infinite where the costs do not bend, undefined at the ends of the range."""

    def rows(costs: NDArray[np.float32], winners: NDArray[np.int64]) -> NDArray[np.float32]:
        opening = _at(costs, winners - 1) - 2 * _at(costs, winners) + _at(costs, winners + 1)
        return np.float32(1) / opening

    return _by_rows(evidence, rows)


def peak_ratio(evidence: Evidence) -> NDArray[np.float32]:
    """A₀/A(d₁), d₁ the second smallest strict local minimum inside the range.

    Undefined where there are fewer than two.
    """

    def rows(costs: NDArray[np.float32], winners: NDArray[np.int64]) -> NDArray[np.float32]:
        minima = np.full(costs.shape, np.nan, np.float32)
        inner = costs[:, :, 1:-1]
        strict = (costs[:, :, :-2] > inner) & (costs[:, :, 2:] > inner)
        minima[:, :, 1:-1] = np.where(strict, inner, np.nan)
        np.put_along_axis(minima, winners, np.nan, axis=2)
        second = np.fmin.reduce(minima, axis=2)
        ratio: NDArray[np.float32] = _at(costs, winners) / second
        return ratio

    return _by_rows(evidence, rows)


def entropy(evidence: Evidence) -> NDArray[np.float64]:
    """−Σ p log p with p = exp(−A)/Σ exp(−A), in nats and float64; defined everywhere.

    Subtracting the smallest cost changes no p (log-sum-exp): with q = A − A₀ and Z = Σ exp(−q) the entropy is
    log Z + Σ q·exp(−q)/Z, and Z ≥ 1.
    """
    found = np.empty(evidence.costs.shape[:2], np.float64)
    for start in range(0, len(found), ROWS):
        costs = evidence.costs[start : start + ROWS].astype(np.float64)
        costs -= costs.min(axis=2, keepdims=True)
        weights = np.exp(-costs)
        others = np.sum(weights, axis=2, where=costs > 0) + np.count_nonzero(costs == 0, axis=2) - 1
        # log1p keeps what a Z next to 1 would round away.
        found[start : start + ROWS] = np.log1p(others) + np.sum(costs * weights, axis=2) / (1 + others)
    return found


def left_right_difference(evidence: Evidence) -> NDArray[np.float32]:
    """|D(x, y) − D_r(x, y)|, both maps at the same coordinates."""
    difference: NDArray[np.float32] = np.abs(evidence.disparity - evidence.right_disparity)
    return difference


def product(evidence: Evidence) -> NDArray[np.float64]:
    """Γ0·Γ1·Γ2·Γ3·Γ4: zero or undefined wherever one factor is."""
    factors = (
        curvature(evidence),
        evidence.summary.perturbation,
        peak_ratio(evidence),
        entropy(evidence),
        left_right_difference(evidence),
    )
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        combined: NDArray[np.float64] = np.prod(np.stack(factors, dtype=np.float64), axis=0)
    return combined
