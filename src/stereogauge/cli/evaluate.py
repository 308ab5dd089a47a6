"""`stereogauge evaluate`: results and matchers on a whole dataset, into a store."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereogauge.cli import INTERRUPTED, options
from stereogauge.cli.doubts import doubt_lines
from stereogauge.cli.output import announce_memory, print_basis, print_rows, progress, say, shortened
from stereogauge.errors import StereogaugeError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from stereogauge.evaluation.fingerprints import ContentHashes
    from stereogauge.evaluation.matchers import MatchedResults
    from stereogauge.evaluation.plan import Plan
    from stereogauge.evaluation.run import Summary
    from stereogauge.model import Dataset
    from stereogauge.protocol import Protocol
    from stereogauge.store import Store

FAILURES_SHOWN = 10
WATCH_EVERY = 2.0


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    dataset: str
    results: list[str]
    protocol: Protocol
    matchers: list[str]
    reading: dict[str, Any]
    scenes: list[str] | None = None
    maps: str | None = None
    ndisp: int | None = None
    time_limit: float | None = None
    memory_limit: float | None = None
    resize: bool = False
    replace: bool = False
    rehash: bool = False
    jobs: int | None = None
    cluster: str | None = None
    truth: dict[str, Any] = field(default_factory=dict)
    form: options.Format = options.Format.table


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
    The command may be stopped at any moment; the same command goes on where it was.
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
        say("interrupted; everything finished is stored, and the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None


def _evaluate(request: Request, store: Store, *, dry_run: bool, watch: bool) -> None:
    workers = Workers(request)
    stopped = True
    try:
        while True:
            dataset = options.chosen_scenes(request.dataset, request.scenes, **request.truth)
            options.tell_layout(request.dataset, dataset)
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
    from stereogauge.cli.table import print_stored

    print_stored(store, plan.dataset, plan.protocol, [result.name for result in plan.results], request.form)


class Workers:
    """The executor, started when there is something to compute."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._executor: Executor | None = None

    def get(self, dataset: Dataset, matching: int = 0) -> Executor:
        """The executor, with as many workers as fit for the scenes of `dataset` and the bytes of a matcher."""
        if self._executor is None:
            from stereogauge.evaluation.memory import largest_scene

            reason = "since more do not fit into memory at this image size"
            jobs, cluster = self._request.jobs, self._request.cluster
            self._executor = executor_of(jobs, cluster, lambda: largest_scene(list(dataset)), reason, matching=matching)
        return self._executor

    def end(self, *, at_once: bool) -> None:
        """Let go of it, if it was started."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=at_once)


def executor_of(
    jobs: int | None,
    cluster: str | None,
    pixels: Callable[[], int],
    reason: str,
    *,
    apart: bool = False,
    matching: int = 0,
) -> Executor:
    """The cluster, or as many worker processes as fit into memory where each keeps so many pixels.

    One worker is this process, unless it is to be kept `apart`.
    """
    from stereogauge.evaluation.executors import Cluster, InProcess
    from stereogauge.evaluation.memory import fitting_workers, free_memory
    from stereogauge.evaluation.processes import LocalProcesses, default_workers

    if cluster is not None:
        return Cluster("" if cluster == "auto" else cluster)
    wanted = jobs or default_workers()
    fitting = fitting_workers(wanted, pixels(), free_memory(), matching) if wanted > 1 else 1
    if fitting < wanted:
        say(f"{fitting} instead of {wanted} workers, {reason}")
    return LocalProcesses(fitting) if apart or fitting > 1 else InProcess()


def _plan(request: Request, dataset: Dataset, store: Store, workers: Workers) -> Plan:
    from dataclasses import replace

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
    return replace(plan, unreadable=plan.unreadable + failures)


def made_maps(request: Request, dataset: Dataset, workers: Workers, hashes: ContentHashes) -> MatchedResults:
    """The maps of the matchers that were asked for, made where they are not kept already."""
    from stereogauge.evaluation.matchers import make_maps, memory_needed, wanted_matcher
    from stereogauge.io.remote_path import place
    from stereogauge.paths import cache_folder

    limits = {"time_limit": request.time_limit, "memory_limit": request.memory_limit}
    wanted = [wanted_matcher(text, **limits) for text in request.matchers]
    folder = place(request.maps or cache_folder("maps")).absolute()
    needed, name = memory_needed(wanted, dataset, request.ndisp)
    announce_memory(needed, name)
    executor = workers.get(dataset, needed)
    return make_maps(wanted, dataset, folder, executor, progress("maps"), ndisp=request.ndisp, hashes=hashes)


def found_results(request: Request, dataset: Dataset) -> list[Any]:
    """The result sets in all the folders; files that belong to none are named."""
    from stereogauge.datasets import open_dataset
    from stereogauge.datasets.results.find import find_results

    found: list[Any] = []
    for path in request.results:
        there = find_results(path, dataset, **request.reading)
        results, unrecognised = there.results, there.unrecognised
        if unrecognised and request.scenes is not None:
            # A map of a scene that was not asked for is no stray file.
            whole = open_dataset(request.dataset, **request.truth)
            unrecognised = find_results(path, whole, **request.reading).unrecognised
        found += results
        if there.template:
            names = shortened([result.name for result in results])
            say(f"{path}: maps found at {there.template} (--template): {names}")
        if unrecognised:
            shown = shortened(unrecognised, 5)
            say(f"{path}: {len(unrecognised)} file(s) belong to no scene of {dataset.name}: {shown}")
        if not results:
            raise StereogaugeError(
                f"{path} holds no maps for the scenes of {dataset.name} ({', '.join(dataset.ids[:4])}, …); "
                "say where they lie with --template, e.g. '{algorithm}/{scene}.pfm'."
            )
    return found


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
    """How many cells have no map, and of which scenes."""
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
