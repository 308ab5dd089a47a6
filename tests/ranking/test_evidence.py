"""Nobody wins by leaving out: scores that cover too little, sets that are too small, gaps that empty no board."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import stereogauge as sg
from stereogauge import StereogaugeError, rank
from stereogauge.ranking import Column, ScoreCube
from stereogauge.ranking.costs import prepare, richest
from stereogauge.scores.aggregation import usable_scores
from stereogauge.scores.facts import SceneFacts
from stereogauge.scores.selection import Dropped, in_words

NAN = float("nan")


def cube(
    values: object,
    *,
    counts: object = 1000,
    missing: object = 0,
    columns: tuple[str, ...] = ("rms:all",),
    **more: object,
) -> ScoreCube:
    array = np.array(values, np.float64)
    shape = array.shape
    return ScoreCube(
        tuple("ABCDEFGH"[: shape[0]]),
        tuple(f"scene{place}" for place in range(shape[1])),
        tuple(Column(*column.split(":")) for column in columns),
        array,
        sums=array * 1000,
        counts=np.broadcast_to(np.array(counts, np.float64), shape).copy(),
        missing=np.broadcast_to(np.array(missing, np.float64), shape).copy(),
        **more,  # type: ignore[arg-type]
    )


class TestCoverage:
    sparse = cube(
        [[[1.0]], [[2.0]], [[3.0]]],
        counts=[[[650]], [[1000]], [[950]]],
        missing=[[[350]], [[0]], [[50]]],
        facts=(SceneFacts(size=1.0, low=0.0, high=60.0),),
    )

    def test_a_score_that_covers_too_little_is_a_gap_with_its_reason(self) -> None:
        found = usable_scores(self.sparse)
        assert np.isnan(found.values[:, 0, 0]).tolist() == [True, False, False]
        assert found.gap_of(0, 0, 0).reason == "covers 65 %"
        assert self.sparse.values[0, 0, 0] == 1.0  # tables still show it

    def test_it_is_never_first_under_any_rule(self) -> None:
        for rule in ("common", "drop-algorithm", "drop-column", "worst"):
            assert rank(self.sparse, "middlebury", missing=rule).algorithms == ("B", "C", "A")
            left_out = rank(self.sparse, "middlebury", missing=rule, missing_pixels="left out")
            assert left_out.algorithms[0] == "B"
            assert ("A" in left_out.algorithms) == (rule in ("worst", "drop-column"))
        dropped = rank(self.sparse, "middlebury", missing_pixels="left out").selection.dropped[0]
        assert (dropped.kind, dropped.name, dropped.reason) == ("algorithm", "A", "covers 65 % of scene0 rms:all")

    def test_the_limit_is_an_option_and_stated(self) -> None:
        ranking = rank(self.sparse, "middlebury", least_coverage=0.6, missing_pixels="left out")
        assert ranking.algorithms == ("A", "B", "C")
        assert "coverage ≥ 60 %" in ranking.selection.caption()
        assert ranking.selection.to_dict()["least_coverage"] == 0.6
        with pytest.raises(StereogaugeError, match="between 0 and 1"):
            rank(self.sparse, least_coverage=90)

    def test_a_counted_score_needs_no_coverage(self) -> None:
        counted = cube([[[40.0]], [[2.0]]], counts=1000, missing=[[[350]], [[0]]], columns=("bad@1:all",))
        assert rank(counted, "middlebury").algorithms == ("B", "A")

    def test_under_the_policy_exclude_even_bad_pixels_need_it(self) -> None:
        bad = cube(
            [[[1.0]], [[2.0]]],
            counts=[[[650]], [[1000]]],
            missing=[[[350]], [[0]]],
            columns=("bad@1:all",),
            invalid="exclude",
        )
        assert rank(bad, "middlebury").algorithms == ("B", "A")
        assert rank(bad, "middlebury", missing_pixels="left out").algorithms == ("B",)

    def test_nobody_removes_a_column_by_leaving_pixels_out(self) -> None:
        """A is bad at d-fat; were its sparse score dropped with the column, it would lead."""
        both = cube(
            [[[1.0, 0.9]], [[2.0, 0.1]], [[3.0, 0.2]]],
            counts=[[[1000, 100]], [[1000, 1000]], [[1000, 1000]]],
            missing=[[[0, 900]], [[0, 0]], [[0, 0]]],
            columns=("rms:all", "d-fat:disc-background"),
            facts=(SceneFacts(size=1.0, low=0.0, high=60.0),),
        )
        left_out = {"model": "extended", "missing_pixels": "left out"}
        assert rank(both, **left_out, missing="drop-algorithm").algorithms == ("B", "C")
        for rule in ("common", "drop-column", "worst"):
            for ranking in (rank(both, "extended", missing=rule), rank(both, **left_out, missing=rule)):
                assert ranking.algorithms == ("B", "A", "C")  # as if it had kept its d-fat, the worst of all
                assert ranking.selection.columns == both.columns
        kept = rank(both, **left_out).selection.dropped[0]
        assert (kept.kind, kept.name) == ("score", "A")
        assert kept.reason == "covers 10 % of scene0 d-fat:disc-background: too incomplete, ranked last there"


def test_a_set_of_six_pixels_is_no_evidence() -> None:
    small = cube([[[0.1, 9.0]], [[0.2, 1.0]]], counts=[[[1000, 6]]] * 2, columns=("rms:all", "f-fat:fine-surround"))
    ranking = rank(small, "extended")
    assert ranking.algorithms == ("A", "B")
    assert ranking.selection.dropped[0].reason == "only 6 pixels: too few for a comparison"
    assert rank(small, "extended", least_support=0).selection.dropped == ()


class TestCommon:
    def test_a_missing_scene_shrinks_the_comparison_and_says_so(self) -> None:
        found = rank(cube([[[1.0], [2.0], [9.0]], [[2.0], [3.0], [NAN]], [[3.0], [4.0], [5.0]]]), "middlebury")
        assert found.algorithms == ("A", "B", "C")
        assert found.selection.scenes == ("scene0", "scene1")
        assert "scenes: 2 of 3 (scene0, scene1)" in found.selection.caption()
        assert found.selection.dropped[0][:3] == ("scene", "scene2", "no score of B")

    def test_an_algorithm_that_lacks_most_scenes_does_not_shrink_it(self) -> None:
        found = rank(cube([[[1.0], [2.0], [9.0]], [[2.0], [NAN], [NAN]], [[3.0], [4.0], [5.0]]]), "middlebury")
        assert found.algorithms == ("A", "C")
        assert len(found.selection.scenes) == 3
        assert found.selection.dropped[0].reason == "no score for scene1 rms:all and 1 more"

    def test_run_time_is_no_accuracy_column_unless_it_is_named(self) -> None:
        timed = cube([[[1.0, NAN]], [[2.0, 0.1]]], columns=("rms:all", "seconds:scene"))
        assert rank(timed, "extended").algorithms == ("A", "B")
        assert rank(timed, "extended").selection.metrics == ("rms",)
        assert rank(timed, "middlebury", metrics=["seconds"], least_support=0).algorithms == ("B",)


def test_an_a_star_group_stands_by_how_many_it_dominates_then_by_mean_rank() -> None:
    """A and B are not dominated; B dominates C and D, A nobody, though it was given first."""
    values = np.array([[[1.0, 9.0, 9.0]], [[2.0, 1.0, 1.0]], [[3.0, 2.0, 2.0]], [[3.0, 3.0, 3.0]]])
    named = ScoreCube(
        ("A", "B", "C", "D"), ("s",), tuple(Column("bad@1", region) for region in ("all", "nonocc", "disc")), values
    )
    ranking = rank(named, "a-star")
    assert ranking.algorithms == ("B", "A", "C", "D")
    assert ranking.group is not None
    assert ranking.group.tolist() == [1, 1, 2, 3]


def test_costs_know_what_counts_as_1_on_their_scenes() -> None:
    costs, _ = prepare(cube([[[1.0], [2.0]], [[2.0], [1.0]]], facts=(SceneFacts(size=0.25), SceneFacts(size=1.0))))
    assert costs.maxima.tolist() == [17.5, 70.0]


def test_half_of_the_pixels_deleted_does_not_climb() -> None:
    """A map that gives up its worst half keeps its place or loses it, by every metric and model."""
    random = np.random.default_rng(0)
    truth = np.tile(np.linspace(5, 20, 60, dtype=np.float32), (40, 1))
    scene = sg.Scene("s", gt=truth)
    good, poor = truth + random.normal(0, 0.5, truth.shape), truth + random.normal(0, 2.0, truth.shape)
    error = np.abs(poor - truth)
    cheat = np.where(error > np.median(error), np.nan, poor)
    honest = sg.evaluate({"good": good, "poor": poor}, scene, ["bad@1", "rms", "mae"], ["all"])
    table = sg.evaluate({"good": good, "poor": cheat}, scene, ["bad@1", "rms", "mae"], ["all"])
    assert sg.rank(honest, "extended").algorithms[0] == "good"
    assert table.value("rms", "all", algorithm="poor") < honest.value("rms", "all", algorithm="poor")
    for metric in ("bad@1", "rms", "mae"):
        assert sg.rank(table, "middlebury", metrics=[metric]).algorithms[0] == "good"


def test_regions_with_the_same_pixels_count_once() -> None:
    """On Middlebury v2 `disc` and `boundary` hold the same pixels; each scene has one such column, not two."""
    truth = np.tile(np.float32([4, 4, 4, 9, 9, 9]), (20, 4))
    edges = np.zeros(truth.shape, np.bool_)
    edges[:, ::3] = True
    scene = sg.Scene("step", gt=truth, masks={"outlines": edges, "edges": edges})
    maps = {"good": truth, "poor": truth + np.where(edges, 2, 0).astype(np.float32)}
    scores = sg.evaluate(maps, scene, ["bad@1"], ["all", "outlines", "edges"])
    ranking = sg.rank(scores, "extended")
    assert [(what.kind, what.name, what.reason) for what in ranking.selection.dropped] == [
        ("column", "bad@1:edges", "the same pixels as bad@1:outlines")
    ]
    alone = sg.rank(sg.evaluate(maps, scene, ["bad@1"], ["all", "outlines"]), "extended")
    assert ranking.value.tolist() == alone.value.tolist()


def test_the_default_never_ends_with_one_algorithm_where_several_can_be_compared(cube_of) -> None:
    gap = np.nan
    # A alone has most scenes; B, C and D share scene 4 and 5 with each other.
    values = [[1.0, 1, 1, gap, gap], [gap, gap, gap, 1.0, 2], [gap, gap, gap, 2.0, 3], [gap, gap, gap, 3.0, 1]]
    ranking = sg.rank(cube_of([[[value] for value in row] for row in values]))
    assert (ranking.selection.algorithms, ranking.selection.scenes) == (("B", "C", "D"), ("scene3", "scene4"))
    left_out = {what.name: what.reason for what in ranking.selection.dropped}
    assert left_out["A"] == "no score for scene3 bad@1:all and 1 more"
    assert set(left_out) == {"A", "scene0", "scene1", "scene2"}


@pytest.mark.parametrize("seed", range(20))
def test_no_set_of_algorithms_found_by_trying_all_is_far_richer(seed: int) -> None:
    random = np.random.default_rng(seed)
    gap = random.random((6, 12)) < random.uniform(0.2, 0.8)
    none = np.zeros_like(gap)
    amount = {
        chosen: (len(chosen) - 1) * (~gap[list(chosen)].any(axis=0)).sum()
        for size in range(1, 7)
        for chosen in itertools.combinations(range(6), size)
    }
    found = tuple(np.flatnonzero(richest(gap, none, np.zeros(6, bool))).tolist())
    assert amount.get(found, 0) >= max(amount.values()) / 2


def test_an_algorithm_that_leaves_out_most_pixels_does_not_enter_the_richest_comparison() -> None:
    gap = np.array([[True, True, True, False], [False, True, True, True], [False, True, True, True], [True] * 4])
    sparse = np.array([[True, True, True, False]] + [[False] * 4] * 3)
    assert richest(gap, sparse, np.zeros(4, bool)).tolist() == [False, True, True, False]


def test_what_was_left_out_is_said_once_for_all_scenes() -> None:
    cells = [(scene, column) for scene in "stu" for column in ("d1:all", "d1:bg")]
    dropped = [Dropped("column", " ".join(cell), "nobody", *cell) for cell in (*cells, ("s", "rms:all"))]
    dropped += [
        Dropped("algorithm", "A", "x"),
        Dropped("algorithm", "B", "x"),
    ]
    assert in_words(dropped) == [
        "Left out: column d1:all, d1:bg on s, t, u, rms:all on s (nobody).",
        "Left out: algorithm A, B (x).",
    ]
