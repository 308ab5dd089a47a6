"""A table of typed cells; `stereogauge.tables.formats` and `terminal` write it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from stereogauge.display import Displayed
from stereogauge.text import GAP, json_value, number_text

Emphasis = Literal["", "best", "second"]
Value = float | int | str | None
MARK = "†"
FAINT = "‡"
"""Follows a value that covers too little, or too few pixels, to be ranked."""

DIRECTIONS = {"lower": "", "higher": "higher is better", "zero": "0 is best"}
"""What a heading says of its metric."""


class Cell(Struct, frozen=True):
    """A value and how it is shown: None is a gap; `text` replaces the usual form of a number.

    `mark` follows the value, `note` says what a reader should know of it (the reason of a gap, for example).
    `coverage` is the share of the pixels behind the value that have an estimate; a `faint` value is shown but is no
    evidence.
    """

    value: Value = None
    text: str = ""
    emphasis: Emphasis = ""
    mark: str = ""
    note: str = ""
    coverage: float | None = None
    faint: bool = False

    @property
    def shown(self) -> str:
        """What a reader sees, without the mark."""
        if self.text or self.value is None:
            return self.text or GAP
        return number_text(self.value) if isinstance(self.value, float) else str(self.value)

    @property
    def numeric(self) -> bool:
        """Whether the cell holds a number."""
        return isinstance(self.value, float | int)


class Heading(Struct, frozen=True):
    """The head of a column: its name, what it is measured on, its unit, and a remark such as the direction."""

    name: str
    detail: str = ""
    unit: str = ""
    remark: str = ""

    @property
    def line(self) -> str:
        """All of it in one line: `bad@1:nonocc [%]`."""
        name = f"{self.name}:{self.detail}" if self.detail else self.name
        unit = f" [{self.unit}]" if self.unit else ""
        return f"{name}{unit}{f' ({self.remark})' if self.remark else ''}"


class Table(Displayed, Struct, frozen=True):
    """Rows under headings. `name` becomes the file name, `notes` explain marks and gaps below it."""

    name: str
    title: str
    header: tuple[Heading, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers: they are aligned to the right."""
        return tuple(any(row[place].numeric for row in self.rows) for place in range(len(self.header)))

    @property
    def upright(self) -> Table:
        """The table, turned where it has many more columns than rows: the names of its rows become headings."""
        if len(self.header) - 1 <= max(6, len(self.rows)):
            return self
        header = ("metric", "region", "unit", *(row[0].shown for row in self.rows))
        columns = list(zip(self.header, *self.rows, strict=True))[1:]
        rows = [(head.name, head.detail, head.unit, *cells) for head, *cells in columns]
        return table(self.name, self.title, header, rows, self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: numbers where there are numbers, null for gaps."""
        return {
            "title": self.title,
            "header": [heading.line for heading in self.header],
            "rows": [[json_value(cell.value) for cell in row] for row in self.rows],
            "notes": list(self.notes),
        }


def as_cell(value: Any) -> Cell:
    """The cell of a value: a gap for None and NaN, words for what is neither a number nor text."""
    if isinstance(value, Cell):
        return value
    if isinstance(value, float):
        return number(value)
    plain = json_value(value)
    return Cell(plain if isinstance(plain, str | float | int | None) and not isinstance(plain, bool) else str(plain))


def number(value: float, digits: int = 3, emphasis: Emphasis = "") -> Cell:
    """A number with this many significant digits; NaN is a gap."""
    plain = float(value)
    return Cell() if plain != plain else Cell(plain, number_text(plain, digits), emphasis)


def rank_cell(rank: int) -> Cell:
    """A rank; the first is shown as best, the second as second."""
    return Cell(int(rank), emphasis="best" if rank == 1 else "second" if rank == 2 else "")


def share(part: float, decimals: int = 0) -> Cell:
    """A part of 1 shown as a percentage; NaN is a gap."""
    return Cell() if part != part else Cell(float(part), f"{100 * part:.{decimals}f} %")


def table(
    name: str,
    title: str,
    header: Sequence[str | Heading],
    rows: Iterable[Iterable[Any]],
    notes: Iterable[str] = (),
) -> Table:
    """A table from its parts, in which a heading may be plain text and a cell a plain value (see `as_cell`)."""
    heads = tuple(Heading(head) if isinstance(head, str) else head for head in header)
    return Table(name, title, heads, tuple(tuple(map(as_cell, row)) for row in rows), tuple(notes))


def of_records(name: str, records: Sequence[Mapping[str, Any]]) -> Table:
    """Records with the same keys as a table: one row per record, the keys as headings."""
    return table(name, "", list(records[0]) if records else [], [record.values() for record in records])


def of_columns(
    name: str, title: str, columns: Iterable[tuple[str | Heading, Iterable[Any]]], notes: Iterable[str] = ()
) -> Table:
    """A table from its columns, each a heading with its cells."""
    header, cells = zip(*columns, strict=True)
    return table(name, title, header, zip(*cells, strict=True), notes)
