"""Confidence maps that others have made, from files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.errors import NotApplicable
from stereogauge.io.encodings import write_disparity
from stereogauge.io.files import IMAGES_OF_NUMBERS, load_disparity, load_numbers
from stereogauge.model import Better, ConfidenceKind, ResultSet


class ConfidenceSource(Struct, frozen=True):
    """A confidence map, as an array or in a file, and whether higher or lower values are the confident ones."""

    source: Any
    better: Better | None
    kind: ConfidenceKind = "order"

    @classmethod
    def of(cls, result: ResultSet, scene: str) -> ConfidenceSource | None:
        """What a result brings for a scene."""
        found = result.confidence.get(scene)
        return None if found is None else cls(found, result.confidence_better, result.confidence_kind)

    @property
    def direction(self) -> Better | None:
        """As declared; a standard deviation is better low, a probability of a good pixel high."""
        implied: dict[ConfidenceKind, Better] = {"sigma": "lower", "probability": "higher"}
        return self.better or implied.get(self.kind)

    def read(self, shape: tuple[int, int] | None = None) -> NDArray[np.float32]:
        """The map, lower = more confident, NaN = undefined; see `read_confidence` for `shape`."""
        if self.direction is None:
            raise NotApplicable(
                'the confidence map does not say whether higher or lower is better: write better = "higher" or '
                '"lower" under [confidence] in results.toml (confidence_better of a ResultSet)'
            )
        if not isinstance(self.source, np.ndarray):
            path = getattr(self.source, "path", self.source)
            return read_confidence(path, higher_is_better=self.direction == "higher", shape=shape)
        real = self.source.astype(np.float32)
        return -real if self.direction == "higher" else real

    def values(self) -> NDArray[np.float64]:
        """The values themselves, for maps that are standard deviations or probabilities; NaN = undefined."""
        if isinstance(self.source, np.ndarray):
            return self.source.astype(np.float64)
        path = getattr(self.source, "path", self.source)
        if Path(path).suffix.lower() not in IMAGES_OF_NUMBERS:
            return load_disparity(self.source).astype(np.float64)
        scale = getattr(self.source, "scale", None)
        if scale is None:
            raise NotApplicable(
                f"{path}: an image needs a scale to hold a {self.kind} (stored / scale); write scale = 65535 under "
                "[confidence] in results.toml, or give a float file"
            )
        stored = read_confidence(path, higher_is_better=False).astype(np.float64)
        return stored / float(scale)


def every_confidence(results: Iterable[ResultSet]) -> list[ResultSet]:
    """For each of several confidence maps of a result a set of its own, called `ALGORITHM/NAME`.

    They are for metrics of confidence only: the disparity maps are the same.
    """
    return [
        replace(
            result,
            name=f"{result.name}/{name}",
            maps={scene: result.maps[scene] for scene in given.maps if scene in result.maps},
            confidence=given.maps,
            confidence_better=given.better,
            confidence_kind=given.kind,
            other_confidence={},
        )
        for result in results
        for name, given in result.other_confidence.items()
    ]


def read_confidence(
    path: str | os.PathLike[str], *, higher_is_better: bool, shape: tuple[int, int] | None = None
) -> NDArray[np.float32]:
    """A map in which lower means more confident, NaN = undefined; the direction of the file must be declared.

    PNG and PGM give their stored numbers, whatever their scale: only the order counts. Other files are read as
    disparity maps are. A file of another size than `shape`, (height, width), is refused before it is decoded.
    """
    real = load_numbers(path, shape)
    return -real if higher_is_better else real


def file_stem(text: str) -> str:
    """A text as part of a file's name: everything but letters, digits and -_.@=,+ becomes an underscore."""
    return "".join(letter if letter.isalnum() or letter in "-_.@=,+" else "_" for letter in text)


def write_maps(folder: Path, scene: str, disparity: NDArray[Any] | None, maps: Mapping[str, NDArray[Any]]) -> int:
    """Write a scene's maps, lower = more confident, as float files of a results folder, and say so in `results.toml`.

    `FOLDER/SCENE.pfm`, `FOLDER/confidence/NAME/SCENE.pfm`; returns how many files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if disparity is not None:
        write_disparity(folder / f"{file_stem(scene)}.pfm", disparity)
    for name, values in maps.items():
        place = folder / "confidence" / file_stem(name)
        place.mkdir(parents=True, exist_ok=True)
        write_disparity(place / f"{file_stem(scene)}.pfm", values)
    (folder / "results.toml").write_text('[confidence]\nbetter = "lower"\n', encoding="utf-8")
    return len(maps) + (disparity is not None) + 1
