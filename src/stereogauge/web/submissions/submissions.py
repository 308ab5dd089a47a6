"""Submissions: upload, evaluation, publication in the leaderboard, withdrawal."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from fastapi import Request

from stereogauge.errors import StereogaugeError, StoreError, unknown_name
from stereogauge.evaluation.rights import unprivileged_account
from stereogauge.io.remote_path import is_remote
from stereogauge.model import Dataset
from stereogauge.scores.score import Score
from stereogauge.scores.table import ScoreTable
from stereogauge.store.engine import Database
from stereogauge.store.lookalikes import folded
from stereogauge.store.store import Store
from stereogauge.store.write import MapRecord
from stereogauge.web.hiding import Hidden
from stereogauge.web.scores.reader import SUBMITTED_MARK
from stereogauge.web.source import NO_SCORES, ProtocolRecord, StoreSource
from stereogauge.web.submissions import folders, schema
from stereogauge.web.submissions.access import AccessError, FailureLimit, Tokens
from stereogauge.web.submissions.decoding import Outline, Upload
from stereogauge.web.submissions.evaluations import Evaluations
from stereogauge.web.submissions.jobs import Job, Jobs, new_identifier
from stereogauge.web.submissions.publication import Publication
from stereogauge.web.submissions.results import ColumnResult, column_results
from stereogauge.web.submissions.rules import Rules
from stereogauge.web.submissions.uploads import Inspector, MakeWorker, UploadRefusedError, limited_worker
from stereogauge.web.submissions.usage import Attempts
from stereogauge.web.submissions.worker import Work

LONGEST_NAME = 80
NOT_YOURS = "You have no such submission; its owner sees it after giving the token on the page Submit."
NOT_NOW = "Submissions cannot be evaluated at the moment; /api/v1/health says why. Try again later."


class Submissions:
    """The submissions of a site: tokens, queue, files and scores."""

    def __init__(
        self,
        store: Store,
        source: StoreSource,
        folder: Path,
        rules: Rules,
        dataset: str | None = None,
        make_worker: MakeWorker = limited_worker,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder = folder.resolve()
        self.rules = rules
        self.hidden = Hidden(rules.hidden)
        self._store = store
        self._source = source
        source.uploads = self.folder
        self._dataset = dataset
        database = Database(
            folders.private_file(self.folder / "submissions.sqlite"), read_only=False, timeout=rules.database_seconds
        )
        with database.writing() as connection:
            schema.prepare(connection)
        self._database = database
        self.tokens = Tokens(database)
        self.jobs = Jobs(database)
        self.attempts = Attempts(database, rules.per_period, rules.period_hours, rules.free_invalid)
        self.failures = FailureLimit(rules.failures_allowed, rules.failure_seconds)
        self.publication = Publication(database, store)
        self.account = unprivileged_account(rules.worker_user)
        self.inspector = Inspector(rules, make_worker, self.account)
        self.evaluations = Evaluations(
            self.jobs, self.attempts, self.folder, rules, self._work, make_worker, self.account
        )
        self.uploading = asyncio.Semaphore(rules.uploads_at_once)
        self._uploaders: set[str] = set()
        self._watchers: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._only: IO[bytes] | None = None

    # who sends a request

    def submitter(self, request: Request) -> str:
        """The owner of the request's token; wrong tokens are limited by address, a right one always passes."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise AccessError("A submission needs a token: Authorization: Bearer TOKEN.", 401)
        owner = self.tokens.submitter(token.strip())
        if owner is not None:
            return owner
        client = request.client.host if request.client else "unknown"
        wait = self.failures.wait(client)
        if wait > 0:
            raise AccessError("Too many wrong tokens from this address; wait and try again.", 429, wait)
        self.failures.failed(client)
        raise AccessError("This token is not known here.", 401)

    def own(self, request: Request, identifier: str) -> Job:
        """The submission, if it belongs to the token's owner; to anyone else it does not exist."""
        owner = self.submitter(request)
        job = self.jobs.get(identifier)
        if job is None or job.submitter != owner:
            raise AccessError("You have no such submission.", 404)
        return job

    def refuse_others(self, request: Request, identifier: str) -> None:
        """Raise unless the token's owner made the submission; to all others, token or not, it does not exist."""
        try:
            self.own(request, identifier)
        except AccessError as refusal:
            if refusal.status == 429:
                raise
            raise AccessError(NOT_YOURS, 404) from None

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

    def hidden_files(self) -> list[str]:
        """The files of this machine that hold the ground truth of hidden scenes."""
        dataset = self.dataset()
        sources = [scene.source("gt") for scene in dataset if self.hidden(scene.id, dataset.name)]
        paths = [getattr(source, "path", source) for source in sources]
        return [str(path) for path in paths if isinstance(path, str | os.PathLike) and not is_remote(path)]

    def _work(self, job: Job) -> tuple[Upload, Work]:
        record, dataset = self.protocol(), self.dataset()
        if record.protocol is None:
            raise StoreError(f"The store knows only the hash {record.key}; submissions need the whole protocol.")
        upload = Upload(
            job=job.id,
            attempt=job.attempt + 1,
            name=job.name,
            dataset=dataset.name,
            outlines=tuple(Outline.of(scene) for scene in dataset),
            most_entries=self.rules.most_entries,
            largest_unpacked=self.rules.largest_unpacked,
        )
        work = Work(
            job=job.id,
            attempt=job.attempt + 1,
            name=job.name,
            dataset=dataset,
            protocol=record.protocol,
            columns=tuple(str(column) for column in self._source.cube(record.key).columns),
            hidden=frozenset(scene.id for scene in dataset if self.hidden(scene.id, dataset.name)),
            owner=_own_user() if self.account is None else self.account.user,
        )
        return upload, work

    # accepting an upload

    def check_name(self, name: str, submitter: str) -> str:
        """The name as tables will show it; refused where another algorithm has it, or one that looks like it."""
        text = " ".join(name.split())
        alike = folded(text)
        if not alike or len(text) > LONGEST_NAME or not text.isprintable() or alike.endswith(folded(SUBMITTED_MARK)):
            raise UploadRefusedError(f"An algorithm has a name of 1 to {LONGEST_NAME} printable letters.")
        if "/" in alike:
            raise UploadRefusedError("A name has no slash: ALGORITHM/MEASURE is the name of a confidence map's scores.")
        other = self.publication.taken(text, submitter)
        if other is not None:
            raise UploadRefusedError(f"There is an algorithm called {other!r} already; choose another name.", 409)
        return text

    @contextmanager
    def accepting(self, submitter: str) -> Iterator[tuple[str, Path]]:
        """The id and folder of a new upload within the limits; one that fails leaves nothing and costs nothing."""
        identifier = new_identifier()
        self._check_room(submitter)
        with self._lock:
            if submitter in self._uploaders:
                raise UploadRefusedError("Another upload with this token is under way; send one after the other.", 429)
            self._uploaders.add(submitter)
        try:
            if not self.attempts.reserve(submitter, identifier):
                hours, count = f"{self.rules.period_hours:g}", self.rules.per_period
                raise UploadRefusedError(f"{count} submissions were made in the last {hours} hours.", 429)
            try:
                yield identifier, folders.make(self.folder / identifier)
            except BaseException:
                self.discard(identifier)
                self.attempts.release(identifier)
                raise
        finally:
            with self._lock:
                self._uploaders.discard(submitter)

    @contextmanager
    def watching(self, submitter: str) -> Iterator[None]:
        """One more stream of live progress; each looks into the database several times per second."""
        with self._lock:
            if self._watchers[submitter] >= self.rules.watched_at_once:
                raise UploadRefusedError("You watch too many submissions at once; close some pages.", 429)
            self._watchers[submitter] += 1
        try:
            yield
        finally:
            with self._lock:
                self._watchers[submitter] -= 1

    def _check_room(self, submitter: str) -> None:
        """Refuse what could not be evaluated or stored."""
        rules = self.rules
        if self.evaluations.trouble or not self.evaluations.running:
            raise UploadRefusedError(NOT_NOW, 503)
        if shutil.disk_usage(self.folder).free < rules.least_free + rules.largest_bytes:
            raise UploadRefusedError("The server's disk is full; try again later.", 503)
        if self.jobs.waiting() >= rules.most_waiting:
            raise UploadRefusedError("The queue is full; try again later.", 503)
        own = self.jobs.of(submitter)
        if sum(job.state == "held" for job in own) >= rules.most_held:
            raise UploadRefusedError("The host must look at your held submissions first; withdraw some, or wait.", 429)
        if folders.used(self.folder / job.id for job in own) >= rules.quota:
            raise UploadRefusedError(f"Your submissions use {rules.quota >> 20} MiB; withdraw some of them.", 429)
        if folders.used([self.folder]) >= rules.total_quota:
            raise UploadRefusedError("The space for submissions is used up; the host must make room.", 503)

    def discard(self, identifier: str) -> None:
        """Remove the files of a submission."""
        shutil.rmtree(self.folder / identifier, ignore_errors=True)

    def enqueue(self, identifier: str, submitter: str, name: str, description: str, link: str) -> Job:
        """Put an upload into the queue; unpublished earlier submissions of the same name are withdrawn."""
        former = [
            job for job in self.jobs.of(submitter) if job.name == name and job.state not in ("published", "publishing")
        ]
        job = self.jobs.add(identifier, submitter, name, description, link)
        for other in former:
            self.withdraw(other)
        self.evaluations.wake()
        return job

    # evaluation

    def start(self) -> None:
        """Start to evaluate the queue, including what an earlier run left unfinished or held."""
        self._only = folders.only_server(self.folder)
        self.jobs.resume(("validating", "evaluating", "held"))
        self.publication.settle()
        folders.clean(self.folder, self.jobs.states())
        self.evaluations.start()

    def stop(self) -> None:
        """Stop evaluating; unfinished submissions resume at the next start."""
        self.evaluations.stop()
        self.inspector.end()
        self._database.close()
        if self._only is not None:
            self._only.close()
            self._only = None

    # results

    def private_scores(self, identifier: str) -> ScoreTable:
        """The scores of a submission that is not published; empty when there are none."""
        job = self.jobs.get(identifier)
        if job is None or job.state != "done":
            return ScoreTable(())
        return _table(job)

    def private_maps(self, identifier: str) -> list[MapRecord]:
        """The maps of a submission that is not published, as we wrote them anew; empty when there are none."""
        job = self.jobs.get(identifier)
        if job is None or job.state != "done":
            return []
        return [MapRecord(**row) for row in job.maps]

    def results(self, job: Job) -> list[ColumnResult]:
        """The submission's columns beside the best values of the other algorithms."""
        record = self.protocol()
        return column_results(self._source.cube(record.key), job.name, _table(job), self.hidden, record.protocol)

    def publish(self, job: Job) -> None:
        """Write a finished submission into the store; an earlier one of the same name is removed."""
        replaced = self.publication.publish(job, _table(job), self.protocol().protocol)
        for identifier in replaced:
            self.discard(identifier)
        self._source.refresh()

    def withdraw(self, job: Job) -> None:
        """Delete a submission, whether it is queued, finished or published."""
        if job.open:
            self.evaluations.withdraw(job.id)
        if self.publication.withdraw(job):
            self._source.refresh()
        self.discard(job.id)


def _own_user() -> int:
    """The user of this process; 0 on systems that do not number them, whose files say the same."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _table(job: Job) -> ScoreTable:
    return ScoreTable(
        [Score(**{**row, "value": math.nan if row["value"] is None else row["value"]}) for row in job.scores]
    )
