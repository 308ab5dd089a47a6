"""The sentence of an answer: it names a winner only where the evidence carries one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stereogauge.decision.result import Place, Tie
from stereogauge.decision.words import counted, listed, percent, times

CLOSE = 0.05
"""Share of draws (of weights or scenes) in which a rival must be better to be called close."""
LEAST_FIRST = 0.5
"""A winner is first in at least this share of the small changes of the weights."""
COMPLETE = 0.995
"""From this share of the pixels on a map is called complete."""
LEAST_MEASURED = 0.5
"""A winner needs at least this share of the weight to be measured."""


@dataclass(frozen=True)
class Evidence:
    """What a sentence is made of; `places` stand from best to worst.

    `purpose` opens the sentence: "For driver assistance". `charged_leader` is who would lead if the pixels that the
    leader leaves out were charged, None where that is the leader itself.
    """

    purpose: str
    places: tuple[Place, ...]
    scenes: tuple[str, ...]
    alpha: float
    measured_share: float
    property_ties: tuple[Tie, ...]
    scenes_needed: int | None = None
    charged_leader: str | None = None

    @property
    def leader(self) -> Place:
        """The algorithm with the best score."""
        return self.places[0]

    @property
    def least_scenes(self) -> int:
        """The fewest scenes on which Wilcoxon's test can find any difference: 2^(1 − N) < α."""
        return 1 + math.floor(-math.log2(self.alpha) + 1e-9) + 1

    @property
    def too_few_scenes(self) -> bool:
        """Whether no difference could be significant on so few scenes."""
        return len(self.scenes) < self.least_scenes

    @property
    def close(self) -> tuple[Place, ...]:
        """Rivals that would be better in at least 5 % of the draws of scenes, or first in 5 % of those of weights."""
        return tuple(p for p in self.places[1:] if p.beats_leader >= CLOSE or p.first >= CLOSE or p.rank == 1)

    @property
    def alike(self) -> tuple[Place, ...]:
        """Algorithms that the scenes do not tell apart from the leader."""
        if self.too_few_scenes:
            return tuple(p for p in self.places[1:] if p.beats_leader >= CLOSE or p.rank == 1)
        return tuple(p for p in self.places[1:] if p.p_value >= self.alpha)

    @property
    def winner(self) -> str | None:
        """The leader, where scenes and weights carry it."""
        carried = (
            len(self.places) > 1
            and self.measured_share >= LEAST_MEASURED
            and not self.too_few_scenes
            and not self.alike
            and self.leader.first >= LEAST_FIRST
            and self.charged_leader is None
        )
        return self.leader.algorithm if carried else None

    @property
    def rivals(self) -> tuple[str, ...]:
        """Who cannot be told apart from the leader or comes close to it, in the order of the places."""
        names = {place.algorithm for place in (*self.alike, *self.close)}
        return tuple(place.algorithm for place in self.places if place.algorithm in names)


def sentence(found: Evidence) -> str:
    """What the evidence says, as a person would say it."""
    return " ".join(part for part in (_verdict(found), _measured(found), _completeness(found)) if part)


def _verdict(found: Evidence) -> str:
    name = found.leader.algorithm
    purpose = found.purpose
    if len(found.places) == 1:
        return f"{name} is the only algorithm that can be compared here, so there is nothing to choose from."
    if found.measured_share < LEAST_MEASURED:
        return f"{purpose}, too little is measured for a choice; on the measured part {name} has the best score."
    if len(found.scenes) == 1:
        return (
            f"{purpose}, {name} has the best score on {found.scenes[0]}, but one scene cannot tell whether it would "
            "have it on another: evaluate more scenes before you choose."
        )
    if found.charged_leader is not None:
        return (
            f"{purpose}, {name} has the best score, but it leaves {_left_out(found.leader)} out; if those counted as "
            f"wrong, {found.charged_leader} would lead."
        )
    if found.alike:
        return f"{_alike(found)} {_lead(found)}{_needed(found)}"
    scenes = counted(len(found.scenes), "scene")
    if found.too_few_scenes:
        return (
            f"{purpose}, {name} leads clearly on {scenes}, but so few cannot rule out chance: at least "
            f"{found.least_scenes} are needed. {_lead(found)}"
        )
    if found.leader.first < LEAST_FIRST:
        other = max(found.places[1:], key=lambda place: place.first)
        return (
            f"{purpose}, the choice hangs on the weights: {name} leads with these, but is first in only "
            f"{percent(found.leader.first)} of small changes of them, and {other.algorithm} in {percent(other.first)}."
        )
    return f"{purpose}, take {name}: {_certainty(found)}.{_rivals(found)}"


def _alike(found: Evidence) -> str:
    names = [found.leader.algorithm, *(place.algorithm for place in found.alike)]
    scenes = counted(len(found.scenes), "scene")
    equal = len(names) == 2 and found.places[1].rank == 1
    verdict = f"are equal on {scenes}" if equal else f"cannot be told apart on {scenes}"
    return f"{found.purpose}, {listed(names)} {verdict}."


def _certainty(found: Evidence) -> str:
    leader = found.leader
    kept = leader.rank_low == leader.rank_high == 1
    if leader.first == 1 and kept:
        return "it stays first under every small change of the weights that was tried, and over other scenes"
    over = (
        "over other scenes it stays first"
        if kept
        else f"over other scenes its rank is {leader.rank_low} to {leader.rank_high}"
    )
    weights = "stays first under every small change" if leader.first == 1 else f"is first in {_changes(leader.first)}"
    return f"it {weights} of the weights, and {over}"


def _changes(share: float) -> str:
    return f"{percent(share)} of small changes"


def _lead(found: Evidence) -> str:
    """Who has the best score, and how sure that is."""
    if found.places[1].rank == 1:
        return ""
    name = found.leader.algorithm
    return f"{name} has the best score: {_certainty(found)}."


def _needed(found: Evidence) -> str:
    if found.too_few_scenes:
        return f" Fewer than {found.least_scenes} scenes cannot prove any difference."
    if found.scenes_needed is not None:
        return f" With differences as observed, about {found.scenes_needed} scenes would be needed."
    return ""


def _rivals(found: Evidence) -> str:
    """Who comes close, and what would put the nearest one first."""
    if not found.close:
        return ""
    names = listed([place.algorithm for place in found.close], 2)
    verb = "comes" if len(found.close) == 1 else "come"
    nearest = found.close[0].algorithm
    ties = [tie for tie in found.property_ties if tie.rival == nearest and tie.weight > 0]
    if not ties:
        return f" {names} {verb} close."
    tie = min(ties, key=lambda one: abs(math.log(max(one.tie, 1e-6) / one.weight)))
    return f" {names} {verb} close: if {tie.of} had {times(tie.weight, tie.tie)}, {nearest} would lead."


def _measured(found: Evidence) -> str:
    if found.measured_share >= 1 - 1e-9:
        return ""
    rest = 1 - found.measured_share
    return (
        f"{percent(rest)} of the weight is not measured here, so this rests on the other "
        f"{percent(found.measured_share)}."
    )


def _left_out(place: Place) -> str:
    return "pixels" if place.completeness is None else f"{percent(1 - place.completeness)} of the pixels"


def _completeness(found: Evidence) -> str:
    share = found.leader.completeness
    if share is None or share >= COMPLETE or len(found.places) == 1 or found.charged_leader is not None:
        return ""
    return f"{found.leader.algorithm} gives no value at {percent(1 - share)} of the pixels."
