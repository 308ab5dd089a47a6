"""Tables without a box for files and pipes: what Rich prints there, in a tenth of the time and without importing it."""

from __future__ import annotations

import re
from itertools import chain

from stereogauge.tables.table import Heading, Table

GAP = 2
"""Spaces between columns."""

_ONE_LETTER_WIDE = re.compile(r"[!-~ À-ʯΑ-ϡ–—‘-”†‡•…°±²³µ·×÷−≤≥≈↑↓→∞Δ]*")
_MARKUP = re.compile(r"\[|:\S+:")


def plain_text(table: Table) -> str | None:
    """The table in letters; None where only Rich knows how it looks: wide letters, markup, long titles or notes."""
    heads = [_lines(heading) for heading in table.header]
    rows = [[cell.shown + cell.mark for cell in row] for row in table.rows]
    around = [table.title, *table.notes]
    if not table.header or not all(map(_simple, chain(around, *heads, *rows))):
        return None
    widths = [max(map(len, [*head, *(row[place] for row in rows)])) for place, head in enumerate(heads)]
    width = sum(widths) + GAP * (len(widths) - 1)
    if any(len(text) > width or _MARKUP.search(text) for text in around):
        return None
    height, numeric = max(map(len, heads)), table.numeric
    upright = [[""] * (height - len(head)) + head for head in heads]
    lines = [table.title.ljust(width)] if table.title else []
    for row in [*zip(*upright, strict=True), *rows]:
        sized = zip(row, widths, numeric, strict=True)
        lines.append((" " * GAP).join(text.rjust(size) if right else text.ljust(size) for text, size, right in sized))
    return "".join(f"{line}\n" for line in [*lines, *(note.ljust(width) for note in table.notes)])


def _lines(heading: Heading) -> list[str]:
    """Name, region, unit and remark below each other."""
    return [part for part in (heading.name, heading.detail, heading.unit, heading.remark) if part] or [""]


def _simple(text: str) -> bool:
    """Whether the text is one line of letters that take one place each."""
    return _ONE_LETTER_WIDE.fullmatch(text) is not None and text == text.strip()
