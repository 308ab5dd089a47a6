"""`stereogauge study`: how metrics respond to controlled damage."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereogauge.cli import options
from stereogauge.cli.output import print_entry, print_json, print_tables, progress, say
from stereogauge.errors import DatasetError, StereogaugeError

if TYPE_CHECKING:
    from stereogauge.model import Scene
    from stereogauge.study.run import Sensitivity, Study
    from stereogauge.tables.table import Table

SHOWN = 4


def command(
    measured: Annotated[options.Measured, options.without("metrics", "regions")],
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET[:ROOT]", help="Where the scene comes from; it needs ground truth.")
    ] = "synthetic:anatomy",
    scene: Annotated[str | None, typer.Option(help="The scene's id; default: the first.")] = None,
    size: Annotated[str | None, typer.Option(help="Size of a synthetic scene, WIDTHxHEIGHT.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the damages, and of a synthetic scene.")] = 0,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", "-m", help="Metrics; default: the nine geometry metrics and ten others."),
    ] = None,
    regions: Annotated[
        list[str] | None, typer.Option("--regions", "-r", help="Regions of metrics without their own.")
    ] = None,
    damages: Annotated[list[str] | None, typer.Option("--damages", help="Damages; default: all.")] = None,
    strengths: Annotated[
        list[str] | None,
        typer.Option("--strengths", help="Steps of a damage, DAMAGE=0.1,0.2; its own steps otherwise. Repeatable."),
    ] = None,
    form: options.OutputFormat = options.Format.table,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for tables and figures.")] = None,
    save_scene: Annotated[
        Path | None, typer.Option(help="Write the synthetic scene here, laid out as Middlebury's evaluation kit.")
    ] = None,
    list_damages: Annotated[bool, typer.Option("--list", help="List the damages and stop.")] = False,
) -> None:
    """Response of metrics to controlled damage of a map.

    Damages a scene's ground truth in named ways, at growing strength, and measures each damaged map: metric × damage ×
    strength. Prints how strongly each metric reacts to each damage at its reference strength; --out writes the
    table, response curves and sensitivity matrices.
    """
    if list_damages:
        _print_damages(form)
        return
    from stereogauge.study.run import GEOMETRY_METRICS, OTHER_METRICS, run_study, sensitivity_of

    chosen = measured.choice
    found = _scene(dataset, scene, size, seed)
    if save_scene is not None:
        from stereogauge.datasets.synthetic import save_middlebury_layout

        save_middlebury_layout([found], save_scene)
        say(f"scene {found.id} in {save_scene}")
    options.make_folder(out)
    bar = progress("maps")

    def advance(done: int, total: int) -> None:
        if done == 1:
            bar.start(total, 0)
            bar.scene(found.id)
        bar.advance(1, 0)

    study = run_study(
        found,
        options.listed(metrics) or [*GEOMETRY_METRICS, *OTHER_METRICS],
        damage_ids=options.listed(damages),
        strengths=_steps(strengths or []),
        regions=options.listed(regions) or ["nonocc"],
        protocol=chosen,
        seed=seed,
        progress=advance,
    )
    bar.finish()
    if not study.responses:
        raise StereogaugeError(
            f"Scene {found.id!r} has nothing that {', '.join(study.idle)} could strike; choose other damages."
        )
    matrix = sensitivity_of(study)
    _print(study, matrix, form)
    if study.idle:
        say(f"note: nothing in scene {study.scene} to strike for {', '.join(study.idle)}")
    if out is not None:
        _write(out, study, matrix)


def _scene(dataset: str, scene: str | None, size: str | None, seed: int) -> Scene:
    from stereogauge.datasets import open_dataset

    synthetic = dataset.partition(":")[0] == "synthetic"
    if size is not None and not synthetic:
        raise DatasetError(f"--size is for synthetic scenes; {dataset} has its own size.")
    choices: dict[str, Any] = {"seed": seed} | ({"size": size} if size is not None else {})
    loaded = open_dataset(dataset, **(choices if synthetic else {}))
    found = loaded[scene] if scene is not None else next(iter(loaded))
    if not found.has("gt"):
        raise DatasetError(f"A study damages ground truth, and scene {found.id!r} of {dataset} has none.")
    return found


def _steps(texts: list[str]) -> dict[str, list[float]]:
    from stereogauge.study.damage import damage_called

    steps = {}
    for text in texts:
        name, equals, values = text.partition("=")
        try:
            steps[damage_called(name).id] = [float(value) for value in values.split(",")]
        except ValueError:
            equals = ""
        if not equals:
            raise StereogaugeError(f"Strengths are written DAMAGE=0.1,0.2; found {text!r}.")
    return steps


def _print_damages(form: options.Format) -> None:
    from stereogauge.study.damage import damages

    rows = [
        {"id": d.id, "strength": d.unit, "reference": d.reference, "metric": d.metric, "description": d.description}
        for d in damages().values()
    ]
    if form is options.Format.json:
        print_json(rows)
        return
    for row in rows:
        named = f" ({row['metric']})" if row["metric"] else ""
        print_entry(str(row["id"]), [f"{row['description']}{named}"], indent=20)


def _print(study: Study, matrix: Sensitivity, form: options.Format) -> None:
    if form is options.Format.json:
        document = {"study": json.loads(study.to_json()), "sensitivity": json.loads(matrix.to_json())}
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
    elif form is options.Format.csv:
        sys.stdout.write(study.to_csv())
    elif form is options.Format.latex:
        import pandas as pd

        frame = pd.DataFrame(matrix.scaled, index=list(matrix.metrics), columns=list(matrix.damages))
        sys.stdout.write(frame.to_latex(float_format="%.2f", na_rep="--"))
    else:
        print_tables([_table(study, matrix)])


def _table(study: Study, matrix: Sensitivity) -> Table:
    """For each metric, the damages that it reacts to most, and whether its own leads among the named ones."""
    from stereogauge.tables.table import table, words

    rows = []
    named = matrix.named()
    own = {} if named is None else named.namesakes()
    for metric, row in zip(matrix.metrics, matrix.scaled, strict=True):
        order = sorted((d for d in range(len(row)) if row[d] > 0), key=lambda d: -row[d])[:SHOWN]
        strongest = [f"{matrix.damages[d]} {row[d]:.2f}" for d in order] + [""] * (SHOWN - len(order))
        verdict = "" if metric not in own else "leads" if own[metric] else "does not lead"
        rows.append([words(text) for text in (metric, *strongest, verdict)])
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
    for name, data in figures.items():
        for kind in ("png", "svg", "csv", "html"):
            data.save(folder / f"{name}.{kind}")
    say(f"tables and {len(figures)} figures in {folder}")
