"""OpenCV's matchers behind our interface: semi-global block matching in all its modes, and block matching.

Both leave the leftmost ndisp columns unmatched; `full_width` continues the images by their edge pixels first, which
makes the map dense there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import MatcherError
from stereogauge.matching.declaration import Matcher, MatcherParameter, untuned
from stereogauge.matching.result import MatcherOutput, eight_bit
from stereogauge.model import DisparityMap

FIXED_POINT = 16
MODES = {
    "sgbm": cv2.STEREO_SGBM_MODE_SGBM,
    "hh": cv2.STEREO_SGBM_MODE_HH,
    "3way": cv2.STEREO_SGBM_MODE_SGBM_3WAY,
    "hh4": cv2.STEREO_SGBM_MODE_HH4,
}
WHOLE_VOLUME = ("hh", "hh4")
ROWS_OF_COSTS = 32
COMMON = (
    MatcherParameter(
        "uniqueness", "int", 0, "percent by which the best cost must win; losers are unknown", low=0, high=100, step=1
    ),
    untuned("full_width", "bool", True, "match the leftmost ndisp columns too, by continuing the images"),
    untuned(
        "right_view",
        "choice",
        "none",
        "right map by a right-referenced run, or not at all",
        choices=("none", "second-run"),
    ),
)


def semi_global_block_matching(
    left: NDArray[Any],
    right: NDArray[Any],
    ndisp: int,
    *,
    mode: str,
    block: int,
    p1: int,
    p2: int,
    prefilter: int,
    uniqueness: int,
    **views: Any,
) -> MatcherOutput:
    """cv2.StereoSGBM: Birchfield-Tomasi costs in blocks, paths by mode (sgbm 5, hh 8, hh4 4, 3way 3), sub-pixel in
    1/16 px.
    """
    _odd("opencv-sgbm", block)
    matcher = cv2.StereoSGBM.create(
        minDisparity=0,
        numDisparities=_rounded(ndisp),
        blockSize=block,
        P1=p1,
        P2=p2,
        preFilterCap=prefilter,
        uniquenessRatio=uniqueness,
        mode=MODES[mode],
    )
    return _both_views(matcher.compute, left, right, ndisp, "opencv-sgbm", **views)


def block_matching(
    left: NDArray[Any],
    right: NDArray[Any],
    ndisp: int,
    *,
    block: int,
    texture: int,
    uniqueness: int,
    **views: Any,
) -> MatcherOutput:
    """cv2.StereoBM: sums of absolute differences of Sobel-filtered images in blocks; textureless pixels are unknown."""
    _odd("opencv-bm", block)
    if min(left.shape) < block:
        raise MatcherError(
            f"opencv-bm: block={block} does not fit into an image of {left.shape[1]} x {left.shape[0]} pixels."
        )
    matcher = cv2.StereoBM.create(numDisparities=_rounded(ndisp), blockSize=block)
    matcher.setTextureThreshold(texture)
    matcher.setUniquenessRatio(uniqueness)
    return _both_views(matcher.compute, left, right, ndisp, "opencv-bm", **views)


def _odd(matcher: str, block: int) -> None:
    if block % 2 == 0:
        raise MatcherError(f"{matcher}: block={block} is not allowed; it must be odd.")


def _rounded(ndisp: int) -> int:
    """OpenCV takes multiples of 16 only; disparities beyond ndisp are discarded."""
    return -(-ndisp // 16) * 16


def _both_views(
    compute: Callable[[Any, Any], Any],
    left: NDArray[Any],
    right: NDArray[Any],
    ndisp: int,
    name: str,
    *,
    full_width: bool,
    right_view: str,
) -> MatcherOutput:
    margin = _rounded(ndisp) if full_width else 0

    def computed(*views: NDArray[np.uint8]) -> DisparityMap:
        padded = [cv2.copyMakeBorder(image, 0, 0, margin, 0, cv2.BORDER_REPLICATE) for image in views]
        try:
            levels = compute(*padded)[:, margin:]
        except cv2.error as error:
            raise MatcherError(
                f"{name} refused images of {left.shape[1]} x {left.shape[0]} pixels with ndisp {ndisp}: "
                f"{' '.join(error.err.replace('>', ' ').split())}"
            ) from error
        found = (levels >= 0) & (levels < ndisp * FIXED_POINT)
        return np.where(found, levels.astype(np.float32) / FIXED_POINT, np.float32(np.nan))

    lowest, highest = float(min(left.min(), right.min())), float(max(left.max(), right.max()))
    pair = [eight_bit(image, lowest, highest) for image in (left, right)]
    disparity, other = computed(*pair), None
    if right_view != "none":
        mirrored = [np.ascontiguousarray(image[:, ::-1]) for image in reversed(pair)]
        other = np.ascontiguousarray(computed(*mirrored)[:, ::-1])
    return MatcherOutput(disparity=disparity, right_disparity=other, threads=cv2.getNumThreads())


def _sgbm_memory(height: int, width: int, ndisp: int, *, mode: str, full_width: bool, **_: Any) -> int:
    """Two volumes of 16-bit costs in the modes that go over the image twice, else some rows of them."""
    across = width + (_rounded(ndisp) if full_width else 0)
    return 4 * _rounded(ndisp) * across * (height if mode in WHOLE_VOLUME else ROWS_OF_COSTS)


SGBM = Matcher(
    id="opencv-sgbm",
    name="OpenCV SGBM",
    source="OpenCV, cv2.StereoSGBM",
    function=semi_global_block_matching,
    memory=_sgbm_memory,
    parameters=(
        MatcherParameter("mode", "choice", "hh", "which paths are aggregated", choices=tuple(MODES)),
        MatcherParameter("block", "int", 5, "side of the matched block, odd", low=1, high=31, step=2),
        MatcherParameter(
            "p1", "int", 200, "penalty for a disparity step of 1", low=0, high=20000, step=1, logarithmic=True
        ),
        MatcherParameter(
            "p2", "int", 800, "penalty for larger steps", low=1, high=32000, step=1, above="p1", logarithmic=True
        ),
        MatcherParameter("prefilter", "int", 63, "clip of the Sobel-filtered images", low=1, high=127, step=1),
        *COMMON,
    ),
)
BM = Matcher(
    id="opencv-bm",
    name="OpenCV BM",
    source="OpenCV, cv2.StereoBM",
    function=block_matching,
    parameters=(
        MatcherParameter("block", "int", 15, "side of the matched block, odd", low=5, high=51, step=2),
        MatcherParameter(
            "texture", "int", 10, "sum of absolute gradients below which a pixel is unknown", low=0, high=10000, step=10
        ),
        *COMMON,
    ),
)
