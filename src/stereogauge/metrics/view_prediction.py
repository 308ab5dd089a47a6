"""View prediction: a map is as good as the views that it renders. Needs images, no ground truth.

Scenes with further views: each of them is rendered from the left image and its map, by forward splatting with a
z-buffer, and all their pixels are pooled. Scenes with two views: the left view is rendered from the right image by
backward warping, source(x − E(x)), linear between pixels. Both are compared with the real view as grey images (Rec. 601
luma, 0…255). A pixel without a source is a hole: left out, and counted as missing. So is one of a further view on which
a pixel without an estimate may have fallen: rendered from what is left beside it, it would be worse. Backward warping
gives a pixel that the right camera does not see some other surface's colour: use the region `nonocc` for the papers'
figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.errors import NotApplicable, check_one_size
from stereogauge.kernels.views import splat_forward, warp_backward
from stereogauge.metrics.costs import Costs, mean
from stereogauge.metrics.declaration import Metric, Statistic, map_metric
from stereogauge.metrics.image_quality import GAUSSIAN, UNIFORM, WANG, Window, range_ssim
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.model import Image, Mask

PEAK = 255.0
PREDICTION = "Szeliski, ICCV 1999; Cabezas, Padilla & Trujillo, CIARP 2011"


class PredictedView(Struct, frozen=True):
    """A rendered view (H, W, channels; NaN in holes), the real one, the holes, the pixels that belong to the region,
    and the holes that a missing estimate leaves.
    """

    rendered: NDArray[np.float32]
    real: NDArray[np.float32]
    hole: Mask
    inside: Mask
    lost: Mask


def colours(image: Image) -> NDArray[np.float32]:
    """The image as (H, W, channels) float32 on the scale 0…255, which floats are taken to have."""
    pixels = image if image.ndim == 3 else image[..., None]
    scale = PEAK / 65535 if image.dtype == np.uint16 else 1.0
    return np.ascontiguousarray(pixels, dtype=np.float32) * np.float32(scale)


def luma(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rec. 601 luma of an (H, W, channels) image; NaN stays NaN."""
    import cv2

    if image.shape[2] == 1:
        return image[..., 0]
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), dtype=np.float32)


def _same_size(m: Measurement, what: str, image: Image) -> Image:
    check_one_size(f"The {what} of scene {m.scene.id!r}", image.shape[:2], "the estimate", m.estimate.shape)
    return image


def predicted_views(m: Measurement, inside: Mask, *, grey: bool = True) -> list[PredictedView]:
    """Every view that the scene allows to predict: its further views, or else the left one from the right image."""
    convert = (lambda image: luma(colours(image))[..., None]) if grey else colours
    left = convert(_same_size(m, "left image", m.scene.left))
    views = []
    for position in m.scene.views:
        real = convert(_same_size(m, f"view at {position:g}", m.scene.view(position)))
        rendered, hole, stems, lost = splat_forward(left, m.estimate, position, inside)
        views.append(PredictedView(rendered, real, hole, stems | hole, lost))
    if not views:
        if not m.scene.has("right"):
            raise NotApplicable(
                f"View prediction needs the scene's right image or further views, and scene {m.scene.id!r} has neither."
            )
        rendered, hole = warp_backward(convert(_same_size(m, "right image", m.scene.right)), m.estimate)
        views.append(PredictedView(rendered, left, hole, inside, np.isnan(m.estimate)))
    return views


def _views(m: Measurement, region: str) -> list[PredictedView]:
    """The grey views of a region, rendered for the first metric that needs them."""
    return m.once(f"predicted views of {region}", lambda: predicted_views(m, m.mask(region)))


def _note(m: Measurement) -> str:
    count = len(m.scene.views)
    return f"{count} further view{'s' * (count > 1)}, forward" if count else "left view from the right image, backward"


def _squared(m: Measurement, region: str) -> Statistic:
    """Squared grey differences, pixels and holes, over all predicted views."""
    total, count, holes = 0.0, 0, 0
    for view in _views(m, region):
        seen = view.inside & ~view.hole
        difference = (view.rendered[..., 0] - view.real[..., 0])[seen].astype(np.float64)
        total += float(np.dot(difference, difference))
        count += difference.size
        holes += int(np.count_nonzero(view.inside & view.hole))
    if count == 0:
        return Statistic.empty(f"no pixel of region {region!r} could be rendered", holes)
    return Statistic(total, count, holes, _note(m))


def _signal_to_noise(total: float, count: int) -> float:
    return 10.0 * math.log10(PEAK**2 * count / total) if total > 0 else math.inf


def _squared_costs(m: Measurement, region: str) -> Costs:
    return _in_left_view(m, region, lambda rendered, real: (rendered - real).astype(np.float64) ** 2)


def _in_left_view(m: Measurement, region: str, cost: Callable[..., Costs]) -> Costs:
    """The costs of all views at the pixels of the left one; a further view's at the pixel that was moved there."""
    found = []
    for position, view in zip(m.scene.views or (0.0,), _views(m, region), strict=True):
        counted = np.where(view.inside & ~view.hole, cost(view.rendered[..., 0], view.real[..., 0]), np.nan)
        target = np.arange(counted.shape[1]) - position * np.nan_to_num(m.estimate)
        columns = np.clip(np.rint(target), 0, counted.shape[1] - 1).astype(np.intp)
        found.append(np.where(np.isnan(m.estimate), np.nan, np.take_along_axis(counted, columns, axis=1)))
    return np.where(np.isfinite(found).any(axis=0), np.nansum(found, axis=0), np.nan)


def _difference_picture(m: Measurement) -> Picture:
    view = predicted_views(m, m.mask("all"))[0]
    difference = np.abs(view.rendered - view.real)[..., 0]
    return Picture(
        "rendered − real view, |difference|", difference, "sequential", "grey levels", (0.0, 64.0), missing=view.hole
    )


def _rendered_picture(m: Measurement) -> Picture:
    view = predicted_views(m, m.mask("all"), grey=False)[0]
    rendered = np.where(view.hole[..., None], 0.0, view.rendered)
    rgb = np.rint(np.broadcast_to(rendered, (*view.hole.shape, 3))).astype(np.uint8)
    return Picture("rendered view", rgb, "rgb", legend={0: ("hole", "#000000")}, missing=view.hole)


@map_metric(
    id="view-mse",
    name="View prediction, mean squared error",
    formula=r"\frac{1}{|V|} \sum_{x \in V} (\hat I(x) - I(x))^2",
    unit="grey²",
    needs=("left",),
    source=PREDICTION,
    missing="left out",
    pooled=mean,
    picture=_difference_picture,
    costs=_squared_costs,
    version=2,
)
def view_mse(m: Measurement, region: str) -> Statistic:
    """Mean squared grey difference of rendered and real views, holes left out; 0 is a perfect prediction."""
    return _squared(m, region)


@map_metric(
    id="view-psnr",
    name="View prediction, peak signal-to-noise ratio",
    formula=r"10 \log_{10} \frac{255^2}{\mathrm{MSE}}",
    unit="dB",
    direction="higher",
    range=(0.0, math.inf),
    needs=("left",),
    source=PREDICTION,
    missing="left out",
    pooled=_signal_to_noise,
    picture=_rendered_picture,
    costs=_squared_costs,
    version=2,
)
def view_psnr(m: Measurement, region: str) -> Statistic:
    """`view-mse` in decibels, at peak 255; infinite for a perfect prediction."""
    return _squared(m, region)


def _mean_similarity(m: Measurement, region: str, window: Window) -> Statistic:
    """Mean SSIM of rendered and real views over windows of one kind."""
    import cv2

    total, count, holes = 0.0, 0, 0
    for view in _views(m, region):
        beside = cv2.dilate(view.lost.astype(np.uint8), np.ones((window.side, window.side), np.uint8)) == 1
        inner = window.inner(view.hole.shape)
        inside = view.inside[inner]
        values = _similarity(view.rendered[..., 0], view.real[..., 0], window)[inner][inside]
        defined = np.isfinite(values)
        total += float(values[defined].sum())
        count += int(np.count_nonzero(defined))
        holes += int(np.count_nonzero((view.hole | beside)[inner][inside] & ~defined))
    if count == 0:
        return Statistic.empty(f"no window of region {region!r} could be rendered whole", holes)
    return Statistic(total, count, holes, _note(m))


def _similarity(rendered: NDArray[np.float32], real: NDArray[np.float32], window: Window) -> NDArray[np.float64]:
    return range_ssim(rendered, real, PEAK, complete=True, window=window)


def _similarity_metric(window: Window, **facts: Any) -> Metric:
    """A metric of similarity in windows of one kind, with the map and the picture of what it lacks."""

    def costs(m: Measurement, region: str) -> Costs:
        return _in_left_view(m, region, lambda rendered, real: 1 - _similarity(rendered, real, window))

    def picture(m: Measurement) -> Picture:
        view = predicted_views(m, m.mask("all"))[0]
        lacking = 1.0 - _similarity(view.rendered[..., 0], view.real[..., 0], window)
        return Picture("1 − SSIM of rendered and real view", lacking, "sequential", "", (0.0, 1.0), missing=view.hole)

    return map_metric(
        formula=r"\overline{\mathrm{SSIM}(\hat I, I)}",
        unit="",
        direction="higher",
        range=(-1.0, 1.0),
        needs=("left",),
        source=f"{WANG}; {PREDICTION}",
        missing="left out",
        pooled=mean,
        picture=picture,
        costs=costs,
        **facts,
    )


@_similarity_metric(UNIFORM, id="view-mssim", name="View prediction, mean structural similarity", version=3)
def view_mssim(m: Measurement, region: str) -> Statistic:
    """Mean SSIM of rendered and real views over uniform 7×7 windows without holes; 1 is a perfect prediction.

    Holes count as missing, and so do pixels whose window lacks an estimate. The tables of the reproduction use this
    window; `view-mssim-gaussian` has the one that Wang et al. define.
    """
    return _mean_similarity(m, region, UNIFORM)


@_similarity_metric(
    GAUSSIAN,
    id="view-mssim-gaussian",
    name="View prediction, mean structural similarity in Gaussian windows",
)
def view_mssim_gaussian(m: Measurement, region: str) -> Statistic:
    """Mean SSIM of rendered and real views over 11×11 Gaussian windows (σ = 1.5 px) without holes, as Wang et al.
    define it; 1 is a perfect prediction.

    Holes count as missing, and so do pixels whose window lacks an estimate. The tables of the reproduction use
    `view-mssim`.
    """
    return _mean_similarity(m, region, GAUSSIAN)
