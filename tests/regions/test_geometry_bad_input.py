"""Hopeless input gives a reason or a NaN with a count of 0, never a crash, and never a perfect score for nothing."""

from __future__ import annotations

import numpy as np
import pytest

import stereogauge as sg
from stereogauge import Protocol, Scene, load_protocol
from stereogauge.errors import SizeError
from stereogauge.metrics.registry import metrics

SHARES = ("d-fat", "d-thin", "f-frag", "f-fat", "f-missing", "f-thin")
GEOMETRY = ["d-fat", "d-thin", "d-fuz", "d-fuz-rel", "p-bump", "p-bump-rel", "p-off", "p-mis", "p-bump-bad@1"]
GEOMETRY += ["p-off-bad@1", "p-mis-bad@5", "f-por", "f-frag", "f-missing", "f-thin", "f-fat"]
SHAPE = (90, 120)


def world() -> np.ndarray:
    """A slanted wall, a card and a pole."""
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    truth = (20 + 0.05 * x + 0.02 * y).astype(np.float32)
    truth[30:60, 20:60] = 70
    truth[:, 90:94] = 70
    return truth


def scene_of(truth: np.ndarray) -> Scene:
    return Scene("world", gt=truth, masks={"nonocc": np.ones(truth.shape, bool)}, resolution=1.0)


def protocol() -> Protocol:
    """The paper's, without its border, which small images do not survive."""
    return load_protocol("hci").replace(**{"geometry.border": 0.0, "geometry.border_share": 0.0})


ESTIMATES = {
    "nan": np.full(SHAPE, np.nan),
    "infinite": np.full(SHAPE, np.inf),
    "minus infinite": np.full(SHAPE, -np.inf),
    "constant": np.full(SHAPE, 33.0),
    "zero": np.zeros(SHAPE),
    "negative": -world(),
    "huge": np.full(SHAPE, 1e30),
    "one pixel": np.where(np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE) == 5000, 20.0, np.nan),
}


@pytest.mark.parametrize("name", ESTIMATES)
def test_every_metric_survives_hopeless_estimates(name: str) -> None:
    for score in sg.evaluate(ESTIMATES[name].astype(np.float32), scene_of(world()), GEOMETRY, ["nonocc"], protocol()):
        assert np.isnan(score.value) == (score.count == 0), score
        assert not (np.isnan(score.value) and not score.note), score
        assert not np.isinf(score.value)


@pytest.mark.parametrize("name", ["nan", "infinite", "minus infinite"])
def test_an_estimate_without_a_value_is_never_perfect(name: str) -> None:
    for score in sg.evaluate(ESTIMATES[name].astype(np.float32), scene_of(world()), GEOMETRY, ["nonocc"], protocol()):
        assert score.value != 0.0, score
        assert score.missing > 0, score


TRUTHS = {
    "none known": np.full(SHAPE, np.nan),
    "one known": np.where(np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE) == 5000, 20.0, np.nan),
    "no edge": np.full(SHAPE, 20.0),
    "one pixel": np.full((1, 1), 20.0),
    "one row": np.tile([[20.0, 20.0, 70.0, 70.0, 70.0, 20.0]], (1, 6)),
    "one column": np.tile([[20.0], [70.0]], (20, 1)),
    "two columns": np.tile([[20.0, 70.0]], (30, 1)),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_every_metric_survives_hopeless_ground_truth(name: str) -> None:
    truth = TRUTHS[name].astype(np.float32)
    estimate = np.full(truth.shape, 25.0, np.float32)
    for score in sg.evaluate(estimate, scene_of(truth), GEOMETRY, ["nonocc"], protocol()):
        assert np.isnan(score.value) == (score.count == 0), score
        assert not (np.isnan(score.value) and not score.note), score


@pytest.mark.parametrize("name", ["none known", "one known"])
def test_ground_truth_without_neighbours_metrics_nothing(name: str) -> None:
    for score in sg.evaluate(world(), scene_of(TRUTHS[name].astype(np.float32)), GEOMETRY, ["nonocc"], protocol()):
        assert (score.count, score.note[:14]) == (0, "not applicable")


@pytest.mark.parametrize("name", TRUTHS)
def test_every_picture_survives_hopeless_ground_truth(name: str) -> None:
    truth = TRUTHS[name].astype(np.float32)
    for metric in GEOMETRY:
        drawn = sg.picture(np.full(truth.shape, 25.0, np.float32), scene_of(truth), metric, protocol())
        assert drawn.values.shape == truth.shape


def test_an_estimate_of_another_size_is_refused_with_both_sizes() -> None:
    with pytest.raises(SizeError, match=r"10 × 5.*120 × 90"):
        sg.evaluate(np.ones((5, 10), np.float32), scene_of(world()), ["d-fat"], ["nonocc"], protocol())


@pytest.mark.parametrize("family", [name.partition("@")[0] for name in GEOMETRY])
def test_every_geometry_metric_declares_what_a_page_needs(family: str) -> None:
    declared = metrics()[family]
    assert declared.formula
    assert declared.source
    assert declared.description.endswith(".")
    assert declared.has_picture
    assert declared.pools
    assert declared.region is not None
    assert declared.range[0] == 0.0
    assert (declared.range[1] == 1.0) == (family in SHARES)
