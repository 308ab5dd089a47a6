"""Synthetic scenes as files, laid out as Middlebury's evaluation kit lays out its own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.datasets.synthetic.scene import SyntheticScene
from stereogauge.errors import DatasetError
from stereogauge.io.disparity import write_disparity
from stereogauge.io.writing import write_bytes
from stereogauge.model import Mask, Scene
from stereogauge.opencv import cv2

VISIBLE, OCCLUDED = 255, 128


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
        _save_scene(scene, folder / f"training{_resolution_letter(scene.resolution)}" / scene.id)
    return folder


def _resolution_letter(resolution: float) -> str:
    letters = {"F": 1.0, "H": 0.5, "Q": 0.25}
    return min(letters, key=lambda letter: abs(float(np.log(resolution / letters[letter]))))


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
