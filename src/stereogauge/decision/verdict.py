"""The verdict of an answer by weights: who is considered, how sure the places are, and what is claimed from that."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.decision.requirements import completeness_of
from stereogauge.decision.words import Claim, break_even_claim
from stereogauge.errors import StereogaugeError
from stereogauge.ranking.bootstrap import beats, rank_interval, redrawn_means, tails
from stereogauge.ranking.profile import Profile
from stereogauge.ranking.ranks import DIGITS, final_ranks
from stereogauge.ranking.significance import check_alpha, greater_p, scenes_for_pair
from stereogauge.ranking.weighted_score import PROPORTIONATE, Disproportion, Tie, WeightedScore, weigh
from stereogauge.scores.aggregation import charged
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.scope import DRAWS, LEAST_COVERAGE, MissingRule
from stereogauge.scores.selection import Dropped, Selection
from stereogauge.text import percents_apart, stated_percent

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
MOST_SCENES = 3
NEED_CHANGE = 0.02
"""A winner must lead when this much more or less of the pixels is needed."""
LEAST_TAIL = 0.75
"""Quantiles of Student's and the normal distribution are both 0 at one half, and so have no ratio there."""
MANY_SCENES = 50
"""From here on the answer does not estimate how many more scenes would distinguish two algorithms."""


def little_measured(share: float) -> bool:
    """Whether too little of the weight is measured to name a winner."""
    return share < LEAST_MEASURED - 1e-9


def partly_measured(share: float) -> Iterator[Claim]:
    """That a part of the weight is not measured, where it is so."""
    if share < 1 - 1e-9:
        yield Claim("partly-measured", numbers={"measured": share, "unmeasured": 1 - share})


def least_scenes(alpha: float) -> int:
    """The fewest independent scenes for a winner: six, or as many as a one-sided test needs, 2^(−N) < α."""
    return max(LEAST_SCENES, math.floor(-math.log2(alpha) + 1e-9) + 1)


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


class Verdict(Struct, frozen=True):
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
    def open(self) -> tuple[str, ...]:
        """Algorithms that may be better than the leader by more than the tolerance."""
        return tuple(place.algorithm for place in self.places[1:] if place.open)

    @property
    def equal(self) -> tuple[str, ...]:
        """Algorithms with the same score as the leader."""
        return tuple(place.algorithm for place in self.places[1:] if place.rank == 1)

    @property
    def winner(self) -> str | None:
        """The leader, where scenes, weights and the needed share of pixels support it."""
        return self.places[0].algorithm if self._headline().kind == "take" else None

    @property
    def rivals(self) -> tuple[str, ...]:
        """Algorithms that may be as good as the leader, in the order of the places."""
        names = {*self.open, *self.equal, self.need_leader} if self.winner is None else ()
        return tuple(place.algorithm for place in self.places[1:] if place.algorithm in names)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The verdict, the headline first."""
        headline = self._headline()
        return (headline, *self._details(headline.kind))

    def _headline(self) -> Claim:
        leader, least = self.places[0], least_scenes(self.alpha)
        name, purpose = leader.algorithm, {"purpose": self.purpose}
        numbers = {"scenes": float(self.units), "least": float(least), "tolerance": self.tolerance}
        if len(self.places) == 1:
            return Claim("only-one", (name,), numbers, purpose)
        if little_measured(self.measured_share):
            return Claim("little-measured", (name,), numbers, purpose)
        if self.equal:
            return Claim("equal", (name, *self.equal), numbers, purpose)
        if len(self.scenes) == 1:
            return Claim("one-scene", (name, self.scenes[0]), numbers, purpose)
        if self.units < least:
            return Claim("few-scenes", (name,), numbers, purpose)
        if self.open:
            return Claim("ahead", (name, *self.open), numbers, purpose)
        if self.need_leader is not None:
            return Claim("need-decides", (name, self.need_leader), {"need": self.need}, purpose)
        if leader.first < LEAST_FIRST:
            other = max(self.places[1:], key=lambda place: place.first)
            shares = {"first_share": leader.first, "other": other.first}
            return Claim("weights-decide", (name, other.algorithm), shares, purpose)
        return Claim("take", (name,), numbers, purpose)

    def _details(self, kind: str) -> Iterator[Claim]:
        leader, scenes = self.places[0], float(self.units)
        name, tolerance = leader.algorithm, {"tolerance": self.tolerance}
        if kind == "take":
            yield Claim("no-other-better", (name,), tolerance)
        if kind == "equal" and (others := [other for other in self.open if other not in self.equal]):
            yield Claim("others-open", tuple(others), tolerance)
        if kind in ("take", "few-scenes", "ahead"):
            ranks = {"first_share": leader.first, "low": leader.rank_low, "high": leader.rank_high}
            yield Claim("certainty", (name,), ranks | {"terms": self.terms})
        if kind == "ahead" and self.scenes_needed is not None:
            yield Claim("scenes-needed", (name, self.open[0]), {"needed": self.scenes_needed, "scenes": scenes})
        if kind in ("take", "ahead") and self.nearest_tie is not None:
            yield break_even_claim(self.nearest_tie)
        if kind == "take":
            bound = {"scenes": scenes, "share": min(1.0, 3 / self.units)}
            yield Claim("failures-possible", (name, *self.worst_scenes), bound)
        if kind != "only-one" and self.weight_distance > PROPORTIONATE:
            for one in self.disproportions:
                yield Claim("disproportion", (one.term,), {"weight": one.weight, "share": one.share})
        for stand_in, terms in self.stand_ins.items():
            yield Claim("stands-in", (stand_in, *terms))
        yield from partly_measured(self.measured_share)
        if leader.completeness is not None and leader.completeness < COMPLETE and kind != "only-one":
            numbers = {"lost": 1 - leader.completeness, "charged": leader.charged / leader.score if leader.score else 0}
            yield Claim("incomplete", (name,), numbers)


class WorstScene(NamedTuple):
    """A scene on which the leader scores badly, and the algorithm that is best there; scores as of the whole."""

    scene: str
    score: float
    best: str
    best_score: float


class Settings(NamedTuple):
    """How an answer is computed; these are also its recorded options. `answer` explains them."""

    completeness: float | str = LEAST_COVERAGE
    alpha: float = ALPHA
    draws: int = DRAWS
    seed: int = 0
    missing: str = "common"
    tolerance: float = TOLERANCE

    def check(self) -> None:
        """Refuse what is no level of significance, tolerance or number of draws."""
        check_alpha(self.alpha)
        if not 0 <= self.tolerance < 1:
            raise StereogaugeError(
                f"A tolerance is a share of at least 0 and below 1, for example 0.05; found {self.tolerance:g}."
            )
        if self.draws < 1:
            raise StereogaugeError(f"The certainty of an answer needs at least one draw; found {self.draws}.")


def considered(cube: ScoreCube, need: float) -> list[str]:
    """The algorithms with a value at the needed share of the pixels; all of them where none has."""
    return [name for name, share in completeness_of(cube).items() if not share < need - 1e-9] or list(cube.algorithms)


def not_considered(cube: ScoreCube) -> list[Dropped]:
    """The algorithms with a value at fewer pixels than the cube's least coverage, with the reason."""
    need = cube.least_coverage
    kept, needed = considered(cube, need), stated_percent(need)
    reason = "it covers {} of the pixels, and {} are needed"
    return [
        Dropped("algorithm", name, reason.format(percents_apart(share, need)[0], needed), cause="need")
        for name, share in completeness_of(cube).items()
        if name not in kept
    ]


def compared_scores(
    cube: ScoreCube, purpose: Profile, rule: MissingRule, also: Container[str] = ()
) -> tuple[WeightedScore, Selection]:
    """The weighted scores of the algorithms with a value at the needed share of the pixels, and of those in `also`.

    Answers and explanations read them here, so both compare on the same scenes and by the same scales.
    """
    left_out = [one for one in not_considered(cube) if one.name not in also]
    names = {one.name for one in left_out}
    kept = [name for name in cube.algorithms if name not in names]
    score, selection = weigh(cube.select(algorithms=kept), profile=purpose, missing=rule)
    return score, replace(selection, dropped=(*selection.dropped, *left_out))


def need_leader(cube: ScoreCube, purpose: Profile, rule: MissingRule, leader: str) -> str | None:
    """Who would lead if the needed share of pixels were a little smaller or larger; None where the leader stays."""
    now = cube.least_coverage
    for need in (now - NEED_CHANGE, min(1.0, now + NEED_CHANGE)):
        if (kept := considered(cube, need)) != considered(cube, now):
            score, _ = weigh(cube.select(algorithms=kept), profile=purpose, missing=rule)
            first: str = score.algorithms[score.order[0]]
            if first != leader:
                return first
    return None


class LeadEvidence(NamedTuple):
    """What the scenes say against one algorithm, by each other: how often draws put that one ahead by more than the
    tolerance, the p-values of the test that it is not, and whether that stays possible.
    """

    exceeding: Values
    p_values: Values
    open: NDArray[np.bool_]


def against(score: WeightedScore, first: int, settings: Settings) -> LeadEvidence:
    """The evidence of answers and explanations that no other is better than `first` by more than the tolerance."""
    count = len(score.algorithms)
    exceeding, p_values = np.zeros((1, count), bool), np.ones(count)
    if score.costs.units > 1:
        behind = score.behind(first, settings.tolerance)
        tail = max(1 - settings.alpha, LEAST_TAIL)
        exceeding = np.round(redrawn_means(behind, settings.draws, settings.seed, tail), DIGITS) < 0
        exceeding[:, first] = False
        p_values = greater_p(np.round(behind.T, DIGITS))
    open_ = _open(exceeding, p_values, first, settings.alpha)
    if score.costs.units < least_scenes(settings.alpha):  # so few rule out no algorithm
        open_ = np.arange(count) != first
    return LeadEvidence(exceeding.mean(axis=0), p_values, open_)


def certain_places(score: WeightedScore, cube: ScoreCube, purpose: Profile, settings: Settings) -> tuple[Place, ...]:
    """The algorithms from best to worst, with how sure their places are under other weights and on other scenes."""
    first = int(score.order[0])
    value = score.value
    ranks = final_ranks(value)
    under_weights = (final_ranks(score.perturbed(settings.draws, settings.seed)) == 1).mean(axis=0)
    drawn = score.redrawn(settings.draws, settings.seed)
    tested = against(score, first, settings)
    low, high = rank_interval(final_ranks(drawn))
    score_low, score_high = np.quantile(drawn, tails(), axis=0)
    better = 1 - beats(drawn, first)
    complete = completeness_of(cube)
    charges = _charges(score, cube, purpose)
    return tuple(
        Place(
            algorithm=score.algorithms[place],
            rank=int(ranks[place]),
            score=float(value[place]),
            score_low=float(max(score_low[place], 0.0)),
            score_high=float(score_high[place]),
            rank_low=int(low[place]),
            rank_high=int(high[place]),
            beats_leader=float(better[place]),
            exceeds_leader=float(tested.exceeding[place]),
            first=float(under_weights[place]),
            p_value=float(tested.p_values[place]),
            open=bool(tested.open[place]),
            completeness=None if math.isnan(share := complete[score.algorithms[place]]) else share,
            charged=charges.get(score.algorithms[place], 0.0),
        )
        for place in score.order
    )


def _charges(score: WeightedScore, cube: ScoreCube, purpose: Profile) -> dict[str, float]:
    """The part of each score that is charged for missing pixels."""
    compared = cube.select(algorithms=score.algorithms, scenes=score.scenes)
    if charged(compared) is compared:
        return {}
    plain = weigh(compared, profile=purpose, missing="worst", missing_pixels="left out")[0]
    free = dict(zip(plain.algorithms, plain.value.tolist(), strict=True))
    pairs = zip(score.algorithms, score.value.tolist(), strict=True)
    return {name: max(0.0, value - free.get(name, 0.0)) for name, value in pairs}


def _open(exceeding: NDArray[np.bool_], p_values: Values, first: int, alpha: float) -> NDArray[np.bool_]:
    """Who may be better than the first by more than the tolerance: by the test, or in the draws.

    Draws must exclude all others together: P(V(L) ≤ min V + ε) ≥ 1 − α. Where they do not, those that exceed most often
    stay open until the others are excluded.
    """
    found = np.asarray(p_values >= alpha)
    found[first] = False
    for place in np.argsort(-exceeding.mean(axis=0), kind="stable"):
        if exceeding[:, ~found].any(axis=1).mean() <= alpha:
            break
        found[place] = place != first
    return found


def worst_scenes(score: WeightedScore) -> tuple[WorstScene, ...]:
    """The scenes that add most to the score of the first, and who is best there; none where all add the same."""
    first = int(score.order[0])
    own = np.round(score.contributions[first], DIGITS)
    worst = [scene for scene in np.argsort(-own, kind="stable")[:MOST_SCENES] if own[scene] > own.min()]
    best = score.contributions.argmin(axis=0)
    return tuple(
        WorstScene(
            score.scenes[scene],
            float(score.contributions[first, scene]),
            score.algorithms[best[scene]],
            float(score.contributions[best[scene], scene]),
        )
        for scene in worst
    )


def scenes_needed(score: WeightedScore, places: Sequence[Place], settings: Settings) -> int | None:
    """How many scenes would distinguish the leader from the first that is open; None where that is not estimated."""
    rival = next((place.algorithm for place in places if place.open), None)
    if rival is None or not least_scenes(settings.alpha) <= score.costs.units < MANY_SCENES:
        return None
    gap = score.behind(int(score.order[0]), settings.tolerance)[score.algorithms.index(rival)]
    return scenes_for_pair(gap, settings.alpha) if gap.any() else None
