"""Ensembles of decision trees as plain arrays: saved without code, read and evaluated without scikit-learn."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import FileError
from stereogauge.kernels.confidence_trees import tree_scores

FORMAT = "stereogauge-confidence-trees"
VERSION = 1
ARRAYS: Mapping[str, Any] = {
    "feature": np.int32,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
    "roots": np.int32,
}


@dataclass(frozen=True, eq=False)
class Trees:
    """An ensemble of binary trees over named features.

    Node i sends a pixel to `left[i]` where its feature is ≤ `threshold[i]` (or NaN and `missing_left[i]`), else to
    `right[i]`; a leaf has `feature[i]` = −1 and adds `value[i]`. `roots` are the first nodes of the trees, `baseline`
    the score before any tree. `facts` say how the ensemble was trained.
    """

    features: tuple[str, ...]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    roots: NDArray[np.int32]
    baseline: float
    facts: Mapping[str, Any] = field(default_factory=dict)

    def score(self, features: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        """baseline + Σ leaf values per pixel; higher means more likely to be bad."""
        maps = [np.ascontiguousarray(features[name], dtype=np.float32) for name in self.features]
        shape = maps[0].shape
        table = np.stack([each.reshape(-1) for each in maps], axis=1)
        scores = np.empty(len(table), np.float32)
        tree_scores(table, *(getattr(self, name) for name in ARRAYS), self.baseline, scores)
        return scores.reshape(shape)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an .npz of plain arrays with the feature list."""
        header = {
            "format": FORMAT,
            "version": VERSION,
            "features": list(self.features),
            "baseline": self.baseline,
            "facts": dict(self.facts),
        }
        arrays = {name: getattr(self, name) for name in ARRAYS}
        with open(path, "wb") as file:
            np.savez_compressed(file, header=np.array(json.dumps(header)), **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trees:
        """Read what `save` wrote; anything else is a `FileError`. No code in the file is ever run."""
        try:
            with np.load(path, allow_pickle=False) as archive:
                header = json.loads(str(archive["header"]))
                arrays = {name: archive[name] for name in ARRAYS}
        except FileNotFoundError:
            raise FileError(f"{path}: there is no such model file.") from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
            raise FileError(f"{path} is not a model of confidence trees ({error}).") from None
        if not isinstance(header, dict) or (header.get("format"), header.get("version")) != (FORMAT, VERSION):
            raise FileError(f"{path} is not a model of confidence trees in version {VERSION}.")
        trees = cls(
            features=tuple(header["features"]),
            baseline=float(header["baseline"]),
            facts=header["facts"],
            **{name: arrays[name].astype(kind) for name, kind in ARRAYS.items()},
        )
        trees._check(str(path))
        return trees

    def _check(self, path: str) -> None:
        """Every path must lead to a leaf, within the arrays: children come after their parents."""
        count = len(self.feature)
        inner = self.feature >= 0
        order = np.arange(count)
        sound = (
            all(getattr(self, name).shape == (count,) for name in ARRAYS if name != "roots")
            and self.feature.max(initial=-1) < len(self.features)
            and bool(((self.roots >= 0) & (self.roots < count)).all())
            and bool((self.left[inner] > order[inner]).all() and (self.left[inner] < count).all())
            and bool((self.right[inner] > order[inner]).all() and (self.right[inner] < count).all())
        )
        if not sound:
            raise FileError(f"{path}: the trees of this model are damaged; train it again.")
