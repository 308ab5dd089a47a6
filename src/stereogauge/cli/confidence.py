"""`stereogauge confidence`: how well confidence measures foretell a matcher's errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from stereogauge import store as stores
from stereogauge.cli import INTERRUPTED, options
from stereogauge.cli.confidence_runs import of_files, of_matcher, scenes_of, stored_scores, write_files
from stereogauge.cli.output import counting, print_rows, say
from stereogauge.confidence_measures.declaration import confidence_measures
from stereogauge.confidence_measures.evaluation import SceneCurves, rows, single_maps
from stereogauge.confidence_measures.run import (
    ConfidenceChoices,
    SceneRun,
    held_out_together,
    trained,
    with_learned,
)
from stereogauge.confidence_measures.sparsification import ErrorKind, parse_error
from stereogauge.errors import FileError, NotApplicable, SizeError
from stereogauge.model import Scene


def command(
    files: Annotated[options.Files, options.only(options.Files, "encoding", "scale", *options.GROUND_TRUTH)],
    dataset: Annotated[
        str | None,
        typer.Argument(metavar="DATASET[:ROOT]", help="Scenes to match; or give --left, --right and --gt."),
    ] = None,
    scenes: Annotated[list[str] | None, "Only these scenes."] = None,
    left: Annotated[str | None, "Left image of a single pair."] = None,
    right: Annotated[str | None, "Right image."] = None,
    gt: Annotated[str | None, "Ground truth of the left view."] = None,
    matcher: Annotated[str, "A matcher with parameters, e.g. sgm:p1=20,p2=100."] = "sgm",
    ndisp: Annotated[int | None, "Disparities to search; default: the scene's or its dataset's own range."] = None,
    measures: Annotated[
        list[str] | None,
        "Confidence measures; default: the paper's five and their product. entropy@8 has temperature 8.",
    ] = None,
    threshold: Annotated[float, typer.Option(help="A pixel is bad where its error exceeds this many px.", min=0)] = 3.0,
    domain: Annotated[
        str, "Pixels that count: haeusler-klette, or a region such as all or nonocc."
    ] = "haeusler-klette",
    errors: Annotated[
        list[str] | None, "Areas by other errors beside bad pixels: mae, rms, d1, bad@1, bad-z@METRES,LIMIT_PX."
    ] = None,
    literal: Annotated[
        bool, "The paper's measures exactly as printed; Γ4, and Γ with it, then compare D and D_r at the same x."
    ] = False,
    sigma: Annotated[float | None, typer.Option(help="Scale ς of the perturbation; default: P2.", min=0)] = None,
    temperature: Annotated[float | None, typer.Option(help="Temperature of the entropy; default: P2.", min=0)] = None,
    learn: Annotated[bool, typer.Option(help="Add a combination learned on the other scenes.")] = False,
    model: Annotated[Path | None, "A trained combination, as measure `learned`."] = None,
    save_model: Annotated[Path | None, "Train a combination on all scenes and save it (.npz)."] = None,
    disparity: Annotated[str | None, "A disparity map instead of a matcher; {scene} is the scene's id."] = None,
    confidence_map: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            help="NAME=FILE:higher or :lower, a confidence map and its direction; :sigma or :probability for one "
            "whose calibration is judged too.",
        ),
    ] = None,
    form: options.OutputFormat = options.Format.table,
    out: Annotated[Path | None, "Folder for curves (CSV), figures, pictures and the maps."] = None,
    store: Annotated[str | None, typer.Option(help="Store the areas as scores here.")] = None,
    list_measures: Annotated[bool, typer.Option("--list", help="List the confidence measures and stop.")] = False,
) -> None:
    """Evaluate confidence measures by sparsification.

    Removes the least confident pixels first and counts the bad ones that stay. Prints, per scene and pooled, the
    number left at the share of good pixels, the mean rate between 70 % and 95 % density, and areas; --out writes
    curves and pictures. A scene that cannot be judged is skipped with the reason, and the exit code is 1; Ctrl-C ends
    the matching, and what is finished is printed.
    """
    if list_measures:
        print_rows(_declared(), form)
        return

    kinds = [parse_error(text) for text in options.listed(errors) or ()]
    found = scenes_of(dataset, scenes, left, right, gt, files.truth_decoding(gt))
    from_files = disparity is not None or bool(confidence_map)
    if learn and model is not None:
        raise NotApplicable("--learn trains a combination and --model applies one; both are `learned`: give one.")
    if from_files:
        judged = of_files(disparity, confidence_map or [], files, threshold, domain)
    else:
        choices = ConfidenceChoices(
            matcher=matcher,
            ndisp=ndisp,
            measures=tuple(options.listed(measures) or ()),
            threshold=threshold,
            domain=domain,
            literal=literal,
            sigma=sigma,
            temperature=temperature,
        )
        judged = of_matcher(choices, model, with_features=learn or save_model is not None)
    options.make_folder(out)
    options.make_folder(save_model.parent if save_model is not None else None)
    runs, code = _runs(found, judged.run)
    if not from_files:
        runs = _learned(runs, learn, save_model)
    curves = [one.curves() for one in runs]
    print_rows(_rows(runs, curves, kinds), form)
    if form is options.Format.table:
        _say_bounds(curves)
    if out is not None:
        say(f"curves, figures, pictures and maps: {write_files(out, runs, curves, judged, kinds)} files in {out}")
    if store is not None:
        tables = list(stored_scores(runs, dataset or "", judged))
        with stores.open_store(store) as opened:
            for table in tables:
                opened.write(table)
        say(f"{sum(map(len, tables))} scores in {store}")
    if code:
        raise typer.Exit(code)


def _rows(runs: Sequence[SceneRun], curves: Sequence[SceneCurves], kinds: Sequence[ErrorKind]) -> list[dict[str, Any]]:
    """The figures of every scene and map; areas by other errors and calibration are columns of their own."""
    further: dict[tuple[str, str], dict[str, float]] = {}
    for run in runs:
        areas, calibrated = run.areas(kinds) if kinds else {}, run.reliabilities()
        for name in run.maps:
            found = dict(areas.get(name, {}))
            for one in calibrated.get(name, ()):
                found |= one.figures
            further[run.scene, name] = found
    empty = dict.fromkeys((key for found in further.values() for key in found), float("nan"))
    return [{**row, **empty, **further.get((row["scene"], row["measure"]), {})} for row in rows(curves)]


def _runs(scenes: Sequence[Scene], run: Callable[[Scene], SceneRun]) -> tuple[list[SceneRun], int]:
    """What came of the scenes, and the exit code: 0 for all of them, 1 for some, 130 after Ctrl-C.

    A single scene that cannot be judged is an error; one of several is skipped with a message.
    """
    runs: list[SceneRun] = []
    left_out: list[str] = []
    interrupted = False
    try:
        with counting(len(scenes), "scene", "judge") as done:
            for scene in scenes:
                try:
                    if not scene.has("gt"):
                        raise NotApplicable(f"Scene {scene.id!r} has no ground truth.")
                    runs.append(run(scene))
                except (FileError, NotApplicable, SizeError) as reason:
                    if len(scenes) == 1:
                        raise
                    left_out.append(f"left out: {reason}")
                scene.release()
                done(scene.id)
    except KeyboardInterrupt:
        if not runs:
            raise
        interrupted = True
    for sentence in left_out:
        say(sentence)
    if not runs:
        raise NotApplicable("No scene is left to judge.")
    if interrupted:
        rest = [scene.id for scene in scenes[len(runs) + len(left_out) :]]
        say(f"interrupted; go on with the scenes that are missing: --scenes {','.join(rest)}")
    return runs, INTERRUPTED if interrupted else int(bool(left_out))


def _learned(runs: list[SceneRun], learn: bool, save_model: Path | None) -> list[SceneRun]:
    if save_model is not None:
        say(f"training on {len(runs)} scenes …")
        trained(runs).save(save_model)
        say(f"{save_model} written")
    if learn:
        folds = " | ".join(", ".join(fold) for fold in held_out_together(runs))
        say(f"training on {len(runs)} scenes, each judged by models that saw none of its fold: {folds} …")
    return with_learned(runs) if learn else runs


def _declared() -> list[dict[str, str]]:
    return [
        {"measure": one.id, "name": one.label, "formula": one.formula, "needs": ", ".join(sorted(one.needs))}
        | {"source": one.source}
        for one in confidence_measures().values()
    ]


def _say_bounds(curves: Sequence[SceneCurves]) -> None:
    for scene in curves:
        if scene.bound is not None and (share := next(iter(scene.curves.values())).good_share) > 0:
            single = len(single_maps(scene.curves))
            say(
                f"{scene.scene}: each of the {single} single measures would keep the same "
                f"{scene.bound.at(share):.0f} bad pixels (s) at the good share {share:.3f}; the share of the pixels "
                f"that all of them keep is {scene.bound.density_at(share):.3f}"
            )
