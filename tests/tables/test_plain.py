"""Tables in pipes look as Rich would print them there, except that nothing is wrapped and nothing is markup."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from stereogauge.tables.table import Cell, Heading, Table
from stereogauge.tables.terminal import plain_text, print_table

HEADER = (Heading("algorithm"), Heading("bad@1", "nonocc", "%", "lower is better"), Heading("mae", unit="px"))


def by_rich(table: Table) -> str:
    stream = io.StringIO()
    print_table(Console(file=stream, width=10_000, highlight=False), table, boxed=False)
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
        table((Cell("立体"), Cell(1.0), Cell(1.0))),
        table((Cell("e\u0301"), Cell(1.0), Cell(1.0))),
        table((Cell("two\nlines"), Cell(1.0), Cell(1.0))),
    ],
)
def test_it_looks_as_rich_prints_it(shown: Table) -> None:
    assert plain_text(shown) == by_rich(shown)


def test_brackets_stay_and_a_long_note_is_one_line() -> None:
    note = "a note that is wider than the whole table above it"
    text = plain_text(table((Cell("a"), Cell(1.0), Cell(1.0)), title="[bold]x", notes=(note,)))
    assert text.splitlines()[0].rstrip() == "[bold]x"
    assert text.splitlines()[-1] == note


def test_a_table_without_columns_is_its_title() -> None:
    assert plain_text(table(title="Nothing", header=())).strip() == "Nothing"
