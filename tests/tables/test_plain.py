"""Tables in pipes are those that Rich would print there."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from stereogauge.cli.fitting import print_fitted
from stereogauge.tables.plain import plain_text
from stereogauge.tables.table import Cell, Heading, Table
from stereogauge.tables.terminal import terminal_table

HEADER = (Heading("algorithm"), Heading("bad@1", "nonocc", "%", "lower is better"), Heading("mae", unit="px"))


def by_rich(table: Table) -> str:
    stream = io.StringIO()
    print_fitted(Console(file=stream, width=10_000, highlight=False), terminal_table(table, boxed=False))
    return stream.getvalue()


def table(
    *rows: tuple[Cell, ...], title: str = "", notes: tuple[str, ...] = (), header: tuple[Heading, ...] = HEADER
) -> Table:
    return Table("scores", title, header, rows, notes)


@pytest.mark.parametrize(
    "shown",
    [
        table((Cell("sgm"), Cell(12.34, emphasis="best"), Cell(None)), (Cell("naïve ×"), Cell(1.0, mark="‡"), Cell(7))),
        table((Cell("a"), Cell(), Cell()), title="Scores", notes=("Mean of 200 scenes.", "† missing.")),
        table(title="Nothing"),
        table((Cell("only"),), header=(Heading(""),)),
        table((Cell("σ_z"), Cell(0.5, faint=True), Cell(1e-9)), notes=("Σ", "x" * 3)),
    ],
)
def test_it_looks_as_rich_prints_it(shown: Table) -> None:
    text = plain_text(shown)
    assert text is None or text == by_rich(shown)
    assert text is not None or "Σ" in shown.notes


@pytest.mark.parametrize(
    "shown",
    [
        table((Cell("立体"), Cell(1.0), Cell(1.0))),
        table((Cell("two\nlines"), Cell(1.0), Cell(1.0))),
        table((Cell("e\u0301"), Cell(1.0), Cell(1.0))),
        table((Cell("a"), Cell(1.0), Cell(1.0)), title="[bold]x"),
        table(
            (Cell("a"), Cell(1.0), Cell(1.0)),
            notes=("a note that is wider than the whole table above it, so it wraps",),
        ),
        table(header=()),
    ],
)
def test_what_only_rich_can_print_is_left_to_it(shown: Table) -> None:
    assert plain_text(shown) is None
