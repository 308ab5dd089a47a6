"""`answer`: scores and a purpose in; the algorithm to take out, with how far the evidence carries that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.decision.fulfilment import Fulfilment, completeness_of, fulfilment
from stereogauge.decision.requirements import Requirements, load_requirements
from stereogauge.decision.requirements_sentence import requirements_sentence
from stereogauge.decision.result import Answer, NotMeasured, Place, Tie, WeighedTerm
from stereogauge.decision.sentence import Evidence, sentence
from stereogauge.decision.source import (
    EVERY_PIXEL,
    ONLY_SURE,
    Source,
    compatibility,
    least_coverage,
    opening,
    purpose_of,
    read_scores,
)
from stereogauge.decision.unknown import unknown
from stereogauge.decision.weighing import Weighing, weigh
from stereogauge.decision.words import metric_words, percent
from stereogauge.errors import StereogaugeError
from stereogauge.metrics.declaration import parse_column
from stereogauge.ranking.profile import Profile, property_of
from stereogauge.ranking.ranks import final_ranks
from stereogauge.ranking.run import Scores
from stereogauge.ranking.significance import scenes_for_pair
from stereogauge.scores.cube import LEAST_COVERAGE
from stereogauge.scores.selection import Selection, missing_rule

MOST_RIVALS = 3
MANY_SCENES = 50
"""From here on the answer does not estimate how many more scenes would tell two algorithms apart."""
PARTLY = "As the profile is meant, of which a part is not measured here:"


def answer(
    scores: Scores,
    profile: str | Path | None = None,
    weights: Mapping[str, float] | None = None,
    requirements: Requirements | Mapping[str, Any] | str | Path | None = None,
    completeness: float | str = LEAST_COVERAGE,
    *,
    scenes: Iterable[str] | None = None,
    algorithms: Iterable[str] | None = None,
    missing: str = "common",
    alpha: float = 0.05,
    draws: int = 2000,
    seed: int = 0,
) -> Answer:
    """Which algorithm to take for an application, and how far the scores carry that.

    Parameters
    ----------
    scores
        A score table, a score cube, or the path or URL of a store.
    profile, weights
        An application's profile (`stereogauge answer STORE --profiles` lists them), or weights of one's own. Without
        either, and without requirements, the profile `balanced`.
    requirements
        A `requirements.toml`, or a mapping with the same tables. With a profile or weights, these order the algorithms
        that meet the requirements.
    completeness
        Where a value is needed: "every-pixel", a share (0.9 by default, or "90%"), or "sure". Scores that cover less of
        their pixels take the last place.
    scenes, algorithms, missing
        What to look at, and what a gap does, as for `rank`.
    alpha
        Level of significance of Wilcoxon's test over the scenes.
    draws, seed
        Number of draws of weights and of scenes, and their seed.

    Examples
    --------
    >>> truth = np.tile([4, 4, 8, 8], (10, 5))
    >>> scenes = [sg.Scene(f"s{k}", gt=truth) for k in range(6)]
    >>> maps = {"near": {s.id: truth + 2 for s in scenes}, "exact": {s.id: truth for s in scenes}}
    >>> sg.answer(sg.evaluate(maps, scenes, ["bad@1"], ["all"]), weights={"bad@1": 1}).winner
    'exact'
    """
    source = read_scores(scores, completeness)
    if scenes is not None or algorithms is not None:
        source = replace(source, cube=source.cube.select(scenes=scenes, algorithms=algorithms))
    return answered(source, profile, weights, requirements, completeness, missing, alpha, draws, seed)


def answered(
    source: Source,
    profile: str | Path | None = None,
    weights: Mapping[str, float] | None = None,
    requirements: Requirements | Mapping[str, Any] | str | Path | None = None,
    completeness: float | str = LEAST_COVERAGE,
    missing: str = "common",
    alpha: float = 0.05,
    draws: int = 2000,
    seed: int = 0,
) -> Answer:
    """The answer from scores that were read and selected; `answer` explains the parameters."""
    if not 0 < alpha < 1:
        raise StereogaugeError(f"A significance level lies between 0 and 1, for example 0.05; found {alpha:g}.")
    if draws < 1:
        raise StereogaugeError(f"The certainty of an answer needs at least one draw; found {draws}.")
    wanted = None if requirements is None else load_requirements(requirements)
    unweighted = wanted is not None and profile is None and weights is None
    purpose = None if unweighted else purpose_of(profile, weights)
    share = least_coverage(completeness)
    if wanted is not None and wanted.completeness is not None and completeness == LEAST_COVERAGE:
        share = wanted.completeness
    source = replace(source, cube=source.cube.limited(share))
    options = {"completeness": completeness, "alpha": alpha, "draws": draws, "seed": seed, "missing": missing}
    if completeness == ONLY_SURE:
        return _only_sure(source, purpose, options)
    if wanted is None:
        assert purpose is not None
        return _by_weights(source, purpose, completeness, missing, alpha, draws, seed, options)
    return _by_requirements(source, wanted, purpose, completeness, missing, alpha, draws, seed, options)


def _by_weights(
    source: Source,
    purpose: Profile,
    completeness: float | str,
    missing: str,
    alpha: float,
    draws: int,
    seed: int,
    options: Mapping[str, Any],
) -> Answer:
    measured = compatibility(source, purpose)
    if measured.share == 0:
        raise StereogaugeError(
            f"Nothing that the profile {purpose.id!r} weighs is measured in these scores "
            f"({', '.join(purpose.weights)}); compute it with: {measured.command}"
        )
    found = weigh(source.cube, purpose.weights, missing=missing_rule(missing), draws=draws, seed=seed)
    places = _places(found, source)
    first = int(found.order[0])
    ties = _ties(found)
    evidence = Evidence(
        purpose=opening(purpose),
        places=places,
        scenes=found.costs.scenes,
        alpha=alpha,
        measured_share=measured.share,
        property_ties=tuple(tie for tie in ties if tie.of in set(map(property_of, found.terms))),
        charged_leader=_charged_leader(found, first),
    )
    if evidence.alike and not evidence.too_few_scenes and len(evidence.scenes) < MANY_SCENES:
        nearest = found.algorithms.index(evidence.alike[0].algorithm)
        gap = found.by_scene[:, nearest] - found.by_scene[:, first]
        evidence = replace(evidence, scenes_needed=scenes_for_pair(gap, alpha) if gap.any() else None)
    return Answer(
        purpose=purpose.purpose,
        description=purpose.summary if measured.share == 1 else f"{PARTLY} {purpose.summary}",
        sentence=sentence(evidence),
        winner=evidence.winner,
        leader=places[0].algorithm,
        places=places,
        rivals=evidence.rivals,
        terms=_terms(found),
        break_even=ties,
        measured_share=measured.share,
        not_measured=measured.not_measured,
        unknown=unknown(found, evidence, source),
        completeness=_completeness_words(completeness, source),
        scenes=found.costs.scenes,
        selection=found.selection,
        options=options,
    )


def _places(found: Weighing, source: Source) -> tuple[Place, ...]:
    first = int(found.order[0])
    several = len(found.costs.scenes) > 1
    ranks = final_ranks(found.value)
    low, high = found.rank_interval if several else (ranks, ranks)
    beats = found.beaten_by(first) if several else np.where(ranks == 1, 0.5, 0.0)
    p_values = found.p_values(first)
    complete = dict(zip(source.cube.algorithms, completeness_of(source.cube), strict=True))
    places = []
    for place in found.order:
        name = found.algorithms[place]
        share = float(complete[name])
        places.append(
            Place(
                algorithm=name,
                rank=int(ranks[place]),
                score=float(found.value[place]),
                first=float(found.under_weights[place]),
                rank_low=int(low[place]),
                rank_high=int(high[place]),
                beats_leader=float(beats[place]),
                p_value=float(p_values[place]),
                completeness=None if math.isnan(share) else share,
            )
        )
    return tuple(places)


def _charged_leader(found: Weighing, first: int) -> str | None:
    """Who would lead if left-out pixels were charged, where that is one that leaves out less."""
    best = int(np.argmin(np.round(found.charged, 10)))
    if best == first or found.covered[best].mean() <= found.covered[first].mean():
        return None
    return found.algorithms[best]


def _terms(found: Weighing) -> tuple[WeighedTerm, ...]:
    scores = {
        term: np.where(np.isfinite(cells := found.costs.matrix[:, entry.flat]), cells, np.nan).mean(axis=1)
        for term, entry in found.terms.items()
    }
    return tuple(
        WeighedTerm(
            term=term,
            words=metric_words(term),
            property=property_of(term),
            stated=float(found.stated[term]),
            weight=float(entry.weight),
            effective_weight=float(found.effective[place]),
            scale=entry.origin,
            scores=tuple(float(value) for value in _shown(term, scores[term])[found.order]),
        )
        for place, (term, entry) in enumerate(found.terms.items())
    )


def _shown(term: str, costs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Costs as the scores are shown: where higher is better they were negated."""
    return -costs if parse_column(term)[0].metric.direction == "higher" else costs


def _ties(found: Weighing) -> tuple[Tie, ...]:
    """Where the next algorithms would tie with the first: by property, then by term."""
    first = int(found.order[0])
    names, weights, by_property = found.property_ties(first)
    by_term = found.ties(first)
    ties = []
    for place in found.order[1 : 1 + MOST_RIVALS]:
        rival = found.algorithms[place]
        if len(names) > 1:
            ties += _row(rival, names, weights, by_property[place])
        ties += _row(rival, tuple(found.terms), found.weights, by_term[place])
    return tuple(ties)


def _row(rival: str, names: tuple[str, ...], weights: Any, ties: Any) -> list[Tie]:
    return [
        Tie(rival, name, float(weight), float(tie))
        for name, weight, tie in zip(names, weights, ties, strict=True)
        if not math.isnan(tie)
    ]


def _completeness_words(completeness: float | str, source: Source) -> str:
    if completeness == EVERY_PIXEL:
        return "a value at every pixel"
    return f"a value at {percent(source.cube.least_coverage)} of the pixels or more"


def _only_sure(source: Source, purpose: Profile | None, options: Mapping[str, Any]) -> Answer:
    """Scores of sure pixels alone make no order."""
    shares = completeness_of(source.cube)
    sparse = [
        f"{name} {percent(share)}"
        for name, share in zip(source.cube.algorithms, shares, strict=True)
        if not math.isnan(share)
    ]
    told = f" They give a value at: {', '.join(sparse)}." if sparse else ""
    return Answer(
        purpose="" if purpose is None else purpose.purpose,
        description="" if purpose is None else purpose.summary,
        sentence="Where only sure values count there is no winner: maps of different density make no fair order, since "
        f"leaving pixels out would win it.{told} Compare them on the pixels that all of them estimate, with "
        "`stereogauge compare --common`, or at equal density.",
        winner=None,
        leader=None,
        places=(),
        rivals=(),
        terms=(),
        break_even=(),
        measured_share=math.nan,
        not_measured=(),
        unknown=(),
        completeness="only where the value is sure",
        scenes=source.cube.scenes,
        selection=Selection.of(source.cube),
        options=options,
    )


def _by_requirements(
    source: Source,
    wanted: Requirements,
    purpose: Profile | None,
    completeness: float | str,
    missing: str,
    alpha: float,
    draws: int,
    seed: int,
    options: Mapping[str, Any],
) -> Answer:
    held = fulfilment(source.cube, wanted, source.protocol, draws=draws, seed=seed)
    lacking = _requirements_not_measured(held, source, purpose)
    meeting = held.fulfilling
    weighed: Answer | None = None
    if purpose is not None and len(meeting) > 1:
        part = replace(source, cube=source.cube.select(algorithms=meeting))
        weighed = _by_weights(part, purpose, completeness, missing, alpha, draws, seed, options)
    text, winner = requirements_sentence(held, [one.words for one in lacking], len(source.cube.scenes), weighed)
    return Answer(
        purpose=wanted.name if purpose is None else f"{wanted.name}, {purpose.purpose}",
        description="; ".join(one.arithmetic for one in held.requirements),
        sentence=text,
        winner=winner,
        leader=weighed.leader if weighed is not None else (meeting[0] if meeting else None),
        places=() if weighed is None else weighed.places,
        rivals=tuple(name for name in meeting if name != winner),
        terms=() if weighed is None else weighed.terms,
        break_even=() if weighed is None else weighed.break_even,
        measured_share=float(held.measured.mean()) if len(held.requirements) else math.nan,
        not_measured=(*lacking, *(() if weighed is None else weighed.not_measured)),
        unknown=() if weighed is None else weighed.unknown,
        completeness=_completeness_words(completeness, source),
        scenes=source.cube.scenes,
        selection=Selection.of(source.cube),
        requirements=held,
        options=options,
    )


def _requirements_not_measured(held: Fulfilment, source: Source, purpose: Profile | None) -> tuple[NotMeasured, ...]:
    """Requirements without scores, with the command that computes them.

    Where one needs another protocol, everything that is asked for must be measured under that one.
    """
    lacking = [one for one, known in zip(held.requirements, held.measured, strict=True) if not known]
    settings = next((one.settings for one in lacking if one.settings), "")
    columns = [tuple(one.column.split(":", 1)) for one in (held.requirements if settings else lacking)]
    terms = [] if purpose is None or not settings else [parse_column(term)[0].id for term in purpose.weights]
    regions = dict.fromkeys(column[1] for column in columns if column[1:] and column[1] != "scene")
    command = source.command(dict.fromkeys([*(column[0] for column in columns), *terms]), regions, settings)
    return tuple(NotMeasured(one.column, one.words, math.nan, command) for one in lacking)
