"""The claims of an answer, case by case: what is stated, when nobody is named, and how it is written."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stereogauge.decision.verdict import Place, Tie, Verdict
from stereogauge.decision.words import DETAILS, HEADLINES, SPECIAL, Statement, render, times
from stereogauge.ranking.weighted_score import Disproportion
from stereogauge.text import listed, percent

EIGHT = tuple(f"s{k}" for k in range(8))
LEADER = Place("SGM", 1, 0.20, 0.15, 0.25, 1, 3, 0.5, 0.0, 0.86, 1.0, False, 1.0, 0.0)
RIVAL = Place("BM", 2, 0.25, 0.2, 0.3, 1, 4, 0.08, 0.01, 0.11, 0.02, False, 0.99, 0.0)
LAST = Place("Blur", 3, 0.90, 0.8, 1.0, 3, 3, 0.0, 0.0, 0.0, 0.008, False, 1.0, 0.0)
SUPPORTED = Verdict(
    "For driver assistance",
    (LEADER, RIVAL, LAST),
    EIGHT,
    8,
    0.05,
    1.0,
    4,
    worst_scenes=("s1", "s2"),
    nearest_tie=Tie("BM", "planes", 0.2, 0.4),
)
NAMES = ["Smith et al.", "2020: X", "Müller.", "a. b: c", "שלום", "take, BM: it leads. Blur", "<b>bold</b>"]


def kinds(found: Verdict) -> list[str]:
    return [claim.kind for claim in found.claims]


def written(found: Verdict) -> Statement:
    return render(found.claims)


def test_a_winner_says_what_its_name_rests_on() -> None:
    assert SUPPORTED.winner == "SGM"
    assert SUPPORTED.rivals == ()
    assert kinds(SUPPORTED) == ["take", "no-other-better", "certainty", "break-even", "failures-possible"]
    take, no_other, certainty, tie, failures = SUPPORTED.claims
    assert take.names == ("SGM",)
    assert no_other.numbers == {"tolerance": 0.05}
    assert certainty.numbers == {"first_share": 0.86, "low": 1, "high": 3, "terms": 4}
    assert (tie.names, tie.texts, tie.numbers) == (("BM",), {"of": "planes"}, {"weight": 0.2, "tie": 0.4})
    assert (failures.names, failures.numbers["share"]) == (("SGM", "s1", "s2"), 3 / 8)
    assert written(SUPPORTED).headline == "For driver assistance, take SGM."
    detail = written(SUPPORTED).detail
    assert detail.startswith(
        "No other is likely to be more than 5 % better. SGM stays first in 86 % of cases when the weights vary"
    )
    assert "when these scenes are redrawn, its rank is 1 to 3 in 95 % of draws" in detail
    assert "8 scenes cannot exclude a failure of SGM on up to 38 % of scenes; its worst are s1 and s2." in detail
    assert "If planes weighed twice as much, BM would lead" in detail


def test_a_winner_that_nothing_changes() -> None:
    sure = LEADER._replace(first=1.0, rank_high=1)
    found = replace(SUPPORTED, places=(sure, LAST._replace(rank=2)), nearest_tie=None)
    assert kinds(found) == ["take", "no-other-better", "certainty", "failures-possible"]
    assert "stays first when the weights vary" in written(found).detail


def test_one_weight_has_no_small_changes() -> None:
    found = replace(SUPPORTED, places=(LEADER._replace(first=1.0), LAST._replace(rank=2)), terms=1, nearest_tie=None)
    assert "weights" not in written(found).sentence


def test_two_that_the_scenes_do_not_distinguish_make_no_winner() -> None:
    found = replace(SUPPORTED, places=(LEADER, RIVAL._replace(open=True), LAST), scenes_needed=25, nearest_tie=None)
    assert found.winner is None
    assert found.rivals == ("BM",)
    assert kinds(found) == ["ahead", "certainty", "scenes-needed"]
    assert found.claims[0].names == ("SGM", "BM")
    assert found.claims[-1].numbers == {"needed": 25, "scenes": 8}
    assert written(found).headline == (
        "For driver assistance, SGM is ahead, but 8 scenes do not rule out that BM is more than 5 % better."
    )
    assert written(found).detail.endswith("At least 25 scenes would be needed to tell SGM from BM; there are 8.")


def test_fewer_than_six_independent_scenes_name_nobody_and_no_set() -> None:
    found = replace(SUPPORTED, scenes=EIGHT[:4], units=4)
    assert found.winner is None
    assert kinds(found) == ["few-scenes", "certainty"]
    assert found.claims[0].numbers == {"scenes": 4, "least": 6, "tolerance": 0.05}
    assert written(found).sentence.startswith(
        "For driver assistance, SGM has the best score on 4 independent scenes, too few to rule out chance."
    )
    assert replace(SUPPORTED, units=5).winner is None


def test_a_winner_survives_a_small_change_of_the_need() -> None:
    found = replace(SUPPORTED, need=0.9, need_leader="BM")
    assert found.winner is None
    assert found.rivals == ("BM",)
    assert found.claims[0].kind == "need-decides"


def test_terms_with_more_influence_than_weight_are_said_in_the_verdict() -> None:
    found = replace(SUPPORTED, weight_distance=0.4, disproportions=(Disproportion("rms", 0.1, 0.5),))
    claim = next(claim for claim in found.claims if claim.kind == "disproportion")
    assert (claim.names, claim.numbers) == (("rms",), {"weight": 0.1, "share": 0.5})


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
    places = (LEADER, RIVAL._replace(rank=1, score=0.2))
    found = replace(SUPPORTED, places=places)
    assert found.winner is None
    assert kinds(found) == ["equal"]
    assert written(found).headline == "For driver assistance, SGM and BM have the same score on 8 scenes."


def test_equal_leaders_do_not_hide_a_third_that_may_be_better() -> None:
    found = replace(SUPPORTED, places=(LEADER, RIVAL._replace(rank=1, score=0.2, open=True), LAST._replace(open=True)))
    assert kinds(found) == ["equal", "others-open"]
    assert found.rivals == ("BM", "Blur")
    assert written(found).detail == "Blur may also be more than 5 % better."


@pytest.mark.parametrize(
    ("tolerance", "words"), [(0.005, "more than 0.5 % better"), (0.999, "more than 99.9 % better")]
)
def test_a_tolerance_is_written_as_it_was_given(tolerance: float, words: str) -> None:
    detail = written(replace(SUPPORTED, tolerance=tolerance)).detail
    assert detail.startswith(f"No other is likely to be {words}.")


def test_a_leader_that_is_the_same_everywhere_has_no_worst_scenes() -> None:
    assert "on up to 38 % of scenes." in written(replace(SUPPORTED, worst_scenes=())).detail
    assert "on up to 38 % of scenes; its worst is s1." in written(replace(SUPPORTED, worst_scenes=("s1",))).detail


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


def test_a_winner_with_holes_says_so() -> None:
    leader = LEADER._replace(completeness=0.94, charged=0.05)
    found = replace(SUPPORTED, places=(leader, LAST._replace(rank=2)))
    assert kinds(found)[-1] == "incomplete"
    assert (
        "SGM gives no value at 6 % of the pixels; they are charged and make 25 % of its score." in written(found).detail
    )


@pytest.mark.parametrize("name", NAMES)
def test_any_name_stays_whole_in_the_headline(name: str) -> None:
    """Parts are fields, so full stops, colons and right-to-left letters in a name mean nothing."""
    found = replace(SUPPORTED, places=(LEADER._replace(algorithm=name), RIVAL, LAST))
    headline, detail = written(found)
    assert headline == f"For driver assistance, take {name}{'' if name.endswith('.') else '.'}"
    assert f"{name} stays first in 86 %" in detail
    assert found.claims[0].to_dict()["names"] == [name]


@pytest.mark.parametrize(("alpha", "least"), [(0.05, 6), (0.25, 6), (0.01, 7), (0.001, 10)])
def test_the_fewest_scenes_are_six_or_follow_from_the_level(alpha: float, least: int) -> None:
    (few, *_) = replace(SUPPORTED, units=least - 1, alpha=alpha).claims
    assert (few.kind, few.numbers["least"]) == ("few-scenes", least)
    assert replace(SUPPORTED, units=least, alpha=alpha).winner == "SGM"
    assert 0.5**least < alpha


def test_every_kind_of_claim_has_its_words() -> None:
    assert len({*HEADLINES, *DETAILS, *SPECIAL}) > 40
    assert not {*HEADLINES, *DETAILS} & set(SPECIAL)


def test_words_of_numbers() -> None:
    assert [percent(share) for share in (0, 0.004, 0.5, 0.996, 1)] == [
        "0 %", "less than 1 %", "50 %", "more than 99 %", "100 %",
    ]  # fmt: skip
    assert times(0.2, 0.4) == "twice as much"
    assert times(0.3, 0.45) == "45 % instead of 30 %"
    assert times(0.25, 0.252) == "25.2 % instead of 25.0 %"
    assert listed(["A", "B", "C", "D", "E"], 3) == "A, B, C and 2 others"
