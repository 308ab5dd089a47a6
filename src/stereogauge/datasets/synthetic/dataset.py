"""The dataset `synthetic:PRESET`: worlds with exact ground truth in both views, at any size, from a seed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.errors import DatasetError, unknown_name
from stereogauge.model import Dataset

if TYPE_CHECKING:
    from stereogauge.datasets.synthetic.camera import ImageModel

DEFAULT_SIZE = (480, 640)
SMALLEST, LARGEST = 32, 20000

DESCRIPTIONS = {
    "planes": "slanted cards in layers before a slanted wall",
    "curved": "domes and leaning columns in a room",
    "boxes": "turned boxes in a room",
    "thin": "wires at every angle, poles and a grid",
    "anatomy": "edges, planes and thin structures well apart, for studies of metrics",
    "weak-texture": "textureless and repetitive panels",
    "reflections": "panels that mirror their surroundings",
    "mixed": "everything at once",
    "noisy": "everything at once, with blur and sensor noise",
    "exposure": "everything at once, the right camera darker, with noise and vignetting",
    "all": "one scene of each preset",
}


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
    images on the baseline (left = 0, right = 1). Everything is rendered when first asked for and is the same for the
    same arguments.
    """
    from stereogauge.datasets.synthetic.presets import PRESETS
    from stereogauge.datasets.synthetic.scene import SyntheticScene

    if preset not in DESCRIPTIONS:
        raise unknown_name("preset of dataset synthetic", preset, DESCRIPTIONS)
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


def _load(
    root: Path | None,
    variant: str,
    *,
    seed: int | str = 0,
    size: tuple[int, int] | str = DEFAULT_SIZE,
    scenes: int | str = 1,
    views: tuple[float, ...] = (),
) -> Dataset:
    if root is not None:
        raise DatasetError(f"The synthetic dataset has no folder; found {root}.")
    return load_synthetic(variant or "mixed", seed=int(seed), size=_size(size), scenes=int(scenes), views=views)


def _size(size: tuple[int, int] | str) -> tuple[int, int]:
    """(height, width), or its spelling WIDTHxHEIGHT."""
    if not isinstance(size, str):
        return size
    width, _, height = size.lower().partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise DatasetError(f"A size is written WIDTHxHEIGHT, for example 640x480; found {size!r}.")
    return int(height), int(width)


SYNTHETIC = DatasetFamily(
    id="synthetic",
    name="Synthetic worlds",
    layout="none: scenes are rendered",
    terms="made by this program",
    citation="none needed",
    obtain="nothing to obtain",
    load=_load,
    variants=DESCRIPTIONS,
    options={
        "seed": "the first scene's seed (0)",
        "size": "(height, width), or the text WIDTHxHEIGHT (640x480)",
        "scenes": "how many seeds (1)",
        "views": "positions of further images on the baseline",
    },
    needs_root=False,
)
