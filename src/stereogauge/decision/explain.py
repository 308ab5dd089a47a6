"""`explain`: why one algorithm scores better than another, term by term, scene by scene, region by region.

The weighted score is S = Σ_t w_t · mean over the columns f of t of n_{t,f}, so the difference of two algorithms is
S_A − S_B = Σ_t Σ_f w_t / |F_t| · (n_{A,t,f} − n_{B,t,f}): every column is of one scene, and a column over pixels
divides further into the parts of an exclusive partition of the scene. All three sums are the difference itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from stereogauge.decision.explanation import Explanation, Piece, Reason
from stereogauge.decision.origins import Origins
from stereogauge.decision.purpose import opening, purpose_of
from stereogauge.decision.reasons import explanation_text
from stereogauge.decision.source import Source, read_scores
from stereogauge.decision.weighing import Weighing, weigh
from stereogauge.decision.words import metric_words
from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.masks.parts import PARTS
from stereogauge.metrics.declaration import parse_column
from stereogauge.ranking.models.weighted import Term
from stereogauge.ranking.profile import property_of
from stereogauge.ranking.run import Scores
from stereogauge.scores.column import Column
from stereogauge.scores.cube import Values
from stereogauge.scores.selection import missing_rule


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
