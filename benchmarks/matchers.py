"""Census SGM of ours and OpenCV's fastest exact 8-path form, ready to be timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2

from stereogauge.matching.sgm import Workspace, semi_global_matching

PEER = "OpenCV SGBM HH, full width"


def opencv(left: Any, right: Any, ndisp: int) -> Callable[[], Any]:
    """SGBM MODE_HH on images continued to the left, so that it matches every column.

    It keeps its buffers, and has one thread.
    """
    matcher = cv2.StereoSGBM.create(0, ndisp, 1, P1=20, P2=100, mode=cv2.STEREO_SGBM_MODE_HH)
    padded = [cv2.copyMakeBorder(image, 0, 0, ndisp, 0, cv2.BORDER_REPLICATE) for image in (left, right)]
    return lambda: matcher.compute(*padded)


def ours(workspace: Workspace, left: Any, right: Any, ndisp: int, **parameters: Any) -> Callable[[], Any]:
    """Both views by one aggregation; the volume is kept between calls, as the peer keeps its buffers."""
    options = {"right_view": "diagonal", "keep": "nothing", **parameters}
    return lambda: semi_global_matching(left, right, ndisp, workspace=workspace, **options)
