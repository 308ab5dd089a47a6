"""The field's usual regions: all pixels, those that both cameras see, those near discontinuities, and the partition."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from stereogauge.errors import ProtocolError
from stereogauge.masks.declaration import region
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.model import DisparityMap, Mask


@region(
    id="all",
    name="All known pixels",
    definition=r"I = \{x : D(x) \text{ is known}\}",
    source="Scharstein & Szeliski 2002",
)
def all_(evaluated: SceneRegions) -> Mask:
    """Every pixel with known ground truth inside the border; every pixel inside it where the scene has no ground
    truth.

    A scene's own mask of this name narrows it, and with it every other region.
    """
    return np.ones(evaluated.scene.shape, np.bool_)


@region(
    id="nonocc",
    name="Not occluded",
    definition=r"\{x \in I : x \text{ is visible in both views}\}",
    source="Scharstein & Szeliski 2002",
)
def nonocc(evaluated: SceneRegions) -> Mask:
    """Pixels that both cameras see, by the rule of the protocol."""
    return evaluated.visible


@region(
    id="occluded",
    name="Occluded",
    definition=r"I \setminus \mathrm{nonocc}",
    source="Cabezas, Padilla & Trujillo 2011",
    version=2,
)
def occluded(evaluated: SceneRegions) -> Mask:
    """Pixels with known ground truth that the right camera does not see."""
    return ~evaluated.visible


REFERENCE_WIDTH = 450  # px: the image width at which the gap and radius of the protocol hold


def dilated(mask: Mask, radius: int) -> Mask:
    """All pixels within a Chebyshev distance of `radius`."""
    import cv2

    square = np.ones((2 * radius + 1, 2 * radius + 1), np.uint8)
    return cv2.dilate(mask.view(np.uint8), square).view(np.bool_)


def jumps(disparity: DisparityMap, gap: float) -> Mask:
    """Both pixels of every pair of 4-neighbours whose disparities differ by more than `gap`."""
    marked = np.zeros(disparity.shape, np.bool_)
    for first, second in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1, :], np.s_[1:, :])):
        jump = np.abs(disparity[first] - disparity[second]) > gap
        marked[first] |= jump
        marked[second] |= jump
    return marked


def middlebury_v2_near(truth: DisparityMap, visible: Mask, border: int) -> Mask:
    """The v2 rule: jumps of at least 2 px (unknown = 0) and hidden pixels, found inside the border, grown to 9×9 px."""
    disparity = np.nan_to_num(truth, nan=0.0)
    height, width = disparity.shape
    rows, columns = slice(border + 1, height - border - 2), slice(border + 1, width - border - 2)
    marked = np.zeros(truth.shape, np.bool_)
    for down, right in ((0, 1), (1, 0)):
        here = disparity[rows, columns]
        neighbours = (
            slice(rows.start + down, rows.stop + down),
            slice(columns.start + right, columns.stop + right),
        )
        jump = np.abs(here - disparity[neighbours]) >= 2
        marked[rows, columns] |= jump
        marked[neighbours] |= jump
    marked[rows, columns] |= ~visible[rows, columns]
    return dilated(marked, 4)


def near_discontinuities(evaluated: SceneRegions, *, with_occlusions: bool) -> Mask:
    """Pixels near jumps, and near occluded pixels with `with_occlusions`; gap and radius grow with the image width."""
    truth = evaluated.scene.gt
    if evaluated.rule == "middlebury-v2":
        return middlebury_v2_near(truth, evaluated.visible, evaluated.scene.border)
    factor = truth.shape[1] / REFERENCE_WIDTH
    gap = max(1.0, evaluated.parameters.discontinuity_gap * factor)
    radius = min(max(1, round(evaluated.parameters.discontinuity_radius * factor)), max(truth.shape))
    marked = jumps(truth, gap)
    if with_occlusions:
        marked |= ~evaluated.visible & np.isfinite(truth) & evaluated.extent
    return dilated(marked, radius)


@region(
    id="disc",
    name="Near discontinuities",
    definition=r"\{x \in \mathrm{nonocc} : \text{a disparity jump lies near } x\}",
    source="Scharstein & Szeliski 2002",
)
def disc(evaluated: SceneRegions) -> Mask:
    """Visible pixels near depth discontinuities; nested in nonocc.

    Under the Middlebury rule also near occluded pixels.
    """
    if evaluated.rule == "dataset" and "disc" in evaluated.scene.masks:
        return evaluated.own_mask("disc") & evaluated.visible
    return near_discontinuities(evaluated, with_occlusions=False) & evaluated.visible


PARTITION = ("boundary", "interior", "occluded")


@region(
    id="boundary",
    name="Boundary",
    definition=r"\{x \text{ visible} : \text{a jump or an occluded pixel lies near } x\}",
    source="Cabezas & Trujillo 2013",
    version=2,
)
def boundary(evaluated: SceneRegions) -> Mask:
    """Visible pixels near depth discontinuities or near occluded regions."""
    return near_discontinuities(evaluated, with_occlusions=True) & evaluated.visible


@region(
    id="interior",
    name="Interior",
    definition=r"\mathrm{nonocc} \setminus \mathrm{boundary}",
    source="Cabezas & Trujillo 2013",
    version=2,
)
def interior(evaluated: SceneRegions) -> Mask:
    """Visible pixels that are not boundary."""
    return evaluated.visible & ~evaluated.mask("boundary")


def check_partition(masks: Mapping[str, Mask], whole: Mask, scene: str = "") -> None:
    """Raise unless the masks are pairwise disjoint and together are `whole`."""
    where = f" on scene {scene!r}" if scene else ""
    for first, second in combinations(masks, 2):
        overlap = int(np.count_nonzero(masks[first] & masks[second]))
        if overlap:
            raise ProtocolError(
                f"Regions {first!r} and {second!r} overlap in {overlap} pixels{where} and are not a partition; "
                f"use {', '.join(PARTITION)}, or do not add their counts up."
            )
    union = np.logical_or.reduce(list(masks.values()))
    missed = int(np.count_nonzero(whole & ~union))
    if missed:
        raise ProtocolError(
            f"Regions {', '.join(masks)} leave out {missed} known pixels{where} and are not a partition."
        )
