"""Draws planes, discontinuities and fine structures of every scene of the data folder as one contact sheet.

Run as `STEREOGAUGE_DATA=folder python docs/scripts/geometry_scenes.py`; it writes docs/images/geometry-scenes.png.
Two synthetic worlds, whose planes are known, stand at the end. Scenes with sparse ground truth have no such sets.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from stereogauge.datasets import load_dataset
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.figures.geometry import set_pictures
from stereogauge.figures.palette import OKABE_ITO, colour
from stereogauge.figures.pictures import render
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.picture import grey_image
from stereogauge.model import Scene
from stereogauge.protocol import load_protocol

IMAGE = Path(__file__).resolve().parents[1] / "images" / "geometry-scenes.png"
DATA = Path(os.environ.get("STEREOGAUGE_DATA", "."))
DATASETS = {
    "middlebury-v3": "middlebury-2014",
    "middlebury-v2": "middlebury-v2",
    "middlebury-2001": "middlebury-2001",
    "middlebury-2006": "middlebury-2006",
    "hci": "hci-4dlf",
    "sceneflow": "sceneflow",
    "sintel": "sintel",
}
SAME_GROUND_TRUTH = ("MotorcycleE", "PianoL")
BLACK = OKABE_ITO.index("#000000")  # stands for unknown ground truth
SYNTHETIC = ("curved", "mixed")
HEIGHT, WIDTH, CAPTION, GAP, ACROSS = 132, 196, 16, 4, 2  # px of a picture, and scenes per row
Pixels = NDArray[np.uint8]


def scenes() -> Iterator[Scene]:
    """Every scene with dense ground truth, each ground truth once."""
    for name, folder in DATASETS.items():
        yield from (scene for scene in load_dataset(name, DATA / folder) if scene.id not in SAME_GROUND_TRUTH)
    for preset in SYNTHETIC:
        yield from load_synthetic(preset)


def grey_picture(scene: Scene) -> Pixels:
    """The left image in grey, black where there is none."""
    grey = grey_image(scene)
    return np.repeat((np.zeros(scene.shape, np.uint8) if grey is None else grey)[..., None], 3, axis=2)


def planes_picture(scene_regions: SceneRegions) -> Pixels:
    """Each plane in its colour over the grey image: strong where it is measured (M_p), faint where it only lies."""
    sets = scene_regions.geometry
    picture = grey_picture(scene_regions.scene)
    flat = picture.reshape(-1, 3).astype(float)
    for positions, labels, strength in (
        (sets.surface, sets.surface_label, 0.35),
        (sets.planar, sets.planar_label, 0.7),
    ):
        shades = [tuple(bytes.fromhex(colour(number + (number >= BLACK))[1:])) for number in range(len(sets.planes))]
        colours = np.array(shades, float).reshape(-1, 3)
        flat[positions] = (1 - strength) * flat[positions] + strength * colours[labels - 1]
    return flat.reshape(picture.shape).astype(np.uint8)


def fitted(picture: NDArray[Any]) -> Pixels:
    """The picture, as large as fits into its place, on white."""
    height, width = picture.shape[:2]
    factor = min(HEIGHT / height, WIDTH / width)
    small = cv2.resize(picture[..., :3], (round(width * factor), round(height * factor)), interpolation=cv2.INTER_AREA)
    place = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    place[: small.shape[0], : small.shape[1]] = small
    return place


def strip(scene: Scene) -> Pixels | None:
    """A scene's planes, discontinuities and fine structures side by side; None where the sets do not exist."""
    scene_regions = SceneRegions(scene, load_protocol("hci"))
    sets = scene_regions.geometry
    if sets.refusal:
        return None
    pictures = set_pictures(scene_regions)
    grey = grey_picture(scene)
    drawn = [render(pictures[n]) if n in pictures else grey for n in ("discontinuities", "fine-structures")]
    row = np.concatenate([fitted(one) for one in (planes_picture(scene_regions), *drawn)], axis=1)
    structures = int(sets.fine_label.max(initial=0))
    text = f"{scene.id}: s {scene.resolution:.3g}, {len(sets.planes)} planes, {structures} fine structures"
    if len(sets.planes):
        text += f", ground truth's own p-mis {sets.plane_floors[2]:.2f} deg"
    caption = Image.new("RGB", (row.shape[1], CAPTION), "white")
    ImageDraw.Draw(caption).text((2, 2), text, fill="black")
    sys.stdout.write(text + "\n")
    return np.concatenate([np.asarray(caption), row, np.full((GAP, row.shape[1], 3), 255, np.uint8)])


def main() -> None:
    """The contact sheet."""
    strips = [found for scene in scenes() if (found := strip(scene)) is not None]
    strips += [np.full_like(strips[0], 255)] * (-len(strips) % ACROSS)
    rows = [np.concatenate(strips[i : i + ACROSS], axis=1) for i in range(0, len(strips), ACROSS)]
    Image.fromarray(np.concatenate(rows)).quantize(96).save(IMAGE, optimize=True)
    sys.stdout.write(f"{IMAGE.name}: {IMAGE.stat().st_size / 1000:.0f} kB\n")


if __name__ == "__main__":
    main()
