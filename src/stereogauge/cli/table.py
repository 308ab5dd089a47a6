"""`stereogauge table`: the scores of a store, over its scenes or scene by scene."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec.structs import replace

from stereogauge.cli import options
from stereogauge.cli.output import print_tables, say, upright, working
from stereogauge.errors import StereogaugeError
from stereogauge.figures.chart import check_format
from stereogauge.protocol import Protocol
from stereogauge.scores.scope import ONLY_SURE, Scope
from stereogauge.tables.table import stacked

if TYPE_CHECKING:
    from stereogauge.evaluation.error_density import ErrorDensity
    from stereogauge.scores.cube import ScoreCube
    from stereogauge.store import Store


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
    from stereogauge.tables.score_table import coverage_table, density_table, score_table

    only_sure = scope.need == ONLY_SURE
    if figure is not None:
        check_format(figure.suffix.lstrip(".").lower())
        if not only_sure:
            raise StereogaugeError("--figure draws error over density, which --need sure shows; add it.")
    with options.selected_scores(store, scope) as (opened, cube):
        read = opened.protocol(cube.protocol, cube.columns) or Protocol()
        curves: list[ErrorDensity] = []
        if only_sure:
            from stereogauge.evaluation.error_density import stored_density

            try:
                with working() as tell:
                    curves = stored_density(opened, cube, read, progress=tell)
            except StereogaugeError as reason:
                say(f"no comparison at equal density: {reason}")
        if meta:
            cube = _with_meta(opened, cube, read)
    cube = cube.measured.limited(scope.coverage, scope.least_support)
    how = scope.aggregation or read.aggregation
    parts = [cube] if by == "all" else [cube.take(scenes=[place]) for place in range(len(cube.scenes))]
    tables = [
        score_table(part, how if by == "all" else "mean", read.scene_weights, any_density=only_sure) for part in parts
    ]
    if only_sure:
        tables += [coverage_table(part) for part in parts]
    if by == "scene" and form is options.Format.csv:
        # One header, so that any program reads it.
        blocks = [tables[start : start + len(parts)] for start in range(0, len(tables), len(parts))]
        tables = [stacked(block, "scene", cube.scenes) for block in blocks]
    elif by == "scene":
        tables = [
            replace(
                table, name=f"{table.name}-{scene}", title=scene if table.name == "scores" else f"{scene}: coverage"
            )
            for table, scene in zip(tables, cube.scenes * 2, strict=False)
        ]
    shown = [upright(table, form) for table in tables] + [density_table(one) for one in curves]
    print_tables(shown, form, boxed=False)
    if figure is not None and curves:
        from stereogauge.figures.confidence import error_density_data

        error_density_data(curves).save(figure)
        say(f"wrote {figure}")


def _with_meta(store: Store, cube: ScoreCube, protocol: Protocol) -> ScoreCube:
    """The scores with two more rows, measured from the maps where they lay when they were evaluated."""
    from stereogauge.evaluation.stored_maps import meta_scores, store_origins

    origins = store_origins(store, cube, protocol)
    found, reasons = meta_scores(cube, origins, lambda scene: say(f"measuring {scene} …"))
    for reason in reasons:
        say(f"no best and median of all: {reason}")
    return found
