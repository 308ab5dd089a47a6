"""Scores composed in the proportions of an application."""

from __future__ import annotations

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.masks.geometric import PARTS
from stereogauge.ranking.profile import checked_proportions, proportion_weights


@pytest.fixture(scope="module")
def scores() -> sg.ScoreTable:
    """A matcher that is wrong beside edges, and one that is wrong elsewhere."""
    scenes, maps = [], {"edges": {}, "planes": {}}
    for k in range(6):
        truth = np.full((80, 120), 10.0 + k, np.float32)
        truth[20:60, 40:90] = 30
        scene = sg.Scene(f"s{k}", gt=truth, resolution=0.25)
        masks = sg.regions(scene, ["part-background", "part-foreground"])
        beside = masks["part-background"] | masks["part-foreground"]
        scenes.append(scene)
        maps["edges"][scene.id] = np.where(beside, truth + 3, truth)
        maps["planes"][scene.id] = np.where(beside, truth, truth + 3 * (np.indices(truth.shape)[1] % 3 == 0))
    return sg.evaluate(maps, scenes, ["bad@1"], list(PARTS))


def test_proportions_decide_who_leads(scores: sg.ScoreTable) -> None:
    assert sg.answer(scores, proportions="disc=0.9,planar=0.1").leader == "planes"
    assert sg.answer(scores, proportions={"disc": 0.05, "planar": 0.95}).leader == "edges"


def test_a_proportion_is_the_weight_of_its_part(scores: sg.ScoreTable) -> None:
    weights = proportion_weights(scores.cube, "disc=1,planar=3")
    assert weights == pytest.approx(
        {"bad@1:part-background": 0.125, "bad@1:part-foreground": 0.125, "bad@1:part-planar": 0.75}
    )


def test_bad_proportions_are_refused_in_a_sentence(scores: sg.ScoreTable) -> None:
    for text in ("walls=1", "fine=much", "fine=0"):
        with pytest.raises(sg.StereogaugeError):
            checked_proportions(text)
    only = sg.evaluate(np.ones((20, 20)), sg.Scene("s", gt=np.ones((20, 20))), ["bad@1"], ["all"])
    with pytest.raises(sg.StereogaugeError, match="Nothing is measured on part-planar"):
        proportion_weights(only.cube, "planar=1")
