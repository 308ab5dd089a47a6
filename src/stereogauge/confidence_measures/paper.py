"""The measures of Haeusler and Klette, in a form that survives real data and as they are printed.

R. Haeusler, R. Klette, "Analysis of KITTI data for stereo analysis with stereo confidence measures", ECCV workshops
2012. A are the aggregated costs of a pixel, d₀ the winner, A₀ = A(d₀). Lower means more confident.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures import literal
from stereogauge.confidence_measures.declaration import Compute, ConfidenceMeasure, measure
from stereogauge.confidence_measures.evidence import Evidence
from stereogauge.kernels.cost_summary import NONE


def _printed(
    equation: int, symbol: str, identifier: str, name: str, formula: str, **options: Any
) -> Callable[[Compute], ConfidenceMeasure]:
    return measure(identifier, name, formula, f"Haeusler, Klette 2012, eq. {equation}", symbol=symbol, **options)


@_printed(1, "Γ0", "curvature", "curvature", "1 / max(1, A(d₀−1) − 2A₀ + A(d₀+1))", literal=literal.curvature)
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


@_printed(3, "Γ2", "peak-ratio", "peak ratio", "(A₀ + 1) / (A(d₁) + 1)", literal=literal.peak_ratio)
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
    literal=literal.entropy,
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
    literal=literal.left_right_difference,
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
    literal=literal.product,
    needs=("costs", "right"),
)
def product(evidence: Evidence) -> NDArray[np.float32]:
    """The logarithm of Γ0·Γ1·Γ2·Γ3·Γ4, each kept above zero: as printed, one zero factor hides the others."""
    total = np.zeros(evidence.disparity.shape, np.float32)
    for part, epsilon in EPSILONS:
        factor = evidence.measured(part) + np.float32(epsilon)
        total += np.log(factor, out=factor)
    return total


@_printed(7, "Δ", "oracle", "accuracy", "|D − G|", needs=("gt",))
def oracle(evidence: Evidence) -> NDArray[np.float32]:
    """The error itself, in pixels: the best order there can be. NaN without ground truth or estimate."""
    return evidence.error
