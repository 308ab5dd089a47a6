"""Confidence maps that others have made, from files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import NotApplicable
from stereogauge.io.files import load_numbers
from stereogauge.model import ResultSet


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

    def read(self, shape: tuple[int, int] | None = None) -> NDArray[np.float32]:
        """The map, lower = more confident, NaN = undefined; see `read_confidence` for `shape`."""
        if self.better is None:
            raise NotApplicable(
                'the confidence map does not say whether higher or lower is better: write better = "higher" or '
                '"lower" under [confidence] in results.toml (confidence_better of a ResultSet)'
            )
        if not isinstance(self.source, np.ndarray):
            path = getattr(self.source, "path", self.source)
            return read_confidence(path, higher_is_better=self.better == "higher", shape=shape)
        real = self.source.astype(np.float32)
        return -real if self.better == "higher" else real


def read_confidence(
    path: str | os.PathLike[str], *, higher_is_better: bool, shape: tuple[int, int] | None = None
) -> NDArray[np.float32]:
    """A map in which lower means more confident, NaN = undefined; the direction of the file must be declared.

    PNG and PGM give their stored numbers, whatever their scale: only the order counts. Other files are read as
    disparity maps are. A file of another size than `shape`, (height, width), is refused before it is decoded.
    """
    real = load_numbers(path, shape)
    return -real if higher_is_better else real
