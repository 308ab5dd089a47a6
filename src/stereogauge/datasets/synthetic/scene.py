"""A synthetic world as a scene: rendered at first use, exact in both views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.datasets.synthetic.camera import ImageModel
from stereogauge.datasets.synthetic.presets import NEAR, Preset
from stereogauge.datasets.synthetic.render import Renderer, View, visible_pixels
from stereogauge.datasets.synthetic.world import Frame
from stereogauge.model import Mask, Scene

FULL_WIDTH = 2880.0
"""The image width for which the geometry thresholds of full-size Middlebury scenes are meant (resolution 1)."""

SURFACE_MASKS = ("plain", "repetitive", "reflective", "thin", "planar")
MASKS = ("nonocc", "visible", *SURFACE_MASKS)


@dataclass(frozen=True)
class Unrendered:
    """Stands for an array that the scene itself renders."""


class SyntheticScene(Scene):
    """A scene whose arrays come from a renderer.

    Beside what every scene has: `objects` (int32, 1, 2, … per body) and `planes` (int32, 1, 2, … per flat surface, 0
    elsewhere), both of the left view; masks `nonocc` (the bidirectional rule on pixels), `visible` (exact, by a
    second ray), `plain` (no texture), `repetitive`, `reflective`, `thin` and `planar`. Pickling carries the recipe,
    never the arrays.
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
        self.renderer = Renderer(preset.world(Frame(height / width), seed), size)
        self.images = preset.images if images is None else images
        self.seed = seed
        self._rendered: dict[float, View] = {}
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

    def _view(self, position: float) -> View:
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
