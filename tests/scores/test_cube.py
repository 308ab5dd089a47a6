"""The score cube holds what a table holds, and selects without guessing."""

from __future__ import annotations

import numpy as np
import pytest

import stereogauge as sg
from stereogauge import StereogaugeError
from stereogauge.ranking.profile import load_profile, shipped_profiles
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.facts import maximum
from stereogauge.scores.score import Score


def score(algorithm: str, scene: str, metric: str, region: str, value: float, dataset: str = "m") -> Score:
    return Score(dataset, scene, algorithm, metric, region, value, value * 2, 7, 1, "hash")


TABLE = sg.ScoreTable(
    [
        score("SGM", "teddy", "bad@1", "all", 3.0),
        score("SGM", "teddy", "d-fat", "disc-background", 0.2),
        score("SGM", "cones", "bad@1", "all", 4.0),
        score("BM", "teddy", "bad@1", "all", 9.0),
        score("BM", "cones", "bad@1", "all", 8.0),
    ]
)


def test_a_table_becomes_a_cube_with_gaps_where_it_has_no_score() -> None:
    cube = ScoreCube.of(TABLE)
    assert cube.algorithms == ("SGM", "BM")
    assert cube.scenes == ("teddy", "cones")
    assert cube.columns == (Column("bad@1", "all"), Column("d-fat", "disc-background"))
    assert cube.values[1, 0, 0] == 9.0
    assert np.isnan(cube.values[:, :, 1]).tolist() == [[False, True], [True, True]]
    assert cube.sums is not None
    assert cube.sums[0, 0, 0] == 6.0
    assert cube.protocol == "hash"


def test_a_cube_gives_its_table_back() -> None:
    complete = sg.ScoreTable(s for s in TABLE if s.metric == "bad@1")
    assert sorted(map(repr, ScoreCube.of(complete).scores())) == sorted(map(repr, complete))


def test_scenes_of_two_datasets_keep_apart() -> None:
    both = sg.ScoreTable(
        [score("SGM", "teddy", "bad@1", "all", 1.0, "v2"), score("SGM", "teddy", "bad@1", "all", 2.0, "v3")]
    )
    cube = ScoreCube.of(both)
    assert cube.scenes == ("v2/teddy", "v3/teddy")
    assert [s.scene for s in cube.scores()] == ["teddy", "teddy"]
    assert [s.dataset for s in cube.scores()] == ["v2", "v3"]


def test_a_selection_follows_the_order_of_asking_and_canonical_ids() -> None:
    cube = ScoreCube.of(TABLE).select(scenes=["cones", "teddy"], metrics=["bad@1.0"], algorithms=["BM", "SGM"])
    assert cube.values[:, :, 0].tolist() == [[8.0, 9.0], [4.0, 3.0]]


def test_a_metric_bound_to_its_own_pixels_survives_a_choice_of_regions() -> None:
    cube = ScoreCube.of(TABLE).select(regions=["all"])
    assert [str(column) for column in cube.columns] == ["bad@1:all", "d-fat:disc-background"]


def test_a_column_is_named_with_its_region() -> None:
    cube = ScoreCube.of(TABLE)
    assert cube.column("bad@1:all") == 0
    with pytest.raises(StereogaugeError, match="bad@1:nonocc"):
        cube.select(metrics=["bad@1:nonocc"])


@pytest.mark.parametrize(
    ("part", "name"), [("scenes", "tedy"), ("algorithms", "SGN"), ("regions", "nonoc"), ("metrics", "sze")]
)
def test_an_unknown_name_is_refused_with_what_there_is(part: str, name: str) -> None:
    with pytest.raises(StereogaugeError, match=name):
        ScoreCube.of(TABLE).select(**{part: [name]})


def test_two_scores_under_one_key_are_refused() -> None:
    twice = sg.ScoreTable([score("SGM", "teddy", "bad@1", "all", 1.0)] * 2)
    with pytest.raises(StereogaugeError, match="same algorithm"):
        ScoreCube.of(twice)


def test_arrays_of_another_shape_are_refused() -> None:
    with pytest.raises(StereogaugeError, match=r"\(1, 1, 2\)"):
        ScoreCube(("a",), ("s",), (Column("bad@1", "all"),), np.zeros((1, 1, 2)))


@pytest.mark.parametrize("name", shipped_profiles())
def test_what_a_profile_weighs_has_a_usual_range(name: str) -> None:
    """Otherwise the worst score of the selection would be the range, and other algorithms would change the scores."""
    profile = load_profile(name)
    for term in {*profile.weights, *(term for some in profile.stand_ins.values() for term in some)}:
        assert maximum(term) is not None, term
