"""`stereogauge report`: everything about the scores of a store in a form that can be handed on."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereogauge.cli import options
from stereogauge.cli.options import listed
from stereogauge.cli.output import say, working
from stereogauge.errors import StereogaugeError
from stereogauge.figures.chart import FORMATS, check_format
from stereogauge.protocol import Protocol
from stereogauge.scores.scope import DRAWS, ONLY_SURE, Scope
from stereogauge.version import VERSION

if TYPE_CHECKING:
    from stereogauge.evaluation.error_density import ErrorDensity
    from stereogauge.report.content import FigureEntry, Provenance, ReportOptions
    from stereogauge.scores.cube import ScoreCube
    from stereogauge.store import Store

GALLERY, TABLES, FIGURE, PAGE = 0.3, 2.0, 0.5, 1.0
"""Seconds that a gallery, the tables with the answer, a figure in all formats, and the page usually take."""
USUAL_FIGURES = 20


def command(
    store: options.StoreAddress,
    out: Annotated[Path, "Folder of the report."],
    scope: Annotated[Scope, options.without("aggregation", "least_support", "proportions")],
    title: Annotated[str, "Heading of the report."] = "Comparison of stereo algorithms",
    model: Annotated[str, "The model that orders the tables."] = "extended",
    metric: Annotated[str | None, "Metric of the tests; default: the first one."] = None,
    profile: Annotated[list[str] | None, "Profiles to show; repeatable. Default: balanced."] = None,
    alpha: options.Alpha = 0.05,
    draws: Annotated[int, "Draws of the bootstrap over scenes."] = DRAWS,
    seed: Annotated[int, "Seed of all draws."] = 0,
    formats: Annotated[list[str] | None, "Formats of the figures; default: png,svg,pdf."] = None,
    galleries: Annotated[
        bool, typer.Option(help="Show the maps, where they still lie where they were evaluated.")
    ] = True,
    gallery_metrics: Annotated[list[str] | None, "Metrics of the galleries."] = None,
    gallery_scenes: Annotated[list[str] | None, "Scenes of the galleries; default: the first two."] = None,
) -> None:
    """Write an HTML report, LaTeX tables, CSV and figures.

    report.html holds everything it needs and opens from the file, without a network.
    """
    from stereogauge.evaluation.progress import TimeLeft
    from stereogauge.evaluation.stored_maps import store_origins
    from stereogauge.ranking.profile import load_profile
    from stereogauge.report.build import build
    from stereogauge.report.content import ReportOptions, write_report
    from stereogauge.report.maps import chosen_galleries
    from stereogauge.report.maps import galleries as galleries_of

    for kind in listed(formats) or ():
        check_format(kind)
    for name in profile or ():
        load_profile(name)
    chosen = ReportOptions(
        title=title,
        model=model,
        metric=metric or "",
        profiles=tuple(profile or ("balanced",)),
        missing=scope.missing,
        alpha=alpha,
        draws=draws,
        seed=seed,
        gallery_metrics=tuple(listed(gallery_metrics) or ()),
        gallery_scenes=tuple(listed(gallery_scenes) or ()),
        only_sure=scope.need == ONLY_SURE,
    )
    ahead = TimeLeft()
    with options.selected_scores(store, scope) as (opened, cube), working("report", ahead):
        options.make_folder(out)
        cube = cube.limited(scope.coverage)
        stored = opened.protocol(cube.protocol, cube.columns)
        origins = store_origins(opened, cube, stored) if galleries else None
        picked = (chosen.gallery_metrics, chosen.gallery_scenes)
        steps: dict[str, float] = {}
        shown: list[FigureEntry] = []
        if origins is not None:
            of_scenes = chosen_galleries(cube, *picked).items()
            steps = dict.fromkeys((f"{scene}: {name}" for scene, names in of_scenes for name in names), GALLERY)
        steps["tables"] = TABLES
        ahead.expect({**steps, "figures": FIGURE * USUAL_FIGURES, "report.html": PAGE})
        if origins is not None:
            shown, reasons = galleries_of(cube, origins, *picked, ahead.next)
            for reason in reasons:
                say(f"not shown: {reason}")
        density = _density(opened, cube, stored, chosen, ahead.next)
        ahead.next("tables")
        content = build(cube, chosen, _provenance(opened, cube, stored), shown, stored, density, origins)
        ahead.expect({**steps, **{f"figure {one.name}": FIGURE for one in content.figures}, "report.html": PAGE})
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
        write_report(
            content,
            out,
            formats=listed(formats) or FORMATS,
            made=f"Made by Stereogauge {VERSION} on {now}.",
            progress=ahead.next,
        )
    for section in content.sections:
        for note in section.notes:
            say(f"not shown in {section.title!r}: {note}")
    if content.answer is not None:
        say(content.answer.sentence)
    sys.stdout.write(f"{out / 'report.html'}\n")


def _density(
    store: Store, cube: ScoreCube, protocol: Protocol | None, chosen: ReportOptions, tell: Callable[[str], None]
) -> list[ErrorDensity]:
    """Error over density, where values are needed only where they are sure or an algorithm can say where that is."""
    from stereogauge.evaluation.error_density import stored_density, stored_results

    try:
        if not chosen.only_sure and not any(result.confidence for result in stored_results(store, cube)[1]):
            return []
        return stored_density(store, cube, protocol, progress=tell)
    except (StereogaugeError, OSError) as reason:
        if chosen.only_sure:
            say(f"not shown: error over density: {reason}")
        return []


def _provenance(store: Store, cube: ScoreCube, protocol: Protocol | None) -> Provenance:
    from stereogauge.report.content import Provenance

    text = next((entry.text for entry in store.protocols() if entry.scoring_hash == cube.protocol), "")
    described = tuple(
        (entry.name, entry.description, entry.link) for entry in store.algorithms() if entry.name in cube.algorithms
    )
    failed = tuple(f"{one.algorithm} on {one.scene}: {one.reason}" for one in store.failures())
    return Provenance("" if protocol is None else protocol.name, text, Path(store.name).name, described, failed)
