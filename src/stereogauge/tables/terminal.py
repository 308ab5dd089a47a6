"""Tables for a terminal, by Rich."""

from __future__ import annotations

from rich.table import Table as Terminal
from rich.text import Text

from stereogauge.tables.table import Table

STYLES = {"": "", "best": "bold", "second": "underline"}


def terminal_table(table: Table, *, boxed: bool = True) -> Terminal:
    """The table as Rich prints it; without a box, region and unit stand below the name of a column."""
    shown = Terminal(title=table.title or None, title_justify="left", header_style="bold")
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
