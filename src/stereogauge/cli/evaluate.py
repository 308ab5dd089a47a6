"""`stereogauge evaluate`: results and matchers on a whole dataset, into a store."""

from __future__ import annotations

import dataclasses
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from stereogauge.cli import INTERRUPTED, options
from stereogauge.cli.output import (
    doubt_lines,
    gathering,
    print_basis,
    print_rows,
    print_tables,
    progress,
    say,
    shortened,
    upright,
)
from stereogauge.cli.running import Request, Workers, found_results, made_maps
from stereogauge.errors import StereogaugeError
from stereogauge.scores.scope import LEAST_COVERAGE

if TYPE_CHECKING:
    from stereogauge.evaluation.plan import Plan
    from stereogauge.evaluation.run import Summary
    from stereogauge.model import Dataset
    from stereogauge.store import Store

FAILURES_SHOWN = 10
WATCH_EVERY = 2.0


def command(
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET[:ROOT]", help="A dataset and its folder, or a folder of ground truth.")
    ],
    files: options.Files,
    measured: options.Measured,
    results: Annotated[
        list[str] | None, typer.Argument(metavar="RESULTS", help="Folders or zips with maps of algorithms.")
    ] = None,
    store: options.StorePlace = "stereogauge.sqlite",
    scenes: options.Scenes = None,
    matcher: Annotated[
        list[str] | None,
        typer.Option(
            help="A matcher to run, e.g. sgm, opencv-sgbm:block=5, onnx:MODEL.onnx, py:MODULE:FUNCTION, "
            "'cmd:./run {left} {right} {out} {ndisp}'; NAME=MATCHER names it; repeatable."
        ),
    ] = None,
    ndisp: options.SearchRange = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for one call of an outside program.")] = None,
    memory_limit: Annotated[float | None, typer.Option(help="GiB for one call of an outside program.")] = None,
    maps: Annotated[
        str | None, typer.Option(help="Where maps of matchers are kept; on a cluster a shared folder or s3://…")
    ] = None,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let results from another folder replace an algorithm of the same name.")
    ] = False,
    rehash: Annotated[
        bool, typer.Option("--rehash", help="Read every file again, also those that look unchanged.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be computed, and stop.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on and evaluate again when files change.")] = False,
    form: options.OutputFormat = options.Format.table,
) -> None:
    """Evaluate result folders or matchers on a dataset into a store, and print the scores over all scenes.

    Only what is not stored yet for exactly these files, this protocol and these versions of the metrics is computed.
    The command may be stopped at any time; the same command continues where it stopped.
    """
    request = Request(
        dataset=dataset,
        results=results or [],
        protocol=measured.choice,
        matchers=matcher or [],
        scenes=options.listed(scenes),
        reading={**files.decoding, "manifest": files.manifest},
        maps=maps,
        ndisp=ndisp,
        time_limit=time_limit,
        memory_limit=memory_limit,
        resize=files.resize,
        replace=replace,
        rehash=rehash,
        jobs=jobs,
        cluster=cluster,
        truth=files.truth(dataset),
        form=form,
    )
    if not request.results and not request.matchers:
        raise StereogaugeError("Nothing to evaluate: give folders of results, or --matcher.")
    from stereogauge.store import open_store

    try:
        with open_store(store) as opened:
            _evaluate(request, opened, dry_run=dry_run, watch=watch)
    except KeyboardInterrupt:
        say("interrupted; everything finished is stored, and the same command continues from there")
        raise typer.Exit(INTERRUPTED) from None


def _evaluate(request: Request, store: Store, *, dry_run: bool, watch: bool) -> None:
    workers = Workers(request)
    stopped = True
    try:
        while True:
            dataset = options.chosen_scenes(request.dataset, request.scenes, **request.truth)
            options.print_layout(request.dataset, dataset)
            if not request.scenes:
                dataset = dataset.subset(request.protocol.selected(dataset.ids))
            plan = _plan(request, dataset, store, workers)
            if dry_run:
                _print_plan(plan, request.form)
                break
            if not plan.cells and not plan.unreadable and not watch:
                say(f"nothing to compute: {plan.stored} cells are stored{_gaps(plan)} → {store.name}")
                _print_scores(request, plan, store)
                break
            if plan.cells or plan.unreadable:
                from stereogauge.evaluation.run import run_plan

                started = time.perf_counter()
                executor = workers.get(dataset) if plan.cells else None
                summary = run_plan(
                    plan, store, executor=executor, progress=progress("cells"), command=" ".join(sys.argv)
                )
                _print_summary(summary, plan, time.perf_counter() - started, store)
                _print_scores(request, plan, store)
                if summary.interrupted:
                    raise KeyboardInterrupt
                if not watch:
                    stopped = False
                    if summary.failures:
                        raise typer.Exit(1)
                    break
            time.sleep(WATCH_EVERY)
    finally:
        workers.end(at_once=stopped)


def _print_scores(request: Request, plan: Plan, store: Store) -> None:
    """The scores of the evaluated algorithms, over the scenes as the protocol says."""
    from stereogauge.scores.column import columns_of
    from stereogauge.tables.score_table import score_table

    protocol, dataset, form = plan.protocol, plan.dataset, request.form
    algorithms = [result.name for result in plan.results]
    cube = store.cube(dataset=dataset.name, protocol=protocol.scoring_hash)
    known = [name for name in algorithms if name in cube.algorithms]
    if not known or not cube.columns:
        return
    wanted = {str(column) for column in columns_of(protocol.metrics, protocol.regions)}
    columns = [place for place, column in enumerate(cube.columns) if str(column) in wanted]
    shown = cube.select(algorithms=known).take(columns=columns).limited(LEAST_COVERAGE, None)
    if shown.columns:
        made = score_table(shown, protocol.aggregation, protocol.scene_weights)
        if gathering():
            made = dataclasses.replace(made, name=f"scores-{dataset.name}", title=f"Scores on {dataset.name}")
        print_tables([upright(made, form)], form, boxed=False)


def _plan(request: Request, dataset: Dataset, store: Store, workers: Workers) -> Plan:
    from stereogauge.evaluation.fingerprints import ContentHashes
    from stereogauge.evaluation.plan import make_plan
    from stereogauge.evaluation.progress import Reading
    from stereogauge.evaluation.run import check_origins
    from stereogauge.store.write import Failure

    found = found_results(request, dataset)
    made = made_maps(request, dataset, workers, ContentHashes(store)) if request.matchers else None
    reading = Reading(progress("files", "read"))
    results, facts = ([*found, *made.results], made.facts) if made else (found, {})
    hashes = ContentHashes(store, reading, again=request.rehash)
    if not request.replace:
        check_origins(store, dataset, found)
    try:
        plan = make_plan(store, dataset, results, request.protocol, facts=facts, resize=request.resize, hashes=hashes)
    finally:
        reading.finish()
    failures = tuple(
        Failure(dataset.name, scene, algorithm, request.protocol.scoring_hash, reason, detail)
        for algorithm, scene, reason, detail in (made.failures if made else ())
    )
    return dataclasses.replace(plan, unreadable=plan.unreadable + failures)


def _print_plan(plan: Plan, form: options.Format) -> None:
    out = sys.stdout.write
    amounts = (
        f"{plan.cells} cells ({plan.scores} scores) to compute, {plan.stored} stored, {len(plan.gaps)} without a map"
    )
    if form is not options.Format.table:
        say(amounts)
        cells = [(group.scene.id, cell) for group in plan.scenes for cell in group.cells]
        print_rows(
            [{"scene": scene, "algorithm": cell.algorithm, "scores": len(cell.columns)} for scene, cell in cells], form
        )
        return
    out(f"{amounts}\n")
    for group in plan.scenes:
        columns = {str(column): None for cell in group.cells for column in cell.columns}
        algorithms = ", ".join(cell.algorithm for cell in group.cells)
        out(f"{group.scene.id}: {algorithms}: {', '.join(columns)}\n")
    for failure in plan.unreadable:
        out(f"{failure.scene}: {failure.algorithm}: cannot be computed: {failure.reason}\n")


def _gaps(plan: Plan) -> str:
    """The number of cells without a map, and their scenes."""
    if not plan.gaps:
        return ""
    return f", {len(plan.gaps)} without a map ({shortened(f'{scene} of {name}' for name, scene in plan.gaps)})"


def _print_summary(summary: Summary, plan: Plan, seconds: float, store: Store) -> None:
    from stereogauge.evaluation.fingerprints import contents_hash

    parts = [f"{summary.done} cells computed in {seconds:.1f} s", f"{summary.stored} stored before"]
    if summary.retried:
        parts.append(f"{summary.retried} tried again after a lost worker")
    if summary.failures:
        parts.append(f"{len(summary.failures)} failed")
    say(", ".join(parts) + f"{_gaps(plan)} → {store.name}")
    print_basis(plan.protocol, contents_hash(plan.contents), [group.scene for group in plan.scenes])
    for metric, (count, reason) in list(summary.gaps.items())[:FAILURES_SHOWN]:
        say(f"note: {metric} has no value in {count} place(s), the first because {reason.rstrip('.')}")
    for note in doubt_lines(summary.doubts):
        say(f"note: {note}")
    for failure in summary.failures[:FAILURES_SHOWN]:
        say(f"failed: {failure.algorithm} on {failure.scene}: {failure.reason}")
    if len(summary.failures) > FAILURES_SHOWN:
        say(f"… and {len(summary.failures) - FAILURES_SHOWN} more; see `stereogauge store info {store.name}`")
