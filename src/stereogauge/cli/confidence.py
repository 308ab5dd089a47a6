"""`stereogauge confidence`: how well confidence measures foretell a matcher's errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereogauge.cli import options
from stereogauge.cli.output import announce_compilation, say
from stereogauge.errors import FileError

if TYPE_CHECKING:
    from stereogauge.confidence.evaluation import SceneCurves
    from stereogauge.confidence.run import ConfidenceChoices, SceneRun
    from stereogauge.model import Scene


def command(
    dataset: Annotated[
        str | None,
        typer.Argument(metavar="[DATASET[:ROOT]]", help="Scenes to match; or give --left, --right and --gt."),
    ] = None,
    scenes: Annotated[list[str] | None, typer.Option("--scenes", "-s", help="Only these scenes.")] = None,
    left: Annotated[str | None, typer.Option(help="Left image of a single pair.")] = None,
    right: Annotated[str | None, typer.Option(help="Right image.")] = None,
    gt: Annotated[str | None, typer.Option(help="Ground truth of the left view.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of --gt and --disparity where open.")] = None,
    scale: Annotated[float | None, typer.Option(help="Stored value per pixel of disparity, for 8-bit files.")] = None,
    matcher: Annotated[
        str, typer.Option("--matcher", help="A matcher with parameters, e.g. sgm:p1=20,p2=100.")
    ] = "sgm",
    ndisp: Annotated[int | None, typer.Option(help="Disparities to search; default: the scene's own range.")] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option("--measures", "-m", help="Confidence measures; default: the paper's five and their product."),
    ] = None,
    threshold: Annotated[float, typer.Option(help="A pixel is bad where its error exceeds this many px.")] = 3.0,
    domain: Annotated[
        str, typer.Option(help="Pixels that count: haeusler-klette, or a criterion such as all or nonocc.")
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
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for figures and pictures.")] = None,
    store: Annotated[str | None, typer.Option(help="Store the areas as scores here.")] = None,
    list_measures: Annotated[bool, typer.Option("--list", help="List the confidence measures and stop.")] = False,
) -> None:
    """Evaluate confidence measures by sparsification.

    Removes the least confident pixels first and counts the bad ones that stay. Prints, per scene and pooled, the
    number left at the share of good pixels, the mean rate between 70 % and 95 % density, and areas; --out writes
    curves and pictures.
    """
    from stereogauge.cli.rows import print_rows
    from stereogauge.confidence.evaluation import rows

    if list_measures:
        print_rows(_declared(), form)
        return
    announce_compilation()
    found = _scenes(dataset, scenes, left, right, gt, encoding, scale)
    if disparity is not None or confidence_map:
        runs = _file_runs(found, disparity, confidence_map or [], encoding, scale, threshold, domain)
    else:
        choices = _choices(matcher, ndisp, measures, threshold, domain, literal, model)
        runs = _runs(found, choices, with_features=learn or save_model is not None)
        runs = _learned(runs, learn, save_model)
    curves = [run.curves() for run in runs]
    print_rows(rows(curves), form)
    if form is options.Format.table:
        _say_bounds(curves)
    if out is not None:
        from stereogauge.cli.confidence_files import write_files

        say(f"{write_files(out, runs, curves)} figures and pictures in {out}")
    if store is not None:
        _store(store, curves, dataset or "", runs[0].result.matcher, domain)


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
        from stereogauge.datasets import open_dataset

        loaded = open_dataset(dataset)
        chosen = loaded.subset(options.listed(wanted) or []) if wanted else loaded
        found = [scene for scene in chosen if scene.has("gt")]
        if not found:
            raise FileError(f"No scene of {dataset} has ground truth.")
        return found
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
    from stereogauge.confidence.measures import PAPER
    from stereogauge.confidence.run import LEARNED, ConfidenceChoices
    from stereogauge.confidence.trees import Trees

    names = options.listed(measures) or [*PAPER, "product"]
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


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from stereogauge.cli.output import console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(errors=True), transient=True) as bar:
        task = bar.add_task("matching", total=total)

        def step(name: str, *, done: bool = False) -> None:
            bar.update(task, description=name, advance=int(done))

        yield step


def _runs(scenes: Sequence[Scene], choices: ConfidenceChoices, *, with_features: bool) -> list[SceneRun]:
    from stereogauge.confidence.run import run_scene

    runs = []
    with _progress(len(scenes)) as step:
        for scene in scenes:
            step(scene.id)
            runs.append(run_scene(scene, choices, with_features=with_features).without_costs())
            scene.release()
            step(scene.id, done=True)
    return runs


def _learned(runs: list[SceneRun], learn: bool, save_model: Path | None) -> list[SceneRun]:
    from stereogauge.confidence.run import trained, with_learned

    if save_model is not None:
        say(f"training on {len(runs)} scenes …")
        trained(runs).save(save_model)
        say(f"{save_model} written")
    if learn:
        say(f"training on {len(runs)} scenes, each judged by the others …")
    return with_learned(runs) if learn else runs


def _file_runs(
    scenes: Sequence[Scene],
    disparity: str | None,
    maps: Sequence[str],
    encoding: str | None,
    scale: float | None,
    threshold: float,
    domain: str,
) -> list[SceneRun]:
    from stereogauge.cli.confidence_files import file_run

    if disparity is None or not maps:
        raise FileError("Maps from files need both: --disparity FILE and at least one --map NAME=FILE:higher.")
    return [file_run(scene, disparity, maps, encoding, scale, threshold, domain) for scene in scenes]


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
        if scene.bound is None:
            continue
        share = next(iter(scene.curves.values())).good_share
        say(
            f"{scene.scene}: bound s = {scene.bound.at(share):.0f} bad pixels at the good share {share:.3f}, "
            f"where all five measures together keep {scene.bound.density_at(share):.3f} of the pixels"
        )


def _store(url: str, curves: Sequence[SceneCurves], dataset: str, matcher: str, domain: str) -> None:
    from stereogauge.confidence.run import PAPER_DOMAIN
    from stereogauge.confidence.scores import score_table
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
