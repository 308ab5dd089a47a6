"""The claims of an answer, case by case: what is stated, when nobody is named, and how it is written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stereogauge.decision.claims import Place, Tie, Verdict
from stereogauge.decision.words import SPECIAL, TEMPLATES, Statement, render, times
from stereogauge.text import listed, percent

EIGHT = tuple(f"s{k}" for k in range(8))
LEADER = Place("SGM", 1, 0.20, 0.86, 1, 3, 0.5, 1.0, 1.0)
RIVAL = Place("BM", 2, 0.25, 0.11, 1, 4, 0.08, 0.02, 0.99)
LAST = Place("Blur", 3, 0.90, 0.0, 3, 3, 0.0, 0.008, 1.0)
TIES = (Tie("BM", "planes", 0.2, 0.4), Tie("BM", "accuracy", 0.3, 0.01))
SUPPORTED = Verdict("For driver assistance", (LEADER, RIVAL, LAST), EIGHT, 0.05, 1.0, TIES, 4)
NAMES = ["Smith et al.", "2020: X", "Müller.", "a. b: c", "שלום", "take, BM: it leads. Blur", "<b>bold</b>"]


def kinds(found: Verdict) -> list[str]:
    return [claim.kind for claim in found.claims]


def written(found: Verdict) -> Statement:
    return render(found.claims)


def test_a_winner_with_a_rival_that_comes_close() -> None:
    assert SUPPORTED.winner == "SGM"
    assert SUPPORTED.rivals == ("BM",)
    assert kinds(SUPPORTED) == ["take", "certainty", "close"]
    take, certainty, close = SUPPORTED.claims
    assert take.names == ("SGM",)
    assert certainty.numbers == {"first_share": 0.86, "low": 1, "high": 3, "terms": 4}
    assert (close.names, close.texts, close.numbers) == (("BM",), {"of": "planes"}, {"weight": 0.2, "tie": 0.4})
    assert written(SUPPORTED).headline == "For driver assistance, take SGM."
    assert "if planes had twice its weight, BM would lead" in written(SUPPORTED).detail


def test_a_winner_that_nothing_changes() -> None:
    sure = LEADER._replace(first=1.0, rank_high=1)
    found = replace(SUPPORTED, places=(sure, LAST._replace(rank=2)))
    assert kinds(found) == ["take", "certainty"]
    assert "every small change of the weights" in written(found).detail


def test_one_weight_has_no_small_changes() -> None:
    found = replace(SUPPORTED, places=(LEADER._replace(first=1.0), LAST._replace(rank=2)), terms=1)
    assert "weights" not in written(found).sentence


def test_two_that_the_scenes_do_not_distinguish_make_no_winner() -> None:
    found = replace(SUPPORTED, places=(LEADER, RIVAL._replace(p_value=0.3), LAST), scenes_needed=25)
    assert found.winner is None
    assert kinds(found) == ["alike", "certainty", "scenes-needed"]
    assert found.claims[0].names == ("SGM", "BM")
    assert found.claims[-1].numbers == {"needed": 25}
    assert written(found).headline == (
        "For driver assistance, SGM is ahead, but 8 scenes do not rule out that BM is as good."
    )


def test_four_scenes_distinguish_no_algorithms() -> None:
    found = replace(SUPPORTED, scenes=EIGHT[:4])
    assert found.winner is None
    assert kinds(found) == ["alike", "certainty", "least-scenes"]
    assert found.claims[-1].numbers == {"least": 6}


def test_a_clear_lead_on_few_scenes_is_named_and_is_no_winner() -> None:
    places = (LEADER._replace(first=1.0, rank_high=1), LAST._replace(rank=2))
    found = replace(SUPPORTED, places=places, scenes=EIGHT[:4])
    assert found.winner is None
    assert kinds(found) == ["few-scenes", "certainty"]
    assert found.claims[0].numbers == {"scenes": 4, "least": 6}


def test_one_scene_says_nothing_about_others() -> None:
    found = replace(SUPPORTED, scenes=("motorcycle",))
    assert found.winner is None
    assert kinds(found) == ["one-scene"]
    assert found.claims[0].names == ("SGM", "motorcycle")


def test_a_choice_that_depends_on_the_weights_names_nobody() -> None:
    places = (LEADER._replace(first=0.4), RIVAL._replace(first=0.58), LAST)
    found = replace(SUPPORTED, places=places)
    assert found.winner is None
    assert kinds(found) == ["weights-decide"]
    assert found.claims[0].numbers == {"first_share": 0.4, "other": 0.58}


def test_equal_scores_are_called_equal() -> None:
    places = (LEADER, RIVAL._replace(rank=1, score=0.2, p_value=1.0))
    found = replace(SUPPORTED, places=places)
    assert found.winner is None
    assert kinds(found) == ["equal"]
    assert written(found).headline == "For driver assistance, SGM and BM are equal on 8 scenes."


def test_one_algorithm_is_no_choice() -> None:
    found = replace(SUPPORTED, places=(LEADER,))
    assert found.winner is None
    assert kinds(found) == ["only-one"]


def test_a_part_that_is_not_measured_is_stated() -> None:
    found = replace(SUPPORTED, measured_share=0.7)
    assert found.winner == "SGM"
    assert found.claims[-1].kind == "partly-measured"
    assert found.claims[-1].numbers["measured"] == 0.7
    assert "30 % of the weight is not measured" in written(found).detail


def test_less_than_half_of_the_weight_supports_no_winner() -> None:
    found = replace(SUPPORTED, measured_share=0.3)
    assert found.winner is None
    assert kinds(found) == ["little-measured", "partly-measured"]


def test_a_leader_that_leaves_pixels_out_does_not_win() -> None:
    sparse = LEADER._replace(completeness=0.92)
    found = replace(SUPPORTED, places=(sparse, RIVAL, LAST), charged_leader="BM")
    assert found.winner is None
    assert kinds(found) == ["sparse-leader"]
    assert found.claims[0].names == ("SGM", "BM")
    assert found.claims[0].numbers["lost"] == pytest.approx(0.08)


def test_a_winner_with_holes_says_so() -> None:
    found = replace(SUPPORTED, places=(LEADER._replace(completeness=0.94), LAST._replace(rank=2)))
    assert kinds(found)[-1] == "incomplete"
    assert "SGM gives no value at 6 % of the pixels." in written(found).detail


@pytest.mark.parametrize("name", NAMES)
def test_any_name_stays_whole_in_the_headline(name: str) -> None:
    """Parts are fields, so full stops, colons and right-to-left letters in a name mean nothing."""
    found = replace(SUPPORTED, places=(LEADER._replace(algorithm=name), RIVAL, LAST))
    headline, detail = written(found)
    assert headline == f"For driver assistance, take {name}{'' if name.endswith('.') else '.'}"
    assert detail.startswith(f"{name} is first in 86 %")
    assert found.claims[0].to_dict()["names"] == [name]


@pytest.mark.parametrize(("alpha", "least"), [(0.05, 6), (0.25, 4), (0.01, 8)])
def test_the_fewest_scenes_follow_from_the_level(alpha: float, least: int) -> None:
    found = replace(SUPPORTED, alpha=alpha)
    assert found.least_scenes == least
    assert 2.0 ** (1 - least) < alpha <= 2.0 ** (2 - least)


def test_every_kind_of_claim_has_its_words() -> None:
    assert len({*TEMPLATES, *SPECIAL}) > 40
    assert not set(TEMPLATES) & set(SPECIAL)


def test_words_of_numbers() -> None:
    assert [percent(share) for share in (0, 0.004, 0.5, 0.996, 1)] == [
        "0 %", "less than 1 %", "50 %", "more than 99 %", "100 %",
    ]  # fmt: skip
    assert times(0.2, 0.4) == "twice its weight"
    assert times(0.3, 0.45) == "45 % instead of 30 %"
    assert listed(["A", "B", "C", "D", "E"], 3) == "A, B, C and 2 others"
