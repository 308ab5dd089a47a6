"""Tables on a terminal that is narrower than they are: no name and no number is ever cut.

Words wrap while every word stays whole. What is still too wide is printed in parts, each with the leading columns of
words, or, where those alone fill the line, as one block of lines per row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Column

READABLE = 20
"""A column of prose is not made narrower than this many letters."""
PROSE = 40
"""Cells longer than this are prose."""


def print_fitted(console: Console, table: Table) -> None:
    """The table, in as many parts as the width of the console requires."""
    for part in _parts(console, table):
        console.print(part)


def _parts(console: Console, table: Table) -> Iterator[Table]:
    columns = table.columns
    sizes = [_sizes(console, column.header, *column.cells) for column in columns]
    natural = [max(size.maximum for size in own) for own in sizes]
    least = [_least(column, own[0], own[1:]) for column, own in zip(columns, sizes, strict=True)]
    room = console.width
    if sum(natural) + _frame(table, len(columns)) <= room:
        for column, width in zip(columns, natural, strict=True):
            column.width, column.no_wrap = width, True  # known now, so Rich does not measure every cell again
        yield table
        return
    if sum(least) + _frame(table, len(columns)) <= room:
        yield _part(table, range(len(columns)), _shrunk(natural, least, room - _frame(table, len(columns))))
        return
    keys = next((place for place, column in enumerate(columns) if column.justify == "right"), len(columns))
    blocks = _blocks(table, least, keys, room)
    if not blocks:
        yield _records(table)
        return
    for number, block in enumerate(blocks):
        places = [*range(keys), *block]
        wide, narrow = [natural[place] for place in places], [least[place] for place in places]
        part = _part(table, places, _shrunk(wide, narrow, room - _frame(table, len(places))))
        part.title = table.title if number == 0 else None
        part.caption = table.caption if number == len(blocks) - 1 else None
        yield part
        if number < len(blocks) - 1 and table.box is None:
            yield Table(box=None)


def _blocks(table: Table, least: Sequence[int], keys: int, room: int) -> list[list[int]]:
    """The columns after the keys in groups that fit beside them; none where a single one does not."""
    start = sum(least[:keys])
    blocks: list[list[int]] = []
    used = room
    for place in range(keys, len(least)):
        alone = start + least[place] + _frame(table, keys + 1)
        if alone > room:
            return []
        used += least[place] + _frame(table, keys + 2) - _frame(table, keys + 1)
        if used > room:
            blocks.append([])
            used = alone
        blocks[-1].append(place)
    return blocks


def _shrunk(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths that fit, the widest column giving way first."""
    widths = list(natural)
    while sum(widths) > room:
        candidates = [place for place in range(len(widths)) if widths[place] > least[place]]
        if not candidates:
            break
        widths[max(candidates, key=lambda place: widths[place])] -= 1
    return widths


def _part(table: Table, places: Sequence[int], widths: Sequence[int]) -> Table:
    """These columns of the table, with these widths."""
    part = _like(table)
    chosen = [table.columns[place] for place in places]
    for column, width in zip(chosen, widths, strict=True):
        part.add_column(column.header, justify=column.justify, width=width, overflow="fold", style=column.style)
    for row in zip(*(column.cells for column in chosen), strict=True):
        part.add_row(*row)
    return part


def _records(table: Table) -> Table:
    """Each row as lines of heading and content, a blank line between rows."""
    records = _like(table)
    records.box, records.show_header, records.pad_edge = None, False, False
    records.add_column(no_wrap=True, style="dim")
    records.add_column(overflow="fold")
    for number, row in enumerate(zip(*(column.cells for column in table.columns), strict=True)):
        if number:
            records.add_row()
        for column, cell in zip(table.columns, row, strict=True):
            if str(cell):
                records.add_row(_one_line(column.header), cell)
    return records


def _one_line(header: RenderableType) -> str:
    plain = header.plain if isinstance(header, Text) else str(header)
    return " ".join(plain.split())


def _like(table: Table) -> Table:
    return Table(
        title=table.title,
        title_justify=table.title_justify,
        caption=table.caption,
        caption_justify=table.caption_justify,
        box=table.box,
        pad_edge=table.pad_edge,
        header_style=table.header_style,
    )


def _frame(table: Table, count: int) -> int:
    """Letters that padding and lines take in a table of this number of columns."""
    return 2 * count - 2 if table.box is None else 3 * count + 1


def _least(column: Column, heading: Measurement, cells: Sequence[Measurement]) -> int:
    """What keeps numbers on one line, every word in one piece, and prose readable."""
    longest = max((size.maximum for size in cells), default=0)
    if column.no_wrap or column.justify == "right":
        return max(heading.minimum, longest)
    readable = READABLE if longest > PROSE else 0
    return max(heading.minimum, readable, *(size.minimum for size in cells))


def _sizes(console: Console, *cells: RenderableType) -> list[Measurement]:
    options = console.options  # asks the terminal for its size, so once for all cells
    return [Measurement.get(console, options, _shown(console, cell)) for cell in cells]


def _shown(console: Console, cell: RenderableType) -> RenderableType:
    return console.render_str(cell) if isinstance(cell, str) else cell
