"""`stereogauge table`: the scores of a store, over its scenes or scene by scene."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from msgspec.structs import replace

from stereogauge.cli import options
from stereogauge.cli.output import print_tables, say, upright, working
from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.error_density import ErrorDensity, stored_density
from stereogauge.evaluation.stored_maps import meta_scores, store_origins
from stereogauge.figures.chart import check_format
from stereogauge.figures.confidence import error_density_data
from stereogauge.protocol import Protocol
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.scope import ONLY_SURE, Scope
from stereogauge.tables.score_table import coverage_table, density_table, score_table
from stereogauge.tables.table import Heading, Table, table


def command(
    store: options.StoreAddress,
    scope: Annotated[Scope, options.without("missing", "proportions")],
    meta: Annotated[
        bool, "Add the best of all maps at every pixel, which uses the truth, and their median as rows."
    ] = False,
    by: Annotated[Literal["all", "scene"], "One table over all scenes, or one per scene."] = "all",
    figure: Annotated[Path | None, "With --need sure: write error over density as .png, .svg or .pdf."] = None,
    form: options.OutputFormat = options.Format.table,
) -> None:
    """Print the scores of a store: one row per algorithm, one column per metric and region.

    Scenes are aggregated as the protocol says. A scene that an algorithm lacks makes its average a gap; the
    others are not averaged without it. `--need sure` shows scores with their coverage, and compares at equal density:
    maps are cut by their own confidence.
    """
    only_sure = scope.need == ONLY_SURE
    if figure is not None:
        check_format(figure.suffix.lstrip(".").lower())
        if not only_sure:
            raise StereogaugeError("--figure draws error over density, which --need sure shows; add it.")
    with options.selected_scores(store, scope) as (opened, cube):
        read = opened.protocol(cube.protocol, cube.columns) or Protocol()
        curves: list[ErrorDensity] = []
        if only_sure:
            try:
                with working() as tell:
                    curves = stored_density(opened, cube, read, progress=tell)
            except StereogaugeError as problem:
                say(f"no comparison at equal density: {problem}")
        if meta:
            # Measured from the maps where they lay when they were evaluated.
            origins = store_origins(opened, cube, read)
            cube, reasons = meta_scores(cube, origins, lambda scene: say(f"measuring {scene} …"))
            for reason in reasons:
                say(f"no best and median of all: {reason}")
    cube = cube.measured.limited(scope.coverage, scope.least_support)
    how = scope.aggregation or read.aggregation
    parts = [cube] if by == "all" else [cube.take(scenes=[place]) for place in range(len(cube.scenes))]
    makers: list[Callable[[ScoreCube], Table]] = [
        lambda part: score_table(part, how if by == "all" else "mean", read.scene_weights, any_density=only_sure)
    ]
    makers += [coverage_table] if only_sure else []
    tables = []
    for make in makers:
        made = [make(part) for part in parts]
        if by == "scene" and form is options.Format.csv:
            # One header, so that any program reads it.
            rows = [[scene, *row] for one, scene in zip(made, cube.scenes, strict=True) for row in one.rows]
            made = [table(made[0].name, made[0].title, (Heading("scene"), *made[0].header), rows, made[0].notes)]
        elif by == "scene":
            ending = "" if make is not coverage_table else ": coverage"
            made = [
                replace(one, name=f"{one.name}-{scene}", title=f"{scene}{ending}")
                for one, scene in zip(made, cube.scenes, strict=True)
            ]
        tables += [upright(one, form) for one in made]
    print_tables([*tables, *map(density_table, curves)], form, boxed=False)
    if figure is not None and curves:
        error_density_data(curves).save(figure)
        say(f"wrote {figure}")
