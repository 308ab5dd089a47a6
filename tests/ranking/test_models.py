"""The models on examples small enough to be worked by hand."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from stereogauge import StereogaugeError, rank
from stereogauge.ranking import Ranking, ScoreCube

Build = Callable[..., ScoreCube]
NAN = float("nan")


def places(ranking: Ranking) -> dict[str, int]:
    frame = ranking.to_pandas()
    return dict(zip(frame["algorithm"], frame["rank"], strict=True))


def values(ranking: Ranking) -> dict[str, float]:
    frame = ranking.to_pandas()
    return dict(zip(frame["algorithm"], frame["value"], strict=True))


class TestMiddlebury:
    columns = ("bad@1:nonocc", "bad@1:all")

    @pytest.mark.parametrize(
        ("ties", "expected"),
        [
            ("min", {"A": (1 + 1) / 2, "B": (3 + 1) / 2, "C": (2 + 3) / 2, "D": 4.0}),
            ("average", {"A": (1 + 1.5) / 2, "B": (3 + 1.5) / 2, "C": (2 + 3) / 2, "D": 4.0}),
            ("dense", {"A": (1 + 1) / 2, "B": (3 + 1) / 2, "C": (2 + 2) / 2, "D": (4 + 3) / 2}),
        ],
    )
    def test_ties_follow_the_chosen_rule(self, cube_of: Build, ties: str, expected: dict[str, float]) -> None:
        """Column 1 ranks A C B D; in column 2 A and B share the first place."""
        cube = cube_of([[1.0, 5.0], [2.0, 5.0], [1.5, 6.0], [9.0, 7.0]], self.columns)
        assert values(rank(cube, "middlebury", ties=ties)) == expected

    def test_ranks_of_each_column_are_kept(self, cube_of: Build) -> None:
        ranking = rank(cube_of([[3.0, 1.0], [1.0, 2.0], [2.0, 3.0]], self.columns), "middlebury")
        assert ranking.algorithms == ("B", "A", "C")
        assert ranking.arrays["column_ranks"].tolist() == [[1, 2], [3, 1], [2, 3]]
        assert ranking.names["columns"] == ("scene0 bad@1:nonocc", "scene0 bad@1:all")

    def test_equal_algorithms_share_their_place(self, cube_of: Build) -> None:
        assert places(rank(cube_of([[2.0], [1.0], [2.0], [3.0]]), "middlebury")) == {"B": 1, "A": 2, "C": 2, "D": 4}

    def test_a_metric_where_higher_is_better_is_turned_round(self, cube_of: Build) -> None:
        assert rank(cube_of([[20.0], [35.0], [28.0]], ["psnr:all"]), "middlebury").algorithms == ("B", "C", "A")

    def test_a_bias_ranks_by_its_distance_from_zero(self, cube_of: Build) -> None:
        assert rank(cube_of([[-3.0], [1.0], [2.0]], ["bias:all"]), "middlebury").algorithms == ("B", "C", "A")

    def test_several_metrics_are_refused_with_the_way_out(self, cube_of: Build) -> None:
        with pytest.raises(StereogaugeError, match="extended"):
            rank(cube_of([[1.0, 2.0]], ("bad@1:all", "sze:all")), "middlebury")


class TestExtended:
    columns = ("bad@1:all", "sze:all", "mae:all")

    def test_ranks_of_the_metrics_are_summed(self, cube_of: Build) -> None:
        ranking = rank(cube_of([[1, 9, 1], [2, 1, 2], [3, 5, 9], [4, 7, 3]], self.columns), "extended")
        assert values(ranking) == {"A": 1 + 4 + 1, "B": 2 + 1 + 2, "C": 3 + 2 + 4, "D": 4 + 3 + 3}
        assert ranking.algorithms == ("B", "A", "C", "D")

    def test_alike_means_closer_than_tau_and_is_not_transitive(self, cube_of: Build) -> None:
        """Sums 5, 6, 9, 10 with τ = 4: A and C differ by 3, B and C by 4, A and D by 4."""
        ranking = rank(cube_of([[1, 9, 1], [2, 1, 2], [3, 5, 9], [4, 7, 3]], self.columns), "extended", tau=4)
        alike = {
            (a, b)
            for i, a in enumerate(ranking.algorithms)
            for j, b in enumerate(ranking.algorithms)
            if ranking.arrays["alike"][i, j]
        }
        assert {("A", "B"), ("A", "C"), ("C", "D")} <= alike
        assert not {("B", "C"), ("A", "D"), ("B", "D")} & alike

    def test_tau_defaults_to_the_number_of_metrics(self, cube_of: Build) -> None:
        ranking = rank(cube_of([[1, 1, 1], [2, 2, 2]], self.columns), "extended")
        assert ranking.arrays["tau"] == 3
        assert not ranking.arrays["alike"][0, 1]

    @pytest.mark.parametrize("tau", [0, -1, NAN, float("inf")])
    def test_a_tau_that_is_no_positive_number_is_refused(self, cube_of: Build, tau: float) -> None:
        with pytest.raises(StereogaugeError, match="τ"):
            rank(cube_of([[1.0]]), "extended", tau=tau)


class TestAStar:
    columns = ("bad@1:nonocc", "sze:all")

    def test_groups_dominators_and_dominated(self, cube_of: Build) -> None:
        """A and B trade; C is dominated by A; D by everybody."""
        ranking = rank(cube_of([[1, 4], [3, 1], [2, 5], [4, 6]], self.columns), "a-star")
        assert ranking.groups() == (("A", "B"), ("C",), ("D",))
        frame = ranking.to_pandas().set_index("algorithm")
        assert frame.loc["C", "dominated by"] == "A"
        assert frame.loc["D", "dominated by"] == "A, B, C"
        assert frame["dominates"].to_dict() == {"A": 2, "B": 1, "C": 1, "D": 0}
        assert frame["value"].to_dict() == {"A": 0, "B": 0, "C": 1, "D": 3}

    def test_equal_vectors_land_in_one_group(self, cube_of: Build) -> None:
        assert rank(cube_of([[1, 1], [1, 1], [2, 1]], self.columns), "a-star").groups() == (("A", "B"), ("C",))

    def test_one_column_gives_one_group_a_distinct_score(self, cube_of: Build) -> None:
        assert rank(cube_of([[3.0], [1.0], [2.0], [1.0]]), "a-star").groups() == (("B", "D"), ("C",), ("A",))

    def test_one_algorithm_is_the_best(self, cube_of: Build) -> None:
        assert rank(cube_of([[1, 2]], self.columns), "a-star").groups() == (("A",),)


class TestMissingCells:
    columns = ("bad@1:nonocc", "bad@1:all")
    gaps = ([1.0, NAN], [2.0, 2.0], [3.0, 1.0])

    def test_the_algorithm_can_be_dropped_and_is_named(self, cube_of: Build) -> None:
        ranking = rank(cube_of(self.gaps, self.columns), "middlebury", missing="drop-algorithm")
        assert set(ranking.algorithms) == {"B", "C"}
        assert [(d.kind, d.name) for d in ranking.selection.dropped] == [("algorithm", "A")]
        assert "scene0 bad@1:all" in ranking.selection.dropped[0].reason

    def test_the_column_can_be_dropped_instead(self, cube_of: Build) -> None:
        ranking = rank(cube_of(self.gaps, self.columns), "middlebury", missing="drop-column")
        assert ranking.algorithms == ("A", "B", "C")
        assert [(d.kind, d.name) for d in ranking.selection.dropped] == [("column", "scene0 bad@1:all")]

    def test_or_the_gap_takes_the_last_rank(self, cube_of: Build) -> None:
        ranking = rank(cube_of(self.gaps, self.columns), "middlebury", missing="worst")
        assert values(ranking) == {"A": (1 + 3) / 2, "B": (2 + 2) / 2, "C": (3 + 1) / 2}

    def test_two_gaps_in_a_column_both_take_the_last_rank(self, cube_of: Build) -> None:
        cube = cube_of([[NAN, 1.0], [NAN, 2.0], [5.0, 3.0]], self.columns)
        assert values(rank(cube, "middlebury", missing="worst")) == {"A": 2.0, "B": 2.5, "C": 2.0}

    def test_a_column_without_any_score_removes_nobody(self, cube_of: Build) -> None:
        ranking = rank(cube_of([[1.0, NAN], [2.0, NAN]], self.columns), "middlebury")
        assert ranking.algorithms == ("A", "B")
        assert ranking.selection.columns == (("bad@1", "nonocc"),)
        assert "no algorithm" in ranking.selection.dropped[0].reason

    def test_a_gap_never_dominates(self, cube_of: Build) -> None:
        groups = rank(cube_of([[1.0, NAN], [2.0, 2.0], [3.0, 3.0]], self.columns), "a-star", missing="worst").groups()
        assert groups == (("B", "A"), ("C",))  # B dominates C, A dominates nobody

    def test_nothing_left_is_said_plainly(self, cube_of: Build) -> None:
        with pytest.raises(StereogaugeError, match="nothing is left"):
            rank(cube_of([[1.0, NAN], [NAN, 2.0]], self.columns), "middlebury")

    def test_an_unknown_rule_is_refused(self, cube_of: Build) -> None:
        with pytest.raises(StereogaugeError, match="drop-column"):
            rank(cube_of([[1.0]]), "middlebury", missing="ignore")


def test_an_unknown_model_names_the_known_ones(cube_of: Build) -> None:
    with pytest.raises(StereogaugeError, match="a-star, extended, middlebury, weighted"):
        rank(cube_of([[1.0]]), "borda")


def test_an_option_of_another_model_is_refused(cube_of: Build) -> None:
    with pytest.raises(StereogaugeError, match="tau"):
        rank(cube_of([[1.0]]), "middlebury", tau=3)


def test_an_order_carries_its_selection_into_every_format(cube_of: Build) -> None:
    ranking = rank(cube_of([[1.0], [NAN], [2.0]]), "middlebury")
    document = json.loads(ranking.to_json())
    assert document["selection"]["dropped"][0]["name"] == "B"
    assert document["ranking"][0] == {
        "algorithm": "A",
        "rank": 1,
        "value": 1.0,
        "group": None,
        "first places": 1,
        "worst column rank": 1.0,
    }
    assert ranking.to_csv().splitlines()[1] == "A,1,1.0,,1,1.0"
    assert ranking.to_pandas().attrs["selection"]["scenes"] == ["scene0"]
    assert list(ranking.to_pandas().columns[:4]) == ["algorithm", "rank", "value", "group"]


@pytest.mark.parametrize(
    ("regions", "shared", "times"),
    [
        ("nonocc all disc", "nonocc all disc", 3),
        ("all boundary interior occluded", "all boundary interior occluded", 2),
        ("all textured textureless", "all textured textureless", 2),
        ("nonocc near occluded", "nonocc near occluded", 2),
        ("boundary interior occluded", "", 1),
        ("nonocc occluded", "", 1),
        ("near mid far", "", 1),
    ],
)
def test_an_order_says_which_regions_count_pixels_again(cube_of: Build, regions: str, shared: str, times: int) -> None:
    columns = [f"bad@1:{name}" for name in regions.split()]
    ranking = rank(cube_of(np.random.default_rng(0).random((3, len(columns))), columns), "extended")
    assert ranking.shared_regions == tuple(shared.split())
    said = [note for note in ranking.notes if "share pixels" in note]
    if not shared:
        assert not said
        return
    (note,) = said
    assert note.startswith(f"The regions {', '.join(shared.split())} share pixels")
    assert f"up to {times} times; exclusive ones are boundary, interior, occluded." in note


def test_json_has_the_rank_in_every_column_and_who_performs_alike(cube_of: Build) -> None:
    columns = ("bad@1:nonocc", "bad@1:all")
    document = json.loads(rank(cube_of([[3.0, 1.0], [1.0, 2.0], [2.0, 3.0]], columns), "middlebury").to_json())
    assert [row["algorithm"] for row in document["ranking"]] == ["B", "A", "C"]
    assert document["arrays"]["column_ranks"] == [[1, 2], [3, 1], [2, 3]]
    assert document["names"]["columns"] == ["scene0 bad@1:nonocc", "scene0 bad@1:all"]
    document = json.loads(
        rank(cube_of([[1, 1], [2, 2], [3, 3]], ("bad@1:all", "sze:all")), "extended", tau=3).to_json()
    )
    assert document["arrays"]["alike"] == [[True, True, False], [True, True, True], [False, True, True]]


@pytest.mark.parametrize("model", ["middlebury", "extended", "a-star", "weighted"])
def test_three_hundred_algorithms_on_two_hundred_columns(cube_of: Build, model: str) -> None:
    """Algorithm k costs k / 5 everywhere: the order is known."""
    names = "".join(chr(0x4E00 + place) for place in range(300))
    cube = cube_of(np.arange(300.0)[:, None, None] / 5 * np.ones((1, 200, 1)), algorithms=names)
    ranking = rank(cube, model)
    assert ranking.algorithms == tuple(names)
    assert ranking.rank.tolist() == list(range(1, 301))
