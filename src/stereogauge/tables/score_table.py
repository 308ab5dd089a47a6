"""Score tables as text: for the terminal, LaTeX, CSV and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stereogauge.metrics.declaration import parse_metric
from stereogauge.scores.table import Aggregation, Score, ScoreTable, aggregate

if TYPE_CHECKING:
    from rich.table import Table


def format_value(value: float) -> str:
    """Three significant digits, more before the point; an en dash where nothing was measured."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    rounded = float(f"{value:.3g}")
    if rounded != 0 and not 1e-3 <= abs(rounded) < 1e5:
        return f"{value:.2e}"
    digits = 2 - math.floor(math.log10(abs(rounded))) if rounded else 2
    return f"{value:.{max(0, min(digits, 5))}f}"


def column_title(metric: str, region: str) -> tuple[str, str, str]:
    """Metric id, region and unit of a column; a metric on its own pixel set shows no region."""
    declared = parse_metric(metric).metric
    return metric, "" if declared.region else region, declared.unit


def _aggregation(table: ScoreTable, metric: str) -> Aggregation:
    """The protocol's way over the scenes; a metric that does not pool is averaged where the others are pooled."""
    how = table.protocol.aggregation if table.protocol else "mean"
    return "mean" if how == "pooled" and not parse_metric(metric).metric.pools else how


def _titles(table: ScoreTable, scene: str | None) -> list[tuple[str, str, str]]:
    """The columns' titles; the unit also says where several scenes are not aggregated as the protocol says."""
    several = scene is None and len(table.scenes) > 1 and table.protocol is not None
    titles = []
    for column in table.columns:
        metric, region, unit = column_title(*column)
        if several and table.protocol and _aggregation(table, metric) != table.protocol.aggregation:
            unit = f"{unit}, mean of scenes" if unit else "mean of scenes"
        titles.append((metric, region, unit))
    return titles


def _cells(table: ScoreTable, scene: str | None) -> dict[tuple[str, str, str], float]:
    """(algorithm, metric, region) → value on one scene, or aggregated over all as the protocol says."""
    weights = dict(table.protocol.scene_weights) if table.protocol else {}
    grouped: dict[tuple[str, str, str], list[Score]] = {}
    for score in table:
        counted = grouped.setdefault((score.algorithm, score.metric, score.region), [])
        if score.scene == scene or (scene is None and not table.is_void(score)):
            counted.append(score)
    return {key: aggregate(scores, _aggregation(table, key[1]), weights) for key, scores in grouped.items()}


def best_in_column(values: Sequence[float], metric: str) -> float:
    """The best of the finite values, NaN where there is none."""
    finite = [v for v in values if not math.isnan(v)]
    direction = parse_metric(metric).metric.direction
    if not finite:
        return math.nan
    if direction == "zero":
        return min(finite, key=abs)
    return max(finite) if direction == "higher" else min(finite)


def rich_table(table: ScoreTable, scene: str | None = None, title: str = "") -> Table:
    """One row an algorithm, one column a metric and region; the best of each column in bold.

    Turned on its side (a row a column) when there are more columns than algorithms.
    """
    from rich.table import Table

    cells = _cells(table, scene)
    best = {c: best_in_column([cells[a, *c] for a in table.algorithms], c[0]) for c in table.columns}
    several = len(table.algorithms) > 1

    def shown(algorithm: str, column: tuple[str, str]) -> str:
        value = cells[algorithm, *column]
        text = format_value(value)
        return f"[bold]{text}[/bold]" if several and value == best[column] else text

    rich = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    upright = len(table.columns) <= max(6, len(table.algorithms))
    if upright:
        rich.add_column("algorithm")
        for title_lines in _titles(table, scene):
            rich.add_column("\n".join(title_lines), justify="right")
        for algorithm in table.algorithms:
            rich.add_row(_escaped(algorithm), *(shown(algorithm, c) for c in table.columns))
        return rich
    for heading in ("metric", "region", "unit"):
        rich.add_column(heading)
    for algorithm in table.algorithms:
        rich.add_column(_escaped(algorithm), justify="right")
    for column, title_lines in zip(table.columns, _titles(table, scene), strict=True):
        rich.add_row(*title_lines, *(shown(a, column) for a in table.algorithms))
    return rich


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


_LATEX_SPECIAL = str.maketrans(
    {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
     "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "²": r"\textsuperscript{2}", "°": r"\textdegree{}"}
)  # fmt: skip


def latex_text(text: str) -> str:
    """Text with LaTeX's special characters escaped."""
    return text.translate(_LATEX_SPECIAL)


def latex_table(table: ScoreTable, scene: str | None = None) -> str:
    """A booktabs table, the best value of each column in bold; needs the package booktabs."""
    cells = _cells(table, scene)
    lines = [r"\begin{tabular}{l" + "r" * len(table.columns) + "}", r"\toprule"]
    titles = _titles(table, scene)
    lines.append(" & ".join(["algorithm", *(latex_text(metric) for metric, _, _ in titles)]) + r" \\")
    lines.append(" & ".join(["", *(latex_text(region) for _, region, _ in titles)]) + r" \\")
    lines.append(" & ".join(["", *(latex_text(f"[{unit}]") if unit else "" for _, _, unit in titles)]) + r" \\")
    lines.append(r"\midrule")
    best = {c: best_in_column([cells[a, *c] for a in table.algorithms], c[0]) for c in table.columns}
    for algorithm in table.algorithms:
        row = [latex_text(algorithm)]
        for column in table.columns:
            value = cells[algorithm, *column]
            text = {"–": "--", "∞": r"$\infty$", "−∞": r"$-\infty$"}.get(format_value(value), format_value(value))
            row.append(rf"\textbf{{{text}}}" if value == best[column] else text)
        lines.append(" & ".join(row) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"
