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
from stereogauge.tables.table import Cell, Table, number, rank_cell, share, table, words
from stereogauge.text import counted, percent, stated_percent


def answer_tables(answer: Answer) -> tuple[Table, ...]:
    """The requirements, the places with their certainty, and the weights: those of them that there are."""
    found = [] if answer.requirements is None else [fulfilment_table(answer.requirements)]
    if answer.places:
        found.append(places_table(answer))
    if answer.terms:
        found.append(terms_table(answer))
    return tuple(found)


def answer_html(answer: Answer) -> str:
    """The answer as a fragment of a page, its tables included."""
    parts = [f'<p class="answer">{escape(answer.sentence)}</p>']
    if answer.description:
        parts.append(f"<p>{escape(answer.description)}</p>")
    if answer.requirements is not None:
        parts.append(_list("What your camera allows", answer.requirements.geometry))
    parts += map(html_table, answer_tables(answer))
    parts.append(_list("What is not known", answer.unknown))
    if answer.commands:
        parts.append(f"<p>To measure what is missing:</p><pre>{escape(chr(10).join(answer.commands))}</pre>")
    return "".join(parts)


def _list(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    return f"<p>{escape(title)}:</p><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def places_table(answer: Answer) -> Table:
    """Places with how sure they are under other weights and on other scenes."""
    several = len(answer.scenes) > 1
    header = ["algorithm", "rank", "weighted score", "first under other weights"]
    header += ["rank when scenes are redrawn (95 %)", "p against the first"] if several else []
    rows = []
    for place in answer.places:
        p_value = words("") if place.algorithm == answer.leader else number(place.p_value, 2)
        redrawn = [words(f"{place.rank_low} – {place.rank_high}"), p_value] if several else []
        first = Cell(place.first, percent(place.first))
        coverage = Cell() if place.completeness is None else share(place.completeness, 1)
        rows.append([words(place.algorithm), rank_cell(place.rank), number(place.score), first, *redrawn, coverage])
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
    header = ["metric", "property", "weight", "share of the differences"]
    header += [f"weight at which {rival} ties"] if rival else []
    rows = []
    for term in answer.terms:
        row = [words(term.words), words(term.property), share(term.weight, 1), share(term.effective_weight, 1)]
        if rival:
            row.append(share(ties[term.term], 1) if term.term in ties else Cell())
        rows.append(row)
    missing = [
        f"{one.words}: {percent(one.weight)} of the weight, not measured{f' {one.where}' if one.where else ''}."
        for one in answer.not_measured
    ]
    return table("answer-weights", "What is weighed", header, rows, missing)


def fulfilment_table(found: Fulfilment) -> Table:
    """Each algorithm against each requirement: its value, and whether it keeps the limit."""
    header = ["algorithm", "meets all", *(f"{one.words} ≤ {one.limit_text}" for one in found.requirements)]
    rows = []
    for place, name in enumerate(found.algorithms):
        cells = [words(name), words({True: "yes", False: "no", None: "not known"}[found.meets(place)])]
        for one, value in zip(found.requirements, found.values[place].tolist(), strict=True):
            met = value <= one.limit
            kept = Cell(value, with_unit(value, one.unit), "best" if met else "", "" if met else " ✗")
            cells.append(Cell() if math.isnan(value) else kept)
        rows.append(cells)
    return table("requirements", "Requirements", header, rows, ["Averages over the scenes; ✗ misses the limit."])


def explanation_tables(found: Explanation) -> tuple[Table, ...]:
    """The difference by term, by scene and by region."""
    heads = ["metric", "weight", found.first, found.second, "adds to the difference", "share"]
    rows = [
        [words(r.words), share(r.weight, 1), number(r.first), number(r.second), *_amounts(r.amount, found.difference)]
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
        lines = [[words(piece.name), *_amounts(piece.amount, found.difference)] for piece in kept]
        below = found.undivided if what == "region" else ()
        tables.append(table(name, f"The same by {what}", [what, "adds to the difference", "share"], lines, below))
    return tuple(tables)


def explanation_html(found: Explanation) -> str:
    """The explanation as a fragment of a page, its tables included."""
    return "".join([f"<p>{escape(found.text)}</p>", *map(html_table, explanation_tables(found))])


def _amounts(amount: float, whole: float) -> list[Cell]:
    return [number(amount), share(amount / whole + 0.0) if whole and amount else words("")]


def gate_table(gate: Gate, *, everything: bool = False) -> Table:
    """What got worse than allowed; every check on request."""
    shown = [check for check in gate.checks if everything or not check.kept]
    header = ["algorithm", "column", "where", "baseline", "now", "change", "allowed", "p", "verdict"]
    title = "Every check" if everything else "What got worse"
    rows = []
    for check in shown:
        change = check.new - check.old
        changed = Cell() if math.isnan(change) else Cell(change, f"{change:+.3g}")
        values = [number(check.old), number(check.new), changed, words(check.limit), number(check.p_value, 2)]
        rows.append([*map(words, (check.algorithm, check.column, check.where)), *values, words(check.verdict)])
    return table("gate", title, header, rows, [gate.sentence])
