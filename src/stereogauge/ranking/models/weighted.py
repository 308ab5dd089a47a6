"""Weighted combination of normalised metrics, by an application's profile (Honauer et al., 2015, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.ranking.costs import Costs
from stereogauge.ranking.model import Model, Outcome
from stereogauge.ranking.normalisation import normalisation_rule, normalised
from stereogauge.ranking.profile import checked_weights, load_profile
from stereogauge.ranking.ranks import final_ranks
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import Dropped

Weights = Mapping[str, float]


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
    kept = [place for place, column in enumerate(cube.columns) if any(covers(term, *column) for term in terms)]
    if not kept:
        raise StereogaugeError(
            f"None of the weighted metrics ({', '.join(terms)}) is among the selected ones "
            f"({', '.join(cube.metrics)}); "
            "evaluate them or choose other weights."
        )
    return cube.take(columns=kept)


def term_cells(
    costs: Costs, weights: Weights | None, profile: str | Path | None, normalisation: str
) -> tuple[dict[str, float], dict[str, tuple[NDArray[np.intp], Values, str]], tuple[Dropped, ...]]:
    """Weights of the terms that have scores; each term's flat columns, normalised cells and scale; what is lacking."""
    rule = normalisation_rule(normalisation)
    stated = stated_weights(weights, profile) or dict.fromkeys(costs.metrics, 1.0 / len(costs.metrics))
    cells: dict[str, tuple[NDArray[np.intp], Values, str]] = {}
    dropped = []
    for term, weight in stated.items():
        own = np.array([covers(term, *column) for column in costs.columns], bool)[costs.column_of]
        if weight > 0 and own.any():
            flat = np.flatnonzero(own)
            cells[term] = (flat, *normalised(term.partition(":")[0], costs.matrix[:, flat], rule))
        elif weight > 0:
            reason = f"no score in the selection; its weight {weight:.3g} was shared among the others"
            dropped.append(Dropped("metric", term, reason))
    total = sum(stated[term] for term in cells)
    return {term: stated[term] / total for term in cells}, cells, tuple(dropped)


def weighted_scores(
    costs: Costs, weights: Weights | None = None, profile: str | Path | None = None, normalisation: str = "heuristic"
) -> Outcome:
    """Score = Σₘ wₘ · mean over the columns of m of norm(m); lower is better, weights ≥ 0 that sum to 1.

    Without weights every selected metric weighs the same. `arrays["contributions"]` (algorithms, terms) holds the
    summands, `arrays["weights"]` the weights used, `names["terms"]` and `names["scales"]` the metrics and where
    their scales come from.
    """
    used, cells, dropped = term_cells(costs, weights, profile, normalisation)
    contributions = np.stack([used[term] * values.mean(axis=1) for term, (_, values, _) in cells.items()], axis=1)
    value = contributions.sum(axis=1)
    return Outcome(
        rank=final_ranks(value),
        value=value,
        extra={f"share of {term}": contributions[:, place].tolist() for place, term in enumerate(cells)},
        arrays={"contributions": contributions, "weights": np.array(list(used.values()))},
        axes={"contributions": ("algorithms", "terms"), "weights": ("terms",)},
        names={"terms": tuple(cells), "scales": tuple(origin for _, _, origin in cells.values())},
        dropped=dropped,
    )


def resampled_scores(
    costs: Costs,
    multiplicity: NDArray[np.int64],
    weights: Weights | None = None,
    profile: str | Path | None = None,
    normalisation: str = "heuristic",
) -> Values:
    """Weighted scores for many draws of scenes, on the scales of the full selection.

    A draw without any column of a term shares that term's weight among the others.
    """
    used, cells, _ = term_cells(costs, weights, profile, normalisation)
    total = np.zeros((len(multiplicity), len(costs.algorithms)))
    present = np.zeros(len(multiplicity))
    for term, (flat, values, _) in cells.items():
        membership = costs.in_scene[flat]
        columns = multiplicity @ membership.sum(axis=0)
        mean = (multiplicity @ (values @ membership).T) / np.maximum(columns, 1)[:, None]
        total += used[term] * mean
        present += used[term] * (columns > 0)
    return np.asarray(total / present[:, None], np.float64)


WEIGHTED = Model(
    id="weighted",
    name="Weighted combination",
    definition="Normalise each metric, average it over its columns, and add the metrics with the weights of an "
    "application.",
    source="K. Honauer, L. Maier-Hein and D. Kondermann, The HCI Stereo Metrics: geometry-aware performance "
    "analysis of stereo "
    "algorithms, ICCV 2015.",
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
