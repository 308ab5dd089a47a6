"""A table as plain values, and as HTML, LaTeX (booktabs) and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Emphasis = Literal["", "best", "second"]
MARK = "†"
WIDEST_AS_IT_IS = 8  # columns
LONG_WORDS = 30  # letters
RICH_STYLES = {"": "", "best": "bold", "second": "underline"}
LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "−": "$-$",
    "∞": r"$\infty$",
    "²": r"$^2$",
    "°": r"$^\circ$",
    "τ": r"$\tau$",
    "α": r"$\alpha$",
    "σ": r"$\sigma$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "†": r"$^\dagger$",
    "₁": r"$_1$",
    "₂": r"$_2$",
    "⊂": r"$\subset$",
    "√": r"$\surd$",
    "…": r"\dots{}",
    "→": r"$\to$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


class Cell(NamedTuple):
    """What a cell shows, the number behind it (for sorting and CSV), whether it is the best, and a mark behind it."""

    text: str
    value: float | None = None
    emphasis: Emphasis = ""
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under a heading. `name` becomes the file name, `notes` explain marks and gaps below it."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    numeric: frozenset[int] = field(default_factory=frozenset)

    def to_html(self) -> str:
        """A table whose columns sort by click."""
        head = "".join(
            f'<th scope="col"{_numeric(place in self.numeric)}>{escape(text)}</th>'
            for place, text in enumerate(self.header)
        )
        body = "".join(f"<tr>{self._html_row(row)}</tr>" for row in self.rows)
        notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in self.notes)
        return (
            f'<figure class="table" id="table-{escape(self.name)}"><figcaption>{escape(self.title)}</figcaption>'
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
            f"{notes}</figure>"
        )

    def _html_row(self, row: tuple[Cell, ...]) -> str:
        return "".join(_html_cell(cell, place in self.numeric, place == 0) for place, cell in enumerate(row))

    def to_latex(self) -> str:
        """A table environment for booktabs: best bold, second underlined, marks as superscripts, notes below.

        A wide table is shrunk to the line, which takes the package graphicx.
        """
        wide = len(self.header) > WIDEST_AS_IT_IS
        columns = "".join("r" if place in self.numeric else "l" for place in range(len(self.header)))
        lines = [
            r"\begin{table}[htbp]",
            r"\centering",
            rf"\caption{{{latex(self.title)}}}",
            rf"\label{{tab:{self.name}}}",
            *([r"\resizebox{\linewidth}{!}{%"] if wide else []),
            rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
            r"\toprule",
            " & ".join(latex(text) for text in self.header) + r" \\",
            r"\midrule",
            *(" & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}" + ("}" if wide else ""),
            *(rf"\par\smallskip{{\footnotesize {latex(note)}}}" for note in self.notes),
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def to_rich(self) -> RichTable:
        """The table for a terminal."""
        from rich.table import Table as Terminal
        from rich.text import Text

        shown = Terminal(title=self.title, title_justify="left", caption="\n".join(self.notes), caption_justify="left")
        for place, heading in enumerate(self.header):
            shown.add_column(Text(heading), justify="right" if place in self.numeric else "left")
        for row in self.rows:
            shown.add_row(*(Text(cell.text + cell.mark, RICH_STYLES[cell.emphasis]) for cell in row))
        return shown

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: numbers where there are numbers, None for gaps and what is not finite."""
        rows = [[_json_cell(cell) for cell in row] for row in self.rows]
        return {"title": self.title, "header": list(self.header), "rows": rows, "notes": list(self.notes)}

    def to_csv(self) -> str:
        """Numbers with full precision, an empty cell for a gap."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows([_csv_cell(cell) for cell in row] for row in self.rows)
        return stream.getvalue()


def latex(text: str) -> str:
    """Text with everything that LaTeX would misread written out."""
    return "".join(LATEX.get(letter, letter) for letter in text)


def number(value: float, digits: int = 3) -> Cell:
    """A number with so many significant digits; an en dash for a gap."""
    if math.isnan(value):
        return Cell("–", None)
    if math.isinf(value):
        return Cell("∞" if value > 0 else "−∞", value)
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        decimals = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else digits - 1
        return Cell(f"{value:.{min(decimals, 6)}f}", value)
    return Cell(f"{value:.{digits - 1}e}", value)


def text(value: object) -> Cell:
    """A cell of words."""
    return Cell(str(value))


def table(
    name: str,
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    notes: Sequence[str] = (),
) -> Table:
    """A table whose numeric columns are those that hold numbers."""
    numeric = frozenset(place for place in range(len(header)) if any(row[place].value is not None for row in rows))
    return Table(name, title, tuple(header), tuple(tuple(row) for row in rows), tuple(notes), numeric)


def _numeric(yes: bool) -> str:
    return ' class="number"' if yes else ""


def _html_cell(cell: Cell, numeric: bool, first: bool) -> str:
    content = escape(cell.text)
    if cell.emphasis:
        content = f"<b>{content}</b>" if cell.emphasis == "best" else f"<u>{content}</u>"
    if cell.mark:
        content += f"<sup>{escape(cell.mark)}</sup>"
    kind, scope = ("th", ' scope="row"') if first else ("td", "")
    value = "" if cell.value is None else f' data-value="{cell.value!r}"'
    words = ' class="words"' if not numeric and len(cell.text) > LONG_WORDS else ""
    return f"<{kind}{scope}{_numeric(numeric)}{words}{value}>{content}</{kind}>"


def _latex_cell(cell: Cell) -> str:
    content = latex(cell.text)
    if cell.emphasis:
        content = rf"\textbf{{{content}}}" if cell.emphasis == "best" else rf"\underline{{{content}}}"
    return content + latex(cell.mark)


def _json_cell(cell: Cell) -> float | str | None:
    if cell.value is not None:
        return cell.value if math.isfinite(cell.value) else None
    return None if cell.text == "–" else cell.text


def _csv_cell(cell: Cell) -> str:
    if cell.value is not None:
        return repr(cell.value)
    return "" if cell.text == "–" else cell.text
