"""`answer` and `explain`: what to take for a purpose, how sure that is, and why one algorithm is above another."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from stereogauge.decision.answer import Answer, answered
from stereogauge.decision.explain import Piece, explained
from stereogauge.decision.requirements import Requirements, load_requirements
from stereogauge.decision.source import Source, purpose_of
from stereogauge.decision.verdict import Settings
from stereogauge.decision.words import Claim, render, sentences
from stereogauge.errors import StereogaugeError
from stereogauge.figures.chart import Spec, tidy
from stereogauge.figures.ranking import intervals
from stereogauge.ranking.profile import Profile, shipped_profiles
from stereogauge.text import chance_text
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.responses import Plain
from stereogauge.web.scores.catalogue import STORE, default_weights
from stereogauge.web.scores.reader import ScoreReader
from stereogauge.web.selection import SelectionQuery

MOST_SHOWN = 8
HIDDEN_SCENES = "hidden scenes"
AS_MEASURED = "Every metric of accuracy and completeness that is measured here weighs the same."
OF_ALGORITHM = ("leader",)
"""Texts of claims that name an algorithm."""


def answer_answer(
    scores: ScoreReader,
    query: SelectionQuery,
    profile: str | None = None,
    weights: dict[str, float] | None = None,
    requirements: str | None = None,
) -> Plain:
    """The answer for a purpose; where there is none, `refused` with the reason."""
    _check_profile(profile)
    source = Source(scores.ordered(query), scores.record(query).protocol, STORE)
    wanted = None if requirements is None else stated_requirements(requirements)
    try:
        purpose = chosen_purpose(scores, query, profile, weights)
        settings = Settings(query.need or query.coverage, missing=query.missing)
        decided = answered(source, settings, purpose, wanted)
        found = decided.to_dict() | {
            "parts": [_split(text) for text in render(_marked(decided.claims, source))],
            "unknown_parts": [_split(text) for text in sentences(_marked(decided.unknown_claims, source))],
            "figure": _certainty(decided, scores),
        }
    except StereogaugeError as reason:
        # The page still offers the other purposes.
        found = {"refused": True, "sentence": str(reason)}
    return {**found, "protocol": scores.record(query).key, "algorithms": len(source.cube.algorithms)}


def _certainty(found: Answer, scores: ScoreReader) -> Spec | None:
    """The scores of the first places with their intervals, and how likely each is to be better than the leader."""
    if len(found.places) < 2:
        return None
    several = len(found.scenes) > 1  # one scene says nothing about others
    shown = found.places[:MOST_SHOWN]
    rows = tidy(
        algorithm=[one.algorithm for one in shown],
        value=[one.score for one in shown],
        low=[one.score_low if several else math.nan for one in shown],
        high=[one.score_high if several else math.nan for one in shown],
        note=["leads" if one.algorithm == found.leader else chance_text(one.beats_leader) for one in shown],
    )
    axis = f"score{' with 95 % interval' if several else ''}, lower is better"
    styles = scores.source.styles([one.algorithm for one in shown])
    return intervals("", "", rows, axis, "better in" if several else "", styles).page_spec()


MARK = "\ue000"
"""Surrounds the name of an algorithm while claims become text; no name may hold it."""


def _marked(claims: Iterable[Claim], source: Source) -> list[Claim]:
    """The claims with marks around the names of algorithms, so that a page can draw these as names.

    Commands are left out: a page links to what they do.
    """
    marked = {name: f"{MARK}{name.replace(MARK, '')}{MARK}" for name in source.cube.algorithms}
    return [
        replace(
            claim,
            names=tuple(marked.get(name, name) for name in claim.names),
            numbers={marked.get(name, name): value for name, value in claim.numbers.items()},
            texts={
                key: marked.get(text, text) if key in OF_ALGORITHM else text
                for key, text in claim.texts.items()
                if key != "command"
            },
        )
        for claim in claims
    ]


def _split(text: str) -> list[Plain]:
    """The text in parts: words, and names of algorithms. A name such as `Smith et al.` ends a sentence itself."""
    parts = text.split(MARK)
    for place in range(2, len(parts), 2):
        if parts[place - 1].endswith("."):
            parts[place] = parts[place].removeprefix(".")
    return [{"text": part, "name": place % 2 == 1} for place, part in enumerate(parts) if part]


def _check_profile(name: str | None) -> None:
    if name is not None and name not in shipped_profiles():
        raise UnknownChoiceError("profile", name, shipped_profiles())


def chosen_purpose(
    scores: ScoreReader, query: SelectionQuery, profile: str | None, weights: Mapping[str, float] | None
) -> Profile | None:
    """The weights of the scope's proportions, those that a request states, or its profile; None without any.

    Stated weights that are those of the data set by default have a name.
    """
    _check_profile(profile)
    own = scores.weights(query, weights, profile)
    stated = purpose_of(scores.values(query), profile, own)
    if stated is None or own is None or own != default_weights(scores, query):
        return stated
    return replace(stated, id="as-measured", description=AS_MEASURED, purpose_words="accuracy as measured")


def explain_answer(
    scores: ScoreReader,
    query: SelectionQuery,
    first: str,
    second: str,
    profile: str | None,
    weights: dict[str, float] | None,
) -> Plain:
    """The difference of two algorithms by metric, scene and region, from the stored scores."""
    purpose = chosen_purpose(scores, query, profile, weights)
    source = Source(scores.with_statistics(query), scores.record(query).protocol, STORE)
    for name in (first, second):
        if name not in source.cube.algorithms:
            raise UnknownChoiceError("algorithm", name, source.cube.algorithms)
    found = explained(source, first, second, Settings(missing=query.missing), purpose)
    hidden = scores.hidden.unseen(source.cube)
    shown = found
    if hidden:  # as one scene: what each of them adds would reveal its scores
        seen = [piece for piece in found.scenes if piece.name not in hidden]
        rest = Piece(HIDDEN_SCENES, sum(piece.amount for piece in found.scenes if piece.name in hidden))
        shown = replace(found, scenes=(*seen, rest))
    said = [{"kind": claim.kind, "parts": _split(render([claim]).sentence)} for claim in _marked(shown.claims, source)]
    return shown.to_dict() | ({"pieces": None} if hidden else {}) | {"said": said}


def stated_requirements(text: str) -> Requirements:
    """Requirements that the page sends as JSON with the tables of a `requirements.toml`."""
    try:
        tables = json.loads(text)
    except ValueError:
        tables = None
    if not isinstance(tables, dict):
        raise StereogaugeError("Requirements are a JSON object with the tables of a requirements.toml.")
    return load_requirements(tables)
