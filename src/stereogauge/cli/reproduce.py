"""`stereogauge reproduce`: reproduction of the papers' tables and figures."""

from __future__ import annotations

import contextlib
import enum
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereogauge.cli.options import make_folder
from stereogauge.cli.output import console, print_entry, print_tables, say
from stereogauge.errors import DatasetError

if TYPE_CHECKING:
    from stereogauge.reproduction.run import Reproduction


class ReproductionFormat(enum.StrEnum):
    """How the rows are written."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


def command(
    papers: Annotated[
        list[str] | None, typer.Argument(metavar="PAPER", help="Papers by id; all five without one.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(envvar="STEREOGAUGE_DATA", help="Folder that holds middlebury-v2, middlebury-2014 and kitti2012."),
    ] = None,
    item: Annotated[list[str] | None, typer.Option(help="Only this item of the paper, e.g. 'table 1'.")] = None,
    form: Annotated[
        ReproductionFormat, typer.Option("--format", "-f", help="How to print.")
    ] = ReproductionFormat.table,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the figures.")] = None,
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
    with _progress(total) as report:
        reproduction = reproduce(data, papers, item, progress=report)
    if form is ReproductionFormat.json:
        sys.stdout.write(reproduction.to_json() + "\n")
    elif form is ReproductionFormat.csv:
        sys.stdout.write(csv_text(reproduction))
    elif form is ReproductionFormat.markdown:
        sys.stdout.write(markdown(reproduction))
    else:
        _print(reproduction)
    if out is not None:
        _draw(reproduction, out)


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[str, str], None]]:
    """A bar with the time left on a terminal, one line per item elsewhere."""
    from rich.progress import Progress

    if not sys.stderr.isatty():
        yield lambda paper, name: say(f"{paper}: {name} …")
        return
    with Progress(console=console(errors=True), transient=True) as bar:
        task = bar.add_task("reproducing", total=total)
        started = itertools.count()
        yield lambda paper, name: bar.update(task, completed=next(started), description=f"{paper}: {name}")


def _print(reproduction: Reproduction) -> None:
    from stereogauge.reproduction.run import shown
    from stereogauge.tables.table import Cell, table, words

    rows = [
        [
            *map(words, (row.item, row.what, row.status.value, shown(row.ours), shown(row.theirs))),
            Cell(row.difference, shown(row.difference)),
        ]
        for row in reproduction.rows
    ]
    header = ("item", "what", "status", "ours", "theirs", "difference")
    print_tables([table("rows", "", header, rows)], boxed=False)
    for paper in dict.fromkeys(row.paper for row in reproduction.rows):
        counts = reproduction.counts(paper)
        say(f"{paper}: " + ", ".join(f"{number} {status}" for status, number in counts.items()))


def _draw(reproduction: Reproduction, folder: Path) -> None:
    for name, data in reproduction.figures.items():
        data.save(folder / f"{name}.png")
    say(f"{len(reproduction.figures)} figures in {folder}")
