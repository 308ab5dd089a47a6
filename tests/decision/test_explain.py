"""`explain`: every division sums to the difference, and says where it arises."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stereogauge as sg
from stereogauge import explain
from stereogauge.decision.explain import Explanation
from stereogauge.evaluation.stored_maps import map_origins
from stereogauge.masks.geometric import PARTS
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube

Build = Callable[..., ScoreCube]
METRICS = ("bad@1", "mae", "rms", "bias", "psnr", "quantile@95")
BOUND = ("d-fat:disc-background", "d-fuz:disc-edge", "p-off:planar", "f-por:fine")


def sums(found: Explanation) -> list[float]:
    return [
        sum(reason.amount for reason in found.terms),
        sum(piece.amount for piece in found.scenes),
        sum(piece.amount for piece in found.regions),
        float(found.pieces.sum()),
    ]


@st.composite
def problems(draw: st.DrawFn) -> tuple[ScoreCube, dict[str, float]]:
    """Random scores of three algorithms on some scenes, on whole regions and on parts, with gaps and weights."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scenes = draw(st.integers(1, 4))
    metrics = draw(st.lists(st.sampled_from(METRICS), min_size=1, max_size=4, unique=True))
    bound = draw(st.lists(st.sampled_from(BOUND), max_size=3, unique=True))
    whole = draw(st.sampled_from(["all", "nonocc"]))
    parts = draw(st.booleans())
    columns = [Column(metric, whole) for metric in metrics] + [Column(*text.split(":")) for text in bound]
    if parts:
        columns += [Column(metric, part) for metric in metrics for part in PARTS]
    shape = (3, scenes, len(columns))
    counts = random.integers(50, 500, shape).astype(np.float64)
    totals = random.gamma(1.0, 20.0, shape)
    place = {column: k for k, column in enumerate(columns)}
    for metric in metrics if parts else ():
        own = [place[Column(metric, part)] for part in PARTS if whole == "all" or part != "part-occluded"]
        totals[:, :, place[Column(metric, whole)]] = totals[:, :, own].sum(axis=2)
        counts[:, :, place[Column(metric, whole)]] = counts[:, :, own].sum(axis=2)
    values = np.empty(shape)
    for k, column in enumerate(columns):
        finalize = column.declared.metric.finalize
        for row, scene in np.ndindex(3, scenes):
            total, count = float(totals[row, scene, k]), int(counts[row, scene, k])
            values[row, scene, k] = total if finalize is None else finalize(total, count)
    gaps = random.random((*shape[:2], len(metrics) + len(bound))) < draw(st.sampled_from([0.0, 0.0, 0.15]))
    values[:, :, : gaps.shape[2]][gaps] = np.nan
    missing = np.where(random.random(shape) < 0.1, counts, 0.0)
    cube = ScoreCube(
        ("A", "B", "C"), tuple(f"s{k}" for k in range(scenes)), tuple(columns), values, totals, counts, missing, "x"
    ).limited(0.9, 0)
    names = [*metrics, *(text.split(":")[0] for text in bound)]
    return cube, {name: draw(st.floats(0.1, 10)) for name in names}


@given(problems())
@settings(max_examples=60)
def test_every_division_sums_to_the_difference(problem: tuple[ScoreCube, dict[str, float]]) -> None:
    cube, weights = problem
    try:
        found = explain(cube, "A", "B", weights=weights)
        ranking = sg.rank(cube, "weighted", weights=weights)
        answered = sg.answer(cube, weights=weights, draws=1)
    except sg.StereogaugeError:
        return  # gaps left nothing to compare
    scores = {place.algorithm: place.score for place in answered.places}
    if {"A", "B"} <= scores.keys():
        assert found.difference == pytest.approx(scores["A"] - scores["B"], abs=1e-9)
    if scores.keys() == set(ranking.algorithms):
        scores = dict(zip(ranking.algorithms, ranking.value, strict=True))
        assert found.difference == pytest.approx(scores["A"] - scores["B"], abs=1e-9)
    size = np.abs(found.pieces).sum() + 1e-12
    for total in sums(found):
        assert total == pytest.approx(found.difference, abs=1e-9 * size + 1e-12)


def test_a_difference_worked_by_hand(cube_of: Build) -> None:
    """bad@1 weighs 3/4 on a scale of 80, d-fat 1/4 on one of 0.6."""
    values = [[[8.0, 0.3], [16.0, 0.3]], [[16.0, 0.0], [16.0, 0.3]]]
    found = explain(cube_of(values, ["bad@1:all", "d-fat:disc-background"]), "A", "B", weights={"bad@1": 3, "d-fat": 1})
    assert [round(reason.amount, 6) for reason in found.terms] == [-0.0375, 0.0625]
    assert [round(piece.amount, 6) for piece in found.scenes] == [0.025, 0.0]
    regions = {piece.name: round(piece.amount, 6) for piece in found.regions if piece.amount}
    assert regions == {"background beside edges": 0.0625, "not attributed": -0.0375}
    assert found.better == "B"
    assert [(claim.kind, claim.names) for claim in found.claims] == [
        ("ahead-on-few", ("B", "A")),
        ("lead-by-region", ("B", "background beside edges")),
        ("better-at", ("B", "d-fat")),
        ("better-at", ("A", "bad@1")),
        ("ahead-on", ("B", "scene0")),
        ("unattributed", ()),
    ]
    assert found.claims[3].numbers == {"bad@1 own": 12, "bad@1 other": 16}
    assert found.claims[-1].numbers["share"] == pytest.approx(1.5)  # of the difference, as the table by region has it
    few = "With these weights, B has a better score than A on 2 independent scenes, too few to rule out chance."
    assert found.text.startswith(f"{few} Its score is 0.213 against 0.238")
    assert "A is better at bad pixels (bad@1), 12.0 % against 16.0 %." in found.text
    (undivided,) = found.undivided_claims
    assert (undivided.names, undivided.texts) == (("bad@1",), {"reason": "not-stored"})
    assert "--metrics bad@1 --regions part-occluded,part-background" in found.command


def test_the_words_follow_the_test_of_the_answer(cube_of: Build) -> None:
    """Ten scenes: better on all of them, on average only, and on one scene by much."""
    steady = [[float(k)] for k in range(10, 20)]
    worse = [[k + 5.0] for (k,) in steady]
    mixed = [[k + (20.0 if place % 2 else -18.0)] for place, (k,) in enumerate(steady)]
    cube = cube_of([steady, worse, mixed], ["bad@1:all"])
    weights = {"bad@1": 1}
    assert explain(cube, "A", "B", weights=weights).text.startswith("With these weights, A is better than B. ")
    unsure = explain(cube, "C", "A", weights=weights)
    assert unsure.better == "A"
    assert "A is ahead of C, but 10 independent scenes do not rule out that C is more than 5 % better." in unsure.text
    places = {place.algorithm: place for place in sg.answer(cube, weights=weights).places}
    assert not places["B"].open
    assert places["C"].open
    assert unsure.p_value == pytest.approx(places["C"].p_value)


def test_scores_that_charge_missing_pixels_say_so(cube_of: Build) -> None:
    """The mean in the sentence is not the measured one of `table` where pixels are missing."""
    whole = explain(cube_of([[[8.0]], [[9.0]]], ["mae-valid:all"]), "A", "B", weights={"mae-valid": 1})
    assert "charged" not in whole.text
    lost = cube_of([[[8.0]], [[9.0]]], ["mae-valid:all"], missing=[[[100.0]], [[0.0]]])
    found = explain(lost, "A", "B", weights={"mae-valid": 1})
    assert "with missing pixels charged: A gives no value at 10 % of them." in found.text
    assert found.to_dict()["completeness"] == pytest.approx([0.9, 1.0])


def test_equal_scores_are_said(cube_of: Build) -> None:
    found = explain(cube_of([[[8.0]], [[8.0]]]), "A", "B", weights={"bad@1": 1})
    assert found.better is None
    assert found.text == "With these weights, A and B have the same score, 0.100."


def test_names_that_are_wrong_are_refused(cube_of: Build) -> None:
    cube = cube_of([[[8.0]], [[9.0]]])
    with pytest.raises(sg.StereogaugeError, match="Unknown algorithm of these scores 'D'"):
        explain(cube, "A", "D", weights={"bad@1": 1})
    with pytest.raises(sg.StereogaugeError, match="found 'A' twice"):
        explain(cube, "A", "A", weights={"bad@1": 1})


def test_an_algorithm_without_scores_cannot_be_explained(cube_of: Build) -> None:
    cube = cube_of([[[8.0]], [[9.0]], [[float("nan")]]])
    with pytest.raises(sg.StereogaugeError, match="C cannot be compared: no score"):
        explain(cube, "A", "C", weights={"bad@1": 1})


@pytest.fixture(scope="module")
def pole() -> sg.Scene:
    """A plane with a pole in front, textured on its right half."""
    random = np.random.default_rng(0)
    truth = np.tile(np.linspace(10, 14, 240, dtype=np.float32), (160, 1))
    truth[:, 100:140] = 40
    left = np.full((160, 240), 128, np.uint8)
    left[:, 120:] = random.integers(0, 255, (160, 120))
    return sg.Scene("pole", gt=truth, left=left, right=left, resolution=0.25)


def test_parts_are_disjoint_and_cover_everything(pole: sg.Scene) -> None:
    masks = sg.regions(pole, [*PARTS, "all"])
    counted = np.sum([masks[part] for part in PARTS], axis=0)
    assert (counted == masks["all"]).all()
    for part in ("part-occluded", "part-foreground", "part-background", "part-textureless"):
        assert masks[part].any(), part


def test_parts_of_a_real_scene_cover_everything(data_root: object) -> None:
    scene = next(iter(sg.load_dataset("middlebury-v2", f"{data_root}/middlebury-v2")))
    masks = sg.regions(scene, [*PARTS, "all"], protocol="cabezas")
    assert (np.sum([masks[part] for part in PARTS], axis=0) == masks["all"]).all()


def test_maps_divide_what_the_scores_alone_do_not(pole: sg.Scene) -> None:
    """The estimate is wrong on the foreground beside the edges and nowhere else."""
    masks = sg.regions(pole, ["part-foreground"])
    wrong = np.where(masks["part-foreground"], pole.gt + 5, pole.gt).astype(np.float32)
    maps = {"right": {"pole": pole.gt}, "wrong": {"pole": wrong}}
    table = sg.evaluate(maps, [pole], ["bad@1", "rms"], ["all", "nonocc", "disc"])
    origins = map_origins({"pole": pole}, maps, table.protocol)
    found = explain(table, "right", "wrong", weights={"bad@1": 1, "rms": 1}, maps=origins)
    regions = {piece.name: piece.amount for piece in found.regions}
    assert regions["foreground beside edges"] == pytest.approx(found.difference)
    assert found.difference < 0
    assert found.undivided == ()


def test_stored_parts_are_used_and_never_weigh_twice(pole: sg.Scene) -> None:
    shifted = np.where(np.arange(240) < 60, pole.gt + 3, pole.gt).astype(np.float32)
    maps = {"right": {"pole": pole.gt}, "shifted": {"pole": shifted}}
    plain = sg.evaluate(maps, [pole], ["bad@1"], ["all"])
    parted = sg.evaluate(maps, [pole], ["bad@1"], ["all", *PARTS])
    weights = {"bad@1": 1.0}
    assert explain(parted, "right", "shifted", weights=weights).difference == pytest.approx(
        explain(plain, "right", "shifted", weights=weights).difference
    )
    for table in (plain, parted):
        assert [place.score for place in sg.answer(table, weights=weights).places] == pytest.approx([0, 0.3125])
        assert sg.rank(table, "weighted", weights=weights).value.tolist() == pytest.approx([0, 0.3125])
    assert explain(parted, "right", "shifted", weights=weights).regions[-1].amount == 0
    assert explain(plain, "right", "shifted", weights=weights).regions[-1].amount != 0


def test_forms(cube_of: Build) -> None:
    found = explain(cube_of([[[8.0]], [[9.0]]], algorithms=["<i>A</i>", "B"]), "<i>A</i>", "B", weights={"bad@1": 1})
    frame = found.to_pandas()
    assert frame.amount.sum() == pytest.approx(found.difference)
    assert found.to_dict()["difference"] == found.difference
    assert "<i>" not in found._repr_html_()


def test_an_explanation_compares_what_the_answer_compares(cube_of: Build) -> None:
    """C covers half of its pixels and lacks two scenes: it removes no scene."""
    values = np.array([[[5.0 + 0.1 * k] for k in range(8)], [[9.0 + k % 3] for k in range(8)], [[60.0]] * 8])
    values[2, 6:] = np.nan
    lost = np.zeros((3, 8, 1))
    lost[2, :6] = 500
    cube = cube_of(values, missing=lost)
    weights = {"bad@1": 1.0}
    found = sg.answer(cube, weights=weights)
    scores = {place.algorithm: place.score for place in found.places}
    assert set(scores) == {"A", "B"}
    why = explain(cube, "A", "B", weights=weights)
    assert tuple(piece.name for piece in why.scenes) == found.scenes == cube.scenes
    assert why.scores == pytest.approx((scores["A"], scores["B"]))
    assert len(explain(cube, "A", "C", weights=weights).scenes) == 6


def test_level_and_tolerance_are_those_of_the_answer(cube_of: Build) -> None:
    """Eight scenes rule out at a level of 5 % that B is better, and not at one of 0.1 %."""
    cube = cube_of([[[10.0 + k] for k in range(8)], [[15.0 + k] for k in range(8)]], ["bad@1:all"])
    for alpha, tolerance, found in ((0.05, 0.05, False), (0.001, 0.05, True), (0.05, 0.0, False)):
        why = explain(cube, "A", "B", weights={"bad@1": 1}, alpha=alpha, tolerance=tolerance)
        (place,) = sg.answer(cube, weights={"bad@1": 1}, alpha=alpha, tolerance=tolerance).places[1:]
        assert why.open is place.open is found
        assert why.p_value == pytest.approx(place.p_value)
    with pytest.raises(sg.StereogaugeError, match="A tolerance is a share"):
        explain(cube, "A", "B", weights={"bad@1": 1}, tolerance=2)
