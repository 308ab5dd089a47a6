"""A reproduction as Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from stereogauge.reproduction.declaration import Row, Status, Table, Value
from stereogauge.reproduction.run import PAPERS, ReproducedItem, Reproduction

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
    for paper in papers:
        counts = reproduction.counts(paper)
        arithmetic = counts["printed arithmetic"]
        reproduced = f"{counts[Status.REPRODUCED]}" + (f" ({arithmetic} by printed arithmetic)" if arithmetic else "")
        others = [str(counts[status]) for status in (Status.SAME_EXPERIMENT, Status.UNCHECKABLE)]
        lines.append(_line([PAPERS[paper].title, reproduced, *others]))
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


def _groups(rows: Iterable[Row]) -> Iterable[str]:
    """Rows of one status and reason as one table under the reason."""
    groups: dict[tuple[Status, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.status, row.reason), []).append(row)
    for (status, reason), members in groups.items():
        lines = [_line(["", "ours", "theirs", "difference"]), _line(["---"] * 4)]
        lines += [_line([row.what, shown(row.ours), shown(row.theirs), shown(row.difference)]) for row in members]
        yield f"**{status.value.capitalize()}**" + (f": {reason}." if reason else ".")
        yield "\n".join(lines)


def _table(table: Table) -> str:
    lines = [_line(table.headings), _line(["---"] * len(table.headings))]
    lines += [_line([shown(cell) for cell in row]) for row in table.cells]
    return f"*{table.title}*\n\n" + "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
