"""What a synthetic world is made of: textured patches, strips, lattices, boxes, domes and columns before two cameras.

Metres; the left camera is the origin and looks along +Z, x points right, y down, the right camera is at
(baseline, 0, 0). Positions are most easily given by `ImageFrame.place`: where a point appears in the left image and how
large its disparity is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels import render

Vector = NDArray[np.float64]
Colour = tuple[float, float, float]

FOCAL_PER_WIDTH = 1.25
BASELINE = 0.16
CELLS_PER_WIDTH = 20.0


@dataclass(frozen=True)
class Texture:
    """Colours between `dark` and `light`, mixed by noise that sticks to the surface; equal colours make it textureless.

    `stripes` is the number of periods over an image width (0 = none), `stripe_share` how much of the contrast they
    take; `reflectivity` is the share of light that comes from a mirrored environment at infinity instead.
    """

    dark: Colour = (60.0, 60.0, 60.0)
    light: Colour = (210.0, 210.0, 210.0)
    stripes: float = 0.0
    stripe_share: float = 0.9
    reflectivity: float = 0.0

    @property
    def textureless(self) -> bool:
        """No contrast at all."""
        return self.dark == self.light

    @property
    def repetitive(self) -> bool:
        """Dominated by a pattern that repeats."""
        return self.stripes > 0


@dataclass(frozen=True)
class WorldSurface:
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

    @property
    def bounded(self) -> bool:
        """Whether the surface ends somewhere."""
        return self.kind == render.SPHERE or math.isfinite(self.half_v)

    def corners(self) -> Vector:
        """Points whose convex hull holds the surface, which must be `bounded`."""
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
        row = np.zeros(render.COLUMNS)
        row[render.KIND] = self.kind
        row[render.ORIGIN : render.ORIGIN + 3] = self.origin
        row[render.AXIS_U : render.AXIS_U + 3] = self.axis_u
        row[render.AXIS_V : render.AXIS_V + 3] = self.axis_v
        row[render.NORMAL : render.NORMAL + 3] = self.normal
        row[render.HALF_U], row[render.HALF_V] = self.half_u, self.half_v
        row[render.RADIUS], row[render.COS_LIMIT] = self.radius, self.cos_limit
        row[render.LATTICE_PERIOD], row[render.LATTICE_BAR] = self.lattice_period, self.lattice_bar
        row[render.COLOUR_A : render.COLOUR_A + 3] = self.texture.dark
        row[render.COLOUR_B : render.COLOUR_B + 3] = self.texture.light
        width_in_metres = self.origin[2] / FOCAL_PER_WIDTH
        row[render.NOISE_CELL] = width_in_metres / CELLS_PER_WIDTH
        row[render.STRIPE_PERIOD] = width_in_metres / self.texture.stripes if self.texture.repetitive else 0.0
        row[render.STRIPE_SHARE] = self.texture.stripe_share
        row[render.REFLECTIVITY] = self.texture.reflectivity
        row[render.SEED] = seed
        return row


@dataclass(frozen=True)
class ImageFrame:
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


@dataclass(frozen=True)
class World:
    """Surfaces before the cameras; `seed` fixes every texture."""

    surfaces: tuple[WorldSurface, ...]
    seed: int = 0

    def table(self) -> Vector:
        """All surfaces as the kernel reads them."""
        return np.stack([s.row(self.seed * 7919 + 31 * i) for i, s in enumerate(self.surfaces)])

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
