"""Reproduction of the papers: every item of the chosen ones, in order, with its findings; as Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from stereogauge.errors import unknown_name
from stereogauge.reproduction import hci, kitti_confidence, methodology, sigma_z
from stereogauge.reproduction.declaration import FurtherNumbers, Item, Paper, Recorder, ReproducedNumber, Status, Value
from stereogauge.reproduction.material import Material
from stereogauge.text import WrittenAsJson, json_value

PAPERS: dict[str, Paper] = {
    paper.id: paper for paper in (sigma_z.PAPER, methodology.PAPER, kitti_confidence.PAPER, hci.PAPER, hci.SUPPLEMENT)
}


class ReproducedItem(Struct, frozen=True):
    """One item of a paper with its findings."""

    paper: Paper
    item: Item
    findings: Recorder


class Reproduction(WrittenAsJson, Struct, frozen=True):
    """All reproduced items."""

    items: tuple[ReproducedItem, ...]

    @property
    def rows(self) -> tuple[ReproducedNumber, ...]:
        """All rows in order."""
        return tuple(row for item in self.items for row in item.findings.rows)

    @property
    def figures(self) -> dict[str, Any]:
        """The data of all figures by file name."""
        return {name: data for item in self.items for name, data in item.findings.figures.items()}

    def counts(self, paper: str) -> dict[str, int]:
        """Rows of one paper by status."""
        rows = [row for row in self.rows if row.paper == paper]
        return {status.value: sum(row.status is status for row in rows) for status in Status}

    def to_dict(self) -> dict[str, Any]:
        """Rows, tables and figure names of every item as plain values for JSON."""
        items = [
            {
                "paper": item.paper.id,
                "item": item.item.id,
                "title": item.item.title,
                "tables": json_value(item.findings.tables),
                "figures": list(item.findings.figures),
            }
            for item in self.items
        ]
        return {"rows": json_value(self.rows), "items": items}


def chosen_papers(names: Sequence[str] | None) -> tuple[Paper, ...]:
    """The papers called `names`, or all five."""
    for name in names or ():
        if name not in PAPERS:
            raise unknown_name("paper", name, PAPERS)
    return tuple(PAPERS.values()) if not names else tuple(PAPERS[name] for name in names)


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
            record = Recorder(paper.id, item.id, paper.data)
            item.compute(record, material)
            reproduced.append(ReproducedItem(paper, item, record))
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
    stream = io.StringIO()
    rows = [row.to_dict() for row in reproduction.rows]
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]) if rows else ["paper"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def markdown(reproduction: Reproduction, pictures: str = "") -> str:
    """A page: the counts, then each paper with its items, rows and tables; `pictures` is where figure files lie."""
    papers = list(dict.fromkeys(reproduced.paper.id for reproduced in reproduction.items))
    lines = [_line(["paper", *(status.value for status in Status)]), _line(["---"] * (len(Status) + 1))]
    lines += [_line([PAPERS[paper].title, *map(str, reproduction.counts(paper).values())]) for paper in papers]
    parts = ["\n".join(lines)]
    for paper in papers:
        parts.append(f"## {PAPERS[paper].title}")
        parts += [_item(reproduced, pictures) for reproduced in reproduction.items if reproduced.paper.id == paper]
    return "\n\n".join(parts) + "\n"


def _item(reproduced: ReproducedItem, pictures: str) -> str:
    heading = reproduced.item.id[0].upper() + reproduced.item.id[1:]
    parts = [f"### {heading}: {reproduced.item.title}", *_groups(reproduced.findings.rows)]
    parts += [_table(table) for table in reproduced.findings.tables]
    if pictures:
        parts += [f"![{name}]({pictures}{name}.png)" for name in reproduced.findings.figures]
    return "\n\n".join(parts)


def _groups(rows: Iterable[ReproducedNumber]) -> Iterable[str]:
    """Rows of one status and reason as one table under the reason."""
    groups: dict[tuple[Status, str], list[ReproducedNumber]] = {}
    for row in rows:
        groups.setdefault((row.status, row.reason), []).append(row)
    for (status, reason), members in groups.items():
        lines = [_line(["", "ours", "theirs", "difference"]), _line(["---"] * 4)]
        lines += [_line([row.what, shown(row.ours), shown(row.theirs), shown(row.difference)]) for row in members]
        yield f"**{status.value.capitalize()}**" + (f": {reason}." if reason else ".")
        yield "\n".join(lines)


def _table(table: FurtherNumbers) -> str:
    lines = [_line(table.headings), _line(["---"] * len(table.headings))]
    lines += [_line([shown(cell) for cell in row]) for row in table.cells]
    return f"*{table.title}*\n\n" + "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
