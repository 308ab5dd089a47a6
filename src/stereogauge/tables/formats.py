"""Tables as text in the formats of files and pages: CSV, Markdown, JSON, HTML and LaTeX; every name is escaped."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from html import escape

from stereogauge.tables.table import Cell, Heading, Table
from stereogauge.text import json_text

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_table(table: Table, comments: Sequence[str] = ()) -> str:
    """Numbers with full precision, an empty cell for a gap, units in the header; comments precede it behind #.

    A column whose scores do not cover all of their pixels is followed, at the end of the row, by its coverage.

    A name that a spreadsheet would take for a formula is quoted by an apostrophe.
    """
    return "".join(f"# {' '.join(comment.split())}\n" for comment in comments) + _csv(_csv_rows(table))


def csv_tables(tables: Sequence[Table]) -> str:
    """One table as it is; several as one table, whose first column, `table`, holds the name of each.

    Columns of the same heading are one column; a cell that a table does not have is empty.
    """
    if len(tables) == 1:
        return csv_table(tables[0])
    rows: list[tuple[str, dict[tuple[str, int], str]]] = []
    columns: dict[tuple[str, int], None] = {}
    for table in tables:
        header, *records = _csv_rows(table)
        # How often a heading occurred before keeps columns of one table distinct.
        own = [(heading, header[:place].count(heading)) for place, heading in enumerate(header)]
        columns |= dict.fromkeys(own)
        rows += [(table.name, dict(zip(own, record, strict=True))) for record in records]
    lines = [[name, *(cells.get(column, "") for column in columns)] for name, cells in rows]
    return _csv([["table", *(heading for heading, _ in columns)], *lines])


def _csv(rows: Sequence[Sequence[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def _csv_rows(table: Table) -> list[list[str]]:
    """Headings and records, behind them the coverage of columns in which a score does not cover all of its pixels."""
    places = range(len(table.header))
    partly = [place for place in places if any(row[place].coverage not in (None, 1.0) for row in table.rows)]
    shares = [f"coverage of {table.header[place].line.split(' [')[0]}" for place in partly]
    return [
        [*(_no_formula(heading.line) for heading in table.header), *shares],
        *([*map(_csv_cell, row), *(_csv_cell(Cell(row[place].coverage)) for place in partly)] for row in table.rows),
    ]


def markdown_table(table: Table) -> str:
    """A table of GitHub's Markdown."""
    lines = [
        _markdown_line([_markdown(heading.line) for heading in table.header]),
        _markdown_line(["--:" if numeric else "---" for numeric in table.numeric]),
        *(_markdown_line([_markdown_cell(cell) for cell in row]) for row in table.rows),
    ]
    return "\n".join(lines) + "\n"


def json_tables(tables: Sequence[Table]) -> str:
    """One document: title, header, rows and notes of each table by its name."""
    return json_text({table.name: table for table in tables}) + "\n"


def _csv_cell(cell: Cell) -> str:
    if cell.value is None:
        return ""
    return _no_formula(cell.value) if isinstance(cell.value, str) else repr(cell.value)


def _no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _markdown_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _markdown_cell(cell: Cell) -> str:
    text = _markdown(cell.shown)
    shown = {"best": f"**{text}**", "second": f"_{text}_", "": text}[cell.emphasis]
    return shown + _markdown(cell.mark)


LONG_WORDS = 30
"""Letters; longer words may wrap."""


def html_table(table: Table) -> str:
    """The table as a figure; `data-value` holds the number that a column sorts by."""
    numeric = table.numeric
    head = "".join(
        f'<th scope="col"{_class("number" if right else "")}>{escape(heading.line)}</th>'
        for heading, right in zip(table.header, numeric, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(_html_cell(cell, numeric[place], place == 0) for place, cell in enumerate(row))}</tr>"
        for row in table.rows
    )
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in table.notes)
    return (
        f'<figure class="table" id="table-{escape(table.name)}"><figcaption>{escape(table.title)}</figcaption>'
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f"{notes}</figure>"
    )


def _class(names: str) -> str:
    return f' class="{names}"' if names else ""


def _html_cell(cell: Cell, numeric: bool, first: bool) -> str:
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


WIDEST_AS_IT_IS = 8
"""Columns; a wider table is shrunk to the line."""
SYMBOLS = (
    "τ tau α alpha δ delta ρ rho σ sigma χ chi Γ Gamma Δ Delta ≤ le ≥ ge × times · cdot ⊂ subset √ surd → to ∞ infty"
)
WORDS = "\\ textbackslash ~ textasciitilde ^ textasciicircum < textless > textgreater | textbar … dots"
RAISED = {"²": "^2", "°": r"^\circ", "†": r"^\dagger", "‡": r"^\ddagger", "−": "-"} | {
    subscript: f"_{digit}" for digit, subscript in enumerate("₀₁₂₃₄₅₆₇₈₉")
}
LETTERS = {
    "–": "--",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{letter: rf"$\{name}$" for letter, name in zip(SYMBOLS.split()[::2], SYMBOLS.split()[1::2], strict=True)},
    **{letter: rf"\{name}{{}}" for letter, name in zip(WORDS.split()[::2], WORDS.split()[1::2], strict=True)},
    **{letter: f"${text}$" for letter, text in RAISED.items()},
}


def latex_text(text: str) -> str:
    """Text with everything that LaTeX would misread written out."""
    return "".join(LETTERS.get(letter, letter) for letter in text)


def latex_tabular(table: Table) -> str:
    """The rows alone, for a table environment of one's own; needs the package booktabs."""
    columns = "".join("r" if numeric else "l" for numeric in table.numeric)
    lines = [
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        *_latex_head(table.header),
        r"\midrule",
        *(" & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def latex_table(table: Table) -> str:
    """A table environment with caption, label and notes; a wide one is shrunk, which takes the package graphicx."""
    wide = len(table.header) > WIDEST_AS_IT_IS
    tabular = latex_tabular(table).rstrip("\n")
    lines = [
        r"\begin{table}[htbp]",
        r"\centering",
        rf"\caption{{{latex_text(table.title)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\resizebox{{\linewidth}}{{!}}{{%{chr(10)}{tabular}}}" if wide else tabular,
        *(rf"\par\smallskip{{\footnotesize {latex_text(note)}}}" for note in table.notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_head(header: tuple[Heading, ...]) -> list[str]:
    """One line of names, and further lines for regions and for units where a column has them."""
    lines = [
        [heading.name for heading in header],
        [heading.detail for heading in header],
        [f"[{heading.unit}]" if heading.unit else "" for heading in header],
        [heading.remark for heading in header],
    ]
    return [" & ".join(map(latex_text, line)) + r" \\" for place, line in enumerate(lines) if not place or any(line)]


def _latex_cell(cell: Cell) -> str:
    content = latex_text(cell.shown)
    if cell.emphasis:
        content = rf"\textbf{{{content}}}" if cell.emphasis == "best" else rf"\underline{{{content}}}"
    return content + latex_text(cell.mark)
