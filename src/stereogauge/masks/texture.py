"""Pixels with and without texture in the left image."""

from __future__ import annotations

import numpy as np

from stereogauge.masks.declaration import region
from stereogauge.masks.evaluated_scene import EvaluatedScene
from stereogauge.model import Image, Mask
from stereogauge.opencv import cv2


def grey(image: Image) -> Image:
    """The image as float32 grey levels 0…255, rounded to the image's own steps as OpenCV does."""
    stored = image if image.dtype in (np.uint8, np.uint16) else np.asarray(image, np.float32)
    levels = np.asarray(cv2.cvtColor(stored, cv2.COLOR_RGB2GRAY) if stored.ndim == 3 else stored, np.float32)
    return levels / np.float32(257.0) if image.dtype == np.uint16 else levels


def texture_energy(image: Image) -> Image:
    """3×3 mean of the squared horizontal gradient, (Sobel_x / 8)², in grey levels² per px²."""
    gradient = np.asarray(cv2.Sobel(grey(image), cv2.CV_32F, 1, 0, ksize=3), np.float32) / np.float32(8.0)
    return cv2.blur(gradient * gradient, (3, 3))


@region(
    id="textureless",
    name="Textureless",
    definition=r"\{x : \overline{(\partial_x I)^2}_{3\times3}(x) < t\}",
    source="Scharstein & Szeliski 2002; threshold 4 as in OpenCV's stereo tests",
    needs=("gt", "left"),
    version=2,
)
def textureless(evaluated: EvaluatedScene) -> Mask:
    """Pixels whose windowed gradient energy lies below the protocol's threshold."""
    evaluated.check_size(evaluated.scene.left, "left image")
    energy: Image = texture_energy(evaluated.scene.left)
    mask: Mask = energy < evaluated.parameters.texture_threshold
    return mask


@region(
    id="textured",
    name="Textured",
    definition=r"I \setminus \mathrm{textureless}",
    source="Scharstein & Szeliski 2002",
    needs=("gt", "left"),
    version=2,
)
def textured(evaluated: EvaluatedScene) -> Mask:
    """Pixels with enough horizontal gradient energy."""
    return ~evaluated.mask("textureless")
