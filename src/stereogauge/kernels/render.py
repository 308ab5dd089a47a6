"""Ray casting of synthetic worlds: nearest surface, its depth and its colour, for every pixel of a rectified camera.

A surface is one row of a float64 table whose columns are named below; `stereogauge.datasets.synthetic.world` builds
it. The camera stands at (offset, 0, 0) and looks along +Z; the ray of pixel (x, y) is (offset, 0, 0) + Z·((x − cx)/f,
(y − cy)/f, 1), so the ray's parameter is the depth itself.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import helper, kernel

Table: TypeAlias = NDArray[np.float64]

PATCH, DISC, SPHERE, CYLINDER = 0, 1, 2, 3

KIND = 0
ORIGIN = 1
AXIS_U = 4
AXIS_V = 7
NORMAL = 10
HALF_U = 13
HALF_V = 14
RADIUS = 15
COS_LIMIT = 16
LATTICE_PERIOD = 17
LATTICE_BAR = 18
COLOUR_A = 19
COLOUR_B = 22
NOISE_CELL = 25
STRIPE_PERIOD = 26
STRIPE_SHARE = 27
REFLECTIVITY = 28
SEED = 29
COLUMNS = 30

OCTAVE_RATIO = 2.6
OCTAVE_DECAY = 0.75
FINEST_CELL = 3.5
ENVIRONMENT_CELLS = 14.0


@helper
def _patch_depth(s: Table, ox: float, rx: float, ry: float) -> float:
    slope = s[NORMAL] * rx + s[NORMAL + 1] * ry + s[NORMAL + 2]
    if slope == 0.0:
        return math.inf
    px, py, pz = s[ORIGIN] - ox, s[ORIGIN + 1], s[ORIGIN + 2]
    z = float((s[NORMAL] * px + s[NORMAL + 1] * py + s[NORMAL + 2] * pz) / slope)
    if z <= 0.0:
        return math.inf
    qx, qy, qz = z * rx - px, z * ry - py, z - pz
    u = qx * s[AXIS_U] + qy * s[AXIS_U + 1] + qz * s[AXIS_U + 2]
    v = qx * s[AXIS_V] + qy * s[AXIS_V + 1] + qz * s[AXIS_V + 2]
    if s[KIND] == DISC:
        return z if (u / s[HALF_U]) ** 2 + (v / s[HALF_V]) ** 2 <= 1.0 else math.inf
    if abs(u) > s[HALF_U] or abs(v) > s[HALF_V]:
        return math.inf
    period = s[LATTICE_PERIOD]
    if period > 0.0:
        to_bar_u = abs(u - period * math.floor(u / period + 0.5))
        to_bar_v = abs(v - period * math.floor(v / period + 0.5))
        if min(to_bar_u, to_bar_v) > 0.5 * s[LATTICE_BAR]:
            return math.inf
    return z


@helper
def _quadric_depth(s: Table, ox: float, rx: float, ry: float) -> float:
    """Sphere: |P − C| = r. Cylinder: the same after removing the component along its axis. Only the part that faces
    NORMAL counts.
    """
    px, py, pz = s[ORIGIN] - ox, s[ORIGIN + 1], s[ORIGIN + 2]
    dx, dy, dz = rx, ry, 1.0
    ex, ey, ez = px, py, pz
    if s[KIND] == CYLINDER:
        along = rx * s[AXIS_V] + ry * s[AXIS_V + 1] + s[AXIS_V + 2]
        offset = px * s[AXIS_V] + py * s[AXIS_V + 1] + pz * s[AXIS_V + 2]
        dx, dy, dz = rx - along * s[AXIS_V], ry - along * s[AXIS_V + 1], 1.0 - along * s[AXIS_V + 2]
        ex, ey, ez = px - offset * s[AXIS_V], py - offset * s[AXIS_V + 1], pz - offset * s[AXIS_V + 2]
    a = dx * dx + dy * dy + dz * dz
    b = dx * ex + dy * ey + dz * ez
    c = ex * ex + ey * ey + ez * ez - s[RADIUS] * s[RADIUS]
    square = b * b - a * c
    if square < 0.0 or a == 0.0:
        return math.inf
    z = float((b - math.sqrt(square)) / a)
    if z <= 0.0:
        return math.inf
    qx, qy, qz = z * dx - ex, z * dy - ey, z * dz - ez
    if qx * s[NORMAL] + qy * s[NORMAL + 1] + qz * s[NORMAL + 2] < s[COS_LIMIT] * s[RADIUS]:
        return math.inf
    if s[KIND] == CYLINDER and abs(z * along - offset) > s[HALF_V]:
        return math.inf
    return z


@helper
def _candidates(bounds: Table, y: int, indices: NDArray[np.int64]) -> int:
    """Collect the surfaces that may be seen in row y; `bounds` holds x and y limits in pixels per surface."""
    count = 0
    for i in range(bounds.shape[0]):
        if bounds[i, 2] <= y <= bounds[i, 3]:
            indices[count] = i
            count += 1
    return count


@helper
def _nearest(
    surfaces: Table, bounds: Table, indices: NDArray[np.int64], column: float, ox: float, rx: float, ry: float
) -> tuple[float, int]:
    depth, index = math.inf, -1
    for i in indices:
        if column < bounds[i, 0] or column > bounds[i, 1]:
            continue
        s = surfaces[i]
        z = _patch_depth(s, ox, rx, ry) if s[KIND] <= DISC else _quadric_depth(s, ox, rx, ry)
        if z < depth:
            depth, index = z, i
    return depth, index


@helper
def _corner(ix: int, iy: int, iz: int, seed: int) -> float:
    """A number in [0, 1) that depends on a lattice point and a seed alone."""
    h = (
        np.uint32(ix) * np.uint32(0x8DA6B343)
        ^ np.uint32(iy) * np.uint32(0xD8163841)
        ^ np.uint32(iz) * np.uint32(0xCB1AB31F)
    )
    h = np.uint32(h ^ (np.uint32(seed) * np.uint32(0x9E3779B1)))
    h = np.uint32((h ^ (h >> np.uint32(15))) * np.uint32(0x2C1B3C6D))
    h = np.uint32((h ^ (h >> np.uint32(12))) * np.uint32(0x297A2D39))
    return np.float64(np.uint32(h ^ (h >> np.uint32(15)))) * (1.0 / 4294967296.0)


@helper
def _blend_face(ix: int, iy: int, iz: int, tx: float, ty: float, seed: int) -> float:
    """The four corners of a lattice cell's face, blended by tx and ty."""
    a, b = _corner(ix, iy, iz, seed), _corner(ix + 1, iy, iz, seed)
    c, d = _corner(ix, iy + 1, iz, seed), _corner(ix + 1, iy + 1, iz, seed)
    upper, lower = a + tx * (b - a), c + tx * (d - c)
    return float(upper + ty * (lower - upper))


@helper
def _value_noise(x: float, y: float, z: float, seed: int) -> float:
    """Random values at integer lattice points, blended with 6t⁵ − 15t⁴ + 10t³ (continuous second derivative)."""
    fx, fy, fz = math.floor(x), math.floor(y), math.floor(z)
    ix, iy, iz = np.int64(fx), np.int64(fy), np.int64(fz)
    tx, ty, tz = x - fx, y - fy, z - fz
    tx = tx * tx * tx * (tx * (tx * 6.0 - 15.0) + 10.0)
    ty = ty * ty * ty * (ty * (ty * 6.0 - 15.0) + 10.0)
    tz = tz * tz * tz * (tz * (tz * 6.0 - 15.0) + 10.0)
    near = _blend_face(ix, iy, iz, tx, ty, seed)
    return float(near + tz * (_blend_face(ix, iy, iz + 1, tx, ty, seed) - near))


@helper
def _texture(s: Table, x: float, y: float, z: float, focal: float) -> float:
    """In [0, 1]: octaves of noise fixed to the surface's points, blended with sinusoidal stripes along AXIS_U.

    An octave fades out before its cells become smaller than `FINEST_CELL` pixels. The fading depends on depth alone,
    which both views of a point share, so that it adds no difference between them.
    """
    value, amplitude, total = 0.0, 1.0, 0.0
    cell, seed = s[NOISE_CELL], int(s[SEED])
    along = (x - s[ORIGIN]) * s[AXIS_U] + (y - s[ORIGIN + 1]) * s[AXIS_U + 1] + (z - s[ORIGIN + 2]) * s[AXIS_U + 2]
    pixels = cell * focal / z
    while pixels > FINEST_CELL:
        # Turned for each octave, so that the noise's lattice never shows along the image's axes.
        x, y, z = 0.36 * x + 0.48 * y - 0.8 * z, -0.8 * x + 0.6 * y, 0.48 * x + 0.64 * y + 0.6 * z
        weight = amplitude * min(1.0, 0.5 * (pixels - FINEST_CELL))
        value += weight * _value_noise(x / cell, y / cell, z / cell, seed)
        total += weight
        amplitude *= OCTAVE_DECAY
        cell /= OCTAVE_RATIO
        pixels /= OCTAVE_RATIO
        seed += 101
    value = value / total if total > 0.0 else 0.5
    value = min(1.0, max(0.0, 0.5 + 1.8 * (value - 0.5)))
    if s[STRIPE_PERIOD] > 0.0:
        wave = 0.5 + 0.5 * math.sin(2.0 * math.pi * along / s[STRIPE_PERIOD])
        value = (1.0 - s[STRIPE_SHARE]) * value + s[STRIPE_SHARE] * wave
    return value


@helper
def _shade(s: Table, ox: float, rx: float, ry: float, z: float, focal: float, colour: Table) -> None:
    """Diffuse colour under one fixed lamp, plus what a mirror shows of an environment at infinity."""
    x, y = ox + z * rx, z * ry
    nx, ny, nz = s[NORMAL], s[NORMAL + 1], s[NORMAL + 2]
    if s[KIND] >= SPHERE:
        nx, ny, nz = x - s[ORIGIN], y - s[ORIGIN + 1], z - s[ORIGIN + 2]
        if s[KIND] == CYLINDER:
            along = nx * s[AXIS_V] + ny * s[AXIS_V + 1] + nz * s[AXIS_V + 2]
            nx, ny, nz = nx - along * s[AXIS_V], ny - along * s[AXIS_V + 1], nz - along * s[AXIS_V + 2]
        nx, ny, nz = nx / s[RADIUS], ny / s[RADIUS], nz / s[RADIUS]
    if nx * rx + ny * ry + nz > 0.0:
        nx, ny, nz = -nx, -ny, -nz
    light = 0.7 + 0.3 * max(0.0, -0.45 * nx - 0.6 * ny - 0.66 * nz)
    value = _texture(s, x, y, z, focal)
    for channel in range(3):
        colour[channel] = light * (s[COLOUR_A + channel] + value * (s[COLOUR_B + channel] - s[COLOUR_A + channel]))
    mirror = s[REFLECTIVITY]
    if mirror > 0.0:
        dot = 2.0 * (nx * rx + ny * ry + nz)
        mx, my, mz = rx - dot * nx, ry - dot * ny, 1.0 - dot * nz
        scale = ENVIRONMENT_CELLS / math.sqrt(mx * mx + my * my + mz * mz)
        seen = 40.0 + 190.0 * _value_noise(mx * scale, my * scale, mz * scale, int(s[SEED]) + 977)
        for channel in range(3):
            colour[channel] = (1.0 - mirror) * colour[channel] + mirror * seen


@kernel(vectorised=False)
def render_rows(
    surfaces: Table,
    bounds: Table,
    offset: float,
    focal: float,
    centre_x: float,
    centre_y: float,
    first: int,
    last: int,
    depth: NDArray[np.float64],
    labels: NDArray[np.int32],
    colours: NDArray[np.float32],
) -> None:
    """Fill rows first…last−1: depth (float64, inf where nothing is hit), labels (row of the table, −1), colours
    (float32).
    """
    width = depth.shape[1]
    colour = np.empty(3)
    indices = np.empty(surfaces.shape[0], np.int64)
    for y in range(first, last):
        count = _candidates(bounds, y, indices)
        ry = (y - centre_y) / focal
        for x in range(width):
            rx = (x - centre_x) / focal
            z, index = _nearest(surfaces, bounds, indices[:count], float(x), offset, rx, ry)
            depth[y, x] = z
            labels[y, x] = index
            if index < 0:
                for channel in range(3):
                    colours[y, x, channel] = 0.0
                continue
            _shade(surfaces[index], offset, rx, ry, z, focal, colour)
            for channel in range(3):
                colours[y, x, channel] = colour[channel]


@kernel(vectorised=False)
def visible_rows(
    surfaces: Table,
    bounds: Table,
    offset: float,
    other: float,
    focal: float,
    centre_x: float,
    centre_y: float,
    first: int,
    last: int,
    depth: NDArray[np.float64],
    visible: NDArray[np.bool_],
) -> None:
    """Rows first…last−1 of `visible`: the point seen from `offset` projects into the image of the camera at `other`,
    unhidden.

    `bounds` are those of the camera at `other`.
    """
    width = depth.shape[1]
    indices = np.empty(surfaces.shape[0], np.int64)
    for y in range(first, last):
        count = _candidates(bounds, y, indices)
        ry = (y - centre_y) / focal
        for x in range(width):
            z = depth[y, x]
            rx = (x - centre_x) / focal + (offset - other) / z
            column = rx * focal + centre_x
            if not (-0.5 <= column < width - 0.5):
                visible[y, x] = False
                continue
            nearest, _ = _nearest(surfaces, bounds, indices[:count], column, other, rx, ry)
            visible[y, x] = nearest > z * (1.0 - 1e-9)


@kernel(vectorised=False)
def pixel_visible_rows(
    disparity: NDArray[np.float32],
    other: NDArray[np.float32],
    sign: int,
    tolerance: float,
    first: int,
    last: int,
    visible: NDArray[np.bool_],
) -> None:
    """Rows of `visible`: the pixel of the other view nearest to the projection shows the same disparity within
    `tolerance`.
    """
    width = disparity.shape[1]
    for y in range(first, last):
        for x in range(width):
            column = x - sign * math.floor(disparity[y, x] + 0.5)
            visible[y, x] = 0 <= column < width and abs(disparity[y, x] - other[y, column]) <= tolerance
