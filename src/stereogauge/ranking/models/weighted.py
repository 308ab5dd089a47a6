"""Weighted combination of normalised metrics, by an application's profile (Honauer et al., 2015, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.ranking.costs import Costs
from stereogauge.ranking.model import Model, Outcome
from stereogauge.ranking.normalisation import normalisation_rule, normalised
from stereogauge.ranking.profile import checked_weights, load_profile, property_of
from stereogauge.ranking.ranks import final_ranks
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import Dropped

Weights = Mapping[str, float]
DECIDES = 2.0
"""A term that causes more than this many times its declared share of the differences is named."""


def stated_weights(weights: Weights | None, profile: str | Path | None) -> dict[str, float] | None:
    """The weights that a user stated, divided by their sum; None when none were."""
    if weights is not None and profile is not None:
        raise StereogaugeError(f"Give weights or a profile, not both; found weights and the profile {str(profile)!r}.")
    if weights is not None:
        return checked_weights(weights, "The weights")
    return None if profile is None else dict(load_profile(profile).weights)


def covers(term: str, metric: str, region: str) -> bool:
    """Whether a weighted term (`bad@1` or `bad@1:nonocc`) means this column."""
    return term in (metric, f"{metric}:{region}")


def weighted_columns(
    cube: ScoreCube, weights: Weights | None = None, profile: str | Path | None = None, normalisation: str = "heuristic"
) -> ScoreCube:
    """The columns that have a weight greater than 0; all of them when no weights were stated."""
    stated = stated_weights(weights, profile)
    if stated is None:
        return cube
    terms = [term for term, weight in stated.items() if weight > 0]
    kept = [
        place
        for place, column in enumerate(cube.columns)
        if any(covers(term, column.metric, column.region) for term in terms)
    ]
    if not kept:
        raise StereogaugeError(
            f"None of the weighted metrics ({', '.join(terms)}) is among the selected ones "
            f"({', '.join(cube.metrics)}); evaluate them or choose other weights."
        )
    return cube.take(columns=kept)


class Term(NamedTuple):
    """A weighted metric or column with scores: its weight, flat columns, normalised cells, and where its scale is from.

    The weights of all terms sum to 1.
    """

    weight: float
    flat: NDArray[np.intp]
    cells: Values
    origin: str


def weighted_terms(
    costs: Costs, weights: Weights | None, profile: str | Path | None, normalisation: str
) -> tuple[dict[str, Term], tuple[Dropped, ...]]:
    """The terms that have scores, and those that lack them.

    The weight of a term without scores goes to the others of its property (accuracy, discontinuities, planes, fine
    structures), and to all others where the whole property lacks them.
    """
    rule = normalisation_rule(normalisation)
    stated = stated_weights(weights, profile) or dict.fromkeys(costs.metrics, 1.0 / len(costs.metrics))
    flat_columns = {
        term: np.flatnonzero(
            np.array([covers(term, column.metric, column.region) for column in costs.columns], bool)[costs.column_of]
        )
        for term, weight in stated.items()
        if weight > 0
    }
    scored = _shared(
        {term: stated[term] for term in flat_columns}, {t for t, flat in flat_columns.items() if len(flat)}
    )
    terms = {}
    for term, weight in scored.items():
        flat = flat_columns[term]
        cells, origin = normalised(term.partition(":")[0], costs.matrix[:, flat], rule, costs.sizes[flat])
        terms[term] = Term(weight, flat, cells, origin)
    dropped = tuple(
        Dropped("metric", term, f"no score in the selection; its weight {stated[term]:.3g} was shared among the others")
        for term in flat_columns
        if term not in scored
    )
    return terms, dropped


def _shared(weights: dict[str, float], scored: set[str]) -> dict[str, float]:
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


def weighted_scores(
    costs: Costs, weights: Weights | None = None, profile: str | Path | None = None, normalisation: str = "heuristic"
) -> Outcome:
    """Score = Σₘ wₘ · mean over the columns of m of norm(m); lower is better, weights ≥ 0 that sum to 1.

    Without weights every selected metric weighs the same. `arrays` holds, over `names["terms"]`: `contributions`, the
    summands of each algorithm; `weights`, those used; `effective_weights`, the share of the differences between
    algorithms that a term causes; `break_even`, the weight of a term at which an algorithm ties with the first one,
    the others scaled to sum to 1 (NaN where no weight does). `names["scales"]` says where the scales come from.
    """
    terms, dropped = weighted_terms(costs, weights, profile, normalisation)
    used = np.array([term.weight for term in terms.values()])
    means = np.stack([term.cells.mean(axis=1) for term in terms.values()], axis=1)
    contributions = used * means
    value = contributions.sum(axis=1)
    effective = effective_weights(contributions)
    names = tuple(terms)
    return Outcome(
        rank=final_ranks(value),
        value=value,
        extra={f"share of {term}": contributions[:, place].tolist() for place, term in enumerate(names)},
        arrays={
            "contributions": contributions,
            "weights": used,
            "effective_weights": effective,
            "break_even": break_even(means, used, int(np.argmin(value))),
        },
        axes={
            "contributions": ("algorithms", "terms"),
            "weights": ("terms",),
            "effective_weights": ("terms",),
            "break_even": ("algorithms", "terms"),
        },
        names={"terms": names, "scales": tuple(term.origin for term in terms.values())},
        dropped=dropped,
        notes=deciding_terms(names, used, effective),
    )


def effective_weights(contributions: Values) -> Values:
    """Share of the differences between algorithms that each term causes.

    e_t = Σ_{a<b} |c_{a,t} − c_{b,t}| / Σ_u Σ_{a<b} |c_{a,u} − c_{b,u}| over contributions (algorithms, terms); 0 where
    all algorithms are equal. In sorted order Σ_{a<b} |c_a − c_b| = Σ_i (2 i − n + 1) c_i.

    >>> effective_weights(np.array([[0.0, 0.1], [0.3, 0.2]])).round(2).tolist()
    [0.75, 0.25]
    """
    count = len(contributions)
    spread = (2 * np.arange(count) - count + 1) @ np.sort(contributions, axis=0)
    total = spread.sum()
    return np.asarray(spread / total if total > 0 else np.zeros_like(spread), np.float64)


def break_even(means: Values, weights: Values, first: int) -> Values:
    """The weight of each term at which an algorithm ties with the one at `first`, shape (algorithms, terms).

    With d the difference of the normalised means to the first, and the other weights scaled to sum to 1 − x, the scores
    differ by x d_t + (1 − x) o_t with o_t = Σ_{u≠t} w_u d_u / (1 − w_t): they tie at x = o_t / (o_t − d_t). NaN where
    that is no weight between 0 and 1, and for the first itself.

    >>> break_even(np.array([[0.2, 0.4], [0.6, 0.3]]), np.array([0.5, 0.5]), 0).round(2).tolist()
    [[nan, nan], [0.2, 0.8]]
    """
    difference = means - means[first]
    total = (difference * weights).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = (total - difference * weights) / (1 - weights)
        tie = others / (others - difference)
    return np.where((tie >= 0) & (tie <= 1) & (difference != 0).any(axis=1, keepdims=True), tie, np.nan)


def deciding_terms(names: tuple[str, ...], weights: Values, effective: Values) -> tuple[str, ...]:
    """A sentence for each term that causes more than twice its declared share of the differences."""
    return tuple(
        f"{name} decides more than its weight says: it weighs {100 * weight:.0f} % and causes {100 * share:.0f} % of "
        "the differences between the algorithms."
        for name, weight, share in zip(names, weights, effective, strict=True)
        if share > DECIDES * weight
    )


def resampled_scores(
    costs: Costs,
    multiplicity: NDArray[np.int64],
    weights: Weights | None = None,
    profile: str | Path | None = None,
    normalisation: str = "heuristic",
) -> Values:
    """Weighted scores for many draws of scenes, on the scales of the full selection."""
    return drawn_scores(weighted_terms(costs, weights, profile, normalisation)[0], costs, multiplicity)


def drawn_scores(terms: Mapping[str, Term], costs: Costs, multiplicity: NDArray[np.int64]) -> Values:
    """Weighted scores for many draws of scenes, shape (draws, algorithms); the rows of a unit matrix are the scenes.

    A draw without any column of a term shares that term's weight among the others.
    """
    times = np.asarray(multiplicity, np.float64)
    total = np.zeros((len(times), len(costs.algorithms)))
    present = np.zeros(len(times))
    everywhere = np.zeros((len(costs.algorithms), len(costs.scenes)))  # terms with equally many columns on every scene
    for term in terms.values():
        membership = costs.in_scene[term.flat]
        sums, counts = term.cells @ membership, membership.sum(axis=0)
        if counts.min() == counts.max():
            everywhere += term.weight / counts[0] * sums
            present += term.weight
            continue
        columns = times @ counts
        total += term.weight * (times @ sums.T) / np.maximum(columns, 1)[:, None]
        present += term.weight * (columns > 0)
    total += times @ everywhere.T / times.sum(axis=1, keepdims=True)
    return np.asarray(total / present[:, None], np.float64)


WEIGHTED = Model(
    id="weighted",
    name="Weighted combination",
    definition="Normalise each metric, average it over its columns, and add the metrics with the weights of an "
    "application.",
    source="K. Honauer, L. Maier-Hein and D. Kondermann, The HCI Stereo Metrics: geometry-aware performance "
    "analysis of stereo algorithms, ICCV 2015.",
    value_name="weighted score",
    compute=weighted_scores,
    resample=resampled_scores,
    narrow=weighted_columns,
    options={
        "weights": "weight of each metric or column; divided by their sum",
        "profile": "name of a shipped profile, or the path of a user's TOML file",
        "normalisation": "heuristic (the default), max, z-score or rank",
    },
)
