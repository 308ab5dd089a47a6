"""Reproduction of the papers: every item of the chosen ones, in order, with its findings."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stereogauge.errors import unknown_name
from stereogauge.reproduction import hci, hci_supplement, kitti_confidence, methodology, sigma_z
from stereogauge.reproduction.declaration import ARITHMETIC, Item, Paper, Recorder, Row, Status
from stereogauge.reproduction.material import Material

PAPERS: dict[str, Paper] = {
    paper.id: paper
    for paper in (sigma_z.PAPER, methodology.PAPER, kitti_confidence.PAPER, hci.PAPER, hci_supplement.PAPER)
}


@dataclass(frozen=True)
class ReproducedItem:
    """One item of a paper with its findings."""

    paper: Paper
    item: Item
    findings: Recorder


@dataclass(frozen=True)
class Reproduction:
    """All reproduced items."""

    items: tuple[ReproducedItem, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows in order."""
        return tuple(row for item in self.items for row in item.findings.rows)

    @property
    def figures(self) -> dict[str, Any]:
        """The data of all figures by file name."""
        return {name: data for item in self.items for name, data in item.findings.figures.items()}

    def counts(self, paper: str) -> dict[str, int]:
        """Rows of one paper by status; those that only check printed numbers are also counted."""
        rows = [row for row in self.rows if row.paper == paper]
        found = {status.value: sum(row.status is status for row in rows) for status in Status}
        return found | {"printed arithmetic": sum(row.reason == ARITHMETIC for row in rows)}

    def to_json(self) -> str:
        """Rows, tables and figure names of every item as one JSON document."""
        items = [
            {
                "paper": item.paper.id,
                "item": item.item.id,
                "title": item.item.title,
                "tables": [table.to_dict() for table in item.findings.tables],
                "figures": list(item.findings.figures),
            }
            for item in self.items
        ]
        document = {"rows": [row.to_dict() for row in self.rows], "items": items}
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


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
