"""`stereogauge analyze`: what one metric says beyond another, and how sure an order is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereogauge.cli import options
from stereogauge.cli.output import print_tables, save_figures, say, working
from stereogauge.errors import StereogaugeError
from stereogauge.figures.chart import FORMATS
from stereogauge.scores.scope import Scope
from stereogauge.tables.table import Table

if TYPE_CHECKING:
    from stereogauge.report.content import Entry


def command(
    store: options.StoreAddress,
    scope: Annotated[Scope, options.without("aggregation", "least_support", "proportions")],
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ANALYSIS",
            help="correlation, scatter, orders, histograms, subsets, double-counting, significance, stability; "
            "default: all.",
        ),
    ] = None,
    metric: Annotated[str | None, "Metric of tests and counts; default: the first one."] = None,
    mark: Annotated[list[str] | None, "Algorithms to mark in histograms."] = None,
    profile: Annotated[str | None, "Profile whose stability is tested; default: equal weights."] = None,
    alpha: options.Alpha = 0.05,
    out: Annotated[Path | None, "Folder for figures, as PNG, SVG and PDF."] = None,
    form: options.OutputFormat = options.Format.table,
) -> None:
    """Analyse relations between metrics, histograms, double counting, significance and stability.

    An analysis that the scores do not allow is skipped with the reason on standard error; requested by name, it
    is an error.
    """
    from stereogauge.ranking.significance import check_alpha
    from stereogauge.report.analyses import ANALYSES, analysis
    from stereogauge.report.content import AnalysisOptions

    for name in what or ():
        analysis(name)
    covered = options.ordering_coverage(scope)
    with options.selected_scores(store, scope) as (_, cube):
        cube = cube.limited(covered)
        marked = tuple(options.names(mark) or ())
        choices = AnalysisOptions(metric or cube.metrics[0], scope.missing, alpha, marked, profile)
        # Refuse what no analysis of these scores could use; what only some cannot use is theirs to say.
        cube.select(metrics=[choices.metric], algorithms=list(marked) or None)
        check_alpha(alpha)
        found: list[Entry] = []
        for name in what or ANALYSES:
            try:
                with working(name):
                    found += analysis(name)(cube, choices)
            except StereogaugeError as reason:
                if what:
                    raise
                say(f"{name}: {reason}")
    print_tables([one for one in found if isinstance(one, Table)], form)
    if out is not None:
        figures = {one.name: one.data for one in found if not isinstance(one, Table)}
        save_figures(out, figures, (*FORMATS, "csv"))
        for name in figures:
            say(f"wrote {out / name}.{{{','.join((*FORMATS, 'csv'))}}}")
