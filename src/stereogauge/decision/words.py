"""The English of decisions: claims in, sentences out. To reword a sentence of an answer, change its function here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from stereogauge.decision.claims import Claim
from stereogauge.metrics.registry import parse_column
from stereogauge.protocol.parameters import EITHER_UNIT
from stereogauge.ranking.models.weighted import disproportion_note
from stereogauge.ranking.profile import metric_words
from stereogauge.ranking.weighted_score import Disproportion
from stereogauge.text import counted, listed, number_text, percent, upper_first

Parts = tuple[str, str]
"""A headline and the detail that follows it; either may be empty."""
SENTENCES: dict[str, Callable[[Claim], Parts]] = {}
"""How each kind of claim is written."""


class Statement(NamedTuple):
    """What claims say: a headline and details."""

    headline: str
    detail: str

    @property
    def sentence(self) -> str:
        """Both parts."""
        return " ".join(part for part in self if part)


def render(claims: Sequence[Claim]) -> Statement:
    """The claims in words: the headline is that of the first one."""
    parts = [SENTENCES[claim.kind](claim) for claim in claims]
    if not parts:
        return Statement("", "")
    details = [parts[0][1], *(part for pair in parts[1:] for part in pair)]
    return Statement(parts[0][0], " ".join(part for part in details if part))


def sentences(claims: Iterable[Claim]) -> tuple[str, ...]:
    """One text per claim."""
    return tuple(render([claim]).sentence for claim in claims)


def score_text(term: str, value: float, depth_unit: str = EITHER_UNIT) -> str:
    """A score with its unit, where depth errors have `depth_unit`."""
    return with_unit(value, parse_column(term)[0].metric.unit.replace(EITHER_UNIT, depth_unit))


def with_unit(value: float, unit: str) -> str:
    """A number with its unit."""
    return f"{number_text(float(value))} {unit}".strip()


def times(now: float, then: float) -> str:
    """How a weight would have to change: `three times its weight`, `half its weight`, or `12 % instead of 30 %`.

    >>> times(0.1, 0.2), times(0.1, 0.3), times(0.2, 0.1), times(0.1, 0.13)
    ('twice its weight', 'three times its weight', 'half its weight', '13 % instead of 10 %')
    """
    ratio = then / now if now > 0 else 0.0
    for known, text in ((2.0, "twice"), (3.0, "three times"), (4.0, "four times"), (0.5, "half")):
        if abs(ratio - known) < 0.07 * known:
            return f"{text} its weight"
    return f"{100 * then:.0f} % instead of {100 * now:.0f} %"


def says(kind: str) -> Callable[[Callable[[Claim], Parts]], Callable[[Claim], Parts]]:
    """Declare that a function writes the claims of this kind."""

    def declare(function: Callable[[Claim], Parts]) -> Callable[[Claim], Parts]:
        SENTENCES[kind] = function
        return function

    return declare


def _stop(text: str) -> str:
    """The text with a full stop, unless a name such as `Smith et al.` ends it with one."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _count(claim: Claim, name: str, noun: str) -> str:
    return counted(int(claim.numbers[name]), noun)


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


# Which algorithm to take, by weights.


@says("take")
def _take(claim: Claim) -> Parts:
    return _stop(f"{claim.texts['purpose']}, take {claim.names[0]}"), ""


@says("only-one")
def _only_one(claim: Claim) -> Parts:
    return (
        f"{claim.names[0]} is the only algorithm that can be compared here.",
        "So there is nothing to choose from.",
    )


@says("little-measured")
def _little_measured(claim: Claim) -> Parts:
    return (
        f"{claim.texts['purpose']}, too little is measured for a choice.",
        f"On the measured part {claim.names[0]} has the best score.",
    )


@says("one-scene")
def _one_scene(claim: Claim) -> Parts:
    name, scene = claim.names
    return (
        _stop(f"{claim.texts['purpose']}, {name} has the best score on {scene}"),
        "One scene does not tell whether it would have it on another: evaluate more scenes before you choose.",
    )


@says("sparse-leader")
def _sparse_leader(claim: Claim) -> Parts:
    lost = f"{percent(claim.numbers['lost'])} of the pixels" if "lost" in claim.numbers else "pixels"
    return (
        f"{claim.texts['purpose']}, {claim.names[0]} has the best score, but it leaves out {lost}.",
        f"If those counted as wrong, {claim.names[1]} would lead.",
    )


@says("equal")
def _equal(claim: Claim) -> Parts:
    return f"{claim.texts['purpose']}, {listed(claim.names)} are equal on {_count(claim, 'scenes', 'scene')}.", ""


@says("alike")
def _alike(claim: Claim) -> Parts:
    leader, others = claim.names[0], claim.names[1:]
    return (
        f"{claim.texts['purpose']}, {leader} is ahead, but {_count(claim, 'scenes', 'scene')} do not rule out that "
        f"{listed(others)} {_is(others)} as good.",
        "",
    )


@says("few-scenes")
def _few_scenes(claim: Claim) -> Parts:
    return (
        f"{claim.texts['purpose']}, {claim.names[0]} leads clearly on {_count(claim, 'scenes', 'scene')}, but so few "
        "do not rule out chance.",
        f"At least {claim.numbers['least']:.0f} are needed.",
    )


@says("weights-decide")
def _weights_decide(claim: Claim) -> Parts:
    leader, other = claim.names
    return (
        f"{claim.texts['purpose']}, the choice depends on the weights.",
        f"{leader} leads with these, but is first in only {percent(claim.numbers['first'])} of small changes of them, "
        f"and {other} in {percent(claim.numbers['other'])}.",
    )


@says("certainty")
def _certainty(claim: Claim) -> Parts:
    name, numbers = claim.names[0], claim.numbers
    low, high = int(numbers["low"]), int(numbers["high"])
    ranks = f"{low}" if low == high else f"{low} to {high}"
    if numbers["terms"] == 1:
        return "", f"When the scenes are redrawn, the rank of {name} is {ranks} in 95 % of the draws."
    weights = (
        "is first under every small change of the weights that was tried"
        if numbers["first"] == 1
        else f"is first in {percent(numbers['first'])} of small changes of the weights"
    )
    return "", f"{name} {weights}; when the scenes are redrawn, its rank is {ranks} in 95 % of the draws."


@says("least-scenes")
def _least_scenes(claim: Claim) -> Parts:
    return "", f"Fewer than {claim.numbers['least']:.0f} scenes cannot prove any difference."


@says("scenes-needed")
def _scenes_needed(claim: Claim) -> Parts:
    return "", f"With differences as observed, about {claim.numbers['needed']:.0f} scenes would be needed."


@says("close")
def _close(claim: Claim) -> Parts:
    verb = "comes" if len(claim.names) == 1 else "come"
    text = f"{listed(claim.names, 2)} {verb} close"
    if "of" not in claim.texts:
        return "", f"{text}."
    changed = times(claim.numbers["weight"], claim.numbers["tie"])
    return "", f"{text}: if {claim.texts['of']} had {changed}, {claim.names[0]} would lead."


@says("partly-measured")
def _partly_measured(claim: Claim) -> Parts:
    share = claim.numbers["measured"]
    return "", (
        f"{percent(1 - share)} of the weight is not measured here, so this is based on the other {percent(share)}."
    )


@says("incomplete")
def _incomplete(claim: Claim) -> Parts:
    return "", f"{claim.names[0]} gives no value at {percent(claim.numbers['lost'])} of the pixels."


@says("only-sure")
def _only_sure(claim: Claim) -> Parts:
    densities = [f"{name} {percent(claim.numbers[name])}" for name in claim.names if name in claim.numbers]
    shown = f" They give a value at: {', '.join(densities)}." if densities else ""
    return (
        "Where only sure values count there is no winner.",
        f"Maps of different density make no fair order, since leaving pixels out would win it.{shown} Compare them on "
        f"the pixels that all of them estimate, with `{claim.texts['command']}`, or at equal density.",
    )


# What an answer cannot say.


@says("scenes-left-out")
def _scenes_left_out(claim: Claim) -> Parts:
    return "", (
        f"Compared on {claim.numbers['scenes']:.0f} of {claim.numbers['asked']:.0f} scenes, because not every "
        "algorithm has scores on the others."
    )


@says("below-least-scenes")
def _below_least_scenes(claim: Claim) -> Parts:
    return "", (
        f"{upper_first(_count(claim, 'scenes', 'scene'))}: no difference can be significant below "
        f"{claim.numbers['least']:.0f} scenes."
    )


@says("not-compared")
def _not_compared(claim: Claim) -> Parts:
    return "", _stop(f"{listed(claim.names)} {_is(claim.names)} not compared: {claim.texts['reason']}")


@says("last-place")
def _last_place(claim: Claim) -> Parts:
    return "", _stop(f"{claim.names[0]} {claim.texts['reason']}")


@says("nothing-to-compare")
def _nothing_to_compare(claim: Claim) -> Parts:
    return "", f"Nothing to compare in {listed(claim.names, 3)}."


@says("disproportion")
def _disproportion(claim: Claim) -> Parts:
    return "", disproportion_note(Disproportion(claim.names[0], claim.numbers["weight"], claim.numbers["share"]))


@says("no-usual-range")
def _no_usual_range(claim: Claim) -> Parts:
    return "", (
        f"No usual range is known for {listed(claim.names)}: the worst score here counts as 1, so other algorithms in "
        "the selection would change the score."
    )


@says("one-dataset")
def _one_dataset(claim: Claim) -> Parts:
    return "", f"All scenes are from {claim.names[0]}: other kinds of scenes are not measured."


# How much of a profile is measured.


@says("measured")
def _measured(claim: Claim) -> Parts:
    if not claim.names:
        return "everything that it weighs is measured", ""
    return f"{percent(claim.numbers['measured'])} of its weight is measured", f"not measured: {', '.join(claim.names)}"


# Requirements: who meets them, and what the camera allows.


def _for(claim: Claim) -> str:
    return f"For {claim.texts['purpose']}"


def _that_is_measured(claim: Claim) -> str:
    return " that is measured" if claim.numbers.get("lacking") else ""


def _margin(claim: Claim) -> str:
    return f"at least {percent(claim.numbers['margin'])} below each limit"


@says("out-of-reach")
def _out_of_reach(claim: Claim) -> Parts:
    headline, detail = _camera_out_of_reach(claim)
    return f"{_for(claim)}, {headline[0].lower()}{headline[1:]}", detail


@says("nothing-required")
def _nothing_required(claim: Claim) -> Parts:
    return f"{_for(claim)}, nothing is required of an algorithm.", "State a tolerance, an object or a time."


@says("requirements-unmeasured")
def _requirements_unmeasured(claim: Claim) -> Parts:
    return f"{_for(claim)}, nothing of what is required is measured in these scores.", (
        f"Not measured: {listed(claim.names)}."
    )


@says("none-meets")
def _none_meets(claim: Claim) -> Parts:
    return f"{_for(claim)}, no algorithm meets every requirement.", f"{claim.names[0]} comes nearest."


@says("meets")
def _meets(claim: Claim) -> Parts:
    """One algorithm meets the requirements, but not surely enough to be taken."""
    only = "" if claim.numbers["alone"] else "only "
    headline = f"{_for(claim)}, {only}{claim.names[0]} meets every requirement{_that_is_measured(claim)}."
    if "certainty" in claim.numbers:
        share = percent(claim.numbers["certainty"])
        return headline, f"It does so in only {share} of the draws of as many scenes, so other scenes may differ."
    return headline, "One scene tells little about others." if claim.numbers["scenes"] == 1 else ""


@says("several-meet")
def _several_meet(claim: Claim) -> Parts:
    return (
        f"{_for(claim)}, {listed(claim.names)} meet every requirement{_that_is_measured(claim)}.",
        f"{claim.names[0]} has the largest margin: {_margin(claim)}. Weights would choose among them.",
    )


@says("weights-choose")
def _weights_choose(claim: Claim) -> Parts:
    return f"{listed(claim.names)} meet every requirement.", ""


@says("weights-cannot-choose")
def _weights_cannot_choose(claim: Claim) -> Parts:
    return (
        f"{listed(claim.names)} meet every requirement that is measured.",
        f"{claim.texts['leader']} has the best score among them, which is no answer yet.",
    )


@says("take-required")
def _take_required(claim: Claim) -> Parts:
    only = "" if claim.numbers["alone"] else "It is the only one that meets every requirement: "
    draws = f"{percent(claim.numbers['certainty'])} of the draws of {_count(claim, 'scenes', 'scene')}"
    return _stop(f"{_for(claim)}, take {claim.names[0]}"), upper_first(f"{only}{_margin(claim)}, in {draws}.")


@says("not-checked")
def _not_checked(claim: Claim) -> Parts:
    return "", f"Not measured, so not checked: {listed(claim.names)}."


@says("misses")
def _misses(claim: Claim) -> Parts:
    what = f"The {claim.texts['words']} of {claim.names[0]}"
    if "value" not in claim.numbers:
        return "", f"{what} is not measured."
    value, limit = (with_unit(claim.numbers[name], claim.texts["unit"]) for name in ("value", "limit"))
    return "", f"{what} is {value}; the limit is {limit}."


@says("depth-step")
def _depth_step(claim: Claim) -> Parts:
    numbers = claim.numbers
    step = numbers["step"]
    size = "no longer measurable" if step == float("inf") else f"{number_text(step)} m of depth"
    return "", (
        f"One step of {numbers['precision']:g} px of disparity at {numbers['far']:g} m is {size} "
        f"(Z²·δ / (f·B − Z·δ), with f·B = {numbers['focal_baseline']:.4g} px·m)."
    )


@says("within-reach")
def _within_reach(claim: Claim) -> Parts:
    return "", f"{claim.numbers['tolerance']:g} m can be kept up to {claim.numbers['reach']:.3g} m."


@says("camera-out-of-reach")
def _camera_out_of_reach(claim: Claim) -> Parts:
    numbers = claim.numbers
    return (
        f"No algorithm can keep {numbers['tolerance']:g} m at {numbers['at']:g} m with this camera.",
        f"A precision of {numbers['precision']:g} px keeps it up to {numbers['reach']:.3g} m. A baseline of "
        f"{numbers['baseline']:.3g} m would reach it.",
    )


@says("below-a-pixel")
def _below_a_pixel(claim: Claim) -> Parts:
    numbers = claim.numbers
    return "", (
        f"An object of {numbers['size']:g} m covers less than a pixel at {numbers['at']:g} m, so no algorithm can see "
        f"it there; beyond {numbers['fills']:.3g} m it does not fill one."
    )


@says("tolerance")
def _tolerance(claim: Claim) -> Parts:
    numbers = claim.numbers
    return f"share of depths off by more than {numbers['tolerance']:g} m", (
        f"from {numbers['near']:g} to {numbers['at']:g} m at most {percent(numbers['wrong'])} of the pixels may be off "
        f"by more than {numbers['tolerance']:g} m, which is {numbers['step']:.2g} px of this camera's disparity at "
        f"{numbers['at']:g} m"
    )


@says("smallest-object")
def _smallest_object(claim: Claim) -> Parts:
    numbers = claim.numbers
    return "share of fine structures lost", (
        f"an object of {numbers['size']:g} m covers {numbers['focal']:g}·{numbers['size']:g}/{numbers['at']:g} = "
        f"{numbers['pixels']:.2g} px at {numbers['at']:g} m, so structures at most {numbers['allowed']:.0f} px wide "
        "count"
    )


@says("run-time")
def _run_time(claim: Claim) -> Parts:
    return "run time", f"at most {claim.numbers['seconds']:g} s per pair"


@says("coverage")
def _coverage(claim: Claim) -> Parts:
    return "share of pixels without a value", f"at least {percent(claim.numbers['share'])} of the pixels have a value"


# Why one algorithm is above another.


@says("same-score")
def _same_score(claim: Claim) -> Parts:
    first, second = claim.names
    return f"{claim.texts['purpose']}, {first} and {second} have the same score, {claim.numbers['score']:.3f}.", ""


@says("better")
def _better(claim: Claim) -> Parts:
    better, other = claim.names
    return _stop(f"{claim.texts['purpose']}, {better} is better than {other}"), (
        f"Its score is {number_text(claim.numbers['better'])} against {number_text(claim.numbers['other'])}, and lower "
        "is better."
    )


@says("better-at")
def _better_at(claim: Claim) -> Parts:
    """The terms in which one algorithm is better, its own score first where both have one."""
    name, *terms = claim.names
    texts = []
    for term in terms:
        scores = [claim.numbers.get(f"{term} {whose}") for whose in ("own", "other")]
        own, other = (None if score is None else score_text(term, score, claim.texts["unit"]) for score in scores)
        texts.append(metric_words(term) + (f", {own} against {other}" if own and other else ""))
    return "", f"{name} is better at {'; '.join(texts)}."


@says("ahead-on")
def _ahead_on(claim: Claim) -> Parts:
    name, *scenes = claim.names
    ahead, count = int(claim.numbers["ahead"]), int(claim.numbers["scenes"])
    return "", _stop(f"{name} is ahead on {ahead} of {count} scenes, most on {listed(scenes)}")


@says("lead-by-region")
def _lead_by_region(claim: Claim) -> Parts:
    name, *regions = claim.names
    return "", _stop(f"By region, most of the lead of {name} is from {listed(regions)}")


@says("unattributed")
def _unattributed(claim: Claim) -> Parts:
    return "", f"{percent(claim.numbers['share'])} of the difference cannot be attributed to a region."


UNATTRIBUTED_REASONS: Mapping[str, str] = {
    "sparse": "covers too little of its pixels on a scene",
    "not-stored": "not stored on the parts of the scenes",
    "not-pixels": "not made of single pixels of one part",
}


@says("unattributed-terms")
def _unattributed_terms(claim: Claim) -> Parts:
    reason = UNATTRIBUTED_REASONS[claim.texts["reason"]]
    return "", f"Not attributed to regions: {', '.join(claim.names)} ({reason})."


# The verdict of a gate.


@says("gate-passed")
def _gate_passed(claim: Claim) -> Parts:
    return f"Nothing got worse than allowed in {_count(claim, 'checks', 'check')}.", ""


@says("gate-failed")
def _gate_failed(claim: Claim) -> Parts:
    return (
        f"{claim.numbers['failed']:.0f} of {claim.numbers['checks']:.0f} checks failed: {listed(claim.names)}.",
        "",
    )


@says("only-in-baseline")
def _only_in_baseline(claim: Claim) -> Parts:
    return "", f"Not compared, because only the baseline has them: {', '.join(claim.names)}."
