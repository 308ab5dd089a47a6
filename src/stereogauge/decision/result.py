"""What an answer says, as plain values: who to take, how sure that is, what would change it, what is not known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from stereogauge.decision import tables
from stereogauge.decision.fulfilment import Fulfilment
from stereogauge.decision.words import metric_words
from stereogauge.display import Displayed
from stereogauge.scores.plain import json_value
from stereogauge.scores.selection import Selection
from stereogauge.tables.markup import html_table
from stereogauge.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd


class Place(NamedTuple):
    """One algorithm: its rank and weighted score, and how sure they are.

    `first` is the share of small changes of the weights in which it is first; `rank_low` and `rank_high` bound its rank
    in 95 % of the draws of as many scenes; `beats_leader` is the share of those draws in which it is better than the
    leader. `p_value` is of Wilcoxon's test against the leader over the scenes. `completeness` is the share of the
    pixels that have a value, None where that is not known.
    """

    algorithm: str
    rank: int
    score: float
    first: float
    rank_low: int
    rank_high: int
    beats_leader: float
    p_value: float
    completeness: float | None


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


class Tie(NamedTuple):
    """The weight of a term or property at which a rival ties with the leader, the others scaled to sum to 1."""

    rival: str
    of: str
    weight: float
    tie: float


class NotMeasured(NamedTuple):
    """A weighted metric, or a requirement, without scores, and the command that computes it."""

    term: str
    words: str
    weight: float
    command: str


@dataclass(frozen=True, eq=False)
class Answer(Displayed):
    """Which algorithm to take for a purpose, and how far the evidence carries that.

    `winner` is None where the evidence does not decide; `leader` is the one with the best score, whatever that is
    worth. `rivals` are those that cannot be told apart from it or come close. `unknown` says in sentences what the
    answer cannot say.
    """

    purpose: str
    description: str
    sentence: str
    winner: str | None
    leader: str | None
    places: tuple[Place, ...]
    rivals: tuple[str, ...]
    terms: tuple[WeighedTerm, ...]
    break_even: tuple[Tie, ...]
    measured_share: float
    not_measured: tuple[NotMeasured, ...]
    unknown: tuple[str, ...]
    completeness: str
    scenes: tuple[str, ...]
    selection: Selection
    requirements: Fulfilment | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Answer({self.sentence})"

    @property
    def effective_weights(self) -> dict[str, float]:
        """Share of the differences between the algorithms that each measured term causes."""
        return {term.term: term.effective_weight for term in self.terms}

    @property
    def missing_scenes(self) -> tuple[str, ...]:
        """Scenes that were asked for and could not be compared."""
        return tuple(what.name for what in self.selection.dropped if what.kind == "scene")

    @property
    def tables(self) -> tuple[Table, ...]:
        """The places with their certainty, the weights, and the requirements: those of them that there are."""
        found = [] if self.requirements is None else [tables.fulfilment_table(self.requirements)]
        if self.places:
            found.append(tables.places_table(self))
        if self.terms:
            found.append(tables.terms_table(self))
        return tuple(found)

    @property
    def text(self) -> str:
        """The sentence, and below it what is not known."""
        lines = [self.sentence]
        if self.requirements is not None:
            lines += ["", "What your camera allows:", *(f"  - {line}" for line in self.requirements.geometry)]
        if self.unknown:
            lines += ["", "What is not known:", *(f"  - {line}" for line in self.unknown)]
        if self.not_measured:
            lines += [
                "",
                "To measure what is missing:",
                *dict.fromkeys(f"  {one.command}" for one in self.not_measured),
            ]
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
            "sentence": self.sentence,
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
            "completeness": self.completeness,
            "scenes": list(self.scenes),
            "selection": self.selection.to_dict(),
            "requirements": None if self.requirements is None else self.requirements.to_dict(),
            "options": json_value(dict(self.options)),
        }

    def to_json(self) -> str:
        """`to_dict` as one JSON document."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)

    def to_html(self) -> str:
        """The answer as a fragment of a page, its tables included."""
        parts = [f'<p class="answer">{escape(self.sentence)}</p>']
        if self.description:
            parts.append(f"<p>{escape(self.description)}</p>")
        if self.requirements is not None:
            parts.append(_list("What your camera allows", self.requirements.geometry))
        parts += [html_table(table) for table in self.tables]
        parts.append(_list("What is not known", self.unknown))
        commands = tuple(dict.fromkeys(one.command for one in self.not_measured))
        if commands:
            parts.append(f"<p>To measure what is missing:</p><pre>{escape(chr(10).join(commands))}</pre>")
        return "".join(parts)


def _list(title: str, lines: tuple[str, ...]) -> str:
    if not lines:
        return ""
    return f"<p>{escape(title)}:</p><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def not_measured(term: str, weight: float, command: str) -> NotMeasured:
    """A term without scores, named in words."""
    return NotMeasured(term, metric_words(term), weight, command)
