"""Tables as plain text for files and pipes, and by Rich for a terminal, where no name and no number is ever cut.

On a narrow terminal words wrap while every word stays whole. What is still too wide is printed in parts, each with the
leading columns of words, or, where those alone fill the line, as one block of lines per row.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stereogauge.tables.table import Cell, Heading, Table

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
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
    """Print the table in as many parts as the width of the console requires.

    Without a box, region and unit are below the name of a column.
    """
    from rich.table import Table as RichTable
    from rich.text import Text

    heads = [heading.line if boxed else "\n".join(_parts(heading)) for heading in table.header]
    numeric = table.numeric
    natural, least = _widths(table, heads)
    edge, gap = (1, 3) if boxed else (-2, 2)  # letters that lines and padding take, once and per column
    keys = next((place for place, own in enumerate(numeric) if own), len(natural))
    blocks = [list(range(len(natural)))]
    if sum(least) + edge + gap * len(natural) > console.width:
        free = console.width - edge - sum(width + gap for width in least[:keys])
        groups = _blocks([width + gap for width in least[keys:]], free)
        blocks = [[*range(keys), *(keys + place for place in group)] for group in groups]
    if not blocks:
        console.print(_records(table))
    for number, places in enumerate(blocks):
        room = console.width - edge - gap * len(places)
        widths = _shrunk([natural[place] for place in places], [least[place] for place in places], room)
        title, notes = table.title if number == 0 else "", table.notes if number == len(blocks) - 1 else ()
        part = _empty(title, notes, boxed=boxed)
        for place, width in zip(places, widths, strict=True):
            justify: JustifyMethod = "right" if numeric[place] else "left"
            part.add_column(Text(heads[place]), justify=justify, width=width, overflow="fold")
        for row in table.rows:
            part.add_row(*(_styled(row[place]) for place in places))
        if number and not boxed:
            console.print(RichTable(box=None))
        console.print(part)


def _styled(cell: Cell) -> Text:
    from rich.text import Text

    return Text(cell.shown + cell.mark, "dim" if cell.faint else STYLES[cell.emphasis])


def _records(table: Table) -> RichTable:
    """Each row as lines of heading and content, a blank line between rows."""
    from rich.text import Text

    records = _empty(table.title, table.notes, boxed=False)
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


def _empty(title: str, notes: Sequence[str], *, boxed: bool) -> RichTable:
    """A table with title and notes alone."""
    from rich.table import Table as RichTable  # text for files and pipes does without Rich

    shown = RichTable(title=title or None, title_justify="left", header_style="bold", pad_edge=boxed)
    shown.caption, shown.caption_justify = "\n".join(notes) or None, "left"
    if not boxed:
        shown.box = None
    return shown


def _widths(table: Table, heads: Sequence[str]) -> tuple[list[int], list[int]]:
    """The width of each column, and the least that keeps numbers on one line, words whole, and prose readable."""
    natural, least = [], []
    for place, (head, numeric) in enumerate(zip(heads, table.numeric, strict=True)):
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
