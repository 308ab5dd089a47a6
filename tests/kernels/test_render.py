"""Rays of synthetic worlds meet what plain Python says they meet, in the colour that it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stereogauge.datasets.synthetic.scene import PRESETS
from stereogauge.datasets.synthetic.world import ImageFrame, Renderer
from stereogauge.kernels import render

pytestmark = pytest.mark.usefixtures("processor_level")
SIZE = (18, 24)
Vector = np.ndarray


class Row:
    """A surface by the names of its columns."""

    def __init__(self, row: Vector) -> None:
        own = row.view(render.ROW)[0]
        self.kind, self.seed = int(own["kind"]), int(own["seed"])
        self.origin, self.normal, self.dark, self.light = (own[name] for name in ("origin", "normal", "dark", "light"))
        self.u, self.v = own["axis_u"], own["axis_v"]
        self.half_u, self.half_v, self.radius, self.cos_limit = row[13:17]
        self.period, self.bar = own["lattice_period"], own["lattice_bar"]
        self.cell, self.stripes, self.stripe_share, self.mirror = row[25:29]


def hit(s: Row, eye: Vector, ray: Vector) -> float:
    """The depth at which a ray meets a surface."""
    if s.kind in (render.PATCH, render.DISC):
        depth = ((s.origin - eye) @ s.normal) / (ray @ s.normal) if ray @ s.normal else math.inf
    else:
        across = np.eye(3) - (np.outer(s.v, s.v) if s.kind == render.CYLINDER else 0)
        d, e = across @ ray, across @ (s.origin - eye)
        square = (d @ e) ** 2 - (d @ d) * (e @ e - s.radius**2)
        depth = (d @ e - math.sqrt(square)) / (d @ d) if square >= 0 else math.inf
    if not 0 < depth < math.inf:
        return math.inf
    q = eye + depth * ray - s.origin
    u, v = q @ s.u, q @ s.v
    if s.kind == render.DISC:
        inside = (u / s.half_u) ** 2 + (v / s.half_v) ** 2 <= 1
    elif s.kind == render.PATCH:
        to_bars = [abs(w - s.period * math.floor(w / s.period + 0.5)) for w in (u, v)] if s.period else [0]
        inside = abs(u) <= s.half_u and abs(v) <= s.half_v and min(to_bars) <= s.bar / 2
    else:
        facing = across @ q @ s.normal >= s.cos_limit * s.radius
        inside = facing and (s.kind == render.SPHERE or abs(v) <= s.half_v)
    return depth if inside else math.inf


def corner(point: tuple[int, ...], seed: int) -> float:
    """The random number of a lattice point."""
    h = 0
    for part, factor in zip((*point, seed), (0x8DA6B343, 0xD8163841, 0xCB1AB31F, 0x9E3779B1), strict=True):
        h ^= part * factor % 2**32
    for shift, factor in ((15, 0x2C1B3C6D), (12, 0x297A2D39)):
        h = (h ^ h >> shift) * factor % 2**32
    return (h ^ h >> 15) / 2**32


def noise(p: Vector, seed: int) -> float:
    """Random numbers of the eight lattice points around, blended."""
    low = np.floor(p)
    t = p - low
    weights = np.array([1 - t**3 * (t * (t * 6 - 15) + 10), t**3 * (t * (t * 6 - 15) + 10)])
    total = 0.0
    for k in np.ndindex(2, 2, 2):
        weight = float(np.prod([weights[k[axis], axis] for axis in range(3)]))
        total += weight * corner(tuple(int(low[axis]) + k[axis] for axis in range(3)), seed)
    return total


def texture(s: Row, p: Vector, focal: float) -> float:
    """The place of a point between the two colours of its surface."""
    turned = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0], [0.48, 0.64, 0.6]])
    octaves, q, cell, octave = [], p, s.cell, 0
    while cell * focal / p[2] > 3.5:
        q = turned @ q
        weight = 0.75**octave * min(1, 0.5 * (cell * focal / p[2] - 3.5))
        octaves.append((weight, noise(q / cell, s.seed + 101 * octave)))
        cell, octave = cell / 2.6, octave + 1
    total = sum(weight for weight, _ in octaves)
    value = sum(weight * one for weight, one in octaves) / total if total else 0.5
    value = min(1, max(0, 0.5 + 1.8 * (value - 0.5)))
    if s.stripes > 0:
        wave = 0.5 + 0.5 * math.sin(2 * math.pi * ((p - s.origin) @ s.u) / s.stripes)
        value = (1 - s.stripe_share) * value + s.stripe_share * wave
    return value


def colour(s: Row, eye: Vector, ray: Vector, depth: float, focal: float) -> Vector:
    """The colour of the point that a ray meets."""
    p = eye + depth * ray
    n = s.normal
    if s.kind in (render.SPHERE, render.CYLINDER):
        n = (p - s.origin) - (((p - s.origin) @ s.v) * s.v if s.kind == render.CYLINDER else 0)
        n = n / s.radius
    n = -n if n @ ray > 0 else n
    light = 0.7 + 0.3 * max(0, n @ [-0.45, -0.6, -0.66])
    found = light * (s.dark + texture(s, p, focal) * (s.light - s.dark))
    if s.mirror > 0:
        m = ray - 2 * (n @ ray) * n
        found = (1 - s.mirror) * found + s.mirror * (40 + 190 * noise(14 * m / np.linalg.norm(m), s.seed + 977))
    return np.asarray(found)


@pytest.mark.parametrize("preset", ["mixed", "thin", "curved", "reflections"])
def test_a_view_shows_the_nearest_surface_of_every_ray(preset: str) -> None:
    renderer = Renderer(PRESETS[preset].world(ImageFrame(SIZE[0] / SIZE[1]), 0), SIZE)
    position = 0.5
    view = renderer.view(position)
    rows = [Row(row) for row in renderer.table]
    eye = np.array([position * 0.16, 0, 0])
    for y, x in np.ndindex(SIZE):
        ray = np.array([(x - renderer.centre[0]) / renderer.focal, (y - renderer.centre[1]) / renderer.focal, 1.0])
        depths = [hit(s, eye, ray) for s in rows]
        nearest = min(depths)
        assert view.depth[y, x] == pytest.approx(nearest, rel=1e-12)
        assert (view.surface[y, x] < 0) == math.isinf(nearest)
        if view.surface[y, x] >= 0:
            assert depths[view.surface[y, x]] == pytest.approx(nearest, rel=1e-12)
            expected = colour(rows[view.surface[y, x]], eye, ray, nearest, renderer.focal)
            assert view.radiance[y, x] == pytest.approx(expected, rel=1e-5)
        else:
            assert not view.radiance[y, x].any()


def test_a_point_is_visible_where_a_second_ray_meets_nothing_before_it() -> None:
    renderer = Renderer(PRESETS["mixed"].world(ImageFrame(SIZE[0] / SIZE[1]), 0), SIZE)
    view = renderer.view(0.0)
    visible = renderer.visible(view)
    rows = [Row(row) for row in renderer.table]
    eye = np.array([0.16, 0, 0])
    for y, x in np.ndindex(SIZE):
        ray = np.array([(x - renderer.centre[0]) / renderer.focal, (y - renderer.centre[1]) / renderer.focal, 1.0])
        ray[0] -= 0.16 / view.depth[y, x]
        column = ray[0] * renderer.focal + renderer.centre[0]
        inside = -0.5 <= column < SIZE[1] - 0.5
        assert visible[y, x] == (inside and min(hit(s, eye, ray) for s in rows) > view.depth[y, x] * (1 - 1e-9))
    assert 0 < visible.sum() < visible.size
