"""`explain`: why one algorithm scores better than another, term by term, scene by scene, region by region.

The weighted score is S = Σ_t w_t · mean over the columns f of t of n_{t,f}, so the difference of two algorithms is
S_A − S_B = Σ_t Σ_f w_t / |F_t| · (n_{A,t,f} − n_{B,t,f}): every column is of one scene, and a column over pixels
divides further into the parts of an exclusive partition of the scene. All three sums are the difference itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stereogauge.decision.divided import (
    UNDIVIDED,
    Statistics,
    measured_statistics,
    own_part,
    part_columns,
    part_shares,
    stored_statistics,
    with_undivided,
)
from stereogauge.decision.origins import Origins
from stereogauge.decision.purpose import opening, purpose_of
from stereogauge.decision.reasons import explanation_text
from stereogauge.decision.source import Source, read_scores
from stereogauge.decision.weighing import Weighing, weigh
from stereogauge.decision.words import metric_words
from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.metrics.declaration import parse_column
from stereogauge.ranking.models.weighted import Term
from stereogauge.ranking.profile import property_of
from stereogauge.ranking.run import Scores
from stereogauge.regions.parts import PARTS
from stereogauge.scores.column import Column
from stereogauge.scores.cube import Values
from stereogauge.scores.plain import json_value
from stereogauge.scores.selection import missing_rule
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
class Explanation:
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

    def _repr_html_(self) -> str:
        return "".join([f"<p>{escape(self.text)}</p>", *(html_table(one) for one in self.tables)])


def _amounts(amount: float, whole: float) -> list[Any]:
    return [number(amount), share(amount / whole + 0.0) if whole and amount else words("")]


def explain(
    scores: Scores,
    a: str,
    b: str,
    profile: str | Path | None = None,
    weights: Mapping[str, float] | None = None,
    *,
    maps: Origins | None = None,
    missing: str = "common",
) -> Explanation:
    """Why algorithm `a` scores better or worse than `b` under a profile or weights of one's own.

    The difference is divided by metric, by scene, and by region as far as the scores are stored on the parts of the
    partition (`part-occluded`, `part-fine`, …). With `maps` (see `stereogauge.decision.origins`) the parts are measured
    from the maps.

    >>> truth = np.tile([4, 4, 8, 8], (10, 5))
    >>> scores = sg.evaluate({"A": truth, "B": truth + 2}, sg.Scene("step", gt=truth), ["bad@1", "mae"], ["all"])
    >>> why = sg.explain(scores, "A", "B", weights={"bad@1": 3, "mae": 1})
    >>> [(reason.term, round(reason.amount, 3)) for reason in why.terms]
    [('bad@1', -0.938), ('mae', -0.25)]
    """
    return explained(read_scores(scores), a, b, profile, weights, maps=maps, missing=missing)


def explained(
    source: Source,
    a: str,
    b: str,
    profile: str | Path | None = None,
    weights: Mapping[str, float] | None = None,
    *,
    maps: Origins | None = None,
    missing: str = "common",
    progress: Callable[[str], None] | None = None,
    purpose: str = "",
) -> Explanation:
    """The explanation from scores that were read and selected; `explain` explains the parameters.

    `purpose` replaces the words for weights of one's own.
    """
    weighed = purpose_of(profile, weights)
    for name in (a, b):
        if name not in source.cube.algorithms:
            raise unknown_name("algorithm of these scores", name, source.cube.algorithms)
    if a == b:
        raise StereogaugeError(f"An explanation compares two algorithms; found {a!r} twice.")
    whole = _without_parts(source)
    found = weigh(whole.cube, weighed.weights, missing=missing_rule(missing), draws=1)
    for name in (a, b):
        if name not in found.algorithms:
            reason = next(what.reason for what in found.selection.dropped if what.name == name)
            raise StereogaugeError(f"{name} cannot be compared: {reason}; evaluate what it lacks, or leave it out.")
    known: dict[tuple[str, str, Column], Any] = stored_statistics(source.cube, (a, b))
    reasons: list[str] = []
    if maps is not None:
        columns = [part for column in found.costs.columns for part in (column, *part_columns(column))]
        measured, reasons = measured_statistics(maps, (a, b), found.costs.scenes, columns, progress)
        known |= {key: amount for key, amount in measured.items() if key not in known}
    pieces = _pieces(found, a, b, known)
    return _explanation(
        found, f"For {purpose}" if purpose else opening(weighed), source, (a, b), pieces, tuple(reasons)
    )


def _without_parts(source: Source) -> Source:
    """The scores without the columns on parts, which would count pixels a second time."""
    kept = [k for k, column in enumerate(source.cube.columns) if not set(column.region.split("&")) & set(PARTS)]
    return source if len(kept) == len(source.cube.columns) else replace(source, cube=source.cube.take(columns=kept))


def _pieces(found: Weighing, a: str, b: str, known: Statistics) -> Values:
    """The difference by term, scene and part; what could not be divided is last."""
    first, second = found.algorithms.index(a), found.algorithms.index(b)
    pieces = np.zeros((len(found.terms), len(found.costs.scenes), len(PARTS) + 1))
    for place, term in enumerate(found.terms.values()):
        amounts = term.weight / len(term.flat) * (term.cells[first] - term.cells[second])
        for flat, amount in zip(term.flat, amounts, strict=True):
            scene = int(found.costs.scene_of[flat])
            finite = np.isfinite(found.costs.matrix[[first, second], flat]).all()
            column = found.costs.columns[found.costs.column_of[flat]]
            shares = own_part(column)
            if shares is None and finite:
                shares = part_shares(column, found.costs.scenes[scene], a, b, known)
            pieces[place, scene] += amount * with_undivided(shares)
    return pieces


def _explanation(
    found: Weighing,
    purpose: str,
    source: Source,
    names: tuple[str, str],
    pieces: Values,
    reasons: tuple[str, ...],
) -> Explanation:
    rows = [found.algorithms.index(name) for name in names]
    terms = tuple(
        Reason(
            term,
            metric_words(term),
            property_of(term),
            float(entry.weight),
            _mean_score(found, term, entry, rows[0]),
            _mean_score(found, term, entry, rows[1]),
            float(pieces[place].sum()),
        )
        for place, (term, entry) in enumerate(found.terms.items())
    )
    scenes = tuple(map(Piece, found.costs.scenes, pieces.sum(axis=(0, 2)).tolist()))
    regions = tuple(map(Piece, (*PARTS.values(), UNDIVIDED), pieces.sum(axis=(0, 1)).tolist()))
    notes, lacking = _undivided(found, names, pieces)
    explanation = Explanation(
        first=names[0],
        second=names[1],
        purpose=purpose,
        scores=(float(found.value[rows[0]]), float(found.value[rows[1]])),
        terms=terms,
        scenes=scenes,
        regions=regions,
        pieces=pieces,
        text="",
        undivided=(*notes, *reasons),
        command=source.command(lacking, PARTS) if lacking else "",
    )
    return replace(explanation, text=explanation_text(explanation))


def _undivided(found: Weighing, names: tuple[str, str], pieces: Values) -> tuple[list[str], list[str]]:
    """Why terms could not be divided by region, in sentences, and the metrics that the parts would have to hold."""
    rows = [found.algorithms.index(name) for name in names]
    sparse, lacking, others = [], [], []
    for place, (term, entry) in enumerate(found.terms.items()):
        if not np.abs(pieces[place, :, -1]).sum():
            continue
        if not np.isfinite(found.costs.matrix[rows][:, entry.flat]).all():
            sparse.append(term)
        elif any(part_columns(found.costs.columns[found.costs.column_of[flat]]) for flat in entry.flat):
            lacking.append(parse_column(term)[0].id)
        else:
            others.append(term)
    notes = [
        f"Not divided by region: {', '.join(terms)} ({reason})."
        for terms, reason in (
            (sparse, "covers too little of its pixels on a scene"),
            (lacking, "not stored on the parts of the scenes"),
            (others, "not made of single pixels of one part"),
        )
        if terms
    ]
    return notes, list(dict.fromkeys(lacking))


def _mean_score(found: Weighing, term: str, entry: Term, row: int) -> float:
    cells = found.costs.matrix[row, entry.flat]
    if not np.isfinite(cells).all():
        return float("nan")
    sign = -1.0 if parse_column(term)[0].metric.direction == "higher" else 1.0
    return sign * float(cells.mean())
