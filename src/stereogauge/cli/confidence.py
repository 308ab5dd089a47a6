"""`stereogauge confidence`: how well confidence measures foretell a matcher's errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereogauge.cli import INTERRUPTED, options
from stereogauge.cli.output import announce_compilation, print_rows, progress, say
from stereogauge.errors import FileError, NotApplicable, SizeError

if TYPE_CHECKING:
    from stereogauge.confidence.evaluation import SceneCurves
    from stereogauge.confidence.run import ConfidenceChoices, SceneRun
    from stereogauge.model import Scene


def command(
    dataset: Annotated[
        str | None,
        typer.Argument(metavar="DATASET[:ROOT]", help="Scenes to match; or give --left, --right and --gt."),
    ] = None,
    scenes: Annotated[list[str] | None, typer.Option("--scenes", "-s", help="Only these scenes.")] = None,
    left: Annotated[str | None, typer.Option(help="Left image of a single pair.")] = None,
    right: Annotated[str | None, typer.Option(help="Right image.")] = None,
    gt: Annotated[str | None, typer.Option(help="Ground truth of the left view.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of --gt and --disparity where open.")] = None,
    scale: options.Scale = None,
    matcher: Annotated[
        str, typer.Option("--matcher", help="A matcher with parameters, e.g. sgm:p1=20,p2=100.")
    ] = "sgm",
    ndisp: Annotated[int | None, typer.Option(help="Disparities to search; default: the scene's own range.")] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option("--measures", "-m", help="Confidence measures; default: the paper's five and their product."),
    ] = None,
    threshold: Annotated[float, typer.Option(help="A pixel is bad where its error exceeds this many px.", min=0)] = 3.0,
    domain: Annotated[
        str, typer.Option(help="Pixels that count: haeusler-klette, or a region such as all or nonocc.")
    ] = "haeusler-klette",
    literal: Annotated[bool, typer.Option(help="The paper's measures exactly as printed.")] = False,
    learn: Annotated[bool, typer.Option(help="Add a combination learned on the other scenes.")] = False,
    model: Annotated[Path | None, typer.Option(help="A trained combination, as measure `learned`.")] = None,
    save_model: Annotated[
        Path | None, typer.Option(help="Train a combination on all scenes and save it (.npz).")
    ] = None,
    disparity: Annotated[
        str | None, typer.Option(help="A disparity map instead of a matcher; {scene} stands for the scene's id.")
    ] = None,
    confidence_map: Annotated[
        list[str] | None,
        typer.Option("--map", help="NAME=FILE:higher or NAME=FILE:lower, a confidence map and its direction."),
    ] = None,
    form: options.OutputFormat = options.Format.table,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for curves (CSV), figures and pictures.")
    ] = None,
    store: Annotated[str | None, typer.Option(help="Store the areas as scores here.")] = None,
    list_measures: Annotated[bool, typer.Option("--list", help="List the confidence measures and stop.")] = False,
) -> None:
    """Evaluate confidence measures by sparsification.

    Removes the least confident pixels first and counts the bad ones that stay. Prints, per scene and pooled, the
    number left at the share of good pixels, the mean rate between 70 % and 95 % density, and areas; --out writes
    curves and pictures. A scene that cannot be judged is left out with the reason, and the exit code is 1; Ctrl-C ends
    the matching, and what is finished is printed.
    """
    from stereogauge.confidence.evaluation import rows

    if list_measures:
        print_rows(_declared(), form)
        return
    announce_compilation()
    found = _scenes(dataset, scenes, left, right, gt, encoding, scale)
    from_files = disparity is not None or bool(confidence_map)
    if from_files:
        run = _of_files(disparity, confidence_map or [], encoding, scale, threshold, domain)
    else:
        choices = _choices(matcher, ndisp, measures, threshold, domain, literal, model)
        run = _of_matcher(choices, with_features=learn or save_model is not None)
    options.make_folder(out)
    options.make_folder(save_model.parent if save_model is not None else None)
    runs, code = _runs(found, run)
    if not from_files:
        runs = _learned(runs, learn, save_model)
    curves = [one.curves() for one in runs]
    print_rows(rows(curves), form)
    if form is options.Format.table:
        _say_bounds(curves)
    if out is not None:
        from stereogauge.cli.confidence_files import write_files

        say(f"curves, figures and pictures: {write_files(out, runs, curves)} files in {out}")
    if store is not None:
        name = runs[0].result.matcher if from_files else matcher + (" as printed" if literal else "")
        _store(store, curves, dataset or "", name, domain)
    if code:
        raise typer.Exit(code)


def _scenes(
    dataset: str | None,
    wanted: list[str] | None,
    left: str | None,
    right: str | None,
    gt: str | None,
    encoding: str | None,
    scale: float | None,
) -> list[Scene]:
    from stereogauge.io.files import DisparityFile
    from stereogauge.model import Scene

    if dataset is not None:
        return list(options.chosen_scenes(dataset, options.listed(wanted)))
    if gt is None:
        raise FileError("Sparsification needs ground truth: name a DATASET[:ROOT], or give --left, --right and --gt.")
    name = Path(left or gt).parent.name or Path(left or gt).stem
    return [Scene(name, gt=DisparityFile(gt, encoding=encoding, scale=scale), left=left, right=right)]


def _choices(
    matcher: str,
    ndisp: int | None,
    measures: list[str] | None,
    threshold: float,
    domain: str,
    literal: bool,
    model: Path | None,
) -> ConfidenceChoices:
    from stereogauge.confidence.declaration import confidence_measure
    from stereogauge.confidence.measures import PAPER
    from stereogauge.confidence.run import LEARNED, ConfidenceChoices
    from stereogauge.confidence.trees import Trees
    from stereogauge.evaluation.matchers import wanted_matcher

    wanted_matcher(matcher)
    names = [confidence_measure(name).id for name in options.listed(measures) or [*PAPER, "product"]]
    trees = None if model is None else Trees.load(model)
    if trees is not None and LEARNED not in names:
        names.append(LEARNED)
    return ConfidenceChoices(
        matcher=matcher,
        ndisp=ndisp,
        measures=tuple(names),
        threshold=threshold,
        domain=domain,
        literal=literal,
        model=trees,
    )


def _of_matcher(choices: ConfidenceChoices, *, with_features: bool) -> Callable[[Scene], SceneRun]:
    from stereogauge.confidence.run import run_scene

    def run(scene: Scene) -> SceneRun:
        for part in ("left", "right"):
            if not scene.has(part):
                raise NotApplicable(f"Scene {scene.id!r} has no {part} image to match.")
        return run_scene(scene, choices, with_features=with_features).without_costs()

    return run


def _of_files(
    disparity: str | None,
    maps: Sequence[str],
    encoding: str | None,
    scale: float | None,
    threshold: float,
    domain: str,
) -> Callable[[Scene], SceneRun]:
    from stereogauge.cli.confidence_files import file_run, named_map

    if disparity is None or not maps:
        raise FileError("Maps from files need both: --disparity FILE and at least one --map NAME=FILE:higher.")
    given, named = disparity, [named_map(text) for text in maps]
    return lambda scene: file_run(scene, given, named, encoding, scale, threshold, domain)


def _runs(scenes: Sequence[Scene], run: Callable[[Scene], SceneRun]) -> tuple[list[SceneRun], int]:
    """What came of the scenes, and the exit code: 0 for all of them, 1 for some, 130 after Ctrl-C.

    A single scene that cannot be judged is an error; one of several is left out, aloud.
    """
    runs: list[SceneRun] = []
    left_out: list[str] = []
    interrupted = False
    bar = progress("scenes", "judge")
    bar.start(len(scenes), 0)
    try:
        for scene in scenes:
            bar.scene(scene.id)
            try:
                if not scene.has("gt"):
                    raise NotApplicable(f"Scene {scene.id!r} has no ground truth.")
                runs.append(run(scene))
            except (FileError, NotApplicable, SizeError) as reason:
                if len(scenes) == 1:
                    raise
                left_out.append(f"left out: {reason}")
            scene.release()
            bar.advance(1, 0)
    except KeyboardInterrupt:
        if not runs:
            raise
        interrupted = True
    finally:
        bar.finish()
    for sentence in left_out:
        say(sentence)
    if not runs:
        raise NotApplicable("No scene is left to judge.")
    if interrupted:
        rest = [scene.id for scene in scenes[len(runs) + len(left_out) :]]
        say(f"interrupted; go on with the scenes that are missing: --scenes {','.join(rest)}")
    return runs, INTERRUPTED if interrupted else int(bool(left_out))


def _learned(runs: list[SceneRun], learn: bool, save_model: Path | None) -> list[SceneRun]:
    from stereogauge.confidence.run import trained, with_learned

    if save_model is not None:
        say(f"training on {len(runs)} scenes …")
        trained(runs).save(save_model)
        say(f"{save_model} written")
    if learn:
        say(f"training on {len(runs)} scenes, each judged by the others …")
    return with_learned(runs) if learn else runs


def _declared() -> list[dict[str, str]]:
    from stereogauge.confidence.declaration import confidence_measures

    return [
        {
            "measure": m.id,
            "name": m.label,
            "formula": m.formula,
            "needs": ", ".join(sorted(m.needs)),
            "source": m.source,
        }
        for m in confidence_measures().values()
    ]


def _say_bounds(curves: Sequence[SceneCurves]) -> None:
    for scene in curves:
        if scene.bound is not None and (share := next(iter(scene.curves.values())).good_share) > 0:
            say(
                f"{scene.scene}: bound s = {scene.bound.at(share):.0f} bad pixels at the good share {share:.3f}, "
                f"where all five measures together keep {scene.bound.density_at(share):.3f} of the pixels"
            )


def _store(url: str, curves: Sequence[SceneCurves], dataset: str, matcher: str, domain: str) -> None:
    from stereogauge.confidence.run import PAPER_DOMAIN
    from stereogauge.evaluation.confidence_scores import score_table
    from stereogauge.protocol import load_protocol
    from stereogauge.store import open_store

    paper = domain == PAPER_DOMAIN
    table = score_table(
        curves,
        dataset=dataset.partition(":")[0] or "pair",
        matcher=matcher,
        region="nonocc" if paper else domain,
        protocol=load_protocol(PAPER_DOMAIN if paper else "default"),
    )
    with open_store(url) as opened:
        opened.write(table)
    say(f"{len(table)} scores in {url}")
