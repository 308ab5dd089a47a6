"""`stereogauge match`: run a stereo matcher on a pair of images."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereogauge.cli import options
from stereogauge.cli.output import announce_memory, print_entry, print_json, print_rows, say, working
from stereogauge.errors import MatcherError

if TYPE_CHECKING:
    from stereogauge.confidence_measures.learned import Trees
    from stereogauge.matching.result import MatchResult

NO_RIGHT_MAP = "{matcher} gave no right map; try --set right_view=second-run."


def command(
    left: Annotated[str | None, typer.Argument(metavar="LEFT", help="Left image.")] = None,
    right: Annotated[str | None, typer.Argument(metavar="RIGHT", help="Right image.")] = None,
    matcher: Annotated[
        str,
        "sgm, opencv-sgbm:mode=hh,block=5, onnx:MODEL.onnx, py:MODULE:FUNCTION, or "
        "cmd:PROGRAM {left} {right} {out} {ndisp}; see --list.",
    ] = "sgm",
    ndisp: Annotated[int, "Number of disparities to search, from 0."] = 64,
    parameter: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the matcher, NAME=VALUE; repeatable.")
    ] = None,
    out: Annotated[Path | None, "File for the left map, e.g. disparity.pfm."] = None,
    right_out: Annotated[Path | None, "File for the right map."] = None,
    target_encoding: Annotated[
        str | None, typer.Option("--to", help="Encoding of the maps where their suffix leaves it open, e.g. kitti.")
    ] = None,
    target_scale: Annotated[
        float | None, typer.Option("--to-scale", help="Stored value per pixel of disparity, with --to middlebury.")
    ] = None,
    picture: Annotated[Path | None, "PNG of the left map in false colours."] = None,
    confidence: Annotated[
        Path | None, "Folder for confidence maps (PFM), the matcher's own or one per measure."
    ] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Which confidence measures; default: the matcher's own, else the paper's five and their product.",
        ),
    ] = None,
    model: Annotated[Path | None, "Trained combination for --by learned, from `confidence --save-model`."] = None,
    sigma: Annotated[float | None, typer.Option(help="Scale ς of the perturbation; default: P2.", min=0)] = None,
    temperature: Annotated[float | None, typer.Option(help="Temperature of the entropy; default: P2.", min=0)] = None,
    classes: Annotated[
        Path | None, "PNG of what lr_check found: 0 consistent, 1 occluded, 2 mismatched (default lr_check=1)."
    ] = None,
    form: options.OutputFormat = options.Format.table,
    list_matchers: Annotated[bool, typer.Option("--list", help="List matchers and their parameters and stop.")] = False,
) -> None:
    """Run a stereo matcher on a pair of images.

    Writes the disparity map and prints run time and density. Every matcher also takes lr_check, median, speckle and
    fill for post-processing.
    """
    from stereogauge.matching.run import parse_parameters, prepare

    if list_matchers:
        _print_matchers(form)
        return
    if left is None or right is None:
        raise MatcherError("A match needs two images: stereogauge match LEFT RIGHT --ndisp 64 --out disparity.pfm.")
    names = options.listed(measures)
    trees = _model(model, names)
    if confidence is None and (names or trees or sigma is not None or temperature is not None):
        say("--by, --model, --sigma and --temperature are of maps that only --confidence FOLDER writes: none is made")
    for path in (out, right_out):
        if path is not None:
            options.check_target(str(path), target_encoding, target_scale)
    given = parse_parameters(",".join(parameter or ()), "--set")
    for folder in (confidence, *(path.parent for path in (out, right_out, classes) if path is not None)):
        options.make_folder(folder)
    with working("reading the images and preparing the matcher"):
        prepared = prepare(left, right, matcher, ndisp, **given)
    announce_memory(prepared.memory, prepared.matcher.id)
    with working(f"matching with {prepared.matcher.id}"):
        result = prepared.run()
    # Everything is computed before anything is written: a run that cannot finish leaves no files.
    maps = None if confidence is None else _confidence(result, names, trees, sigma, temperature)
    labels = None if classes is None else _labels(result)
    if right_out is not None and result.right_disparity is None:
        raise MatcherError(NO_RIGHT_MAP.format(matcher=result.matcher))
    write = functools.partial(_write, encoding=target_encoding, scale=target_scale)
    if out is not None:
        write(out, result.disparity)
    elif picture is None:
        say("the map was not kept; --out disparity.pfm writes it")
    if right_out is not None:
        write(right_out, result.right_disparity)
    if picture is not None:
        from stereogauge.figures.pictures import render_disparity, write_png

        write_png(picture, render_disparity(result.disparity, (0.0, float(ndisp - 1))))
    if confidence is not None and maps is not None:
        _write_confidence(confidence, *maps)
    if classes is not None and labels is not None:
        _write_classes(classes, labels)
    _print(_facts(result), form)


def _write(path: Path, disparity: Any, encoding: str | None, scale: float | None) -> None:
    from stereogauge.io.encodings import write_disparity

    write_disparity(path, disparity, encoding=encoding, scale=scale)
    say(f"{path} written")


def _model(path: Path | None, measures: list[str] | None) -> Trees | None:
    """The trained combination, read before anything is matched."""
    from stereogauge.confidence_measures.learned import Trees

    if path is None and "learned" in (measures or ()):
        raise MatcherError("--by learned needs a trained combination: give it with --model FILE.")
    if path is None:
        return None
    trees = Trees.load(path)
    say(f"{path}: trained on {trees.origin}; on other data it may gain nothing")
    return trees


def _confidence(
    result: MatchResult,
    measures: list[str] | None,
    model: Trees | None,
    sigma: float | None,
    temperature: float | None,
) -> tuple[Mapping[str, Any], str]:
    """The maps by name, and which values of them are sure."""
    from stereogauge.confidence_measures.measures import confidence as computed
    from stereogauge.confidence_measures.paper import PAPER

    if result.confidence is not None and not measures and model is None:
        return {"confidence": result.confidence}, result.confidence_better
    wanted = measures or [*PAPER, "product"]
    wanted += ["learned"] if model is not None and "learned" not in wanted else []
    with working("measuring confidence"):
        return computed(result, wanted, sigma=sigma, temperature=temperature, model=model), "lower"


def _write_confidence(folder: Path, maps: Mapping[str, Any], better: str) -> None:
    from stereogauge.confidence_measures.files import file_stem
    from stereogauge.io.encodings import write_disparity

    for name, values in maps.items():
        write_disparity(folder / f"{file_stem(name)}.pfm", values)
    (folder / "results.toml").write_text(f'[confidence]\nbetter = "{better}"\n', encoding="utf-8")
    say(f"{len(maps)} confidence map(s) in {folder}, {better} = sure")


def _labels(result: MatchResult) -> Any:
    """What the left-right check finds per pixel."""
    from stereogauge.matching.postprocess import left_right_check

    if result.classes is not None:
        return result.classes
    right = result.right_disparity if result.right_raw is None else result.right_raw
    if right is None:
        raise MatcherError(NO_RIGHT_MAP.format(matcher=result.matcher))
    return left_right_check(result.raw, right, result.ndisp)


def _write_classes(path: Path, labels: Any) -> None:
    import cv2

    from stereogauge.io.writing import write_bytes

    write_bytes(path, cv2.imencode(".png", labels)[1].tobytes())
    say(f"{path} written: 0 consistent, 1 occluded, 2 mismatched")


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
        print_json(facts)
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
    heads = ("matcher", "parameter", "default", "allowed", "meaning")
    values = ((name, p.name, str(p.default), p.allowed, p.description) for name, p in found)
    print_rows([dict(zip(heads, own, strict=True)) for own in values], form)
