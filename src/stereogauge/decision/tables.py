"""The tables of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stereogauge.decision.fulfilment import Fulfilment
from stereogauge.tables.table import Cell, Table, number, share, table, words

if TYPE_CHECKING:
    from stereogauge.decision.result import Answer, Place


def places_table(answer: Answer) -> Table:
    """Places with how sure they are under other weights and on other scenes."""
    several = len(answer.scenes) > 1
    header = ["algorithm", "rank", "weighted score", "first under other weights"]
    header += ["rank over other scenes", "p against the first"] if several else []
    rows = [[*_place(place, first=place.algorithm == answer.leader, several=several)] for place in answer.places]
    notes = [
        "Lower scores are better. First under other weights: share of small random changes of the weights in which an "
        "algorithm is first."
    ]
    if several:
        notes.append(
            "Rank over other scenes: bounds of 95 % of the draws of as many scenes. p: Wilcoxon's signed-rank test "
            f"over {len(answer.scenes)} scenes."
        )
    return table("answer", f"Places: {answer.purpose}", [*header, "value at"], rows, notes)


def _place(place: Place, *, first: bool, several: bool) -> list[Cell]:
    cells = [
        words(place.algorithm),
        Cell(place.rank, emphasis="best" if place.rank == 1 else "second" if place.rank == 2 else ""),
        number(place.score),
        share(place.first),
    ]
    if several:
        cells.append(words(f"{place.rank_low} – {place.rank_high}"))
        cells.append(words("") if first else number(place.p_value, 2))
    cells.append(Cell() if place.completeness is None else share(place.completeness, 1))
    return cells


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
    missing = [f"{one.words}: {100 * one.weight:.0f} % of the weight, not measured." for one in answer.not_measured]
    return table("answer-weights", "What is weighed", header, rows, missing)


def fulfilment_table(found: Fulfilment) -> Table:
    """Each algorithm against each requirement: its value, and by how much it meets or misses the limit."""
    header = ["algorithm", "meets all", *(f"{one.words} ≤ {one.limit_text}" for one in found.requirements)]
    rows = []
    for place, name in enumerate(found.algorithms):
        verdict = {True: "yes", False: "no", None: "not known"}[found.meets(place)]
        cells = [words(name), words(verdict)]
        for column, one in enumerate(found.requirements):
            value = found.values[place, column]
            if value != value:
                cells.append(Cell())
                continue
            met = found.met(place, column)
            cells.append(
                Cell(float(value), one.value_text(value), emphasis="best" if met else "", mark="" if met else " ✗")
            )
        rows.append(cells)
    notes = ["Means over the scenes; ✗ misses the limit."]
    return table("requirements", "Requirements", header, rows, notes)
