"""Near, middle and far pixels."""

from __future__ import annotations

import numpy as np

from stereogauge.errors import NotApplicable
from stereogauge.model import Mask
from stereogauge.regions.declaration import region
from stereogauge.regions.scene_regions import SceneRegions

SOURCE = "depth terciles of the scene, or the protocol's limits in metres"


def _disparity_limits(scene_regions: SceneRegions) -> tuple[float, float]:
    """Disparities that divide far from mid and mid from near; nearer means larger."""
    near, far = scene_regions.parameters.near, scene_regions.parameters.far
    if near is None and far is None:
        known = scene_regions.scene.gt[scene_regions.known]
        if known.size == 0:
            raise NotApplicable(f"Scene {scene_regions.scene.id!r} has no known pixel to divide by distance.")
        low, high = np.quantile(known, (1 / 3, 2 / 3))
        return float(low), float(high)
    calibration = scene_regions.scene.calibration
    if calibration.focal_baseline is None:
        raise NotApplicable(f"Limits in metres need a calibration, and scene {scene_regions.scene.id!r} has none.")
    if near is None or far is None or not 0 < near < far:
        raise NotApplicable(f"Limits of distance are two depths with 0 < near < far; found near={near}, far={far}.")
    return calibration.focal_baseline / far - calibration.doffs, calibration.focal_baseline / near - calibration.doffs


@region(id="near", name="Near", definition=r"\{x : Z(x) < z_1\}", source=SOURCE, version=2)
def near(scene_regions: SceneRegions) -> Mask:
    """The nearest third of the known pixels, or those nearer than the protocol's limit."""
    mask: Mask = scene_regions.scene.gt > _disparity_limits(scene_regions)[1]
    return mask


@region(id="mid", name="Middle distance", definition=r"\{x : z_1 \le Z(x) \le z_2\}", source=SOURCE, version=2)
def mid(scene_regions: SceneRegions) -> Mask:
    """Pixels between near and far."""
    low, high = _disparity_limits(scene_regions)
    mask: Mask = (scene_regions.scene.gt >= low) & (scene_regions.scene.gt <= high)
    return mask


@region(id="far", name="Far", definition=r"\{x : Z(x) > z_2\}", source=SOURCE, version=2)
def far(scene_regions: SceneRegions) -> Mask:
    """The farthest third of the known pixels, or those farther than the protocol's limit."""
    mask: Mask = scene_regions.scene.gt < _disparity_limits(scene_regions)[0]
    return mask
