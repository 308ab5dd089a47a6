"""`stereogauge match`: run a stereo matcher on a pair of images."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereogauge.cli import options
from stereogauge.cli.output import announce_compilation, print_entry, print_rows, say
from stereogauge.errors import MatcherError

if TYPE_CHECKING:
    from stereogauge.matching.result import MatchResult


def command(
    left: Annotated[str | None, typer.Argument(metavar="LEFT", help="Left image.")] = None,
    right: Annotated[str | None, typer.Argument(metavar="RIGHT", help="Right image.")] = None,
    matcher: Annotated[
        str,
        typer.Option(
            "--matcher",
            "-m",
            help="sgm, opencv-sgbm:mode=hh,block=5, or cmd:PROGRAM {left} {right} {out} {ndisp}; see --list.",
        ),
    ] = "sgm",
    ndisp: Annotated[int, typer.Option(help="Number of disparities to search, from 0.")] = 64,
    parameter: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the matcher, NAME=VALUE; repeatable.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the left map, e.g. disparity.pfm.")] = None,
    right_out: Annotated[Path | None, typer.Option(help="File for the right map.")] = None,
    target_encoding: Annotated[
        str | None, typer.Option("--to", help="Encoding of the maps where their suffix leaves it open, e.g. kitti.")
    ] = None,
    target_scale: Annotated[
        float | None, typer.Option("--to-scale", help="Stored value per pixel of disparity, with --to middlebury.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="PNG of the left map in false colours.")] = None,
    form: options.OutputFormat = options.Format.table,
    list_matchers: Annotated[bool, typer.Option("--list", help="List matchers and their parameters and stop.")] = False,
) -> None:
    """Run a stereo matcher on a pair of images.

    Writes the disparity map and prints run time and density. Every matcher also takes lr_check, median, speckle and
    fill for post-processing.
    """
    from stereogauge.cli.convert import check_target
    from stereogauge.matching.run import match
    from stereogauge.matching.text import parse_parameters

    if list_matchers:
        _print_matchers(form)
        return
    if left is None or right is None:
        raise MatcherError("A match needs two images: stereogauge match LEFT RIGHT --ndisp 64 --out disparity.pfm.")
    for path in (out, right_out):
        if path is not None:
            check_target(str(path), target_encoding, target_scale)
            options.make_folder(path.parent)
    announce_compilation()
    given = parse_parameters(",".join(parameter or ()), "--set")
    result = match(left, right, matcher, ndisp, **given)
    write = functools.partial(_write, encoding=target_encoding, scale=target_scale)
    if out is not None:
        write(out, result.disparity)
    elif picture is None:
        say("the map was not kept; --out disparity.pfm writes it")
    if right_out is not None:
        if result.right_disparity is None:
            raise MatcherError(f"{result.matcher} gave no right map; try --set right_view=second-run.")
        write(right_out, result.right_disparity)
    if picture is not None:
        from stereogauge.figures.pictures import render_disparity, write_png

        write_png(picture, render_disparity(result.disparity, (0.0, float(ndisp - 1))))
    _print(_facts(result), form)


def _write(path: Path, disparity: Any, encoding: str | None, scale: float | None) -> None:
    from stereogauge.io.disparity import write_disparity

    write_disparity(path, disparity, encoding=encoding, scale=scale)
    say(f"{path} written")


def _facts(result: MatchResult) -> dict[str, Any]:
    import numpy as np

    height, width = result.disparity.shape
    return {
        "matcher": result.matcher,
        "width": width,
        "height": height,
        "ndisp": result.ndisp,
        "density": float(np.isfinite(result.disparity).mean()),
        "seconds": result.seconds,
        "cpu_seconds": result.cpu_seconds,
        "peak_memory": result.peak_memory,
        "parameters": {name: str(value) for name, value in result.parameters.items()},
    }


def _print(facts: dict[str, Any], form: options.Format) -> None:
    if form is options.Format.json:
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
        return
    flat = {**facts, "parameters": " ".join(f"{name}={value}" for name, value in facts["parameters"].items())}
    if form is options.Format.table:
        for name, value in flat.items():
            if value is not None:
                print_entry(name, [f"{value:.4g}" if isinstance(value, float) else str(value)], indent=13)
        return
    print_rows([flat], form)


def _print_matchers(form: options.Format) -> None:
    from stereogauge.matching.declaration import matchers
    from stereogauge.matching.postprocess import POST_PARAMETERS

    found = [(declared.id, p) for declared in matchers().values() for p in declared.parameters]
    found += [("every matcher", parameter) for parameter in POST_PARAMETERS.values()]
    rows = [
        {
            "matcher": name,
            "parameter": p.name,
            "default": str(p.default),
            "allowed": p.allowed,
            "meaning": p.description,
        }
        for name, p in found
    ]
    print_rows(rows, form)
