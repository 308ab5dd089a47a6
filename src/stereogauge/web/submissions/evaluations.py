"""The loop that evaluates the queue of submissions: it outlives every error, and says why when it must wait."""

from __future__ import annotations

import errno
import logging
import math
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from stereogauge.confidence_measures.files import ConfidenceSource
from stereogauge.datasets.archives import member_names
from stereogauge.datasets.plausibility import NOTE, PROBLEM, Finding
from stereogauge.datasets.results.find import CONFIDENCE, Recognised
from stereogauge.datasets.results.manifest import of_map
from stereogauge.errors import StereogaugeError, StoreError
from stereogauge.evaluation.processes import CallCancelled, OpenedFile, TimeLimitExceeded, WorkerProcess
from stereogauge.io import pfm
from stereogauge.io.content import Decoding
from stereogauge.io.files import content_hash
from stereogauge.model import Dataset, ResultSet, Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.column import VersionedColumn
from stereogauge.scores.score import Score
from stereogauge.store.sources import source_text
from stereogauge.store.write import MapRecord
from stereogauge.text import counted
from stereogauge.web.errors import printable
from stereogauge.web.submissions.decoding import Shape, Stated, read_map, read_texts
from stereogauge.web.submissions.jobs import Job, Jobs, Rules
from stereogauge.web.submissions.judging import HostError, doubts, scores
from stereogauge.web.submissions.listing import Listing, list_maps, map_path

LONGEST_SENTENCE = 4000
"""What is kept of a sentence of the decoding process."""
IDLE = 5.0
"""Seconds between two looks at an empty queue."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Seconds of waiting after the first error and after many in a row."""
UPLOAD, MAPS = "upload.zip", "maps"
"""What was uploaded, and the folder of the maps as the server wrote them, both in the folder of a submission."""
PRIVATE = "private until you publish it"
FAULTS_OF_THE_HOST = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)
)

log = logging.getLogger(__name__)


def for_owner(path: str | Path, flags: int) -> int:
    """Open a file that only the server's user may read, and never through a link; an opener for `open`."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


class Task(Struct, frozen=True):
    """What submissions are evaluated on: the scenes, which of them are hidden, the protocol and its columns."""

    dataset: Dataset
    hidden: frozenset[str]
    protocol: Protocol
    columns: tuple[VersionedColumn, ...]


class Evaluations:
    """Evaluates submissions one after another in two processes: one reads the upload, one judges what it read.

    The first one is used for one upload only. It answers with names and pixels; the server writes these to files of
    its own after that process and all that it started have ended. The second one answers with numbers; the server adds
    what they belong to. An error of the host's - a database that does not answer, a full disk - stops nothing for good:
    the submission goes back into the queue and the loop tries again after a pause. A process that dies, or fails in a
    way that was not foreseen, may be the upload's doing: after three such losses the submission is held for the host.
    """

    def __init__(
        self, jobs: Jobs, folder: Path, rules: Rules, task: Callable[[], Task], make_worker: Callable[..., Any]
    ) -> None:
        self._jobs = jobs
        self._folder = folder
        self._rules = rules
        self._task = task
        self._decoder: WorkerProcess = make_worker(rules.memory_bytes, untrusted=True)
        self._judge: WorkerProcess = make_worker(rules.memory_bytes)
        self.wake = threading.Event()
        """Set to look at the queue now."""
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._job: Job
        self._end = 0.0
        self.trouble = ""
        """Why nothing can be evaluated at the moment, without the server's paths; "" while all is well."""

    @property
    def running(self) -> bool:
        """Whether the loop was started and is running."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin with the queue."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._work, name="submissions", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop; what is unfinished resumes at the next start."""
        self._stopping.set()
        self.wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._decoder.end()
        self._judge.end()

    def _work(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopping.is_set():
            try:
                busy = self.step()
            except Exception as trouble:  # whatever it is, the queue must go on
                if isinstance(trouble, StoreError):
                    self.trouble = "A database does not answer."
                elif isinstance(trouble, HostError):
                    self.trouble = "The disk is full, or a file of the benchmark cannot be read."
                else:
                    self.trouble = f"An unexpected error ({type(trouble).__name__})."
                foreseen = isinstance(trouble, StoreError | HostError)
                log.error("Submissions wait: %s", printable(trouble), exc_info=not foreseen)
                self._stopping.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            if self.trouble:
                log.warning("Submissions are evaluated again.")
            self.trouble, pause = "", FIRST_PAUSE
            if not busy:
                self.wake.wait(timeout=IDLE)
                self.wake.clear()

    def step(self) -> bool:
        """Evaluate the next submission; returns whether there was one. Raises what concerns all submissions."""
        free = shutil.disk_usage(self._folder).free
        if free < self._rules.least_free:
            raise HostError(f"The disk of the submissions has only {free >> 20} MiB left.")
        job = self._jobs.take()
        if job is None:
            return False
        task = self._task()
        self._job, self._end = job, time.monotonic() + self._rules.seconds
        try:
            self._evaluate(self._folder / job.id, task)
        except CallCancelled:
            if not self._jobs.read(id=job.id):
                shutil.rmtree(self._folder / job.id, ignore_errors=True)
        except MemoryError:
            self._close("failed", "The submission needed more memory than one may use.")
        except TimeLimitExceeded:
            self._close("failed", f"The evaluation took longer than {self._rules.seconds:g} s and was stopped.")
        except (StoreError, HostError):
            raise
        except Exception as trouble:
            if isinstance(trouble, OSError) and trouble.errno in FAULTS_OF_THE_HOST:
                raise HostError(f"The host's disk or system fails: {trouble.strerror}.") from None
            fate = "is held for the host to look at" if self._jobs.lose(job) else "is tried again"
            log.error("Submission %s %s: %s", job.id, fate, printable(f"{type(trouble).__name__}: {trouble}"))
        finally:
            self._decoder.end()
        return True

    def _evaluate(self, folder: Path, task: Task) -> None:
        result, findings = self._validated(folder, task)
        found = grouped(findings)
        if result is None:
            problems = counted(sum(one["severity"] == PROBLEM for one in found), "problem")
            free = self._jobs.forgives(self._job.submitter)
            cost = "it does not count" if free else "too many were invalid, so it counts"
            sentence = f"{problems} found; nothing was computed, and {cost} as a submission"
            self._close("invalid", sentence, findings=found)
            return
        rows: list[dict[str, Any]] = []
        maps: list[dict[str, Any]] = []
        for done, scene in enumerate(task.dataset):
            progress = {"progress": done / len(task.dataset), "message": f"{done} of {len(task.dataset)} scenes"}
            self._change(state="evaluating", findings=found, **progress)
            numbers = self._call(self._judge, scores, result, scene, task.protocol, task.columns)
            rows += named_scores(numbers, result.name, scene, task)
            left, right = result.maps[scene.id], result.right_maps.get(scene.id)
            sources = content_hash(left), source_text(left), source_text(right)
            maps.append(asdict(MapRecord(task.dataset.name, scene.id, result.name, *sources)))
        size = sum(file.stat().st_size for file in folder.rglob("*.pfm"))
        self._change(state="done", progress=1.0, message=PRIVATE, scores=rows, maps=maps, size=size)
        (folder / UPLOAD).unlink(missing_ok=True)

    def _validated(self, folder: Path, task: Task) -> tuple[ResultSet | None, list[Finding]]:
        """The maps as the server wrote them, None where there is a problem, and everything that was found."""
        upload, limits = folder / UPLOAD, self._rules.archive
        listing = list_maps(member_names(upload, limits), task.dataset)
        shapes = {scene.id: _shape(scene) for scene in task.dataset}
        size = sum(4 * math.prod(shapes[one.scene]) for one in listing.maps)
        if size > limits.size:  # a PNG of one value is a thousand times smaller than its map
            sentence = f"The maps take {size >> 20} MiB; at most {limits.size >> 20} MiB are taken."
            return None, [*listing.findings, Finding("", sentence)]
        with tempfile.TemporaryFile(dir=self._folder) as spool:
            times = [one.name for one in listing.times]
            said = self._call(self._decoder, read_texts, OpenedFile(str(upload)), listing.manifest, times)
            refused = [Finding("", said[:LONGEST_SENTENCE])] if isinstance(said, str) else []
            stated = msgspec.convert({} if refused else said, Stated)
            findings = [*listing.findings, *refused, *self._read(listing.maps, stated, shapes, spool)]
            self._decoder.end()
            if _has_problem(findings):
                return None, findings
            maps, clipped = _write(folder / MAPS, listing.maps, task, shapes, spool)
        result = _result(self._job.name, maps, listing, stated)
        findings += clipped
        for scene in task.dataset:
            findings += self._call(self._judge, doubts, result.maps[scene.id], scene, scene.id in task.hidden)
        return None if _has_problem(findings) else result, findings

    def _read(
        self, maps: list[Recognised], stated: Stated, shapes: dict[str, Shape], spool: IO[bytes]
    ) -> list[Finding]:
        """Append the pixels of the maps to `spool`; returns what is wrong with them."""
        findings = []
        for place, one in enumerate(maps):
            shape, better = shapes[one.scene], _confidence(stated, one.part).direction
            self._change(state="validating", progress=place / len(maps), message="checking the maps")
            negated = one.kind == "confidence" and better == "lower"
            pixels = self._call(self._decoder, read_map, one.name, one.kind, shape, negated)
            if isinstance(pixels, bytes) and len(pixels) == 4 * math.prod(shape):
                spool.write(pixels)
            else:
                findings.append(Finding("", str(pixels)[:LONGEST_SENTENCE], scene=one.scene))
        return findings

    def _call(self, worker: WorkerProcess, function: Callable[..., Any], *arguments: Any) -> Any:
        def cancelled() -> bool:
            return self._stopping.is_set() or not self._jobs.read(id=self._job.id)

        return worker.call(function, *arguments, seconds=self._end - time.monotonic(), cancelled=cancelled)

    def _change(self, **values: Any) -> None:
        if not self._jobs.change(self._job.id, **values):
            raise CallCancelled("the submission was withdrawn")

    def _close(self, state: str, message: str, **values: Any) -> None:
        """Record that the submission has no result; its files are removed after that is stored."""
        if self._jobs.change(self._job.id, state=state, progress=1.0, message=message, size=0, **values):
            shutil.rmtree(self._folder / self._job.id, ignore_errors=True)


def _has_problem(findings: list[Finding]) -> bool:
    return any(one.severity == PROBLEM for one in findings)


def grouped(findings: list[Finding]) -> list[dict[str, Any]]:
    """One finding per mistake, as plain values: `scenes` are those that have it, and `scene` is the first of them.

    Sentences that differ only in the name of a scene's file are one mistake, and so are doubts of one kind.
    """
    groups: dict[tuple[str, str], list[tuple[Finding, str]]] = {}
    for one in findings:
        own = re.escape(one.scene.removesuffix("_10"))  # KITTI's frames may be named without it
        said = re.sub(rf"\b{own}(_10)?(?=[./])", "SCENE", one.sentence, flags=re.I) if own else one.sentence
        groups.setdefault((one.severity, one.kind or said), []).append((one, said))
    found = []
    for group in groups.values():
        first, said = group[0]
        scenes = list(dict.fromkeys(one.scene for one, _ in group if one.scene))
        sentence = first.sentence if len(scenes) < 2 else said
        if any(other != said for _, other in group):
            sentence += f" (This is about {first.scene}; the other scenes are alike.)"
        found.append({"severity": first.severity, "sentence": sentence, "scene": first.scene, "scenes": scenes})
    return found


def _shape(scene: Scene) -> Shape:
    try:
        return scene.shape
    except StereogaugeError as trouble:
        raise HostError.unreadable(scene, trouble) from trouble
    finally:
        scene.release()


def _write(
    folder: Path, maps: list[Recognised], task: Task, shapes: dict[str, Shape], spool: IO[bytes]
) -> tuple[dict[tuple[str, str], dict[str, Path]], list[Finding]]:
    """Write the maps as PFM into a new folder; estimates of hidden scenes are clipped to what can be a disparity.

    A value far outside would make the score of one pixel differ from all others, and reveal its true disparity. Returns
    the files by kind and measure, then by scene, and notes on what was clipped.
    """
    for place in (folder.parent, folder):
        if place.is_symlink():
            place.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(exist_ok=True, mode=0o700)
    spool.seek(0)
    files: dict[tuple[str, str], dict[str, Path]] = {}
    findings = []
    for one in maps:
        scene, (height, width) = task.dataset[one.scene], shapes[one.scene]
        values = np.frombuffer(spool.read(4 * height * width), "<f4").reshape(height, width)
        if scene.id in task.hidden and one.kind != "confidence":
            most = float(scene.calibration.ndisp or width)
            count = int(((values < 0) | (values > most)).sum())
            values = np.clip(values, 0, most)
            if count:
                said = f"{count} values outside of 0 … {most:g} px are clipped: the ground truth is hidden."
                findings.append(Finding("clipped", said, NOTE, scene=scene.id))
        path = folder / map_path(one)
        for parent in (folder, *reversed(path.relative_to(folder).parents)):
            (folder / parent).mkdir(exist_ok=True, mode=0o700)
        with open(path, "xb", opener=for_owner) as file:
            file.write(pfm.encode(values, Decoding(), one.name))
        files.setdefault((one.kind, one.part), {})[scene.id] = path
    return files, findings


def _result(name: str, files: dict[tuple[str, str], dict[str, Path]], listing: Listing, stated: Stated) -> ResultSet:
    """What is judged: the maps as the server wrote them, higher = surer, with the first confidence measure."""
    first = min((part for kind, part in files if kind == "confidence"), default="")
    confidence = _confidence(stated, first)
    seconds = {one.scene: stated.seconds[one.name] for one in listing.times if one.name in stated.seconds}
    return ResultSet(
        name,
        files["map", ""],
        files.get(("right", ""), {}),
        files.get(("confidence", first), {}),
        seconds,
        confidence_better=confidence.direction and "higher",
        confidence_kind=confidence.kind,
    )


def _confidence(stated: Stated, measure: str) -> ConfidenceSource:
    """What an upload states of a measure."""
    name = measure or CONFIDENCE
    return ConfidenceSource(None, of_map(stated.better, name), of_map(stated.kind, name) or "order")


def named_scores(found: list[Score], name: str, scene: Scene, task: Task) -> list[dict[str, Any]]:
    """The judge's numbers as plain values, and what they belong to by the server's own knowledge."""
    own = {"dataset": task.dataset.name, "scene": scene.id, "algorithm": name, "protocol": task.protocol.scoring_hash}
    return [
        {**asdict(score), **own, "metric": column.metric, "region": column.region}
        for score, column in zip(found, task.columns, strict=True)
    ]
