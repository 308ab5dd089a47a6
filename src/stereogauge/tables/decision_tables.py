"""Tables of answers, explanations, requirements and gates, and an answer as a fragment of a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from stereogauge.decision.answer import Answer
from stereogauge.decision.explain import Explanation
from stereogauge.decision.gate import Gate
from stereogauge.decision.requirements import Fulfilment
from stereogauge.decision.words import with_unit
from stereogauge.scores.aggregation import counting_note
from stereogauge.tables.formats import html_table
from stereogauge.tables.ranking_tables import table_of_weights
from stereogauge.tables.table import Cell, Table, number, rank_cell, share, table
from stereogauge.text import counted, percent, stated_percent


def answer_tables(answer: Answer) -> tuple[Table, ...]:
    """The requirements, the places with their certainty, and the weights: those of them that there are."""
    found = [] if answer.requirements is None else [fulfilment_table(answer.requirements)]
    found += [places_table(answer)] if answer.places else []
    return (*found, terms_table(answer)) if answer.terms else tuple(found)


def answer_html(answer: Answer) -> str:
    """The answer as a fragment of a page, its tables included."""
    geometry = () if answer.requirements is None else answer.requirements.geometry
    commands = escape("\n".join(answer.commands))
    return "".join(
        (
            f'<p class="answer">{escape(answer.sentence)}</p>',
            f"<p>{escape(answer.description)}</p>" if answer.description else "",
            _list("What your camera allows", geometry),
            *map(html_table, answer_tables(answer)),
            _list("What is not known", answer.unknown),
            f"<p>To measure what is missing:</p><pre>{commands}</pre>" if commands else "",
        )
    )


def _list(title: str, lines: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<p>{escape(title)}:</p><ul>{items}</ul>" if items else ""


def places_table(answer: Answer) -> Table:
    """Places with how sure they are under other weights and on other scenes."""
    several = len(answer.scenes) > 1
    header = ["algorithm", "rank", "weighted score", "first under other weights"]
    header += ["rank when scenes are redrawn (95 %)", "p against the first"] if several else []
    rows = []
    for place in answer.places:
        p_value = "" if place.algorithm == answer.leader else number(place.p_value, 2)
        redrawn = [f"{place.rank_low} – {place.rank_high}", p_value] if several else []
        first = Cell(place.first, percent(place.first))
        coverage = None if place.completeness is None else share(place.completeness, 1)
        rows.append([place.algorithm, rank_cell(place.rank), place.score, first, *redrawn, coverage])
    notes = [
        "Lower scores are better. First under other weights: share of small random changes of the weights in which an "
        "algorithm is first."
    ]
    if several:
        scenes = counted(answer.selection.independent_scenes, "independent scene")
        notes.append(
            "Rank when scenes are redrawn: its bounds in 95 % of the draws. p: one-sided sign-flip test over "
            f"{scenes} that an algorithm is not better than the first by more than "
            f"{stated_percent(answer.options['tolerance'])}."
        )
    if counting := counting_note(answer.selection.aggregation):
        notes.append(counting)
    return table("answer", f"Places: {answer.purpose}", [*header, "coverage"], rows, notes)


def terms_table(answer: Answer) -> Table:
    """What is weighed: stated weight, share of the differences, and where the first rival would lead."""
    rival = answer.places[1].algorithm if len(answer.places) > 1 else None
    ties = {tie.of: tie.tie for tie in answer.break_even if tie.rival == rival}
    terms = [
        (one.words, one.property, one.weight, one.effective_weight, ties.get(one.term, math.nan))
        for one in answer.terms
    ]
    missing = [
        f"{one.words}: {percent(one.weight)} of the weight, not measured{f' {one.where}' if one.where else ''}."
        for one in answer.not_measured
    ]
    return table_of_weights("answer-weights", "What is weighed", terms, rival, missing)


def fulfilment_table(found: Fulfilment) -> Table:
    """Each algorithm against each requirement: its value, and whether it keeps the limit."""
    header = ["algorithm", "meets all", *(f"{one.words} ≤ {one.limit_text}" for one in found.requirements)]
    rows = []
    for place, name in enumerate(found.algorithms):
        cells: list[object] = [name, {True: "yes", False: "no", None: "not known"}[found.meets(place)]]
        for one, value in zip(found.requirements, found.values[place].tolist(), strict=True):
            met = value <= one.limit
            kept = Cell(value, with_unit(value, one.unit), "best" if met else "", "" if met else " ✗")
            cells.append(None if math.isnan(value) else kept)
        rows.append(cells)
    return table("requirements", "Requirements", header, rows, ["Averages over the scenes; ✗ misses the limit."])


def explanation_tables(found: Explanation) -> tuple[Table, ...]:
    """The difference by term, by scene and by region."""
    heads = ["metric", "weight", found.first, found.second, "adds to the difference", "share"]
    rows = [
        [r.words, share(r.weight, 1), r.first, r.second, *_amounts(r.amount, found.difference)]
        for r in sorted(found.terms, key=lambda reason: -abs(reason.amount))
    ]
    notes = [f"Negative amounts speak for {found.first}, positive ones for {found.second}; they sum to the difference."]
    notes.append("Scores are averages over scenes and regions, missing pixels charged; `table` has them as measured.")
    if any(math.isnan(r.first) or math.isnan(r.second) for r in found.terms):
        notes.append("–: no average over scenes, because coverage is too low on one; it takes the last place there.")
    title = f"Why {found.first} and {found.second} differ by {found.difference:+.4f}"
    tables = [table("why-terms", title, heads, rows, notes)]
    for name, what, pieces in (("why-scenes", "scene", found.scenes), ("why-regions", "region", found.regions)):
        kept = [piece for piece in pieces if piece.amount or piece.attributed]
        lines = [[piece.name, *_amounts(piece.amount, found.difference)] for piece in kept]
        below = found.undivided if what == "region" else ()
        tables.append(table(name, f"The same by {what}", [what, "adds to the difference", "share"], lines, below))
    return tuple(tables)


def explanation_html(found: Explanation) -> str:
    """The explanation as a fragment of a page, its tables included."""
    return "".join([f"<p>{escape(found.text)}</p>", *map(html_table, explanation_tables(found))])


def _amounts(amount: float, whole: float) -> list[object]:
    return [amount, share(amount / whole + 0.0) if whole and amount else ""]


def gate_table(gate: Gate, *, everything: bool = False) -> Table:
    """What got worse than allowed; every check on request."""
    header = ["algorithm", "column", "where", "baseline", "now", "change", "allowed", "p", "verdict"]
    rows = []
    for check in (one for one in gate.checks if everything or not one.kept):
        change = check.new - check.old
        changed = None if math.isnan(change) else Cell(change, f"{change:+.3g}")
        values = [check.old, check.new, changed, check.limit, number(check.p_value, 2), check.verdict]
        rows.append([check.algorithm, check.column, check.where, *values])
    return table("gate", "Every check" if everything else "What got worse", header, rows, [gate.sentence])
