"""Weighted combination of normalised metrics, by an application's profile (Honauer et al., 2015, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stereogauge.ranking.costs import Costs
from stereogauge.ranking.model import Model, Outcome
from stereogauge.ranking.profile import load_profile, metric_words, stated_weights
from stereogauge.ranking.ranks import final_ranks
from stereogauge.ranking.weighted_score import Disproportion, Weights, weighted_columns, weighted_score, with_stand_ins
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.text import listed, percent, upper_first


def weighted_scores(
    costs: Costs,
    weights: Weights | None = None,
    standing_in: Mapping[str, tuple[str, ...]] | None = None,
    normalisation: str = "heuristic",
) -> Outcome:
    """The order of the weighted scores; lower is better. See `stereogauge.ranking.weighted_score`.

    `arrays` holds, over `names["terms"]`: `contributions`, the parts of each algorithm's score; `weights`, those used;
    `effective_weights`, the share of the differences between algorithms that a term causes; `break_even`, the weight
    of a term at which an algorithm ties with the first one, the others scaled to sum to 1 (NaN where no weight does).
    `names["scales"]` says where the scales come from.
    """
    score = weighted_score(costs, weights, normalisation)
    return Outcome(
        rank=final_ranks(score.value),
        value=score.value,
        extra={f"share of {term}": score.by_term[:, place].tolist() for place, term in enumerate(score.terms)},
        arrays={
            "contributions": score.by_term,
            "weights": score.weights,
            "effective_weights": score.effective,
            "break_even": score.ties(int(score.order[0])),
        },
        axes={
            "contributions": ("algorithms", "terms"),
            "weights": ("terms",),
            "effective_weights": ("terms",),
            "break_even": ("algorithms", "terms"),
        },
        names={"terms": tuple(score.terms), "scales": tuple(term.origin for term in score.terms.values())},
        dropped=score.dropped,
        notes=(
            *(stand_in_note(name, terms) for name, terms in (standing_in or {}).items()),
            *map(disproportion_note, score.disproportions),
        ),
    )


def on_scores(cube: ScoreCube, options: dict[str, Any]) -> dict[str, Any]:
    """The weights of weights or a profile on these scores, where stand-ins weigh what cannot be measured."""
    weights, profile = options.get("weights"), options.get("profile")
    known = {name: value for name, value in options.items() if name not in ("weights", "profile")}
    if profile is None or weights is not None:
        return known | {"weights": stated_weights(weights, profile)}
    found = with_stand_ins(load_profile(profile), cube)
    return known | {"weights": found.weights, "standing_in": found.standing_in}


def stand_in_note(name: str, terms: Sequence[str]) -> str:
    """A sentence about a metric that takes the weight of others."""
    them = "it" if len(terms) == 1 else "them"
    return f"The ground truth is too sparse for {listed(terms, len(terms))}; {name} stands in for {them}."


def disproportion_note(found: Disproportion) -> str:
    """A sentence about a term with more influence than its weight."""
    return (
        f"{upper_first(metric_words(found.term))} has more influence than its weight: it weighs "
        f"{percent(found.weight)} and causes {percent(found.share)} of the differences between the algorithms."
    )


def redrawn_scores(
    costs: Costs,
    draws: int,
    seed: int,
    level: float,
    weights: Weights | None = None,
    standing_in: Mapping[str, tuple[str, ...]] | None = None,
    normalisation: str = "heuristic",
) -> Values:
    """Weighted scores for many draws of scenes, on the scales of the full selection: those of an answer."""
    return weighted_score(costs, weights, normalisation).redrawn(draws, seed, level)


WEIGHTED = Model(
    id="weighted",
    name="Weighted combination",
    definition="Normalise each metric, average it over its columns, whose scenes count as in the scores of columns, "
    "and add the metrics with the weights of an application.",
    source="K. Honauer, L. Maier-Hein and D. Kondermann, The HCI Stereo Metrics: geometry-aware performance "
    "analysis of stereo algorithms, ICCV 2015.",
    value_name="weighted score",
    compute=weighted_scores,
    redraw=redrawn_scores,
    narrow=lambda cube, weights, **_: weighted_columns(cube, weights),
    resolve=on_scores,
    options={
        "weights": "weight of each metric or column; divided by their sum",
        "profile": "name of a shipped profile, or the path of a user's TOML file",
        "normalisation": "heuristic (the default), max, z-score or rank",
    },
)
