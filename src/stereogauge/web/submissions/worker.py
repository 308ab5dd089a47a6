"""A process of its own for all that reads uploaded files: what hangs or eats memory is stopped from outside."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from stereogauge.model import Dataset
from stereogauge.protocol import Protocol

Report = Callable[[str, Any], None]
POLL_SECONDS = 0.2
HIDDEN_SENTENCE = (
    "This map does not look like a disparity map of the left view ({kind}); check its sign, scale and view."
)
BY_VALUES = ("unreadable", "wrong-size", "no-values", "unknown-scene", "unrecognised", "missing-scenes", "no-results")
"""Kinds of findings that say nothing about the ground truth's values."""


@dataclass(frozen=True)
class Work:
    """One submission to look at: where it lies, what it is called, and what to measure it against."""

    folder: str
    name: str
    dataset: Dataset
    protocol: Protocol
    columns: tuple[str, ...]
    hidden: frozenset[str]
    most_entries: int
    largest_unpacked: int


class StoppedError(Exception):
    """The work was stopped, with a sentence for its owner."""


class Worker:
    """Runs works one after another in a process that is started when needed, and anew when it had to be killed."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory = memory_bytes
        self._process: SpawnProcess | None = None
        self._line: Connection | None = None

    def run(self, work: Work, seconds: float, report: Report, cancelled: Callable[[], bool]) -> None:
        """Do a work; `report(kind, value)` follows it. `StoppedError` when it ran too long, died, or was cancelled."""
        line = self._started()
        line.send(work)
        end = time.monotonic() + seconds
        while True:
            if cancelled():
                self.stop()
                raise StoppedError("stopped")
            if time.monotonic() > end:
                self.stop()
                raise StoppedError(f"The evaluation took longer than {seconds:g} s and was stopped.")
            try:
                if not line.poll(POLL_SECONDS):
                    continue
                kind, value = line.recv()
            except (EOFError, OSError):
                self.stop()
                raise StoppedError("The evaluation ended unexpectedly; it may have needed too much memory.") from None
            if kind == "end":
                return
            report(kind, value)

    def _started(self) -> Connection:
        if self._process is not None and self._process.is_alive() and self._line is not None:
            return self._line
        self.stop()
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self._process = context.Process(target=serve_works, args=(theirs, self._memory), daemon=True)
        self._process.start()
        theirs.close()
        return self._line

    def stop(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
            self._process = None
        if self._line is not None:
            self._line.close()
            self._line = None


def serve_works(line: Connection, memory_bytes: int) -> None:
    """The process: takes works from the line until it is closed."""
    _limit_memory(memory_bytes)
    while True:
        try:
            work: Work = line.recv()
        except EOFError:
            return
        do(work, lambda kind, value: line.send((kind, value)))
        line.send(("end", None))


def _limit_memory(memory_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # not on this system: the host limits the service instead
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def do(work: Work, report: Report) -> None:
    """Unpack, validate, and evaluate what is valid."""
    from stereogauge.errors import StereogaugeError
    from stereogauge.web.submissions.uploads import without_paths

    folder = Path(work.folder)
    try:
        if not _valid(work, folder, report):
            return
    except StereogaugeError as problem:
        report("invalid", [{"severity": "problem", "sentence": without_paths(str(problem), folder), "scene": ""}])
        return
    except MemoryError:
        report("failed", "Checking the maps needed more memory than a submission may use.")
        return
    try:
        _evaluate(work, folder, report)
    except StereogaugeError as problem:
        report("failed", without_paths(str(problem), folder))
    except MemoryError:
        report("failed", "The evaluation needed more memory than a submission may use.")
    except Exception as problem:
        report("failed", f"The evaluation failed ({type(problem).__name__}); the host can say more.")


def _valid(work: Work, folder: Path, report: Report) -> bool:
    from stereogauge.datasets.archives import Limits, unpack
    from stereogauge.datasets.validation import validate_results

    maps = folder / "maps"
    report("state", ("validating", 0.0, "unpacking"))
    if not maps.is_dir():
        unpack(folder / "upload.zip", maps, Limits(entries=work.most_entries, size=work.largest_unpacked))

    def follow(done: int, total: int, what: str) -> None:
        report("state", ("validating", done / max(1, total), "checking the maps"))

    found = validate_results(maps, work.dataset, progress=follow)
    findings = [_told(finding, work, folder) for finding in found.findings]
    if len(found.algorithms) > 1:
        sentence = f"The zip holds {len(found.algorithms)} algorithms; a submission is one, with one map a scene."
        findings.insert(0, {"severity": "problem", "sentence": sentence, "scene": ""})
    ok = found.ok and len(found.algorithms) == 1
    report("findings" if ok else "invalid", findings)
    return ok


def _told(finding: Any, work: Work, folder: Path) -> dict[str, str]:
    """A finding as its submitter may read it: without paths of the server and without numbers of a hidden truth."""
    from stereogauge.web.submissions.uploads import without_paths

    sentence = without_paths(finding.sentence, folder)
    if finding.kind == "bad-ground-truth":
        sentence = "The ground truth of this scene cannot be read; please tell the host."
    elif finding.scene in work.hidden and finding.kind not in BY_VALUES:
        sentence = HIDDEN_SENTENCE.format(kind=finding.kind)
    return {"severity": finding.severity, "sentence": sentence, "scene": finding.scene}


def _evaluate(work: Work, folder: Path, report: Report) -> None:
    from stereogauge.datasets.results.find import find_results
    from stereogauge.evaluation.evaluate import evaluate
    from stereogauge.io.files import content_hash
    from stereogauge.store.sources import source_text

    result = find_results(folder / "maps", work.dataset, name=work.name).results[0]
    scores: list[dict[str, Any]] = []
    total = len(work.dataset)
    for done, scene in enumerate(work.dataset):
        report("state", ("evaluating", done / total, f"{done} of {total} scenes"))
        own = replace(result, maps={scene.id: result.maps[scene.id]})
        scores += [asdict(score) for score in evaluate(own, scene, work.columns, [], work.protocol)]
        scene.release()
    report(
        "maps",
        [
            {
                "dataset": work.dataset.name,
                "scene": scene,
                "algorithm": work.name,
                "content": content_hash(source),
                "source": source_text(source),
                "right_source": source_text(result.right_maps.get(scene)),
            }
            for scene, source in result.maps.items()
        ],
    )
    report("scores", scores)
