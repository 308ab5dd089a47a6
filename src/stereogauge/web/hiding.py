"""Scenes whose ground truth stays on the server: visitors get only their scores, images and coarse blocks of error."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase


class Hidden:
    """The hidden scenes, by patterns such as `kitti-2015/*` or `Adirondack`."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self.patterns = tuple(patterns)

    def __call__(self, scene: str, dataset: str = "") -> bool:
        """Whether the scene's ground truth is hidden."""
        name = scene.removeprefix(f"{dataset}/") if dataset else scene
        spellings = {scene, name, f"{dataset}/{name}"}
        return any(fnmatchcase(spelling, pattern) for spelling in spellings for pattern in self.patterns)
