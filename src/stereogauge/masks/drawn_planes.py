"""Planar regions that somebody drew for a scene."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import FileError, SizeError
from stereogauge.io.images import read_pixels
from stereogauge.masks.connected import components
from stereogauge.model import Scene

PLANES = "planes"


def drawn_planes(scene: Scene) -> NDArray[Any] | None:
    """The scene's own planar regions as labels, 0 = none; None where it has none.

    They are the label image (an array or a file) in the scene's metadata under "planes", or its mask "planes", whose
    connected parts are one region each.
    """
    source = scene.metadata.get(PLANES)
    if source is None:
        return components(scene.mask(PLANES))[0] if PLANES in scene.masks else None
    labels = source if isinstance(source, np.ndarray) else _read_labels(source)
    if labels.shape != scene.shape:
        found, wanted = "×".join(map(str, labels.shape[::-1])), "×".join(map(str, scene.shape[::-1]))
        raise SizeError(
            f"The drawn planes of scene {scene.id!r} are {found}, the scene is {wanted}; draw them at its size."
        )
    return labels


def _read_labels(path: Any) -> NDArray[Any]:
    pixels = read_pixels(path)
    if pixels.ndim == 2:
        return pixels
    if pixels.shape[2] < 3 or not (pixels[..., :1] == pixels[..., 1:3]).all():
        raise FileError(
            f"{path}: an image of drawn planes is grey, one value per plane and 0 for none; this one is coloured."
        )
    return np.asarray(pixels[..., 0])
