"""Post-processing of disparity maps, each step a separate function, applied only on request.

H. Hirschmüller, "Stereo processing by semiglobal matching and mutual information", IEEE TPAMI 30(2), 2008, sections
2.4–2.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from stereogauge.errors import MatcherError
from stereogauge.kernels.left_right import interpolate as interpolate
from stereogauge.kernels.left_right import left_right_check as left_right_check
from stereogauge.matching.declaration import MatcherParameter, Value
from stereogauge.model import DisparityMap, as_disparity

CONSISTENT, OCCLUDED, MISMATCHED = 0, 1, 2

POST_PARAMETERS: Mapping[str, MatcherParameter] = {
    parameter.name: parameter
    for parameter in (
        MatcherParameter(
            "lr_check",
            "float",
            0.0,
            "remove pixels whose right disparity differs by more pixels than this; 0 = no check",
            low=0,
            high=64,
            step=0.5,
        ),
        MatcherParameter("median", "choice", 0, "side of the median window; 0 = no median", choices=(0, 3, 5)),
        MatcherParameter(
            "speckle", "int", 0, "remove connected regions of fewer pixels; 0 = keep all", low=0, high=100000, step=10
        ),
        MatcherParameter(
            "fill", "bool", False, "interpolate removed pixels: occluded from the background, others from around"
        ),
    )
}


def median(disparity: DisparityMap, size: int = 3) -> DisparityMap:
    """The median in a size × size window where all of it is known; other pixels keep their value."""
    known = np.isfinite(disparity)
    filtered = cv2.medianBlur(np.where(known, disparity, np.float32(0)), size)
    inside = cv2.erode(known.view(np.uint8), np.ones((size, size), np.uint8), borderValue=1).view(np.bool_)
    return np.where(inside, filtered, disparity)


def remove_speckles(disparity: DisparityMap, size: int) -> DisparityMap:
    """Unknown where a region of neighbours that differ by at most 1 px has fewer than `size` pixels."""
    known = np.isfinite(disparity)
    scale = 16.0
    levels = np.where(known, np.clip(np.rint(disparity * scale), -32000, 32000), -32768).astype(np.int16)
    removed = levels.copy()
    cv2.filterSpeckles(removed, -32768, size - 1, scale)
    return np.where(removed != levels, np.float32(np.nan), disparity)


class PostProcessing(Struct, frozen=True):
    """The requested steps, in the order in which they run."""

    lr_check: float = 0.0
    median: int = 0
    speckle: int = 0
    fill: bool = False
    chosen: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any], matcher: str) -> PostProcessing:
        """From parameters as they were written."""
        chosen = {name: POST_PARAMETERS[name].checked(value, matcher) for name, value in given.items()}
        return cls(**chosen, chosen=chosen)  # type: ignore[arg-type]  # each value has been converted to its field's type

    def apply(
        self, disparity: DisparityMap, right_disparity: NDArray[Any] | None, ndisp: int, matcher: str
    ) -> tuple[DisparityMap, DisparityMap | None, NDArray[np.uint8] | None]:
        """Median and speckles on both maps, then the check, then the filling; both maps and the check's classes."""
        other = None if right_disparity is None else as_disparity(right_disparity, f"right disparity map of {matcher}")
        left = self._cleaned(disparity)
        right = None if other is None else self._cleaned(other)
        occluded = np.zeros(left.shape, np.bool_)
        labels = None
        if self.lr_check > 0:
            if right is None:
                raise MatcherError(
                    f"{matcher}: lr_check={self.lr_check:g} needs a right map, and this matcher gave none."
                )
            labels = left_right_check(left, right, ndisp, self.lr_check)
            left = np.where(labels == CONSISTENT, left, np.float32(np.nan))
            occluded = labels == OCCLUDED
        return (interpolate(left, occluded) if self.fill else left), right, labels

    def _cleaned(self, disparity: DisparityMap) -> DisparityMap:
        smooth = median(disparity, self.median) if self.median else disparity
        return remove_speckles(smooth, self.speckle) if self.speckle else smooth
