"""`stereogauge match`: run a stereo matcher on a pair of images."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import cv2
import numpy as np
import typer

from stereogauge.cli import options
from stereogauge.cli.output import announce_memory, print_entry, print_json, print_rows, say, working
from stereogauge.confidence_measures.files import file_stem
from stereogauge.confidence_measures.learned import Trees
from stereogauge.confidence_measures.measures import confidence as computed
from stereogauge.confidence_measures.paper import PAPER
from stereogauge.errors import MatcherError
from stereogauge.figures.pictures import render_disparity, write_png
from stereogauge.io.encodings import write_disparity
from stereogauge.io.writing import write_bytes
from stereogauge.matching.declaration import matchers
from stereogauge.matching.postprocess import POST_PARAMETERS, left_right_check
from stereogauge.matching.result import MatchResult
from stereogauge.matching.run import parse_parameters, prepare

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
    maps, better = ({}, "") if confidence is None else _confidence(result, names, trees, sigma, temperature)
    labels = None if classes is None else _labels(result)
    if right_out is not None and result.right_disparity is None:
        raise MatcherError(NO_RIGHT_MAP.format(matcher=result.matcher))
    if out is None and picture is None:
        say("the map was not kept; --out disparity.pfm writes it")
    for path, disparity in ((out, result.disparity), (right_out, result.right_disparity)):
        if path is not None and disparity is not None:
            write_disparity(path, disparity, encoding=target_encoding, scale=target_scale)
            say(f"{path} written")
    if picture is not None:
        write_png(picture, render_disparity(result.disparity, (0.0, float(ndisp - 1))))
    if confidence is not None:
        for name, values in maps.items():
            write_disparity(confidence / f"{file_stem(name)}.pfm", values)
        (confidence / "results.toml").write_text(f'[confidence]\nbetter = "{better}"\n', encoding="utf-8")
        say(f"{len(maps)} confidence map(s) in {confidence}, {better} = sure")
    if classes is not None and labels is not None:
        write_bytes(classes, cv2.imencode(".png", labels)[1].tobytes())
        say(f"{classes} written: 0 consistent, 1 occluded, 2 mismatched")
    _print(result, form)


def _model(path: Path | None, measures: list[str] | None) -> Trees | None:
    """The trained combination, read before anything is matched."""
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
    if result.confidence is not None and not measures and model is None:
        return {"confidence": result.confidence}, result.confidence_better
    wanted = measures or [*PAPER, "product"]
    wanted += ["learned"] if model is not None and "learned" not in wanted else []
    with working("measuring confidence"):
        return computed(result, wanted, sigma=sigma, temperature=temperature, model=model), "lower"


def _labels(result: MatchResult) -> Any:
    """What the left-right check finds per pixel."""
    if result.classes is not None:
        return result.classes
    right = result.right_disparity if result.right_raw is None else result.right_raw
    if right is None:
        raise MatcherError(NO_RIGHT_MAP.format(matcher=result.matcher))
    return left_right_check(result.raw, right, result.ndisp)


def _print(result: MatchResult, form: options.Format) -> None:
    height, width = result.disparity.shape
    facts: dict[str, Any] = {"matcher": result.matcher, "width": width, "height": height, "ndisp": result.ndisp}
    facts["density"] = float(np.isfinite(result.disparity).mean())
    facts |= {key: getattr(result, key) for key in ("seconds", "cpu_seconds", "peak_memory", "threads", "processor")}
    parameters = {name: str(value) for name, value in result.parameters.items()}
    flat = {**facts, "parameters": " ".join(f"{name}={value}" for name, value in parameters.items())}
    if form is options.Format.json:
        print_json({**facts, "parameters": parameters})
    elif form is options.Format.table:
        for name, value in flat.items():
            if value is not None:
                print_entry(name, [f"{value:.4g}" if isinstance(value, float) else str(value)], indent=13)
    else:
        print_rows([flat], form)


def _print_matchers(form: options.Format) -> None:
    found = [(declared.id, one) for declared in matchers().values() for one in declared.parameters]
    found += [("every matcher", one) for one in POST_PARAMETERS.values()]
    rows = [
        {"matcher": name, "parameter": one.name, "default": str(one.default), "allowed": one.allowed}
        | {"meaning": one.description}
        for name, one in found
    ]
    print_rows(rows, form)
