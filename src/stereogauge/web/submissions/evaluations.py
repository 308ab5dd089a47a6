"""The loop that evaluates the queue of submissions: it outlives every error, and says why when it must wait."""

from __future__ import annotations

import errno
import logging
import math
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
from msgspec.structs import asdict, replace

from stereogauge.confidence_measures.files import ConfidenceSource
from stereogauge.datasets.plausibility import NOTE, PROBLEM, Finding
from stereogauge.errors import StereogaugeError, StoreError
from stereogauge.evaluation.processes import CallCancelled, OpenedFile, TimeLimitExceeded, WorkerProcess
from stereogauge.evaluation.worker import PlannedCell
from stereogauge.io import pfm
from stereogauge.io.content import Decoding
from stereogauge.io.files import content_hash
from stereogauge.model import Better, Dataset, Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.column import VersionedColumn
from stereogauge.scores.score import CellScores
from stereogauge.store.sources import source_text
from stereogauge.text import counted
from stereogauge.web.errors import printable
from stereogauge.web.submissions.decoding import LONGEST_SENTENCE, Listing, list_upload, read_map
from stereogauge.web.submissions.folders import for_owner
from stereogauge.web.submissions.jobs import Job, Jobs, Rules
from stereogauge.web.submissions.judging import HostError, doubts, scores

IDLE = 5.0
"""Seconds between two looks at an empty queue."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Seconds of waiting after the first error and after many in a row."""
MAPS = "maps"
"""The folder of a submission's maps as the server wrote them."""
PRIVATE = "private until you publish it"
FAULTS_OF_THE_HOST = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)
)

log = logging.getLogger(__name__)


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
        self,
        jobs: Jobs,
        folder: Path,
        rules: Rules,
        task: Callable[[], Task],
        make_worker: Callable[..., Any] = WorkerProcess,
    ) -> None:
        self._jobs = jobs
        self._folder = folder
        self._rules = rules
        self._task = task
        self._decoder = make_worker(rules.memory_bytes, untrusted=True)
        self._judge = make_worker(rules.memory_bytes)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.trouble = ""
        """Why nothing can be evaluated at the moment, without the server's paths; "" while all is well."""

    @property
    def running(self) -> bool:
        """Whether the loop was started and is running."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin with the queue; submissions that were held are tried again."""
        self._stopping.clear()
        self._wake.set()
        self._thread = threading.Thread(target=self._work, name="submissions", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop; what is unfinished resumes at the next start."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._decoder.end()
        self._judge.end()

    def wake(self) -> None:
        """Look at the queue now."""
        self._wake.set()

    def _work(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopping.is_set():
            try:
                busy = self.step()
            except Exception as trouble:  # whatever it is, the queue must go on
                self.trouble = _public_sentence(trouble)
                foreseen = isinstance(trouble, StoreError | HostError)
                log.error("Submissions wait: %s", printable(trouble), exc_info=not foreseen)
                self._stopping.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            if self.trouble:
                log.warning("Submissions are evaluated again.")
            self.trouble, pause = "", FIRST_PAUSE
            if not busy:
                self._wake.wait(timeout=IDLE)
                self._wake.clear()

    def step(self) -> bool:
        """Evaluate the next submission; returns whether there was one. Raises what concerns all submissions."""
        free = shutil.disk_usage(self._folder).free
        if free < self._rules.least_free:
            raise HostError(f"The disk of the submissions has only {free >> 20} MiB left.")
        self._jobs.resume()  # what is marked as being worked on now was left by an error
        job = self._jobs.next()
        if job is None:
            return False
        task = self._task()
        if self._jobs.begin(job):
            self._run(_Attempt(job, self._folder / job.id, time.monotonic() + self._rules.seconds), task)
        return True

    def _run(self, own: _Attempt, task: Task) -> None:
        try:
            with tempfile.TemporaryFile(dir=self._folder) as spool:
                self._evaluate(own, task, spool)
        except CallCancelled:
            if self._jobs.get(own.job.id) is None:
                shutil.rmtree(own.folder, ignore_errors=True)
        except MemoryError:
            self._end(own, "failed", "The submission needed more memory than one may use.")
        except TimeLimitExceeded:
            self._end(own, "failed", f"The evaluation took longer than {self._rules.seconds:g} s and was stopped.")
        except (StoreError, HostError):
            raise
        except Exception as trouble:
            _raise_host_error(trouble)
            fate = "is held for the host to look at" if self._jobs.lose(own.job) else "is tried again"
            log.error("Submission %s %s: %s", own.job.id, fate, printable(f"{type(trouble).__name__}: {trouble}"))
        finally:
            self._decoder.end()

    def _evaluate(self, own: _Attempt, task: Task, spool: IO[bytes]) -> None:
        listing, findings = self._read(own, task, spool)
        self._decoder.end()
        if self._is_invalid(own, findings):
            return
        findings += _write(own.folder / MAPS, listing, task, spool)
        cells = {scene: _cell(own, scene, listing, task) for scene in task.dataset}
        for scene, cell in cells.items():
            findings += self._call(own, self._judge, doubts, cell, scene, scene.id in task.hidden)
        if self._is_invalid(own, findings):
            return
        rows: list[dict[str, Any]] = []
        for done, (scene, cell) in enumerate(cells.items()):
            progress = {"progress": done / len(cells), "message": f"{done} of {len(cells)} scenes"}
            self._change(own, state="evaluating", findings=grouped(findings), **progress)
            rows += _rows(self._call(own, self._judge, scores, cell, scene, task.protocol), own.job.name, scene, task)
        records = [_record(cell, scene, task.dataset.name) for scene, cell in cells.items()]
        self._change(own, state="done", progress=1.0, message=PRIVATE, scores=rows, maps=records)
        (own.folder / "upload.zip").unlink(missing_ok=True)

    def _read(self, own: _Attempt, task: Task, spool: IO[bytes]) -> tuple[Listing, list[Finding]]:
        """What the upload holds and what is wrong with it; the pixels of all maps go to `spool`, one after another."""
        upload = OpenedFile(str(own.folder / "upload.zip"))
        shapes = {scene.id: _shape(scene) for scene in task.dataset}
        said = self._call(own, self._decoder, list_upload, upload, task.dataset.name, shapes)
        listing = msgspec.convert(said, Listing)
        findings = list(listing.findings)
        wanted = [one for scene in shapes for one in listing.of(scene)]
        size = sum(4 * math.prod(shapes[one.scene]) for one in wanted)
        if size > self._rules.largest_unpacked:  # a PNG of one value is a thousand times smaller than its map
            most = f"{self._rules.largest_unpacked >> 20} MiB"
            return listing, [*findings, Finding("", f"The maps take {size >> 20} MiB; at most {most} are taken.")]
        for place, one in enumerate(wanted):
            height, width = shapes[one.scene]
            self._change(own, state="validating", progress=place / len(wanted), message="checking the maps")
            about = (one.file, one.kind, (height, width), one.negated)
            pixels = self._call(own, self._decoder, read_map, *about)
            if isinstance(pixels, bytes) and len(pixels) == 4 * height * width:
                spool.write(pixels)
            else:
                findings.append(Finding("", str(pixels)[:LONGEST_SENTENCE], scene=one.scene))
        return listing, findings

    def _call(self, own: _Attempt, worker: Any, function: Callable[..., Any], *arguments: Any) -> Any:
        def cancelled() -> bool:
            return self._stopping.is_set() or self._jobs.get(own.job.id) is None

        return worker.call(function, *arguments, seconds=own.end - time.monotonic(), cancelled=cancelled)

    def _change(self, own: _Attempt, **values: Any) -> None:
        if not self._jobs.change(own.job.id, working=True, **values):
            raise CallCancelled("the submission was withdrawn")

    def _is_invalid(self, own: _Attempt, findings: list[Finding]) -> bool:
        """Whether there is a problem; a submission that has one ends here."""
        found = grouped(findings)
        problems = [finding for finding in found if finding["severity"] == PROBLEM]
        if problems:
            free = self._jobs.forgives(own.job.submitter)
            cost = "it does not count" if free else "too many were invalid, so it counts"
            sentence = f"{counted(len(problems), 'problem')} found; nothing was computed, and {cost} as a submission"
            self._end(own, "invalid", sentence, findings=found)
        return bool(problems)

    def _end(self, own: _Attempt, state: str, message: str, **values: Any) -> None:
        """Record that a submission has no result; its files are removed after that is stored."""
        end = {"state": state, "progress": 1.0, "message": message}
        if self._jobs.change(own.job.id, working=True, **end, **values):
            shutil.rmtree(own.folder, ignore_errors=True)


class _Attempt(Struct, frozen=True):
    """One start of the evaluation of a submission; `end` is when its time is used up."""

    job: Job
    folder: Path
    end: float


def grouped(findings: list[Finding]) -> list[dict[str, Any]]:
    """One finding per mistake, as plain values: `scenes` are those that have it, and `scene` is the first of them.

    Sentences that differ only in the name of a scene's file are one mistake, and so are doubts of one kind.
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        groups.setdefault((one.severity, one.kind or _without_scene(one)), []).append(one)
    return [_joined(group) for group in groups.values()]


def _without_scene(one: Finding) -> str:
    """The sentence with SCENE for the scene in names of files and folders; KITTI's frames may be without `_10`."""
    own = re.escape(one.scene.removesuffix("_10"))
    return re.sub(rf"\b{own}(_10)?(?=[./])", "SCENE", one.sentence, flags=re.I) if own else one.sentence


def _joined(group: list[Finding]) -> dict[str, Any]:
    first, scenes = group[0], list(dict.fromkeys(one.scene for one in group if one.scene))
    sentence = first.sentence if len(scenes) < 2 else _without_scene(first)
    if len({_without_scene(one) for one in group}) > 1:
        sentence += f" (This is about {first.scene}; the other scenes are alike.)"
    return {"severity": first.severity, "sentence": sentence, "scene": first.scene, "scenes": scenes}


def _shape(scene: Scene) -> tuple[int, int]:
    try:
        return scene.shape
    except StereogaugeError as trouble:
        raise HostError.unreadable(scene, trouble) from trouble
    finally:
        scene.release()


def _write(folder: Path, listing: Listing, task: Task, spool: IO[bytes]) -> list[Finding]:
    """Write the maps as PFM into a new folder; estimates of hidden scenes are clipped to what can be a disparity.

    A value far outside would make the score of one pixel differ from all others, and reveal its true disparity.
    """
    for place in (folder.parent, folder):
        if place.is_symlink():
            place.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(exist_ok=True, mode=0o700)
    spool.seek(0)
    findings = []
    for scene in task.dataset:
        height, width = _shape(scene)
        for one in listing.of(scene.id):
            values = np.frombuffer(spool.read(4 * height * width), "<f4").reshape(height, width)
            if scene.id in task.hidden and one.kind != "confidence":
                most = float(scene.calibration.ndisp or width)
                count = int(((values < 0) | (values > most)).sum())
                values = np.clip(values, 0, most)
                if count:
                    said = f"{count} values outside of 0 … {most:g} px are clipped: the ground truth is hidden."
                    findings.append(Finding("clipped", said, NOTE, scene=scene.id))
            for parent in reversed(one.path.parents):
                (folder / parent).mkdir(exist_ok=True, mode=0o700)
            with open(folder / one.path, "xb", opener=for_owner) as file:
                file.write(pfm.encode(values, Decoding(), one.file))
    return findings


def _cell(own: _Attempt, scene: Scene, listing: Listing, task: Task) -> PlannedCell:
    """What is judged on a scene: the maps as the server wrote them, with the first confidence measure."""
    first = min((one.measure for one in listing.maps if one.kind == "confidence"), default="")
    wanted = [one for one in listing.of(scene.id) if one.kind != "confidence" or one.measure == first]
    paths = {one.kind: own.folder / MAPS / one.path for one in wanted}
    better: Better | None = "lower" if listing.kind == "sigma" else "higher" if listing.directed else None
    seconds = listing.seconds.get(scene.id)
    return PlannedCell(
        algorithm=own.job.name,
        estimate=paths["map"],
        columns=task.columns,
        inputs=0,
        content=content_hash(paths["map"]),
        right_estimate=paths.get("right"),
        confidence=ConfidenceSource(paths["confidence"], better, listing.kind) if "confidence" in paths else None,
        extras={} if seconds is None else {"seconds": seconds},
    )


def _rows(found: CellScores, name: str, scene: Scene, task: Task) -> list[dict[str, Any]]:
    """The scores of a scene: the judge's numbers, and what they belong to by the server's own knowledge."""
    own = replace(
        found,
        dataset=task.dataset.name,
        scene=scene.id,
        algorithm=name,
        protocol=task.protocol.scoring_hash,
        columns=task.columns,
    )
    if any(len(numbers) != len(task.columns) for numbers in (own.values, own.sums, own.counts, own.missing)):
        raise HostError(f"The evaluation answered with {len(own.values)} numbers for {len(task.columns)} columns.")
    return [{**asdict(row), "value": None if math.isnan(row.value) else row.value} for row in own.scores()]


def _record(cell: PlannedCell, scene: Scene, dataset: str) -> dict[str, str]:
    sources = {"source": source_text(cell.estimate), "right_source": source_text(cell.right_estimate)}
    return {"dataset": dataset, "scene": scene.id, "algorithm": cell.algorithm, "content": cell.content, **sources}


def _raise_host_error(trouble: BaseException | None) -> None:
    """Raise a `HostError` where a problem began with an error of the host's system."""
    while trouble is not None:
        if isinstance(trouble, OSError) and trouble.errno in FAULTS_OF_THE_HOST:
            raise HostError(f"The host's disk or system fails: {trouble.strerror}.") from None
        trouble = trouble.__cause__


def _public_sentence(trouble: Exception) -> str:
    """Why submissions wait, as the site shows it; the log says more."""
    if isinstance(trouble, StoreError):
        return "A database does not answer."
    if isinstance(trouble, HostError):
        return "The disk is full, or a file of the benchmark cannot be read."
    return f"An unexpected error ({type(trouble).__name__})."
