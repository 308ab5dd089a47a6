"""`stereogauge report`: everything about the scores of a store in a form that can be handed on."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereogauge.cli import selected
from stereogauge.cli.options import listed, make_folder, without
from stereogauge.cli.output import say, working
from stereogauge.errors import StereogaugeError
from stereogauge.scores.scope import ONLY_SURE, Scope
from stereogauge.version import VERSION

if TYPE_CHECKING:
    from stereogauge.evaluation.error_density import ErrorDensity
    from stereogauge.protocol import Protocol
    from stereogauge.report.content import GalleryEntry, Provenance, ReportOptions
    from stereogauge.scores.cube import ScoreCube
    from stereogauge.store import Store


def command(
    store: selected.StoreAddress,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the report.")],
    scope: Annotated[Scope, without("aggregation", "least_support")],
    title: Annotated[str, typer.Option(help="Heading of the report.")] = "Comparison of stereo algorithms",
    model: Annotated[str, typer.Option(help="The model that orders the tables.")] = "extended",
    metric: Annotated[str | None, typer.Option(help="Metric of the tests; default: the first one.")] = None,
    profile: Annotated[list[str] | None, typer.Option(help="Profiles to show; repeatable. Default: balanced.")] = None,
    alpha: selected.Alpha = 0.05,
    draws: Annotated[int, typer.Option(help="Draws of the bootstrap over scenes.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    formats: Annotated[list[str] | None, typer.Option(help="Formats of the figures; default: png,svg,pdf.")] = None,
    galleries: Annotated[
        bool, typer.Option(help="Show the maps, where they still lie where they were evaluated.")
    ] = True,
    gallery_metrics: Annotated[list[str] | None, typer.Option(help="Metrics of the galleries.")] = None,
    gallery_scenes: Annotated[
        list[str] | None, typer.Option(help="Scenes of the galleries; default: the first two.")
    ] = None,
) -> None:
    """Write an HTML report, LaTeX tables, CSV and figures.

    report.html holds everything it needs and opens from the file, without a network.
    """
    from stereogauge.evaluation.stored_maps import store_origins
    from stereogauge.figures.chart import FORMATS, check_format
    from stereogauge.ranking.profile import load_profile
    from stereogauge.report.build import build
    from stereogauge.report.content import ReportOptions
    from stereogauge.report.page import write_report

    for kind in listed(formats) or ():
        check_format(kind)
    for name in profile or ():
        load_profile(name)
    chosen = ReportOptions(
        title=title,
        model=model,
        metric=metric,
        profiles=tuple(profile or ("balanced",)),
        missing=scope.missing,
        alpha=alpha,
        draws=draws,
        seed=seed,
        gallery_metrics=tuple(listed(gallery_metrics) or ()),
        gallery_scenes=tuple(listed(gallery_scenes) or ()),
        only_sure=scope.need == ONLY_SURE,
    )
    with selected.opened(store, scope) as (opened, cube), working("report") as tell:
        make_folder(out)
        cube = cube.limited(scope.coverage)
        stored = opened.protocol(cube.protocol, cube.columns)
        origins = store_origins(opened, cube, stored) if galleries else None
        shown = _galleries(opened, cube, stored, chosen, tell) if galleries else []
        density = _density(opened, cube, stored, chosen, tell)
        tell("tables")
        content = build(cube, chosen, _provenance(opened, cube, stored), shown, stored, density, origins, tell)
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
        write_report(
            content,
            out,
            formats=listed(formats) or FORMATS,
            made=f"Made by Stereogauge {VERSION} on {now}.",
            progress=tell,
        )
    for section in content.sections:
        for note in section.notes:
            say(f"not shown in {section.title!r}: {note}")
    if content.answer is not None:
        say(content.answer.sentence)
    sys.stdout.write(f"{out / 'report.html'}\n")


def _galleries(
    store: Store, cube: ScoreCube, protocol: Protocol | None, chosen: ReportOptions, tell: Callable[[str], None]
) -> list[GalleryEntry]:
    from stereogauge.evaluation.stored_maps import store_origins
    from stereogauge.report.maps import galleries

    origins = store_origins(store, cube, protocol)
    entries, reasons = galleries(cube, origins, chosen.gallery_metrics, chosen.gallery_scenes, tell)
    for reason in reasons:
        say(f"not shown: {reason}")
    return entries


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
