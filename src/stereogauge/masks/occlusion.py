"""Which pixels both cameras see, by one of four rules."""

from __future__ import annotations

import numpy as np

from stereogauge.kernels import views as kernels
from stereogauge.model import DisparityMap, Mask


def middlebury_v2_visible(truth: DisparityMap) -> Mask:
    """Visible pixels as in Middlebury's official v2 masks, reproduced from the left ground truth alone."""
    return kernels.middlebury_v2_visible(np.nan_to_num(truth, nan=0.0))


def bidirectional_visible(left: DisparityMap, right: DisparityMap, tolerance: float = 1.0) -> Mask:
    """|D_L(x) − D_R(x − round D_L(x))| ≤ tolerance with the target inside the image.

    An unknown right value means occluded.
    """
    return kernels.bidirectional_visible(left, right, tolerance)


def z_buffer_visible(left: DisparityMap, tolerance: float = 1.0) -> Mask:
    """From the left map alone.

    Hidden where a pixel nearer by more than `tolerance` px lands on the same target or the target leaves.
    """
    return kernels.z_buffer_visible(left, tolerance)
