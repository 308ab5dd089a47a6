"""What a decision states, as data (claims), and its English: claims in, sentences out.

Nothing reads that English again. To reword a sentence of an answer, change its template here.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field

from stereogauge.metrics.registry import parse_column
from stereogauge.protocol import EITHER_UNIT
from stereogauge.ranking.models.weighted import disproportion_note, stand_in_note
from stereogauge.ranking.profile import metric_words
from stereogauge.ranking.weighted_score import Disproportion, Tie
from stereogauge.text import counted, json_values, listed, number_text, percent, percents_apart, stated_percent


class Claim(Struct, frozen=True):
    """One statement: its kind, what it is about, its numbers, and texts such as a purpose, a reason or a command.

    `names` are algorithms, scenes or terms as they are called in the scores. `stereogauge.decision.words` has
    the kinds, and what each of them says.
    """

    kind: str
    names: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return json_values(self, ("kind", "names", "numbers", "texts"))


Parts = tuple[str, str]
"""A headline and the detail that follows it; either may be empty."""
HEADLINES: Mapping[str, str] = {
    # Which algorithm to take, by weights.
    "take": "{purpose}, take {first}",
    "ahead": "{purpose}, {first} is ahead, but {scenes:count scene} do not rule out that {others} {others_are} "
    "{tolerance:better or as good}",
    "only-one": "{first} is the only algorithm that can be compared here",
    "little-measured": "{purpose}, too little is measured for a choice",
    "one-scene": "{purpose}, {first} has the best score on {second}",
    "equal": "{purpose}, {names} have the same score on {scenes:count scene}",
    "few-scenes": "{purpose}, {first} has the best score on {scenes:count independent scene}, too few to rule out "
    "chance",
    "need-decides": "{purpose}, the choice depends on how many pixels need a value",
    "weights-decide": "{purpose}, the choice depends on the weights",
    # Requirements: who meets them.
    "nothing-required": "For {purpose}, nothing is required of an algorithm",
    "requirements-unmeasured": "For {purpose}, nothing of what is required is measured in these scores",
    "out-of-reach": "For {purpose}, no algorithm can keep {tolerance:g} m at {at:g} m with this camera",
    "none-meets": "For {purpose}, no algorithm meets every requirement",
    "weights-choose": "{names} meet every requirement",
    "weights-cannot-choose": "{names} meet every requirement that is measured",
    # Why one algorithm is above another.
    "same-score": "{purpose}, {first} and {second} have the same score, {score:number}",
    "better": "{purpose}, {first} is better than {second}",
    "better-on-part": "{purpose}, {first} has a better score than {second} on the measured part, which is too little "
    "for a choice",
    "ahead-of": "{purpose}, {first} is ahead of {second}, but {scenes:count independent scene} do not rule out that "
    "{second} is {tolerance:better or as good}",
    "ahead-on-few": "{purpose}, {first} has a better score than {second} on {scenes:count independent scene}, too "
    "few to rule out chance",
    # The verdict of a gate.
    "gate-passed": "Nothing got worse than allowed in {checks:count check}",
    "gate-failed": "{failed:.0f} of {checks:.0f} checks failed: {names}",
}
"""What the first claim of a statement says, in terms of its names, numbers and texts; the full stop is added.

`first` and `second` are the first names, `names` all of them and `others` those after the first.
"""
COMPARED = "Its score is {better:number} against {other:number}, and lower is better."
DETAILS: Mapping[str, str] = {
    # Which algorithm to take, by weights.
    "no-other-better": "No other is likely to be {tolerance:better or better}.",
    "only-one": "So there is nothing to choose from.",
    "little-measured": "On the measured part {first} has the best score.",
    "one-scene": "One scene does not show whether it would lead on others: evaluate more scenes before you choose.",
    "others-open": "{names} may also be {tolerance:better or as good}.",
    "few-scenes": "At least {least:.0f} are needed.",
    "need-decides": "{first} leads where {need:percent} of them do, but {second} would lead with slightly more or "
    "fewer.",
    "weights-decide": "{first} leads with these, but is first in only {first_share:percent} of small changes of "
    "them, and {second} in {other:percent}.",
    "break-even": "If {of} weighed {tie:instead of {weight}}, {first} would lead.",
    "scenes-needed": "At least {needed:.0f} scenes would be needed to tell {first} from {second}; there are "
    "{scenes:.0f}.",
    "partly-measured": "{unmeasured:Percent} of the weight is not measured here, so this is based on the rest.",
    "incomplete": "{first} gives no value at {lost:percent} of the pixels; they are charged and make "
    "{charged:percent} of its score.",
    "no-break-even": "No other weight of one property or metric alone would put {first} first.",
    # What an answer cannot say.
    "scenes-left-out": "Compared on {scenes:.0f} of {asked:.0f} scenes, because not every algorithm has scores on "
    "the others.",
    "one-place": "{scenes:count scene} are {units:.0f} independent ones, since scenes of one place count as one: "
    "{names}.",
    "size-guessed": "The size of {names} relative to full resolution is not stated; it is guessed from the image "
    "width.",
    "other-width": "The thresholds of {names} are meant for images about {meant:.0f} px wide. These are about "
    "{found:.0f} px wide, where the same error in px is a {effect} one.",
    "not-compared": "{names} {names_are} not compared: {reason}.",
    "last-place": "{first} {reason}.",
    "columns-left-out": "Left out: {names} ({reason}).",
    "no-usual-range": "No usual range is known for {names}: the worst score here counts as 1, so other algorithms in "
    "the selection would change the score.",
    "one-dataset": "All scenes are from {first}: other kinds of scenes are not measured.",
    # Requirements: who meets them.
    "nothing-required": "State a tolerance, an object or a time.",
    "requirements-unmeasured": "Not measured: {names}.",
    "out-of-reach": "A precision of {precision:g} px keeps it up to {reach:.3g} m. A baseline of {baseline:.3g} m "
    "would reach it.",
    "none-meets": "{first} comes nearest.",
    "weights-cannot-choose": "{leader} has the best score among them, which is no answer yet.",
    "not-checked": "Not measured, so not checked: {names}.",
    "unmeasured-requirement": "The {words} of {first} is not measured.",
    "misses": "The {words} of {first} is {value:in {unit}}; the limit is {limit:in {unit}}.",
    # What the camera allows, and how requirements become limits on columns.
    "depth-step": "One step of {precision:g} px of disparity at {far:g} m is {step:number} m of depth (Z²·δ / (f·B − "
    "Z·δ), with f·B = {focal_baseline:.4g} px·m).",
    "within-reach": "{tolerance:g} m can be kept up to {reach:.3g} m.",
    "camera-out-of-reach": "No algorithm can keep {tolerance:g} m at {at:g} m with this camera: a precision of "
    "{precision:g} px keeps it up to {reach:.3g} m. A baseline of {baseline:.3g} m would reach it.",
    "below-a-pixel": "An object of {size:g} m covers less than a pixel at {at:g} m, so no algorithm can see it "
    "there; beyond {fills:.3g} m it does not fill one.",
    # Why one algorithm is above another.
    "better": COMPARED,
    "better-on-part": COMPARED,
    "ahead-of": COMPARED,
    "ahead-on-few": COMPARED,
    "ahead-on": "{first} is ahead on {ahead:.0f} of {scenes:.0f} scenes, most on {others}.",
    "lead-by-region": "By region, most of the lead of {first} is from {others}.",
    "common-shift": "Most of the lead of {first} is from a common shift: the errors of {second} differ from those of "
    "{first} by {shift:+.2f} px on average.",
    "unattributed": "{share:Percent} of the difference cannot be attributed to a region.",
    # The verdict of a gate.
    "only-in-baseline": "Not compared, because only the baseline has them: {names}.",
}
"""What a claim says after its headline, or alone."""
LIMITS: Mapping[str, Parts] = {
    "tolerance": (
        "share of depths off by more than {tolerance:g} m",
        "from {near:g} to {at:g} m at most {wrong:percent} of the pixels may be off by more than {tolerance:g} m, "
        "which is {step:.2g} px of this camera's disparity at {at:g} m",
    ),
    "smallest-object": (
        "share of fine structures lost",
        "an object of {size:g} m covers {focal:g}·{size:g}/{at:g} = {pixels:.2g} px at {at:g} m, so structures at most "
        "{allowed:.0f} px wide count",
    ),
    "run-time": (
        "run time",
        "at most {seconds:g} s per pair; run times are not scaled to {width:g}×{height:g} px, because the size of the "
        "images that they were measured on is not known",
    ),
    "scaled-run-time": (
        "run time",
        "at most {seconds:g} s per pair of {width:g}×{height:g} px; measured on {measured} and scaled by the number of "
        "pixels",
    ),
    "coverage": ("share of pixels without a value", "at least {share:percent} of the pixels have a value"),
}
"""What a requirement limits, and how it became a limit on a column: phrases, not sentences."""
UNATTRIBUTED_REASONS: Mapping[str, str] = {
    "sparse": "covers too little of its pixels on a scene",
    "not-stored": "not stored on the parts of the scenes",
    "not-pixels": "not made of single pixels of one part",
}


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
    parts = [written(claim) for claim in claims]
    if not parts:
        return Statement("", "")
    details = [parts[0][1], *(part for pair in parts[1:] for part in pair)]
    return Statement(parts[0][0], " ".join(part for part in details if part))


def sentences(claims: Iterable[Claim]) -> tuple[str, ...]:
    """One text per claim."""
    return tuple(render([claim]).sentence for claim in claims)


def written(claim: Claim) -> Parts:
    """Headline and detail of one claim."""
    if claim.kind in SPECIAL:
        return SPECIAL[claim.kind](claim)
    templates = HEADLINES.get(claim.kind, ""), DETAILS.get(claim.kind, "")
    headline, detail = (_sentence(_filled(template, claim)) for template in templates)
    return headline, detail


def phrases(claim: Claim) -> Parts:
    """What a requirement limits, and how it became a limit on a column."""
    what, arithmetic = LIMITS[claim.kind]
    return _filled(what, claim), _filled(arithmetic, claim)


class _Formatter(string.Formatter):
    """Understands `{share:percent}`, `{step:number}`, `{value:in px}` and `{scenes:count scene}` besides Python's own
    formats.

    `{share:Percent}` begins a sentence; `{tolerance:better or as good}` is "more than 5 % better", and "as good" where
    no difference is tolerated; `{tie:instead of 0.2}` is "twice as much" for 0.4.
    """

    def format_field(self, value: Any, spec: str) -> str:
        match spec.partition(" "):
            case "percent", *_:
                return percent(value)
            case "Percent", *_:
                return percent(value).capitalize()
            case "number", *_:
                return number_text(value)
            case "in", _, unit:
                return with_unit(value, unit)
            case "count", _, noun:
                return counted(int(value), noun)
            case "better", _, other:
                return f"more than {stated_percent(value)} better" if value else other.removeprefix("or ")
            case "instead", _, other:
                return times(float(other.removeprefix("of ")), value)
        return str(super().format_field(value, spec))


def _filled(template: str, claim: Claim) -> str:
    first, second = [*claim.names, "", ""][:2]
    others = claim.names[1:]
    values: dict[str, Any] = {**claim.numbers, **claim.texts}
    if claim.names:
        values |= {"names": listed(claim.names), "names_are": "is" if len(claim.names) == 1 else "are"}
    if others:
        values |= {"others": listed(others), "others_are": "is" if len(others) == 1 else "are"}
    return _Formatter().vformat(template, (), {"first": first, "second": second, **values})


def _sentence(text: str) -> str:
    """The text with a full stop, unless a name such as `Smith et al.` ends it with one."""
    if not text:
        return ""
    ended = text.removesuffix(".") if text.endswith("..") else text
    return ended if ended.endswith((".", "!", "?")) else f"{ended}."


def score_text(term: str, value: float, depth_unit: str = EITHER_UNIT) -> str:
    """A score with its unit, where depth errors have `depth_unit`."""
    return with_unit(value, parse_column(term)[0].metric.unit.replace(EITHER_UNIT, depth_unit))


def with_unit(value: float, unit: str) -> str:
    """A number with its unit."""
    return f"{number_text(float(value))} {unit}".strip()


def times(now: float, then: float) -> str:
    """How a weight would have to change: `three times as much`, `half as much`, or `12 % instead of 30 %`.

    >>> times(0.1, 0.2), times(0.1, 0.3), times(0.2, 0.1), times(0.1, 0.13), times(0.25, 0.252)
    ('twice as much', 'three times as much', 'half as much', '13 % instead of 10 %', '25.2 % instead of 25.0 %')
    """
    ratio = then / now if now > 0 else 0.0
    for known, text in ((2.0, "twice"), (3.0, "three times"), (4.0, "four times"), (0.5, "half")):
        if abs(ratio - known) < 0.07 * known:
            return f"{text} as much"
    return " instead of ".join(percents_apart(then, now))


def _certainty(claim: Claim) -> Parts:
    name, numbers = claim.names[0], claim.numbers
    low, high = int(numbers["low"]), int(numbers["high"])
    ranks = f"{low}" if low == high else f"{low} to {high}"
    if numbers["terms"] == 1:
        return "", f"When these scenes are redrawn, the rank of {name} is {ranks} in 95 % of draws."
    weights = (
        "stays first when the weights vary"
        if numbers["first_share"] == 1
        else f"stays first in {percent(numbers['first_share'])} of cases when the weights vary"
    )
    return "", f"{name} {weights}; when these scenes are redrawn, its rank is {ranks} in 95 % of draws."


def break_even_claim(tie: Tie) -> Claim:
    """Which change of one weight would put another algorithm first."""
    return Claim("break-even", (tie.rival,), {"weight": tie.weight, "tie": tie.tie}, {"of": tie.words})


def _failures_possible(claim: Claim) -> Parts:
    """How many scenes could fail without being seen, and the scenes that are worst where some are."""
    first, *worst = claim.names
    scenes, share = counted(int(claim.numbers["scenes"]), "scene"), percent(claim.numbers["share"])
    its = f"; its worst {'are' if len(worst) > 1 else 'is'} {listed(worst)}" if worst else ""
    return "", _sentence(f"{scenes} cannot exclude a failure of {first} on up to {share} of scenes{its}")


def _only_sure(claim: Claim) -> Parts:
    densities = ", ".join(f"{name} {percent(claim.numbers[name])}" for name in claim.names)
    shown = f" They give a value at: {densities}." if densities else ""
    command = f", with `{claim.texts['command']}`," if "command" in claim.texts else ""
    return (
        "Where only sure values count there is no winner.",
        f"Maps of different density make no fair order, since leaving pixels out would win it.{shown} Compare them on "
        f"the pixels that all of them estimate{command} or at equal density.",
    )


def _measured(claim: Claim) -> Parts:
    if not claim.names:
        return "everything that it weighs is measured", ""
    return f"{percent(claim.numbers['measured'])} of its weight is measured", f"not measured: {', '.join(claim.names)}"


def _met(claim: Claim) -> str:
    return "meet every requirement that is measured" if claim.numbers.get("lacking") else "meet every requirement"


def _margin(claim: Claim) -> str:
    return f"at least {percent(claim.numbers['margin'])} below each limit"


def _meets(claim: Claim) -> Parts:
    """One algorithm meets the requirements, but not surely enough to be taken."""
    only = "" if claim.numbers["alone"] else "only "
    headline = f"For {claim.texts['purpose']}, {only}{claim.names[0]} {_met(claim).replace('meet', 'meets', 1)}."
    if "certainty" in claim.numbers:
        share = percent(claim.numbers["certainty"])
        return headline, f"It does so in only {share} of the draws of as many scenes, so other scenes may differ."
    return headline, "One scene says little about others." if claim.numbers["scenes"] == 1 else ""


def _several_meet(claim: Claim) -> Parts:
    return (
        f"For {claim.texts['purpose']}, {listed(claim.names)} {_met(claim)}.",
        f"{claim.names[0]} has the largest safety margin: {_margin(claim)}. Weights would choose among them.",
    )


def _take_required(claim: Claim) -> Parts:
    only = "It meets every requirement" if claim.numbers["alone"] else "It is the only one that meets every requirement"
    draws = f"{percent(claim.numbers['certainty'])} of the draws of {counted(int(claim.numbers['scenes']), 'scene')}"
    headline = _sentence(f"For {claim.texts['purpose']}, take {claim.names[0]}")
    return headline, f"{only}: {_margin(claim)}, in {draws}."


def _better_at(claim: Claim) -> Parts:
    """The terms in which one algorithm is better, its own score first where both have one."""
    name, *terms = claim.names
    texts = []
    for term in terms:
        own, other = (claim.numbers.get(f"{term} {whose}", math.nan) for whose in ("own", "other"))
        unit = claim.texts["unit"]
        known = "" if math.isnan(own) else f", {score_text(term, own, unit)} against {score_text(term, other, unit)}"
        texts.append(metric_words(term) + known)
    return "", f"{name} is better at {'; '.join(texts)}."


def _charged_means(claim: Claim) -> Parts:
    lost = listed([f"{name} gives no value at {percent(claim.numbers[name])} of them" for name in claim.names])
    return "", f"These scores are averages over the scenes, with missing pixels charged: {lost}."


def _unattributed_terms(claim: Claim) -> Parts:
    reason = UNATTRIBUTED_REASONS[claim.texts["reason"]]
    return "", f"Not attributed to regions: {', '.join(claim.names)} ({reason})."


SPECIAL: Mapping[str, Callable[[Claim], Parts]] = {
    "certainty": _certainty,
    "charged-means": _charged_means,
    "failures-possible": _failures_possible,
    "only-sure": _only_sure,
    "disproportion": lambda claim: ("", disproportion_note(Disproportion(claim.names[0], **claim.numbers))),
    "stands-in": lambda claim: ("", stand_in_note(claim.names[0], claim.names[1:])),
    "measured": _measured,
    "meets": _meets,
    "several-meet": _several_meet,
    "take-required": _take_required,
    "better-at": _better_at,
    "unattributed-terms": _unattributed_terms,
}
"""Claims whose sentence depends on more than their values."""
