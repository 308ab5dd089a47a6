"""Regions by what a scene shows: distance, texture, and objects of the scene's own masks."""

from __future__ import annotations

import math

import numpy as np

from stereogauge.errors import NotApplicable, UnknownNameError
from stereogauge.masks.declaration import region
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.model import Image, Mask
from stereogauge.registry import Parameter

SOURCE = "depth terciles of the scene, or the protocol's limits in metres"


def _disparity_limits(evaluated: SceneRegions) -> tuple[float, float]:
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
def near(evaluated: SceneRegions) -> Mask:
    """The nearest third of the known pixels, or those nearer than the protocol's limit."""
    mask: Mask = evaluated.scene.gt > _disparity_limits(evaluated)[1]
    return mask


@region(id="mid", name="Middle distance", definition=r"\{x : z_1 \le Z(x) \le z_2\}", source=SOURCE, version=2)
def mid(evaluated: SceneRegions) -> Mask:
    """Pixels between near and far."""
    low, high = _disparity_limits(evaluated)
    mask: Mask = (evaluated.scene.gt >= low) & (evaluated.scene.gt <= high)
    return mask


@region(id="far", name="Far", definition=r"\{x : Z(x) > z_2\}", source=SOURCE, version=2)
def far(evaluated: SceneRegions) -> Mask:
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
def depth(evaluated: SceneRegions, near: float, far: float) -> Mask:
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
def disparity(evaluated: SceneRegions, least: float, limit: float) -> Mask:
    """Pixels whose true disparity in px is at least the first number and less than the second: `disparity@10,40`.

    Where the protocol takes the nearest of four true disparities, their mean.
    """
    if not least < limit:
        raise UnknownNameError(f"disparity@{least:g},{limit:g}: the first disparity must be less than the second.")
    truths = evaluated.four_truths
    size = np.asarray(evaluated.scene.gt if truths is None else np.mean(truths, axis=0), np.float64)
    mask: Mask = (size >= least) & (size < limit)
    return mask


def grey(image: Image) -> Image:
    """The image as float32 grey levels 0…255, rounded to the image's own steps as OpenCV does."""
    import cv2

    stored = image if image.dtype in (np.uint8, np.uint16) else np.asarray(image, np.float32)
    levels = np.asarray(cv2.cvtColor(stored, cv2.COLOR_RGB2GRAY) if stored.ndim == 3 else stored, np.float32)
    return levels / np.float32(257.0) if image.dtype == np.uint16 else levels


def texture_energy(image: Image) -> Image:
    """3×3 mean of the squared horizontal gradient, (Sobel_x / 8)², in grey levels² per px²."""
    import cv2

    gradient = np.asarray(cv2.Sobel(grey(image), cv2.CV_32F, 1, 0, ksize=3), np.float32) / np.float32(8.0)
    return cv2.blur(gradient * gradient, (3, 3))


@region(
    id="textureless",
    name="Textureless",
    definition=r"\{x : \overline{(\partial_x I)^2}_{3\times3}(x) < t\}",
    source="Scharstein & Szeliski 2002; threshold 4 as in OpenCV's stereo tests",
    needs=("gt", "left"),
    version=2,
)
def textureless(evaluated: SceneRegions) -> Mask:
    """Pixels whose windowed gradient energy lies below the protocol's threshold."""
    evaluated.check_size(evaluated.scene.left, "left image")
    energy: Image = texture_energy(evaluated.scene.left)
    mask: Mask = energy < evaluated.parameters.texture_threshold
    return mask


@region(
    id="textured",
    name="Textured",
    definition=r"I \setminus \mathrm{textureless}",
    source="Scharstein & Szeliski 2002",
    needs=("gt", "left"),
    version=2,
)
def textured(evaluated: SceneRegions) -> Mask:
    """Pixels with enough horizontal gradient energy."""
    return ~evaluated.mask("textureless")


def _object_mask(evaluated: SceneRegions, name: str) -> Mask:
    if name not in evaluated.scene.masks:
        raise NotApplicable(f"Region {name!r} needs an object map, and scene {evaluated.scene.id!r} has none.")
    return evaluated.own_mask(name)


@region(
    id="fg",
    name="Foreground objects",
    definition=r"\{x : \text{the object map names an object}\}",
    source="Menze & Geiger 2015",
    needs=("gt", "mask:fg"),
)
def foreground(evaluated: SceneRegions) -> Mask:
    """Pixels of moving objects in KITTI's object map."""
    return _object_mask(evaluated, "fg")


@region(
    id="bg",
    name="Background",
    definition=r"\{x : \text{the object map names no object}\}",
    source="Menze & Geiger 2015",
    needs=("gt", "mask:bg"),
)
def background(evaluated: SceneRegions) -> Mask:
    """Pixels outside all objects in KITTI's object map."""
    return _object_mask(evaluated, "bg")
