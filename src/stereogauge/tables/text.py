"""Tables as CSV, Markdown and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from stereogauge.tables.table import Cell, Table

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_table(table: Table, comments: Sequence[str] = ()) -> str:
    """Numbers with full precision, an empty cell for a gap, units in the header; comments precede it behind #.

    A column whose scores do not cover all of their pixels is followed, at the end of the row, by its coverage.

    A name that a spreadsheet would take for a formula is quoted by an apostrophe.
    """
    return _csv([f"# {' '.join(comment.split())}\n" for comment in comments], [_header(table), *_records(table)])


def csv_tables(tables: Sequence[Table]) -> str:
    """One table as it is; several as one table, whose first column, `table`, holds the name of each.

    Columns of the same heading are one column; a cell that a table does not have is empty.
    """
    if len(tables) == 1:
        return csv_table(tables[0])
    headers = [_numbered(_header(table)) for table in tables]
    columns = list(dict.fromkeys(column for header in headers for column in header))
    rows = [["table", *(heading for heading, _ in columns)]]
    for table, header in zip(tables, headers, strict=True):
        places = {column: place for place, column in enumerate(header)}
        rows += [
            [table.name, *(record[places[column]] if column in places else "" for column in columns)]
            for record in _records(table)
        ]
    return _csv([], rows)


def _numbered(header: Sequence[str]) -> list[tuple[str, int]]:
    """Headings with how often each occurred before, so that columns of one table stay distinct."""
    return [(heading, header[:place].count(heading)) for place, heading in enumerate(header)]


def _csv(comments: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    stream = io.StringIO()
    stream.writelines(comments)
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def _header(table: Table) -> list[str]:
    shares = [f"coverage of {table.header[place].line.split(' [')[0]}" for place in _partly_covered(table)]
    return [*(_no_formula(heading.line) for heading in table.header), *shares]


def _records(table: Table) -> list[list[str]]:
    covered = _partly_covered(table)
    return [[*map(_csv_cell, row), *(_csv_cell(Cell(row[place].coverage)) for place in covered)] for row in table.rows]


def _partly_covered(table: Table) -> list[int]:
    """The columns in which a score does not cover all of its pixels."""
    places = range(len(table.header))
    return [place for place in places if any(row[place].coverage not in (None, 1.0) for row in table.rows)]


def markdown_table(table: Table) -> str:
    """A table of GitHub's Markdown."""
    lines = [
        _line([_markdown(heading.line) for heading in table.header]),
        _line(["--:" if numeric else "---" for numeric in table.numeric]),
        *(_line([_markdown_cell(cell) for cell in row]) for row in table.rows),
    ]
    return "\n".join(lines) + "\n"


def json_tables(tables: Sequence[Table]) -> str:
    """One document: title, header, rows and notes of each table by its name."""
    document = {table.name: table.to_dict() for table in tables}
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _csv_cell(cell: Cell) -> str:
    if cell.value is None:
        return ""
    if isinstance(cell.value, str):
        return _no_formula(cell.value)
    return repr(cell.value)


def _no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _markdown_cell(cell: Cell) -> str:
    text = _markdown(cell.shown)
    shown = {"best": f"**{text}**", "second": f"_{text}_", "": text}[cell.emphasis]
    return shown + _markdown(cell.mark)
