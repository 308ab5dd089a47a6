"""A per-pixel map with what is needed to draw and to read it; drawing it is the business of `stereogauge.figures`.

Colours can be distinguished without telling red from green: they differ in lightness, and what is wrong is darkest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from stereogauge.display import Displayed
from stereogauge.errors import NotApplicable
from stereogauge.masks.geometry.sets import Positions
from stereogauge.metrics.costs import percent, root_mean
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import Scene
from stereogauge.protocol import EITHER_UNIT

if TYPE_CHECKING:
    from stereogauge.metrics.declaration import BoundMetric, Metric, PixelMetric

Kind = Literal["sequential", "diverging", "cyclic", "disparity", "labels", "rgb"]
GOOD, BAD = "#0072b2", "#e69f00"
JUMP, NEAR, FAR, WRONG = "#5e3c99", "#56b4e9", "#f5c77e", "#a50026"
WIDTH = 741  # px: the image width at which errors are clipped at 5 px
MOST_SHOWN = 0.98  # share of the pixels whose costs are distinguished, where no other limit is known


class Picture(Displayed, Struct, frozen=True):
    """Values per pixel.

    kind "sequential": heat from `limits[0]` to `limits[1]`, clipped there; "diverging": the same around 0; "cyclic":
    both limits are the same colour; "disparity": near is bright; "labels": small integers named and coloured by
    `legend` {value: (text, "#rrggbb")}; "rgb": finished colours (H, W, 3) uint8, `legend` explains them. NaN is drawn
    as background (`backdrop`, a grey image, where given). `unknown` marks pixels without ground truth (black),
    `missing` those without an estimate (hatched).
    """

    title: str
    values: NDArray[Any]
    kind: Kind
    unit: str = ""
    limits: tuple[float, float] | None = None
    legend: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    unknown: NDArray[np.bool_] | None = None
    missing: NDArray[np.bool_] | None = None
    backdrop: NDArray[np.uint8] | None = None

    def __repr__(self) -> str:
        height, width = self.values.shape[:2]
        return f"Picture({self.title}: {width}×{height}{f', {self.unit}' if self.unit else ''})"


def costs_picture(bound: BoundMetric, m: Measurement) -> Picture:
    """What each pixel costs, as the score that it would have alone.

    Right and wrong pixels have two colours; sizes of errors are heat from 0; signed errors are around 0. A metric with
    a pixel set of its own is drawn over the grey image.
    """
    metric = bound.metric
    costs = metric.shown(m, *bound.arguments)
    title = f"{metric.name} ({bound.id})" if bound.arguments else metric.name
    if metric.wrong is not None:
        right, wrong = (text.format(*bound.arguments) for text in metric.wrong)
        classes = np.where(np.isnan(costs), np.nan, costs > 0).astype(np.float32)
        legend = {0: (right, GOOD), 1: (wrong, BAD)}
        return on_scene(m, metric.region, title=title, values=classes, kind="labels", legend=legend)
    if metric.finalize is root_mean:
        costs = np.sqrt(costs)
    elif metric.finalize is percent:
        costs = 100.0 * costs
    unit = metric.unit.replace(EITHER_UNIT, m.protocol.sigma_z.unit(calibrated=m.scene.calibration.metric))
    if metric.direction == "higher":
        title, unit = f"{title}, difference from the best", ""
    signed = metric.direction == "zero"
    limit = _limit(bound, m, costs)
    return heat(m, metric.region, title, costs, unit, limit, signed=signed)


def heat(
    m: Measurement,
    region: str | None,
    title: str,
    values: NDArray[Any],
    unit: str,
    limit: float,
    *,
    signed: bool = False,
) -> Picture:
    """Sizes from 0 to `limit`, or signed values from −`limit` to `limit`."""
    limits = (-limit if signed else 0.0, limit)
    kind: Kind = "diverging" if signed else "sequential"
    shown = values.astype(np.float32, copy=False)
    return on_scene(m, region, title=title, values=shown, kind=kind, unit=unit, limits=limits)


def on_scene(m: Measurement, region: str | None, **fields: Any) -> Picture:
    """A picture of a metric: of a pixel set of its own over the image, else with unknown ground truth in black."""
    if region is None:
        known = m.regions.known
        return Picture(**fields, unknown=~known, missing=known & np.isnan(m.estimate))
    try:
        missing = m.mask(region) & np.isnan(m.estimate)
    except NotApplicable:  # ground truth too sparse to find the set in: a picture without it
        missing = np.zeros(m.scene.shape, np.bool_)
    return Picture(**fields, missing=missing, backdrop=grey_image(m.scene))


def layers(m: Measurement, region: str, title: str, named: list[tuple[Positions, str, str]]) -> Picture:
    """Named layers (flat positions, text, colour) over the image, later ones on top."""
    values = np.full(m.scene.shape, np.nan, np.float32)
    for label, (positions, _, _) in enumerate(named, 1):
        values.ravel()[positions] = label
    legend = {label: (text, colour) for label, (_, text, colour) in enumerate(named, 1)}
    return on_scene(m, region, title=title, values=values, kind="labels", legend=legend)


def wrong_layer(m: Measurement, declared: PixelMetric, named: list[tuple[Positions, str, str]]) -> Picture:
    """The pixels of a metric's own set that it calls wrong, over some layers."""
    costs = declared.pixels(m)
    assert costs.positions is not None
    assert declared.region is not None
    assert declared.wrong is not None
    wrong = costs.positions[costs.values == 1]
    return layers(m, declared.region, declared.name, [*named, (wrong, declared.wrong[1], WRONG)])


def clip_limit(m: Measurement) -> float:
    """Where pictures of errors in px are clipped: 5 px at 741 px width, growing with it."""
    return max(2.0, float(np.round(5.0 * m.scene.shape[1] / WIDTH, 1)))


def usual_limit(values: NDArray[Any], share: float = MOST_SHOWN) -> float:
    """The size that the given share of all known values does not exceed; 1 where there is none or it is 0."""
    sizes = np.abs(values[np.isfinite(values)])
    return (float(np.quantile(sizes, share)) if sizes.size else 0.0) or 1.0


def _limit(bound: BoundMetric, m: Measurement, costs: NDArray[Any]) -> float:
    metric = bound.metric
    if metric.direction == "higher" and np.isfinite(metric.range[1]):
        return 1.0
    if metric.region is None and metric.scaling != "none":
        return clip_limit(m) ** (2 if metric.scaling == "area" else 1)
    return own_limit(metric, m, np.where(m.regions.known, costs, np.nan))


def own_limit(metric: Metric, m: Measurement, values: NDArray[Any]) -> float:
    """The upper end of the metric's own range, so that pictures of several maps compare: what real algorithms reach.

    A length grows with the image. A metric with a pixel set of its own whose range is not stated takes its bounded
    theoretical range; otherwise the limit follows from the values.
    """
    if metric.region is not None and metric.heuristic_range is not None and not metric.parameters:
        return metric.heuristic_range[1] * (m.scene.resolution if metric.scaling == "length" else 1.0)
    if metric.region is not None and np.isfinite(metric.range[1]):
        return metric.range[1]
    return usual_limit(values)


def grey_image(scene: Scene) -> NDArray[np.uint8] | None:
    """The left image in grey, 8 bit; None where the scene has none or one of another size."""
    if not scene.has("left") or scene.left.shape[:2] != scene.shape:
        return None
    image = scene.left
    brightest = 65535 if image.dtype == np.uint16 else 255
    grey = image.mean(axis=2) if image.ndim == 3 else image
    return np.asarray(np.clip(grey * (255 / brightest), 0, 255), dtype=np.uint8)
