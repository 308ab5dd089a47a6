"""One estimate against one scene under one protocol: everything that a metric's function may read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures.files import ConfidenceSource
from stereogauge.datasets.agreement import wrong_size
from stereogauge.errors import NotApplicable, ProtocolError, SizeError
from stereogauge.kernels.edges import fill_background
from stereogauge.masks.scene_regions import SceneRegions, range_in_front
from stereogauge.metrics.statistics import PassRequest, PixelStatistics, RegionStatistics
from stereogauge.model import DisparityMap, Mask, Scene, as_disparity
from stereogauge.protocol import Protocol

if TYPE_CHECKING:
    from stereogauge.metrics.declaration import BoundMetric

Shared = TypeVar("Shared")
Number = TypeVar("Number", bound=np.generic)
Fact = float | str


def filled(disparity: DisparityMap) -> DisparityMap:
    """Gaps filled as KITTI's kit does for sparse results.

    In each row a gap takes the smaller (background) of its two valid neighbours, and row ends the nearest valid one;
    then, per column, the rows above the first and below the last filled row take its value. A row without any value
    between filled rows stays NaN.
    """
    result = disparity.copy()
    fill_background(result)
    return result


def nearest_of(estimate: DisparityMap, truths: Sequence[DisparityMap]) -> DisparityMap:
    """The true disparity nearest to the estimate, the first where there is none; NaN where one of them is unknown.

    >>> nearest_of(np.float32([[3, 9]]), np.float32([[[1, 1]], [[4, 4]]]))
    array([[4., 4.]], dtype=float32)
    """
    nearest = truths[0].copy()
    for truth in truths[1:]:
        closer = np.abs(estimate - truth) < np.abs(estimate - nearest)
        nearest[closer] = truth[closer]
    for truth in truths:
        nearest[np.isnan(truth)] = np.nan
    return nearest


def _wrong_size(estimate: DisparityMap, scene: Scene) -> str:
    if scene.has("gt"):
        return f"Scene {scene.id!r}: {wrong_size(estimate, scene.gt).sentence}"
    (height, width), (known_height, known_width) = estimate.shape, scene.shape
    return f"The estimate is {width}×{height}, scene {scene.id!r} is {known_width}×{known_height}; set resize."


class Measurement:
    """The estimate as the protocol requires it, its scene's regions, and statistics that several metrics share.

    `raw` is the map as it was given; `estimate` after clipping and filling. `metrics` are those that will be measured,
    so that one pass over the pixels serves the thresholds and quantiles that they request. `confidence` is where the
    algorithm's confidence map is read when a metric needs it. `extras` are facts of the run ("seconds",
    "peak_memory") and what they depend on ("threads", "processor").
    """

    def __init__(
        self,
        estimate: Any,
        scene_regions: SceneRegions,
        *,
        metrics: Iterable[BoundMetric] = (),
        regions: Iterable[str] = (),
        right_estimate: Any = None,
        next_estimate: Any = None,
        confidence: ConfidenceSource | None = None,
        extras: Mapping[str, Fact] | None = None,
    ) -> None:
        self.regions = scene_regions
        self.raw = _frozen(as_disparity(estimate, "estimate"))
        self.extras = dict(extras or {})
        self._right, self._next = right_estimate, next_estimate
        self._confidence = confidence
        self._request = PassRequest.together(metric.request for metric in metrics)
        self._regions = tuple(regions)
        self._statistics: dict[tuple[bool, tuple[str, ...]], list[PixelStatistics]] = {}
        self._shared: dict[str, Any] = {}
        if self.raw.shape != self.scene.shape:
            raise SizeError(_wrong_size(self.raw, self.scene))
        self.scene.calibration.check_size(self.raw.shape)

    @property
    def scene(self) -> Scene:
        """The scene."""
        return self.regions.scene

    @property
    def protocol(self) -> Protocol:
        """The protocol."""
        return self.regions.protocol

    @functools.cached_property
    def gt(self) -> DisparityMap:
        """The ground truth, NaN = unknown; of four values per pixel the nearest, where the protocol says so."""
        truths = self.regions.four_truths
        return self.scene.gt if truths is None else _frozen(nearest_of(self.estimate, truths))

    @functools.cached_property
    def largest_truth(self) -> DisparityMap:
        """The largest size of a pixel's true disparities: what KITTI's relative tolerance is a part of."""
        truths = self.regions.four_truths
        return np.abs(self.scene.gt) if truths is None else np.max(np.abs(truths), axis=0)

    @functools.cached_property
    def clipped(self) -> DisparityMap:
        """The raw estimate without those beyond the width, clipped to [0, ndisp], where the protocol says so."""
        raw = self.raw
        if self.protocol.errors.within_width:
            raw = _frozen(np.where(np.abs(raw) > raw.shape[1], np.float32(np.nan), raw))
        if not self.protocol.clip_to_range:
            return raw
        ndisp = self.scene.calibration.ndisp
        if ndisp is None:
            raise ProtocolError(
                f"Protocol {self.protocol.name!r} clips estimates to the disparity range, and scene {self.scene.id!r} "
                "has no ndisp; give it in the calibration, or set clip_to_range=false."
            )
        return _frozen(np.clip(raw, np.float32(0), np.float32(ndisp)))

    @functools.cached_property
    def estimate(self) -> DisparityMap:
        """The estimate that is measured: clipped, filled and aligned with the ground truth as the protocol says."""
        given = _frozen(filled(self.clipped)) if self.protocol.invalid == "fill" else self.clipped
        return given if self.protocol.depth.alignment == "none" else _frozen(self._aligned(given))

    def _aligned(self, given: DisparityMap) -> DisparityMap:
        """The estimate fitted to the ground truth on the pixels that have both; see `DepthParameters`."""
        doffs = self.scene.calibration.doffs
        truth, shifted = self.scene.gt.astype(np.float64) + doffs, given.astype(np.float64) + doffs
        both = self.regions.known & np.isfinite(shifted)
        if self.protocol.depth.alignment == "median":
            both &= (shifted > 0) & (truth > 0)
            ratio = np.median(1 / truth[both]) / np.median(1 / shifted[both]) if both.any() else np.nan
            return np.asarray(shifted / ratio - doffs, np.float32)
        if both.sum() < 2:
            return np.full_like(given, np.nan)
        scale, shift = np.linalg.lstsq(np.stack([shifted[both], np.ones(both.sum())], axis=1), truth[both], rcond=None)[
            0
        ]
        return np.asarray(scale * shifted + shift - doffs, np.float32)

    @functools.cached_property
    def error(self) -> DisparityMap:
        """e = E − D, NaN where either is unknown."""
        return _frozen(self.estimate - self.gt)

    @functools.cached_property
    def right_estimate(self) -> DisparityMap:
        """The algorithm's map of the right view."""
        if self._right is None:
            raise NotApplicable("This metric needs the algorithm's map of the right view, and there is none.")
        return as_disparity(self._right, "right estimate")

    @functools.cached_property
    def next_estimate(self) -> DisparityMap:
        """The algorithm's map of the next frame of a film."""
        if self._next is None:
            raise NotApplicable("This metric needs the next frame of a film and the algorithm's map of it.")
        return as_disparity(self._next, "estimate of the next frame")

    @functools.cached_property
    def confidence(self) -> NDArray[np.float32]:
        """The algorithm's confidence map, lower = more confident."""
        return self.confidence_source.read()

    @property
    def confidence_source(self) -> ConfidenceSource:
        """Where the algorithm's confidence map comes from, with its direction and kind."""
        if self._confidence is None:
            raise NotApplicable("a disparity map alone has no confidence; see `stereogauge confidence`")
        return self._confidence

    def once(self, name: str, compute: Callable[[], Shared]) -> Shared:
        """What `compute` returns, computed for the first metric that needs `name` and kept for the others."""
        if name not in self._shared:
            self._shared[name] = compute()
        shared: Shared = self._shared[name]
        return shared

    @property
    def depth_scale(self) -> tuple[float, float]:
        """f·B and doffs of the depths of the Sigma-Z-Error; 1 and 0 without a calibration that the protocol uses."""
        calibration = self.scene.calibration
        if self.protocol.sigma_z.metric and calibration.focal_baseline:
            return calibration.focal_baseline, calibration.doffs
        return 1.0, 0.0

    def in_front(self, offset: float) -> tuple[float, float]:
        """The largest and the smallest true D + offset in front of the cameras; see `range_in_front`."""
        return self.regions.in_front(offset) if self.gt is self.scene.gt else range_in_front(self.gt, offset)

    def mask(self, region: str) -> Mask:
        """The pixels of a region."""
        return self.regions.mask(region)

    def pixels(self, region: str) -> RegionStatistics:
        """Sums of the measured estimate over a region."""
        return self.statistics(region)[region]

    def statistics(self, region: str, *, as_given: bool = False) -> PixelStatistics:
        """The statistics object that covers `region`; `as_given` takes the estimate before filling."""
        as_given = as_given and self.protocol.invalid == "fill"
        together = self._regions if region in self._regions else (region,)
        key = (as_given, together)
        if key not in self._statistics:
            self._statistics[key] = self._computed(self.clipped if as_given else self.estimate, together)
        return next(statistics for statistics in self._statistics[key] if region in statistics)

    def _computed(self, estimate: DisparityMap, regions: tuple[str, ...]) -> list[PixelStatistics]:
        focal_baseline, doffs = self.depth_scale
        in_front = self.in_front(doffs) if self._request.depth else None
        return [
            PixelStatistics(
                estimate,
                self.gt,
                labels,
                focal_baseline=focal_baseline,
                doffs=doffs,
                mu=self.protocol.sigma_z.mu,
                request=self._request,
                charge=self.protocol.invalid != "exclude",
                in_front=in_front,
                worst=self.regions.range.span,
            )
            for labels in self.regions.labels(regions)
        ]


def _frozen(values: NDArray[Number]) -> NDArray[Number]:
    """A view that cannot be written to: metrics share the maps of a measurement."""
    view = values.view()
    view.flags.writeable = False
    return view
