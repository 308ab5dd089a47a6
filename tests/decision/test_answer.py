"""`answer`: who wins, who does not, and what is said beside it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.durations import least_time

import stereogauge as sg
from stereogauge.decision.source import Source, compatibility
from stereogauge.metrics.registry import parse_column
from stereogauge.ranking.profile import load_profile, shipped_profiles
from stereogauge.scores.column import columns_of
from stereogauge.scores.cube import ScoreCube
from stereogauge.text import lower_first

Build = Callable[..., ScoreCube]
NAN = float("nan")


def lead(better: float, worse: float, scenes: int = 8) -> list[list[list[float]]]:
    """Two algorithms on some scenes, the first better on each by another amount."""
    return [[[better + 0.1 * k] for k in range(scenes)], [[worse + 0.3 * k] for k in range(scenes)]]


def test_the_better_one_wins_where_every_scene_says_so(cube_of: Build) -> None:
    found = sg.answer(cube_of(lead(5, 10)), weights={"bad@1": 1})
    assert found.winner == found.leader == "A"
    assert found.statement.headline == "With these weights, take A."
    assert found.sentence.startswith(found.statement.headline)
    assert [place.rank for place in found.places] == [1, 2]
    # A: mean of 5 … 5.7 % is 5.35; 80 % is what the worst real algorithms reach.
    assert found.places[0].score == pytest.approx(5.35 / 80)
    assert found.places[1].p_value == pytest.approx(1 / 2**8)


def test_no_winner_without_a_difference(cube_of: Build) -> None:
    found = sg.answer(cube_of([[[5.0]] * 8, [[5.0]] * 8]), weights={"bad@1": 1})
    assert found.winner is None
    assert found.rivals == ("B",)
    assert [claim.kind for claim in found.claims] == ["equal"]


def test_mixed_scenes_carry_no_winner(cube_of: Build) -> None:
    mixed = [[[5.0 + k % 2 * 3] for k in range(8)], [[7.2 - k % 2 * 3] for k in range(8)]]
    found = sg.answer(cube_of(mixed), weights={"bad@1": 1})
    assert found.winner is None
    assert found.claims[0].kind == "ahead"
    assert found.claims[0].numbers["scenes"] == 8


def test_deleting_pixels_never_makes_a_winner(cube_of: Build) -> None:
    """With a third of its pixels gone the first would have by far the best rms; it is not considered."""
    values = [[[1.0]] * 8, [[4.0 + 0.1 * k] for k in range(8)], [[6.0 + 0.1 * k] for k in range(8)]]
    sparse = np.zeros((3, 8, 1))
    sparse[0] = 330
    found = sg.answer(cube_of(values, ["rms:all"], sparse), weights={"rms": 1})
    assert found.leader == "B"
    assert "A" not in (found.winner, *found.rivals)
    assert any("A" in line and "covers 67 % of the pixels, and 90 % are needed" in line for line in found.unknown)


def test_leaving_a_few_pixels_out_is_charged(cube_of: Build) -> None:
    """92 % are enough to be compared, but not to win by them."""
    values = [[[4.0 + 0.01 * k]] * 1 for k in range(8)], [[[4.2 + 0.02 * k]] * 1 for k in range(8)]
    array = np.array(values).reshape(2, 8, 1)
    lost = np.zeros((2, 8, 1))
    lost[0] = 80
    found = sg.answer(cube_of(array, ["rms:all"], lost), weights={"rms": 1})
    assert found.leader == found.winner == "B"
    charged = {place.algorithm: place.charged for place in found.places}
    assert charged["B"] == 0
    assert charged["A"] > 0.05


def test_a_value_at_every_pixel_excludes_maps_with_holes(cube_of: Build) -> None:
    lost = np.zeros((2, 8, 1))
    lost[0] = 20
    cube = cube_of(lead(1, 5), ["rms:all"], lost)
    assert sg.answer(cube, weights={"rms": 1}).leader == "A"
    assert sg.answer(cube, weights={"rms": 1}, completeness="every-pixel").leader == "B"


def test_sure_pixels_alone_make_no_order(cube_of: Build) -> None:
    found = sg.answer(cube_of(lead(5, 10)), weights={"bad@1": 1}, completeness="sure")
    assert found.winner is None
    assert found.leader is None
    assert [claim.kind for claim in found.claims] == ["only-sure"]
    assert found.claims[0].texts["command"] == "stereogauge compare --common"


@pytest.mark.parametrize("completeness", ["most", "140%", -0.1])
def test_an_impossible_completeness_is_refused(cube_of: Build, completeness: str | float) -> None:
    with pytest.raises(sg.StereogaugeError, match="at a share of the pixels such as 90%"):
        sg.answer(cube_of(lead(5, 10)), weights={"bad@1": 1}, completeness=completeness)


def test_what_is_not_measured_is_named_with_its_command(cube_of: Build) -> None:
    cube = cube_of(np.concatenate([lead(5, 10), lead(0.1, 0.2)], axis=2), ["bad@4:all", "d-fat:disc-background"])
    found = sg.answer(cube, profile="driver-assistance")
    assert found.measured_share == pytest.approx(0.3 + 0.25 * 2 / 5)
    assert found.description.startswith("Full profile (partly unmeasured here): ")
    missing = {one.term for one in found.not_measured}
    assert missing == set(load_profile("driver-assistance").weights) - {"bad@4", "d-fat"}
    command = found.not_measured[0].command
    assert command.startswith("stereogauge evaluate made:FOLDER RESULTS --store STORE --metrics d-thin,")
    assert found.claims[-1].kind == "partly-measured"
    assert found.winner is None


def test_a_profile_without_any_score_names_the_command(cube_of: Build) -> None:
    with pytest.raises(
        sg.StereogaugeError, match=r"Nothing that the profile 'driver-assistance' weighs .*evaluate made"
    ):
        sg.answer(cube_of(lead(5, 10), ["mae:all"]), profile="driver-assistance")


def test_effective_weights_and_break_even_are_those_of_the_weighted_model(cube_of: Build) -> None:
    cube = cube_of([[[8.0, 40.0]] * 6, [[24.0, 24.0]] * 6], ["bad@1:all", "bad@4:all"])
    found = sg.answer(cube, weights={"bad@1": 1, "bad@4": 1})
    terms = [0.5 * (24 - 8) / 80, 0.5 * (40 - 24) / 45]
    assert found.effective_weights == pytest.approx({"bad@1": terms[0] / sum(terms), "bad@4": terms[1] / sum(terms)})
    # B leads; A ties where x · (−0.2) + (1 − x) · 16/45 = 0.
    tie = next(tie for tie in found.break_even if tie.of == "bad@1")
    assert tie == ("A", "bad@1", 0.5, pytest.approx((16 / 45) / (16 / 45 + 0.2)))


def test_scenes_that_one_lacks_are_left_out_and_said(cube_of: Build) -> None:
    values = np.array(lead(5, 10))
    values[1, 2] = NAN
    found = sg.answer(cube_of(values), weights={"bad@1": 1})
    assert found.missing_scenes == ("scene2",)
    assert len(found.scenes) == 7
    assert found.unknown_claims[0].numbers == {"scenes": 7, "asked": 8}


def test_every_form_holds_the_same_answer(cube_of: Build) -> None:
    found = sg.answer(cube_of(lead(5, 10), algorithms=["<b>A</b>", "B"]), weights={"bad@1": 1})
    document = json.loads(found.to_json())
    assert document["winner"] == "<b>A</b>"
    assert document["sentence"] == found.sentence == f"{document['headline']} {document['detail']}"
    assert [claim["kind"] for claim in document["claims"]] == [claim.kind for claim in found.claims]
    assert document["places"][0]["score"] == found.places[0].score
    assert document["requirements"] is None
    assert [row["algorithm"] for row in csv.DictReader(io.StringIO(found.to_csv()))] == ["<b>A</b>", "B"]
    assert "&lt;b&gt;A&lt;/b&gt;" in found._repr_html_()
    assert "<b>A</b>" not in found._repr_html_()
    frame = found.to_pandas()
    assert frame.algorithm.tolist() == ["<b>A</b>", "B"]
    assert frame["bad@1"].tolist() == pytest.approx([5.35, 11.05])
    assert found.sentence in found.text


def test_a_table_and_a_store_answer_alike(tmp_path: Path) -> None:
    truth = np.tile(np.float32([4, 4, 8, 8]), (20, 10))
    scenes = [sg.Scene(f"s{k}", gt=truth + k) for k in range(6)]
    maps = {"far": {s.id: s.gt + 2 for s in scenes}, "near": {s.id: s.gt + 0.5 for s in scenes}}
    table = sg.evaluate(maps, scenes, ["bad@1"], ["all"])
    with sg.open_store(tmp_path / "scores.sqlite") as store:
        store.write(table)
    from_store = sg.answer(tmp_path / "scores.sqlite", weights={"bad@1": 1})
    assert from_store.sentence == sg.answer(table, weights={"bad@1": 1}).sentence
    assert from_store.winner == "near"
    with pytest.raises(sg.StereogaugeError, match="holes were filled"):
        sg.answer(tmp_path / "scores.sqlite", weights={"bad@1": 1}, completeness="every-pixel")


@pytest.mark.parametrize("name", shipped_profiles())
def test_every_profile_says_in_words_what_it_weighs(name: str) -> None:
    profile = load_profile(name)
    assert profile.description in profile.summary
    for term in profile.weights:
        assert lower_first(parse_column(term)[0].metric.name) in profile.summary
    assert profile.purpose[0] == profile.purpose[0].lower()


def test_compatibility_is_said_up_front(cube_of: Build) -> None:
    profile = load_profile("driver-assistance")
    whole = compatibility(
        Source(cube_of(np.ones((2, 3, 8)), [str(c) for c in columns_of(profile.weights, ["all"])])), profile
    )
    assert whole.sentence == "everything that it weighs is measured"
    part = compatibility(Source(cube_of(np.ones((2, 3, 1)), ["bad@4:all"])), profile)
    assert part.sentence.startswith("30 % of its weight is measured; not measured: d-fat, d-thin")


@pytest.mark.parametrize("options", [{"alpha": 2.0}, {"draws": 0}, {"profile": "balanced", "weights": {"rms": 1}}])
def test_bad_options_are_refused_in_one_sentence(cube_of: Build, options: dict[str, object]) -> None:
    with pytest.raises(sg.StereogaugeError):
        sg.answer(
            cube_of(lead(5, 10)), **({"weights": {"bad@1": 1}} | options if "profile" not in options else options)
        )


def test_a_hundred_algorithms_on_two_hundred_scenes_take_as_long_as_some_sorts_of_their_scores(cube_of: Build) -> None:
    random = np.random.default_rng(0)
    wanted = [*load_profile("balanced").weights, "bad@0.5", "bad@2", "mae", "mse", "mre", "quantile@95", "quantile@50"]
    columns = [str(c) for c in columns_of(wanted, ["all", "nonocc", "disc", "boundary", "interior", "occluded"])]
    columns = columns[:60]
    assert len(columns) == 60
    scores = random.random((100, 200, 60))
    cube = cube_of(scores, columns, algorithms=[f"a{k}" for k in range(100)])
    answered = least_time(lambda: sg.answer(cube, profile="balanced"))
    assert answered < 40 * least_time(lambda: np.argsort(scores, axis=0))
