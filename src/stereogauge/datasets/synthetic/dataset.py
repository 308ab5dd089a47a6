"""Rendered scenes with exact ground truth in both views, at any size, from a seed."""

from __future__ import annotations

from stereogauge.datasets.synthetic.camera import ImageModel
from stereogauge.datasets.synthetic.presets import PRESETS
from stereogauge.datasets.synthetic.scene import SyntheticScene
from stereogauge.errors import DatasetError, unknown_name
from stereogauge.model import Dataset

DEFAULT_SIZE = (480, 640)
SMALLEST, LARGEST = 32, 20000


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
