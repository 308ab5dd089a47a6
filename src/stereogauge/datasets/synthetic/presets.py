"""The named synthetic worlds: functions of the frame and a random generator, so that each seed gives another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stereogauge.datasets.synthetic.render import IDEAL, ImageModel
from stereogauge.datasets.synthetic.world import (
    ImageFrame,
    Texture,
    World,
    WorldSurface,
    box,
    column,
    dome,
    patch,
    strip,
)

FAR, NEAR = 0.016, 0.1
"""Smallest and largest disparity of the presets, as shares of the image width."""

Builder = Callable[[ImageFrame, np.random.Generator], list[WorldSurface]]


@dataclass(frozen=True)
class Preset:
    """A kind of world and how its images are taken."""

    id: str
    description: str
    build: Builder
    images: ImageModel = IDEAL

    def world(self, frame: ImageFrame, seed: int) -> World:
        """The world of this kind that belongs to `seed`."""
        return World(tuple(self.build(frame, np.random.default_rng(seed))), seed).numbered()


def _texture(rng: np.random.Generator, contrast: float = 0.55) -> Texture:
    middle = rng.uniform(95, 165, 3)
    return Texture(dark=tuple(middle * (1 - contrast)), light=tuple(np.minimum(middle * (1 + contrast), 250.0)))


def _plain(rng: np.random.Generator) -> Texture:
    grey = tuple(rng.uniform(90, 200, 3))
    return Texture(dark=grey, light=grey)


def _striped(rng: np.random.Generator) -> Texture:
    return replace(_texture(rng), stripes=float(rng.uniform(35, 50)))


def _room(frame: ImageFrame, rng: np.random.Generator) -> list[WorldSurface]:
    wall = patch(
        frame.place(0, 0, FAR * 1.2), _texture(rng), yaw=rng.uniform(-12, 12), pitch=rng.uniform(-8, 8), body=-1
    )
    floor = patch(frame.place(0, 0.5, 0.07), _texture(rng), pitch=90, body=-2)
    return [wall, floor]


def _cards(frame: ImageFrame, rng: np.random.Generator, count: int, near: float = 0.075) -> Iterator[WorldSurface]:
    columns = rng.permutation(count)
    for i, disparity in enumerate(np.linspace(0.026, near, count)):
        centre = frame.place((columns[i] + 0.5) / count * 0.9 - 0.45, rng.uniform(-0.22, 0.18), disparity)
        half = frame.length(rng.uniform(0.09, 0.14), disparity)
        yaw, pitch, roll = rng.uniform(-38, 38), rng.uniform(-30, 30), rng.uniform(-40, 40)
        texture = _texture(rng)
        size: dict[str, Any] = {"half_u": half, "half_v": half * rng.uniform(0.6, 1.1)}
        yield patch(centre, texture, yaw=yaw, pitch=pitch, roll=roll, round_=i % 4 == 3, body=100 + i, **size)


def _domes(frame: ImageFrame, rng: np.random.Generator, count: int) -> Iterator[WorldSurface]:
    for i, disparity in enumerate(rng.uniform(0.035, 0.07, count)):
        centre = frame.place((i + 0.5) / count * 0.9 - 0.45, rng.uniform(-0.3, 0.3), disparity)
        yield dome(centre, frame.length(rng.uniform(0.1, 0.16), disparity), 42, _texture(rng), body=200 + i)


def _columns(frame: ImageFrame, rng: np.random.Generator, count: int) -> Iterator[WorldSurface]:
    for i, disparity in enumerate(rng.uniform(0.03, 0.06, count)):
        centre = frame.place((i + 0.5) / count * 0.8 - 0.4, 0.0, disparity)
        direction = np.array([rng.uniform(-0.35, 0.35), 1.0, rng.uniform(-0.2, 0.2)])
        half_length, radius = frame.length(0.3, disparity), frame.length(rng.uniform(0.06, 0.09), disparity)
        yield column(centre, direction, half_length, radius, 42, _texture(rng), body=300 + i)


def _boxes(frame: ImageFrame, rng: np.random.Generator, count: int) -> Iterator[WorldSurface]:
    for i, disparity in enumerate(rng.uniform(0.032, 0.062, count)):
        edge = frame.length(rng.uniform(0.11, 0.16), disparity)
        centre = frame.place((i + 0.5) / count * 0.9 - 0.45, rng.uniform(0.0, 0.25), disparity)
        size = (edge, edge * rng.uniform(0.7, 1.3), edge)
        yield from box(centre, size, _texture(rng), yaw=rng.uniform(20, 70), body=400 + i)


def _wires(frame: ImageFrame, rng: np.random.Generator, count: int) -> Iterator[WorldSurface]:
    """Strips of 0.4 to 0.9 % of the image width, at every angle, some of them leaning in depth."""
    for i in range(count):
        disparity, angle = rng.uniform(0.06, 0.085), np.pi * (i + rng.uniform(0.2, 0.8)) / count
        x, y, reach = rng.uniform(-0.38, 0.38), rng.uniform(-0.3, 0.3), rng.uniform(0.12, 0.3)
        lean = rng.uniform(-0.008, 0.008)
        start = frame.place(x - reach * np.cos(angle), y - reach * np.sin(angle), disparity - lean)
        end = frame.place(x + reach * np.cos(angle), y + reach * np.sin(angle), disparity + lean)
        yield strip(start, end, frame.length(rng.uniform(0.004, 0.009), disparity), _texture(rng, 0.4), body=500 + i)


def _poles(frame: ImageFrame, rng: np.random.Generator, count: int) -> Iterator[WorldSurface]:
    for i, disparity in enumerate(rng.uniform(0.07, 0.09, count)):
        x = (i + rng.uniform(0.3, 0.7)) / count * 0.9 - 0.45
        foot = frame.place(x, 0.6, disparity)
        head = frame.place(x + rng.uniform(-0.03, 0.03), rng.uniform(-0.4, -0.1), disparity)
        yield strip(foot, head, frame.length(0.0075, disparity), _texture(rng, 0.4), body=600 + i)


def _grid(frame: ImageFrame, rng: np.random.Generator, x: float, y: float) -> WorldSurface:
    disparity = rng.uniform(0.06, 0.075)
    half = frame.length(0.11, disparity)
    roll, yaw = rng.uniform(5, 40), rng.uniform(-20, 20)
    lattice: dict[str, Any] = {
        "lattice_period": frame.length(0.045, disparity),
        "lattice_bar": frame.length(0.007, disparity),
    }
    centre = frame.place(x, y, disparity)
    return patch(centre, _texture(rng, 0.4), yaw=yaw, roll=roll, half_u=half, half_v=half, body=700, **lattice)


def _panels(
    frame: ImageFrame, rng: np.random.Generator, textures: list[Texture], first_body: int
) -> Iterator[WorldSurface]:
    count = len(textures)
    for i, texture in enumerate(textures):
        disparity = rng.uniform(0.035, 0.06)
        half = frame.length(0.4 / count, disparity)
        centre = frame.place((i + 0.5) / count - 0.5, rng.uniform(-0.15, 0.15), disparity)
        yaw, pitch = rng.uniform(-25, 25), rng.uniform(-20, 20)
        yield patch(centre, texture, half_u=half, half_v=half * 1.2, yaw=yaw, pitch=pitch, body=first_body + i)


def _planes_world(frame: ImageFrame, rng: np.random.Generator) -> list[WorldSurface]:
    return [*_room(frame, rng)[:1], *_cards(frame, rng, 8, NEAR * 0.9)]


def _curved_world(frame: ImageFrame, rng: np.random.Generator) -> list[WorldSurface]:
    return [*_room(frame, rng), *_columns(frame, rng, 3), *_domes(frame, rng, 4)]


def _boxes_world(frame: ImageFrame, rng: np.random.Generator) -> list[WorldSurface]:
    return [*_room(frame, rng), *_boxes(frame, rng, 4)]


def _thin_world(frame: ImageFrame, rng: np.random.Generator) -> list[WorldSurface]:
    return [
        *_room(frame, rng),
        *_cards(frame, rng, 3, 0.045),
        *_wires(frame, rng, 7),
        *_poles(frame, rng, 4),
        _grid(frame, rng, 0.2, -0.2),
    ]


def _anatomy_world(frame: ImageFrame, rng: np.random.Generator) -> list[WorldSurface]:
    """Every kind of geometry, well apart: large slanted cards in the upper half, separate poles before the floor."""
    surfaces = _room(frame, rng)
    for i, disparity in enumerate((0.034, 0.042, 0.05)):
        centre = frame.place(0.32 * (i - 1), -0.22, disparity)
        half = frame.length(0.11, disparity)
        yaw, pitch, roll = rng.uniform(-30, 30), rng.uniform(-25, 25), rng.uniform(-20, 20)
        surfaces.append(
            patch(centre, _texture(rng), half_u=half, half_v=half, yaw=yaw, pitch=pitch, roll=roll, body=100 + i)
        )
    for i in range(9):
        x, lean, disparity = 0.1 * (i - 4), rng.uniform(-0.03, 0.03), rng.uniform(0.08, 0.095)
        foot, head = frame.place(x, 0.47, disparity), frame.place(x + lean, rng.uniform(0.16, 0.24), disparity)
        width = frame.length(rng.uniform(0.004, 0.008), disparity)
        surfaces.append(strip(foot, head, width, _texture(rng, 0.4), body=600 + i))
    return surfaces


def _weak_world(frame: ImageFrame, rng: np.random.Generator) -> list[WorldSurface]:
    return [*_room(frame, rng), *_panels(frame, rng, [_plain(rng), _striped(rng), _plain(rng), _striped(rng)], 800)]


def _mirror_world(frame: ImageFrame, rng: np.random.Generator) -> list[WorldSurface]:
    mirrors = [replace(_texture(rng), reflectivity=share) for share in (0.35, 0.7)]
    return [*_room(frame, rng), *_panels(frame, rng, [mirrors[0], _texture(rng), mirrors[1]], 900)]


def _mixed_world(frame: ImageFrame, rng: np.random.Generator) -> list[WorldSurface]:
    surfaces = [*_room(frame, rng), *_cards(frame, rng, 4, 0.055), *_boxes(frame, rng, 2), *_domes(frame, rng, 2)]
    surfaces += [*_poles(frame, rng, 3), *_wires(frame, rng, 4), _grid(frame, rng, -0.28, -0.28)]
    weak = [_plain(rng), _striped(rng), replace(_texture(rng), reflectivity=0.6)]
    for i, (texture, x) in enumerate(zip(weak, (-0.4, -0.05, 0.38), strict=True)):
        half, centre = frame.length(0.06, 0.03), frame.place(x, -0.3, 0.03)
        surfaces.append(patch(centre, texture, half_u=half, half_v=half, yaw=rng.uniform(-20, 20), body=1000 + i))
    return surfaces


_LIGHT = ImageModel(gain_right=0.72, gamma_right=1.15, vignetting=0.2, noise=2.0, blur=0.6)

PRESETS: Mapping[str, Preset] = {
    preset.id: preset
    for preset in (
        Preset("planes", "eight slanted cards in layers before a slanted wall", _planes_world),
        Preset("curved", "domes and leaning columns in a room", _curved_world),
        Preset("boxes", "four turned boxes in a room", _boxes_world),
        Preset("thin", "wires at every angle, poles and a grid", _thin_world),
        Preset("anatomy", "edges, planes and thin structures well apart, for studies of metrics", _anatomy_world),
        Preset("weak-texture", "textureless and repetitive panels", _weak_world),
        Preset("reflections", "panels that mirror their surroundings", _mirror_world),
        Preset("mixed", "everything at once", _mixed_world),
        Preset(
            "noisy", "everything at once, with blur and sensor noise", _mixed_world, ImageModel(blur=0.8, noise=4.0)
        ),
        Preset(
            "exposure", "everything at once, the right camera darker, with noise and vignetting", _mixed_world, _LIGHT
        ),
    )
}
