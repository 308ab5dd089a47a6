"""What an explanation says, as plain values, tables and text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from stereogauge.decision.divided import UNDIVIDED
from stereogauge.display import Displayed
from stereogauge.scores.cube import Values
from stereogauge.scores.plain import json_value
from stereogauge.tables.html import html_table
from stereogauge.tables.table import Table, number, share, table, words

if TYPE_CHECKING:
    import pandas as pd


class Reason(NamedTuple):
    """A term of the difference: negative amounts speak for the first algorithm, since lower scores are better.

    `first` and `second` are the mean scores of the two in the metric's unit.
    """

    term: str
    words: str
    property: str
    weight: float
    first: float
    second: float
    amount: float


class Piece(NamedTuple):
    """A named part of the difference: a scene or a region."""

    name: str
    amount: float


@dataclass(frozen=True, eq=False)
class Explanation(Displayed):
    """Why the first algorithm scores better (or worse) than the second.

    `difference` is score of the first − score of the second. `terms`, `scenes` and `regions` each sum to it; `pieces`
    holds it by term, scene and region, shape (terms, scenes, regions). The last region is what could not be divided;
    `undivided` says why, and `command` computes what is missing.
    """

    first: str
    second: str
    purpose: str
    scores: tuple[float, float]
    terms: tuple[Reason, ...]
    scenes: tuple[Piece, ...]
    regions: tuple[Piece, ...]
    pieces: Values
    text: str
    undivided: tuple[str, ...] = ()
    command: str = ""

    @property
    def difference(self) -> float:
        """Score of the first − score of the second."""
        return self.scores[0] - self.scores[1]

    @property
    def better(self) -> str | None:
        """The one with the lower score; None where they are equal."""
        if abs(self.difference) < 1e-12:
            return None
        return self.first if self.difference < 0 else self.second

    def __repr__(self) -> str:
        return f"Explanation({self.text})"

    @property
    def tables(self) -> tuple[Table, ...]:
        """The difference by term, by scene and by region."""
        heads = ["metric", "weight", self.first, self.second, "adds to the difference", "share"]
        rows = [
            [
                words(r.words),
                share(r.weight, 1),
                number(r.first),
                number(r.second),
                *_amounts(r.amount, self.difference),
            ]
            for r in sorted(self.terms, key=lambda reason: -abs(reason.amount))
        ]
        note = f"Negative amounts speak for {self.first}, positive ones for {self.second}; they sum to the difference."
        gap = "– marks a mean over scenes of which one has too little coverage to count: the last place there."
        notes = [note, gap] if any(r.first != r.first or r.second != r.second for r in self.terms) else [note]
        title = f"Why {self.first} and {self.second} differ by {self.difference:+.4f}"
        found = [table("why-terms", title, heads, rows, notes)]
        for name, what, pieces in (("why-scenes", "scene", self.scenes), ("why-regions", "region", self.regions)):
            kept = [piece for piece in pieces if piece.amount or piece.name != UNDIVIDED]
            lines = [[words(piece.name), *_amounts(piece.amount, self.difference)] for piece in kept]
            below = self.undivided if what == "region" else ()
            found.append(table(name, f"The same by {what}", [what, "adds to the difference", "share"], lines, below))
        return tuple(found)

    def to_pandas(self) -> pd.DataFrame:
        """Long form: term, scene, region, amount; the amounts sum to the difference."""
        import pandas as pd

        names = [[r.term for r in self.terms], [p.name for p in self.scenes], [p.name for p in self.regions]]
        index = pd.MultiIndex.from_product(names, names=["term", "scene", "region"])
        return pd.DataFrame({"amount": self.pieces.ravel()}, index=index).reset_index()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "first": self.first,
            "second": self.second,
            "purpose": self.purpose,
            "scores": list(self.scores),
            "difference": self.difference,
            "better": self.better,
            "text": self.text,
            "terms": [json_value(reason._asdict()) for reason in self.terms],
            "scenes": [piece._asdict() for piece in self.scenes],
            "regions": [piece._asdict() for piece in self.regions],
            "pieces": json_value(self.pieces),
            "undivided": list(self.undivided),
            "command": self.command,
        }

    def to_json(self) -> str:
        """`to_dict` as one JSON document."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)

    def to_html(self) -> str:
        """The explanation as a fragment of a page, its tables included."""
        return "".join([f"<p>{escape(self.text)}</p>", *(html_table(one) for one in self.tables)])


def _amounts(amount: float, whole: float) -> list[Any]:
    return [number(amount), share(amount / whole + 0.0) if whole and amount else words("")]
