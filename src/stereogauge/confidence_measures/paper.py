"""The measures of Haeusler and Klette, in a form that survives real data and as they are printed.

R. Haeusler, R. Klette, "Analysis of KITTI data for stereo analysis with stereo confidence measures", ECCV workshops
2012. A are the aggregated costs of a pixel, d₀ the winner, A₀ = A(d₀). Lower means more confident.

The printed forms need the whole volume. Undefined values are NaN, which sparsification takes as the least confident.
Entropy and product are then in float64: in float32 the entropies of all clear winners would be one and the same 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures.declaration import Compute, ConfidenceMeasure, Printed, measure
from stereogauge.confidence_measures.evidence import Evidence
from stereogauge.kernels.cost_summary import NONE

ROWS = 16


def _by_rows(function: Callable[[NDArray[Any], NDArray[Any]], NDArray[np.floating[Any]]]) -> Printed:
    """`function(costs, winners)` on blocks of rows: the costs in float32 would not fit into memory at once."""

    def printed(evidence: Evidence) -> NDArray[np.floating[Any]]:
        costs, winners = evidence.costs, evidence.winners.astype(np.int64)[:, :, np.newaxis]
        blocks = [slice(start, start + ROWS) for start in range(0, costs.shape[0], ROWS)]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            return np.concatenate([function(costs[rows].astype(np.float32), winners[rows]) for rows in blocks])

    printed.__doc__ = function.__doc__
    return printed


def _at(costs: NDArray[np.float32], disparity: NDArray[np.int64]) -> NDArray[np.float32]:
    inside = (disparity >= 0) & (disparity < costs.shape[2])
    values = np.take_along_axis(costs, np.clip(disparity, 0, costs.shape[2] - 1), axis=2)
    return np.where(inside, values, np.float32(np.nan))[:, :, 0]


@_by_rows
def printed_curvature(costs: NDArray[np.float32], winners: NDArray[np.int64]) -> NDArray[np.float32]:
    """1/(A(d₀−1) − 2A₀ + A(d₀+1)): infinite where the costs do not bend, undefined at the ends of the range."""
    opening = _at(costs, winners - 1) - 2 * _at(costs, winners) + _at(costs, winners + 1)
    return np.float32(1) / opening


@_by_rows
def printed_peak_ratio(costs: NDArray[np.float32], winners: NDArray[np.int64]) -> NDArray[np.float32]:
    """A₀/A(d₁), d₁ the second smallest strict local minimum inside the range.

    Undefined where there are fewer than two.
    """
    minima = np.full(costs.shape, np.nan, np.float32)
    inner = costs[:, :, 1:-1]
    strict = (costs[:, :, :-2] > inner) & (costs[:, :, 2:] > inner)
    minima[:, :, 1:-1] = np.where(strict, inner, np.nan)
    np.put_along_axis(minima, winners, np.nan, axis=2)
    ratio: NDArray[np.float32] = _at(costs, winners) / np.fmin.reduce(minima, axis=2)
    return ratio


@_by_rows
def printed_entropy(costs: NDArray[np.float32], winners: NDArray[np.int64]) -> NDArray[np.float64]:
    """−Σ p log p with p = exp(−A)/Σ exp(−A), in nats and float64; defined everywhere.

    Subtracting the smallest cost changes no p (log-sum-exp): with q = A − A₀ and Z = Σ exp(−q) the entropy is
    log Z + Σ q·exp(−q)/Z, and Z ≥ 1.
    """
    more = (costs - costs.min(axis=2, keepdims=True)).astype(np.float64)
    weights = np.exp(-more)
    others = np.sum(weights, axis=2, where=more > 0) + np.count_nonzero(more == 0, axis=2) - 1
    # log1p keeps what a Z next to 1 would round away.
    found: NDArray[np.float64] = np.log1p(others) + np.sum(more * weights, axis=2) / (1 + others)
    return found


def printed_left_right_difference(evidence: Evidence) -> NDArray[np.float32]:
    """|D(x, y) − D_r(x, y)|, both maps at the same coordinates."""
    difference: NDArray[np.float32] = np.abs(evidence.disparity - evidence.right_disparity)
    return difference


def printed_product(evidence: Evidence) -> NDArray[np.float64]:
    """Γ0·Γ1·Γ2·Γ3·Γ4: zero or undefined wherever one factor is."""
    factors = (
        printed_curvature(evidence),
        evidence.summary.perturbation,
        printed_peak_ratio(evidence),
        printed_entropy(evidence),
        printed_left_right_difference(evidence),
    )
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        combined: NDArray[np.float64] = np.prod(np.stack(factors, dtype=np.float64), axis=0)
    return combined


PAPER = ("curvature", "perturbation", "peak-ratio", "entropy", "lr-difference")
"""Ids of the five measures that the paper compares and multiplies."""


def _printed(
    equation: int, symbol: str, identifier: str, name: str, formula: str, **options: Any
) -> Callable[[Compute], ConfidenceMeasure]:
    return measure(identifier, name, formula, f"Haeusler, Klette 2012, eq. {equation}", symbol=symbol, **options)


@_printed(1, "Γ0", "curvature", "curvature", "1 / max(1, A(d₀−1) − 2A₀ + A(d₀+1))", literal=printed_curvature)
def curvature(evidence: Evidence) -> NDArray[np.float32]:
    """The inverse of the cost parabola's opening; at an end of the range the missing neighbour mirrors the other."""
    summary = evidence.summary
    first, last = summary.below == NONE, summary.above == NONE
    opening = np.add(
        np.where(first, summary.above, summary.below), np.where(last, summary.below, summary.above), dtype=np.int32
    )
    opening -= summary.minimum
    opening -= summary.minimum
    opening[first & last] = 0
    inverse: NDArray[np.float32] = np.divide(1, np.maximum(opening, 1), dtype=np.float32)
    return inverse


@_printed(2, "Γ1", "perturbation", "perturbation", "Σ_{d≠d₀} exp(−(A₀ − A(d))² / ς²)", scale="sigma")
def perturbation(evidence: Evidence) -> NDArray[np.float32]:
    """How far the costs are from a single minimum in an infinitely high plain; ς = P2 of the matcher unless given."""
    return evidence.summary.perturbation


@_printed(3, "Γ2", "peak-ratio", "peak ratio", "(A₀ + 1) / (A(d₁) + 1)", literal=printed_peak_ratio)
def peak_ratio(evidence: Evidence) -> NDArray[np.float32]:
    """The winner against the second smallest local minimum d₁; a plateau is one minimum, range ends may be minima.

    No d₁ → 0.
    """
    summary = evidence.summary
    other = summary.second_minimum
    ratio = (summary.minimum.astype(np.float32) + 1) / (other.astype(np.float32) + 1)
    return np.where(other == NONE, np.float32(0), ratio)


@_printed(
    4,
    "Γ3",
    "entropy",
    "entropy",
    "−Σ p log p, p(d) = exp(−(A(d)−A₀)/T) / Σ exp(−(A(d′)−A₀)/T)",
    literal=printed_entropy,
    scale="temperature",
)
def entropy(evidence: Evidence) -> NDArray[np.float32]:
    """Entropy of the costs taken as a distribution, in nats; temperature T = P2 of the matcher unless given."""
    summary = evidence.summary
    return np.log(summary.partition) + summary.excess


@_printed(
    5,
    "Γ4",
    "lr-difference",
    "left-right consistency",
    "|D(x) − D_r(x − D(x))|",
    literal=printed_left_right_difference,
    needs=("right",),
)
def left_right_difference(evidence: Evidence) -> NDArray[np.float32]:
    """Disagreement of the two maps in pixels, D_r interpolated; ndisp where x − D(x) leaves the image."""
    return evidence.left_right_difference


EPSILONS = (
    (curvature, 0.0),
    (perturbation, 1e-6),
    (peak_ratio, 1e-3),
    (entropy, 1e-6),
    (left_right_difference, 1 / 16),
)


@_printed(
    6,
    "Γ",
    "product",
    "product of the five",
    "Σ log(Γᵢ + εᵢ), ε = (0, 10⁻⁶, 10⁻³, 10⁻⁶, 1/16)",
    literal=printed_product,
    needs=("costs", "right"),
)
def product(evidence: Evidence) -> NDArray[np.float32]:
    """The logarithm of Γ0·Γ1·Γ2·Γ3·Γ4, each kept above zero: as printed, one zero factor hides the others."""
    return log_product([evidence.measured(part) for part, _ in EPSILONS])


def log_product(factors: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Σ log(Γᵢ + εᵢ) of Γ0 … Γ4, in any reading of them."""
    total = np.zeros(factors[0].shape, np.result_type(*factors))
    for values, (_, epsilon) in zip(factors, EPSILONS, strict=True):
        factor = values + np.float32(epsilon)
        total += np.log(factor, out=factor)
    return total


@_printed(7, "Δ", "oracle", "accuracy", "|D − G|", needs=("gt",))
def oracle(evidence: Evidence) -> NDArray[np.float32]:
    """The error itself, in pixels: the best order there can be. NaN without ground truth or estimate."""
    return evidence.error
