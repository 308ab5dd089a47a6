"""The sentence of an answer, case by case: what it says, and when it names nobody."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stereogauge.decision.result import Place, Tie
from stereogauge.decision.sentence import Evidence, sentence
from stereogauge.decision.words import listed, percent, times

EIGHT = tuple(f"s{k}" for k in range(8))
LEADER = Place("SGM", 1, 0.20, 0.86, 1, 3, 0.5, 1.0, 1.0)
RIVAL = Place("BM", 2, 0.25, 0.11, 1, 4, 0.08, 0.02, 0.99)
LAST = Place("Blur", 3, 0.90, 0.0, 3, 3, 0.0, 0.008, 1.0)
TIES = (Tie("BM", "planes", 0.2, 0.4), Tie("BM", "accuracy", 0.3, 0.01))
CARRIED = Evidence("For driver assistance", (LEADER, RIVAL, LAST), EIGHT, 0.05, 1.0, TIES)


def test_a_winner_with_a_rival_that_comes_close() -> None:
    assert CARRIED.winner == "SGM"
    assert CARRIED.rivals == ("BM",)
    assert sentence(CARRIED) == (
        "For driver assistance, take SGM: it is first in 86 % of small changes of the weights, and over other scenes "
        "its rank is 1 to 3. BM comes close: if planes had twice its weight, BM would lead."
    )


def test_a_winner_that_nothing_changes() -> None:
    sure = LEADER._replace(first=1.0, rank_high=1)
    found = replace(CARRIED, places=(sure, LAST._replace(rank=2)))
    assert sentence(found) == (
        "For driver assistance, take SGM: it stays first under every small change of the weights that was tried, and "
        "over other scenes."
    )


def test_two_that_the_scenes_do_not_tell_apart_make_no_winner() -> None:
    found = replace(CARRIED, places=(LEADER, RIVAL._replace(p_value=0.3), LAST), scenes_needed=25)
    assert found.winner is None
    assert sentence(found) == (
        "For driver assistance, SGM and BM cannot be told apart on 8 scenes. SGM has the best score: it is first in "
        "86 % of small changes of the weights, and over other scenes its rank is 1 to 3. With differences as observed, "
        "about 25 scenes would be needed."
    )


def test_on_four_scenes_nobody_can_be_told_apart() -> None:
    found = replace(CARRIED, scenes=EIGHT[:4])
    assert found.winner is None
    assert sentence(found).startswith("For driver assistance, SGM and BM cannot be told apart on 4 scenes.")
    assert sentence(found).endswith("Fewer than 6 scenes cannot prove any difference.")


def test_a_clear_lead_on_few_scenes_is_named_and_is_no_winner() -> None:
    places = (LEADER._replace(first=1.0, rank_high=1), LAST._replace(rank=2))
    found = replace(CARRIED, places=places, scenes=EIGHT[:4])
    assert found.winner is None
    assert "SGM leads clearly on 4 scenes, but so few cannot rule out chance: at least 6 are needed." in sentence(found)


def test_one_scene_says_nothing_about_others() -> None:
    found = replace(CARRIED, scenes=("motorcycle",))
    assert found.winner is None
    assert sentence(found) == (
        "For driver assistance, SGM has the best score on motorcycle, but one scene cannot tell whether it would have "
        "it on another: evaluate more scenes before you choose."
    )


def test_a_choice_that_hangs_on_the_weights_names_nobody() -> None:
    places = (LEADER._replace(first=0.4), RIVAL._replace(first=0.58), LAST)
    found = replace(CARRIED, places=places)
    assert found.winner is None
    assert sentence(found) == (
        "For driver assistance, the choice hangs on the weights: SGM leads with these, but is first in only 40 % of "
        "small changes of them, and BM in 58 %."
    )


def test_equal_scores_are_called_equal() -> None:
    places = (LEADER, RIVAL._replace(rank=1, score=0.2, p_value=1.0))
    found = replace(CARRIED, places=places)
    assert found.winner is None
    assert sentence(found).startswith("For driver assistance, SGM and BM are equal on 8 scenes.")


def test_one_algorithm_is_no_choice() -> None:
    found = replace(CARRIED, places=(LEADER,))
    assert found.winner is None
    assert sentence(found) == (
        "SGM is the only algorithm that can be compared here, so there is nothing to choose from."
    )


def test_a_part_that_is_not_measured_is_said() -> None:
    found = replace(CARRIED, measured_share=0.7)
    assert found.winner == "SGM"
    assert sentence(found).endswith("30 % of the weight is not measured here, so this rests on the other 70 %.")


def test_less_than_half_of_the_weight_carries_no_winner() -> None:
    found = replace(CARRIED, measured_share=0.3)
    assert found.winner is None
    assert sentence(found).startswith(
        "For driver assistance, too little is measured for a choice; on the measured part SGM has the best score."
    )


def test_who_leads_by_leaving_pixels_out_does_not_win() -> None:
    sparse = LEADER._replace(completeness=0.92)
    found = replace(CARRIED, places=(sparse, RIVAL, LAST), charged_leader="BM")
    assert found.winner is None
    assert sentence(found) == (
        "For driver assistance, SGM has the best score, but it leaves 8 % of the pixels out; if those counted as "
        "wrong, BM would lead."
    )


def test_a_winner_with_holes_says_so() -> None:
    found = replace(CARRIED, places=(LEADER._replace(completeness=0.94), LAST._replace(rank=2)))
    assert sentence(found).endswith("SGM gives no value at 6 % of the pixels.")


@pytest.mark.parametrize(("alpha", "least"), [(0.05, 6), (0.25, 4), (0.01, 8)])
def test_the_fewest_scenes_follow_from_the_level(alpha: float, least: int) -> None:
    found = replace(CARRIED, alpha=alpha)
    assert found.least_scenes == least
    assert 2.0 ** (1 - least) < alpha <= 2.0 ** (2 - least)


def test_words_of_numbers() -> None:
    assert [percent(share) for share in (0, 0.004, 0.5, 0.996, 1)] == [
        "0 %", "less than 1 %", "50 %", "more than 99 %", "100 %",
    ]  # fmt: skip
    assert times(0.2, 0.4) == "twice its weight"
    assert times(0.3, 0.45) == "45 % instead of 30 %"
    assert listed(["A", "B", "C", "D", "E"], 3) == "A, B, C and 2 others"
