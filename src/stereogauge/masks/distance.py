"""Pixels by their distance: near, middle and far, or between two depths."""

from __future__ import annotations

import math

import numpy as np

from stereogauge.errors import NotApplicable, UnknownNameError
from stereogauge.masks.declaration import region
from stereogauge.masks.evaluated_scene import EvaluatedScene
from stereogauge.model import Mask
from stereogauge.registry import Parameter

SOURCE = "depth terciles of the scene, or the protocol's limits in metres"


def _disparity_limits(evaluated: EvaluatedScene) -> tuple[float, float]:
    """Disparities that divide far from mid and mid from near; nearer means larger."""
    near, far = evaluated.parameters.near, evaluated.parameters.far
    if near is None and far is None:
        known = evaluated.scene.gt[evaluated.known]
        if known.size == 0:
            raise NotApplicable(f"Scene {evaluated.scene.id!r} has no known pixel to divide by distance.")
        low, high = np.quantile(known, (1 / 3, 2 / 3))
        return float(low), float(high)
    calibration = evaluated.scene.calibration
    if calibration.focal_baseline is None:
        raise NotApplicable(f"Limits in metres need a calibration, and scene {evaluated.scene.id!r} has none.")
    if near is None or far is None or not 0 < near < far:
        raise NotApplicable(f"Limits of distance are two depths with 0 < near < far; found near={near}, far={far}.")
    return calibration.focal_baseline / far - calibration.doffs, calibration.focal_baseline / near - calibration.doffs


@region(id="near", name="Near", definition=r"\{x : Z(x) < z_1\}", source=SOURCE, version=2)
def near(evaluated: EvaluatedScene) -> Mask:
    """The nearest third of the known pixels, or those nearer than the protocol's limit."""
    mask: Mask = evaluated.scene.gt > _disparity_limits(evaluated)[1]
    return mask


@region(id="mid", name="Middle distance", definition=r"\{x : z_1 \le Z(x) \le z_2\}", source=SOURCE, version=2)
def mid(evaluated: EvaluatedScene) -> Mask:
    """Pixels between near and far."""
    low, high = _disparity_limits(evaluated)
    mask: Mask = (evaluated.scene.gt >= low) & (evaluated.scene.gt <= high)
    return mask


@region(id="far", name="Far", definition=r"\{x : Z(x) > z_2\}", source=SOURCE, version=2)
def far(evaluated: EvaluatedScene) -> Mask:
    """The farthest third of the known pixels, or those farther than the protocol's limit."""
    mask: Mask = evaluated.scene.gt < _disparity_limits(evaluated)[0]
    return mask


@region(
    id="depth",
    name="Between two depths",
    definition=r"\{x : z_1 \le Z(x) < z_2\}",
    source="the true depth, from ground truth and calibration",
    needs=("gt", "calibration"),
    parameters=(
        Parameter("near", unit="m", description="least depth", low=0.0),
        Parameter("far", unit="m", description="depth that is too far", low=0.0, default=math.inf),
    ),
)
def depth(evaluated: EvaluatedScene, near: float, far: float) -> Mask:
    """Pixels whose true depth in metres is at least the first number and less than the second: `depth@2,30`.

    A pixel at infinity (no disparity left after the offset of the principal points) is farther than any limit.
    """
    if not near < far:
        raise UnknownNameError(f"depth@{near:g},{far:g}: the first depth must be less than the second.")
    calibration = evaluated.scene.calibration
    shifted = evaluated.scene.gt.astype(np.float64) + calibration.doffs
    depths = np.where(shifted > 0, calibration.focal_baseline or math.nan, math.inf) / np.where(shifted > 0, shifted, 1)
    mask: Mask = (depths >= near) & ((depths < far) | math.isinf(far))
    return mask


@region(
    id="disparity",
    name="Between two disparities",
    definition=r"\{x : d_1 \le D(x) < d_2\}",
    source="Mehl et al., CVPR 2023 (s0-10, s10-40, s40+)",
    parameters=(
        Parameter("least", unit="px", description="least disparity"),
        Parameter("limit", unit="px", description="disparity that is too large", default=math.inf),
    ),
)
def disparity(evaluated: EvaluatedScene, least: float, limit: float) -> Mask:
    """Pixels whose true disparity in px is at least the first number and less than the second: `disparity@10,40`.

    Where the protocol takes the nearest of four true disparities, their mean.
    """
    if not least < limit:
        raise UnknownNameError(f"disparity@{least:g},{limit:g}: the first disparity must be less than the second.")
    truths = evaluated.four_truths
    size = np.asarray(evaluated.scene.gt if truths is None else np.mean(truths, axis=0), np.float64)
    mask: Mask = (size >= least) & (size < limit)
    return mask
