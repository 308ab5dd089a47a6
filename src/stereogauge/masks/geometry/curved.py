"""Smooth surfaces that are no planes."""

from __future__ import annotations

import numpy as np

from stereogauge.masks.connected import without_small_parts
from stereogauge.masks.geometry.sets import GeometrySets
from stereogauge.model import DisparityMap, Mask
from stereogauge.opencv import cv2

WINDOW = 5
VARIANCE_OF_STEPS = 2.0  # of −2 … 2


def smooth_pixels(truth: DisparityMap, tolerance: float) -> Mask:
    """Pixels whose 5 × 5 window is known and lies within `tolerance` (root mean square) of a plane of its own."""
    known = np.isfinite(truth)
    middle = float(np.median(truth[known])) if known.any() else 0.0
    values = np.where(known, truth - middle, 0.0).astype(np.float64)
    even, steps = np.full(WINDOW, 1 / WINDOW), (np.arange(WINDOW) - WINDOW // 2) / WINDOW
    average = cv2.sepFilter2D(values, cv2.CV_64F, even, even)
    squares = cv2.sepFilter2D(values * values, cv2.CV_64F, even, even)
    slopes = [cv2.sepFilter2D(values, cv2.CV_64F, *pair) / VARIANCE_OF_STEPS for pair in ((steps, even), (even, steps))]
    variance = squares - average**2 - VARIANCE_OF_STEPS * (slopes[0] ** 2 + slopes[1] ** 2)
    whole = cv2.erode(known.astype(np.uint8), np.ones((WINDOW, WINDOW), np.uint8), borderValue=0)
    return np.asarray((whole == 1) & (variance <= tolerance**2))


def curved_surfaces(truth: DisparityMap, base: Mask, sets: GeometrySets, least_share: float) -> Mask:
    """Smooth pixels of M₀ on no plane and no fine structure, in parts of at least `least_share` of the image."""
    elsewhere = sets.mask(sets.surface) | sets.mask(sets.fine)
    smooth = smooth_pixels(truth, sets.plane_tolerance) & base & ~elsewhere
    return without_small_parts(smooth, least_share * truth.size)
