"""Rendering a synthetic world: what a camera on the baseline sees, which of it the other camera sees too, and images.

An image is made of ideal radiance by lens blur, vignetting, exposure, gamma, noise and quantisation.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.datasets.synthetic.world import BASELINE, FOCAL_PER_WIDTH, World, WorldSurface
from stereogauge.kernels.render import render_rows, visible_rows
from stereogauge.kernels.views import bidirectional_visible
from stereogauge.model import Calibration, DisparityMap, Mask

SAME_SURFACE = 1.0
"""Two views show the same point when their disparities differ by at most this many pixels."""


@dataclass(frozen=True)
class CameraView:
    """What one camera sees: depth in metres, the surface's row in the world's table, radiance in grey levels."""

    depth: NDArray[np.float64]
    surface: NDArray[np.int32]
    radiance: NDArray[np.float32]


def _rows(height: int, work: Callable[[int, int], Any]) -> None:
    threads = max(1, os.cpu_count() or 1)
    edges = np.linspace(0, height, min(height, 4 * threads) + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, int(a), int(b)) for a, b in itertools.pairwise(edges)]:
            done.result()


@dataclass(frozen=True)
class Renderer:
    """A world seen by cameras with `size` = (height, width); positions count in baselines (left = 0, right = 1)."""

    world: World
    size: tuple[int, int]

    @property
    def focal(self) -> float:
        """Focal length in pixels."""
        return FOCAL_PER_WIDTH * self.size[1]

    @property
    def centre(self) -> tuple[float, float]:
        """The principal point (x, y), the middle of the image."""
        return 0.5 * (self.size[1] - 1), 0.5 * (self.size[0] - 1)

    @property
    def camera(self) -> tuple[float, float, float]:
        """Focal length and principal point."""
        return self.focal, *self.centre

    def calibration(self, largest_share: float) -> Calibration:
        """The pair's calibration; `largest_share` is the largest disparity as a share of the width."""
        return Calibration(self.focal, BASELINE, 0.0, int(np.ceil(largest_share * self.size[1])) + 1)

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """The world as the kernel reads it."""
        return self.world.table()

    def bounds(self, position: float) -> NDArray[np.float64]:
        """Per surface, limits (x from, x to, y from, y to) in pixels of what the camera at `position` may see of it."""
        limits = np.array([self._limits(surface, position) for surface in self.world.surfaces])
        return np.asarray(limits + np.array([-1.0, 1.0, -1.0, 1.0]))

    def _limits(self, surface: WorldSurface, position: float) -> tuple[float, float, float, float]:
        everywhere = (-np.inf, np.inf, -np.inf, np.inf)
        if not surface.bounded:
            return everywhere
        corners = surface.corners() - np.array([position * BASELINE, 0.0, 0.0])
        if not (corners[:, 2] > 0).all():
            return everywhere
        x = self.focal * corners[:, 0] / corners[:, 2] + self.centre[0]
        y = self.focal * corners[:, 1] / corners[:, 2] + self.centre[1]
        return float(x.min()), float(x.max()), float(y.min()), float(y.max())

    def view(self, position: float) -> CameraView:
        """What the camera at `position` sees."""
        depth = np.empty(self.size, np.float64)
        surface = np.empty(self.size, np.int32)
        radiance = np.empty((*self.size, 3), np.float32)
        bounds = self.bounds(position)

        def work(first: int, last: int) -> None:
            render_rows(self.table, bounds, position * BASELINE, self.camera, (first, last), depth, surface, radiance)

        _rows(self.size[0], work)
        return CameraView(depth, surface, radiance)

    def disparity(self, view: CameraView) -> DisparityMap:
        """Disparity f·B/Z in pixels, NaN where the ray hits nothing."""
        disparity = (self.focal * BASELINE / view.depth).astype(np.float32)
        return np.where(view.surface >= 0, disparity, np.float32(np.nan))

    def visible(self, view: CameraView, position: float, other: float) -> Mask:
        """Exactly, by a second ray: the point lies in the other image, borders included, with nothing before it."""
        visible = np.empty(self.size, np.bool_)
        bounds = self.bounds(other)

        def work(first: int, last: int) -> None:
            places = position * BASELINE, other * BASELINE
            visible_rows(self.table, bounds, *places, self.camera, (first, last), view.depth, visible)

        _rows(self.size[0], work)
        return visible


def visible_pixels(disparity: DisparityMap, other: DisparityMap, sign: int) -> Mask:
    """The bidirectional rule on pixels: |D(x) − D′(x − sign·round D(x))| ≤ 1; sign 1 from left to right."""
    return bidirectional_visible(disparity, other, SAME_SURFACE, sign)


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
        import cv2

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
