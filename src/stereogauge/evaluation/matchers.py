"""Maps of matchers that run on the scenes of a dataset, cached by the hash of what went into them.

A map's name in the cache is the hash of the matcher, its parameters, the program it runs, the images and the search
range, so it is made once. Beside it lie wall time, processor time and peak memory, which become scores.
"""

from __future__ import annotations

import importlib.machinery
import inspect
import json
import shlex
import shutil
import sys
import traceback
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from importlib import metadata
from pathlib import Path
from typing import Any

from msgspec import Struct

from stereogauge.datasets.declaration import search_range, stated_range
from stereogauge.errors import FileError, MatcherError, StereogaugeError, Unreachable
from stereogauge.evaluation.executors import Tasks
from stereogauge.evaluation.fingerprints import ContentHashes
from stereogauge.evaluation.memory import PeakMemory, largest_shape
from stereogauge.evaluation.progress import Progress
from stereogauge.hashing import values_hash
from stereogauge.io import write_disparity
from stereogauge.io.files import content_hash
from stereogauge.io.remote import is_remote, place
from stereogauge.io.writing import write_bytes
from stereogauge.matching.onnx_matcher import network_description
from stereogauge.matching.run import OUTSIDE, parse_matcher, prepare, settled, stated_matcher, target_and_parameters
from stereogauge.metrics.measurement import Fact
from stereogauge.model import Dataset, ResultSet, Scene, as_disparity
from stereogauge.version import VERSION

MEBIBYTE = 2**20
FACTS = "facts.json"
CONFIDENCE = "confidence.pfm"
TIMING = 2
"""Version of the way in which runs are timed; older facts are measured again."""


class MatcherRequest(Struct, frozen=True):
    """A requested matcher: `name` is what tables call it, `text` what `parse_matcher` reads."""

    name: str
    text: str
    parameters: tuple[tuple[str, Any], ...] = ()


class MatchTask(Struct, frozen=True):
    """One matcher on one scene, and the folder that its map belongs into."""

    request: MatcherRequest
    scene: Scene
    ndisp: int
    folder: str


class MapOutcome(Struct, frozen=True):
    """Facts of the run that made a map, or the reason why there is no map."""

    facts: dict[str, Fact]
    reason: str = ""
    detail: str = ""


class MatchedResults(Struct, frozen=True):
    """The maps as result sets with the facts of their runs, and (algorithm, scene, reason, detail) of what failed."""

    results: tuple[ResultSet, ...]
    failures: tuple[tuple[str, str, str, str], ...]


def wanted_matcher(text: str, *, time_limit: float | None = None, memory_limit: float | None = None) -> MatcherRequest:
    """`[NAME=]MATCHER[:parameters]`, or `[NAME=]FILE.toml` that states one.

    The limits, in seconds and GiB, are for outside programs.
    """
    name, equals, rest = text.partition("=")
    named = bool(equals) and ":" not in name
    # The text of a file, not its name: maps are kept by it, and the file may change.
    spec, stated = stated_matcher(rest if named else text)
    matcher, given = parse_matcher(spec)
    settled(matcher, given)
    declared = {parameter.name for parameter in matcher.parameters}
    limits = {"time_limit": time_limit, "memory_limit": memory_limit}
    chosen = {key: value for key, value in limits.items() if value is not None and key in declared}
    if "threads" in declared and "threads" not in given:
        # One processor each, so that run times compare whatever else the machine does.
        chosen["threads"] = 1
    short = spec.startswith("cmd:") or (spec.startswith(OUTSIDE) and not given)
    title = name.strip() if named else stated or (matcher.name if short else spec)
    return MatcherRequest(title, spec, tuple(sorted(chosen.items())))


def memory_needed(wanted: Sequence[MatcherRequest], dataset: Dataset, given: int | None) -> tuple[int, str]:
    """The most bytes that one of the matchers takes on the largest scene, as far as they tell, and which one."""
    height, width = largest_shape(list(dataset))
    ranges = [range_ for range_ in (given, *map(stated_range, dataset)) if range_]
    most, name = 0, ""
    for one in wanted:
        matcher, stated = parse_matcher(one.text)
        if matcher.memory is None or not ranges:
            continue
        complete, _ = settled(matcher, {**stated, **dict(one.parameters)})
        try:
            needed = matcher.memory(height, width, int(given or max(ranges)), **complete)
        except MatcherError:  # refused for its size; the run says so scene by scene
            continue
        most, name = max((most, name), (needed, one.name))
    return most, name


def map_key(request: MatcherRequest, scene: Scene, ndisp: int, hashes: ContentHashes) -> str:
    """The hash of all that a map depends on."""
    images = hashes.of([scene.source("left"), scene.source("right")])
    for answer in images:
        if isinstance(answer, StereogaugeError):
            raise answer
    versions = [VERSION, TIMING, metadata.version("opencv-python-headless")]
    parameters = [list(pair) for pair in request.parameters]
    return values_hash([request.text, parameters, ndisp, images, versions, _program(request.text)])


def _program(text: str) -> list[str]:
    """The content of the code that is not ours: a plug-in's module, or the files that an outside command names (the
    program, and scripts given to an interpreter).
    """
    if text.startswith(("onnx:", "py:")):
        return [content_hash(path) for path in _named_files(text)]
    if not text.startswith("cmd:"):
        matcher, _ = parse_matcher(text)
        if matcher.function.__module__.startswith("stereogauge."):
            return []
        path = inspect.getsourcefile(inspect.unwrap(matcher.function))
        return [content_hash(path) if path is not None and Path(path).is_file() else ""]
    words = shlex.split(text.removeprefix("cmd:"))
    found = [shutil.which(words[0]) or words[0], *words[1:]] if words else []
    return [content_hash(path) for path in found if Path(path).is_file() and Path(path).stat().st_size]


def _named_files(text: str) -> list[Path]:
    """The model and its description, or the module that holds a function, as far as they are files."""
    kind, _, rest = text.partition(":")
    target, _ = target_and_parameters(rest)
    if kind == "onnx":
        found = network_description(Path(target).expanduser())
        return [path for path in (found.path, found.path.with_suffix(".toml"), Path(target)) if path.is_file()]
    module = target.rpartition(":")[0]
    if module.endswith(".py"):
        return [path for path in [Path(module).expanduser()] if path.is_file()]
    spec = importlib.machinery.PathFinder.find_spec(module.partition(".")[0], [str(Path.cwd()), *sys.path])
    return [Path(spec.origin)] if spec is not None and spec.origin and Path(spec.origin).is_file() else []


def make_maps(
    wanted: Sequence[MatcherRequest],
    dataset: Dataset,
    folder: Path,
    executor: Executor,
    progress: Progress,
    *,
    ndisp: int | None = None,
    hashes: ContentHashes,
) -> MatchedResults:
    """Run every matcher on every scene that has two images, unless the map is in `folder` already."""
    tasks: list[MatchTask] = []
    made: dict[tuple[str, str], tuple[str, dict[str, Fact]]] = {}
    failures: list[tuple[str, str, str, str]] = []
    for one in wanted:
        for scene in dataset:
            if not scene.has("left") or not scene.has("right"):
                continue
            try:
                searched = search_range(scene, ndisp)
                key = map_key(one, scene, searched, hashes)
            except Unreachable:
                raise
            except StereogaugeError as problem:
                failures.append((one.name, scene.id, str(problem), ""))
                continue
            kept = folder / key[:2] / key
            try:
                made[one.name, scene.id] = key, json.loads((kept / FACTS).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                tasks.append(MatchTask(one, scene, searched, str(kept)))

    def submit(task: MatchTask) -> Future[MapOutcome]:
        progress.scene(f"{task.request.name} on {task.scene.id}")
        return executor.submit(make_map, task)

    progress.start(len(tasks), len(made))
    try:
        for done in Tasks(submit, executor, tasks, again=lambda task: [task]).outcomes():
            if isinstance(done.problem, Unreachable):
                raise done.problem
            task, outcome = done.task, done.answer or MapOutcome({}, done.reason)
            if outcome.reason:
                failures.append((task.request.name, task.scene.id, outcome.reason, outcome.detail))
            else:
                made[task.request.name, task.scene.id] = (Path(task.folder).name, outcome.facts)
            progress.advance(int(not outcome.reason), int(bool(outcome.reason)))
    finally:
        progress.finish()
    listed = place(str(folder)) if tasks else folder
    results = tuple(_result_set(one, dataset, made, listed) for one in wanted)
    return MatchedResults(results, tuple(failures))


def _result_set(
    one: MatcherRequest, dataset: Dataset, made: dict[tuple[str, str], tuple[str, dict[str, Fact]]], listed: Path
) -> ResultSet:
    own = {scene.id: made[one.name, scene.id] for scene in dataset if (one.name, scene.id) in made}
    folders = {scene: listed / key[:2] / key for scene, (key, _) in own.items()}
    runs = {scene: facts for scene, (_, facts) in own.items()}
    right = {scene: folder / "right.pfm" for scene, folder in folders.items()}
    confidence = {scene: folder / CONFIDENCE for scene, folder in folders.items()}
    directions = {run.get("confidence_better") for run in runs.values()}
    matcher, given = parse_matcher(one.text)
    values, _ = settled(matcher, {**given, **dict(one.parameters)})
    about = {
        "matcher": one.text,
        "publication": matcher.source,
        "parameters": ", ".join(f"{key} = {value}" for key, value in {**values, **given}.items()),
        "hardware": ", ".join(dict.fromkeys(str(run["processor"]) for run in runs.values() if run.get("processor"))),
    }
    return ResultSet(
        name=one.name,
        maps={scene: folder / "left.pfm" for scene, folder in folders.items()},
        right_maps={scene: path for scene, path in right.items() if path.exists()},
        confidence={scene: path for scene, path in confidence.items() if path.exists()},
        confidence_better="lower" if "lower" in directions else "higher" if "higher" in directions else None,
        runs=runs,
        description=" ".join(matcher.description.partition("\n\n")[0].split()) or matcher.name,
        about={key: text for key, text in about.items() if text},
    )


def make_map(task: MatchTask) -> MapOutcome:
    """Run a matcher and keep its maps; the facts are written last, so that a folder with facts is complete."""
    try:
        # What is loaded and compiled before counts neither as time nor as memory of the run.
        prepared = prepare(
            task.scene.source("left"),
            task.scene.source("right"),
            task.request.text,
            ndisp=task.ndisp,
            **dict(task.request.parameters),
        )
        with PeakMemory() as peak:
            result = prepared.run()
        # What this process took says nothing about a program that ran beside it.
        outside = task.request.text.startswith(("cmd:", "py:"))
        memory = result.peak_memory if outside or result.peak_memory is not None else peak.bytes
        facts = result.facts
        if memory is not None:
            facts["peak_memory"] = memory / MEBIBYTE
        if not is_remote(task.folder):
            Path(task.folder).mkdir(parents=True, exist_ok=True)
        write_disparity(f"{task.folder}/left.pfm", result.disparity)
        if result.right_disparity is not None:
            write_disparity(f"{task.folder}/right.pfm", result.right_disparity)
        if result.confidence is not None:
            write_disparity(f"{task.folder}/{CONFIDENCE}", as_disparity(result.confidence, "confidence map"))
            facts["confidence_better"] = result.confidence_better
        write_bytes(f"{task.folder}/{FACTS}", json.dumps(facts).encode())
    except Unreachable:
        raise
    except StereogaugeError as problem:
        return MapOutcome({}, str(problem), str(getattr(problem, "stderr", "")))
    except OSError as problem:
        return MapOutcome({}, str(FileError(f"{task.folder}: the map cannot be kept ({problem.strerror}).")))
    except Exception as problem:  # a matcher of the user's may raise anything
        return MapOutcome({}, f"{type(problem).__name__}: {problem}", traceback.format_exc())
    return MapOutcome(facts)
