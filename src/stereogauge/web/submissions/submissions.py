"""Submissions: upload, evaluation, publication in the leaderboard, withdrawal."""

from __future__ import annotations

import asyncio
import logging
import math
import shutil
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import anyio
from fastapi import Request
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool

from stereogauge.errors import StereogaugeError, StoreError, unknown_name
from stereogauge.evaluation.processes import WorkerProcess
from stereogauge.kernels.library import library
from stereogauge.model import Dataset
from stereogauge.scores.score import Score
from stereogauge.scores.table import ScoreTable
from stereogauge.store.engine import Database
from stereogauge.store.store import Store
from stereogauge.store.write import SUBMISSION, MapRecord, NameTaken, name_key
from stereogauge.web.errors import RefusedError
from stereogauge.web.hiding import Hidden
from stereogauge.web.scores.reader import SUBMITTED_MARK
from stereogauge.web.security import visitor_address
from stereogauge.web.site import QueueState
from stereogauge.web.source import NO_SCORES, ProtocolRecord, StoreSource
from stereogauge.web.submissions import folders
from stereogauge.web.submissions.access import Tokens
from stereogauge.web.submissions.decoding import NAME
from stereogauge.web.submissions.evaluations import Evaluations, Task
from stereogauge.web.submissions.jobs import Job, Jobs, Rules, new_identifier, prepare

NOT_YOURS = "You have no such submission; its owner sees it after giving the token on the page Submit."
NOT_NOW = "Submissions cannot be evaluated at the moment; /api/v1/health says why. Try again later."
SOON = 60.0
"""Seconds after which a full queue or disk is worth another try."""

log = logging.getLogger(__name__)


class Submissions:
    """The submissions of a site (`stereogauge.web.site.SubmissionService`): tokens, queue, files and scores.

    The queue says whose a submission is and what its scores are, the store whether it is public.
    """

    def __init__(
        self,
        store: Store,
        source: StoreSource,
        folder: Path,
        rules: Rules,
        dataset: str | None = None,
        make_worker: Callable[..., Any] = WorkerProcess,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder = folder.resolve()
        self.rules = rules
        self.hidden = Hidden(rules.hidden)
        self._store = store
        self._source = source
        source.uploads = self.folder
        self._dataset = dataset
        file = folders.private_file(self.folder / "submissions.sqlite")
        self._database = Database(file, read_only=False, timeout=rules.database_seconds)
        with self._database.writing() as connection:
            prepare(connection)
        self.tokens = Tokens(self._database, rules.failures_allowed, rules.failure_seconds)
        self.jobs = Jobs(self._database, rules)
        self.evaluations = Evaluations(self.jobs, self.folder, rules, self.task, make_worker)
        self._uploading = asyncio.Semaphore(rules.uploads_at_once)
        self._watchers: Counter[str] = Counter()
        self._publishing = threading.Lock()
        self._only: IO[bytes] | None = None

    # the service

    def open(self) -> None:
        """Refuse to be the second server of a folder, or one that cannot evaluate anything."""
        library()
        if self._only is None:
            self._only = folders.only_server(self.folder)

    def start(self) -> None:
        """Start to evaluate the queue, including what an earlier run left unfinished or held."""
        self.open()
        self.jobs.restart()
        folders.clean(self.folder, {job: state for job, (_, state) in self.jobs.owners().items()})
        self.evaluations.start()

    def stop(self) -> None:
        """Stop evaluating; unfinished submissions resume at the next start."""
        self.evaluations.stop()
        self._database.close()
        if self._only is not None:
            self._only.close()
            self._only = None

    def state(self) -> QueueState:
        """Whether submissions are evaluated, why not, and how many wait."""
        reason = self.evaluations.trouble
        try:
            waiting = self.jobs.waiting()
        except StoreError:
            return QueueState("waiting", reason or "A database does not answer.")
        return QueueState("waiting" if reason else "ok" if self.evaluations.running else "stopped", reason, waiting)

    def private_scores(self, identifier: str) -> ScoreTable:
        """The scores of a submission that is not published; empty when there are none."""
        job = self._private(identifier)
        return ScoreTable(()) if job is None else _table(job)

    def private_maps(self, identifier: str) -> list[MapRecord]:
        """The maps of a submission that is not published, as the server wrote them; empty when there are none."""
        job = self._private(identifier)
        return [] if job is None else [MapRecord(**row) for row in job.maps]

    def _private(self, identifier: str) -> Job | None:
        job = self.jobs.get(identifier)
        return None if job is None or self.current(job).state != "done" else job

    def refuse_others(self, request: Request, identifier: str) -> None:
        """Raise unless the token's owner made the submission; to all others, token or not, it does not exist."""
        try:
            self.own(request, identifier)
        except RefusedError as refusal:
            if refusal.status == 429:
                raise
            raise RefusedError(NOT_YOURS, 404) from None

    # whose submissions

    def submitter(self, request: Request) -> str:
        """The owner of the request's token."""
        return self.tokens.submitter(request.headers.get("authorization", ""), visitor_address(request))

    def own(self, request: Request, identifier: str) -> Job:
        """The submission, if it belongs to the token's owner; to anyone else it does not exist."""
        owner = self.submitter(request)
        job = self.jobs.get(identifier)
        if job is None or job.submitter != owner:
            raise RefusedError("You have no such submission.", 404)
        return self.current(job)

    def current(self, job: Job) -> Job:
        """The submission as it is now: published where the store shows it."""
        public = {entry.metadata.get(SUBMISSION) for entry in self._source.algorithms()} if job.state == "done" else ()
        return replace(job, state="published", message="published") if job.id in public else job

    # what submissions are evaluated on

    def dataset(self) -> Dataset:
        """The scenes that a submission must cover, from the store."""
        entries = {entry.name: entry for entry in self._store.datasets() if entry.scenes}
        if self._dataset is None and len(entries) != 1:
            raise StoreError(f"The store holds {len(entries)} datasets; name the one for submissions with --dataset.")
        name = self._dataset or next(iter(entries))
        if name not in entries:
            raise unknown_name("dataset of this store", name, entries)
        return Dataset(name, [self._store.scene(name, scene) for scene in entries[name].scenes])

    def protocol(self, dataset: str) -> ProtocolRecord:
        """The protocol under which submissions are scored: the first one with scores on their dataset."""
        records = [record for record in self._source.protocols() if dataset in self._source.cube(record.key).datasets]
        if not records:
            raise StereogaugeError(NO_SCORES)
        return records[0]

    def task(self) -> Task:
        """What submissions are evaluated on now."""
        dataset = self.dataset()
        record = self.protocol(dataset.name)
        if record.protocol is None:
            raise StoreError(f"The store knows only the hash {record.key}; submissions need the whole protocol.")
        hidden = frozenset(scene.id for scene in dataset if self.hidden(scene.id, dataset.name))
        columns = tuple(column.versioned for column in self._source.cube(record.key).columns)
        return Task(dataset, hidden, record.protocol, columns)

    # accepting an upload

    def check_name(self, name: str, submitter: str) -> str:
        """The name as tables will show it; refused where an algorithm of somebody else has it, in letters of either
        case.
        """
        text = " ".join(part for part in name.split(" ") if part)
        if not NAME.fullmatch(text) or text.lower().endswith(SUBMITTED_MARK):
            raise RefusedError(
                "The name of an algorithm has 1 to 80 letters (A-Z, a-z), digits, spaces and -_.()+, and does not end "
                f"with {SUBMITTED_MARK!r}; found {name[:80]!r}."
            )
        owners = self.jobs.owners()
        for entry in self._store.algorithms():
            owner = owners.get(str(entry.metadata.get(SUBMISSION)), ("", ""))[0]
            if name_key(entry.name) == name_key(text) and owner != submitter:
                raise RefusedError(f"There is an algorithm called {entry.name!r} already; choose another name.", 409)
        return text

    @asynccontextmanager
    async def accepting(self, submitter: str) -> AsyncIterator[tuple[str, Path]]:
        """The id and folder of a new upload within the limits; one that fails leaves nothing and costs nothing."""
        if self._uploading.locked():
            raise RefusedError("Too many uploads at the moment; try again in a minute.", 503, SOON)
        async with self._uploading:
            await run_in_threadpool(self._check_room, submitter)
            identifier = new_identifier()
            await run_in_threadpool(self.jobs.reserve, submitter, identifier)
            try:
                folder = self.folder / identifier
                folder.mkdir(mode=0o700)
                yield identifier, folder
            except BaseException:
                with anyio.CancelScope(shield=True):  # what the upload took is given back in any case
                    await run_in_threadpool(self._give_back, identifier)
                raise

    def _give_back(self, identifier: str) -> None:
        self._discard(identifier)
        with suppress(StoreError):  # a database that does not answer now forgets the upload later
            self.jobs.release(identifier)

    def _check_room(self, submitter: str) -> None:
        """Refuse what could not be evaluated or stored."""
        rules = self.rules
        if self.evaluations.trouble or not self.evaluations.running:
            raise RefusedError(NOT_NOW, 503, SOON)
        if shutil.disk_usage(self.folder).free < rules.least_free + rules.largest_bytes:
            raise RefusedError("The server's disk is full; try again later.", 503, SOON)
        if self.jobs.waiting() >= rules.most_waiting:
            raise RefusedError("The queue is full; try again later.", 503, SOON)
        own = self.jobs.of(submitter)
        if sum(job.state == "held" for job in own) >= rules.most_held:
            raise RefusedError("The host must look at your held submissions first; withdraw some, or wait.", 429)
        if folders.used(self.folder / job.id for job in own) >= rules.quota:
            raise RefusedError(f"Your submissions use {rules.quota >> 20} MiB; withdraw some of them.", 429)
        if folders.used([self.folder]) >= rules.total_quota:
            raise RefusedError("The space for submissions is used up; the host must make room.", 503, SOON)

    def enqueue(self, identifier: str, submitter: str, name: str, description: str, link: str) -> Job:
        """Put an upload into the queue; unpublished earlier submissions of the same name are withdrawn."""
        former = [job for job in map(self.current, self.jobs.of(submitter)) if job.name == name]
        self.jobs.add(identifier, name, description, link)
        for other in former:
            if other.state != "published":
                self.withdraw(other)
        self.evaluations.wake()
        added = self.jobs.get(identifier)
        if added is None:
            raise RefusedError("The submission was withdrawn meanwhile.", 409)
        return added

    @contextmanager
    def watching(self, submitter: str) -> Iterator[None]:
        """One more stream of live progress; each looks into the database several times per second."""
        if self._watchers[submitter] >= self.rules.watched_at_once:
            raise RefusedError("You watch too many submissions at once; close some pages.", 429)
        self._watchers[submitter] += 1
        try:
            yield
        finally:
            self._watchers[submitter] -= 1

    # results

    def publish(self, job: Job) -> None:
        """Write a finished submission into the store in one transaction; an earlier one of the same name is removed."""
        with self._publishing:
            now = self.jobs.get(job.id)
            state = "withdrawn" if now is None else self.current(now).state
            if state != "done":
                raise RefusedError(f"Only a finished submission can be published; this one is {state}.", 409)
            public = [one for one in map(self.current, self.jobs.of(job.submitter)) if one.state == "published"]
            earlier = [one.id for one in public if name_key(one.name) == name_key(job.name)]
            about = {"submission": job.id, "description": job.description, "link": job.link, "replaces": earlier}
            maps = [MapRecord(**row) for row in job.maps]
            protocol = self.protocol(self.dataset().name).protocol
            try:
                self._store.publish(job.name, _table(job), protocol=protocol, maps=maps, **about)
            except NameTaken as taken:
                raise RefusedError(str(taken), 409) from None
            finally:
                self._source.refresh()
        try:
            self.jobs.remove(*earlier)
        except StoreError as problem:  # they are private submissions until their owner withdraws them
            log.error("Submission %s is published, but %s could not be removed: %s", job.id, earlier, problem)
        else:
            for identifier in earlier:
                self._discard(identifier)

    def withdraw(self, job: Job) -> None:
        """Delete a submission, whether it is queued, finished or published."""
        with self._publishing:
            if self.current(self.jobs.get(job.id) or job).state == "published":
                self._store.withdraw(job.id)
                self._source.refresh()
            self.jobs.remove(job.id)
        self._discard(job.id)

    def _discard(self, identifier: str) -> None:
        """Remove the files of a submission."""
        shutil.rmtree(self.folder / identifier, ignore_errors=True)


def _table(job: Job) -> ScoreTable:
    return ScoreTable(
        [Score(**{**row, "value": math.nan if row["value"] is None else row["value"]}) for row in job.scores]
    )
