"""Confidence maps that others have made, from files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import FileError, NotApplicable
from stereogauge.io.disparity import read_disparity
from stereogauge.io.images import read_pixels
from stereogauge.model import ResultSet

IMAGES = (".png", ".pgm")


@dataclass(frozen=True)
class ConfidenceSource:
    """A confidence map, as an array or in a file, and whether higher or lower values are the confident ones."""

    source: Any
    better: Literal["higher", "lower"] | None

    @classmethod
    def of(cls, result: ResultSet, scene: str) -> ConfidenceSource | None:
        """What a result brings for a scene."""
        found = result.confidence.get(scene)
        return None if found is None else cls(found, result.confidence_better)

    def read(self) -> NDArray[np.float32]:
        """The map, lower = more confident, NaN = undefined."""
        if self.better is None:
            raise NotApplicable(
                'the confidence map does not say whether higher or lower is better: write better = "higher" or '
                '"lower" under [confidence] in results.toml (confidence_better of a ResultSet)'
            )
        if not isinstance(self.source, np.ndarray):
            path = getattr(self.source, "path", self.source)
            return read_confidence(path, higher_is_better=self.better == "higher")
        real = self.source.astype(np.float32)
        return -real if self.better == "higher" else real


def read_confidence(path: str | os.PathLike[str], *, higher_is_better: bool) -> NDArray[np.float32]:
    """A map in which lower means more confident, NaN = undefined; the direction of the file must be declared.

    PNG and PGM give their stored numbers, whatever their scale: only the order counts. Other files are read as
    disparity maps are.
    """
    if Path(path).suffix.lower() in IMAGES:
        values: NDArray[Any] = read_pixels(path)
        if values.ndim == 3 and (values[..., :3] == values[..., :1]).all():
            values = values[..., 0]
        if values.ndim != 2:
            raise FileError(f"{path}: a confidence map has one channel, or three that are equal; this one is coloured.")
    else:
        values = read_disparity(path)
    real = values.astype(np.float32)
    return -real if higher_is_better else real
