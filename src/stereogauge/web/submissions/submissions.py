"""Submissions: upload, evaluation, publication in the leaderboard, withdrawal."""

from __future__ import annotations

import asyncio
import math
import shutil
import threading
from pathlib import Path
from typing import Any

from fastapi import Request

from stereogauge.errors import StereogaugeError, StoreError, unknown_name
from stereogauge.evaluation.processes import TimeLimitExceeded, WorkerDied, WorkerProcess
from stereogauge.model import Dataset
from stereogauge.scores.score import Score
from stereogauge.scores.table import ScoreTable
from stereogauge.store.engine import Database
from stereogauge.store.store import Store
from stereogauge.store.write import MapRecord
from stereogauge.web.hiding import Hidden
from stereogauge.web.scores.joining import SUBMITTED_MARK
from stereogauge.web.source import NO_SCORES, ProtocolRecord, StoreSource
from stereogauge.web.submissions import usage
from stereogauge.web.submissions.jobs import Job, Jobs, new_identifier
from stereogauge.web.submissions.results import ColumnResult, column_results
from stereogauge.web.submissions.rules import Rules
from stereogauge.web.submissions.schema import metadata
from stereogauge.web.submissions.tokens import FailureLimit, Tokens
from stereogauge.web.submissions.uploads import UploadRefusedError
from stereogauge.web.submissions.worker import SubmissionError, Work, process

LONGEST_NAME = 80


class AccessError(StereogaugeError):
    """A request without the right token, with the HTTP status and the seconds to wait."""

    def __init__(self, sentence: str, status: int, wait: float = 0.0) -> None:
        super().__init__(sentence)
        self.status = status
        self.wait = wait


class Submissions:
    """The submissions of a site: tokens, queue, files and scores."""

    def __init__(
        self, store: Store, source: StoreSource, folder: Path, rules: Rules, dataset: str | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder.resolve()
        self.rules = rules
        self.hidden = Hidden(rules.hidden)
        self._store = store
        self._source = source
        self._dataset = dataset
        database = Database(self.folder / "submissions.sqlite", read_only=False, timeout=30.0)
        with database.writing() as connection:
            metadata.create_all(connection)
        self._database = database
        self.tokens = Tokens(database)
        self.jobs = Jobs(database)
        self.attempts = usage.Attempts(database, rules.per_period, rules.period_hours)
        self.failures = FailureLimit(rules.failures_allowed, rules.failure_seconds)
        self.uploading = asyncio.Semaphore(rules.uploads_at_once)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._cancelled: set[str] = set()
        self._thread: threading.Thread | None = None

    # who sends a request

    def submitter(self, request: Request) -> str:
        """The owner of the request's token."""
        client = request.client.host if request.client else "unknown"
        wait = self.failures.wait(client)
        if wait > 0:
            raise AccessError("Too many wrong tokens from this address; wait and try again.", 429, wait)
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise AccessError("A submission needs a token: Authorization: Bearer TOKEN.", 401)
        owner = self.tokens.submitter(token.strip())
        if owner is None:
            self.failures.failed(client)
            raise AccessError("This token is not known here.", 401)
        return owner

    def own(self, request: Request, identifier: str) -> Job:
        """The submission, if it belongs to the token's owner; to anyone else it does not exist."""
        owner = self.submitter(request)
        job = self.jobs.get(identifier)
        if job is None or job.submitter != owner:
            raise AccessError("You have no such submission.", 404)
        return job

    # what submissions are evaluated on

    def protocol(self) -> ProtocolRecord:
        """The protocol under which submissions are scored: the first one with scores on their dataset."""
        name = self.dataset().name
        records = [record for record in self._source.protocols() if name in self._source.cube(record.key).datasets]
        if not records:
            raise StereogaugeError(NO_SCORES)
        return records[0]

    def dataset(self) -> Dataset:
        """The scenes that a submission must cover, from the store."""
        entries = {entry.name: entry for entry in self._store.datasets() if entry.scenes}
        if self._dataset is None and len(entries) != 1:
            raise StoreError(f"The store holds {len(entries)} datasets; name the one for submissions with --dataset.")
        name = self._dataset or next(iter(entries))
        if name not in entries:
            raise unknown_name("dataset of this store", name, entries)
        return Dataset(name, [self._store.scene(name, scene) for scene in entries[name].scenes])

    # accepting an upload

    def check_name(self, name: str, submitter: str) -> str:
        """The name as tables will show it; refused where another algorithm has it."""
        text = " ".join(name.split())
        if not text or len(text) > LONGEST_NAME or not text.isprintable() or text.endswith(SUBMITTED_MARK):
            raise UploadRefusedError(f"An algorithm has a name of 1 to {LONGEST_NAME} printable letters.")
        mine = {job.name for job in self.jobs.of(submitter) if job.state == "published"}
        if text in {entry.name for entry in self._store.algorithms()} and text not in mine:
            raise UploadRefusedError(f"There is an algorithm called {text!r} already; choose another name.", 409)
        return text

    def check_room(self, submitter: str) -> None:
        """Refuse a submission beyond the limits."""
        if self.attempts.left(submitter) < 1:
            hours = f"{self.rules.period_hours:g}"
            raise UploadRefusedError(f"{self.rules.per_period} submissions were made in the last {hours} hours.", 429)
        if self.jobs.waiting() >= self.rules.most_waiting:
            raise UploadRefusedError("The queue is full; try again later.", 503)

    def new_folder(self) -> tuple[str, Path]:
        """An id and its empty folder."""
        identifier = new_identifier()
        folder = self.folder / identifier
        folder.mkdir()
        return identifier, folder

    def discard(self, identifier: str) -> None:
        """Remove the files of a submission."""
        shutil.rmtree(self.folder / identifier, ignore_errors=True)

    def enqueue(self, identifier: str, submitter: str, name: str, description: str, link: str) -> Job:
        """Put an upload into the queue; unpublished earlier submissions of the same name are withdrawn."""
        for job in self.jobs.of(submitter):
            if job.name == name and job.state != "published":
                self.withdraw(job)
        self.attempts.note(submitter)
        job = self.jobs.add(identifier, submitter, name, description, link)
        self._wake.set()
        return job

    # evaluation

    def start(self) -> None:
        """Start to evaluate the queue, including what an earlier run left unfinished."""
        self.jobs.resume()
        self._stopping.clear()
        self._wake.set()
        self._thread = threading.Thread(target=self._work, name="submissions", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop evaluating; unfinished submissions resume at the next start."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._database.close()

    def _work(self) -> None:
        worker = WorkerProcess(self.rules.memory_bytes)
        try:
            while not self._stopping.is_set():
                job = self.jobs.next()
                if job is None:
                    self._wake.wait(timeout=5.0)
                    self._wake.clear()
                    continue
                self._run(worker, job)
        finally:
            worker.end()

    def _run(self, worker: WorkerProcess, job: Job) -> None:
        """One submission from the queue to its end; only a stop of the server leaves it open."""

        def cancelled() -> bool:
            return self._stopping.is_set() or job.id in self._cancelled

        try:
            record = self.protocol()
            dataset = self.dataset()
            if record.protocol is None:
                raise StoreError(f"The store knows only the hash {record.key}; submissions need the whole protocol.")
            work = Work(
                folder=str(self.folder / job.id),
                name=job.name,
                dataset=dataset,
                protocol=record.protocol,
                columns=tuple(str(column) for column in self._source.cube(record.key).columns),
                hidden=frozenset(scene.id for scene in dataset if self.hidden(scene.id, dataset.name)),
                most_entries=self.rules.most_entries,
                largest_unpacked=self.rules.largest_unpacked,
            )
            worker.call(
                process,
                work,
                seconds=self.rules.seconds,
                report=lambda kind, value: self._note(job.id, kind, value),
                cancelled=cancelled,
            )
        except Exception as problem:  # the queue goes on whatever one submission does
            if not cancelled():
                self._note(job.id, "failed", self._sentence(problem))
        if job.id in self._cancelled:
            self._cancelled.discard(job.id)
            self.discard(job.id)

    def _sentence(self, problem: Exception) -> str:
        """What its submitter reads about a submission that was not evaluated to the end."""
        if isinstance(problem, SubmissionError):
            return str(problem)
        if isinstance(problem, TimeLimitExceeded):
            return f"The evaluation took longer than {self.rules.seconds:g} s and was stopped."
        if isinstance(problem, WorkerDied):
            return "The evaluation ended unexpectedly; it may have needed too much memory."
        return f"The host's set-up is at fault: {type(problem).__name__}."

    def _note(self, identifier: str, kind: str, value: Any) -> None:
        """Record a report of the worker."""
        if kind == "state":
            state, progress, message = value
            self.jobs.change(identifier, state=state, progress=progress, message=message)
        elif kind == "invalid":
            problems = sum(finding["severity"] == "problem" for finding in value)
            message = f"{problems} problem(s) found; nothing was computed"
            self.jobs.change(identifier, state="invalid", findings=value, message=message, progress=1.0)
            self.discard(identifier)
        elif kind == "failed":
            self.jobs.change(identifier, state="failed", message=value, progress=1.0)
            self.discard(identifier)
        elif kind == "scores":
            rows = [{**row, "value": None if math.isnan(row["value"]) else row["value"]} for row in value]
            self.jobs.change(
                identifier, state="done", scores=rows, message="private until you publish it", progress=1.0
            )
            (self.folder / identifier / "upload.zip").unlink(missing_ok=True)
        else:
            self.jobs.change(identifier, **{kind: value})

    # results

    def private_scores(self, identifier: str) -> ScoreTable:
        """The scores of a submission that is not published; empty when there are none."""
        job = self.jobs.get(identifier)
        if job is None or job.state != "done":
            return ScoreTable(())
        return _table(job)

    def results(self, job: Job) -> list[ColumnResult]:
        """The submission's columns beside the best values of the other algorithms."""
        record = self.protocol()
        return column_results(self._source.cube(record.key), job.name, _table(job), record.protocol)

    def publish(self, job: Job) -> None:
        """Write a finished submission into the store; an earlier one of the same name is removed."""
        if job.state != "done":
            raise UploadRefusedError(f"Only a finished submission can be published; this one is {job.state}.", 409)
        name = self.check_name(job.name, job.submitter)
        for other in self.jobs.of(job.submitter):
            if other.name == name and other.state == "published":
                self.withdraw(other)
        table = self.private_scores(job.id)
        record = self.protocol()
        self._store.write(list(table), protocol=record.protocol, maps=[MapRecord(**row) for row in job.maps])
        self._store.describe_algorithm(name, description=job.description, link=job.link)
        self.jobs.change(job.id, state="published", message="published")
        self._source.refresh()

    def withdraw(self, job: Job) -> None:
        """Delete a submission, whether it is queued, finished or published."""
        if job.state == "published" and job.name in {entry.name for entry in self._store.algorithms()}:
            self._store.delete_algorithm(job.name)
            self._source.refresh()
        if job.open:
            self._cancelled.add(job.id)
        self.jobs.remove(job.id)
        self.discard(job.id)


def _table(job: Job) -> ScoreTable:
    return ScoreTable(
        [Score(**{**row, "value": math.nan if row["value"] is None else row["value"]}) for row in job.scores]
    )
