"""What commands compute from: scenes of datasets, found results, maps of matchers, and workers."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from stereogauge.cli.options import Files, listed
from stereogauge.cli.output import announce_memory, progress, say
from stereogauge.datasets import families, open_dataset
from stereogauge.datasets.layout import list_results, map_name, template_pattern
from stereogauge.datasets.results.find import find_results
from stereogauge.errors import StereogaugeError
from stereogauge.io.remote import place
from stereogauge.model import Dataset, ResultSet
from stereogauge.paths import cache_folder
from stereogauge.text import shortened

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from stereogauge.evaluation.fingerprints import ContentHashes
    from stereogauge.evaluation.matchers import MatchedResults


class Workers:
    """The executor, started when there is something to compute; it ends with its block, after an error at once."""

    def __init__(self, jobs: int | None, cluster: str | None = None) -> None:
        self._jobs, self._cluster = jobs, cluster
        self._executor: Executor | None = None

    def get(self, dataset: Dataset, matching: int = 0) -> Executor:
        """The executor, with as many workers as fit for the scenes of `dataset` and the bytes of a matcher."""
        if self._executor is None:
            from stereogauge.evaluation.memory import largest_scene

            reason = "since more do not fit into memory at this image size"
            self._executor = executor_of(
                self._jobs, self._cluster, lambda: largest_scene(list(dataset)), reason, matching=matching
            )
        return self._executor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=kind is not None)


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


def made_maps(
    matchers: Sequence[str],
    dataset: Dataset,
    workers: Workers,
    hashes: ContentHashes,
    *,
    maps: str | None,
    ndisp: int | None,
    **limits: float | None,
) -> MatchedResults:
    """The maps of the matchers, computed where the folder `maps` does not hold them already."""
    from stereogauge.evaluation.matchers import make_maps, memory_needed, wanted_matcher

    wanted = [wanted_matcher(text, **limits) for text in matchers]
    folder = place(maps or cache_folder("maps")).absolute()
    needed, name = memory_needed(wanted, dataset, ndisp)
    announce_memory(needed, name)
    executor = workers.get(dataset, needed)
    return make_maps(wanted, dataset, folder, executor, progress("map"), ndisp=ndisp, hashes=hashes)


def found_results(
    paths: Sequence[str], dataset: Dataset, reading: Mapping[str, Any], whole: Callable[[], Dataset] | None = None
) -> list[list[ResultSet]]:
    """The result sets of each folder; files that belong to none are named.

    A stated scale is not meant for a folder of maps whose formats fix their encoding, where those of others need it.
    A map of a scene of the `whole` dataset that was not requested is no stray file.
    """
    there = [find_results(path, dataset, **reading) for path in paths]
    if not all(one.fixed for one in there):
        plain = {**reading, **dict.fromkeys(("encoding", "scale", "offset"))}
        there = [
            find_results(path, dataset, **plain) if one.fixed else one for path, one in zip(paths, there, strict=True)
        ]
    for path, one in zip(paths, there, strict=True):
        unrecognised = one.unrecognised
        if unrecognised and whole is not None:
            unrecognised = find_results(path, whole(), **reading).unrecognised
        if one.template:
            names = shortened([result.name for result in one.results])
            say(f"{path}: maps found at {one.template} (--template): {names}")
        if unrecognised:
            shown = shortened(unrecognised, 5)
            say(f"{path}: {len(unrecognised)} file(s) belong to no scene of {dataset.name}: {shown}")
        if not one.results:
            raise StereogaugeError(
                f"{path} holds no maps for the scenes of {dataset.name} ({shortened(dataset.ids)}); say where they "
                "lie with --template, e.g. '{algorithm}/{scene}.pfm'."
            )
    return [one.results for one in there]


def chosen_scenes(dataset: str, scenes: Sequence[str] | None, files: Files | None = None) -> Dataset:
    """The named dataset, or only those of its scenes that are named.

    `files` says how its ground truth is read; only of a folder without a manifest is something assumed.
    """
    truth: dict[str, Any] = {}
    if files is not None:
        layout = found_layout(dataset)
        first = None if layout is None else next(iter(_matching(dataset, [layout["paths"]["ground_truth"]])), None)
        truth = files.truth_decoding(None if first is None else _root(dataset) / first)
    opened, wanted = open_dataset(dataset, **truth), listed(scenes)
    return opened.subset(wanted) if wanted else opened


def _root(dataset: str) -> Path:
    return place(dataset.removeprefix("folder:"))


def _matching(dataset: str, templates: Iterable[str]) -> list[str]:
    """The files of a folder without a manifest that match one of these templates."""
    patterns = [template_pattern(template) for template in templates]
    names = list_results(_root(dataset)).names
    return [name for name in names if any(pattern.fullmatch(name) for pattern in patterns)]


def found_layout(dataset: str) -> dict[str, Any] | None:
    """The layout that was found in a folder without a manifest; None for any other dataset."""
    from stereogauge.datasets.native import manifest

    name = dataset.partition(":")[0]
    return None if name != "folder" and name in families() else manifest.found_layout(_root(dataset))


def print_layout(dataset: str, opened: Dataset) -> None:
    """Print where ground truth was found in a folder without a manifest, or which dataset it was recognised as."""
    layout = found_layout(dataset)
    if layout is None:
        return
    if opened.name != layout["name"]:
        say(f"{dataset}: recognised as {opened.name}")
        return
    paths = layout["paths"]
    say(
        f"{dataset}: ground truth found at {paths['ground_truth']}, {len(opened)} scene(s); "
        f"`stereogauge datasets init {shlex.quote(dataset)}` writes this down"
    )
    suffix, used = map_name(paths["ground_truth"])[1], set(_matching(dataset, paths.values()))
    unused = [name for name in list_results(_root(dataset)).names if map_name(name)[1] == suffix and name not in used]
    if unused:
        say(f"{dataset}: {len(unused)} other file(s) of that kind are not used: {shortened(unused)}")
