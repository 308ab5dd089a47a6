"""From ideal radiance to the 8-bit image of a camera: lens blur, vignetting, exposure, gamma, noise, quantisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereogauge.opencv import cv2


@dataclass(frozen=True)
class ImageModel:
    """How images are taken.

    `blur` is the lens blur's σ in pixels; `noise` the standard deviation of the noise in grey levels at half
    brightness (shot noise: its variance grows with brightness, half of it is there in the dark); `vignetting` the
    loss of light in the corners; `gain_right` and `gamma_right` the exposure and the response of the right camera
    relative to the left one.
    """

    blur: float = 0.0
    noise: float = 0.0
    vignetting: float = 0.0
    gain_right: float = 1.0
    gamma_right: float = 1.0

    def take(self, radiance: NDArray[np.float32], position: float, seed: int) -> NDArray[np.uint8]:
        """The 8-bit RGB image that the camera at `position` (0 left, 1 right) takes; `seed` fixes the noise."""
        light = radiance if self.blur == 0 else cv2.GaussianBlur(radiance, (0, 0), self.blur)
        if self.vignetting > 0:
            light = light * self._falloff(light.shape[0], light.shape[1])
        if position == 1.0 and (self.gain_right, self.gamma_right) != (1.0, 1.0):
            light = 255.0 * np.power(np.clip(light * self.gain_right / 255.0, 0.0, None), self.gamma_right)
        if self.noise > 0:
            rng = np.random.default_rng((seed, round(1000 * position) % 1_000_003))
            deviation = self.noise * np.sqrt(0.5 + np.clip(light, 0, 255) / 255.0, dtype=np.float32)
            light = light + deviation * rng.standard_normal(light.shape, dtype=np.float32)
        return np.asarray(np.clip(np.rint(light), 0, 255), dtype=np.uint8)

    def _falloff(self, height: int, width: int) -> NDArray[np.float32]:
        y = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
        x = np.linspace(-1, 1, width, dtype=np.float32)[None, :]
        return (1.0 - self.vignetting * (x * x + y * y) / 2).astype(np.float32)[..., None]


IDEAL = ImageModel()
"""Images are the radiance itself, only rounded."""
