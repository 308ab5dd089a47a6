"""Robustness: how much an algorithm's map changes when only the lighting, the exposure or the time changes.

Two maps of the same scene should be equal. Every difference is due to the algorithm; no ground truth is needed.
Middlebury 2014 has such pairs: Motorcycle and MotorcycleE (other exposure), Piano and PianoL (other lighting).

Over time, d_t(x) is compared with d_{t+1}(x + u(x)), with u the optical flow of the left images: given, or estimated
from them. Pixels that the other frame does not show, because they are hidden or outside, are skipped where the flow
there and back disagree. A disparity also changes because things come nearer; with ground truth of both frames the true
change is subtracted.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import asdict
from numpy.typing import NDArray

from stereogauge.errors import FileError, SizeError, StereogaugeError, check_one_size
from stereogauge.io.content import display_name
from stereogauge.io.files import load_disparity
from stereogauge.matching.result import eight_bit, grey
from stereogauge.metrics.picture import Picture
from stereogauge.model import DisparityMap, Mask, ResultSet

Flow = NDArray[np.float32]
FLO_MAGIC = np.float32(202021.25)
KITTI_OFFSET, KITTI_SCALE = 32768.0, 64.0
AGREEMENT = 1.0
"""px by which the flow there and back may disagree at a pixel that both frames show."""


def estimated_flow(first: NDArray[Any], second: NDArray[Any]) -> Flow:
    """The flow from one image to the next by dense inverse search (Kroeger et al., ECCV 2016), NaN where it does not
    lead back to its start.
    """
    import cv2

    pair = [eight_bit(grey(image, "left")) for image in (first, second)]
    search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    start = np.zeros((*pair[0].shape, 2), np.float32)
    there, back = (np.asarray(search.calc(a, b, start.copy()), np.float32) for a, b in (pair, pair[::-1]))
    returned = there + _sampled(back, there)
    agreeing = np.hypot(returned[..., 0], returned[..., 1]) <= AGREEMENT
    there[~agreeing] = np.nan
    return there


def read_flow(path: str | os.PathLike[str]) -> Flow:
    """Flow from Middlebury's .flo, KITTI's 16-bit PNG, or a NumPy array (H, W, 2); NaN = unknown."""
    import cv2

    name = display_name(path)
    text = str(path).lower()
    try:
        if text.endswith(".npy"):
            values = np.load(path, allow_pickle=False)
        elif text.endswith(".png"):
            stored = cv2.imread(os.fspath(path), cv2.IMREAD_UNCHANGED)
            if stored is None or stored.dtype != np.uint16 or stored.ndim != 3:
                raise ValueError("not a 16-bit RGB PNG")
            values = (stored[..., :0:-1].astype(np.float32) - KITTI_OFFSET) / KITTI_SCALE
            values[stored[..., 0] == 0] = np.nan
        else:
            data = np.fromfile(path, "<f4")
            if data.size < 3 or data[0] != FLO_MAGIC:
                raise ValueError("not a .flo file")
            width, height = data[1:3].view("<i4")
            values = data[3 : 3 + 2 * width * height].reshape(height, width, 2)
    except (OSError, ValueError) as problem:
        raise FileError(f"{name}: cannot be read as optical flow ({problem}).") from None
    if values.ndim != 3 or values.shape[2] != 2:
        raise FileError(f"{name}: optical flow has the shape (height, width, 2); found {values.shape}.")
    flow = np.array(values, np.float32)
    flow[~(np.abs(flow) < 1e9)] = np.nan
    return flow


def along_flow(later: DisparityMap, flow: Flow) -> DisparityMap:
    """The later map brought to the pixels of the earlier frame: d_{t+1}(x + u(x)) at the nearest pixel.

    NaN where the flow is unknown or leaves the image.

    >>> flow = np.zeros((1, 4, 2), np.float32)
    >>> flow[..., 0] = 1  # everything moves one pixel to the right
    >>> along_flow(np.array([[9, 1, 2, 3]], np.float32), flow)
    array([[ 1.,  2.,  3., nan]], dtype=float32)
    """
    check_one_size("The flow", flow.shape[:2], "the map", later.shape)
    return _sampled(later, flow)


def _sampled(values: NDArray[np.float32], flow: Flow) -> NDArray[np.float32]:
    height, width = flow.shape[:2]
    known: Mask = np.all(np.isfinite(flow), axis=2)
    motion = np.where(known[..., np.newaxis], flow, 0)
    columns = np.rint(np.arange(width) + motion[..., 0]).astype(np.int64)
    rows = np.rint(np.arange(height)[:, np.newaxis] + motion[..., 1]).astype(np.int64)
    inside: Mask = known & (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    found = values[np.where(inside, rows, 0), np.where(inside, columns, 0)]
    found[~inside] = np.nan
    return found


GUARD = 1e-6
"""px by which float32 may miss a change that equals the threshold; the same as in the bad-pixel metrics."""
Pairs = Mapping[str, tuple[str, str]]
MIDDLEBURY_PAIRS: Pairs = {
    "exposure": ("Motorcycle", "MotorcycleE"),
    "lighting": ("Piano", "PianoL"),
}


class Robustness(Struct, frozen=True):
    """Change between two maps on a set of pixels.

    `changed`: share in % of the pixels with both estimates whose disparities differ by more than the threshold. `mean`,
    `median`: of the absolute difference, in px. `lost`, `gained`: share in % of the set with an estimate only in the
    first, only in the second map. `count`: pixels with both. 0 everywhere is full robustness; NaN where no pixel has
    both.
    """

    changed: float
    mean: float
    median: float
    lost: float
    gained: float
    count: int


def robustness(
    first: DisparityMap, second: DisparityMap, *, threshold: float = 1.0, mask: Mask | None = None
) -> Robustness:
    """How much `second` differs from `first`, on `mask` or everywhere."""
    shapes = {first.shape, second.shape} | ({mask.shape} if mask is not None else set())
    if len(shapes) > 1:
        found = ", ".join(f"{shape[1]}×{shape[0]}" for shape in sorted(shapes))
        raise SizeError(f"Robustness compares maps of one size; found {found}.")
    if not 0 <= threshold < math.inf:
        raise StereogaugeError(f"The threshold of a change is a number of px from 0 on; found {threshold:g}.")
    inside = np.ones(first.shape, np.bool_) if mask is None else mask
    here, there = np.isfinite(first) & inside, np.isfinite(second) & inside
    both = here & there
    total = int(np.count_nonzero(inside))
    count = int(np.count_nonzero(both))
    difference = np.abs(first[both].astype(np.float64) - second[both])
    return Robustness(
        changed=_percent(int(np.count_nonzero(difference > threshold + GUARD)), count),
        mean=float(difference.mean()) if count else math.nan,
        median=float(np.median(difference)) if count else math.nan,
        lost=_percent(int(np.count_nonzero(here & ~there)), total),
        gained=_percent(int(np.count_nonzero(there & ~here)), total),
        count=count,
    )


def change_picture(first: DisparityMap, second: DisparityMap, *, threshold: float = 1.0) -> Picture:
    """|second − first| per pixel; hatched where only one of the maps has an estimate."""
    alone = np.isfinite(first) != np.isfinite(second)
    limits = (0.0, max(2.0 * threshold, 1.0))
    title = "change between two maps; hatched: an estimate in only one of them"
    return Picture(title, np.abs(second - first), "sequential", "px", limits, missing=alone)


def known_pairs(scenes: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Middlebury's pairs whose two scenes a dataset has."""
    there = set(scenes)
    return {condition: pair for condition, pair in MIDDLEBURY_PAIRS.items() if there.issuperset(pair)}


def sequence_pairs(scenes: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Each scene of a sequence and the one before it."""
    return {f"step {number}": pair for number, pair in enumerate(itertools.pairwise(scenes), start=1)}


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else math.nan


def robustness_over_time(
    maps: Sequence[DisparityMap], *, threshold: float = 1.0, mask: Mask | None = None
) -> list[Robustness]:
    """Each map of a still scene against the one before it."""
    return [robustness(a, b, threshold=threshold, mask=mask) for a, b in itertools.pairwise(maps)]


def _followed(
    maps: tuple[DisparityMap, DisparityMap],
    flow: Flow,
    first: str,
    second: str,
    truths: Callable[[str], DisparityMap] | None,
) -> tuple[DisparityMap, DisparityMap]:
    """Both maps at the pixels of the first frame, without the true change where that is known."""
    later = along_flow(maps[1], flow)
    if truths is not None:
        later = later - (along_flow(truths(second), flow) - truths(first))
    seen = np.isfinite(along_flow(np.ones_like(later), flow))
    return np.where(seen, maps[0], np.float32(np.nan)), later


def robustness_table(
    results: Sequence[ResultSet],
    pairs: Pairs = MIDDLEBURY_PAIRS,
    *,
    threshold: float = 1.0,
    masks: Mapping[str, Mask] | None = None,
    flows: Callable[[str, str], Flow] | None = None,
    truths: Callable[[str], DisparityMap] | None = None,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """One row per algorithm and pair: algorithm, condition, first, second and the numbers of `Robustness`.

    `pairs` maps a condition to the two scenes; `masks` the first scene's id to the pixels to compare. An algorithm
    without both maps has a row of NaN. `flows` gives the optical flow from one scene to the other, along which the maps
    are then compared, and `truths` the ground truth of a scene, whose change along the flow is subtracted. `progress`
    is called with the name of every finished row.
    """
    rows = []
    for result in results:
        for condition, (first, second) in pairs.items():
            row: dict[str, object] = {
                "algorithm": result.name,
                "condition": condition,
                "first": first,
                "second": second,
            }
            if first in result.maps and second in result.maps:
                maps = (load_disparity(result.maps[first]), load_disparity(result.maps[second]))
                try:
                    if flows is not None:
                        maps = _followed(maps, flows(first, second), first, second, truths)
                    row |= asdict(robustness(*maps, threshold=threshold, mask=(masks or {}).get(first)))
                except SizeError as problem:
                    raise SizeError(f"{result.name}, {first} and {second}: {problem}") from None
            rows.append(row)
            if progress is not None:
                progress(f"{result.name}, {condition}")
    order = ["algorithm", "condition", "first", "second", *Robustness.__struct_fields__]
    return pd.DataFrame(rows, columns=order)
