"""How a difference in one column on one scene divides into the parts of the scene where it arises."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.decision.origins import Origins
from stereogauge.decision.source import Source, opening, purpose_of, read_scores
from stereogauge.decision.weighing import Weighing, weigh
from stereogauge.decision.words import UNDIVIDED, explanation_text, metric_words
from stereogauge.display import Displayed
from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.evaluation.evaluate import evaluate_cell
from stereogauge.masks.expression import region_id
from stereogauge.masks.parts import PARTS
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.declaration import Metric, parse_column
from stereogauge.protocol import load_protocol
from stereogauge.ranking.models.weighted import Term
from stereogauge.ranking.profile import property_of
from stereogauge.ranking.run import Scores
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.plain import json_value
from stereogauge.scores.selection import missing_rule
from stereogauge.tables.markup import html_table
from stereogauge.tables.table import Table, number, share, table, words

if TYPE_CHECKING:
    import pandas as pd

OWN_PARTS: Mapping[str, str] = {
    "disc-background": "part-background",
    "disc-foreground": "part-foreground",
    "planar": "part-planar",
    "fine": "part-fine",
    "fine-surround": "part-fine",
}
"""The part to which metrics bound to these pixel sets belong as a whole."""
CANCELLED = 1e-9


class Amount(NamedTuple):
    """The sufficient statistics of one score."""

    total: float
    pixels: float


Statistics = Mapping[tuple[str, str, Column], Amount]
"""By algorithm, scene and column."""


def part_columns(column: Column) -> tuple[Column, ...]:
    """The columns whose sums make up that of `column`; empty where the metric cannot be divided by pixels."""
    metric = column.declared.metric
    if metric.region is not None or not metric.pools or metric.counts != "pixels":
        return ()
    if column.region == "all":
        return tuple(Column(column.metric, part) for part in PARTS)
    if column.region == "nonocc":
        return tuple(Column(column.metric, part) for part in PARTS if part != "part-occluded")
    if column.region in PARTS:
        return (column,)
    return tuple(Column(column.metric, region_id(f"({column.region})&{part}")) for part in PARTS)


def stored_statistics(cube: ScoreCube, algorithms: Iterable[str]) -> dict[tuple[str, str, Column], Amount]:
    """What a cube holds of the columns of some algorithms."""
    if cube.sums is None or cube.counts is None:
        return {}
    return {
        (name, scene, column): Amount(float(cube.sums[row, s, c]), float(cube.counts[row, s, c]))
        for name in algorithms
        for row in (cube.algorithms.index(name),)
        for s, scene in enumerate(cube.scenes)
        for c, column in enumerate(cube.columns)
    }


def measured_statistics(
    origins: Origins,
    algorithms: Iterable[str],
    scenes: Iterable[str],
    columns: Iterable[Column],
    progress: Callable[[str], None] | None = None,
) -> tuple[dict[tuple[str, str, Column], Amount], list[str]]:
    """The statistics of columns, measured from the maps, and the reasons where a map could not be read."""
    wanted = tuple(dict.fromkeys(columns))
    found: dict[tuple[str, str, Column], Amount] = {}
    reasons = []
    protocol = load_protocol(origins.protocol)
    names = tuple(algorithms)
    for scene in scenes if wanted else ():
        if progress is not None:
            progress(scene)
        try:
            regions = SceneRegions(origins.scene(scene), protocol)
            for name in names:
                source = origins.source(name, scene)
                if source is None:
                    raise StereogaugeError(f"the map of {name} is not at hand")
                for score in evaluate_cell(source, regions, wanted, algorithm=name):
                    column = Column(score.metric, score.region)
                    found[name, scene, column] = Amount(score.sum, float(score.count))
        except (StereogaugeError, OSError) as reason:
            reasons.append(f"{scene}: {reason}")
    return found, reasons


def own_part(column: Column) -> NDArray[np.float64] | None:
    """All of the difference in the part that a metric with pixels of its own belongs to; None for other metrics."""
    own = OWN_PARTS.get(column.declared.metric.region or "")
    return None if own is None else np.array([float(part == own) for part in PARTS])


def part_shares(column: Column, scene: str, a: str, b: str, known: Statistics) -> NDArray[np.float64] | None:
    """Shares of the difference a − b in a column that arise in each part, in the order of `PARTS`; they sum to 1.

    The mean of a pooled metric is Σ_p sum_p / count, so part p adds sum_{a,p}/count_a − sum_{b,p}/count_b; a root of a
    mean divides in the same proportions. None where the statistics of the parts are not known, or cancel out.
    """
    names = list(PARTS)
    metric = column.declared.metric
    divided = part_columns(column)
    whole = [known.get((name, scene, column)) for name in (a, b)]
    if not divided or whole[0] is None or whole[1] is None:
        return None
    amounts = np.zeros(len(names))
    for sign, name, whole_of in ((1.0, a, whole[0]), (-1.0, b, whole[1])):
        parts = [known.get((name, scene, part)) for part in divided]
        if any(part is None for part in parts) or whole_of.pixels == 0:
            return None
        sums = np.array([part.total for part in parts if part is not None])
        if not math.isclose(sums.sum(), whole_of.total, rel_tol=1e-6, abs_tol=1e-6):
            return None
        weight = sign / (whole_of.pixels if _averages(metric) else 1.0)
        for part, amount in zip(divided, sums, strict=True):
            amounts[_place(part, names)] += weight * amount
    difference, size = amounts.sum(), np.abs(amounts).sum()
    if metric.direction == "zero" and whole[0].total * whole[1].total < 0:
        return None
    return None if abs(difference) <= CANCELLED * size else np.asarray(amounts / difference, np.float64)


def _averages(metric: Metric) -> bool:
    """Whether a metric divides by its count: twice the sum over twice the pixels is the same value."""
    assert metric.finalize is not None
    return math.isclose(metric.finalize(2.0, 4), metric.finalize(1.0, 2))


def _place(column: Column, names: list[str]) -> int:
    return names.index(column.region.rpartition("&")[2])


def with_undivided(shares: NDArray[np.float64] | None) -> Values:
    """Shares over the parts and, last, over what could not be divided."""
    if shares is None:
        return np.append(np.zeros(len(PARTS)), 1.0)
    return np.append(shares, 0.0)


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
    return replace(explanation, text=explanation_text(explanation, found.selection.depth_unit))


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
