"""Synthetic worlds as scenes: rendered at first use, exact in both views, at any size, from a seed; and as files.

The named worlds are functions of the frame and a random generator, so that each seed gives another.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.datasets.layout import MIDDLEBURY_RESOLUTIONS
from stereogauge.datasets.synthetic.world import (
    IDEAL,
    CameraView,
    ImageFrame,
    ImageModel,
    Renderer,
    Texture,
    World,
    WorldSurface,
    box,
    column,
    dome,
    patch,
    strip,
)
from stereogauge.errors import DatasetError, unknown_name
from stereogauge.io.encodings import write_disparity
from stereogauge.io.images import encode_png
from stereogauge.io.writing import write_bytes
from stereogauge.kernels.views import bidirectional_visible
from stereogauge.model import Dataset, DisparityMap, Mask, Scene

FULL_WIDTH = 2880.0
"""The image width for which the geometry thresholds of full-size Middlebury scenes are meant (resolution 1)."""

SURFACE_MASKS: Mapping[str, Callable[[WorldSurface], bool]] = {
    "plain": lambda surface: surface.texture.dark == surface.texture.light,
    "repetitive": lambda surface: surface.texture.stripes > 0,
    "reflective": lambda surface: surface.texture.reflectivity > 0,
    "thin": lambda surface: surface.thin,
    "planar": lambda surface: surface.planar,
}
MASKS = ("nonocc", "visible", *SURFACE_MASKS)
DEFAULT_SIZE = (480, 640)
SMALLEST, LARGEST = 32, 20000
VISIBLE, OCCLUDED = 255, 128
SAME_SURFACE = 1.0
"""Two views show the same point when their disparities differ by at most this many pixels."""


class SyntheticScene(Scene):
    """A scene whose arrays come from a renderer.

    Beside what every scene has: `objects` (int32, 1, 2, … per body) and `planes` (int32, 1, 2, … per flat surface, 0
    elsewhere), both of the left view; masks `nonocc` (the bidirectional rule on pixels), `visible` (exact, by a
    second ray), `plain` (no texture), `repetitive`, `reflective`, `thin` and `planar`. A pickled scene holds the
    recipe, not the arrays.
    """

    def __init__(
        self,
        preset: Preset,
        seed: int,
        size: tuple[int, int],
        *,
        images: ImageModel | None = None,
        positions: tuple[float, ...] = (),
    ) -> None:
        height, width = size
        self.renderer = Renderer(preset.world(ImageFrame(height / width), seed), size)
        self.images = preset.images if images is None else images
        self.seed = seed
        self._rendered: dict[float, CameraView] = {}
        made: Any = functools.partial
        super().__init__(
            f"{preset.id}-{seed}",
            gt=made(self._disparity, 0.0),
            left=made(self._image, 0.0),
            right=made(self._image, 1.0),
            gt_right=made(self._disparity, 1.0),
            calibration=self.renderer.calibration(NEAR),
            masks={name: made(self._mask, name) for name in MASKS},
            views={position: made(self._image, position) for position in positions},
            dataset=f"synthetic:{preset.id}",
            resolution=width / FULL_WIDTH,
            metadata={"preset": preset.id, "seed": seed, "description": preset.description},
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_rendered": {}}

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width)."""
        return self.renderer.size

    def _view(self, position: float) -> CameraView:
        if position not in self._rendered:
            self._rendered[position] = self.renderer.view(position)
        return self._rendered[position]

    def _disparity(self, position: float) -> DisparityMap:
        return self.renderer.disparity(self._view(position))

    def _image(self, position: float) -> NDArray[np.uint8]:
        return self.images.take(self._view(position).radiance, position, self.seed)

    def _mask(self, name: str) -> Mask:
        if name == "nonocc":
            return bidirectional_visible(self.gt, self.gt_right, SAME_SURFACE, 1)
        if name == "visible":
            return self.renderer.visible(self._view(0.0))
        return self._per_surface(np.array([*map(SURFACE_MASKS[name], self.renderer.world.surfaces), False]))

    def _per_surface(self, values: NDArray[Any]) -> NDArray[Any]:
        """`values` per surface, with one more at the end for pixels that see none, spread over the left view."""
        return values[self._view(0.0).surface]

    @property
    def objects(self) -> NDArray[np.int32]:
        """The body that each left pixel sees, 1, 2, …; 0 where it sees none."""
        return self._per_surface(np.array([*(s.body for s in self.renderer.world.surfaces), 0], np.int32))

    @property
    def planes(self) -> NDArray[np.int32]:
        """The flat surface that each left pixel sees, 1, 2, …; 0 on curved surfaces."""
        surfaces = self.renderer.world.surfaces
        return self._per_surface(np.array([*(i * s.planar for i, s in enumerate(surfaces, 1)), 0], np.int32))

    def release(self) -> None:
        """Free the rendered maps; they are rendered again at the next use."""
        super().release()
        self._rendered.clear()


def load_synthetic(
    preset: str = "mixed",
    *,
    seed: int = 0,
    size: tuple[int, int] = DEFAULT_SIZE,
    scenes: int = 1,
    images: ImageModel | None = None,
    views: tuple[float, ...] = (),
) -> Dataset:
    """`scenes` worlds of one preset with seeds seed, seed + 1, …; preset "all" gives that many of each.

    `size` is (height, width); `images` overrides how the preset's images are taken; `views` are positions of further
    images on the baseline (left = 0, right = 1). Everything is rendered at its first use and is the same for the same
    arguments.
    """
    if preset not in (*PRESETS, "all"):
        raise unknown_name("preset of dataset synthetic", preset, (*PRESETS, "all"))
    if len(size) != 2 or not all(SMALLEST <= int(n) <= LARGEST for n in size):
        raise DatasetError(
            f"A synthetic scene's size is (height, width), each from {SMALLEST} to {LARGEST}; found {size}."
        )
    if scenes < 1 or seed < 0:
        raise DatasetError(f"A synthetic dataset needs at least one scene and a seed ≥ 0; found {scenes} and {seed}.")
    chosen = list(PRESETS.values()) if preset == "all" else [PRESETS[preset]]
    shape = int(size[0]), int(size[1])
    listed = [
        SyntheticScene(kind, number, shape, images=images, positions=views)
        for kind in chosen
        for number in range(seed, seed + scenes)
    ]
    return Dataset(f"synthetic:{preset}", list(listed), version="1")


def save_middlebury_layout(scenes: Iterable[Scene], root: str | os.PathLike[str]) -> Path:
    """Write `scenes` below root/training{F|H|Q}/SCENE and return that folder's parent, ready for the Middlebury v3
    loader.

    Per scene: im0.png, im1.png, disp0GT.pfm, disp1GT.pfm, mask0nocc.png and mask1nocc.png (255 visible in both views,
    128 occluded), calib.txt, and the 16-bit label maps objects.png and planes.png, which the loader ignores. The
    letter is the one whose resolution is nearest to the scene's.
    """
    folder = Path(root)
    for scene in scenes:
        if not isinstance(scene, SyntheticScene):
            raise DatasetError(
                f"Only synthetic scenes are saved in this layout; {scene.id!r} is one of {scene.dataset!r}."
            )
        sizes = MIDDLEBURY_RESOLUTIONS
        letter = min(sizes, key=lambda letter: abs(math.log(scene.resolution / sizes[letter])))
        _save_scene(scene, folder / f"training{letter}" / scene.id)
    return folder


def _save_scene(scene: SyntheticScene, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    visible = scene.mask("nonocc"), bidirectional_visible(scene.gt_right, scene.gt, SAME_SURFACE, -1)
    masks = [np.where(mask, np.uint8(VISIBLE), np.uint8(OCCLUDED)) for mask in visible]
    images = {
        "im0": scene.left[..., ::-1],
        "im1": scene.right[..., ::-1],
        "mask0nocc": masks[0],
        "mask1nocc": masks[1],
        "objects": scene.objects.astype(np.uint16),
        "planes": scene.planes.astype(np.uint16),
    }
    for name, pixels in images.items():
        write_bytes(folder / f"{name}.png", encode_png(np.ascontiguousarray(pixels)))
    write_disparity(folder / "disp0GT.pfm", scene.gt)
    write_disparity(folder / "disp1GT.pfm", scene.gt_right)
    write_bytes(folder / "calib.txt", _calibration_text(scene).encode())


def _calibration_text(scene: SyntheticScene) -> str:
    (height, width), (centre_x, centre_y) = scene.renderer.size, scene.renderer.centre
    focal = scene.renderer.focal
    camera = f"[{focal!r} 0 {centre_x!r}; 0 {focal!r} {centre_y!r}; 0 0 1]"
    baseline = 1000.0 * (scene.calibration.baseline or 0.0)
    entries = {"cam0": camera, "cam1": camera, "doffs": f"{scene.calibration.doffs:g}", "baseline": baseline}
    entries |= {"width": width, "height": height, "ndisp": scene.calibration.ndisp, "isint": 0}
    entries |= {"vmin": float(scene.gt.min()), "vmax": float(scene.gt.max())}
    return "".join(f"{name}={value}\n" for name, value in entries.items())


FAR, NEAR = 0.016, 0.1
"""Smallest and largest disparity of the presets, as shares of the image width."""

Builder = Callable[[ImageFrame, np.random.Generator], list[WorldSurface]]


class Preset(Struct, frozen=True):
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
        Preset(
            "planes",
            "eight slanted cards in layers before a slanted wall",
            lambda frame, rng: [*_room(frame, rng)[:1], *_cards(frame, rng, 8, NEAR * 0.9)],
        ),
        Preset(
            "curved",
            "domes and leaning columns in a room",
            lambda frame, rng: [*_room(frame, rng), *_columns(frame, rng, 3), *_domes(frame, rng, 4)],
        ),
        Preset("boxes", "four turned boxes in a room", lambda frame, rng: [*_room(frame, rng), *_boxes(frame, rng, 4)]),
        Preset(
            "thin",
            "wires at every angle, poles and a grid",
            lambda frame, rng: [
                *_room(frame, rng),
                *_cards(frame, rng, 3, 0.045),
                *_wires(frame, rng, 7),
                *_poles(frame, rng, 4),
                _grid(frame, rng, 0.2, -0.2),
            ],
        ),
        Preset("anatomy", "edges, planes and thin structures well apart, for studies of metrics", _anatomy_world),
        Preset(
            "weak-texture",
            "textureless and repetitive panels",
            lambda frame, rng: [
                *_room(frame, rng),
                *_panels(frame, rng, [_plain(rng), _striped(rng), _plain(rng), _striped(rng)], 800),
            ],
        ),
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
