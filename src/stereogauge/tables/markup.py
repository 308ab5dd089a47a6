"""Tables for pages (HTML) and papers (LaTeX); every name is escaped."""

from __future__ import annotations

from html import escape

from stereogauge.tables.table import Cell, Heading, Table

LONG_WORDS = 30
"""Letters; longer words may wrap."""


def html_table(table: Table) -> str:
    """The table as a figure; `data-value` holds the number that a column sorts by."""
    numeric = table.numeric
    head = "".join(_html_heading(heading, right) for heading, right in zip(table.header, numeric, strict=True))
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


def _html_heading(heading: Heading, numeric: bool) -> str:
    return f'<th scope="col"{_class("number" if numeric else "")}>{escape(heading.line)}</th>'


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
RAISED = {"²": "^2", "°": r"^\circ", "†": r"^\dagger", "‡": r"^\ddagger", "₁": "_1", "₂": "_2", "−": "-"}
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
