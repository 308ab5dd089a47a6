"""What a decision states, as data: claims, and the evidence of an answer by weights that they are made from.

`stereogauge.decision.words` renders claims as English, in parts; nothing reads that English again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from stereogauge.text import json_value

CLOSE = 0.05
"""Share of draws (of weights or scenes) in which a rival must be better to be called close."""
LEAST_FIRST = 0.5
"""A winner is first in at least this share of the small changes of the weights."""
COMPLETE = 0.995
"""From this share of the pixels on a map is called complete."""
LEAST_MEASURED = 0.5
"""A winner needs at least this share of the weight to be measured."""


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

    `first` is the share of small changes of the weights in which it is first; `rank_low` and `rank_high` bound its rank
    in 95 % of the draws of as many scenes; `beats_leader` is the share of those draws in which it is better than the
    leader. `p_value` is of Wilcoxon's test against the leader over the scenes. `completeness` is the share of the
    pixels that have a value, None where that is not known.
    """

    algorithm: str
    rank: int
    score: float
    first: float
    rank_low: int
    rank_high: int
    beats_leader: float
    p_value: float
    completeness: float | None


class Tie(NamedTuple):
    """The weight of a term or property at which a rival ties with the leader, the others scaled to sum to 1."""

    rival: str
    of: str
    weight: float
    tie: float


@dataclass(frozen=True)
class Verdict:
    """The evidence for a choice by weights, and what follows from it; `places` are ordered from best to worst.

    `purpose` opens the sentence: "For driver assistance". `charged_leader` is the algorithm that would lead if the
    pixels that the leader leaves out were charged, None where that is the leader itself. `terms` counts the weights.
    """

    purpose: str
    places: tuple[Place, ...]
    scenes: tuple[str, ...]
    alpha: float
    measured_share: float
    property_ties: tuple[Tie, ...]
    terms: int
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
        """Whether there are too few scenes for any difference to be significant."""
        return len(self.scenes) < self.least_scenes

    @property
    def close(self) -> tuple[Place, ...]:
        """Rivals that would be better in at least 5 % of the draws of scenes, or first in 5 % of those of weights."""
        return tuple(p for p in self.places[1:] if p.beats_leader >= CLOSE or p.first >= CLOSE or p.rank == 1)

    @property
    def alike(self) -> tuple[Place, ...]:
        """Algorithms that the scenes do not distinguish from the leader."""
        if self.too_few_scenes:
            return tuple(p for p in self.places[1:] if p.beats_leader >= CLOSE or p.rank == 1)
        return tuple(p for p in self.places[1:] if p.p_value >= self.alpha)

    @property
    def winner(self) -> str | None:
        """The leader, where scenes and weights support it."""
        supported = (
            len(self.places) > 1
            and self.measured_share >= LEAST_MEASURED
            and not self.too_few_scenes
            and not self.alike
            and self.leader.first >= LEAST_FIRST
            and self.charged_leader is None
        )
        return self.leader.algorithm if supported else None

    @property
    def rivals(self) -> tuple[str, ...]:
        """Algorithms that may be as good as the leader or come close to it, in the order of the places."""
        names = {place.algorithm for place in (*self.alike, *self.close)}
        return tuple(place.algorithm for place in self.places if place.algorithm in names)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The verdict, the headline first."""
        return (self._headline(), *self._details())

    def _headline(self) -> Claim:
        leader = self.leader
        numbers = {"scenes": float(len(self.scenes)), "least": float(self.least_scenes)}
        claim = Claim("take", (leader.algorithm,), numbers, {"purpose": self.purpose})
        if len(self.places) == 1:
            return replace(claim, kind="only-one")
        if self.measured_share < LEAST_MEASURED:
            return replace(claim, kind="little-measured")
        if len(self.scenes) == 1:
            return replace(claim, kind="one-scene", names=(leader.algorithm, self.scenes[0]))
        if self.charged_leader is not None:
            claim = replace(claim, kind="leader-with-gaps", names=(leader.algorithm, self.charged_leader))
            if leader.completeness is None:
                return claim
            return replace(claim, kind="sparse-leader", numbers={"lost": 1 - leader.completeness})
        if self.alike:
            names = (leader.algorithm, *(place.algorithm for place in self.alike))
            equal = len(names) == 2 and self.places[1].rank == 1
            return replace(claim, kind="equal" if equal else "alike", names=names)
        if self.too_few_scenes:
            return replace(claim, kind="few-scenes")
        if leader.first < LEAST_FIRST:
            other = max(self.places[1:], key=lambda place: place.first)
            shares = {"first_share": leader.first, "other": other.first}
            return replace(claim, kind="weights-decide", names=(leader.algorithm, other.algorithm), numbers=shares)
        return claim

    def _details(self) -> Iterator[Claim]:
        kind = self._headline().kind
        if kind in ("take", "few-scenes", "alike", "equal") and self.places[1].rank != 1:
            yield self._certainty()
        if kind in ("alike", "equal") and self.too_few_scenes:
            yield Claim("least-scenes", numbers={"least": self.least_scenes})
        elif kind in ("alike", "equal") and self.scenes_needed is not None:
            yield Claim("scenes-needed", numbers={"needed": self.scenes_needed})
        if kind == "take" and self.close:
            yield self._close()
        if self.measured_share < 1 - 1e-9:
            shares = {"measured": self.measured_share, "unmeasured": 1 - self.measured_share}
            yield Claim("partly-measured", numbers=shares)
        share = self.leader.completeness
        if share is not None and share < COMPLETE and kind not in ("only-one", "sparse-leader", "leader-with-gaps"):
            yield Claim("incomplete", (self.leader.algorithm,), {"lost": 1 - share})

    def _certainty(self) -> Claim:
        leader = self.leader
        numbers = {"first_share": leader.first, "low": leader.rank_low, "high": leader.rank_high, "terms": self.terms}
        return Claim("certainty", (leader.algorithm,), numbers)

    def _close(self) -> Claim:
        """The algorithms that come close, and what would put the nearest one first."""
        names = tuple(place.algorithm for place in self.close)
        ties = [tie for tie in self.property_ties if tie.rival == names[0] and tie.weight > 0]
        if not ties:
            return Claim("close", names)
        tie = min(ties, key=lambda one: abs(math.log(max(one.tie, 1e-6) / one.weight)))
        return Claim("close", names, {"weight": tie.weight, "tie": tie.tie}, {"of": tie.of})
