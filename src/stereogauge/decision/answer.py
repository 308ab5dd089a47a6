"""`answer`: scores and a purpose in; the algorithm to take out, with how far the evidence supports that."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stereogauge.decision.claims import Claim, Place, Tie, Verdict
from stereogauge.decision.fulfilment import Fulfilment, completeness_of, fulfilment
from stereogauge.decision.requirements import Requirements, load_requirements
from stereogauge.decision.source import NotMeasured, Source, measured_part, opening, purpose_of, read_scores
from stereogauge.decision.words import Statement, render, sentences
from stereogauge.display import Displayed
from stereogauge.errors import StereogaugeError
from stereogauge.metrics.registry import parse_column
from stereogauge.ranking.bootstrap import beats, rank_interval, resample_scenes
from stereogauge.ranking.profile import Profile, metric_words, property_of
from stereogauge.ranking.ranks import DIGITS, final_ranks
from stereogauge.ranking.run import Scores
from stereogauge.ranking.significance import scenes_for_pair, signed_rank_p
from stereogauge.ranking.weighted_score import WeightedScore, weigh, weighted_columns
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.scope import EVERY_PIXEL, LEAST_COVERAGE, ONLY_SURE, coverage_of
from stereogauge.scores.selection import Selection, missing_rule
from stereogauge.text import json_value, percent

if TYPE_CHECKING:
    import pandas as pd

MOST_RIVALS = 3
MANY_SCENES = 50
"""From here on the answer does not estimate how many more scenes would distinguish two algorithms."""
PARTLY = "Full profile (partly unmeasured here):"


class WeighedTerm(NamedTuple):
    """A metric with its weight, and the share of the differences between the algorithms that it causes.

    `stated` is the weight that the profile states, `weight` the one in force after terms without scores were left out;
    `scores` holds each algorithm's mean over the scenes, in the order of the places.
    """

    term: str
    words: str
    property: str
    stated: float
    weight: float
    effective_weight: float
    scale: str
    scores: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Answer(Displayed):
    """Which algorithm to take for a purpose, and how far the evidence supports that.

    `claims` state the verdict, the headline first; `unknown_claims` what the answer cannot say. `winner` is None where
    the evidence does not decide; `leader` is the one with the best score, however little that means. `rivals` may be
    as good as the leader or come close to it.
    """

    purpose: str
    description: str
    claims: tuple[Claim, ...]
    winner: str | None
    leader: str | None
    rivals: tuple[str, ...]
    completeness: str
    scenes: tuple[str, ...]
    selection: Selection
    measured_share: float = math.nan
    places: tuple[Place, ...] = ()
    terms: tuple[WeighedTerm, ...] = ()
    break_even: tuple[Tie, ...] = ()
    not_measured: tuple[NotMeasured, ...] = ()
    unknown_claims: tuple[Claim, ...] = ()
    requirements: Fulfilment | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Answer({self.sentence})"

    @cached_property
    def statement(self) -> Statement:
        """The verdict in words: headline and detail."""
        return render(self.claims)

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        return self.statement.sentence

    @property
    def unknown(self) -> tuple[str, ...]:
        """What the answer cannot say, in sentences."""
        return sentences(self.unknown_claims)

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that would measure what is missing."""
        return tuple(dict.fromkeys(one.command for one in self.not_measured))

    @property
    def effective_weights(self) -> dict[str, float]:
        """Share of the differences between the algorithms that each measured term causes."""
        return {term.term: term.effective_weight for term in self.terms}

    @property
    def missing_scenes(self) -> tuple[str, ...]:
        """Selected scenes that could not be compared."""
        return tuple(what.name for what in self.selection.dropped if what.kind == "scene")

    @property
    def text(self) -> str:
        """The sentence, and below it what is not known."""
        lines = [self.sentence]
        if self.requirements is not None:
            lines += ["", "What your camera allows:", *(f"  - {line}" for line in self.requirements.geometry)]
        if self.unknown:
            lines += ["", "What is not known:", *(f"  - {line}" for line in self.unknown)]
        if self.commands:
            lines += ["", "To measure what is missing:", *(f"  {command}" for command in self.commands)]
        return "\n".join(lines)

    def to_pandas(self) -> pd.DataFrame:
        """One row per algorithm: its place with its certainty, then its mean score by each measured term."""
        import pandas as pd

        frame = pd.DataFrame([place._asdict() for place in self.places], columns=list(Place._fields))
        for term in self.terms:
            frame[term.term] = term.scores
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON."""
        return {
            "purpose": self.purpose,
            "description": self.description,
            "headline": self.statement.headline,
            "detail": self.statement.detail,
            "sentence": self.sentence,
            "claims": [claim.to_dict() for claim in self.claims],
            "winner": self.winner,
            "leader": self.leader,
            "rivals": list(self.rivals),
            "places": [json_value(place._asdict()) for place in self.places],
            "terms": [json_value(term._asdict()) for term in self.terms],
            "break_even": [json_value(tie._asdict()) for tie in self.break_even],
            "measured_share": json_value(self.measured_share),
            "not_measured": [json_value(one._asdict()) for one in self.not_measured],
            "missing_scenes": list(self.missing_scenes),
            "unknown": list(self.unknown),
            "unknown_claims": [claim.to_dict() for claim in self.unknown_claims],
            "completeness": self.completeness,
            "scenes": list(self.scenes),
            "selection": self.selection.to_dict(),
            "requirements": None if self.requirements is None else self.requirements.to_dict(),
            "options": json_value(dict(self.options)),
        }

    def to_json(self) -> str:
        """`to_dict` as one JSON document."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)


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
    """Which algorithm to take for an application, and how far the scores support that.

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


class _Settings(NamedTuple):
    """How an answer is computed; these are also its recorded options."""

    completeness: float | str
    alpha: float
    draws: int
    seed: int
    missing: str


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
    share = coverage_of(completeness)
    if wanted is not None and wanted.completeness is not None and completeness == LEAST_COVERAGE:
        share = wanted.completeness
    source = replace(source, cube=source.cube.limited(share))
    settings = _Settings(completeness, alpha, draws, seed, missing)
    if completeness == ONLY_SURE:
        return _only_sure(source, purpose, settings)
    if wanted is not None:
        return _by_requirements(source, wanted, purpose, settings)
    assert purpose is not None
    return _by_weights(source, purpose, settings)


def _by_weights(source: Source, purpose: Profile, settings: _Settings) -> Answer:
    rule = missing_rule(settings.missing)
    if not any(term in (column.metric, str(column)) for term in purpose.weights for column in source.cube.columns):
        raise StereogaugeError(
            f"Nothing that the profile {purpose.id!r} weighs is measured in these scores "
            f"({', '.join(purpose.weights)}); compute it with: {measured_part(source, purpose, ()).command}"
        )
    score, selection = weigh(source.cube, purpose.weights, missing=rule)
    measured = measured_part(source, purpose, score.terms)
    places = _places(score, source.cube, settings)
    ties = _ties(score)
    verdict = Verdict(
        purpose=opening(purpose),
        places=places,
        scenes=score.scenes,
        alpha=settings.alpha,
        measured_share=measured.share,
        property_ties=tuple(tie for tie in ties if tie.of in set(map(property_of, score.terms))),
        terms=len(score.terms),
        charged_leader=_charged_leader(score, source.cube),
    )
    verdict = replace(verdict, scenes_needed=_scenes_needed(score, verdict))
    return Answer(
        purpose=purpose.purpose,
        description=purpose.summary if measured.share == 1 else f"{PARTLY} {purpose.summary}",
        claims=verdict.claims,
        winner=verdict.winner,
        leader=places[0].algorithm,
        rivals=verdict.rivals,
        completeness=_completeness_words(settings.completeness, source),
        scenes=score.scenes,
        selection=selection,
        measured_share=measured.share,
        places=places,
        terms=_terms(score),
        break_even=ties,
        not_measured=measured.not_measured,
        unknown_claims=tuple(_unknown(score, selection, verdict, source)),
        options=settings._asdict(),
    )


def _places(score: WeightedScore, cube: ScoreCube, settings: _Settings) -> tuple[Place, ...]:
    """The algorithms from best to worst, with how sure their places are under other weights and on other scenes."""
    first = int(score.order[0])
    ranks = final_ranks(score.value)
    under_weights = (final_ranks(score.perturbed(settings.draws, settings.seed)) == 1).mean(axis=0)
    low, high, beating = ranks, ranks, np.where(ranks == 1, 0.5, 0.0)
    if len(score.scenes) > 1:
        drawn = np.round(score.resampled(resample_scenes(len(score.scenes), settings.draws, settings.seed)), DIGITS)
        low, high = rank_interval(final_ranks(drawn))
        beating = 1 - beats(drawn, first)
    differences = score.contributions.T - score.contributions.T[:, [first]]
    p_values = signed_rank_p(np.round(differences, DIGITS))
    complete = dict(zip(cube.algorithms, completeness_of(cube).tolist(), strict=True))
    return tuple(
        Place(
            algorithm=score.algorithms[place],
            rank=int(ranks[place]),
            score=float(score.value[place]),
            first=float(under_weights[place]),
            rank_low=int(low[place]),
            rank_high=int(high[place]),
            beats_leader=float(beating[place]),
            p_value=float(p_values[place]),
            completeness=None if math.isnan(share := complete[score.algorithms[place]]) else share,
        )
        for place in score.order
    )


def _scenes_needed(score: WeightedScore, verdict: Verdict) -> int | None:
    """How many scenes would distinguish the leader from the first that is alike; None where that is not estimated."""
    if not verdict.alike or verdict.too_few_scenes or len(score.scenes) >= MANY_SCENES:
        return None
    rival = score.algorithms.index(verdict.alike[0].algorithm)
    gap = score.contributions[rival] - score.contributions[score.order[0]]
    return scenes_for_pair(gap, verdict.alpha) if gap.any() else None


def _charged_leader(score: WeightedScore, cube: ScoreCube) -> str | None:
    """Who would lead if left-out pixels were charged, where that is one that leaves out less.

    A pixel that a score leaves out then costs as much as the worst real algorithms do, and at least as much as the
    others of its scene.
    """
    covered = _covered(weighted_columns(cube, score.stated), score)
    charged = np.zeros(len(score.algorithms))
    for term in score.terms.values():
        share = covered[:, term.flat]
        cells = share * term.cells + (1 - share) * np.maximum(term.cells, 1.0)
        charged += term._replace(cells=cells).amounts.sum(axis=1)
    best, first = int(np.argmin(np.round(charged, DIGITS))), int(score.order[0])
    if best == first or covered[best].mean() <= covered[first].mean():
        return None
    return score.algorithms[best]


def _covered(cube: ScoreCube, score: WeightedScore) -> Values:
    """The coverage of every cost whose metric leaves missing estimates out, 1 for the others."""
    costs = score.costs
    rows = [cube.algorithms.index(name) for name in costs.algorithms]
    scenes = np.array([cube.scenes.index(name) for name in costs.scenes])[costs.scene_of]
    columns = np.array([cube.columns.index(column) for column in costs.columns])[costs.column_of]
    left_out = np.array([column.declared.metric.left_out(cube.invalid) for column in costs.columns])[costs.column_of]
    covered = cube.coverage[:, scenes, columns][rows]
    return np.asarray(np.where(left_out & ~np.isnan(covered), covered, 1.0), np.float64)


def _terms(score: WeightedScore) -> tuple[WeighedTerm, ...]:
    return tuple(
        WeighedTerm(
            term=term,
            words=metric_words(term),
            property=property_of(term),
            stated=float(score.stated[term]),
            weight=float(entry.weight),
            effective_weight=float(score.effective[place]),
            scale=entry.origin,
            scores=tuple(score.mean_scores(term)[score.order].tolist()),
        )
        for place, (term, entry) in enumerate(score.terms.items())
    )


def _ties(score: WeightedScore) -> tuple[Tie, ...]:
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


def _unknown(score: WeightedScore, selection: Selection, verdict: Verdict, source: Source) -> Iterator[Claim]:
    """Gaps, small numbers of scenes, terms with too much influence, and scales taken from the selection."""
    count = float(len(score.scenes))
    if count < selection.asked_scenes:
        yield Claim("scenes-left-out", numbers={"scenes": count, "asked": float(selection.asked_scenes)})
    if verdict.too_few_scenes:
        yield Claim("below-least-scenes", numbers={"scenes": count, "least": float(verdict.least_scenes)})
    together: dict[str, list[str]] = {}
    for what in selection.dropped:
        if what.kind == "algorithm":
            together.setdefault(what.reason, []).append(what.name)
    for reason, names in together.items():
        yield Claim("not-compared", tuple(names), texts={"reason": reason})
    for what in selection.dropped:
        if what.kind == "score":
            yield Claim("last-place", (what.name,), texts={"reason": what.reason})
    columns = tuple(what.name for what in selection.dropped if what.kind == "column")
    if columns:
        yield Claim("nothing-to-compare", columns)
    for term, weight, share in score.disproportions:
        yield Claim("disproportion", (term,), {"weight": weight, "share": share})
    own = tuple(term for term, entry in score.terms.items() if "selection" in entry.origin)
    if own:
        yield Claim("no-usual-range", own)
    datasets = tuple(dict.fromkeys(name for name in source.cube.datasets if name))
    if len(datasets) == 1:
        yield Claim("one-dataset", datasets)


def _completeness_words(completeness: float | str, source: Source) -> str:
    if completeness == EVERY_PIXEL:
        return "a value at every pixel"
    return f"a value at {percent(source.cube.least_coverage)} of the pixels or more"


def _only_sure(source: Source, purpose: Profile | None, settings: _Settings) -> Answer:
    """Scores of sure pixels alone make no order."""
    shares = zip(source.cube.algorithms, completeness_of(source.cube).tolist(), strict=True)
    known = {name: share for name, share in shares if not math.isnan(share)}
    claim = Claim("only-sure", tuple(known), known, {"command": "stereogauge compare --common"})
    return Answer(
        purpose="" if purpose is None else purpose.purpose,
        description="" if purpose is None else purpose.summary,
        claims=(claim,),
        winner=None,
        leader=None,
        rivals=(),
        completeness="only where the value is sure",
        scenes=source.cube.scenes,
        selection=Selection.of(source.cube),
        options=settings._asdict(),
    )


def _by_requirements(source: Source, wanted: Requirements, purpose: Profile | None, settings: _Settings) -> Answer:
    held = fulfilment(source.cube, wanted, source.protocol, draws=settings.draws, seed=settings.seed)
    lacking = _requirements_not_measured(held, source, purpose)
    meeting = held.fulfilling
    claims, winner, leader = held.claims, held.winner, meeting[0] if meeting else None
    found = Answer(
        purpose=wanted.name if purpose is None else f"{wanted.name}, {purpose.purpose}",
        description="; ".join(one.arithmetic for one in held.requirements),
        claims=claims,
        winner=winner,
        leader=leader,
        rivals=tuple(name for name in meeting if name != winner),
        completeness=_completeness_words(settings.completeness, source),
        scenes=source.cube.scenes,
        selection=Selection.of(source.cube),
        measured_share=float(held.measured.mean()) if len(held.requirements) else math.nan,
        not_measured=lacking,
        requirements=held,
        options=settings._asdict(),
    )
    if purpose is None or len(meeting) < 2:
        return found
    weighed = _by_weights(replace(source, cube=source.cube.select(algorithms=meeting)), purpose, settings)
    if held.reachable:
        winner = None if held.lacking else weighed.winner
        claims = _weighed_claims(held, weighed)
    return replace(
        found,
        claims=claims,
        winner=winner,
        leader=weighed.leader,
        rivals=tuple(name for name in meeting if name != winner),
        places=weighed.places,
        terms=weighed.terms,
        break_even=weighed.break_even,
        not_measured=(*lacking, *weighed.not_measured),
        unknown_claims=weighed.unknown_claims,
    )


def _weighed_claims(held: Fulfilment, weighed: Answer) -> tuple[Claim, ...]:
    """Several algorithms meet the requirements, and weights choose among them where everything is measured."""
    if not held.lacking:
        return (Claim("weights-choose", held.fulfilling), *weighed.claims)
    leader = {"leader": weighed.leader or ""}
    unchecked = Claim("not-checked", tuple(one.words for one in held.lacking))
    return (Claim("weights-cannot-choose", held.fulfilling, texts=leader), unchecked)


def _requirements_not_measured(held: Fulfilment, source: Source, purpose: Profile | None) -> tuple[NotMeasured, ...]:
    """Requirements without scores, with the command that computes them.

    Where one needs another protocol, everything that is required must be measured under that one.
    """
    settings = next((one.settings for one in held.lacking if one.settings), "")
    columns = [tuple(one.column.split(":", 1)) for one in (held.requirements if settings else held.lacking)]
    terms = [] if purpose is None or not settings else [parse_column(term)[0].id for term in purpose.weights]
    regions = dict.fromkeys(column[1] for column in columns if column[1:] and column[1] != "scene")
    command = source.command(dict.fromkeys([*(column[0] for column in columns), *terms]), regions, settings)
    return tuple(NotMeasured(one.column, one.words, math.nan, command) for one in held.lacking)
