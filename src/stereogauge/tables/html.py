"""Tables for pages: columns that sort by click, every name escaped."""

from __future__ import annotations

from html import escape

from stereogauge.tables.table import Cell, Heading, Table

LONG_WORDS = 30
"""Letters; longer words may wrap."""


def html_table(table: Table) -> str:
    """The table as a figure; `data-value` holds the number that a column sorts by."""
    numeric = table.numeric
    head = "".join(_heading(heading, right) for heading, right in zip(table.header, numeric, strict=True))
    body = "".join(
        f"<tr>{''.join(_cell(cell, numeric[place], place == 0) for place, cell in enumerate(row))}</tr>"
        for row in table.rows
    )
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in table.notes)
    return (
        f'<figure class="table" id="table-{escape(table.name)}"><figcaption>{escape(table.title)}</figcaption>'
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f"{notes}</figure>"
    )


def _heading(heading: Heading, numeric: bool) -> str:
    return f'<th scope="col"{_class("number" if numeric else "")}>{escape(heading.line)}</th>'


def _class(names: str) -> str:
    return f' class="{names}"' if names else ""


def _cell(cell: Cell, numeric: bool, first: bool) -> str:
    content = escape(cell.shown)
    if cell.emphasis:
        content = f"<b>{content}</b>" if cell.emphasis == "best" else f"<u>{content}</u>"
    if cell.mark:
        content += f"<sup>{escape(cell.mark)}</sup>"
    kind, scope = ("th", ' scope="row"') if first else ("td", "")
    wraps = not numeric and len(cell.shown) > LONG_WORDS
    kinds = " ".join(name for name, yes in (("number", numeric), ("words", wraps), ("faint", cell.faint)) if yes)
    value = f' data-value="{cell.value!r}"' if cell.numeric else ""
    title = f' title="{escape(cell.note)}"' if cell.note else ""
    return f"<{kind}{scope}{_class(kinds)}{value}{title}>{content}</{kind}>"
