"""Write what was measured into the page on performance: `python -m benchmarks.page RUN.json [MORE.json …]`.

The JSON files are those of `python -m benchmarks --json`; several parts of one run on one machine may come in several
files, a later one replaces rows of an earlier one. `--elsewhere` takes those of another machine, or of the same one
with another level of the kernels (STEREOGAUGE_NATIVE_LEVEL); they get a table of their own. Tables are between
markers in the page, the curves go to a figure and a CSV file beside it. No number is typed by hand.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema

from benchmarks.curves import Curve
from benchmarks.groups import GROUPS
from benchmarks.machine import ROOT, describe
from benchmarks.report import LIMIT, Missing, Report, Row, amount_text
from benchmarks.scaling_figure import data_table, panels, scaling_chart, scaling_table
from benchmarks.schema import SCHEMA
from stereogauge.tables.formats import csv_table, markdown_table
from stereogauge.tables.table import Cell, Table, table
from stereogauge.text import number_text

PAGE = ROOT / "docs" / "performance.md"
FIGURE = "performance-scaling"
SAME = ("processor", "features", "cores", "versions")


class PageError(SystemExit):
    """One sentence for whoever runs the command."""

    def __init__(self, text: str) -> None:
        super().__init__(f"benchmarks.page: {text}")


def load(path: Path) -> dict[str, Any]:
    """One document of `--json`."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise PageError(f"{path} cannot be read as JSON: {problem}.") from None
    wrong = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(SCHEMA).iter_errors(document))
    if wrong is not None:
        place = "/".join(map(str, wrong.absolute_path)) or "the document"
        raise PageError(f"{path} is no result of `python -m benchmarks --json`: {place}: {wrong.message[:200]}.")
    found: dict[str, Any] = document
    return found


def joined(documents: Sequence[dict[str, Any]]) -> tuple[Report, dict[str, Any], str]:
    """Everything measured, the machine, and the dates; `busy` of the machine becomes what others used, by group."""
    machines = [document["machine"] for document in documents]
    commits = dict.fromkeys(m["versions"].pop("commit", "") for m in machines)
    for name in SAME:
        if any(m[name] != machines[0][name] for m in machines):
            raise PageError(f"the files come from different machines or versions: they differ in {name}.")
    machines[0]["versions"]["commit"] = " and ".join(filter(None, commits)) or "unknown"
    rows = {(row.group, row.work, row.peer): row for d in documents for row in map(Row.of, d["rows"])}
    curves = {(curve.over, curve.name): curve for d in documents for curve in map(Curve.of, d["curves"])}
    missing = {(one["group"], one["work"]): Missing(**one) for d in documents for one in d["missing"]}
    measured = {(group, work) for group, work, _ in rows}
    report = Report(
        rows=list(rows.values()),
        missing=[one for key, one in missing.items() if key not in measured],
        curves=list(curves.values()),
    )
    busy = {part["group"]: d["machine"] for d in documents for part in (*d["missing"], *d["rows"])}
    dates = sorted({document["date"] for document in documents})
    return report, {**machines[0], "busy": busy}, " to ".join(dict.fromkeys((dates[0], dates[-1])))


def group_table(rows: Sequence[Row]) -> Table:
    """Work, ours and the peer's times with minima in brackets, ratios, noise, goal."""
    header = ("work", "ours", "peer", "theirs", "ratio", "noise", "goal", "met")
    return table("performance", "", header, [_cells(row) for row in rows])


def _cells(row: Row) -> list[Cell]:
    limit = row.peer == LIMIT
    ours = f"{amount_text(row.ours.median, row.unit)} ({amount_text(row.ours.fastest, row.unit)})"
    theirs = amount_text(row.theirs.median, row.unit)
    if len(row.theirs.values) > 1:
        theirs += f" ({amount_text(row.theirs.fastest, row.unit)})"
    ratio = f"{number_text(row.ratio('median'))} ({number_text(row.ratio('fastest'))})"
    noise = "–" if math.isnan(row.noise) else number_text(row.noise)
    goal = f"≤ {amount_text(row.theirs.median, row.unit)}" if limit else f"≤ {number_text(row.goal)}"
    goal += " by the fastest" if row.by == "fastest" else ""
    met = {"met": "yes", "missed": "**no**", "missed within noise": "no, within noise"}[row.verdict]
    work = f"{row.work} ({row.note})" if row.note else row.work
    peer = ("–", "–") if limit else (row.peer, theirs)
    return [work, ours, *peer, ratio, noise, goal, met]


def _summary(report: Report, facts: dict[str, Any], dates: str) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return f"{dates}, {describe(facts)}; {versions}.\n\nIn short: {report.summary()}."


def elsewhere_text(report: Report, facts: dict[str, Any], dates: str) -> str:
    """One table of what another machine measured."""
    return f"{_summary(report, facts, dates)}\n\n{markdown_table(group_table(report.rows)).rstrip()}"


def measured_text(report: Report, facts: dict[str, Any], dates: str) -> str:
    """The tables of all groups, with machine and date above."""
    parts = [_summary(report, facts, dates)]
    titles = {group.name: group.title for group in GROUPS}
    for name in dict.fromkeys([*titles, *(row.group for row in report.rows)]):
        rows = [row for row in report.rows if row.group == name]
        absent = [f"- Not measured: {one.work}: {one.why}." for one in report.missing if one.group == name]
        if rows or absent:
            shares = [100 * facts["busy"][name][by] for by in ("others", "stolen")]
            parts.append(f"### {titles.get(name, name)}")
            parts.append(
                "Meanwhile other processes used {:.0f} % of the cores, other machines {:.0f} %.".format(*shares)
            )
        parts += [markdown_table(group_table(rows)).rstrip()] if rows else []
        parts += ["\n".join(absent)] if absent else []
    return "\n\n".join(parts)


def scaling_text(curves: Sequence[Curve]) -> str:
    """The figure, where its data are, and the slopes."""
    quantities = ", ".join(panels(curves))
    picture = f"![Seconds over {quantities}, on logarithmic axes](images/{FIGURE}.png)"
    data = f"Every point of the figure is in [a CSV file](images/{FIGURE}.csv)."
    return "\n\n".join([picture, data, markdown_table(scaling_table(curves)).rstrip()])


def put(text: str, name: str, content: str) -> str:
    """The page with `content` between the markers called `name`."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise PageError(f"the page needs the lines {begin} and {end}, once each and in this order.")
    return text[: text.index(begin) + len(begin)] + f"\n\n{content}\n\n" + text[text.index(end) :]


def write(page: Path, documents: Sequence[dict[str, Any]], elsewhere: Sequence[dict[str, Any]] = ()) -> None:
    """Bring the page, its figure and the data of the figure up to date."""
    report, facts, dates = joined(documents)
    text = page.read_text(encoding="utf-8")
    if elsewhere:
        text = put(text, "elsewhere", elsewhere_text(*joined(elsewhere)))
    if report.rows or report.missing:
        text = put(text, "measured", measured_text(report, facts, dates))
    if report.curves:
        text = put(text, "scaling", scaling_text(report.curves))
        images = page.parent / "images"
        images.mkdir(exist_ok=True)
        scaling_chart(report.curves).save(images / f"{FIGURE}.png")
        comments = (f"{dates}, {describe(facts)}",)
        (images / f"{FIGURE}.csv").write_text(csv_table(data_table(report.curves), comments), encoding="utf-8")
    page.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.page", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="RUN.json", help="what `--json` wrote")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page with the markers (default: %(default)s)")
    parser.add_argument(
        "--elsewhere", nargs="+", type=Path, metavar="RUN.json", default=[], help="the same of another machine"
    )
    asked = parser.parse_args(arguments)
    write(asked.page, *([load(path) for path in paths] for paths in (asked.files, asked.elsewhere)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
