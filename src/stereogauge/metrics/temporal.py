"""Errors over time, on the frames of a film: how much an estimate flickers beyond what the ground truth changes.

E and D are the estimate and the ground truth of a frame, E' and D' those of the next one; the last frame has no score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.metrics.costs import PixelCosts, mean
from stereogauge.metrics.declaration import metric, percentage
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.pixelwise import THRESHOLD, is_above

DYNAMIC_STEREO = "Karaev et al., DynamicStereo, CVPR 2023"
NEEDS = ("gt", "gt_next", "next_estimate")
NO_CHANGE = "no pixel of region {region!r} has a true and an estimated change to the next frame"


def _change_error(m: Measurement) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """(E' − E) − (D' − D), and where both true disparities are known."""
    return (m.next_estimate - m.estimate) - (m.scene.gt_next - m.gt), np.isfinite(m.scene.gt_next)


@metric(
    id="tepe",
    name="Temporal end-point error",
    formula=r"\frac{1}{|V|}\sum_V |(E' - E) - (D' - D)|",
    unit="px",
    source=f"{DYNAMIC_STEREO} (TEPE)",
    missing="left out",
    needs=NEEDS,
    reduce=mean,
)
def tepe(m: Measurement) -> PixelCosts:
    """Mean error of the change of disparity from a frame to the next one at the same pixel; 0 is no flicker.

    The benchmark's program divides by the number of pixels whose error is not exactly 0.
    """
    error, known = _change_error(m)
    return PixelCosts(np.abs(error), defined=known, empty=NO_CHANGE)


@percentage(
    id="tepe-bad",
    name="Flickering pixels",
    formula=r"\frac{100}{|R|}\,|\{x \in R : |(E' - E) - (D' - D)| > \delta\}|",
    source=f"{DYNAMIC_STEREO} (δ with a threshold)",
    missing="counted",
    parameters=(THRESHOLD,),
    needs=NEEDS,
    wrong=("changes as it should within {0:g} px", "changes otherwise by more than {0:g} px"),
    examples=("tepe-bad@1", "tepe-bad@3"),
)
def tepe_bad(m: Measurement, threshold: float) -> PixelCosts:
    """Share of pixels whose disparity changes to the next frame otherwise than the true one, by more than δ."""
    error, known = _change_error(m)
    wrong = np.where(np.isnan(error), np.nan, is_above(m, error, threshold))
    return PixelCosts(wrong, defined=known, empty=NO_CHANGE)
