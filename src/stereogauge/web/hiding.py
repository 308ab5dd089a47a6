"""Scenes whose ground truth stays on the server: nothing but scores, images and coarse blocks of error leaves it."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from stereogauge.errors import StereogaugeError


class HiddenTruthError(StereogaugeError):
    """A question whose answer would show hidden ground truth."""

    def __init__(self, scene: str, what: str) -> None:
        super().__init__(f"The ground truth of {scene} is hidden: {what} not shown.")


class Hidden:
    """Which scenes are hidden, by patterns such as `kitti-2015/*` or `Adirondack`."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self.patterns = tuple(patterns)

    def __call__(self, scene: str, dataset: str = "") -> bool:
        """Whether the scene's ground truth is hidden."""
        name = scene.removeprefix(f"{dataset}/") if dataset else scene
        names = {scene, name, f"{dataset}/{name}"}
        return any(fnmatchcase(own, pattern) for own in names for pattern in self.patterns)
