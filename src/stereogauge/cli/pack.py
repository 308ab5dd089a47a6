"""`stereogauge pack`: the archive for submission to a public benchmark, checked before it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stereogauge.cli import options
from stereogauge.cli.options import ListingFormat
from stereogauge.cli.output import print_findings, print_json, say
from stereogauge.datasets.submission import BENCHMARKS, ROBUST_VISION, Packed, pack, pack_robust_vision
from stereogauge.errors import unknown_name

FOUND = 1


def command(
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK",
            help="kitti-2012, kitti-2015, middlebury-v3, eth3d, spring, booster or robust-vision; NAME:VARIANT too.",
        ),
    ],
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="The maps of one algorithm: a folder or a .zip.")],
    files: Annotated[options.Files, options.without("gt_encoding", "gt_scale", "resize")],
    out: Annotated[Path, "The archive to write; robust-vision: a folder."],
    data: Annotated[Path | None, "The dataset's folder with its test images, to check sizes and scenes."] = None,
    method: Annotated[str, "The method's name in the archive; default: that of the folder."] = "",
    seconds: Annotated[
        float | None, typer.Option(help="Run time of scenes that have no file of their own.", min=0)
    ] = None,
    form: ListingFormat = "table",
) -> None:
    """Write an archive for submission to a public benchmark, with its names, encodings, views and run times.

    Everything is checked first, and nothing is written where something is missing or wrong. Exit code 0: written; 1:
    something was found; 2: the input itself is wrong.
    """
    name, _, variant = benchmark.partition(":")
    reading = files.reading
    if name == ROBUST_VISION:
        made = pack_robust_vision(results, out, method=method, seconds=seconds, **reading)
    elif name in BENCHMARKS:
        own = pack(name, results, out, method=method, data=data, seconds=seconds, variant=variant, **reading)
        made = {name: own}
    else:
        raise unknown_name("benchmark", name, [*BENCHMARKS, ROBUST_VISION])
    _print(made, out, form)
    raise typer.Exit(0 if all(one.ok for one in made.values()) else FOUND)


def _print(made: dict[str, Packed], out: Path, form: str) -> None:
    if form == "json":
        print_json({n: {"ok": one.ok, "files": one.files, "findings": one.findings} for n, one in made.items()})
        return
    print_findings("benchmark", [(name, finding) for name, one in made.items() for finding in one.findings])
    for name, one in made.items():
        place = out / f"{name}.zip" if len(made) > 1 else out
        if one.ok and one.files:
            say(f"wrote {place} with {len(one.files)} files; {one.advice}.")
        else:
            say(f"{name}: {one.maps} maps found; nothing was written.")
