"""`stereogauge study`: how metrics respond to controlled damage."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereogauge.cli import options
from stereogauge.cli.output import print_entry, print_json, print_tables, progress, save_figures, say
from stereogauge.datasets import open_dataset
from stereogauge.datasets.synthetic import save_middlebury_layout
from stereogauge.errors import DatasetError, StereogaugeError
from stereogauge.tables.table import Table, table

if TYPE_CHECKING:
    from stereogauge.model import Scene
    from stereogauge.study.damage import GradedDamage
    from stereogauge.study.run import Sensitivity, Study

SHOWN = 4


def command(
    measured: Annotated[options.Measured, options.without("metrics", "regions")],
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET[:ROOT]", help="Where the scene comes from; it needs ground truth.")
    ] = "synthetic:anatomy",
    scene: Annotated[str | None, "The scene's id; default: the first."] = None,
    size: Annotated[str | None, "Size of a synthetic scene, WIDTHxHEIGHT."] = None,
    seed: Annotated[int, "Seed of the damages, and of a synthetic scene."] = 0,
    metrics: Annotated[list[str] | None, "Metrics; default: the nine geometry metrics and ten others."] = None,
    regions: Annotated[list[str] | None, "Regions of metrics without their own."] = None,
    damages: Annotated[list[str] | None, "Damages; default: all."] = None,
    strengths: Annotated[
        list[str] | None, "Steps of a damage, DAMAGE=0.1,0.2; its own steps otherwise. Repeatable."
    ] = None,
    form: options.OutputFormat = options.Format.table,
    out: Annotated[Path | None, "Folder for tables and figures."] = None,
    save_scene: Annotated[
        Path | None, "Write the synthetic scene here, laid out as Middlebury's evaluation kit."
    ] = None,
    list_damages: Annotated[bool, typer.Option("--list", help="List the damages and stop.")] = False,
    images: Annotated[bool, "Damage the images of a pair and measure the maps of matchers."] = False,
    matcher: Annotated[
        list[str] | None, "With --images: a matcher, e.g. sgm or opencv-sgbm:block=5; repeatable."
    ] = None,
    ndisp: options.SearchRange = None,
) -> None:
    """Measure the response of metrics to controlled damage of a map, or of matchers to damage of their images.

    Damages a scene's ground truth in named ways, at growing strength, and measures each damaged map: metric × damage ×
    strength. Prints how strongly each metric reacts to each damage at its reference strength; --out writes the
    table, response curves and sensitivity matrices.

    With --images the images are damaged instead (noise, exposure, gain between the views, defocus, fog by depth, JPEG,
    rain, rectification), matchers run on them, and the table shows how their scores fall.
    """
    if list_damages:
        _print_damages(form, images=images)
        return
    common: dict[str, Any] = {
        "damage_ids": options.listed(damages),
        "regions": options.listed(regions) or ["nonocc"],
        "protocol": measured.choice,
        "seed": seed,
    }
    found = _scene(dataset, scene, size, seed)
    if images:
        from stereogauge.study.images import image_damage_called

        common |= {"strengths": _steps(strengths or [], image_damage_called), "ndisp": ndisp}
        options.make_folder(out)
        _study_images(found, matcher or ["sgm"], options.listed(metrics), common, form, out)
        return
    from stereogauge.study.damage import damage_called
    from stereogauge.study.run import GEOMETRY_METRICS, OTHER_METRICS, run_study, sensitivity_of

    if save_scene is not None:
        save_middlebury_layout([found], save_scene)
        say(f"scene {found.id} in {save_scene}")
    options.make_folder(out)
    common["strengths"] = _steps(strengths or [], damage_called)
    with _counted("map", found.id) as advance:
        study = run_study(
            found, options.listed(metrics) or [*GEOMETRY_METRICS, *OTHER_METRICS], progress=advance, **common
        )
    if not study.responses:
        raise StereogaugeError(
            f"Scene {found.id!r} has nothing that {', '.join(study.idle)} could strike; choose other damages."
        )
    matrix = sensitivity_of(study)
    if form is options.Format.json:
        print_json({"study": study, "sensitivity": matrix})
    elif form is options.Format.csv:
        sys.stdout.write(study.to_csv())
    elif form is options.Format.latex:
        import pandas as pd

        frame = pd.DataFrame(matrix.scaled, index=list(matrix.metrics), columns=list(matrix.damages))
        sys.stdout.write(frame.to_latex(float_format="%.2f", na_rep="--"))
    else:
        print_tables([_table(study, matrix)])
    if study.idle:
        say(f"note: nothing in scene {study.scene} to strike for {', '.join(study.idle)}")
    if out is not None:
        _write(out, study, matrix)


def _scene(dataset: str, scene: str | None, size: str | None, seed: int) -> Scene:
    synthetic = dataset.partition(":")[0] == "synthetic"
    if size is not None and not synthetic:
        raise DatasetError(f"--size is for synthetic scenes; {dataset} has its own size.")
    choices: dict[str, Any] = {"seed": seed} | ({"size": size} if size is not None else {})
    loaded = open_dataset(dataset, **(choices if synthetic else {}))
    found = loaded[scene] if scene is not None else next(iter(loaded))
    if not found.has("gt"):
        raise DatasetError(f"A study damages ground truth, and scene {found.id!r} of {dataset} has none.")
    return found


def _study_images(
    scene: Scene,
    matchers: list[str],
    metrics: list[str] | None,
    common: dict[str, Any],
    form: options.Format,
    out: Path | None,
) -> None:
    """Study each matcher on damaged images; `common` are options of `run_image_study`."""
    from stereogauge.study.figures import response_curves_data
    from stereogauge.study.images import IMAGE_METRICS, run_image_study

    studies = {}
    for name in matchers:
        with _counted("pair", f"{name} on {scene.id}") as advance:
            studies[name] = run_image_study(scene, name, metrics or IMAGE_METRICS, progress=advance, **common)
    if form is options.Format.json:
        print_json({"images": studies})
    elif form is options.Format.csv:
        import pandas as pd

        frames = [study.to_pandas().assign(matcher=name) for name, study in studies.items()]
        sys.stdout.write(str(pd.concat(frames).to_csv(index=False)))
    else:
        print_tables([_image_table(name, study) for name, study in studies.items()], form)
    if out is not None:
        for place, study in enumerate(studies.values(), 1):
            stem = "image-responses" if len(studies) == 1 else f"image-responses-{place}"
            (out / f"{stem}.csv").write_text(study.to_csv(), encoding="utf-8")
            save_figures(out, {stem: response_curves_data(study)}, ("png", "svg", "html"))
        say(f"tables and curves in {out}")


def _image_table(name: str, study: Study) -> Table:
    """The scores of a matcher on undamaged images and on images damaged at the reference strengths."""
    from stereogauge.study.images import IMAGE_DAMAGES

    rows: list[list[Any]] = [["none", "", *(study.curve(metric, study.damages[0])[0][1] for metric in study.metrics)]]
    for damage in study.damages:
        kind = IMAGE_DAMAGES[damage]
        steps = sorted({r.strength for r in study.responses if r.damage == damage})
        shown = kind.reference if kind.reference in steps else steps[-1]
        found = {r.label: r.value for r in study.responses if (r.damage, r.strength) == (damage, shown)}
        rows.append([kind.name, f"{shown:g} {kind.unit}", *(found[metric] for metric in study.metrics)])
    return table("images", f"{study.scene}: scores on damaged images", ("damage", "strength", *study.metrics), rows)


@contextlib.contextmanager
def _counted(noun: str, what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar of maps or pairs; yields what a study calls after each."""
    bar = progress(noun)

    def advance(done: int, total: int) -> None:
        if done == 1:
            bar.start(total, 0)
            bar.scene(what)
        bar.advance(1, 0)

    yield advance
    bar.finish()


def _steps(texts: list[str], called: Callable[[str], GradedDamage[Any]]) -> dict[str, list[float]]:
    """The steps of damages by id, from DAMAGE=0.1,0.2."""
    steps = {}
    for text in texts:
        name, equals, values = text.partition("=")
        try:
            steps[called(name).id] = [float(value) for value in values.split(",")]
        except ValueError:
            equals = ""
        if not equals:
            raise StereogaugeError(f"Strengths are written DAMAGE=0.1,0.2; found {text!r}.")
    return steps


def _print_damages(form: options.Format, *, images: bool = False) -> None:
    from stereogauge.study.damage import damages
    from stereogauge.study.images import IMAGE_DAMAGES

    declared: list[GradedDamage[Any]] = [*(IMAGE_DAMAGES if images else damages()).values()]
    rows = [
        {"id": d.id, "strength": d.unit, "reference": d.reference, "metric": d.metric, "description": d.description}
        for d in declared
    ]
    if form is options.Format.json:
        print_json(rows)
        return
    for d in declared:
        print_entry(d.id, [d.description + (f" ({d.metric})" if d.metric else "")], indent=20)


def _table(study: Study, matrix: Sensitivity) -> Table:
    """For each metric, the damages that it reacts to most, and whether its own leads among the named ones."""
    rows = []
    named = matrix.named()
    own = {} if named is None else named.namesakes()
    for metric, row in zip(matrix.metrics, matrix.scaled, strict=True):
        order = sorted((d for d in range(len(row)) if row[d] > 0), key=lambda d: -row[d])[:SHOWN]
        strongest = [f"{matrix.damages[d]} {row[d]:.2f}" for d in order] + [""] * (SHOWN - len(order))
        verdict = "" if metric not in own else "leads" if own[metric] else "does not lead"
        rows.append([metric, *strongest, verdict])
    title = f"{study.scene}: what each metric reacts to, relative to its largest response"
    header = ("metric", *(f"{place}." for place in range(1, SHOWN + 1)), "named after")
    return table("sensitivity", title, header, rows)


def _write(folder: Path, study: Study, matrix: Sensitivity) -> None:
    from stereogauge.study.figures import response_curves_data, sensitivity_data

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.csv").write_text(study.to_csv(), encoding="utf-8")
    (folder / "study.json").write_text(study.to_json() + "\n", encoding="utf-8")
    (folder / "sensitivity.json").write_text(matrix.to_json() + "\n", encoding="utf-8")
    figures = {
        "response-curves": response_curves_data(study),
        "responses": sensitivity_data(matrix, selective=False, scene=study.scene),
    }
    named = matrix.named()
    if named is not None:
        figures["selectivity"] = sensitivity_data(named, scene=study.scene)
    save_figures(folder, figures, ("png", "svg", "csv", "html"))
    say(f"tables and {len(figures)} figures in {folder}")
