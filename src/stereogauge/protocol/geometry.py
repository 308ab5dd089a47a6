"""Every number that the geometry-aware sets and metrics depend on, as one frozen object that belongs to the protocol.

Lengths (px) and disparity thresholds are stated for the dataset's full resolution, s = 1, and scale with it: `at(s)`
gives the values for one scene. Source: Honauer, Maier-Hein, Kondermann, "The HCI Stereo Metrics", ICCV 2015.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from stereogauge.errors import ProtocolError


@dataclass(frozen=True)
class ScaledGeometry:
    """The parameters in pixels of one scene: lengths are whole pixels, thresholds disparities of that scene."""

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
    """How discontinuities, planes and fine structures are found; the defaults are the paper's, for s = 1.

    Evaluation mask
        border, border_share: the margin that no set enters, the larger of `border` px and that share of the width; × s.
        least_coverage: share of the image with known ground truth below which sets that need neighbours are refused.
    Discontinuities
        discontinuity_gradient: c_d, central-difference gradient in px per px of a discontinuity; × s.
        band_length: width in px of the foreground and background bands beside it; × s, at least `band_length_floor`.
        band_median: side in px of the median window over the bands' labels; odd, not scaled; 1 changes nothing.
    Planes
        plane_smoothing: σ in px of the Gaussian over the gradient vectors; × s, at least `plane_smoothing_floor`.
        plane_direction_change: change of gradient direction in rad per px below which a pixel may be planar.
        plane_share: smallest connected component, and smallest plane, as a share of all pixels.
        plane_part_share: smallest connected part of a plane's inliers, as a share of all pixels.
        plane_tolerance: largest distance in disparity of an inlier; × s, at least `plane_tolerance_floor`, and half a
        step more where the ground truth is quantised.
        plane_angle: largest angle in degrees between the ground truth's own 5 × 5 normal and that of its plane.
        plane_iterations: random triples tried for one plane.
        plane_seed: seed of the random triples.
    Fine structures
        fine_gradient: rise and fall in px over one pixel at the rims of a fine structure; × s.
        fine_width: largest width in px of a fine structure on a row; × s, at least `fine_width_floor`.
        fine_share: smallest structure, as a share of all pixels.
        fine_surround: reach in px of the background beside a structure; × s, at least `fine_surround_floor`.
        fine_tolerance: largest disparity error of a found structure pixel; × s, at least `fine_tolerance_floor`.
    """

    border: float = 20.0
    border_share: float = 0.01
    least_coverage: float = 0.5
    discontinuity_gradient: float = 8.0
    band_length: float = 20.0
    band_length_floor: int = 3
    band_median: int = 5
    plane_smoothing: float = 6.0
    plane_smoothing_floor: float = 2.0
    plane_direction_change: float = 0.5
    plane_share: float = 0.01
    plane_part_share: float = 0.0025
    plane_tolerance: float = 0.5
    plane_tolerance_floor: float = 0.1
    plane_angle: float = 1.75
    plane_iterations: int = 200
    plane_seed: int = 0
    fine_gradient: float = 4.0
    fine_width: float = 32.0
    fine_width_floor: int = 4
    fine_share: float = 0.0005
    fine_surround: float = 10.0
    fine_surround_floor: int = 2
    fine_tolerance: float = 4.0
    fine_tolerance_floor: float = 1.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (math.isfinite(value) and value >= 0):
                raise ProtocolError(f"Geometry parameter {name} must be a finite number of at least 0; found {value}.")
        for name in ("discontinuity_gradient", "fine_gradient", "band_length", "plane_iterations"):
            if getattr(self, name) == 0:
                raise ProtocolError(f"Geometry parameter {name} must be greater than 0; found 0.")
        if self.band_median not in (1, 3, 5):
            raise ProtocolError(f"Geometry parameter band_median must be 1, 3 or 5; found {self.band_median}.")
        for name in ("plane_share", "plane_part_share", "fine_share", "least_coverage", "border_share"):
            if getattr(self, name) > 1:
                raise ProtocolError(f"Geometry parameter {name} is a share of at most 1; found {getattr(self, name)}.")

    def border_width(self, width: int, resolution: float) -> int:
        """The margin in px of an image `width` px wide: max(20, 0.01 · full width) · s."""
        return round(max(self.border * resolution, self.border_share * width))

    def at(self, resolution: float) -> ScaledGeometry:
        """The values for a scene of that resolution relative to the dataset's full one (½ = half width and height)."""
        if not (math.isfinite(resolution) and resolution > 0):
            raise ProtocolError(f"A scene's resolution is a positive number (1 = full size); found {resolution}.")
        return ScaledGeometry(
            discontinuity_gradient=self.discontinuity_gradient * resolution,
            band_length=max(self.band_length_floor, round(self.band_length * resolution)),
            plane_smoothing=max(self.plane_smoothing_floor, self.plane_smoothing * resolution),
            plane_tolerance=max(self.plane_tolerance_floor, self.plane_tolerance * resolution),
            fine_gradient=self.fine_gradient * resolution,
            fine_width=max(self.fine_width_floor, round(self.fine_width * resolution)),
            fine_surround=max(self.fine_surround_floor, round(self.fine_surround * resolution)),
            fine_tolerance=max(self.fine_tolerance_floor, self.fine_tolerance * resolution),
        )
