"""The inputs that several benchmarks share: the Motorcycle pair, as it is and enlarged to full size."""

from __future__ import annotations

import functools
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

FULL_SIZE = (2964, 1988)


@functools.cache
def motorcycle() -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float32]]:
    """Left and right grey images and ground truth at a quarter of the full size."""
    from skimage.data import stereo_motorcycle

    left, right, truth = stereo_motorcycle()
    truth = np.where(np.isfinite(truth) & (truth > 0), truth, np.nan).astype(np.float32)
    return cv2.cvtColor(left, cv2.COLOR_RGB2GRAY), cv2.cvtColor(right, cv2.COLOR_RGB2GRAY), truth


@functools.cache
def motorcycle_full() -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float32]]:
    """The same enlarged to 2964 × 1988, disparities scaled with the width."""
    left, right, truth = motorcycle()
    factor = FULL_SIZE[0] / left.shape[1]
    images = (cv2.resize(image, FULL_SIZE, interpolation=cv2.INTER_CUBIC) for image in (left, right))
    large = cv2.resize(truth, FULL_SIZE, interpolation=cv2.INTER_NEAREST) * np.float32(factor)
    return (*images, large)


def noisy_estimate(truth: NDArray[np.float32], seed: int = 0) -> NDArray[np.float32]:
    """Ground truth with heavy-tailed errors and 4 % of its pixels missing."""
    rng = np.random.default_rng(seed)
    estimate = np.where(np.isfinite(truth), truth, 50) + 0.7 * rng.standard_t(2, truth.shape)
    estimate[rng.random(truth.shape) < 0.04] = np.nan
    return estimate.astype(np.float32)
