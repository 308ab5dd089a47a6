"""Tables as plain text for files and pipes, and by Rich for a terminal, where no name and no number is ever cut.

On a narrow terminal words wrap while every word stays whole. What is still too wide is printed in parts, each with the
leading columns of words, or, where those alone fill the line, as one block of lines per row.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from stereogauge.tables.table import Cell, Heading, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

GAP = 2
"""Spaces between columns."""


def plain_text(table: Table) -> str:
    """The title, the columns side by side under their headings, the notes; none of them is wrapped."""
    heads = [_parts(heading) for heading in table.header]
    height = max(map(len, heads), default=0)
    lines = [list(line) for line in zip(*([""] * (height - len(head)) + head for head in heads), strict=True)]
    for row in table.rows:
        cells = [(cell.shown + cell.mark).splitlines() or [""] for cell in row]
        height = max(map(len, cells), default=0)
        lines += [list(line) for line in zip(*(cell + [""] * (height - len(cell)) for cell in cells), strict=True)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    body = [(" " * GAP).join(map(_sized, line, widths, table.numeric)) for line in lines]
    whole = sum(widths) + GAP * (len(widths) - 1)
    around = [[_sized(text, whole) for text in texts if text] for texts in ([table.title], table.notes)]
    return "".join(f"{line}\n" for line in [*around[0], *body, *around[1]])


def _parts(heading: Heading) -> list[str]:
    """Name, region, unit and remark, below each other."""
    return [part for part in (heading.name, heading.detail, heading.unit, heading.remark) if part] or [""]


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
READABLE = 20
"""A column of prose is not made narrower than this many letters."""
PROSE = 40
"""Cells longer than this are prose."""


def print_table(console: Console, table: Table, *, boxed: bool = True) -> None:
    """Print the table in as many parts as the width of the console requires."""
    from rich.table import Table as RichTable

    natural, least = _widths(table, boxed=boxed)
    edge, gap = (1, 3) if boxed else (-2, 2)  # letters that lines and padding take, once and per column
    keys = next((place for place, numeric in enumerate(table.numeric) if numeric), len(natural))
    whole = list(range(len(natural)))
    blocks = [whole] if sum(least) + edge + gap * len(whole) <= console.width else None
    if blocks is None:
        free = console.width - edge - sum(width + gap for width in least[:keys])
        blocks = _blocks([width + gap for width in least[keys:]], free)
        blocks = [[*range(keys), *(keys + place for place in block)] for block in blocks]
    if not blocks:
        console.print(_records(table))
    for number, places in enumerate(blocks):
        room = console.width - edge - gap * len(places)
        widths = _shrunk([natural[place] for place in places], [least[place] for place in places], room)
        part = replace(
            table,
            title=table.title if number == 0 else "",
            header=tuple(table.header[place] for place in places),
            rows=tuple(tuple(row[place] for place in places) for row in table.rows),
            notes=table.notes if number == len(blocks) - 1 else (),
        )
        if number and not boxed:
            console.print(RichTable(box=None))
        console.print(_by_rich(part, widths, boxed=boxed))


def _by_rich(table: Table, widths: Sequence[int], *, boxed: bool) -> RichTable:
    """The table as Rich prints it; without a box, region and unit are below the name of a column."""
    from rich.text import Text

    shown = _empty(table, boxed=boxed)
    for heading, numeric, width in zip(table.header, table.numeric, widths, strict=True):
        text = Text(_head(heading, boxed=boxed))
        shown.add_column(text, justify="right" if numeric else "left", width=width, overflow="fold")
    for row in table.rows:
        shown.add_row(*map(_styled, row))
    return shown


def _styled(cell: Cell) -> Text:
    from rich.text import Text

    return Text(cell.shown + cell.mark, "dim" if cell.faint else STYLES[cell.emphasis])


def _records(table: Table) -> RichTable:
    """Each row as lines of heading and content, a blank line between rows."""
    from rich.text import Text

    records = _empty(table, boxed=False)
    records.show_header = False
    records.add_column(no_wrap=True, style="dim")
    records.add_column(overflow="fold")
    for number, row in enumerate(table.rows):
        if number:
            records.add_row()
        for heading, cell in zip(table.header, row, strict=True):
            if cell.shown + cell.mark:
                records.add_row(Text(heading.line), _styled(cell))
    return records


def _empty(table: Table, *, boxed: bool) -> RichTable:
    """Title and notes of the table."""
    from rich.table import Table as RichTable  # text for files and pipes does without Rich

    shown = RichTable(title=table.title or None, title_justify="left", header_style="bold", pad_edge=boxed)
    shown.caption, shown.caption_justify = "\n".join(table.notes) or None, "left"
    if not boxed:
        shown.box = None
    return shown


def _head(heading: Heading, *, boxed: bool) -> str:
    return heading.line if boxed else "\n".join(_parts(heading))


def _widths(table: Table, *, boxed: bool) -> tuple[list[int], list[int]]:
    """The width of each column, and the least that keeps numbers on one line, words whole, and prose readable."""
    natural, least = [], []
    for place, (heading, numeric) in enumerate(zip(table.header, table.numeric, strict=True)):
        head = _head(heading, boxed=boxed)
        cells = [row[place].shown + row[place].mark for row in table.rows]
        longest = max((_width(line) for cell in cells for line in cell.splitlines()), default=0)
        natural.append(max(longest, *(_width(line) for line in head.splitlines() or [""])))
        words = [_width(word) for text in (head, *([] if numeric else cells)) for word in text.split()]
        least.append(max(0, *words, longest if numeric else READABLE if longest > PROSE else 0))
    return natural, least


def _blocks(sizes: Sequence[int], room: int) -> list[list[int]]:
    """The places of these sizes in groups that fit into the room; none where a single one does not."""
    blocks: list[list[int]] = []
    left = -1
    for place, size in enumerate(sizes):
        if size > room:
            return []
        if size > left:
            blocks.append([])
            left = room
        blocks[-1].append(place)
        left -= size
    return blocks


def _shrunk(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths that fit, the widest column being reduced first."""
    widths = list(natural)
    while sum(widths) > room:
        candidates = [place for place in range(len(widths)) if widths[place] > least[place]]
        if not candidates:
            break
        widths[max(candidates, key=lambda place: widths[place])] -= 1
    return widths
