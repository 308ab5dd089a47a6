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
    stream = io.StringIO()
    stream.writelines(f"# {' '.join(comment.split())}\n" for comment in comments)
    writer = csv.writer(stream, lineterminator="\n")
    covered = [any(row[k].coverage not in (None, 1.0) for row in table.rows) for k in range(len(table.header))]
    extra = [heading for heading, partly in zip(table.header, covered, strict=True) if partly]
    writer.writerow([*(h.line for h in table.header), *(f"coverage of {h.line.split(' [')[0]}" for h in extra)])
    for row in table.rows:
        partial = [cell.coverage for cell, partly in zip(row, covered, strict=True) if partly]
        shares = ["" if share is None else repr(share) for share in partial]
        writer.writerow([*(_csv_cell(cell) for cell in row), *shares])
    return stream.getvalue()


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
        return f"'{cell.value}" if cell.value.startswith(FORMULA_STARTS) else cell.value
    return repr(cell.value)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _markdown_cell(cell: Cell) -> str:
    text = _markdown(cell.shown)
    shown = {"best": f"**{text}**", "second": f"_{text}_", "": text}[cell.emphasis]
    return shown + _markdown(cell.mark)
