"""How a map fails on any smooth surface, planar or not: bumps of the error, and normals in metric space.

As the authors of the HCI Stereo Metrics measure them in their later light-field benchmark, on the pixels of any region:
`surface-bump:curved`, `normal-error:planar`. E is the estimate, D the ground truth; it scores exactly 0 on both. Pixels
whose window holds a missing estimate are left out and counted as missing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.metrics.costs import Costs
from stereogauge.metrics.declaration import Parameter, Statistic, metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.pooling import mean
from stereogauge.model import DisparityMap
from stereogauge.opencv import cv2

LIGHT_FIELDS = "Honauer, Johannsen, Kondermann & Goldluecke, ACCV 2016"
NORMALS = "Johannsen et al., CVPR workshops 2017"
FACTOR = 100.0
SCHARR = 1 / 16  # the benchmark's filter: (3, 10, 3)/16 across, (−1, 0, 1) along
STEPS = np.arange(-2.0, 3.0)
Maps = NDArray[np.float64]


def hessian_norm(values: NDArray[np.floating]) -> Maps:
    """‖H‖_F with both derivatives by Scharr's filter; NaN where one of the 5 × 5 pixels around is.

    The filter is not divided by the 2 px that it spans, as in the benchmark's own program: H is four times the second
    derivatives per px².
    """
    field = np.asarray(values, np.float64)

    def along(image: Maps, x: int, y: int) -> Maps:
        return np.asarray(cv2.Scharr(image, cv2.CV_64F, x, y, scale=SCHARR, borderType=cv2.BORDER_REFLECT))

    first = along(field, 1, 0), along(field, 0, 1)
    second = [along(part, x, y) for part in first for x, y in ((1, 0), (0, 1))]
    return np.asarray(np.sqrt(np.sum(np.square(second), axis=0)))


def metric_normals(disparity: DisparityMap, focal: float, doffs: float) -> Maps:
    r"""Surface normals (H, W, 3) of unit length in camera coordinates; NaN where one of the 5 × 5 pixels is missing.

    A surface whose disparity is d = a·x + b·y + c around a pixel has the normal
    \(n \propto (f a, f b, d + \mathrm{doffs} - a (x - c_x) - b (y - c_y))\), exactly so for planes, since
    \(d + \mathrm{doffs} = f B / Z\). Slopes are by least squares over 5 × 5 px, the principal point is the image's
    centre. The baseline does not matter.
    """
    height, width = disparity.shape
    field = np.asarray(disparity, np.float64)
    across, around = np.full(5, 1 / 5), STEPS / 10
    slope_x = np.asarray(cv2.sepFilter2D(field, cv2.CV_64F, around, across))
    slope_y = np.asarray(cv2.sepFilter2D(field, cv2.CV_64F, across, around))
    for slope in (slope_x, slope_y):
        slope[:2], slope[-2:], slope[:, :2], slope[:, -2:] = np.nan, np.nan, np.nan, np.nan
    rows, columns = np.ogrid[:height, :width]
    towards = field + doffs - slope_x * (columns - (width - 1) / 2) - slope_y * (rows - (height - 1) / 2)
    normals = np.stack([focal * slope_x, focal * slope_y, towards], axis=-1)
    return np.asarray(normals / np.linalg.norm(normals, axis=-1, keepdims=True))


def _bumps(m: Measurement) -> Maps:
    return m.once("surface-bump", lambda: hessian_norm(m.estimate - m.gt))


def _angles(m: Measurement) -> Maps:
    """Degrees between estimated and true normals; NaN where one is undefined or its point not before the cameras."""

    def angles() -> Maps:
        calibration = m.scene.calibration
        focal = calibration.focal or 1.0
        ours, true = (metric_normals(disparity, focal, calibration.doffs) for disparity in (m.estimate, m.gt))
        across = np.linalg.norm(np.cross(ours, true), axis=-1)
        found = np.degrees(np.arctan2(across, np.sum(ours * true, axis=-1)))
        behind = (m.estimate + calibration.doffs <= 0) | (m.gt + calibration.doffs <= 0)
        return np.where(behind, np.nan, found)

    return m.once("normal-error", angles)


def _truth_defines(m: Measurement) -> NDArray[np.bool_]:
    """Pixels whose 5 × 5 window is known: only there may an estimate be missing."""
    known = cv2.erode(np.isfinite(m.gt).astype(np.uint8), np.ones((5, 5), np.uint8), borderValue=0)
    return np.asarray(known == 1)


def _measured(m: Measurement, region: str, values: Maps) -> tuple[Maps, int]:
    """The values of a region, and how many are missing for want of an estimate."""
    inside = values[m.mask(region) & _truth_defines(m)]
    found = inside[np.isfinite(inside)]
    return found, inside.size - found.size


def _heat(m: Measurement, title: str, values: Maps, unit: str, limit: float) -> Picture:
    shown = np.where(m.regions.known, values, np.nan).astype(np.float32)
    return Picture(title, shown, "sequential", unit, (0.0, limit), missing=np.isnan(m.estimate))


def _bump_picture(m: Measurement, clip: float) -> Picture:
    return _heat(m, "bumpiness of the error", FACTOR * np.minimum(_bumps(m), clip), "", FACTOR * clip)


def _angle_picture(m: Measurement) -> Picture:
    return _heat(m, "error of surface normals", _angles(m), "°", 90.0)


def _bump_costs(m: Measurement, region: str, clip: float) -> Costs:
    return np.where(_truth_defines(m), FACTOR * np.minimum(_bumps(m), clip), np.nan)


@metric(
    id="surface-bump",
    name="Bumpiness of surfaces",
    formula=r"\frac{100}{|V|}\sum_{x \in V} \min(\|H_{E - D}(x)\|_F, c)",
    unit="",
    source=LIGHT_FIELDS,
    missing="left out",
    parameters=(
        Parameter(
            "clip", unit="px/px²", description="the norm beyond which a bump counts no more", low=0.0, default=0.05
        ),
    ),
    finalize=mean,
    picture=_bump_picture,
    costs=_bump_costs,
    examples=("surface-bump@0.05", "surface-bump@0.5"),
)
def surface_bump(m: Measurement, region: str, clip: float) -> Statistic:
    """100 times the mean Frobenius norm of the Hessian of E − D, each norm clipped at c.

    0: the estimate has the ground truth's shape, wherever it lies. The benchmark's c = 0.05 is for light fields, whose
    disparities are below 4 px; larger ones need a larger c.
    """
    values, missing = _measured(m, region, _bumps(m))
    if not values.size:
        return Statistic.empty(f"no pixel of region {region!r} has an estimate in all of its 5 × 5 window", missing)
    return Statistic(FACTOR * float(np.minimum(values, clip).sum()), values.size, missing)


@metric(
    id="normal-error",
    name="Median error of surface normals",
    formula=r"\operatorname{median}_{x \in V} \angle(n_E(x), n_D(x)), \quad "
    r"n \propto (f a, f b, d + \mathrm{doffs} - a (x - c_x) - b (y - c_y))",
    unit="°",
    range=(0.0, 180.0),
    source=NORMALS,
    missing="left out",
    needs=("gt", "calibration"),
    picture=_angle_picture,
)
def normal_error(m: Measurement, region: str) -> Statistic:
    """Median angle in degrees between estimated and true surface normal in metric space.

    a and b are slopes by least squares over 5 × 5 px. 0: every patch is parallel to the true surface. `p-mis` measures
    angles in disparity space, where a surface seems the flatter the farther away it is.
    """
    values, missing = _measured(m, region, _angles(m))
    if not values.size:
        return Statistic.empty(f"no pixel of region {region!r} has an estimate in all of its 5 × 5 window", missing)
    return Statistic.of_value(float(np.median(values)), values.size, missing)
