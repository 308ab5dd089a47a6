"""Reproduction of the papers: every item of the chosen ones, in order, with its findings; as Markdown and CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from stereogauge.errors import one_of
from stereogauge.reproduction import hci, kitti_confidence, methodology, sigma_z
from stereogauge.reproduction.declaration import Paper, Recorder, ReproducedNumber, Status, Value
from stereogauge.reproduction.material import Material
from stereogauge.tables.formats import csv_table
from stereogauge.tables.table import of_records
from stereogauge.text import WrittenAsJson, json_value, json_values, upper_first

PAPERS: dict[str, Paper] = {
    paper.id: paper for paper in (sigma_z.PAPER, methodology.PAPER, kitti_confidence.PAPER, hci.PAPER, hci.SUPPLEMENT)
}


class Reproduction(WrittenAsJson, Struct, frozen=True):
    """All reproduced items."""

    items: tuple[Recorder, ...]

    @property
    def rows(self) -> tuple[ReproducedNumber, ...]:
        """All rows in order."""
        return tuple(row for item in self.items for row in item.rows)

    @property
    def figures(self) -> dict[str, Any]:
        """The data of all figures by file name."""
        return {name: data for item in self.items for name, data in item.figures.items()}

    def counts(self, paper: str) -> dict[str, int]:
        """Rows of one paper by status."""
        rows = [row for row in self.rows if row.paper == paper]
        return {status.value: sum(row.status is status for row in rows) for status in Status}

    def to_dict(self) -> dict[str, Any]:
        """Rows, tables and figure names of every item as plain values for JSON."""
        items = [
            {**json_values(item, ("paper", "item", "title", "tables")), "figures": list(item.figures)}
            for item in self.items
        ]
        return {"rows": json_value(self.rows), "items": items}


def chosen_papers(names: Sequence[str] | None) -> tuple[Paper, ...]:
    """The papers called `names`, or all five."""
    return tuple(PAPERS[one_of("paper", name, PAPERS)] for name in names or PAPERS)


def reproduce(
    data: Path,
    papers: Sequence[str] | None = None,
    items: Sequence[str] | None = None,
    *,
    progress: Callable[[str, str], None] = lambda paper, item: None,
) -> Reproduction:
    """Reproduce papers on the data in a folder; `progress(paper, item)` is called before each item."""
    material = Material(data)
    reproduced = []
    for paper in chosen_papers(papers):
        for item in paper.choose(items):
            progress(paper.id, item.id)
            record = Recorder(paper.id, item.id, item.title, paper.data)
            item.compute(record, material)
            reproduced.append(record)
    return Reproduction(tuple(reproduced))


DECIMALS = 4


def shown(value: Value | None) -> str:
    """A number with up to four decimals, a text as it is, nothing as a dash."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".")


def csv_text(reproduction: Reproduction) -> str:
    """One line per row."""
    return csv_table(of_records("rows", [row.to_dict() for row in reproduction.rows]))


def markdown(reproduction: Reproduction, pictures: str = "") -> str:
    """A page: the counts, then each paper with its items, rows and tables; `pictures` is where figure files lie."""
    papers = list(dict.fromkeys(item.paper for item in reproduction.items))
    lines = [_line(["paper", *(status.value for status in Status)]), _line(["---"] * (len(Status) + 1))]
    lines += [_line([PAPERS[paper].title, *map(str, reproduction.counts(paper).values())]) for paper in papers]
    parts = ["\n".join(lines)]
    for paper in papers:
        parts.append(f"## {PAPERS[paper].title}")
        parts += [_item(item, pictures) for item in reproduction.items if item.paper == paper]
    return "\n\n".join(parts) + "\n"


def _item(item: Recorder, pictures: str) -> str:
    parts = [f"### {upper_first(item.item)}: {item.title}", *_groups(item.rows)]
    parts += [_table(f"*{table.title}*", table.headings, table.cells) for table in item.tables]
    if pictures:
        parts += [f"![{name}]({pictures}{name}.png)" for name in item.figures]
    return "\n\n".join(parts)


def _groups(rows: Iterable[ReproducedNumber]) -> Iterable[str]:
    """Rows of one status and reason as one table under the reason."""
    groups: dict[tuple[Status, str], list[ReproducedNumber]] = {}
    for row in rows:
        groups.setdefault((row.status, row.reason), []).append(row)
    for (status, reason), members in groups.items():
        cells = [[row.what, row.ours, row.theirs, row.difference] for row in members]
        heading = f"**{status.value.capitalize()}**" + (f": {reason}." if reason else ".")
        yield _table(heading, ["", "ours", "theirs", "difference"], cells)


def _table(title: str, headings: Sequence[str], cells: Iterable[Sequence[Any]]) -> str:
    lines = [_line(headings), _line(["---"] * len(headings)), *(_line(map(shown, row)) for row in cells)]
    return "\n".join([f"{title}\n", *lines])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
