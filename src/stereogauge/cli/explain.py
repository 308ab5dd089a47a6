"""`stereogauge explain`: why one algorithm of a store is above another, and where all algorithms fail."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from stereogauge.cli import options
from stereogauge.cli.output import print_json, print_tables, save_figures, say
from stereogauge.decision.explain import Explanation, explained
from stereogauge.decision.pixels import Contrast, pair_contrasts, pixel_agreement, two_class_column
from stereogauge.decision.source import Source, purpose_of
from stereogauge.decision.verdict import Settings
from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.stored_maps import Origins, store_origins
from stereogauge.figures import decision as data
from stereogauge.figures.chart import Chart
from stereogauge.figures.decision import error_curves_data
from stereogauge.figures.pictures import PictureFigure, save_picture
from stereogauge.ranking.profile import parse_weights
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.scope import Scope
from stereogauge.tables.decision_tables import explanation_tables
from stereogauge.tables.table import share, table


def command(
    store: options.StoreAddress,
    scope: Annotated[Scope, options.without("regions", "metrics", "need", "least_support")],
    first: Annotated[str | None, typer.Argument(metavar="A", help="An algorithm; none for a view of all.")] = None,
    second: Annotated[str | None, typer.Argument(metavar="B", help="The algorithm to compare it with.")] = None,
    profile: options.Profile = None,
    weight: options.Weight = None,
    column: Annotated[
        str | None, "What is right or wrong at a pixel, e.g. bad@1:nonocc; default: a stored one."
    ] = None,
    alpha: options.Alpha = 0.05,
    tolerance: options.Tolerance = 0.05,
    maps: Annotated[bool, typer.Option(help="Measure from the maps what the store does not hold.")] = True,
    out: Annotated[Path | None, "Folder for pictures and figures."] = None,
    form: options.OutputFormat = options.Format.table,
) -> None:
    """Explain why A is above B: the difference by metric, by scene and by region, which each sum to it.

    With --out it writes who is right at which pixel, the map of the two errors' difference, and the crops that differ
    most. Without A and B it looks at all algorithms: where many fail, which pairs complement each other, and the error
    curve over all thresholds.
    """
    if (first is None) != (second is None):
        raise StereogaugeError(f"An explanation compares two algorithms; found only {first!r}. Name a second one.")
    options.make_folder(out)
    with options.selected_scores(store, scope) as (opened, whole):
        cube = whole.limited(scope.coverage)
        stored = opened.protocol(cube.protocol, cube.columns)
        origins = store_origins(opened, cube, stored)
        if first is None or second is None:
            _all_algorithms(cube, origins, column or two_class_column(cube), out, form)
            return
        purpose = purpose_of(cube, profile, parse_weights(weight), scope.proportions)
        found = explained(
            Source(cube, stored, store), first, second,
            Settings(alpha=alpha, missing=scope.missing, tolerance=tolerance), purpose,
            maps=origins if maps else None, progress=_steps("measuring"),
        )  # fmt: skip
        if form is options.Format.json:
            print_json(found)
        else:
            sys.stdout.write(f"{found.text}\n\n" if form is options.Format.table else "")
            print_tables(explanation_tables(found), form)
        if found.command:
            say(f"to divide the rest by region: {found.command}")
        if out is not None:
            contrasts, reasons = pair_contrasts(found, cube, origins, column or "")
            for reason in reasons:
                say(f"not shown: {reason}")
            _write(found, contrasts, out)


def _steps(verb: str) -> Callable[[str], None]:
    return lambda name: say(f"{verb} {name} …")


def _write(found: Explanation, contrasts: Sequence[Contrast], out: Path) -> None:
    figures: dict[str, Chart | PictureFigure] = {"difference": data.difference_bars_data(found)}
    for one in contrasts:
        name = one.scene.id.replace("/", "-")
        save_picture(out / f"{name}-who-is-right.png", one.verdict, textwrap.fill(one.shares_text, 90))
        save_picture(out / f"{name}-error-difference.png", one.gain)
        line = data.profile_line_data(one)
        if line is not None:
            figures[f"{name}-profile-line"] = line
    if contrasts and any(one.crops for one in contrasts):
        figures["crops"] = data.crop_rows_data(contrasts)
    save_figures(out, figures, ("png",))
    say(f"wrote {len(figures) + 2 * len(contrasts)} pictures to {out}/")


def _all_algorithms(cube: ScoreCube, origins: Origins, column: str, out: Path | None, form: options.Format) -> None:
    complete = [a for a in cube.algorithms if all(origins.source(a, s) is not None for s in cube.scenes)]
    for name in cube.algorithms:
        if name not in complete:
            say(f"left out: {name} has no map of every scene")
    if len(complete) < 2:
        raise StereogaugeError(
            f"A view of all algorithms needs the maps of two on every scene; found {', '.join(complete) or 'none'}."
        )
    found = pixel_agreement(origins, complete, cube.scenes, column, _steps("reading"))
    rows = [[p.first, p.second, share(p.covers, 1), share(p.added, 1)] for p in found.pairs[:20]]
    header = ["first", "second", "one of them is right", "more than the better one alone"]
    notes = [] if form is options.Format.table else [found.text]
    if form is options.Format.table:
        sys.stdout.write(f"{found.text}\n\n")
    print_tables([table("pairs-covered", f"Which pair covers most, {column}", header, rows, notes)], form)
    if out is None:
        return
    for name, picture in found.pictures.items():
        save_picture(out / f"{name.replace('/', '-')}-hardness.png", picture)
    error_curves_data(found).save(out / "error-curves.png")
    say(f"wrote {len(found.pictures) + 1} pictures to {out}/")
