"""Damages of one kind of geometry each: edges, planes, thin structures. Each is what one geometry metric is named
after.

Each changes only its zone, so that the response of a metric is a response to this damage alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.model import DisparityMap, Mask
from stereogauge.study.damage import BLUR, damage
from stereogauge.study.ground_truth import GroundTruth, disc

REACHES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
OFFSETS = (0.02, 0.05, 0.1, 0.2, 0.4)
LOST = (0.05, 0.1, 0.2, 0.3, 0.5)
FACET_REACHES = 1.5
PORE_REACHES = 1.0
CUT = 2.0  # px along the structure: the least that separates 8-connected parts at any angle

_edges = functools.partial(
    damage, unit="reach", strengths=REACHES, reference=0.6, limit=3.0, zone=attrgetter("edge_zone"), per_reach=True
)
_planes = functools.partial(
    damage, unit="reach", strengths=OFFSETS, reference=0.1, limit=1000.0, zone=attrgetter("plane_zone"), per_reach=True
)
_lost = functools.partial(
    damage, unit="share", strengths=LOST, reference=0.2, limit=0.9, zone=lambda truth: truth.fine > 0
)


def _filtered(values: Any) -> NDArray[np.float32]:
    return np.asarray(values, dtype=np.float32)


def _partly(
    truth: GroundTruth, radius: float, random: np.random.Generator, filtered: Callable[[int], Any]
) -> NDArray[np.float32]:
    """A filter whose radius in px is fractional: some tiles get the next whole radius, the others the one below."""
    height, width = truth.disparity.shape
    side = max(4, round(2.0 * truth.reach))
    whole = int(radius)
    tiles = random.random((height // side + 1, width // side + 1)) < radius - whole
    more = tiles.repeat(side, axis=0).repeat(side, axis=1)[:height, :width]
    return np.where(more, _filtered(filtered(whole + 1)), _filtered(filtered(whole)))


def _where(zone: Mask, damaged: NDArray[np.float32], truth: GroundTruth) -> DisparityMap:
    return np.where(zone, damaged, truth.disparity)


@_edges("fatten-foreground", "fattened foreground", metric="d-fat")
def fatten_foreground(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Foreground objects grow over their background; slanted surfaces stay as they are."""
    import cv2

    larger = _partly(truth, strength, random, lambda radius: cv2.dilate(truth.disparity, disc(radius)))
    return _where(truth.edge_zone & (larger - truth.disparity > truth.step), larger, truth)


@_edges("thin-foreground", "thinned foreground", metric="d-thin")
def thin_foreground(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Background grows over the rims of foreground objects; slanted surfaces stay as they are."""
    import cv2

    smaller = _partly(truth, strength, random, lambda radius: cv2.erode(truth.disparity, disc(radius)))
    return _where(truth.edge_zone & (truth.disparity - smaller > truth.step), smaller, truth)


@damage("fuzzy-edges", "fuzzy edges", metric="d-fuz-rel", **BLUR, zone=attrgetter("edge_zone"))
def fuzzy_edges(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Depth discontinuities are smoothed by a Gaussian; the rest of the map stays as it is."""
    import cv2

    return _where(truth.edge_zone, _filtered(cv2.GaussianBlur(truth.disparity, (0, 0), strength)), truth)


@_planes("bumps", "bumps on planes", metric="p-bump")
def bumps(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Planes carry independent Gaussian noise of that standard deviation."""
    noise = random.normal(0.0, strength, truth.disparity.shape).astype(np.float32)
    return _where(truth.plane_zone, truth.disparity + noise, truth)


@_planes("plane-offset", "shifted planes", metric="p-off")
def plane_offset(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Each plane moves nearer or farther by that much, as a whole."""
    signs = random.choice([-1.0, 1.0], int(truth.planes.max()) + 1).astype(np.float32)
    return _where(truth.plane_zone, truth.disparity + np.float32(strength) * signs[truth.planes], truth)


@damage(
    "plane-tilt",
    "tilted facets",
    metric="p-mis",
    unit="px/px",
    strengths=(0.05, 0.1, 0.2, 0.4, 0.8),
    reference=0.2,
    limit=100.0,
    zone=attrgetter("plane_zone"),
)
def plane_tilt(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Planes break into square facets, each turned about its own centre by that slope in a random direction."""
    height, width = truth.disparity.shape
    side = max(6, round(FACET_REACHES * truth.reach))
    y, x = np.mgrid[:height, :width]
    direction = random.uniform(0.0, 2.0 * np.pi, (height // side + 1, width // side + 1))[y // side, x // side]
    from_centre_x, from_centre_y = x % side - 0.5 * (side - 1), y % side - 0.5 * (side - 1)
    relief = strength * (np.cos(direction) * from_centre_x + np.sin(direction) * from_centre_y)
    return _where(truth.plane_zone, truth.disparity + relief.astype(np.float32), truth)


@_lost("pores", "pores in thin structures", metric="f-por")
def pores(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Round holes, a few and large, show the background through thin structures until that share of them is lost."""
    import cv2

    pixels = np.flatnonzero(truth.fine)
    lost = np.zeros(truth.disparity.shape, np.uint8)
    radius = max(2, round(PORE_REACHES * truth.reach))
    for centre in random.permutation(pixels):
        if lost.ravel()[pixels].mean() >= strength:
            break
        y, x = divmod(int(centre), truth.disparity.shape[1])
        cv2.circle(lost, (x, y), radius, 1, cv2.FILLED)
    return np.where((lost > 0) & (truth.fine > 0), truth.behind_fine, truth.disparity)


@_lost("cuts", "cut thin structures", metric="f-frag")
def cuts(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Thin structures are cut across, again and again, until that share of them is lost to the background."""
    lost = np.zeros(truth.disparity.shape, np.bool_)
    period = CUT / strength
    for pixels, along in _axes(truth):
        phase = random.uniform(0.0, period)
        lost.ravel()[pixels[np.mod(along + phase, period) < CUT]] = True
    return np.where(lost, truth.behind_fine, truth.disparity)


def _axes(truth: GroundTruth) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Per thin structure, its flat pixel positions and their coordinate in px along its longest direction."""
    width = truth.disparity.shape[1]
    labels = truth.fine.ravel()
    found = []
    for number in range(1, int(labels.max()) + 1):
        pixels = np.flatnonzero(labels == number)
        if pixels.size == 0:
            continue
        points = np.stack([pixels % width, pixels // width], axis=1).astype(np.float64)
        points -= points.mean(axis=0)
        _, vectors = np.linalg.eigh(points.T @ points)
        found.append((pixels, points @ vectors[:, -1]))
    return found


@_edges("fatten-fine", "fattened thin structures", metric="f-fat", zone=attrgetter("around_fine"), limit=1.0)
def fatten_fine(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Thin structures grow sideways over their background."""
    import cv2

    structures = np.where(truth.fine > 0, truth.disparity, np.float32(-1e9))
    larger = _partly(truth, strength, random, lambda radius: cv2.dilate(structures, disc(radius)))
    return np.where((larger > truth.disparity) & truth.around_fine, larger, truth.disparity)
