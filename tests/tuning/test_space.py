"""Search spaces: from declarations, from TOML, with dependencies kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stereogauge.errors import FileError, MatcherError, UnknownNameError
from stereogauge.matching.declaration import Matcher, MatcherParameter, matchers
from stereogauge.matching.run import parse_matcher
from stereogauge.tuning.space import SearchSpace, declared_space, distribution, grid, levels, stated_space, sweep

PENALTIES = SearchSpace(
    (
        MatcherParameter("small", "int", 10, low=1, high=100, logarithmic=True),
        MatcherParameter("large", "int", 40, low=1, high=200, above="small"),
        MatcherParameter("adapt", "bool", False),
        MatcherParameter("strength", "float", 0.5, low=0, high=1, step=0.25, only_if=("adapt", (True,))),
    )
)
PROGRAM = "cmd:./run {left} {right} {out} --smooth {smoothness} --mode {mode}"


def tunable() -> list[Matcher]:
    return [matcher for matcher in matchers().values() if any(p.tuned for p in matcher.parameters)]


@pytest.mark.parametrize("matcher", tunable(), ids=lambda matcher: matcher.id)
def test_every_declared_matcher_can_be_searched_from_its_defaults(matcher: Matcher) -> None:
    space = declared_space(matcher, {})
    point = space.defaults
    assert set(space.distributions) == set(point)
    complete = matcher.complete(point)
    assert all(complete[name] == matcher.parameter(name).default for name in point)


@pytest.mark.parametrize("matcher", tunable(), ids=lambda matcher: matcher.id)
def test_every_point_of_a_coarse_grid_is_accepted_by_its_matcher(matcher: Matcher) -> None:
    space = declared_space(matcher, {})
    for point in grid(space, 40):
        complete = matcher.complete({**space.fixed, **point})
        assert all(complete[name] == value for name, value in point.items())


def test_a_parameter_in_the_text_of_a_matcher_is_fixed_and_not_searched() -> None:
    matcher, fixed = parse_matcher("opencv-sgbm:block=7")
    space = declared_space(matcher, fixed)
    assert "block" not in space.names
    assert space.fixed == {"block": 7}


@given(st.integers(1, 100), st.integers(1, 200), st.booleans(), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
def test_admissible_points_keep_every_dependency(small: int, large: int, adapt: bool, strength: float) -> None:
    point = PENALTIES.admissible({"small": small, "large": large, "adapt": adapt, "strength": strength})
    assert point["large"] > point["small"]
    assert point["large"] == large or large <= small
    assert point["strength"] == (strength if adapt else 0.5)
    assert PENALTIES.admissible(point) == point


def test_what_cannot_be_raised_any_more_lowers_the_other() -> None:
    pair = SearchSpace(
        (
            MatcherParameter("small", "int", 1, low=0, high=9, step=3),
            MatcherParameter("large", "int", 5, low=1, high=9, step=2, above="small"),
        )
    )
    assert pair.admissible({"small": 9, "large": 9}) == {"small": 6, "large": 9}
    assert pair.admissible({"small": 3, "large": 1}) == {"small": 3, "large": 5}


def test_points_that_mean_the_same_have_the_same_key() -> None:
    common = {"small": 5, "large": 6, "adapt": False}
    keys = {PENALTIES.key(PENALTIES.admissible({**common, "strength": value})) for value in (0.0, 0.25, 1.0)}
    assert len(keys) == 1


def test_a_parameter_that_a_fixed_one_leaves_without_effect_is_not_searched() -> None:
    matcher = Matcher("m", "M", "", lambda: None, PENALTIES.parameters)
    assert declared_space(matcher, {"adapt": "false"}).names == ("small", "large")
    assert set(declared_space(matcher, {"adapt": "true"}).names) == {"small", "large", "strength"}


def test_a_grid_has_at_most_as_many_points_as_asked_for_and_never_the_defaults() -> None:
    for most in (1, 5, 17, 60):
        points = grid(PENALTIES, most)
        keys = [PENALTIES.key(point) for point in points]
        assert len(points) <= most
        assert len(set(keys)) == len(keys)
        assert PENALTIES.key(PENALTIES.defaults) not in keys


def test_a_sweep_changes_one_parameter_at_a_time_and_what_depends_on_it() -> None:
    defaults = PENALTIES.defaults
    for point in sweep(PENALTIES, 24):
        changed = {name for name in point if point[name] != defaults[name]}
        assert len(changed - {"large"}) <= 1
        assert changed


def test_levels_reach_both_ends_of_the_range() -> None:
    assert levels(PENALTIES.parameters[0], 3) == [1, 10, 100]
    assert levels(PENALTIES.parameters[3], 3) == [0.0, 0.5, 1.0]
    assert levels(PENALTIES.parameters[2], 1) == [False, True]


def test_the_size_of_a_space_counts_its_points() -> None:
    tiny = SearchSpace(
        (
            MatcherParameter("a", "int", 1, low=1, high=9, step=4),
            MatcherParameter("b", "choice", "x", choices=("x", "y")),
        )
    )
    assert tiny.size == 6
    free = SearchSpace((MatcherParameter("c", "float", 0.0, low=0, high=1),))
    assert free.size == float("inf")


def program_space(tmp_path: Path, text: str, matcher: str = PROGRAM) -> SearchSpace:
    path = tmp_path / "space.toml"
    path.write_text(text)
    return stated_space(path, *parse_matcher(matcher))


def test_toml_states_the_space_of_an_outside_program(tmp_path: Path) -> None:
    space = program_space(
        tmp_path,
        """
        [parameters.smoothness]
        low = 0.5
        high = 50.0
        default = 5.0
        logarithmic = true
        [parameters.mode]
        choices = ["fast", "good"]
        default = "good"
        [fixed]
        time_limit = 20
        """,
    )
    assert space.defaults == {"smoothness": 5.0, "mode": "good"}
    assert space.fixed == {"time_limit": 20.0}
    assert distribution(space.parameters[0]).log


def test_toml_narrows_a_declared_parameter_and_adds_post_processing(tmp_path: Path) -> None:
    text = "[parameters.block]\nhigh = 11\n[parameters.median]\n"
    space = program_space(tmp_path, text, "opencv-sgbm")
    assert space.names == ("block", "median")
    assert space.distributions["block"].high == 11
    assert space.distributions["block"].step == 2


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("[parameters.smoothness]\nlow = 1\nhigh = 2", FileError, "needs a default"),
        ("[parameters.smoothness]\ndefault = 1", MatcherError, "cannot be searched between"),
        ("[parameters.smoothness]\ndefault = 9\nlow = 1\nhigh = 2", MatcherError, "outside its search range"),
        ("[parameters.smoothness]\ndefault = 1\nlowest = 1", UnknownNameError, "lowest"),
        ("[parameters]\nsmoothness = 3", FileError, "parameters.smoothness must be a table with kind"),
        ("[search]\nx = 1", UnknownNameError, "search"),
        ("not toml", FileError, "is not valid TOML"),
        ("[fixed]\nmode = 'fast'", MatcherError, "no parameter to search"),
    ],
)
def test_mistakes_in_a_space_file_are_one_sentence(tmp_path: Path, text: str, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        program_space(tmp_path, text)


def test_parameters_that_wait_for_each_other_are_refused() -> None:
    first = MatcherParameter("a", "int", 2, low=1, high=9, above="b")
    second = MatcherParameter("b", "int", 1, low=1, high=9, above="a")
    with pytest.raises(MatcherError, match="circle"):
        stated_space([first, second], Matcher("m", "M", "", lambda: None), {})
