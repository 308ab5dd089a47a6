"""Calibration: whether confidence maps that are standard deviations or probabilities mean what they say.

V. Kuleshov, N. Fenner, S. Ermon, "Accurate uncertainties for deep learning using calibrated regression", ICML 2018
(intervals); C. Guo et al., "On calibration of modern neural networks", ICML 2017 (bins of probability, ECE).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.confidence_measures.sparsification import is_bad
from stereogauge.errors import NotApplicable, StereogaugeError
from stereogauge.model import Mask, as_disparity

Distribution: TypeAlias = Literal["gaussian", "laplace"]
DISTRIBUTIONS: tuple[Distribution, ...] = ("gaussian", "laplace")
LEVELS = tuple(step / 20 for step in range(1, 20))
REPORTED = (0.5, 0.68, 0.9, 0.95, 0.99)
LEAST_SIGMA = 1e-6
BINS = 10
ROOT2 = math.sqrt(2)


class Reliability(Struct, frozen=True):
    """A reliability diagram: what a map predicts and what is observed, with the number of pixels behind each point.

    `ece` is the expected calibration error, the mean distance of both; `nll` the mean negative log-likelihood, nats.
    For intervals `predicted` are their probabilities and every point has all pixels; for probabilities of a good pixel
    it is the mean of each bin, and the mean distance is weighted by pixels.
    """

    kind: Literal["intervals", "probability"]
    predicted: tuple[float, ...]
    observed: tuple[float, ...]
    pixels: tuple[int, ...]
    ece: float
    nll: float
    count: int
    distribution: Distribution | None = None
    coverage: Mapping[float, float] | None = None

    @property
    def figures(self) -> dict[str, float]:
        """Its numbers as columns of a table."""
        end = "" if self.distribution is None else f"_{self.distribution}"
        covered = {f"coverage_{100 * level:g}{end}": share for level, share in (self.coverage or {}).items()}
        return {f"ece{end}": self.ece, f"nll{end}": self.nll, **covered}


def calibrate_sigma(
    sigma: NDArray[Any],
    disparity: NDArray[Any],
    gt: NDArray[Any],
    mask: Mask | None = None,
    *,
    distribution: Distribution = "gaussian",
    levels: Sequence[float] = LEVELS,
) -> Reliability:
    """Intervals of a map of standard deviations in px: how many errors each holds, and how likely the errors are.

    Over the estimated pixels with known ground truth and a known σ. nll is the mean of log(σ√2π) + e²/2σ² (Gaussian),
    or log 2b + |e|/b with b = σ/√2 (Laplace); a σ below 10⁻⁶ px counts as that.

    >>> truth = np.random.default_rng(0).normal(0, 2.0, (200, 200))  # the errors of a map that is 0 everywhere
    >>> found = calibrate_sigma(np.full((200, 200), 2.0), np.zeros((200, 200)), truth)
    >>> found.ece < 0.01, round(found.coverage[0.95], 2)
    (True, 0.95)
    """
    deviation, error, _ = _inside(sigma, disparity, gt, mask)
    if (deviation < 0).any():
        raise StereogaugeError("A standard deviation is at least 0; this map holds negative values.")
    deviation = np.maximum(deviation, LEAST_SIGMA)
    scaled = error / deviation
    # The probability of the smallest central interval that holds an error of that many deviations.
    if distribution == "gaussian":
        from scipy.special import erf

        probability = erf(scaled / ROOT2)
        likelihood = np.log(deviation) + math.log(2 * math.pi) / 2 + scaled**2 / 2
    else:
        probability = -np.expm1(-ROOT2 * scaled)
        likelihood = np.log(ROOT2 * deviation) + ROOT2 * scaled
    held = np.sort(probability)

    def share(level: float) -> float:
        return float(np.searchsorted(held, level, side="right")) / held.size

    observed = [share(level) for level in levels]
    return Reliability(
        kind="intervals",
        predicted=tuple(levels),
        observed=tuple(observed),
        pixels=(held.size,) * len(levels),
        ece=float(np.mean(np.abs(np.subtract(observed, levels)))),
        nll=float(np.mean(likelihood)),
        count=held.size,
        distribution=distribution,
        coverage={level: share(level) for level in REPORTED},
    )


def calibrate_probability(
    probability: NDArray[Any],
    disparity: NDArray[Any],
    gt: NDArray[Any],
    mask: Mask | None = None,
    *,
    threshold: float = 3.0,
    bins: int = BINS,
) -> Reliability:
    """A map of probabilities that a pixel is good (error at most `threshold` px), in bins of equal width.

    ece is Σ (n_b/N)·|share of good pixels − mean probability|; nll the mean of −log of the probability that was given
    to what happened, probabilities kept 10⁻⁶ away from 0 and 1.
    """
    given, _, inside = _inside(probability, disparity, gt, mask)
    if ((given < 0) | (given > 1)).any():
        raise StereogaugeError(
            f"A probability lies between 0 and 1; this map has {given.min():g} … {given.max():g}. An image needs its "
            "scale, such as 65535."
        )
    good = ~is_bad(as_disparity(disparity)[inside], as_disparity(gt)[inside], threshold)
    index = np.minimum((given * bins).astype(np.int64), bins - 1)
    number = np.bincount(index, minlength=bins)
    used = number > 0
    predicted = np.bincount(index, given, bins)[used] / number[used]
    observed = np.bincount(index, good, bins)[used] / number[used]
    safe = np.clip(given, 1e-6, 1 - 1e-6)
    return Reliability(
        kind="probability",
        predicted=tuple(predicted.tolist()),
        observed=tuple(observed.tolist()),
        pixels=tuple(number[used].tolist()),
        ece=float(np.sum(number[used] * np.abs(observed - predicted)) / given.size),
        nll=float(-np.mean(np.where(good, np.log(safe), np.log1p(-safe)))),
        count=int(given.size),
    )


def _inside(
    values: NDArray[Any], disparity: NDArray[Any], gt: NDArray[Any], mask: Mask | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """The map's values and |D − G| on the pixels where all is known, and these pixels."""
    inside: NDArray[np.bool_] = np.isfinite(values) & np.isfinite(disparity) & np.isfinite(gt)
    if mask is not None:
        inside &= mask
    if not inside.any():
        raise NotApplicable("Calibration has no pixels: no estimate with ground truth and confidence inside the mask.")
    error = np.abs(disparity[inside].astype(np.float64) - gt[inside].astype(np.float64))
    return values[inside].astype(np.float64), error, inside
