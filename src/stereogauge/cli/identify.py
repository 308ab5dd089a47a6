"""`stereogauge identify`: which evaluator published numbers come from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stereogauge.cli import options
from stereogauge.cli.options import ListingFormat
from stereogauge.cli.output import print_json, print_tables, say, working
from stereogauge.cli.running import chosen_scenes
from stereogauge.datasets.results.find import find_results
from stereogauge.errors import DatasetError
from stereogauge.evaluation.published import WAYS, agreements, in_words, read_published
from stereogauge.tables.table import of_records

NOT_FOUND = 1


def command(
    published: Annotated[
        Path, typer.Argument(metavar="TABLE.csv", help="A header with names such as EPE or D1, and a row of numbers.")
    ],
    dataset: Annotated[str, typer.Argument(metavar="DATASET[:ROOT]", help="What the maps are of.")],
    results: Annotated[str, typer.Argument(metavar="RESULTS", help="The maps behind the numbers: a folder or a .zip.")],
    files: Annotated[options.Files, options.without("gt_encoding", "gt_scale", "resize")],
    row: Annotated[str | None, "Which row of the table, by its first column."] = None,
    scenes: options.Scenes = None,
    form: ListingFormat = "table",
) -> None:
    """Say which preset gives published numbers: the maps are scored under each, until the printed digits agree.

    Exit code 0: every number was found; 1: some were not; 2: the input itself is wrong.
    """
    numbers = read_published(published, row)
    data = chosen_scenes(dataset, scenes)
    found = find_results(results, data, **files.reading).results
    if len(found) != 1:
        names = ", ".join(result.name for result in found) or "none"
        raise DatasetError(f"{results} must hold the maps of one algorithm; found {names}.")
    there = data.subset([scene for scene in data.ids if scene in found[0].maps])
    if len(there) < len(data):
        say(f"{len(there)} of {len(data)} scenes have a map; only these are used")
    with working() as tell:
        agreeing = agreements(numbers, there, found[0], progress=tell)
    missing = [number for number in numbers if not any(one.number == number for one in agreeing)]
    if form == "json":
        named = [
            {
                "name": number.name,
                "printed": number.text,
                "agreements": [
                    {
                        "preset": one.preset,
                        "column": str(one.column),
                        "how": one.how,
                        "value": one.value,
                        "own": one.own,
                    }
                    for one in agreeing
                    if one.number == number
                ],
            }
            for number in numbers
        ]
        print_json({"numbers": named})
    else:
        for sentence in in_words(numbers, agreeing):
            say(sentence)
        rows = [
            {
                "number": one.number.name,
                "printed": one.number.text,
                "preset": one.preset,
                "metric": one.column.metric,
                "region": one.column.region,
                "over scenes": WAYS[one.how] + ("" if one.own else " (not its own)"),
                "value": f"{one.value:.8g}",
            }
            for one in agreeing
        ]
        print_tables([of_records("agreements", rows)] if rows else [])
    raise typer.Exit(NOT_FOUND if missing else 0)
