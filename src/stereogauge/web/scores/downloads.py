"""The leaderboard as a file: CSV with every digit, LaTeX with three significant ones."""

from __future__ import annotations

from dataclasses import replace

from stereogauge.ranking.result import Ranking
from stereogauge.tables.latex import latex_tabular
from stereogauge.tables.table import Cell, Heading, Table, number, words
from stereogauge.tables.text import csv_table


def leaderboard(ranking: Ranking, scores: Table) -> Table:
    """Rank, algorithm and the model's value before the scores of each ranked algorithm, in order of rank."""
    rows = {row[0].value: row for row in scores.rows}
    grouped = ranking.group is not None
    found = []
    for place, name in enumerate(ranking.algorithms):
        group = [] if ranking.group is None else [Cell(int(ranking.group[place]))]
        value = number(ranking.value[place])
        found.append((Cell(int(ranking.rank[place])), words(name), *group, value, *rows[name][1:]))
    header = ["rank", "algorithm", *(["group"] if grouped else []), ranking.value_name]
    return replace(scores, header=(*map(Heading, header), *scores.header[1:]), rows=tuple(found))


def leaderboard_csv(ranking: Ranking, scores: Table, aggregation: str) -> str:
    """One row per algorithm; the selection precedes it in lines that begin with #."""
    comments = [
        f"model: {ranking.model} (value: {ranking.value_name})",
        f"selection: {ranking.selection.caption()}",
        f"aggregation over scenes: {aggregation}",
    ]
    return csv_table(leaderboard(ranking, scores), comments)


def leaderboard_latex(ranking: Ranking, scores: Table) -> str:
    """A tabular for a paper; the selection precedes it as a comment."""
    return f"% {' '.join(ranking.selection.caption().split())}\n{latex_tabular(leaderboard(ranking, scores))}"
