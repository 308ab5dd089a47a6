"""The numbers that regions, the Sigma-Z-Error and the geometry-aware metrics depend on: tables of the protocol."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Literal

from stereogauge.errors import ProtocolError
from stereogauge.loading import check, entry, number, whole

Rule = Literal["auto", "dataset", "middlebury-v2", "bidirectional", "z-buffer"]
EITHER_UNIT = "m, 1/px"
METRES, PER_PIXEL = "m", "1/px"
MIXED_UNIT = "m on some scenes, 1/px on others"


@dataclass(frozen=True)
class RegionParameters:
    """How regions are made: table `[region_rules]`.

    The rule "auto" takes the dataset's own mask where there is one, else both views' ground truth, else a z-buffer of
    the left one's. The discontinuity gap and radius hold at 450 px image width and grow with it (the gap never below
    1 px); both are ignored by the rule "middlebury-v2", whose numbers are fixed. Without near and far, the limits of
    `mid` are the scene's own terciles.
    """

    rule: Annotated[Rule, entry("which occlusion and discontinuity rule")] = "auto"
    consistency: Annotated[float, number("largest disagreement of both views at a visible pixel", "px", least=0)] = 1.0
    discontinuity_gap: Annotated[float, number("smallest step of disparity at a discontinuity", "px", least=0)] = 2.0
    discontinuity_radius: Annotated[float, number("half width of the band around it", "px", least=0)] = 4.0
    texture_threshold: Annotated[
        float, number("mean squared horizontal gradient below which there is no texture", "grey levels²/px²", least=0)
    ] = 4.0
    near: Annotated[float, number("depth up to which a pixel is near", "m", least=0)] | None = None
    far: Annotated[float, number("depth from which a pixel is far", "m", least=0)] | None = None

    def __post_init__(self) -> None:
        check(self, "region_rules", ProtocolError)


@dataclass(frozen=True)
class SigmaZParameters:
    """How the Sigma-Z-Error is computed: table `[sigma_z]`.

    With `metric`, the error is in metres on scenes with a calibration; otherwise f·B = 1 and the unit is 1/px. With
    `literal`, a missing estimate counts as disparity 0 and contributes about f·B/mu, as printed in the paper; otherwise
    estimates that are missing or not in front of the cameras cost the worst depth error inside the scene's range. The
    invalid policy `exclude` leaves them out in either form.
    """

    mu: Annotated[float, number("added to keep the depth of a vanishing disparity finite", "px", least=0)] = 1e-6
    metric: Annotated[bool, entry("whether calibrations are used")] = True
    literal: Annotated[bool, entry("whether missing estimates count as disparity 0")] = False

    def __post_init__(self) -> None:
        check(self, "sigma_z", ProtocolError)

    def unit(self, *, calibrated: bool) -> str:
        """The unit of the error on a scene with or without a calibration."""
        return METRES if self.metric and calibrated else PER_PIXEL


@dataclass(frozen=True)
class PixelParameters:
    """Which pixels and scenes count beyond those with ground truth: table `[pixels]`.

    A pixel whose true disparity is not above `above` or not below `below` belongs to no region. `window` is the part
    of the image that is evaluated, as shares (top, bottom, left, right) of its height and width, cut off to whole
    pixels. A scene with ground truth on less than `least_known` of its pixels, or of which less than `least_kept` of
    the known pixels remain, has nothing to measure.
    """

    above: Annotated[float, number("true disparities must be larger; none: any", "px")] | None = None
    below: Annotated[float, number("true disparities must be smaller; none: any", "px")] | None = None
    window: Annotated[
        tuple[Annotated[float, number("share of the size", least=0, most=1)], ...],
        entry("top, bottom, left and right end of the evaluated part as shares of the size; none: all of it"),
    ] = ()
    least_known: Annotated[float, number("smallest share of pixels with ground truth", least=0, most=1)] = 0.0
    least_kept: Annotated[float, number("smallest share of them that is evaluated", least=0, most=1)] = 0.0

    def __post_init__(self) -> None:
        check(self, "pixels", ProtocolError)
        if len(self.window) not in (0, 4):
            raise ProtocolError(
                f"pixels.window has 4 numbers, the top, bottom, left and right end as shares; found {len(self.window)}."
            )


@dataclass(frozen=True)
class DepthParameters:
    """Which depths are measured and how: table `[depth]`.

    A pixel whose true depth is not between `least` and `most` belongs to no region; estimated depths are clipped to
    them. `alignment` fits the estimate to the ground truth of a scene first: `median` multiplies its depths by the
    ratio of the median depths, `scale-shift` replaces its disparities d by s·d + t with the least squared error.
    """

    least: Annotated[float, number("smallest depth", "m", least=0)] = 0.0
    most: Annotated[float, number("largest depth; none: any", "m", above=0)] | None = None
    alignment: Annotated[Literal["none", "median", "scale-shift"], entry("how estimates are fitted first")] = "none"

    def __post_init__(self) -> None:
        check(self, "depth", ProtocolError)


ROUNDING = 1e-6


@dataclass(frozen=True)
class ErrorParameters:
    """How errors are judged: table `[errors]`.

    An error is bad where it is above a threshold, or with `>=` where it is the threshold or above. An error that
    differs from a threshold by no more than `rounding` equals it. `quantiles` takes one of n errors in order of size:
    `linear` interpolates between two of them, `floor` takes the one at position ⌊n·q⌋, counted from 0. With
    `within_width`, an estimate whose size is larger than the image width is a missing one.
    """

    comparison: Annotated[Literal[">", ">="], entry("how a bad error compares with a threshold")] = ">"
    rounding: Annotated[float, number("largest difference of equal values", "px", least=0)] = ROUNDING
    quantiles: Annotated[Literal["linear", "floor"], entry("which value a quantile is")] = "linear"
    within_width: Annotated[bool, entry("whether estimates beyond the image width are missing")] = False

    def __post_init__(self) -> None:
        check(self, "errors", ProtocolError)

    @property
    def usual(self) -> bool:
        """Whether errors are compared as the pass over the pixels that all metrics share compares them."""
        return self.comparison == ">" and self.rounding == ROUNDING


def common_unit(units: Collection[str]) -> str:
    """The one unit of several scenes; says so where they differ, and names both where a scene's unit is not known."""
    if not units or "" in units:
        return EITHER_UNIT
    return next(iter(units)) if len(set(units)) == 1 else MIXED_UNIT


@dataclass(frozen=True)
class ScaledGeometry:
    """Geometry parameters in pixels of one scene: lengths are whole pixels, thresholds are disparities."""

    discontinuity_gradient: float
    band_length: int
    plane_smoothing: float
    plane_tolerance: float
    fine_gradient: float
    fine_width: int
    fine_surround: int
    fine_tolerance: float


@dataclass(frozen=True)
class GeometryParameters:
    """How discontinuities, planes and fine structures are found: table `[geometry]`; the defaults are the paper's.

    Lengths (px) and disparity thresholds hold at the dataset's full resolution, s = 1. `at(s)` scales those marked
    "× s" for one scene, each to at least its floor; `plane_tolerance` is half a step more where the ground truth is
    quantised. Source: Honauer, Maier-Hein, Kondermann, "The HCI Stereo Metrics", ICCV 2015.
    """

    border: Annotated[float, number("margin that no set enters, × s", "px", least=0)] = 20.0
    border_share: Annotated[float, number("the margin as a share of the width, if larger", least=0, most=1)] = 0.01
    least_coverage: Annotated[
        float, number("share of known ground truth below which sets that need neighbours are refused", least=0, most=1)
    ] = 0.5
    discontinuity_gradient: Annotated[
        float, number("c_d, central-difference gradient of a discontinuity, × s", "px per px", above=0)
    ] = 8.0
    band_length: Annotated[float, number("width of the bands beside a discontinuity, × s", "px", above=0)] = 20.0
    band_length_floor: Annotated[int, whole("least width of the bands", "px", least=0)] = 3
    band_median: Annotated[
        Literal[1, 3, 5], entry("side in px of the median window over the bands' labels, not scaled; 1 changes nothing")
    ] = 5
    plane_smoothing: Annotated[float, number("σ of the Gaussian over gradient vectors, × s", "px", least=0)] = 6.0
    plane_smoothing_floor: Annotated[float, number("least σ", "px", least=0)] = 2.0
    plane_direction_change: Annotated[
        float, number("change of gradient direction below which a pixel may be planar", "rad per px", least=0)
    ] = 0.5
    plane_share: Annotated[float, number("smallest plane as a share of all pixels", least=0, most=1)] = 0.01
    plane_part_share: Annotated[
        float, number("smallest connected part of a plane's inliers as a share of all pixels", least=0, most=1)
    ] = 0.0025
    plane_tolerance: Annotated[float, number("largest distance of an inlier, × s", "px", least=0)] = 0.5
    plane_tolerance_floor: Annotated[float, number("least tolerance", "px", least=0)] = 0.1
    plane_iterations: Annotated[int, whole("random triples tried for one plane", least=1)] = 200
    plane_seed: Annotated[int, whole("seed of the random triples", least=0)] = 0
    fine_gradient: Annotated[
        float,
        number(
            "rise and fall over one pixel at the rims of a fine structure, × s, at least the tolerance", "px", above=0
        ),
    ] = 4.0
    fine_width: Annotated[float, number("largest width of a fine structure on a row, × s", "px", least=0)] = 48.0
    fine_width_floor: Annotated[int, whole("least such width", "px", least=0)] = 4
    fine_widening: Annotated[
        float, number("multiple of that width up to which rows of a mostly thin structure belong to it", least=1)
    ] = 1.5
    fine_thin_share: Annotated[
        float, number("share of its rows on which a structure with wider rows must be thin", least=0, most=1)
    ] = 0.5
    fine_share: Annotated[float, number("smallest structure as a share of all pixels", least=0, most=1)] = 0.0005
    fine_found_share: Annotated[
        float,
        number("share of a structure's pixels that makes it found, and a part of it substantial", above=0, most=1),
    ] = 0.2
    fine_surround: Annotated[float, number("reach of the background beside a structure, × s", "px", least=0)] = 10.0
    fine_surround_floor: Annotated[int, whole("least reach", "px", least=0)] = 2
    fine_tolerance: Annotated[
        float, number("largest disparity error of a found structure pixel, × s", "px", least=0)
    ] = 4.0
    fine_tolerance_floor: Annotated[float, number("least such error", "px", least=0)] = 1.0

    def __post_init__(self) -> None:
        check(self, "geometry", ProtocolError)

    def border_width(self, width: int, resolution: float) -> int:
        """The margin in px of an image `width` px wide: max(20, 0.01 · full width) · s."""
        return round(max(self.border * resolution, self.border_share * width))

    def at(self, resolution: float) -> ScaledGeometry:
        """The values for a scene of that resolution relative to the dataset's full one (½ = half width and height)."""
        if not (math.isfinite(resolution) and resolution > 0):
            raise ProtocolError(f"A scene's resolution is a positive number (1 = full size); found {resolution}.")
        fine_tolerance = max(self.fine_tolerance_floor, self.fine_tolerance * resolution)
        return ScaledGeometry(
            discontinuity_gradient=self.discontinuity_gradient * resolution,
            band_length=max(self.band_length_floor, round(self.band_length * resolution)),
            plane_smoothing=max(self.plane_smoothing_floor, self.plane_smoothing * resolution),
            plane_tolerance=max(self.plane_tolerance_floor, self.plane_tolerance * resolution),
            # A structure no higher than the tolerance would be found where the map shows its background.
            fine_gradient=max(fine_tolerance, self.fine_gradient * resolution),
            fine_width=max(self.fine_width_floor, round(self.fine_width * resolution)),
            fine_surround=max(self.fine_surround_floor, round(self.fine_surround * resolution)),
            fine_tolerance=fine_tolerance,
        )
