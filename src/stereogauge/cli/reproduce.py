"""`stereogauge reproduce`: reproduction of the papers' tables and figures."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from stereogauge.cli.options import make_folder
from stereogauge.cli.output import print_entry, print_json, print_tables, save_figures, say, step_bar
from stereogauge.errors import DatasetError
from stereogauge.figures.chart import FORMATS
from stereogauge.tables.table import Cell, table

if TYPE_CHECKING:
    from stereogauge.reproduction.run import Reproduction


def command(
    papers: Annotated[
        list[str] | None, typer.Argument(metavar="PAPER", help="Papers by id; all five without one.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(envvar="STEREOGAUGE_DATA", help="Folder that holds middlebury-v2, middlebury-2014 and kitti2012."),
    ] = None,
    item: Annotated[list[str] | None, "Only this item of the paper, e.g. 'table 1'."] = None,
    form: Annotated[Literal["table", "json", "csv", "markdown"], "How to print."] = "table",
    out: Annotated[Path | None, "Folder for the figures."] = None,
    listing: Annotated[bool, typer.Option("--list", help="Only list papers and items.")] = False,
) -> None:
    """Reproduce the tables and figures of the papers, with the differences.

    Every row is reproduced (ours rounds to what the paper prints), the same experiment on other data (theirs are not
    public), or cannot be checked, with the reason.
    """
    from stereogauge.reproduction.run import chosen_papers, csv_text, markdown, reproduce

    if listing:
        for paper in chosen_papers(papers):
            print_entry(f"{paper.id}  ", [paper.title], indent=31)
            for one in paper.items:
                print_entry(f"  {one.id}  ", [one.title], indent=31)
        return
    if data is None:
        raise DatasetError(
            "No data: name the folder that holds middlebury-v2, middlebury-2014 and kitti2012 with --data or in "
            "STEREOGAUGE_DATA."
        )
    make_folder(out)
    total = sum(len(paper.choose(item)) for paper in chosen_papers(papers))
    started = itertools.count()
    with step_bar(lines=True) as show:
        reproduction = reproduce(
            data, papers, item, progress=lambda paper, name: show(f"{paper}: {name}", next(started), total)
        )
    if form == "json":
        print_json(reproduction)
    elif form == "csv":
        sys.stdout.write(csv_text(reproduction))
    elif form == "markdown":
        sys.stdout.write(markdown(reproduction))
    else:
        _print(reproduction)
    if out is not None:
        save_figures(out, reproduction.figures, FORMATS)
        say(f"{len(reproduction.figures)} figures as PNG, SVG and PDF in {out}")


def _print(reproduction: Reproduction) -> None:
    from stereogauge.reproduction.run import shown

    rows = [
        [
            *(row.item, row.what, row.status.value, shown(row.ours), shown(row.theirs)),
            Cell(row.difference, shown(row.difference)),
        ]
        for row in reproduction.rows
    ]
    header = ("item", "what", "status", "ours", "theirs", "difference")
    print_tables([table("rows", "", header, rows)], boxed=False)
    for paper in dict.fromkeys(row.paper for row in reproduction.rows):
        counts = reproduction.counts(paper)
        say(f"{paper}: " + ", ".join(f"{number} {status}" for status, number in counts.items()))
