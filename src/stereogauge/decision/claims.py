"""What a decision states, as data: claims, and the evidence of an answer by weights that they are made from.

`stereogauge.decision.words` renders claims as English, in parts; nothing reads that English again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from stereogauge.ranking.weighted_score import PROPORTIONATE, Disproportion
from stereogauge.text import json_value

ALPHA = 0.05
"""The level of significance of tests over scenes."""
TOLERANCE = 0.05
"""Share of the leader's score by which another must be better to matter."""
LEAST_FIRST = 0.5
"""A winner is first in at least this share of the small changes of the weights."""
COMPLETE = 0.995
"""From this share of the pixels on a map is called complete."""
LEAST_MEASURED = 0.5
"""A winner needs at least this share of the weight to be measured."""
LEAST_SCENES = 6
"""No algorithm is named on fewer independent scenes."""


def least_scenes(alpha: float) -> int:
    """The fewest independent scenes for a winner: six, or as many as a one-sided test needs, 2^(−N) < α."""
    return max(LEAST_SCENES, math.floor(-math.log2(alpha) + 1e-9) + 1)


@dataclass(frozen=True)
class Claim:
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
        numbers = {name: json_value(value) for name, value in self.numbers.items()}
        return {"kind": self.kind, "names": list(self.names), "numbers": numbers, "texts": dict(self.texts)}


class Place(NamedTuple):
    """One algorithm: its rank and weighted score, and how sure they are.

    `score_low` and `score_high` bound the score, `rank_low` and `rank_high` the rank, in 95 % of the draws in which the
    scenes are weighed at random; `beats_leader` is the share of these draws in which it is better than the leader,
    `exceeds_leader` that in which it is better by more than the tolerance. `first` is the share of small changes of
    the weights in which it is first. `p_value` is of the one-sided sign-flip test over the independent scenes that it
    is not better than the leader by more than the tolerance. `open`: where test or draws do not rule that out, and
    where the scenes are too few to rule out anybody.
    `completeness` is the share of the pixels that have a value, None where that is not known; `charged` the part of the
    score that is charged for the others.
    """

    algorithm: str
    rank: int
    score: float
    score_low: float
    score_high: float
    rank_low: int
    rank_high: int
    beats_leader: float
    exceeds_leader: float
    first: float
    p_value: float
    open: bool
    completeness: float | None
    charged: float


class Tie(NamedTuple):
    """The weight of a term or property at which a rival ties with the leader, the others scaled to sum to 1."""

    rival: str
    of: str
    weight: float
    tie: float


@dataclass(frozen=True)
class Verdict:
    """The evidence for a choice by weights, and what follows from it; `places` are ordered from best to worst.

    `purpose` opens the sentence: "For driver assistance". `scenes` are the compared ones, `units` the number of
    independent ones among them. `need_leader` is who would lead if the needed share of pixels were slightly another
    one, None where the leader stays. `terms` counts the weights. `weight_distance` is the total variation between
    declared and effective weights; `worst_scenes` are those on which the leader scores worst. `nearest_tie` is the
    smallest change of a property's weight that would put the second place first. `stand_ins` are the metrics that take
    the weight of others on a sparse ground truth.
    """

    purpose: str
    places: tuple[Place, ...]
    scenes: tuple[str, ...]
    units: int
    alpha: float
    measured_share: float
    terms: int
    tolerance: float = TOLERANCE
    scenes_needed: int | None = None
    need: float = 0.0
    need_leader: str | None = None
    weight_distance: float = 0.0
    disproportions: tuple[Disproportion, ...] = ()
    worst_scenes: tuple[str, ...] = ()
    nearest_tie: Tie | None = None
    stand_ins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def leader(self) -> Place:
        """The algorithm with the best score."""
        return self.places[0]

    @property
    def least_scenes(self) -> int:
        """The fewest independent scenes for a winner."""
        return least_scenes(self.alpha)

    @property
    def too_few_scenes(self) -> bool:
        """Whether there are too few independent scenes to name a winner."""
        return self.units < self.least_scenes

    @property
    def open(self) -> tuple[Place, ...]:
        """Algorithms that may be better than the leader by more than the tolerance."""
        return tuple(place for place in self.places[1:] if place.open)

    @property
    def equal(self) -> tuple[Place, ...]:
        """Algorithms with the same score as the leader."""
        return tuple(place for place in self.places[1:] if place.rank == 1)

    @property
    def winner(self) -> str | None:
        """The leader, where scenes, weights and the needed share of pixels support it."""
        return self.leader.algorithm if self._headline().kind == "take" else None

    @property
    def rivals(self) -> tuple[str, ...]:
        """Algorithms that may be as good as the leader, in the order of the places."""
        if self.winner is not None:
            return ()
        names = {place.algorithm for place in (*self.open, *self.equal)} | {self.need_leader}
        return tuple(place.algorithm for place in self.places[1:] if place.algorithm in names)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The verdict, the headline first."""
        return (self._headline(), *self._details())

    def _headline(self) -> Claim:
        leader = self.leader
        numbers = {"scenes": float(self.units), "least": float(self.least_scenes), "tolerance": self.tolerance}
        claim = Claim("take", (leader.algorithm,), numbers, {"purpose": self.purpose})
        if len(self.places) == 1:
            return replace(claim, kind="only-one")
        if self.measured_share < LEAST_MEASURED:
            return replace(claim, kind="little-measured")
        if self.equal:
            return replace(claim, kind="equal", names=(leader.algorithm, *(place.algorithm for place in self.equal)))
        if len(self.scenes) == 1:
            return replace(claim, kind="one-scene", names=(leader.algorithm, self.scenes[0]))
        if self.too_few_scenes:
            return replace(claim, kind="few-scenes")
        if self.open:
            return replace(claim, kind="ahead", names=(leader.algorithm, *(place.algorithm for place in self.open)))
        if self.need_leader is not None:
            names = (leader.algorithm, self.need_leader)
            return replace(claim, kind="need-decides", names=names, numbers={"need": self.need})
        if leader.first < LEAST_FIRST:
            other = max(self.places[1:], key=lambda place: place.first)
            shares = {"first_share": leader.first, "other": other.first}
            return replace(claim, kind="weights-decide", names=(leader.algorithm, other.algorithm), numbers=shares)
        return claim

    def _details(self) -> Iterator[Claim]:
        kind = self._headline().kind
        leader = self.leader
        if kind == "take":
            yield Claim("no-other-better", (leader.algorithm,), {"tolerance": self.tolerance})
        if kind in ("take", "few-scenes", "ahead"):
            yield self._certainty()
        if kind == "ahead" and self.scenes_needed is not None:
            names = (leader.algorithm, self.open[0].algorithm)
            yield Claim("scenes-needed", names, {"needed": self.scenes_needed, "scenes": float(self.units)})
        if kind in ("take", "ahead") and self.nearest_tie is not None:
            tie = self.nearest_tie
            yield Claim("break-even", (tie.rival,), {"weight": tie.weight, "tie": tie.tie}, {"of": tie.of})
        if kind == "take":
            bound = {"scenes": float(self.units), "share": min(1.0, 3 / self.units)}
            yield Claim("failures-possible", (leader.algorithm, *self.worst_scenes), bound)
        if kind != "only-one" and self.weight_distance > PROPORTIONATE:
            yield from (
                Claim("disproportion", (one.term,), {"weight": one.weight, "share": one.share})
                for one in self.disproportions
            )
        for name, terms in self.stand_ins.items():
            yield Claim("stands-in", (name, *terms))
        if self.measured_share < 1 - 1e-9:
            shares = {"measured": self.measured_share, "unmeasured": 1 - self.measured_share}
            yield Claim("partly-measured", numbers=shares)
        if leader.completeness is not None and leader.completeness < COMPLETE and kind != "only-one":
            numbers = {"lost": 1 - leader.completeness, "charged": leader.charged / leader.score if leader.score else 0}
            yield Claim("incomplete", (leader.algorithm,), numbers)

    def _certainty(self) -> Claim:
        leader = self.leader
        numbers = {"first_share": leader.first, "low": leader.rank_low, "high": leader.rank_high, "terms": self.terms}
        return Claim("certainty", (leader.algorithm,), numbers)
