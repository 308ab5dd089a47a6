"""The weighted score of every algorithm with how sure it is: under other weights, and on other scenes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stereogauge.ranking.bootstrap import DIGITS
from stereogauge.ranking.costs import Costs, prepare
from stereogauge.ranking.models.weighted import (
    Term,
    break_even,
    drawn_scores,
    effective_weights,
    stated_weights,
    weighted_columns,
    weighted_terms,
)
from stereogauge.ranking.profile import property_of
from stereogauge.ranking.ranks import final_ranks
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import MissingRule, Selection

CONCENTRATION = 30.0
"""Of the Dirichlet distribution around the stated weights: a weight of 20 % moves by 7 percentage points."""
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Weighing:
    """Algorithms under stated weights, in the order of the scores that they came with.

    `stated` holds every weighted term, measured or not; `terms` those with scores, their weights raised so that each
    property keeps its own (see `weighted_terms`). `covered` is the share of its pixels that each cost was measured on,
    1 where missing pixels count as wrong; shape (algorithms, flat columns). Lower scores are better.
    """

    costs: Costs
    selection: Selection
    stated: Mapping[str, float]
    terms: Mapping[str, Term]
    covered: Values
    draws: int
    seed: int

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Names of the algorithms."""
        return self.costs.algorithms

    @cached_property
    def weights(self) -> Values:
        """The weights in force, over the terms."""
        return np.array([term.weight for term in self.terms.values()])

    @cached_property
    def means(self) -> Values:
        """Normalised means, shape (algorithms, terms)."""
        return np.stack([term.cells.mean(axis=1) for term in self.terms.values()], axis=1)

    @cached_property
    def value(self) -> Values:
        """The weighted score of each algorithm."""
        return np.asarray(self.means @ self.weights, np.float64)

    @cached_property
    def charged(self) -> Values:
        """The weighted scores if every pixel that a score leaves out cost as much as the worst real algorithms do."""
        means = []
        for term in self.terms.values():
            share = self.covered[:, term.flat]
            means.append((share * term.cells + (1 - share) * np.maximum(term.cells, 1.0)).mean(axis=1))
        return np.asarray(np.stack(means, axis=1) @ self.weights, np.float64)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Places of the algorithms from best to worst."""
        return np.lexsort((np.arange(len(self.value)), np.round(self.value, DIGITS)))

    @property
    def measured_share(self) -> float:
        """Share of the stated weight whose terms have scores."""
        return float(sum(weight for term, weight in self.stated.items() if term in self.terms))

    @cached_property
    def effective(self) -> Values:
        """Share of the differences between algorithms that each term causes."""
        return effective_weights(self.means * self.weights)

    def ties(self, first: int) -> Values:
        """The weight of each term at which an algorithm ties with the one at `first`: see `break_even`."""
        return break_even(self.means, self.weights, first)

    def property_ties(self, first: int) -> tuple[tuple[str, ...], Values, Values]:
        """Names and weights of the properties, and the weight of each at which an algorithm ties with the first."""
        names = tuple(dict.fromkeys(property_of(term) for term in self.terms))
        member = np.array([[property_of(term) == name for name in names] for term in self.terms], np.float64)
        weights = self.weights @ member
        means = (self.means * self.weights) @ member / weights
        return names, weights, break_even(means, weights, first)

    @cached_property
    def under_weights(self) -> Values:
        """Share of small changes of the weights in which each algorithm is first."""
        if len(self.terms) == 1:
            return np.asarray(final_ranks(self.value) == 1, np.float64)
        sampled = np.random.default_rng(self.seed).dirichlet(CONCENTRATION * self.weights, size=self.draws)
        scores = np.round(sampled @ self.means.T, DIGITS)
        return np.asarray((scores == scores.min(axis=1, keepdims=True)).mean(axis=0), np.float64)

    @cached_property
    def by_scene(self) -> Values:
        """The weighted score on each scene alone, shape (scenes, algorithms)."""
        return drawn_scores(self.terms, self.costs, np.eye(len(self.costs.scenes), dtype=np.int64))

    @cached_property
    def _drawn(self) -> Values:
        count = len(self.costs.scenes)
        multiplicity = np.random.default_rng(self.seed).multinomial(count, np.full(count, 1 / count), size=self.draws)
        return np.round(drawn_scores(self.terms, self.costs, multiplicity), DIGITS)

    @cached_property
    def rank_interval(self) -> NDArray[np.int64]:
        """The ranks that bound 95 % of the draws of as many scenes, with replacement; shape (2, algorithms)."""
        tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
        ranks = final_ranks(self._drawn)
        return np.asarray(np.quantile(ranks, tails, axis=0, method="inverted_cdf"), np.int64)

    def beaten_by(self, first: int) -> Values:
        """Share of the draws of scenes in which each algorithm is better than the first, ties counting half."""
        own = self._drawn[:, first : first + 1]
        return np.asarray((self._drawn < own).mean(axis=0) + 0.5 * (self._drawn == own).mean(axis=0), np.float64)

    def p_values(self, first: int) -> Values:
        """p of Wilcoxon's signed-rank test over the scenes, of each algorithm against the first; 1 for the first.

        Not corrected for several rivals: to call the first the best, it must differ from every one of them, and the
        largest p decides (an intersection–union test).
        """
        differences = np.round(self.by_scene - self.by_scene[:, first : first + 1], DIGITS)
        p_values = np.ones(len(self.algorithms))
        if len(differences) < 2:
            return p_values
        differing = differences.any(axis=0)
        if differing.any():
            from scipy.stats import wilcoxon  # slow to import, and not every answer needs it

            p_values[differing] = wilcoxon(differences[:, differing], axis=0).pvalue
        return p_values


def weigh(
    cube: ScoreCube,
    weights: Mapping[str, float] | None = None,
    profile: str | Path | None = None,
    *,
    missing: MissingRule = "common",
    normalisation: str = "heuristic",
    draws: int = 2000,
    seed: int = 0,
) -> Weighing:
    """Weigh the algorithms of a cube by an application's profile or by weights of one's own."""
    narrowed = weighted_columns(cube, weights, profile)
    costs, selection = prepare(narrowed, missing)
    stated = stated_weights(weights, profile) or dict.fromkeys(costs.metrics, 1 / len(costs.metrics))
    terms, _ = weighted_terms(costs, weights, profile, normalisation)
    weighed = {term: weight for term, weight in stated.items() if weight > 0}
    return Weighing(costs, selection, weighed, terms, _covered(narrowed, costs), draws, seed)


def _covered(cube: ScoreCube, costs: Costs) -> Values:
    """The coverage of every cost whose metric leaves missing estimates out, 1 for the others."""
    rows = [cube.algorithms.index(name) for name in costs.algorithms]
    scenes = np.array([cube.scenes.index(name) for name in costs.scenes])[costs.scene_of]
    columns = np.array([cube.columns.index(column) for column in costs.columns])[costs.column_of]
    left_out = np.array([column.declared.metric.left_out(cube.invalid) for column in costs.columns])[costs.column_of]
    covered = cube.coverage[:, scenes, columns][rows]
    return np.asarray(np.where(left_out & ~np.isnan(covered), covered, 1.0), np.float64)
