"""`stereogauge evaluate`: results and matchers on a whole dataset, into a store."""

from __future__ import annotations

import contextlib
import functools
import itertools
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Annotated

import msgspec
import typer

from stereogauge import store as stores
from stereogauge.cli import options
from stereogauge.cli.output import (
    gathering,
    print_basis,
    print_reading,
    print_repeated,
    print_rows,
    print_tables,
    progress,
    say,
    upright,
)
from stereogauge.cli.running import Workers, chosen_scenes, found_results, made_maps, print_layout
from stereogauge.datasets.plausibility import doubt_lines
from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.fingerprints import ContentHashes, contents_hash
from stereogauge.evaluation.progress import Reading
from stereogauge.evaluation.run import Plan, Summary, check_origins, make_plan, run_plan
from stereogauge.scores.column import columns_of
from stereogauge.scores.scope import LEAST_COVERAGE
from stereogauge.scores.score import Failure
from stereogauge.store import Store
from stereogauge.tables.score_table import score_table
from stereogauge.text import counted, shortened

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
        "A matcher to run, e.g. sgm, opencv-sgbm:block=5, onnx:MODEL.onnx, py:MODULE:FUNCTION, "
        "'cmd:./run {left} {right} {out} {ndisp}'; NAME=MATCHER names it; repeatable.",
    ] = None,
    ndisp: options.SearchRange = None,
    time_limit: Annotated[float | None, "Seconds for one call of an outside program."] = None,
    memory_limit: Annotated[float | None, "GiB for one call of an outside program."] = None,
    maps: Annotated[str | None, "Where maps of matchers are kept; on a cluster a shared folder or s3://…"] = None,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
    replace: Annotated[bool, "Let results from another folder replace an algorithm of the same name."] = False,
    rehash: Annotated[bool, "Read every file again, also those that look unchanged."] = False,
    dry_run: Annotated[bool, "Print what would be computed, and stop."] = False,
    watch: Annotated[bool, "Go on and evaluate again when files change."] = False,
    form: options.OutputFormat = options.Format.table,
) -> None:
    """Evaluate result folders or matchers on a dataset into a store, and print the scores over all scenes.

    Only what is not stored yet for exactly these files, this protocol and these versions of the metrics is computed.
    The command may be stopped at any time; the same command continues where it stopped.
    """
    if not results and not matcher:
        raise StereogaugeError("Nothing to evaluate: give folders of results, or --matcher.")
    protocol, wanted = measured.choice, options.listed(scenes)
    limits = {"time_limit": time_limit, "memory_limit": memory_limit}

    def plan_again(opened: Store, workers: Workers) -> Plan:
        """What the store lacks of the files as they are now; maps that a matcher could not make are failures."""

        data = chosen_scenes(dataset, wanted, files)
        print_layout(dataset, data)
        whole = functools.partial(chosen_scenes, dataset, None, files) if wanted else None
        if not wanted:
            data = data.subset(protocol.selected(data.ids, data.name))
        found = list(itertools.chain(*found_results(results or (), data, files.reading, whole)))
        if not replace:
            check_origins(opened, data, found)
        failures: tuple[Failure, ...] = ()
        if matcher:
            made = made_maps(matcher, data, workers, ContentHashes(opened), maps=maps, ndisp=ndisp, **limits)
            found += made.results
            failures = tuple(
                Failure(data.name, scene, algorithm, protocol.scoring_hash, reason, detail)
                for algorithm, scene, reason, detail in made.failures
            )
        reading = Reading(progress("file", "read"))
        hashes = ContentHashes(opened, reading, again=rehash)
        try:
            plan = make_plan(opened, data, found, protocol, resize=files.resize, hashes=hashes)
        finally:
            reading.finish()
        return msgspec.structs.replace(plan, unreadable=(*plan.unreadable, *failures))

    with Workers(jobs, cluster) as workers, _interruption() as pressed, stores.open_store(store) as opened:
        plan = plan_again(opened, workers)
        if dry_run:
            _print_plan(plan, form)
        elif not plan.cells and not plan.unreadable and not watch:
            say(f"nothing to compute: {plan.stored} cells are stored{_gaps(plan)} → {opened.name}")
            _print_scores(plan, opened, form)
        else:
            failures = _run(plan, opened, workers, form)
            while watch:
                if pressed.wait(WATCH_EVERY):
                    raise KeyboardInterrupt
                _run(plan_again(opened, workers), opened, workers, form)
            if failures:
                raise typer.Exit(1)


@contextlib.contextmanager
def _interruption() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets when it raises `KeyboardInterrupt`, which Python discards inside a destructor."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return

    def interrupt(number: int, frame: object) -> None:
        pressed.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _run(plan: Plan, store: Store, workers: Workers, form: options.Format) -> int:
    """Compute what is planned, if anything, and print the scores; the number of failures."""
    if not plan.cells and not plan.unreadable:
        return 0
    started = time.perf_counter()
    executor = workers.get(plan.dataset) if plan.cells else None
    summary = run_plan(plan, store, executor=executor, progress=progress("cell"), command=" ".join(sys.argv))
    _print_summary(summary, plan, time.perf_counter() - started, store)
    _print_scores(plan, store, form)
    if summary.interrupted:
        raise KeyboardInterrupt
    return len(summary.failures)


def _print_scores(plan: Plan, store: Store, form: options.Format) -> None:
    """The scores of the evaluated algorithms, over the scenes as the protocol says."""
    protocol, dataset = plan.protocol, plan.dataset
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
            made = msgspec.structs.replace(made, name=f"scores-{dataset.name}", title=f"Scores on {dataset.name}")
        print_tables([upright(made, form)], form, boxed=False)


def _print_plan(plan: Plan, form: options.Format) -> None:
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
    lines = [amounts]
    for group in plan.scenes:
        columns = dict.fromkeys(str(column) for cell in group.cells for column in cell.columns)
        lines.append(f"{group.scene.id}: {', '.join(cell.algorithm for cell in group.cells)}: {', '.join(columns)}")
    lines += [f"{one.scene}: {one.algorithm}: cannot be computed: {one.reason}" for one in plan.unreadable]
    sys.stdout.write("\n".join([*lines, ""]))


def _gaps(plan: Plan) -> str:
    """The number of cells without a map, and their scenes."""
    if not plan.gaps:
        return ""
    return f", {len(plan.gaps)} without a map ({shortened(f'{scene} of {name}' for name, scene in plan.gaps)})"


def _print_summary(summary: Summary, plan: Plan, seconds: float, store: Store) -> None:
    done = f"{counted(summary.done, 'cell')} computed in {seconds:.1f} s, {summary.stored} stored before"
    retried = f", {summary.retried} tried again after a lost worker" if summary.retried else ""
    failed = f", {len(summary.failures)} failed" if summary.failures else ""
    say(f"{done}{retried}{failed}{_gaps(plan)} → {store.name}")
    print_reading([group.scene for group in plan.scenes], plan.results)
    print_basis(plan.protocol, contents_hash(plan.contents), [group.scene for group in plan.scenes])
    print_repeated(store)
    for metric, (count, reason) in list(summary.gaps.items())[:FAILURES_SHOWN]:
        say(f"note: {metric} has no value in {count} place(s), the first because {reason.rstrip('.')}")
    for note in doubt_lines(summary.doubts):
        say(f"note: {note}")
    for failure in summary.failures[:FAILURES_SHOWN]:
        say(f"failed: {failure.algorithm} on {failure.scene}: {failure.reason}")
    if len(summary.failures) > FAILURES_SHOWN:
        more, name = len(summary.failures) - FAILURES_SHOWN, shlex.quote(store.name)
        say(f"… and {more} more; see `stereogauge store info {name}`")
