"""Damages that may occur anywhere: noise, blur, quantisation, gaps, streaks, blobs, guesses."""

from __future__ import annotations

import functools

import numpy as np

from stereogauge.model import DisparityMap
from stereogauge.study.damage import BLUR, damage, everywhere
from stereogauge.study.ground_truth import GroundTruth

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
SMALL_MAGNITUDE = 2.0  # px: beyond the usual threshold of 1, and barely visible
LARGE_SHARE = 0.75  # of the scene's disparity range
BLOB_REACHES = 1.0
STREAK_REACHES = 8.0

_share = functools.partial(damage, unit="share", strengths=SHARES, reference=0.1, limit=1.0, zone=everywhere)


def _speckled(truth: GroundTruth, share: float, magnitude: float, random: np.random.Generator) -> DisparityMap:
    shape = truth.disparity.shape
    struck = random.random(shape) < share
    sign = np.where(random.random(shape) < 0.5, np.float32(-magnitude), np.float32(magnitude))
    return np.where(struck, truth.disparity + sign, truth.disparity)


@_share("salt-pepper-small", "salt and pepper, small")
def salt_pepper_small(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """A share of the pixels is off by ±2 px."""
    return _speckled(truth, strength, SMALL_MAGNITUDE, random)


@_share("salt-pepper-large", "salt and pepper, large")
def salt_pepper_large(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """A share of the pixels is off by ± three quarters of the disparity range."""
    low, high = truth.limits
    return _speckled(truth, strength, max(LARGE_SHARE * (high - low), 2 * SMALL_MAGNITUDE), random)


@damage("blur", "blur", **BLUR, zone=everywhere)
def blur(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """The whole map is smoothed by a Gaussian."""
    import cv2

    return np.asarray(cv2.GaussianBlur(truth.disparity, (0, 0), strength), dtype=np.float32)


@damage(
    "staircase", "staircase", unit="px", strengths=(0.25, 0.5, 1, 2, 4), reference=1.0, limit=1000.0, zone=everywhere
)
def staircase(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Disparities are rounded to multiples of the strength."""
    step = np.float32(strength)
    return np.asarray(np.rint(truth.disparity / step) * step, dtype=np.float32)


@_share("holes", "holes")
def holes(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Round gaps without an estimate cover a share of the map."""
    return np.where(_blobs(truth, strength, random) > 0, np.float32(np.nan), truth.disparity)


@_share("blobs", "outlier blobs")
def blobs(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Round spots, each with one wrong disparity drawn from the scene's range, cover a share of the map."""
    labels = _blobs(truth, strength, random)
    values = random.uniform(*truth.limits, int(labels.max()) + 1).astype(np.float32)
    return np.where(labels > 0, values[labels], truth.disparity)


def _blobs(truth: GroundTruth, share: float, random: np.random.Generator) -> np.ndarray:
    """Numbered discs that cover about `share` of the image: n discs of area a leave exp(−n·a/A) of it free."""
    import cv2

    height, width = truth.disparity.shape
    labels = np.zeros((height, width), np.int32)
    radius = max(2.0, BLOB_REACHES * truth.reach)
    free = max(1.0 - share, 1e-3)
    count = max(1, round(-np.log(free) * height * width / (np.pi * radius**2)))
    centres = random.uniform((0, 0), (width, height), (count, 2))
    for number, (x, y) in enumerate(centres, start=1):
        cv2.circle(labels, (int(x), int(y)), round(radius), number, cv2.FILLED)
    return labels


@_share("streaks", "streaks")
def streaks(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Horizontal runs repeat the disparity of their first pixel, as scan-line methods do, over a share of the map."""
    height, width = truth.disparity.shape
    length = max(4, round(STREAK_REACHES * truth.reach))
    damaged = truth.disparity.copy()
    free = max(1.0 - strength, 1e-3)
    count = max(1, round(-np.log(free) * height * width / length))
    rows, columns = random.integers(0, height, count), random.integers(-length, width, count)
    for y, x in zip(rows.tolist(), columns.tolist(), strict=True):
        first = max(x, 0)
        damaged[y, first : x + length] = truth.disparity[y, first]
    return damaged


@_share("guesses", "random re-estimation")
def guesses(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """A share of the pixels gets a new disparity, drawn evenly from the scene's range."""
    shape = truth.disparity.shape
    drawn = random.uniform(*truth.limits, shape).astype(np.float32)
    return np.where(random.random(shape) < strength, drawn, truth.disparity)
