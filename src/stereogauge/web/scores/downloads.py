"""The leaderboard as a file: CSV with every digit, LaTeX with three significant ones."""

from __future__ import annotations

import csv
import io

from stereogauge.web.scores.rankings import RankAnswer, RankRow
from stereogauge.web.scores.tables import Row, TableAnswer

LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def leaderboard_csv(ranking: RankAnswer, table: TableAnswer) -> str:
    """One row an algorithm in order of rank; the selection precedes it in lines that begin with #."""
    target = io.StringIO()
    target.write(f"# model: {ranking.name} (value: {ranking.value_name})\n")
    target.write(f"# selection: {_one_line(ranking.caption)}\n")
    target.write(f"# aggregation over scenes: {table.aggregation}\n")
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(["rank", "algorithm", "group", ranking.value_name, *(column.id for column in table.columns)])
    for row, values in _rows(ranking, table):
        group = "" if row.group is None else row.group
        cells = ["" if value is None else repr(value) for value in values]
        writer.writerow([row.rank, _safe(row.algorithm), group, "" if row.value is None else repr(row.value), *cells])
    return target.getvalue()


def leaderboard_latex(ranking: RankAnswer, table: TableAnswer) -> str:
    """A tabular for a paper: three significant digits, best values bold, unit in the header."""
    heads = [
        f"{escaped(column.label)}{f' [{escaped(column.unit)}]' if column.unit else ''}" for column in table.columns
    ]
    lines = [
        f"% {_one_line(ranking.caption)}",
        rf"\begin{{tabular}}{{rl{'r' * (len(heads) + 1)}}}",
        r"\hline",
        " & ".join(["rank", "algorithm", escaped(ranking.value_name), *heads]) + r" \\",
        r"\hline",
    ]
    places = {name: place for place, name in enumerate(table.algorithms)}
    for row, values in _rows(ranking, table):
        place = places[row.algorithm]
        cells = [
            rf"\textbf{{{digits(value)}}}" if place in column.best else digits(value)
            for value, column in zip(values, table.columns, strict=True)
        ]
        lines.append(" & ".join([str(row.rank), escaped(row.algorithm), digits(row.value), *cells]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def _rows(ranking: RankAnswer, table: TableAnswer) -> list[tuple[RankRow, Row]]:
    places = {name: place for place, name in enumerate(table.algorithms)}
    return [(row, table.values[places[row.algorithm]]) for row in ranking.rows]


def digits(value: float | None) -> str:
    """Three significant digits; a dash where there is no value."""
    if value is None:
        return "--"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}".rstrip(".")


def escaped(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(LATEX.get(letter, letter) for letter in text)


def _safe(name: str) -> str:
    """A name that a spreadsheet does not take for a formula."""
    return f"'{name}" if name.startswith(FORMULA_STARTS) else name


def _one_line(text: str) -> str:
    return " ".join(text.split())
