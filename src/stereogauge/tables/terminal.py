"""Tables as plain text for files and pipes, and for a terminal by Rich."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stereogauge.tables.table import Heading, Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable

GAP = 2
"""Spaces between columns."""


def plain_text(table: Table) -> str:
    """The title, the columns side by side under their headings, the notes; none of them is ever wrapped."""
    heads = [_parts(heading) for heading in table.header]
    height = max(map(len, heads), default=0)
    lines = [list(line) for line in zip(*([""] * (height - len(head)) + head for head in heads), strict=True)]
    for row in table.rows:
        cells = [(cell.shown + cell.mark).splitlines() or [""] for cell in row]
        height = max(map(len, cells), default=0)
        lines += [list(line) for line in zip(*(cell + [""] * (height - len(cell)) for cell in cells), strict=True)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    body = [_line(line, widths, table.numeric) for line in lines]
    whole = sum(widths) + GAP * (len(widths) - 1)
    around = [[_sized(text, whole) for text in texts if text] for texts in ([table.title], table.notes)]
    return "".join(f"{line}\n" for line in [*around[0], *body, *around[1]])


def _parts(heading: Heading) -> list[str]:
    """Name, region, unit and remark, below each other."""
    return [part for part in (heading.name, heading.detail, heading.unit, heading.remark) if part] or [""]


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    return (" " * GAP).join(map(_sized, cells, widths, numeric))


def _sized(text: str, width: int, right: bool = False) -> str:
    """The text with as many spaces as it lacks to `width`, before it or behind it."""
    room = " " * (width - _width(text))
    return room + text if right else text + room


def _width(text: str) -> int:
    """The width in columns: combining letters take none, wide letters of East Asia two."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


STYLES = {"": "", "best": "bold", "second": "underline"}


def terminal_table(table: Table, *, boxed: bool = True) -> RichTable:
    """The table as Rich prints it; without a box, region and unit are below the name of a column."""
    from rich.table import Table as RichTable  # text for files and pipes does without Rich
    from rich.text import Text

    shown = RichTable(title=table.title or None, title_justify="left", header_style="bold")
    shown.caption, shown.caption_justify = "\n".join(table.notes) or None, "left"
    if not boxed:
        shown.box, shown.pad_edge = None, False
    for heading, numeric in zip(table.header, table.numeric, strict=True):
        parts = (heading.name, heading.detail, heading.unit, heading.remark)
        text = heading.line if boxed else "\n".join(part for part in parts if part)
        shown.add_column(Text(text), justify="right" if numeric else "left")
    for row in table.rows:
        shown.add_row(*(Text(cell.shown + cell.mark, "dim" if cell.faint else STYLES[cell.emphasis]) for cell in row))
    return shown
