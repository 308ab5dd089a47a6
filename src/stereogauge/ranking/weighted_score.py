"""The weighted score of an algorithm: one definition for orders, tests, draws, explanations and figures.

V(a) = Σ_t w_t · Σ_f u_f · n_{a,f} over the columns f of each term t, where n is a normalised cost and lower is better
(Honauer et al., The HCI Stereo Metrics, 2015, section 4.3). The shares u of a term's columns sum to 1: its scenes count
equally, by their weights, or by their pixels, as the scores of single columns are aggregated (`scene_shares`). A column
belongs to one scene, so V is also the mean over the S scenes of their contributions: V(a) = (1/S) Σ_s c_{a,s} with
c_{a,s} = S · Σ_t w_t · Σ_{f of t on s} u_f · n_{a,f}.

A scene that lacks a term contributes nothing by that term, and the scenes that have it contribute more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.errors import ProtocolError, StereogaugeError
from stereogauge.masks.geometric import PARTS
from stereogauge.metrics.registry import parse_column
from stereogauge.ranking.bootstrap import CONCENTRATION, LEVEL, perturb_weights, redrawn_means, tails
from stereogauge.ranking.costs import Costs, prepare
from stereogauge.ranking.profile import (
    ACCURACY,
    PROPERTIES,
    Profile,
    load_profile,
    metric_words,
    property_of,
    stated_weights,
)
from stereogauge.ranking.ranks import DIGITS, normalised
from stereogauge.scores.aggregation import NOT_POOLED
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.scope import MissingPixels, MissingRule
from stereogauge.scores.selection import Dropped, Selection

Weights = Mapping[str, float]
PROPORTIONATE = 0.25
"""Up to this total variation, effective weights are called those that were declared."""
DISPROPORTIONATE = 2.0
"""A term that causes more than this many times its declared share of the differences is named."""

MOST_RIVALS = 3
MOST_WEIGHT = 0.9


def term_columns(term: str, columns: Sequence[Column]) -> list[int]:
    """The places of the columns that a weighted term means: one (`bad@1:nonocc`), or those of a metric (`bad@1`).

    A metric alone does not mean its columns on parts of the scene or of its own pixels, where there are others: they
    would count pixels a second time.

    >>> columns = [Column(*text.split(":")) for text in ("bad@1:all", "bad@1:nonocc", "bad@1:part-fine")]
    >>> term_columns("bad@1", columns), term_columns("bad@1:part-fine", columns)
    ([0, 1], [2])
    """
    found = [place for place, column in enumerate(columns) if term in (column.metric, str(column))]
    return [place for place in found if str(columns[place]) == term or not _is_part(columns[place])] or found


def _is_part(column: Column) -> bool:
    own = column.declared.metric.region
    return own != column.region if own is not None else not PARTS.keys().isdisjoint(column.region.split("&"))


def unmeasurable(terms: Iterable[str], cube: ScoreCube) -> set[str]:
    """The terms that were tried and cannot be measured on a ground truth: their columns exist and hold no score."""
    scored: NDArray[np.bool_] = np.asarray(np.isfinite(cube.values).any(axis=(0, 1)))
    places = {term: term_columns(term, cube.columns) for term in terms}
    return {term for term, found in places.items() if found and not scored[found].any()}


def with_stand_ins(profile: Profile, cube: ScoreCube) -> Profile:
    """The profile on these scores: where a ground truth is too sparse for a metric, a stand-in takes its weight.

    The weight goes to the first stand-in with scores.
    """
    weights, taken = dict(profile.weights), dict(profile.standing_in)
    names = {name for term, candidates in profile.stand_ins.items() for name in (term, *candidates)}
    impossible = unmeasurable(names, cube)
    possible = {name for name in names - impossible if term_columns(name, cube.columns)}
    for term, candidates in profile.stand_ins.items():
        found = next((name for name in candidates if name in possible), None)
        if term in weights and term in impossible and found is not None:
            weights[found] = weights.get(found, 0.0) + weights.pop(term)
            taken[found] = (*taken.get(found, ()), term)
    return replace(profile, weights=weights, standing_in=taken)


def weighted_columns(cube: ScoreCube, weights: Weights | None) -> ScoreCube:
    """The columns that have a weight greater than 0; all of them where no weights are stated."""
    if weights is None:
        return cube
    terms = [term for term, weight in weights.items() if weight > 0]
    kept = sorted({place for term in terms for place in term_columns(term, cube.columns)})
    if not kept:
        raise StereogaugeError(
            f"None of the weighted metrics ({', '.join(terms)}) is among the selected ones "
            f"({', '.join(cube.metrics)}); evaluate them or choose other weights."
        )
    return cube.take(columns=kept)


class Term(NamedTuple):
    """A weighted metric or column with scores: its weight, flat columns and the share of each, normalised cells, and
    the origin of its scale.

    The weights of all terms sum to 1, and so do the shares of the columns of one.
    """

    weight: float
    flat: NDArray[np.intp]
    shares: Values
    cells: Values
    origin: str

    @property
    def amounts(self) -> Values:
        """What each column adds to the score, w_t · u_f · n_{a,f}; shape (algorithms, columns of the term)."""
        return np.asarray(self.weight * self.shares * self.cells, np.float64)

    def mean(self, cells: Values) -> Values:
        """The mean of each row over the columns; that of equal rows is equal to the last bit, unlike a product's."""
        return np.asarray((self.shares * cells).sum(axis=1), np.float64)


class Disproportion(NamedTuple):
    """A term that causes a much larger share of the differences between the algorithms than its weight."""

    term: str
    weight: float
    share: float


class Tie(NamedTuple):
    """The weight of a term or property at which a rival ties with the leader, the others scaled to sum to 1."""

    rival: str
    of: str
    weight: float
    tie: float

    @property
    def words(self) -> str:
        """The property, or the term in words."""
        return self.of if self.of in (ACCURACY, *PROPERTIES.values()) else metric_words(self.of, with_id=False)


class WeightedScore(Struct, frozen=True, eq=False, dict=True):
    """The weighted scores of the algorithms of `costs`, in their order.

    `stated` holds the weight of every weighted term, measured or not; `terms` those with scores, their weights raised
    so that each property keeps its own.
    """

    costs: Costs
    stated: Weights
    terms: Mapping[str, Term]

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Names of the algorithms."""
        return self.costs.algorithms

    @property
    def scenes(self) -> tuple[str, ...]:
        """Names of the scenes."""
        return self.costs.scenes

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """The terms that have no score in the selection."""
        return tuple(
            Dropped("metric", term, "no score in the selection; its weight was shared among the others")
            for term in self.stated
            if term not in self.terms
        )

    @cached_property
    def weights(self) -> Values:
        """The weights in force, over the terms."""
        return np.array([term.weight for term in self.terms.values()])

    @cached_property
    def means(self) -> Values:
        """Normalised means, shape (algorithms, terms)."""
        return np.stack([term.mean(term.cells) for term in self.terms.values()], axis=1)

    @cached_property
    def by_term(self) -> Values:
        """What each term adds to the score, shape (algorithms, terms)."""
        return np.stack([term.amounts.sum(axis=1) for term in self.terms.values()], axis=1)

    @cached_property
    def contributions(self) -> Values:
        """Contribution c of each scene, shape (algorithms, scenes): the score is their mean."""
        total = np.zeros((len(self.algorithms), len(self.scenes)))
        for term in self.terms.values():
            total += term.amounts @ self.costs.in_scene[term.flat]
        return len(self.scenes) * total

    @cached_property
    def value(self) -> Values:
        """The weighted score V of each algorithm."""
        return np.asarray(self.by_term.sum(axis=1), np.float64)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Places of the algorithms from best to worst."""
        return np.lexsort((np.arange(len(self.value)), np.round(self.value, DIGITS)))

    @cached_property
    def units(self) -> tuple[tuple[str, ...], ...]:
        """The scenes of each independent unit."""
        names = np.array(self.scenes, object)
        return tuple(tuple(names[self.costs.unit_of == unit]) for unit in range(self.costs.units))

    @cached_property
    def unit_contributions(self) -> Values:
        """Contribution of each independent unit, shape (algorithms, units): the score is their mean."""
        return self._by_unit(self.contributions)

    @cached_property
    def unit_shares(self) -> Values:
        """How much of the score belongs to each independent unit: 1 on average, less where it lacks terms."""
        shares = np.zeros(len(self.scenes))
        for term in self.terms.values():
            shares += term.weight * term.shares @ self.costs.in_scene[term.flat]
        return self._by_unit(len(self.scenes) * shares)

    def _by_unit(self, by_scene: Values) -> Values:
        member = np.asarray(self.costs.unit_of[:, None] == np.arange(self.costs.units), np.float64)
        return np.asarray(self.costs.units / len(self.scenes) * (by_scene @ member), np.float64)

    def behind(self, first: int, tolerance: float) -> Values:
        """c_b − c_first + ε of every algorithm b on each unit, with ε = tolerance · V(first); (algorithms, units).

        Their mean is below 0 where b is better than the first by more than the tolerance. A unit has the same part of ε
        as of every score.
        """
        allowed = tolerance * self.value[first] * self.unit_shares
        return np.asarray(self.unit_contributions - self.unit_contributions[first] + allowed, np.float64)

    @property
    def weight_distance(self) -> float:
        """Total variation between the weights and the shares of the differences that the terms cause."""
        return float(np.abs(self.weights - self.effective).sum() / 2) if self.effective.any() else 0.0

    @cached_property
    def properties(self) -> tuple[tuple[str, ...], Values]:
        """The names of the properties, and 1 where a term belongs to one, shape (terms, properties)."""
        names = tuple(dict.fromkeys(property_of(term) for term in self.terms))
        return names, np.array([[property_of(term) == name for name in names] for term in self.terms], np.float64)

    def redrawn(self, draws: int, seed: int = 0, level: float = LEVEL) -> Values:
        """The scores for draws of scenes, shape (draws, algorithms): see `redrawn_means`; one unit is drawn once.

        A unit brings its share with it, so what is drawn is c − V (u − 1): equal scores stay equal in every draw.
        """
        if self.costs.units < 2:
            return np.round(self.value[None], DIGITS)
        drawn = self.unit_contributions - np.outer(self.value, self.unit_shares - 1)
        return np.round(redrawn_means(drawn, draws, seed, tails(level)[1]), DIGITS)

    def perturbed(self, draws: int, seed: int = 0, concentration: float = CONCENTRATION) -> Values:
        """The scores for draws of weights around those in force, shape (draws, algorithms)."""
        return np.asarray(perturb_weights(self.weights, draws, seed, concentration) @ self.means.T, np.float64)

    def mean_scores(self, term: str) -> Values:
        """Each algorithm's mean over the columns of a term as the scores are shown; NaN where one is a gap."""
        cells = self.costs.matrix[:, self.terms[term].flat]
        means = self.terms[term].mean(np.where(np.isfinite(cells), cells, np.nan))
        sign = -1.0 if parse_column(term)[0].metric.direction == "higher" else 1.0
        return np.asarray(sign * means, np.float64)

    @cached_property
    def effective(self) -> Values:
        """Share of the differences between algorithms that each term causes."""
        return effective_weights(self.by_term)

    @property
    def disproportions(self) -> tuple[Disproportion, ...]:
        """The terms that cause more than twice their declared share of the differences.

        Where there is none, but all together differ by more than `PROPORTIONATE`, the one with the largest excess.
        """
        excess = self.effective - self.weights
        named = self.effective > DISPROPORTIONATE * self.weights
        if not named.any() and self.weight_distance > PROPORTIONATE:
            named = excess == excess.max()
        return tuple(
            Disproportion(name, float(weight), float(share))
            for name, weight, share in itertools.compress(
                zip(self.terms, self.weights, self.effective, strict=True), named
            )
        )

    def ties(self, first: int) -> Values:
        """The weight of each term at which an algorithm ties with the one at `first`: see `break_even`."""
        return break_even(self.means, self.weights, first)

    @cached_property
    def nearest_ties(self) -> tuple[Tie, ...]:
        """Where the next algorithms would tie with the first: by property, then by term."""
        first = int(self.order[0])
        names, member = self.properties
        weights = self.weights @ member
        by_property = break_even(self.by_term @ member / weights, weights, first)
        by_term = self.ties(first)
        ties: list[Tie] = []
        for place in self.order[1 : 1 + MOST_RIVALS]:
            rival = self.algorithms[place]
            if len(names) > 1:
                ties += map(Tie, [rival] * len(names), names, weights.tolist(), by_property[place].tolist())
            ties += map(Tie, [rival] * len(self.terms), self.terms, self.weights.tolist(), by_term[place].tolist())
        return tuple(tie for tie in ties if not math.isnan(tie.tie))

    @property
    def nearest_tie(self) -> Tie | None:
        """The smallest change of one weight that puts the second place first: of a property, else of a term.

        A term that would leave next to nothing to the others is none.
        """
        second = self.algorithms[self.order[1]] if len(self.order) > 1 else ""
        found = [tie for tie in self.nearest_ties if tie.rival == second and tie.weight > 0 and tie.tie > 0]
        by_property = [tie for tie in found if tie.of in self.properties[0]]
        found = by_property or [tie for tie in found if tie.tie < MOST_WEIGHT]
        return min(found, key=lambda tie: abs(math.log(tie.tie / tie.weight)), default=None)


def weigh(
    cube: ScoreCube,
    weights: Weights | None = None,
    profile: str | Path | Profile | None = None,
    missing: MissingRule = "common",
    normalisation: str = "heuristic",
    missing_pixels: MissingPixels = "charged",
) -> tuple[WeightedScore, Selection]:
    """The weighted scores of a cube by a profile or by weights, and the selection that they are made from."""
    if profile is not None and weights is None:
        profile = with_stand_ins(load_profile(profile), cube)
    stated = stated_weights(weights, profile)
    costs, selection = prepare(weighted_columns(cube, stated), missing, missing_pixels)
    return weighted_score(costs, stated, normalisation), selection


def weighted_score(costs: Costs, weights: Weights | None = None, normalisation: str = "heuristic") -> WeightedScore:
    """The weighted scores of costs without gaps; without weights every metric weighs the same.

    The weight of a term without scores goes to the others of its property (accuracy, discontinuities, planes, fine
    structures), and to all others where the whole property has none.
    """
    weights = dict.fromkeys(costs.metrics, 1.0 / len(costs.metrics)) if weights is None else weights
    stated = {term: weight for term, weight in weights.items() if weight > 0}
    counting: NDArray[np.bool_] = np.asarray(costs.shares != 0)
    flat_columns = {
        term: np.flatnonzero(
            np.isin(costs.column_of, term_columns(costs.repeated.get(term, term), costs.columns)) & counting
        )
        for term in stated
    }
    terms = {}
    for term, weight in shared_weights(stated, {term for term, flat in flat_columns.items() if len(flat)}).items():
        flat = flat_columns[term]
        cells, origin = normalised(term.partition(":")[0], costs.matrix[:, flat], normalisation, costs.maxima[flat])
        shares = costs.shares[flat] / costs.shares[flat].sum()
        if np.isnan(shares).any():
            raise ProtocolError(NOT_POOLED)
        terms[term] = Term(weight, flat, shares, cells, origin)
    return WeightedScore(costs, stated, terms)


def shared_weights(weights: Weights, scored: set[str]) -> dict[str, float]:
    """The weights of the scored terms; each property keeps its weight where at least one of its terms has scores."""
    totals: dict[str, float] = {}
    kept: dict[str, float] = {}
    for term, weight in weights.items():
        name = property_of(term)
        totals[name] = totals.get(name, 0.0) + weight
        kept[name] = kept.get(name, 0.0) + (weight if term in scored else 0.0)
    raised = {
        term: weight * totals[property_of(term)] / kept[property_of(term)]
        for term, weight in weights.items()
        if term in scored
    }
    total = sum(raised.values())
    return {term: weight / total for term, weight in raised.items()}


def effective_weights(by_term: Values) -> Values:
    """Share of the differences between algorithms that each term causes.

    e_t = Σ_{a<b} |v_{a,t} − v_{b,t}| / Σ_u Σ_{a<b} |v_{a,u} − v_{b,u}| over the parts of the score (algorithms, terms);
    0 where all algorithms are equal. In sorted order Σ_{a<b} |v_a − v_b| = Σ_i (2 i − n + 1) (v_i − v_0).

    >>> effective_weights(np.array([[0.0, 0.1], [0.3, 0.2]])).round(2).tolist()
    [0.75, 0.25]
    """
    count = len(by_term)
    ordered = np.sort(by_term, axis=0)
    spread = (2 * np.arange(count) - count + 1) @ (ordered - ordered[:1])  # exactly 0 where all are equal
    total = spread.sum()
    return np.asarray(spread / total if total > 0 else np.zeros_like(spread), np.float64)


def break_even(means: Values, weights: Values, first: int) -> Values:
    """The weight of each term at which an algorithm ties with the one at `first`, shape (algorithms, terms).

    With d the difference of the normalised means to the first, and the other weights scaled to sum to 1 − x, the scores
    differ by x d_t + (1 − x) o_t with o_t = Σ_{u≠t} w_u d_u / (1 − w_t): they tie at x = o_t / (o_t − d_t). NaN where
    that is no weight between 0 and 1, where the two are equal in the term, and for the first itself.

    >>> break_even(np.array([[0.2, 0.4], [0.6, 0.3]]), np.array([0.5, 0.5]), 0).round(2).tolist()
    [[nan, nan], [0.2, 0.8]]
    """
    difference = means - means[first]
    total = (difference * weights).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = (total - difference * weights) / (1 - weights)
        tie = others / (others - difference)
    return np.where((tie >= 0) & (tie <= 1) & (difference != 0), tie, np.nan)
