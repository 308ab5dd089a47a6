"""The learned combination: a random forest that predicts from all measures whether a pixel is bad.

Trained with scikit-learn, cross-validated by scene: a pixel is judged only by trees that saw no pixel of its scene.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from stereogauge.confidence_measures.declaration import confidence_measure, measure
from stereogauge.confidence_measures.evidence import Evidence
from stereogauge.confidence_measures.paper import PAPER
from stereogauge.errors import FileError, MissingDependency, StereogaugeError
from stereogauge.kernels.confidence import sound_trees, tree_scores
from stereogauge.model import Mask

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


class Trees(Struct, frozen=True, eq=False):
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
        return tree_scores(table, self.baseline, *(getattr(self, name) for name in ARRAYS)).reshape(shape)

    @property
    def origin(self) -> str:
        """The data that the model was trained with, in words."""
        named = [name for name in self.facts.get("datasets", ()) if name]
        scenes = len(self.facts.get("scenes", ()))
        words = f"{scenes} scene{'s' * (scenes != 1)} of {' and '.join(named) or 'an unnamed dataset'}"
        return words if self.bad_above is None else f"{words}, bad above {self.bad_above:g} px"

    @property
    def bad_above(self) -> float | None:
        """The error in px above which a pixel was bad in training; None where the model does not say."""
        return self.facts.get("bad_above")

    def suits(self, dataset: str) -> bool:
        """Whether the model was trained with scenes of this dataset, in any variant of it."""
        family = dataset.partition(":")[0]
        return any(name.partition(":")[0] == family for name in self.facts.get("datasets", ()) if name)

    def saw(self, dataset: str, scene: str) -> bool:
        """Whether the model was trained with this scene, so that its scores there are no test."""
        return self.suits(dataset) and scene in self.facts.get("scenes", ())

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
        # Every path must lead to a leaf, within the arrays: children come after their parents.
        count = len(trees.feature)
        fitting = all(getattr(trees, name).shape == (count,) for name in ARRAYS if name != "roots")
        if not fitting or not sound_trees(len(trees.features), trees.feature, trees.left, trees.right, trees.roots):
            raise FileError(f"{path}: the trees of this model are damaged; train it again.")
        return trees


FEATURES = (
    *PAPER,
    *("matching-score", "naive-peak-ratio", "maximum-margin", "winner-margin", "maximum-likelihood", "ambiguity"),
    *("local-curve", "left-right-margin", "median-deviation", "distance-border", "texture"),
)
PIXELS_PER_SCENE = 8_000


@measure(
    id="learned",
    name="learned combination",
    formula="probability of a bad pixel, random forest over all measures",
    source="after Haeusler, Nair, Kondermann 2013",
    needs=("costs", "right", "model"),
)
def learned(evidence: Evidence) -> NDArray[np.float32]:
    """The score of a trained model on the measures that it was trained with."""
    model = evidence.trained
    return model.score({name: evidence.measured(confidence_measure(name)) for name in model.features})


class Example(Struct, frozen=True, eq=False):
    """One pair to learn from: maps by measure, which pixels are bad, and which pixels count.

    Pairs of the same place (other light, other exposure) share a `group`; by default each is a group of its own.
    """

    scene: str
    features: Mapping[str, NDArray[np.float32]]
    bad: Mask
    domain: Mask
    group: str = ""
    dataset: str = ""


def train(
    examples: Sequence[Example],
    features: Sequence[str] = FEATURES,
    *,
    trees: int = 100,
    leaf_pixels: int = 20,
    share: float = 0.25,
    pixels: int = PIXELS_PER_SCENE,
    seed: int = 0,
) -> Trees:
    """An ensemble from up to `pixels` random pixels of each scene's domain, every scene weighted alike.

    Each tree sees a random `share` of these pixels, and each of its leaves holds at least `leaf_pixels` of them.
    """
    rng = np.random.default_rng(seed)
    tables, labels, weights = [], [], []
    for example in examples:
        inside = np.flatnonzero(example.domain)
        chosen = rng.permutation(inside)[:pixels]
        tables.append(np.stack([example.features[name].reshape(-1)[chosen] for name in features], axis=1))
        labels.append(example.bad.reshape(-1)[chosen])
        weights.append(np.full(len(chosen), 1.0 / max(1, len(chosen))))
    table, label, weight = np.concatenate(tables), np.concatenate(labels), np.concatenate(weights)
    if label.all() or not label.any():
        raise StereogaugeError("Training needs good and bad pixels; the scenes given have only one of the two.")
    classifier = _scikit_learn().ensemble.RandomForestClassifier(
        n_estimators=trees, min_samples_leaf=leaf_pixels, max_samples=share, random_state=seed, n_jobs=-1
    )
    largest = np.finfo(np.float32).max  # scikit-learn takes NaN as missing and refuses infinities
    classifier.fit(np.clip(table, -largest, largest), label, sample_weight=weight * len(weight) / weight.sum())
    facts = {
        "scenes": [example.scene for example in examples],
        "datasets": sorted({example.dataset for example in examples}),
        "pixels": len(label),
        "trees": trees,
    }
    return _exported(classifier, tuple(features), facts)


def learning_folds(examples: Sequence[Example], folds: int = 5) -> list[list[int]]:
    """Places of the pairs that are held out together, fold by fold; pairs of one group are never divided."""
    groups = [example.group or example.scene for example in examples]
    count = min(folds, len(set(groups)))
    if count < 2:
        raise StereogaugeError("Cross-validation by scene needs at least two scenes that are not of the same group.")
    split = _scikit_learn().model_selection.GroupKFold(count).split(groups, groups=groups)
    return [held_out.tolist() for _, held_out in split]


def cross_validated(
    examples: Sequence[Example], features: Sequence[str] = FEATURES, *, folds: int = 5, **options: Any
) -> dict[str, NDArray[np.float32]]:
    """For each scene the map of a model that was trained without any pair of the scene's group."""
    maps: dict[str, NDArray[np.float32]] = {}
    for held_out in learning_folds(examples, folds):
        model = train([one for place, one in enumerate(examples) if place not in held_out], features, **options)
        maps |= {examples[place].scene: model.score(examples[place].features) for place in held_out}
    return maps


def _scikit_learn() -> Any:
    try:
        import sklearn.ensemble
        import sklearn.model_selection
    except ImportError:
        raise MissingDependency("scikit-learn", "learn", "Training a combination of confidence measures") from None
    return sklearn


def _exported(classifier: Any, features: tuple[str, ...], facts: Mapping[str, Any]) -> Trees:
    """The classifier's trees as plain arrays, children numbered through all trees; the mean over trees is a sum."""
    trees = [estimator.tree_ for estimator in classifier.estimators_]
    roots = np.cumsum([0, *(tree.node_count for tree in trees)])[:-1]
    inner = np.concatenate([tree.feature for tree in trees]) >= 0

    def children(side: str) -> NDArray[np.int32]:
        numbered = [getattr(tree, side) + root for tree, root in zip(trees, roots, strict=True)]
        return np.where(inner, np.concatenate(numbered), -1).astype(np.int32)

    return Trees(
        features=features,
        feature=np.where(inner, np.concatenate([tree.feature for tree in trees]), -1).astype(np.int32),
        threshold=np.concatenate([tree.threshold for tree in trees]).astype(np.float64),
        missing_left=np.concatenate([tree.missing_go_to_left for tree in trees]).astype(np.bool_),
        left=children("children_left"),
        right=children("children_right"),
        value=np.concatenate([tree.value[:, 0, 1] for tree in trees]) / len(trees),
        roots=roots.astype(np.int32),
        baseline=0.0,
        facts=facts,
    )
