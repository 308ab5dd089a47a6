"""What `evaluate`, `robustness` and `tune` share: found results, maps of matchers, and workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stereogauge.cli import options
from stereogauge.cli.output import announce_memory, progress, say, shortened
from stereogauge.errors import StereogaugeError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from stereogauge.evaluation.fingerprints import ContentHashes
    from stereogauge.evaluation.matchers import MatchedResults
    from stereogauge.model import Dataset
    from stereogauge.protocol import Protocol


@dataclass(frozen=True)
class Request:
    """What a command line requests."""

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
    """The cluster, or as many worker processes as fit into memory where each keeps this number of `pixels`.

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


def made_maps(request: Request, dataset: Dataset, workers: Workers, hashes: ContentHashes) -> MatchedResults:
    """The maps of the requested matchers, computed where they are not kept already."""
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
            # A map of a scene that was not requested is no stray file.
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
