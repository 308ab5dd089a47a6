"""The evidence for a choice by weights: who is considered, the places, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.decision.claims import Place, Tie, Verdict, least_scenes
from stereogauge.decision.fulfilment import completeness_of
from stereogauge.ranking.bootstrap import LEVEL, beats, rank_interval, redrawn_means
from stereogauge.ranking.profile import Profile
from stereogauge.ranking.ranks import DIGITS, final_ranks
from stereogauge.ranking.significance import greater_p, scenes_for_pair
from stereogauge.ranking.weighted_score import WeightedScore, weigh
from stereogauge.scores.charges import charged
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.scope import MissingRule
from stereogauge.scores.selection import Dropped, Selection
from stereogauge.text import percent

MOST_RIVALS = 3
MOST_SCENES = 3
NEED_CHANGE = 0.02
"""A winner must lead when this much more or less of the pixels is needed."""
TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
LEAST_TAIL = 0.75
"""Quantiles of Student's and the normal distribution are both 0 at one half, and so have no ratio there."""
MANY_SCENES = 50
"""From here on the answer does not estimate how many more scenes would distinguish two algorithms."""


class WorstScene(NamedTuple):
    """A scene on which the leader scores badly, and the algorithm that is best there; scores as of the whole."""

    scene: str
    score: float
    best: str
    best_score: float


class Settings(NamedTuple):
    """How an answer is computed; these are also its recorded options."""

    completeness: float | str
    alpha: float
    draws: int
    seed: int
    missing: str
    tolerance: float


def considered(cube: ScoreCube, need: float) -> list[str]:
    """The algorithms with a value at the needed share of the pixels; all of them where none has."""
    shares = completeness_of(cube)
    return [name for name, share in shares.items() if not share < need - 1e-9] or list(cube.algorithms)


def compared_scores(
    cube: ScoreCube, purpose: Profile, rule: MissingRule, also: Container[str] = ()
) -> tuple[WeightedScore, Selection]:
    """The weighted scores of the algorithms with a value at the needed share of the pixels, and of those in `also`.

    Answers and explanations read them here, so both compare on the same scenes and by the same scales.
    """
    need = cube.least_coverage
    enough, shares = considered(cube, need), completeness_of(cube)
    kept = [name for name in cube.algorithms if name in enough or name in also]
    score, selection = weigh(cube.select(algorithms=kept), profile=purpose, missing=rule)
    left_out = tuple(
        Dropped("algorithm", name, f"it covers {percent(share)} of the pixels, and {percent(need)} are needed")
        for name, share in shares.items()
        if name not in kept
    )
    return score, replace(selection, dropped=(*selection.dropped, *left_out))


def need_leader(cube: ScoreCube, purpose: Profile, rule: MissingRule, leader: str) -> str | None:
    """Who would lead if the needed share of pixels were a little smaller or larger; None where the leader stays."""
    now = considered(cube, cube.least_coverage)
    for need in (cube.least_coverage - NEED_CHANGE, min(1.0, cube.least_coverage + NEED_CHANGE)):
        kept = considered(cube, need)
        if kept == now:
            continue
        score, _ = weigh(cube.select(algorithms=kept), profile=purpose, missing=rule)
        if score.algorithms[score.order[0]] != leader:
            return str(score.algorithms[score.order[0]])
    return None


def certain_places(score: WeightedScore, cube: ScoreCube, purpose: Profile, settings: Settings) -> tuple[Place, ...]:
    """The algorithms from best to worst, with how sure their places are under other weights and on other scenes."""
    first = int(score.order[0])
    value = score.value
    ranks = final_ranks(value)
    under_weights = (final_ranks(score.perturbed(settings.draws, settings.seed)) == 1).mean(axis=0)
    drawn = np.round(value[None], DIGITS)
    exceeding, p_values = np.zeros((1, len(value)), bool), np.ones(len(value))
    if score.costs.units > 1:
        behind = score.behind(first, settings.tolerance)
        drawn = np.round(redrawn_means(score.unit_contributions, settings.draws, settings.seed), DIGITS)
        tail = max(1 - settings.alpha, LEAST_TAIL)
        exceeding = np.round(redrawn_means(behind, settings.draws, settings.seed, tail), DIGITS) < 0
        exceeding[:, first] = False
        p_values = greater_p(np.round(behind.T, DIGITS))
    low, high = rank_interval(final_ranks(drawn))
    score_low, score_high = np.quantile(drawn, TAILS, axis=0)
    better = 1 - beats(drawn, first)
    open_ = _open(exceeding, p_values, first, settings.alpha)
    if score.costs.units < least_scenes(settings.alpha):  # so few rule out no algorithm
        open_ = np.arange(len(value)) != first
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
            exceeds_leader=float(exceeding[:, place].mean()),
            first=float(under_weights[place]),
            p_value=float(p_values[place]),
            open=bool(open_[place]),
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
    """The scenes that add most to the score of the first, and who is best there."""
    first = int(score.order[0])
    worst = np.argsort(-score.contributions[first], kind="stable")[:MOST_SCENES]
    best = score.contributions.argmin(axis=0)
    return tuple(
        WorstScene(
            score.scenes[scene],
            float(score.contributions[first, scene]),
            score.algorithms[best[scene]],
            float(score.contributions[best[scene], scene]),
        )
        for scene in (worst if len(score.scenes) > 1 else ())
    )


def scenes_needed(score: WeightedScore, verdict: Verdict) -> int | None:
    """How many scenes would distinguish the leader from the first that is open; None where that is not estimated."""
    if not verdict.open or verdict.too_few_scenes or verdict.units >= MANY_SCENES:
        return None
    first, rival = int(score.order[0]), score.algorithms.index(verdict.open[0].algorithm)
    gap = score.behind(first, verdict.tolerance)[rival]
    return scenes_for_pair(gap, verdict.alpha) if gap.any() else None


def nearest_ties(score: WeightedScore) -> tuple[Tie, ...]:
    """Where the next algorithms would tie with the first: by property, then by term."""
    first = int(score.order[0])
    names, weights, by_property = score.property_ties(first)
    by_term = score.ties(first)
    ties: list[Tie] = []
    for place in score.order[1 : 1 + MOST_RIVALS]:
        rival = score.algorithms[place]
        if len(names) > 1:
            ties += map(Tie, [rival] * len(names), names, weights.tolist(), by_property[place].tolist())
        ties += map(Tie, [rival] * len(score.terms), score.terms, score.weights.tolist(), by_term[place].tolist())
    return tuple(tie for tie in ties if not math.isnan(tie.tie))


def nearest_tie(ties: Iterable[Tie], score: WeightedScore) -> Tie | None:
    """The smallest change of the weight of a property at which the second place ties with the first."""
    names = score.properties[0]
    second = score.algorithms[score.order[1]] if len(score.order) > 1 else ""
    found = [tie for tie in ties if tie.rival == second and tie.of in names and tie.weight > 0 and tie.tie > 0]
    return min(found, key=lambda tie: abs(math.log(tie.tie / tie.weight)), default=None)
