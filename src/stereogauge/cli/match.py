"""`stereogauge match`: run a stereo matcher on a pair of images."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereogauge.cli import options
from stereogauge.cli.output import announce_compilation, announce_memory, print_entry, print_rows, say, working
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
            help="sgm, opencv-sgbm:mode=hh,block=5, onnx:MODEL.onnx, py:MODULE:FUNCTION, or "
            "cmd:PROGRAM {left} {right} {out} {ndisp}; see --list.",
        ),
    ] = "sgm",
    ndisp: Annotated[int, typer.Option(help="Number of disparities to search, from 0.")] = 64,
    parameter: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the matcher, NAME=VALUE; repeatable.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the left map, e.g. disparity.pfm.")] = None,
    right_out: Annotated[Path | None, typer.Option(help="File for the right map.")] = None,
    picture: Annotated[Path | None, typer.Option(help="PNG of the left map in false colours.")] = None,
    form: options.OutputFormat = options.Format.table,
    list_matchers: Annotated[bool, typer.Option("--list", help="List matchers and their parameters and stop.")] = False,
) -> None:
    """Run a stereo matcher on a pair of images.

    Writes the disparity map and prints run time and density. Every matcher also takes lr_check, median, speckle and
    fill for post-processing.
    """
    from stereogauge.matching.run import prepare
    from stereogauge.matching.text import parse_parameters

    if list_matchers:
        _print_matchers(form)
        return
    if left is None or right is None:
        raise MatcherError("A match needs two images: stereogauge match LEFT RIGHT --ndisp 64 --out disparity.pfm.")
    announce_compilation()
    given = parse_parameters(",".join(parameter or ()), "--set")
    with working("reading the images"):
        prepared = prepare(left, right, matcher, ndisp, **given)
    announce_memory(prepared.memory, prepared.matcher.id)
    with working(f"matching with {prepared.matcher.id}"):
        result = prepared.run()
    if out is not None:
        _write(out, result.disparity)
    if right_out is not None:
        if result.right_disparity is None:
            raise MatcherError(f"{result.matcher} gave no right map; try --set right_view=second-run.")
        _write(right_out, result.right_disparity)
    if picture is not None:
        from stereogauge.figures.pictures import render_disparity, write_png

        write_png(picture, render_disparity(result.disparity, (0.0, float(ndisp - 1))))
    _print(_facts(result), form)


def _write(path: Path, disparity: Any) -> None:
    from stereogauge.io.disparity import write_disparity

    path.parent.mkdir(parents=True, exist_ok=True)
    write_disparity(path, disparity)
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
        "threads": result.threads,
        "processor": result.processor,
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
