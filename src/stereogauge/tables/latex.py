"""Tables for LaTeX: booktabs, best bold, second underlined."""

from __future__ import annotations

from stereogauge.tables.table import Cell, Heading, Table

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
        *_head(table.header),
        r"\midrule",
        *(" & ".join(_cell(cell) for cell in row) + r" \\" for row in table.rows),
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


def _head(header: tuple[Heading, ...]) -> list[str]:
    """One line of names, and further lines for regions and for units where a column has them."""
    lines = [
        [heading.name for heading in header],
        [heading.detail for heading in header],
        [f"[{heading.unit}]" if heading.unit else "" for heading in header],
        [heading.remark for heading in header],
    ]
    return [" & ".join(map(latex_text, line)) + r" \\" for place, line in enumerate(lines) if not place or any(line)]


def _cell(cell: Cell) -> str:
    content = latex_text(cell.shown)
    if cell.emphasis:
        content = rf"\textbf{{{content}}}" if cell.emphasis == "best" else rf"\underline{{{content}}}"
    return content + latex_text(cell.mark)
