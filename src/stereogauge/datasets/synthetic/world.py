"""Synthetic worlds and their rendering: textured patches, strips, lattices, boxes, domes and columns before cameras.

Metres; the left camera is the origin and looks along +Z, x points right, y down, the right camera is at
(baseline, 0, 0). Positions are most easily given by `ImageFrame.place`: where a point appears in the left image and how
large its disparity is. An image is made of ideal radiance by lens blur, vignetting, exposure, gamma, noise and
quantisation.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.kernels import render
from stereogauge.kernels.render import render_rows, visible_rows
from stereogauge.kernels.threads import in_threads, thread_count
from stereogauge.model import Calibration, DisparityMap, Mask

Vector = NDArray[np.float64]
Colour = tuple[float, float, float]

FOCAL_PER_WIDTH = 1.25
BASELINE = 0.16
CELLS_PER_WIDTH = 20.0


class Texture(Struct, frozen=True):
    """Colours between `dark` and `light`, mixed by noise that sticks to the surface; equal colours make it textureless.

    `stripes` is the number of periods over an image width (0 = none), `stripe_share` how much of the contrast they
    take; `reflectivity` is the share of light that comes from a mirrored environment at infinity instead.
    """

    dark: Colour = (60.0, 60.0, 60.0)
    light: Colour = (210.0, 210.0, 210.0)
    stripes: float = 0.0
    stripe_share: float = 0.9
    reflectivity: float = 0.0


class WorldSurface(Struct, frozen=True):
    """One textured surface. `body` numbers the object that it belongs to, `thin` marks wires, poles and lattices."""

    kind: int
    origin: Vector
    axis_u: Vector
    axis_v: Vector
    normal: Vector
    texture: Texture
    half_u: float = math.inf
    half_v: float = math.inf
    radius: float = 0.0
    cos_limit: float = -1.0
    lattice_period: float = 0.0
    lattice_bar: float = 0.0
    body: int = 0
    thin: bool = False

    @property
    def planar(self) -> bool:
        """Whether its disparity is a linear function of the pixel."""
        return self.kind in (render.PATCH, render.DISC)

    def corners(self) -> Vector | None:
        """Points whose convex hull holds the surface; None where it does not end."""
        if not (self.kind == render.SPHERE or math.isfinite(self.half_v)):
            return None
        reach_u, reach_v = (self.half_u, self.half_v) if self.planar else (self.radius, self.radius)
        reach_n = 0.0 if self.planar else self.radius
        u, v, n = self.axis_u, self.axis_v, self.normal
        if self.kind == render.CYLINDER:
            reach_v = self.half_v
        elif self.kind == render.SPHERE:
            n = np.cross(u, v)
        return np.array(
            [
                self.origin + a * reach_u * u + b * reach_v * v + c * reach_n * n
                for a in (-1.0, 1.0)
                for b in (-1.0, 1.0)
                for c in ((0.0,) if self.planar else (-1.0, 1.0))
            ]
        )

    def row(self, seed: int) -> Vector:
        """The surface as the kernel reads it."""
        own, width_in_metres = self.texture, self.origin[2] / FOCAL_PER_WIDTH
        stripe_period = width_in_metres / own.stripes if own.stripes else 0.0
        values = (
            *(self.kind, self.origin, self.axis_u, self.axis_v, self.normal),
            *(self.half_u, self.half_v, self.radius, self.cos_limit, self.lattice_period, self.lattice_bar),
            *(own.dark, own.light, width_in_metres / CELLS_PER_WIDTH, stripe_period, own.stripe_share),
            *(own.reflectivity, seed),
        )
        return np.array([values], render.ROW).view(np.float64)


class ImageFrame(Struct, frozen=True):
    """The left image as a frame to place things in; `aspect` is height / width."""

    aspect: float

    def depth(self, disparity: float) -> float:
        """The depth in metres at which the disparity is this share of the image width."""
        return FOCAL_PER_WIDTH * BASELINE / disparity

    def place(self, x: float, y: float, disparity: float) -> Vector:
        """The point seen at x widths, y heights from the centre (borders at ±0.5), with a disparity in widths."""
        depth = self.depth(disparity)
        return np.array([x, y * self.aspect, FOCAL_PER_WIDTH]) * (depth / FOCAL_PER_WIDTH)

    def length(self, share: float, disparity: float) -> float:
        """The length in metres that fills `share` of the image width at that disparity."""
        return share * self.depth(disparity) / FOCAL_PER_WIDTH


class World(Struct, frozen=True):
    """Surfaces before the cameras; `seed` fixes every texture."""

    surfaces: tuple[WorldSurface, ...]
    seed: int = 0

    def numbered(self) -> World:
        """The same world with bodies numbered 1, 2, … in the order of their first surface."""
        order = {body: i for i, body in enumerate(dict.fromkeys(s.body for s in self.surfaces), start=1)}
        return replace(self, surfaces=tuple(replace(s, body=order[s.body]) for s in self.surfaces))


def _unit(vector: Vector) -> Vector:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float64)


def _axes(yaw: float, pitch: float, roll: float) -> tuple[Vector, Vector, Vector]:
    """Orthonormal u, v, normal of a patch that faces the camera and is then turned about the y, x and z axis."""
    a, b, c = np.radians([yaw, pitch, roll])
    turn_y = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    turn_x = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    turn_z = np.array([[np.cos(c), -np.sin(c), 0], [np.sin(c), np.cos(c), 0], [0, 0, 1]])
    matrix = turn_y @ turn_x @ turn_z
    return matrix[:, 0], matrix[:, 1], -matrix[:, 2]


def patch(
    centre: Vector,
    texture: Texture,
    *,
    yaw: float = 0.0,
    pitch: float = 0.0,
    roll: float = 0.0,
    round_: bool = False,
    **shape: Any,
) -> WorldSurface:
    """A rectangle (an ellipse when `round_`), turned by degrees; `shape` are further fields of the surface.

    With a `lattice_period` it is a lattice of bars that are `lattice_bar` wide.
    """
    kind = render.DISC if round_ else render.PATCH
    thin = shape.get("lattice_period", 0.0) > 0
    return WorldSurface(kind, centre, *_axes(yaw, pitch, roll), texture, thin=thin, **shape)


def strip(start: Vector, end: Vector, width: float, texture: Texture, *, body: int = 0) -> WorldSurface:
    """A flat wire or pole from start to end, turned about its own axis so that it faces the left camera."""
    centre = 0.5 * (start + end)
    v = _unit(end - start)
    u = _unit(np.cross(v, centre))
    half = 0.5 * width, 0.5 * float(np.linalg.norm(end - start))
    return WorldSurface(render.PATCH, centre, u, v, np.cross(u, v), texture, *half, body=body, thin=True)


def dome(centre: Vector, radius: float, half_angle: float, texture: Texture, *, body: int = 0) -> WorldSurface:
    """The part of a sphere within `half_angle`° of the direction to the left camera, gently curved below 60°."""
    u, v, _ = _axes(0.0, 0.0, 0.0)
    limit = math.cos(math.radians(half_angle))
    return WorldSurface(render.SPHERE, centre, u, v, -_unit(centre), texture, radius=radius, cos_limit=limit, body=body)


def column(
    centre: Vector, direction: Vector, half_length: float, radius: float, half_angle: float, texture: Texture, body: int
) -> WorldSurface:
    """The part of a cylinder along `direction` that faces the left camera within `half_angle` degrees."""
    v = _unit(direction)
    facing = _unit(-centre + np.dot(centre, v) * v)
    limit = math.cos(math.radians(half_angle))
    u = np.cross(v, facing)
    return WorldSurface(
        render.CYLINDER, centre, u, v, facing, texture, half_v=half_length, radius=radius, cos_limit=limit, body=body
    )


def box(
    centre: Vector, size: tuple[float, float, float], texture: Texture, *, yaw: float = 0.0, body: int = 0
) -> list[WorldSurface]:
    """The six faces of a box (width, height, length), turned about the vertical by `yaw` degrees."""
    along_x, along_y, along_z = _axes(yaw, 0.0, 0.0)
    frames = (
        (along_x, along_y, along_z, size[0], size[1], size[2]),
        (along_z, along_y, along_x, size[2], size[1], size[0]),
        (along_x, along_z, along_y, size[0], size[2], size[1]),
    )
    return [
        WorldSurface(render.PATCH, centre + 0.5 * side * w * n, u, v, side * n, texture, 0.5 * a, 0.5 * b, body=body)
        for u, v, n, a, b, w in frames
        for side in (-1.0, 1.0)
    ]


class CameraView(Struct, frozen=True):
    """What one camera sees: depth in metres, the surface's row in the world's table, radiance in grey levels."""

    depth: NDArray[np.float64]
    surface: NDArray[np.int32]
    radiance: NDArray[np.float32]


class Renderer(Struct, frozen=True, dict=True):
    """A world seen by cameras with `size` = (height, width); positions count in baselines (left = 0, right = 1)."""

    world: World
    size: tuple[int, int]

    @property
    def focal(self) -> float:
        """Focal length in pixels."""
        return FOCAL_PER_WIDTH * self.size[1]

    @property
    def centre(self) -> tuple[float, float]:
        """The principal point (x, y), the middle of the image."""
        return 0.5 * (self.size[1] - 1), 0.5 * (self.size[0] - 1)

    @property
    def camera(self) -> tuple[float, float, float]:
        """Focal length and principal point."""
        return self.focal, *self.centre

    def calibration(self, largest_share: float) -> Calibration:
        """The pair's calibration; `largest_share` is the largest disparity as a share of the width."""
        return Calibration(self.focal, BASELINE, 0.0, int(np.ceil(largest_share * self.size[1])) + 1)

    @functools.cached_property
    def table(self) -> NDArray[np.float64]:
        """The surfaces as the kernel reads them."""
        return np.stack([s.row(self.world.seed * 7919 + 31 * i) for i, s in enumerate(self.world.surfaces)])

    def bounds(self, position: float) -> NDArray[np.float64]:
        """Per surface, limits (x from, x to, y from, y to) in pixels of what the camera at `position` may see of it."""
        limits = np.tile([-np.inf, np.inf, -np.inf, np.inf], (len(self.world.surfaces), 1))
        for limit, surface in zip(limits, self.world.surfaces, strict=True):
            corners = surface.corners()
            if corners is not None and (corners[:, 2] > 0).all():
                x = self.focal * (corners[:, 0] - position * BASELINE) / corners[:, 2] + self.centre[0]
                y = self.focal * corners[:, 1] / corners[:, 2] + self.centre[1]
                limit[:] = x.min() - 1, x.max() + 1, y.min() - 1, y.max() + 1
        return limits

    def view(self, position: float) -> CameraView:
        """What the camera at `position` sees."""
        depth = np.empty(self.size, np.float64)
        surface = np.empty(self.size, np.int32)
        radiance = np.empty((*self.size, 3), np.float32)
        bounds = self.bounds(position)

        def work(rows: tuple[int, int]) -> None:
            render_rows(self.table, bounds, position * BASELINE, self.camera, rows, depth, surface, radiance)

        self._in_threads(work)
        return CameraView(depth, surface, radiance)

    def disparity(self, view: CameraView) -> DisparityMap:
        """Disparity f·B/Z in pixels, NaN where the ray hits nothing."""
        disparity = (self.focal * BASELINE / view.depth).astype(np.float32)
        return np.where(view.surface >= 0, disparity, np.float32(np.nan))

    def visible(self, view: CameraView) -> Mask:
        """Exactly, by a second ray: what the left view shows lies in the right image, borders included, unhidden."""
        visible, bounds = np.empty(self.size, np.bool_), self.bounds(1.0)

        def work(rows: tuple[int, int]) -> None:
            visible_rows(self.table, bounds, 0.0, BASELINE, self.camera, rows, view.depth, visible)

        self._in_threads(work)
        return visible

    def _in_threads(self, work: Callable[[tuple[int, int]], None]) -> None:
        """Do the work for all rows, in more blocks than threads, since some take longer than others."""
        height = self.size[0]
        edges = np.linspace(0, height, min(height, 4 * thread_count()) + 1).astype(int).tolist()
        in_threads([functools.partial(work, rows) for rows in itertools.pairwise(edges)], thread_count())


class ImageModel(Struct, frozen=True):
    """How images are taken.

    `blur` is the lens blur's σ in pixels; `noise` the standard deviation of the noise in grey levels at half
    brightness (shot noise: its variance grows with brightness, half of it is there in the dark); `vignetting` the
    loss of light in the corners; `gain_right` and `gamma_right` the exposure and the response of the right camera
    relative to the left one.
    """

    blur: float = 0.0
    noise: float = 0.0
    vignetting: float = 0.0
    gain_right: float = 1.0
    gamma_right: float = 1.0

    def take(self, radiance: NDArray[np.float32], position: float, seed: int) -> NDArray[np.uint8]:
        """The 8-bit RGB image that the camera at `position` (0 left, 1 right) takes; `seed` fixes the noise."""
        import cv2

        light = radiance if self.blur == 0 else cv2.GaussianBlur(radiance, (0, 0), self.blur)
        if self.vignetting > 0:
            y, x = (np.linspace(-1, 1, size, dtype=np.float32) for size in light.shape[:2])
            falloff = 1.0 - self.vignetting * (x * x + (y * y)[:, None]) / 2
            light = light * falloff.astype(np.float32)[..., None]
        if position == 1.0 and (self.gain_right, self.gamma_right) != (1.0, 1.0):
            light = 255.0 * np.power(np.clip(light * self.gain_right / 255.0, 0.0, None), self.gamma_right)
        if self.noise > 0:
            rng = np.random.default_rng((seed, round(1000 * position) % 1_000_003))
            deviation = self.noise * np.sqrt(0.5 + np.clip(light, 0, 255) / 255.0, dtype=np.float32)
            light = light + deviation * rng.standard_normal(light.shape, dtype=np.float32)
        return np.asarray(np.clip(np.rint(light), 0, 255), dtype=np.uint8)


IDEAL = ImageModel()
"""Images are the radiance itself, only rounded."""
