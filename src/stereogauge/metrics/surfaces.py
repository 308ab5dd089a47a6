"""How a map fails on any smooth surface, planar or not: bumps of the error, normals, and directions of gradients.

Bumps and normals as the authors of the HCI Stereo Metrics measure them in their later light-field benchmark, on the
pixels of any region: `surface-bump:curved`, `normal-error:planar`. E is the estimate, D the ground truth; it scores
exactly 0. Pixels whose window holds a missing estimate are left out and counted as missing.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.kernels.set_scores import direction_counts
from stereogauge.masks.declaration import HCI, LIGHT_FIELDS
from stereogauge.masks.geometry.connected import central_gradient, whole_windows
from stereogauge.metrics.costs import Costs, PixelCosts, mean, quantile
from stereogauge.metrics.declaration import Parameter, Statistic, map_metric, metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture, grey_image
from stereogauge.model import DisparityMap

NORMALS = "Johannsen et al., CVPR workshops 2017"
FACTOR = 100.0
SCHARR = 1 / 16  # the benchmark's filter: (3, 10, 3)/16 across, (−1, 0, 1) along
STEPS = np.arange(-2.0, 3.0)
BINS = 72
NO_WINDOW = "no pixel of region {region!r} has an estimate in all of its 5 × 5 window"
Maps = NDArray[np.float64]


def hessian_norm(values: NDArray[np.floating]) -> Maps:
    """‖H‖_F with both derivatives by Scharr's filter; NaN where one of the 5 × 5 pixels around is.

    The filter is not divided by the 2 px that it spans, as in the benchmark's own program: H is four times the second
    derivatives per px².
    """
    import cv2

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
    import cv2

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
    reduce=mean,
    worst_pixel=lambda _, clip: FACTOR * clip,
    examples=("surface-bump@0.05", "surface-bump@0.5"),
)
def surface_bump(m: Measurement, clip: float) -> PixelCosts:
    """100 times the mean Frobenius norm of the Hessian of E − D, each norm clipped at c.

    0: the estimate has the ground truth's shape, wherever it lies. The benchmark's c = 0.05 is for light fields, whose
    disparities are below 4 px; larger ones need a larger c.
    """
    norms = m.once("surface-bump", lambda: hessian_norm(m.error))
    return PixelCosts(np.minimum(norms, clip), defined=whole_windows(m.gt), factor=FACTOR, empty=NO_WINDOW)


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
    reduce=quantile(0.5),
)
def normal_error(m: Measurement) -> PixelCosts:
    """Median angle in degrees between estimated and true surface normal in metric space.

    a and b are slopes by least squares over 5 × 5 px. 0: every patch is parallel to the true surface. `p-mis` measures
    angles in disparity space, where a surface seems the flatter the farther away it is.
    """
    return PixelCosts(_angles(m), defined=whole_windows(m.gt), empty=NO_WINDOW)


class DirectionHistogram(Struct, frozen=True):
    """Counts of gradient directions in equal bins around the circle, of an estimate and of the ground truth.

    The first bin is centred on −180°, so that the directions of the axes, which quantised maps are full of, lie in the
    middle of theirs.
    """

    estimate: NDArray[np.int64]
    truth: NDArray[np.int64]

    @property
    def centres(self) -> NDArray[np.float64]:
        """The centres of the bins in degrees."""
        width = 360 / self.truth.size
        return np.asarray(-180 + width * np.arange(self.truth.size), dtype=np.float64)


def circular_earth_movers_distance(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Least work, in degrees, that turns one circular histogram into the other, both of mass 1; NaN if one is empty.

    On a circle it is Σ|F_i − median F| · bin width, F the cumulated difference (Rabin, Delon & Gousseau, JMIV 2011).
    """
    if not first.any() or not second.any():
        return float("nan")
    difference = np.cumsum(first / first.sum() - second / second.sum())
    return float(np.abs(difference - np.median(difference)).sum() * 360 / first.size)


def direction_histogram(m: Measurement, region: str, bins: int = BINS) -> DirectionHistogram:
    """Gradient directions atan2(∂y, ∂x) on a region; a gradient of 0 has none and is left out."""
    pixels = np.flatnonzero(m.mask(region)).astype(np.int32)
    return DirectionHistogram(direction_counts(m.estimate, pixels, bins), direction_counts(m.gt, pixels, bins))


def _turns(m: Measurement, region: str) -> Costs:
    """How far, in degrees, the estimate's direction is turned from the true one; 180 where it has none."""
    angles = []
    for disparity in (m.estimate, m.gt):
        along_x, along_y, magnitude = central_gradient(disparity)
        angles.append(np.where(magnitude > 0, np.degrees(np.arctan2(along_y, along_x)), np.nan))
    turn = np.abs(angles[0] - angles[1])
    turn = np.minimum(turn, 360 - turn)
    return np.where(np.isnan(angles[1]) & np.isnan(angles[0]), np.nan, np.where(np.isnan(turn), 180.0, turn))


def _directions_picture(m: Measurement) -> Picture:
    along_x, along_y, magnitude = central_gradient(m.estimate)
    directions = np.degrees(np.arctan2(along_y, along_x))
    return Picture(
        title="direction of the disparity gradient",
        values=np.where(magnitude > 0, directions, np.float32(np.nan)),
        kind="cyclic",
        unit="°",
        limits=(-180.0, 180.0),
        missing=np.isnan(m.estimate),
        backdrop=grey_image(m.scene),
    )


@map_metric(
    id="direction-histogram",
    name="Distance of gradient directions",
    formula=r"\mathrm{EMD}_\circ(h_E, h_D), \quad "
    r"h = \text{histogram of } \mathrm{atan2}(\partial_y, \partial_x) \text{ on } R",
    unit="°",
    range=(0.0, 180.0),
    source=f"after {HCI}, supplement, figures 9 and 10",
    missing="left out",
    costs=_turns,
    picture=_directions_picture,
    version=2,
)
def direction_distance(m: Measurement, region: str) -> Statistic:
    """Circular earth mover's distance, in degrees, between the gradient directions of estimate and ground truth.

    72 bins of 5°. 0: the same distribution. 180: all directions opposite. Pixels without an estimate or beside a
    missing one have no direction and count as missing; a gradient of 0 has none either; NaN where no pixel has one. It
    does not pool: a distance of sums is no sum of distances.
    """
    histogram = direction_histogram(m, region)
    count = int(histogram.estimate.sum())
    unknown = np.isnan(central_gradient(m.estimate)[2]) | np.isnan(m.estimate)
    missing = int(np.count_nonzero(m.mask(region) & unknown))
    value = circular_earth_movers_distance(histogram.estimate, histogram.truth)
    if np.isnan(value):
        return Statistic.empty(f"no gradient direction on region {region!r}", missing)
    return Statistic.of_value(value, count, missing)
