"""The learned combination: trained by scene, saved as plain arrays, evaluated as scikit-learn does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge import StereogaugeError
from stereogauge.confidence_measures.learned import Example, Trees, cross_validated, train
from stereogauge.confidence_measures.sparsification import curve_of
from stereogauge.errors import FileError

NAMES = ("curvature", "entropy")


def example(seed: int, scene: str = "", group: str = "") -> Example:
    """Bad where the sum of two noisy measures is high; a few undefined values."""
    rng = np.random.default_rng(seed)
    features = {name: rng.normal(size=(30, 40)).astype(np.float32) for name in NAMES}
    bad = features["curvature"] + features["entropy"] + rng.normal(size=(30, 40)) > 1.5
    features["entropy"][0, :5] = np.nan
    return Example(scene or str(seed), features, bad, rng.random((30, 40)) < 0.9, group)


@pytest.fixture(scope="module")
def model() -> Trees:
    return train([example(1), example(2)], NAMES, trees=20)


def test_our_trees_score_as_scikit_learn_does(model: Trees) -> None:
    import sklearn.ensemble

    unseen = example(3)
    captured: list[Any] = []
    original = sklearn.ensemble.RandomForestClassifier.fit

    def fit(self: Any, *arguments: Any, **options: Any) -> Any:
        captured.append(self)
        return original(self, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sklearn.ensemble.RandomForestClassifier, "fit", fit)
        again = train([example(1), example(2)], NAMES, trees=20)
    table = np.stack([unseen.features[name].reshape(-1) for name in NAMES], axis=1)
    expected = captured[0].predict_proba(table)[:, 1].reshape(30, 40)
    np.testing.assert_allclose(again.score(unseen.features), expected, rtol=1e-5, atol=1e-5)
    assert np.array_equal(again.score(unseen.features), model.score(unseen.features))


def test_the_combination_beats_its_parts_on_an_unseen_scene(model: Trees) -> None:
    unseen = example(4)

    def area(values: NDArray[Any]) -> float:
        return curve_of(values[unseen.domain].astype(np.float64), unseen.bad[unseen.domain], 1.0).auc

    assert area(model.score(unseen.features)) < min(area(unseen.features[name]) for name in NAMES)


def test_models_survive_their_file(model: Trees, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    model.save(path)
    loaded = Trees.load(path)
    assert loaded.features == NAMES
    assert loaded.facts["scenes"] == ["1", "2"]
    unseen = example(5)
    assert np.array_equal(loaded.score(unseen.features), model.score(unseen.features))


def test_files_that_are_no_models_are_refused(model: Trees, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such model file"):
        Trees.load(tmp_path / "absent.npz")
    (tmp_path / "text.npz").write_text("not a model")
    with pytest.raises(FileError, match="is not a model"):
        Trees.load(tmp_path / "text.npz")
    np.savez(tmp_path / "pickled.npz", header=np.array([object()], dtype=object))
    with pytest.raises(FileError, match="is not a model"):
        Trees.load(tmp_path / "pickled.npz")
    with open(tmp_path / "other.npz", "wb") as file:
        np.savez(
            file, header=np.array('{"format": "other"}'), **{name: np.zeros(1) for name in ("feature", "threshold")}
        )
    with pytest.raises(FileError, match="is not a model"):
        Trees.load(tmp_path / "other.npz")


def test_damaged_trees_are_refused_before_they_could_loop(model: Trees, tmp_path: Path) -> None:
    inner = int(np.flatnonzero(model.feature >= 0)[0])
    model.left[inner], kept = inner, model.left[inner]
    try:
        model.save(tmp_path / "loop.npz")
    finally:
        model.left[inner] = kept
    with pytest.raises(FileError, match="damaged"):
        Trees.load(tmp_path / "loop.npz")


def test_no_scene_is_judged_by_trees_that_saw_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    from stereogauge.confidence_measures import learned

    trained_on: list[set[str]] = []

    class Recorder:
        def score(self, features: Any) -> NDArray[np.float32]:
            return np.full((1, 1), len(trained_on), np.float32)

    def fake_train(examples: list[Example], features: Any, **options: Any) -> Recorder:
        trained_on.append({each.group for each in examples})
        return Recorder()

    monkeypatch.setattr(learned, "train", fake_train)
    examples = [example(i, scene=f"s{i}", group=f"g{i // 2}") for i in range(8)]
    maps = cross_validated(examples, NAMES, folds=3)
    assert set(maps) == {f"s{i}" for i in range(8)}
    for i in range(8):
        assert f"g{i // 2}" not in trained_on[int(maps[f"s{i}"][0, 0]) - 1]


def test_training_says_what_it_misses() -> None:
    only = example(1)
    with pytest.raises(StereogaugeError, match="at least two scenes"):
        cross_validated([only], NAMES)
    spotless = Example("good", only.features, np.zeros_like(only.bad), only.domain)
    with pytest.raises(StereogaugeError, match="good and bad pixels"):
        train([spotless], NAMES)


def test_a_model_says_what_it_was_trained_with(model: Trees, tmp_path: Path) -> None:
    named = replace(model, facts={"scenes": ["a", "b"], "datasets": ["kitti-2012:colour"]})
    named.save(tmp_path / "model.npz")
    loaded = Trees.load(tmp_path / "model.npz")
    assert loaded.origin == "2 scenes of kitti-2012:colour"
    assert loaded.suits("kitti-2012")
    assert not loaded.suits("middlebury-v3:Q")
    assert not model.suits("")
