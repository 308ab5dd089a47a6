"""The learned combination: gradient-boosted trees that predict from all measures whether a pixel is bad.

Trained with scikit-learn, cross-validated by scene: a pixel is only ever judged by trees that saw no pixel of its
scene.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence.declaration import confidence_measure, measure
from stereogauge.confidence.evidence import Evidence
from stereogauge.confidence.trees import Trees
from stereogauge.errors import MissingDependency, StereogaugeError
from stereogauge.model import Mask

FEATURES = (
    "curvature",
    "perturbation",
    "peak-ratio",
    "entropy",
    "lr-difference",
    "matching-score",
    "naive-peak-ratio",
    "maximum-margin",
    "winner-margin",
    "maximum-likelihood",
    "ambiguity",
    "local-curve",
    "left-right-margin",
    "median-deviation",
    "distance-border",
    "texture",
)
PIXELS_PER_SCENE = 8_000


@measure(
    id="learned",
    name="learned combination",
    formula="log-odds of a bad pixel, gradient-boosted trees over all measures",
    source="after Haeusler, Nair, Kondermann 2013",
    needs=("costs", "right", "model"),
)
def learned(evidence: Evidence) -> NDArray[np.float32]:
    """The score of a trained model on the measures that it was trained with."""
    model = evidence.trained
    return model.score({name: evidence.measured(confidence_measure(name)) for name in model.features})


@dataclass(frozen=True, eq=False)
class Example:
    """One pair to learn from: maps by measure, which pixels are bad, and which pixels count.

    Pairs of the same place (other light, other exposure) share a `group`; by default each is a group of its own.
    """

    scene: str
    features: Mapping[str, NDArray[np.float32]]
    bad: Mask
    domain: Mask
    group: str = ""


def train(
    examples: Sequence[Example],
    features: Sequence[str] = FEATURES,
    *,
    trees: int = 100,
    leaves: int = 31,
    learning_rate: float = 0.1,
    pixels: int = PIXELS_PER_SCENE,
    seed: int = 0,
) -> Trees:
    """An ensemble from up to `pixels` random pixels of each scene's domain, every scene weighted alike."""
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
    classifier = _scikit_learn().ensemble.HistGradientBoostingClassifier(
        max_iter=trees,
        max_leaf_nodes=leaves,
        learning_rate=learning_rate,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    )
    classifier.fit(table, label, sample_weight=weight * len(weight) / weight.sum())
    facts = {"scenes": [example.scene for example in examples], "pixels": len(label), "trees": trees, "leaves": leaves}
    return _exported(classifier, tuple(features), facts)


def cross_validated(
    examples: Sequence[Example], features: Sequence[str] = FEATURES, *, folds: int = 5, **options: Any
) -> dict[str, NDArray[np.float32]]:
    """For each scene the map of a model that was trained without any pair of the scene's group."""
    groups = [example.group or example.scene for example in examples]
    count = min(folds, len(set(groups)))
    if count < 2:
        raise StereogaugeError("Cross-validation by scene needs at least two scenes that are not of the same group.")
    maps: dict[str, NDArray[np.float32]] = {}
    for training, held_out in _scikit_learn().model_selection.GroupKFold(count).split(groups, groups=groups):
        model = train([examples[i] for i in training], features, **options)
        maps |= {examples[i].scene: model.score(examples[i].features) for i in held_out}
    return maps


def _scikit_learn() -> Any:
    try:
        import sklearn.ensemble
        import sklearn.model_selection
    except ImportError:
        raise MissingDependency("scikit-learn", "learn", "Training a combination of confidence measures") from None
    return sklearn


def _exported(classifier: Any, features: tuple[str, ...], facts: Mapping[str, Any]) -> Trees:
    """The classifier's trees as plain arrays, children numbered through all trees."""
    parts: dict[str, list[NDArray[Any]]] = {
        name: [] for name in ("feature", "threshold", "missing", "left", "right", "value")
    }
    roots, offset = [], 0
    for (predictor,) in classifier._predictors:
        nodes = predictor.nodes
        leaf = nodes["is_leaf"].astype(bool)
        parts["feature"].append(np.where(leaf, -1, nodes["feature_idx"]))
        parts["threshold"].append(nodes["num_threshold"])
        parts["missing"].append(nodes["missing_go_to_left"].astype(bool))
        parts["left"].append(np.where(leaf, -1, nodes["left"].astype(np.int64) + offset))
        parts["right"].append(np.where(leaf, -1, nodes["right"].astype(np.int64) + offset))
        parts["value"].append(nodes["value"])
        roots.append(offset)
        offset += len(nodes)
    joined = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    return Trees(
        features=features,
        feature=joined["feature"].astype(np.int32),
        threshold=joined["threshold"].astype(np.float64),
        missing_left=joined["missing"].astype(np.bool_),
        left=joined["left"].astype(np.int32),
        right=joined["right"].astype(np.int32),
        value=joined["value"].astype(np.float64),
        roots=np.array(roots, np.int32),
        baseline=float(np.asarray(classifier._baseline_prediction).reshape(-1)[0]),
        facts=facts,
    )
