"""`answer` and `explain`: what to take for a purpose, how sure that is, and why one algorithm is above another."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from msgspec import structs

from stereogauge.decision.answer import answered
from stereogauge.decision.explain import Explanation, Piece, explained
from stereogauge.decision.requirements import Requirements, load_requirements
from stereogauge.decision.source import Source, compatibility
from stereogauge.errors import StereogaugeError
from stereogauge.ranking.profile import load_profile, shipped_profiles
from stereogauge.scores.scope import EVERY_PIXEL, ONLY_SURE, coverage_of
from stereogauge.text import json_value
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.scores.reader import ScoreReader
from stereogauge.web.selection import SelectionQuery

HIDDEN_SCENES = "hidden scenes"
STORE = "STORE"
"""The store in commands: its path is not shown to visitors."""


def decision_source(scores: ScoreReader, query: SelectionQuery, completeness: str) -> tuple[Source, SelectionQuery]:
    """The selected scores, and the selection under the protocol that fills holes where every pixel is needed."""
    if completeness == EVERY_PIXEL:
        filled = next(
            (one for one in scores.source.protocols() if one.protocol and one.protocol.invalid == "fill"), None
        )
        if filled is None:
            raise StereogaugeError(
                "There are no scores of maps whose holes were filled, which a value at every pixel requires; "
                "evaluate again with --set invalid=fill."
            )
        query = structs.replace(query, protocol=filled.key)
    record = scores.source.protocol(query.protocol)
    share = query.least_coverage if completeness == ONLY_SURE else coverage_of(completeness)
    chosen = structs.replace(query, least_coverage=share)
    return Source(scores.ordered(chosen), record.protocol, STORE), chosen


def answer_answer(
    scores: ScoreReader,
    query: SelectionQuery,
    profile: str | None,
    weights: dict[str, float] | None,
    requirements: str | None,
    completeness: str,
) -> dict[str, Any]:
    """The answer for a purpose, and how far every shipped profile is measured here."""
    if profile is not None and profile not in shipped_profiles():
        raise UnknownChoiceError("profile", profile, shipped_profiles())
    source, chosen = decision_source(scores, query, completeness)
    try:
        found = answered(
            source,
            None if weights else profile,
            weights,
            None if requirements is None else stated_requirements(requirements),
            completeness,
            missing=chosen.missing,
        ).to_dict()
    except StereogaugeError as reason:
        # The page still offers the other purposes.
        found = {"refused": True, "sentence": str(reason)}
    profiles = [
        {
            "id": name,
            "name": own.profile.name,
            "measured_share": own.share,
            "note": own.sentence,
            "command": own.command,
        }
        for name in shipped_profiles()
        for own in [compatibility(source, load_profile(name))]
    ]
    own = scores.source.protocol(chosen.protocol)
    return {
        **found,
        "profiles": json_value(profiles),
        "protocol": own.key,
        "datasets": list(dict.fromkeys(name for name in source.cube.datasets if name)),
        "algorithms": len(source.cube.algorithms),
    }


def explain_answer(
    scores: ScoreReader,
    query: SelectionQuery,
    first: str,
    second: str,
    profile: str | None,
    weights: dict[str, float] | None,
) -> dict[str, Any]:
    """The difference of two algorithms by metric, scene and region, from the stored scores."""
    if profile is not None and profile not in shipped_profiles():
        raise UnknownChoiceError("profile", profile, shipped_profiles())
    source = Source(scores.with_statistics(query), scores.source.protocol(query.protocol).protocol, STORE)
    for name in (first, second):
        if name not in source.cube.algorithms:
            raise UnknownChoiceError("algorithm", name, source.cube.algorithms)
    found = explained(source, first, second, None if weights else profile, weights, missing=query.missing)
    hidden = scores.hidden.unseen(source.cube)
    return {**_together(found, hidden).to_dict(), "pieces": None} if hidden else found.to_dict()


def _together(found: Explanation, hidden: set[str]) -> Explanation:
    """The explanation with hidden scenes as one: what each of them adds would reveal its scores."""
    seen = [piece for piece in found.scenes if piece.name not in hidden]
    rest = Piece(HIDDEN_SCENES, sum(piece.amount for piece in found.scenes if piece.name in hidden))
    return replace(found, scenes=(*seen, rest))


def stated_requirements(text: str) -> Requirements:
    """Requirements that the page sends as JSON with the tables of a `requirements.toml`."""
    try:
        tables = json.loads(text)
    except ValueError:
        tables = None
    if not isinstance(tables, dict):
        raise StereogaugeError("Requirements are a JSON object with the tables of a requirements.toml.")
    return load_requirements(tables)
