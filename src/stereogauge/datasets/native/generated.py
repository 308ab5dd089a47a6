"""The dataset `synthetic:PRESET`: scenes that are rendered instead of read.

The renderer needs Numba, so it is imported only when a scene is loaded: `stereogauge.datasets.synthetic` is lazy.
"""

from __future__ import annotations

from pathlib import Path

from stereogauge.datasets import synthetic
from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.errors import DatasetError
from stereogauge.model import Dataset

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


def _load(
    root: Path | None,
    variant: str,
    *,
    seed: int | str = 0,
    size: tuple[int, int] | str = (480, 640),
    scenes: int | str = 1,
    views: tuple[float, ...] = (),
) -> Dataset:
    if root is not None:
        raise DatasetError(f"The synthetic dataset has no folder; found {root}.")
    return synthetic.load_synthetic(
        variant or "mixed", seed=int(seed), size=_size(size), scenes=int(scenes), views=views
    )


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
