"""Synthetic worlds as scenes: rendered at first use, exact in both views, at any size, from a seed; and as files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.datasets.synthetic.presets import NEAR, PRESETS, Preset
from stereogauge.datasets.synthetic.render import CameraView, ImageModel, Renderer, visible_pixels
from stereogauge.datasets.synthetic.world import ImageFrame
from stereogauge.errors import DatasetError, unknown_name
from stereogauge.io.encodings import write_disparity
from stereogauge.io.writing import write_bytes
from stereogauge.model import Dataset, Mask, Scene

FULL_WIDTH = 2880.0
"""The image width for which the geometry thresholds of full-size Middlebury scenes are meant (resolution 1)."""

SURFACE_MASKS = ("plain", "repetitive", "reflective", "thin", "planar")
MASKS = ("nonocc", "visible", *SURFACE_MASKS)
DEFAULT_SIZE = (480, 640)
SMALLEST, LARGEST = 32, 20000
VISIBLE, OCCLUDED = 255, 128
RESOLUTIONS = {"F": 1.0, "H": 0.5, "Q": 0.25}


@dataclass(frozen=True)
class Unrendered:
    """Placeholder for an array that the scene itself renders."""


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
        part: Any = Unrendered()
        super().__init__(
            f"{preset.id}-{seed}",
            gt=part,
            left=part,
            right=part,
            gt_right=part,
            calibration=self.renderer.calibration(NEAR),
            masks=dict.fromkeys(MASKS, part),
            views=dict.fromkeys(positions, part),
            dataset=f"synthetic:{preset.id}",
            resolution=width / FULL_WIDTH,
            metadata={"preset": preset.id, "seed": seed, "description": preset.description},
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_rendered": {}}

    def source(self, part: str) -> Any:
        """The rendered array itself; None where the scene has none."""
        return getattr(self, part) if self.has(part) else None

    def mask_source(self, name: str) -> Any:
        """The rendered mask itself."""
        return self.mask(name)

    def view_source(self, position: float) -> Any:
        """The rendered view itself."""
        return self.view(position)

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width)."""
        return self.renderer.size

    def _load(self, key: Any, source: Any, read: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        if isinstance(source, Unrendered):
            return super()._load(key, source, lambda _: self._render(key))
        return super()._load(key, source, read)

    def _view(self, position: float) -> CameraView:
        if position not in self._rendered:
            self._rendered[position] = self.renderer.view(position)
        return self._rendered[position]

    def _render(self, key: Any) -> NDArray[Any]:
        if key == "gt":
            return self.renderer.disparity(self._view(0.0))
        if key == "gt_right":
            return self.renderer.disparity(self._view(1.0))
        if key in ("left", "right"):
            return self._image(0.0 if key == "left" else 1.0)
        kind, detail = key
        return self._image(detail) if kind == "view" else self._mask(detail)

    def _image(self, position: float) -> NDArray[np.uint8]:
        return self.images.take(self._view(position).radiance, position, self.seed)

    def _mask(self, name: str) -> Mask:
        if name == "nonocc":
            return visible_pixels(self.gt, self.gt_right, 1)
        if name == "visible":
            return self.renderer.visible(self._view(0.0), 0.0, 1.0)
        flags = {
            "plain": [s.texture.textureless for s in self.renderer.world.surfaces],
            "repetitive": [s.texture.repetitive for s in self.renderer.world.surfaces],
            "reflective": [s.texture.reflectivity > 0 for s in self.renderer.world.surfaces],
            "thin": [s.thin for s in self.renderer.world.surfaces],
            "planar": [s.planar for s in self.renderer.world.surfaces],
        }[name]
        return self._per_surface(np.array([*flags, False]))

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

    @property
    def nonocc_right(self) -> Mask:
        """The right pixels that the left view shows too, by the bidirectional rule."""
        return visible_pixels(self.gt_right, self.gt, -1)

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
        letter = min(RESOLUTIONS, key=lambda letter: abs(math.log(scene.resolution / RESOLUTIONS[letter])))
        _save_scene(scene, folder / f"training{letter}" / scene.id)
    return folder


def _save_scene(scene: SyntheticScene, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _save_png(folder / "im0.png", scene.left[..., ::-1])
    _save_png(folder / "im1.png", scene.right[..., ::-1])
    write_disparity(folder / "disp0GT.pfm", scene.gt)
    write_disparity(folder / "disp1GT.pfm", scene.gt_right)
    _save_png(folder / "mask0nocc.png", _mask_image(scene.mask("nonocc")))
    _save_png(folder / "mask1nocc.png", _mask_image(scene.nonocc_right))
    _save_png(folder / "objects.png", scene.objects.astype(np.uint16))
    _save_png(folder / "planes.png", scene.planes.astype(np.uint16))
    write_bytes(folder / "calib.txt", _calibration_text(scene).encode())


def _mask_image(visible: Mask) -> NDArray[np.uint8]:
    return np.where(visible, np.uint8(VISIBLE), np.uint8(OCCLUDED))


def _save_png(path: Path, pixels: NDArray[Any]) -> None:
    import cv2

    _, encoded = cv2.imencode(".png", np.ascontiguousarray(pixels))
    write_bytes(path, encoded.tobytes())


def _calibration_text(scene: SyntheticScene) -> str:
    (height, width), (centre_x, centre_y) = scene.renderer.size, scene.renderer.centre
    focal = scene.renderer.focal
    camera = f"[{focal!r} 0 {centre_x!r}; 0 {focal!r} {centre_y!r}; 0 0 1]"
    baseline = 1000.0 * (scene.calibration.baseline or 0.0)
    lines = [f"cam0={camera}", f"cam1={camera}", f"doffs={scene.calibration.doffs:g}", f"baseline={baseline!r}"]
    lines += [f"width={width}", f"height={height}", f"ndisp={scene.calibration.ndisp}", "isint=0"]
    lines += [f"vmin={float(scene.gt.min())!r}", f"vmax={float(scene.gt.max())!r}"]
    return "\n".join(lines) + "\n"
