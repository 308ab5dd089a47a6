"""`answer`: the algorithm to take for a purpose, from scores, with how far the evidence supports that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from stereogauge.decision.requirements import Fulfilment, Requirements, completeness_of, fulfilment, load_requirements
from stereogauge.decision.source import (
    DEFAULT,
    OWN,
    NotMeasured,
    Source,
    measured_part,
    opening,
    purpose_of,
    read_scores,
)
from stereogauge.decision.verdict import (
    ALPHA,
    TOLERANCE,
    Place,
    Settings,
    Verdict,
    WorstScene,
    certain_places,
    compared_scores,
    need_leader,
    scenes_needed,
    worst_scenes,
)
from stereogauge.decision.words import Claim, Statement, render, sentences
from stereogauge.display import Displayed
from stereogauge.errors import StereogaugeError
from stereogauge.metrics.registry import parse_column
from stereogauge.model import FULL_WIDTH
from stereogauge.ranking.profile import Profile, load_profile, metric_words, property_of
from stereogauge.ranking.ranks import HEURISTIC
from stereogauge.ranking.run import Scores
from stereogauge.ranking.weighted_score import Tie, WeightedScore, with_stand_ins
from stereogauge.scores.scope import DRAWS, EVERY_PIXEL, LEAST_COVERAGE, ONLY_SURE, coverage_of
from stereogauge.scores.selection import Dropped, Selection, by_scenes, missing_rule
from stereogauge.text import WrittenAsCsv, WrittenAsJson, json_values, percent

if TYPE_CHECKING:
    import pandas as pd

OTHER_WIDTH = 1.5
"""Images are of another size than a profile's thresholds are meant for from this ratio of widths on."""
MOST_TOGETHER = 4
"""Scenes of one place that are named."""
PARTLY = "Full profile (partly unmeasured here):"


class WeighedTerm(NamedTuple):
    """A metric with its weight, and the share of the differences between the algorithms that it causes.

    `stated` is the weight that the profile states, `weight` the one in force after terms without scores were left out;
    `scores` holds each algorithm's mean over the scenes and `amounts` what the term adds to its weighted score, both in
    the order of the places.
    """

    term: str
    words: str
    property: str
    stated: float
    weight: float
    effective_weight: float
    scale: str
    scores: tuple[float, ...]
    amounts: tuple[float, ...]


class PropertyPart(NamedTuple):
    """A property with its weight, its share of the differences, and what it adds to each place's weighted score."""

    property: str
    weight: float
    effective_weight: float
    amounts: tuple[float, ...]


class Answer(Displayed, WrittenAsJson, WrittenAsCsv, Struct, frozen=True, eq=False, dict=True):
    """Which algorithm to take for a purpose, and how far the evidence supports that.

    `claims` state the verdict, the headline first; `unknown_claims` what the answer cannot say. `winner` is None where
    the evidence does not decide; `leader` is the one with the best score, however little that means. `rivals` may be
    better than the leader by more than the tolerance. `properties` divides the scores of the places; `weight_distance`
    is the total variation between declared and effective weights; `worst_scenes` are those of the leader.
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
    properties: tuple[PropertyPart, ...] = ()
    worst_scenes: tuple[WorstScene, ...] = ()
    weight_distance: float = math.nan
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
        return tuple(dict.fromkeys(one.command for one in self.not_measured if one.command))

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
        said = {"headline": self.statement.headline, "detail": self.statement.detail, "sentence": self.sentence}
        further = json_values(self, ("missing_scenes", "unknown"))
        return said | json_values(self, self.__struct_fields__) | further


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
    alpha: float = ALPHA,
    draws: int = DRAWS,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    proportions: Mapping[str, float] | str | None = None,
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
        Where a value is needed: "every-pixel", a share (0.9 by default, or "90%"), or "sure". An algorithm with a
        value at fewer pixels is not considered; missing pixels are charged in any case.
    scenes, algorithms, missing
        What to look at, and what a gap does, as for `rank`.
    alpha
        Level of significance of the tests over the scenes.
    tolerance
        Share of the leader's score by which another must be better to matter.
    proportions
        The share of each part of the application's images ("fine=0.3,disc=0.2,planar=0.3,other=0.2"), instead of
        weights: scores measured on the parts are composed in these proportions.
    draws, seed
        Number of draws of weights and of scenes, and their seed.

    Examples
    --------
    >>> truth = np.tile([4, 4, 8, 8], (10, 5))
    >>> scenes = [sg.Scene(f"s{k}", gt=truth + k) for k in range(6)]
    >>> maps = {"near": {s.id: s.gt + 2 for s in scenes}, "exact": {s.id: s.gt for s in scenes}}
    >>> sg.answer(sg.evaluate(maps, scenes, ["bad@1"], ["all"]), weights={"bad@1": 1}).winner
    'exact'
    """
    source = read_scores(scores, completeness)
    if scenes is not None or algorithms is not None:
        source = replace(source, cube=source.cube.select(scenes=scenes, algorithms=algorithms))
    settings = Settings(completeness, alpha, draws, seed, missing, tolerance)
    return answered(source, settings, purpose_of(source.cube, profile, weights, proportions), requirements)


def answered(
    source: Source,
    settings: Settings,
    purpose: Profile | None = None,
    requirements: Requirements | Mapping[str, Any] | str | Path | None = None,
) -> Answer:
    """The answer from scores that were read and selected; `answer` explains the parameters."""
    settings.check()
    wanted = None if requirements is None else load_requirements(requirements)
    share = coverage_of(settings.completeness)
    if wanted is not None and wanted.completeness is not None and settings.completeness == LEAST_COVERAGE:
        share = wanted.completeness.share
    source = replace(source, cube=source.cube.limited(share))
    if settings.completeness == ONLY_SURE:
        return _only_sure(source, purpose if wanted or purpose else load_profile(DEFAULT), settings)
    if wanted is not None:
        return _by_requirements(source, wanted, purpose, settings)
    return _by_weights(source, purpose or load_profile(DEFAULT), settings)


def _by_weights(source: Source, purpose: Profile, settings: Settings) -> Answer:
    rule = missing_rule(settings.missing)
    if not any(term in (column.metric, str(column)) for term in purpose.weights for column in source.cube.columns):
        weighing = "these weights weigh" if purpose.id == OWN else f"the profile {purpose.id!r} weighs"
        raise StereogaugeError(
            f"Nothing that {weighing} is measured in these scores ({', '.join(purpose.weights)}); compute it with: "
            f"{measured_part(source, purpose, None).command}"
        )
    purpose = with_stand_ins(purpose, source.cube)
    need = source.cube.least_coverage
    score, selection = compared_scores(source.cube, purpose, rule)
    measured = measured_part(source, purpose, score)
    places = certain_places(score, source.cube, purpose, settings)
    worst = worst_scenes(score)
    names, member = score.properties
    shares, parts = (score.weights @ member, score.effective @ member), score.by_term[score.order] @ member
    verdict = Verdict(
        purpose=opening(purpose),
        places=places,
        scenes=score.scenes,
        units=score.costs.units,
        alpha=settings.alpha,
        measured_share=measured.share,
        terms=len(score.terms),
        tolerance=settings.tolerance,
        need=need,
        need_leader=need_leader(source.cube, purpose, rule, places[0].algorithm),
        weight_distance=score.weight_distance,
        disproportions=score.disproportions,
        worst_scenes=tuple(one.scene for one in worst),
        nearest_tie=score.nearest_tie,
        stand_ins=purpose.standing_in,
        scenes_needed=scenes_needed(score, places, settings),
    )
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
        properties=tuple(map(PropertyPart, names, *(own.tolist() for own in shares), map(tuple, parts.T.tolist()))),
        worst_scenes=worst,
        weight_distance=score.weight_distance,
        break_even=score.nearest_ties,
        not_measured=measured.not_measured,
        unknown_claims=tuple(_unknown(score, selection, purpose, source)),
        options=settings._asdict(),
    )


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
            amounts=tuple(score.by_term[score.order, place].tolist()),
        )
        for place, (term, entry) in enumerate(score.terms.items())
    )


def _unknown(score: WeightedScore, selection: Selection, purpose: Profile, source: Source) -> Iterator[Claim]:
    """Gaps, small numbers of scenes, terms with too much influence, and scales taken from the selection."""
    count, cube = float(len(score.scenes)), source.cube
    if count < selection.asked_scenes:
        yield Claim("scenes-left-out", numbers={"scenes": count, "asked": float(selection.asked_scenes)})
    if score.costs.units < count:
        together = tuple(
            " with ".join(unit if len(unit) <= MOST_TOGETHER else (unit[0], f"{len(unit) - 1} others"))
            for unit in score.units
            if len(unit) > 1
        )
        yield Claim("one-place", together, {"scenes": count, "units": float(score.costs.units)})
    alike: dict[tuple[str, str], list[Dropped]] = {}
    for what in selection.dropped:
        alike.setdefault((what.kind, what.reason), []).append(what)
    for (kind, reason), some in alike.items():
        if kind == "algorithm":
            yield Claim("not-compared", tuple(what.name for what in some), texts={"reason": reason})
    for what in selection.dropped:
        if what.kind == "score":
            yield Claim("last-place", (what.name,), texts={"reason": what.reason})
    for (kind, reason), some in alike.items():
        if kind == "column":
            yield Claim("columns-left-out", tuple(by_scenes(some)), texts={"reason": reason})
    own = tuple(term for term, entry in score.terms.items() if "selection" in entry.origin)
    if own:
        yield Claim("no-usual-range", own)
    normalised = (term for term, entry in score.terms.items() if entry.origin == HEURISTIC)
    if any(parse_column(term)[0].metric.scaling == "length" for term in normalised):
        scenes = zip(cube.facts, cube.datasets, strict=True)
        guessed = (name for facts, name in scenes if not facts.stated and not math.isnan(facts.size))
        if names := tuple(dict.fromkeys(name or "the scenes" for name in guessed)):
            yield Claim("size-guessed", names)
    thresholds = tuple(term for term in purpose.thresholds if term in score.terms)
    widths = [FULL_WIDTH * facts.size for facts in cube.facts if not math.isnan(facts.size)]
    if thresholds and widths and purpose.image_width:
        ratio = median(widths) / purpose.image_width
        if max(ratio, 1 / ratio) > OTHER_WIDTH:
            numbers = {"meant": purpose.image_width, "found": ratio * purpose.image_width}
            yield Claim("other-width", thresholds, numbers, {"effect": "smaller" if ratio > 1 else "larger"})
    datasets = tuple(dict.fromkeys(name for name in cube.datasets if name))
    if len(datasets) == 1:
        yield Claim("one-dataset", datasets)


def _completeness_words(completeness: float | str, source: Source) -> str:
    if completeness == EVERY_PIXEL:
        return "a value at every pixel"
    return f"a value at {percent(source.cube.least_coverage)} of the pixels or more"


def _only_sure(source: Source, purpose: Profile | None, settings: Settings) -> Answer:
    """Scores of sure pixels alone make no order."""
    known = {name: share for name, share in completeness_of(source.cube).items() if not math.isnan(share)}
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


def _by_requirements(source: Source, wanted: Requirements, purpose: Profile | None, settings: Settings) -> Answer:
    held = fulfilment(source.cube, wanted, source.protocol, draws=settings.draws, seed=settings.seed)
    meeting = held.fulfilling
    found = Answer(
        purpose=wanted.name if purpose is None else f"{wanted.name}, {purpose.purpose}",
        description="; ".join(one.arithmetic for one in held.requirements),
        claims=held.claims,
        winner=held.winner,
        leader=meeting[0] if meeting else None,
        rivals=tuple(name for name in meeting if name != held.winner),
        completeness=_completeness_words(settings.completeness, source),
        scenes=source.cube.scenes,
        selection=Selection.of(source.cube),
        measured_share=float(held.measured.mean()) if len(held.requirements) else math.nan,
        not_measured=_requirements_not_measured(held, source, purpose),
        requirements=held,
        options=settings._asdict(),
    )
    if purpose is None or len(meeting) < 2:
        return found
    weighed = _by_weights(replace(source, cube=source.cube.select(algorithms=meeting)), purpose, settings)
    claims, winner = held.claims, None
    if held.reachable and not held.lacking:
        claims, winner = (Claim("weights-choose", meeting), *weighed.claims), weighed.winner
    elif held.reachable:
        unchecked = Claim("not-checked", tuple(one.words for one in held.lacking))
        claims = (Claim("weights-cannot-choose", meeting, texts={"leader": weighed.leader or ""}), unchecked)
    return replace(
        weighed,
        purpose=found.purpose,
        description=found.description,
        claims=claims,
        winner=winner,
        rivals=tuple(name for name in meeting if name != winner),
        scenes=found.scenes,
        measured_share=found.measured_share,
        not_measured=(*found.not_measured, *weighed.not_measured),
        requirements=held,
    )


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
