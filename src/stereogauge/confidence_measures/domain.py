"""The pixels on which Haeusler and Klette compare confidence measures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import NotApplicable
from stereogauge.matching.postprocess import OCCLUDED, left_right_check
from stereogauge.matching.result import MatchResult
from stereogauge.model import Mask, as_disparity


def evaluation_domain(result: MatchResult, gt: NDArray[Any], *, occluded: bool = False) -> Mask:
    """Known ground truth; x ≥ ndisp + r, so that costs exist for every disparity; r pixels inside the border.

    Not occluded.

    r is the radius of the matching window. Occluded is what the matcher's own left-right check says (|D − D_r| > 1
    and no match elsewhere on the epipolar line, before post-processing); mismatched pixels stay. `occluded=True` leaves
    occluded pixels in, for matchers without a right map.
    """
    truth = as_disparity(gt, "ground truth")
    domain = np.isfinite(truth) & inner_pixels(truth.shape, result.ndisp, result.window_radius)
    if occluded:
        return domain
    if result.right_disparity is None:
        raise NotApplicable(
            f"The domain haeusler-klette leaves out what {result.matcher} finds occluded, and it gave no right map; "
            f"{right_map_hint(result)}, or choose another domain, such as all or nonocc."
        )
    right = result.right_disparity if result.right_raw is None else result.right_raw
    labels = left_right_check(result.raw, right, result.ndisp, 1.0)
    domain &= labels != OCCLUDED
    return domain


def right_map_hint(result: MatchResult) -> str:
    """How to come by a right map."""
    if "right_view" in result.parameters:
        return f"match with {result.matcher}:right_view=second-run"
    return "take a matcher that makes one"


def inner_pixels(shape: tuple[int, ...], ndisp: int, radius: int) -> Mask:
    """Pixels with a measured cost for every disparity: x ≥ ndisp + radius, and `radius` pixels from every border."""
    height, width = shape
    inside = np.zeros((height, width), np.bool_)
    inside[radius : height - radius, ndisp + radius : width - radius] = True
    return inside
