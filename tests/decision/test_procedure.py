"""When an answer names an algorithm: direction, ties, independent scenes, measured weight, need, other sources."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

import stereogauge as sg
from stereogauge.datasets.places import place_of
from stereogauge.model import link_frames
from stereogauge.ranking.bootstrap import bootstrap
from stereogauge.ranking.profile import load_profile, property_of, shipped_profiles
from stereogauge.ranking.significance import greater_p
from stereogauge.ranking.stability import weight_stability
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.facts import SceneFacts

Build = Callable[..., ScoreCube]
ONE = {"bad@1": 1.0}


def columns(*rows: list[float]) -> list[list[list[float]]]:
    return [[[value] for value in row] for row in rows]


def test_a_leader_that_is_ahead_on_one_scene_only_is_not_named(cube_of: Build) -> None:
    """Better by far on one scene, a little worse on all others: a two-sided test would let it win."""
    ahead = [2.0 + 0.1 * k for k in range(30)]
    leader = [value + 0.2 for value in ahead]
    ahead[0] = 60.0
    found = sg.answer(cube_of(columns(leader, ahead)), weights=ONE, tolerance=0.0)
    assert found.leader == "A"
    assert found.winner is None
    assert found.rivals == ("B",)


@pytest.mark.parametrize("scenes", range(2, 6))
def test_below_six_scenes_nobody_is_ruled_out(cube_of: Build, scenes: int) -> None:
    """However far behind: no set in which the third is excluded and the fourth is not."""
    rows = [[value + 0.1 * k for k in range(scenes)] for value in (5.0, 6.0, 20.0, 40.0)]
    found = sg.answer(cube_of(columns(*rows)), weights=ONE)
    assert found.winner is None
    assert found.rivals == ("B", "C", "D")


def test_ties_do_not_speak_against_the_leader(cube_of: Build) -> None:
    """Equal on eight scenes, far worse on four."""
    leader = [5.0 + k for k in range(12)]
    dominated = [value + (10 if k < 4 else 0) for k, value in enumerate(leader)]
    assert sg.answer(cube_of(columns(leader, dominated)), weights=ONE).winner == "A"


def test_the_exact_test_counts_sign_assignments() -> None:
    differences = np.array([[3.0], [1.0], [-2.0], [4.0]])
    # The positive ranks sum to 3 + 1 + 4 = 8; sums of at least 8 have {1,3,4}, {2,3,4}, {1,2,3,4} of 16.
    assert greater_p(differences)[0] == pytest.approx(3 / 16)
    assert greater_p(np.zeros((5, 1)))[0] == pytest.approx(1 / 32)


def test_columns_without_scores_are_not_measured(cube_of: Build) -> None:
    """Columns that exist but are empty make no measured weight."""
    values = np.full((2, 8, 3), np.nan)
    values[:, :, 0] = [[5 + 0.1 * k for k in range(8)], [9 + 0.2 * k for k in range(8)]]
    cube = cube_of(values, ["bad@4:all", "d-fat:disc-background", "f-por:fine"])
    found = sg.answer(cube, profile="driver-assistance")
    assert found.measured_share == pytest.approx(0.3)
    assert found.winner is None


def table(scores: dict[str, dict[str, list[float]]]) -> sg.ScoreTable:
    """Scores from elsewhere, by metric and algorithm, one per scene; NaN is no row."""
    rows = [
        ("made", f"s{place}", algorithm, metric, value)
        for metric, own in scores.items()
        for algorithm, values in own.items()
        for place, value in enumerate(values)
        if not np.isnan(value)
    ]
    return sg.ScoreTable.from_pandas(pd.DataFrame(rows, columns=["dataset", "scene", "algorithm", "metric", "value"]))


BAD = {"A": [5 + 0.1 * k for k in range(12)], "B": [9 + 0.2 * k for k in range(12)]}


def test_a_metric_with_scores_on_one_scene_is_hardly_measured() -> None:
    """Nine tenths of the weight that are measured on one of twelve scenes decide nothing."""
    once = {"A": [3.0, *[np.nan] * 11], "B": [4.0, *[np.nan] * 11]}
    found = sg.answer(table({"bad@1": BAD, "rms": once}), weights={"bad@1": 1, "rms": 9})
    assert found.measured_share == pytest.approx(0.1 + 0.9 / 12)
    assert found.winner is None
    assert found.claims[0].kind == "little-measured"
    assert [(one.term, one.where) for one in found.not_measured] == [("rms", "on 11 of 12 scenes")]
    assert "--metrics rms" in found.commands[0]
    assert any(line.startswith("Left out: rms:all on s1, s2, ") for line in found.unknown)


def test_weights_of_two_regions_with_the_same_pixels_are_both_measured(cube_of: Build) -> None:
    """`disc` and `boundary` of one data set: each keeps its weight, and neither is called unmeasured."""
    values = np.array([[[4.0 + k, 4.0 + k, 9.0] for k in range(8)], [[8.0 + k, 8.0 + k, 3.0] for k in range(8)]])
    cube = cube_of(values, ["bad@1:disc", "bad@1:boundary", "rms:all"])
    both = sg.answer(cube, weights={"bad@1:disc": 1, "bad@1:boundary": 1, "rms": 2})
    once = sg.answer(cube, weights={"bad@1:disc": 2, "rms": 2})
    assert both.measured_share == once.measured_share == 1
    assert [place.score for place in both.places] == pytest.approx([place.score for place in once.places])


def test_equal_scores_without_counts_are_no_repetition() -> None:
    """A published table with the same numbers on two parts of the scenes: both parts are measured."""
    parts = {f"bad@1:part-{part}": BAD for part in ("fine", "planar")}
    found = sg.answer(table(parts), proportions="fine=1,planar=1")
    assert found.measured_share == 1
    assert found.winner == "A"


def test_a_negative_seed_is_refused(cube_of: Build) -> None:
    cube = cube_of(columns([5.0 + k for k in range(8)], [9.0 + k for k in range(8)]))
    with pytest.raises(sg.StereogaugeError, match="A seed is a whole number of at least 0; found -1"):
        sg.answer(cube, weights=ONE, seed=-1)
    with pytest.raises(sg.StereogaugeError, match="A seed is a whole number of at least 0; found -1"):
        bootstrap(cube, seed=-1)


def test_an_empty_cell_of_a_frame_is_a_score_that_is_not_known() -> None:
    """Whether a gap has a row of its own changes nothing."""
    once = {"A": [3.0, *[np.nan] * 11], "B": [4.0, *[np.nan] * 11]}
    without = table({"bad@1": BAD, "rms": once}).to_pandas()[["dataset", "scene", "algorithm", "metric", "value"]]
    gaps = [("made", f"s{k}", name, "rms", np.nan) for k in range(1, 12) for name in "AB"]
    frame = pd.concat([without, pd.DataFrame(gaps, columns=without.columns)])
    shares = [
        sg.answer(sg.ScoreTable.from_pandas(one), weights={"bad@1": 1, "rms": 1}).measured_share
        for one in (without, frame)
    ]
    assert shares == pytest.approx([0.5 + 0.5 / 12] * 2)


@pytest.mark.parametrize(("metric", "value"), [("bad@1", 101.0), ("bad@1", -1.0), ("ssim", 1.5), ("rms", -0.1)])
def test_a_score_that_cannot_be_is_refused(metric: str, value: float) -> None:
    with pytest.raises(sg.StereogaugeError, match=rf"row 1 of the frame: {metric} of A on s0 is .*lies between"):
        table({metric: {"A": [value]}})


def test_an_explanation_and_the_answer_say_the_same_of_each_rival(cube_of: Build) -> None:
    """The explanation calls nobody better whom the answer leaves open, whatever the scores are like."""
    random = np.random.default_rng(5)
    open_by_draws = 0
    for _ in range(60):
        scores = random.gamma(0.3, 8.0, (4, 8, 1)).clip(0, 60) + random.uniform(0, 3, (4, 1, 1))
        cube = cube_of(scores)
        found = sg.answer(cube, weights=ONE)
        for place in found.places[1:]:
            why = sg.explain(cube, str(found.leader), place.algorithm, weights=ONE)
            assert (why.claims[0].kind == "ahead-of") == place.open
            open_by_draws += place.open and place.p_value < 0.05
    assert open_by_draws > 0


def test_an_explanation_says_how_little_is_measured() -> None:
    why = sg.explain(table({"bad@1": BAD}), "A", "B", weights={"bad@1": 1, "rms": 9})
    assert why.claims[0].kind == "better-on-part"
    assert "too little for a choice" in why.text
    assert "90 % of the weight is not measured here" in why.text


def test_a_coverage_just_below_the_need_is_told_from_it(cube_of: Build) -> None:
    lost = np.zeros((2, 8, 1))
    lost[1] = 104
    found = sg.answer(
        cube_of(columns([5.0 + k / 10 for k in range(8)], [4.0] * 8), ["rms:all"], lost), weights={"rms": 1}
    )
    assert any("covers 89.6 % of the pixels, and 90 % are needed" in line for line in found.unknown)
    found = sg.answer(
        cube_of(columns([5.0] * 8, [4.0] * 8), ["rms:all"], lost), weights={"rms": 1}, completeness="92.5%"
    )
    assert any("covers 90 % of the pixels, and 92.5 % are needed" in line for line in found.unknown)


def test_scenes_with_one_ground_truth_count_once(tmp_path: Path) -> None:
    """The same four scenes under other names, as from a copied folder, make no eight."""
    truth = np.tile(np.float32([4, 4, 8, 8]), (20, 10))
    scenes = [sg.Scene(f"{copy}{k}", gt=truth + k) for copy in "ab" for k in range(4)]
    maps = {"far": {s.id: s.gt + 2 for s in scenes}, "near": {s.id: s.gt + 0.5 for s in scenes}}
    with sg.open_store(tmp_path / "scores.sqlite") as store:
        store.write(sg.evaluate(maps, scenes, ["bad@1"], ["all"]))
    found = sg.answer(tmp_path / "scores.sqlite", weights=ONE)
    assert found.winner is None
    assert found.claims[0].kind == "few-scenes"
    assert found.claims[0].numbers["scenes"] == 4
    assert any(claim.kind == "one-place" for claim in found.unknown_claims)


def test_variants_of_a_scene_and_scenes_of_a_place_are_one(cube_of: Build) -> None:
    assert [place_of(name) for name in ("MotorcycleE", "PlaytableP", "Adirondack")] == [
        "Motorcycle",
        "Playtable",
        "Adirondack",
    ]
    cube = cube_of(columns([1.0] * 3, [2.0] * 3))
    named = replace(cube, scenes=("Piano", "PianoL", "Pipes"))
    assert named.unit_of.tolist() == [0, 0, 1]
    same = SceneFacts(truth="0123")
    assert replace(cube, facts=(same, SceneFacts(truth="4567"), same)).unit_of.tolist() == [0, 1, 0]


def test_a_scene_is_one_in_all_sets_of_middlebury_and_in_all_sizes(cube_of: Build) -> None:
    cube = cube_of(columns([1.0] * 6, [2.0] * 6))
    datasets = ("middlebury-v3:Q", "middlebury-v2", "middlebury-2003", "sintel:clean", "sintel:final", "own")
    names = ("Teddy", "teddy", "cones", "alley-1", "alley-1", "teddy")
    scenes = tuple(f"{dataset}/{name}" for dataset, name in zip(datasets, names, strict=True))
    assert replace(cube, scenes=scenes, datasets=datasets).unit_of.tolist() == [0, 0, 1, 2, 2, 3]
    assert [place_of(name) for name in ("Classroom2E", "AustraliaP")] == ["Classroom2", "Australia"]


def test_the_frames_of_a_film_are_one_scene() -> None:
    truth = np.tile(np.float32([4, 4, 8, 8]), (20, 10))
    frames = [sg.Scene(f"f{k}", gt=truth + k) for k in range(8)]
    maps = {"far": {s.id: s.gt + 2 for s in frames}, "near": {s.id: s.gt + 0.5 for s in frames}}
    assert sg.answer(sg.evaluate(maps, frames, ["bad@1"], ["all"]), weights=ONE).winner == "near"
    link_frames(("film", number, frame) for number, frame in enumerate(frames))
    found = sg.answer(sg.evaluate(maps, frames, ["bad@1"], ["all"]), weights=ONE)
    assert found.winner is None
    assert found.places[0].score == pytest.approx(0.0)


def test_scores_are_at_most_one(cube_of: Build) -> None:
    cube = cube_of(np.full((2, 6, 1), 1000.0), ["rms:all"])
    assert sg.rank(cube, "weighted").value.tolist() == pytest.approx([1.0, 1.0])


def test_a_need_near_the_coverage_of_the_leader_names_nobody(cube_of: Build) -> None:
    """The leader has values at 91 %: it is named far below, not considered far above, and in between nobody is."""
    better, worse = [5.0 + 0.1 * k for k in range(8)], [12.0 + 0.2 * k for k in range(8)]
    lost = np.zeros((2, 8, 1))
    lost[0] = 90
    cube = cube_of(columns(better, worse), missing=lost)
    winners = {need: sg.answer(cube, weights=ONE, completeness=need).winner for need in (0.8, 0.9, 0.92, 0.96)}
    assert winners[0.8] == "A"
    assert winners[0.9] is None
    assert winners[0.92] is None


def test_the_answer_holds_what_a_page_draws(cube_of: Build) -> None:
    cube = cube_of(np.dstack([columns([5.0 + k for k in range(8)], [9.0 + k for k in range(8)])] * 2),
                   ["bad@1:all", "d-fat:disc-background"])  # fmt: skip
    found = sg.answer(cube, weights={"bad@1": 1, "d-fat": 1}).to_dict()
    place = found["places"][1]
    assert place["score_low"] <= place["score"] <= place["score_high"]
    assert {"beats_leader", "exceeds_leader", "open"} <= set(place)
    assert [part["property"] for part in found["properties"]] == ["accuracy", "discontinuities"]
    sums = np.sum([part["amounts"] for part in found["properties"]], axis=0)
    assert sums.tolist() == pytest.approx([one["score"] for one in found["places"]])
    assert found["worst_scenes"][0]["scene"] == "scene7"


def test_a_published_table_can_be_answered_and_imported(tmp_path: Path) -> None:
    rows = [
        {"dataset": "d", "scene": f"s{k}", "algorithm": name, "metric": "bad@2", "region": "all", "value": base + k}
        for k in range(8)
        for name, base in (("A", 5.0), ("B", 20.0))
    ]
    frame = pd.DataFrame(rows)
    table = sg.ScoreTable.from_pandas(frame)
    assert sg.answer(table, weights={"bad@2": 1}).winner == "A"
    frame.to_csv(tmp_path / "published.csv", index=False)
    with sg.open_store(tmp_path / "scores.sqlite") as store:
        assert store.import_csv(tmp_path / "published.csv") == 16
    assert sg.answer(tmp_path / "scores.sqlite", weights={"bad@2": 1}).winner == "A"
    with pytest.raises(sg.StereogaugeError, match="no column 'value'"):
        sg.ScoreTable.from_pandas(frame.drop(columns="value"))
    with pytest.raises(sg.StereogaugeError, match="Rows 1 and 17"):
        sg.ScoreTable.from_pandas(pd.concat([frame, frame[:1]]))


def test_on_sparse_truth_others_stand_in_and_the_sentence_says_so(cube_of: Build) -> None:
    """KITTI has no edges, structures or planes to measure: the columns exist and are empty."""
    names = ["bad@4:all", "bad@8:all", "mae:all", "d-fat:disc-background", "d-thin:disc-foreground", "p-off:planar"]
    names += ["f-missing:fine", "f-por:fine", "f-frag:fine", "p-mis:planar"]
    values = np.full((2, 8, len(names)), np.nan)
    for place in range(3):
        values[:, :, place] = [[5 + 0.1 * k for k in range(8)], [9 + 0.2 * k for k in range(8)]]
    found = sg.answer(cube_of(values, names), profile="driver-assistance")
    assert found.measured_share == pytest.approx(1.0)
    assert found.winner == "A"
    assert "too sparse for d-fat, d-thin" in found.sentence
    assert "bad@8 stands in for them" in found.sentence


def test_driver_assistance_is_answered_on_real_sparse_truth(data_root: object) -> None:
    """KITTI's truth covers a third of the image; a profile without its stand-ins would have 30 % of its weight."""
    scenes = list(sg.load_dataset("kitti-2012", f"{data_root}/kitti2012"))[:6]
    random = np.random.default_rng(3)
    maps: dict[str, dict[str, object]] = {"good": {}, "poor": {}}
    for scene in scenes:
        noise = random.normal(size=scene.shape).astype(np.float32)
        for name, size in (("good", 1.0), ("poor", 6.0)):
            maps[name][scene.id] = np.nan_to_num(scene.gt) + size * noise
    profile = load_profile("driver-assistance")
    scores = sg.evaluate(maps, scenes, [*profile.weights, "bad@8", "mae"], ["nonocc"])
    found = sg.answer(scores, profile="driver-assistance")
    assert found.measured_share == pytest.approx(1.0)
    assert found.winner == "good"
    stands_in = {claim.names[0]: claim.names[1:] for claim in found.claims if claim.kind == "stands-in"}
    assert stands_in == {"bad@8": ("d-fat", "d-thin", "f-missing", "f-por", "f-frag"), "mae": ("p-off", "p-mis")}
    (claim,) = (claim for claim in found.unknown_claims if claim.kind == "other-width")
    assert claim.names == ("bad@4", "bad@8")
    assert claim.numbers["found"] == pytest.approx(1240, abs=10)


def test_the_command_for_a_profile_measures_its_stand_ins_too(cube_of: Build) -> None:
    found = sg.answer(cube_of([[[5.0]] * 8, [[9.0]] * 8], ["bad@4:all"]), profile="driver-assistance")
    assert found.commands[0].endswith("--metrics d-fat,d-thin,f-missing,f-por,f-frag,p-off,p-mis,bad@8,mae")


def test_what_the_truth_does_not_allow_is_not_to_be_measured_again(cube_of: Build) -> None:
    """Only stand-ins help there, and image-based rendering has none for its edges and structures."""
    cube = sparse_cube(cube_of)
    assert sg.answer(cube, profile="image-based-rendering").commands[0].endswith(" d-fuz-rel,p-bump-clip@1,f-fat")
    without = cube.take(columns=[k for k, column in enumerate(cube.columns) if column.metric != "bad@8"])
    found = sg.answer(without, profile="driver-assistance")
    assert found.measured_share == pytest.approx(0.5)
    assert found.commands[0].endswith("--metrics bad@8")


@pytest.mark.parametrize("name", shipped_profiles())
def test_every_profile_states_what_stands_in_on_sparse_truth(name: str) -> None:
    profile = load_profile(name)
    stated = profile.summary.partition(" On a sparse ground truth ")[2].partition(". ")[0]
    for term in profile.weights:
        if property_of(term) != "accuracy":
            assert term in stated
            assert all(other in stated for other in profile.stand_ins.get(term, ("nothing stands in",)))


def test_without_a_tolerance_no_per_cent_is_named(cube_of: Build) -> None:
    mixed = columns([5.0 + k % 2 * 3 for k in range(8)], [7.2 - k % 2 * 3 for k in range(8)])
    open_ = sg.answer(cube_of(mixed), weights=ONE, tolerance=0.0)
    assert "8 scenes do not rule out that A is as good." in open_.statement.headline
    apart = columns([5.0 + k for k in range(8)], [9.0 + k for k in range(8)])
    sure = sg.answer(cube_of(apart), weights=ONE, tolerance=0)
    assert sure.statement.detail.startswith("No other is likely to be better.")


def test_a_weight_that_means_more_is_named_even_below_twice_its_share(cube_of: Build) -> None:
    """60 % declared and all of the differences: .4 from the declared weights."""
    apart = columns([5.0 + k for k in range(8)], [60.0 + k for k in range(8)])
    values = np.dstack([apart, np.full((2, 8), 0.1)])
    found = sg.answer(cube_of(values, ["bad@1:all", "d-fat:disc-background"]), weights={"bad@1": 3, "d-fat": 2})
    assert found.weight_distance == pytest.approx(0.4)
    (claim,) = (claim for claim in found.claims if claim.kind == "disproportion")
    assert claim.names == ("bad@1",)
    assert "it weighs 60 % and causes 100 % of the differences" in found.sentence


def test_thresholds_in_px_say_for_which_images_they_are_meant(cube_of: Build, tmp_path: Path) -> None:
    """The scenes of the cube are 3000 px wide."""
    cube = cube_of([[[5.0]] * 8, [[9.0]] * 8], ["bad@4:all"])
    for width, kinds in ((750, {"other-width"}), (2500, set()), (0, set())):
        (tmp_path / "own.toml").write_text(f'image_width = {width}\n[weights]\n"bad@4" = 1\n', encoding="utf-8")
        found = sg.answer(cube, profile=tmp_path / "own.toml")
        assert {claim.kind for claim in found.unknown_claims} & {"other-width"} == kinds
    assert load_profile("balanced").summary.endswith("Thresholds in px are for images about 750 px wide.")


def sparse_cube(cube_of: Build) -> ScoreCube:
    """Eight scenes whose ground truth allows no edges, structures or planes: these columns exist and are empty."""
    names = [*load_profile("driver-assistance").weights, "bad@8", "mae"]
    values = np.full((3, 8, len(names)), np.nan)
    for place, base in ((names.index("bad@4"), 5.0), (names.index("bad@8"), 4.0), (names.index("mae"), 1.0)):
        values[:, :, place] = [[base * (1 + k) + 0.1 * s for s in range(8)] for k in range(3)]
    return cube_of(values, [name if ":" in name else f"{name}:all" for name in names])


def test_orders_tests_and_reasons_read_the_score_of_the_answer_on_sparse_truth(cube_of: Build) -> None:
    """Stand-ins are part of the score itself, not of the answer alone."""
    cube = sparse_cube(cube_of)
    found = sg.answer(cube, profile="driver-assistance")
    scores = {place.algorithm: place.score for place in found.places}
    order = sg.rank(cube, "weighted", profile="driver-assistance")
    assert dict(zip(order.algorithms, order.value.tolist(), strict=True)) == scores
    assert order.names["terms"] == tuple(term.term for term in found.terms)
    assert any("bad@8 stands in for them" in note for note in order.notes)
    assert order.options["profile"] == "driver-assistance"
    why = sg.explain(cube, "A", "B", profile="driver-assistance")
    assert why.scores == (scores["A"], scores["B"])
    draws = bootstrap(cube, "weighted", profile="driver-assistance", draws=20)
    assert dict(zip(draws.algorithms, draws.value.tolist(), strict=True)) == pytest.approx(scores)
    assert weight_stability(cube, profile="driver-assistance", draws=5).terms == order.names["terms"]


def test_the_exact_test_is_of_the_mean_itself() -> None:
    """Equal to trying every assignment of signs, whose sum is compared; ranks would forget the sizes."""
    random = np.random.default_rng(1)
    differences = np.round(random.normal(0.4, 1, (9, 4)), 2)
    signs = np.array(list(itertools.product((1, -1), repeat=9)))
    expected = (signs @ differences >= differences.sum(axis=0) - 1e-9).mean(axis=0)
    assert greater_p(differences).tolist() == pytest.approx(expected.tolist())
    many = np.round(random.normal(0.2, 1, (24, 3)), 2)
    drawn = random.choice([-1.0, 1.0], (100_000, 24)) @ many >= many.sum(axis=0) - 1e-9
    assert greater_p(many).tolist() == pytest.approx(drawn.mean(axis=0).tolist(), abs=0.01)
    assert greater_p(np.r_[many, many, many])[0] < 0.1 * greater_p(many)[0] + 0.01


def test_ties_do_not_speak_against_the_leader_without_a_tolerance_either(cube_of: Build) -> None:
    leader = [5.0 + k for k in range(12)]
    dominated = [value + (10 if k < 4 else 0) for k, value in enumerate(leader)]
    (_, other) = sg.answer(cube_of(columns(leader, dominated)), weights=ONE, tolerance=0.0).places
    assert other.p_value == pytest.approx(0.5**12)
