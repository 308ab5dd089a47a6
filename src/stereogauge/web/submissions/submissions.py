"""Submissions: upload, evaluation, publication in the leaderboard, withdrawal."""

from __future__ import annotations

import logging
import math
import secrets
import shutil
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from fastapi import Request
from msgspec.structs import replace

from stereogauge.datasets.archives import member_names
from stereogauge.errors import DatasetError, FileError, StereogaugeError, StoreError, unknown_name
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
from stereogauge.web.source import StoreSource
from stereogauge.web.submissions.evaluations import UPLOAD, Evaluations, Task, for_owner
from stereogauge.web.submissions.jobs import OPEN, Job, Jobs, Rules, Tokens, prepare
from stereogauge.web.submissions.listing import NAME

NOT_YOURS = "You have no such submission; its owner sees it after giving the token on the page Submit."
NOT_NOW = "Submissions cannot be evaluated at the moment; /api/v1/health says why. Try again later."
SOON = 60.0
"""Seconds after which a full queue or disk is worth another try."""
IDENTIFIER_BYTES = 12

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
        file = self.folder / "submissions.sqlite"
        open(file, "ab", opener=for_owner).close()
        self._database = Database(file, read_only=False, timeout=rules.database_seconds)
        with self._database.writing() as connection:
            prepare(connection)
        self.tokens = Tokens(self._database, rules)
        self.jobs = Jobs(self._database, rules)
        self.evaluations = Evaluations(self.jobs, self.folder, rules, self.task, make_worker)
        self.watching: Counter[str] = Counter()
        """The streams of live progress that each submitter holds open."""
        self._uploading: set[str] = set()
        self._publishing = threading.Lock()
        self._only: IO[bytes] | None = None

    # the service

    def open(self) -> None:
        """Refuse to be the second server of a folder, or one that cannot evaluate anything."""
        library()
        if self._only is None:
            self._only = only_server(self.folder)

    def start(self) -> None:
        """Start to evaluate the queue, including what an earlier run left unfinished or held."""
        self.open()
        self.jobs.release()
        self.clean()
        self.evaluations.start()

    def clean(self) -> None:
        """Remove what a stop in the middle left behind: folders of no submission, and uploads that are not needed."""
        states = {one.id: one.state for one in self.jobs.known()}
        for path in self.folder.glob("?" * 2 * IDENTIFIER_BYTES):
            state = states.get(path.name, "failed")
            if state in ("invalid", "failed"):
                shutil.rmtree(path, ignore_errors=True)
            elif state == "done":
                (path / UPLOAD).unlink(missing_ok=True)

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
            waiting = sum(one.state in OPEN for one in self.jobs.known())
        except StoreError:
            return QueueState("waiting", reason or "A database does not answer.")
        return QueueState("waiting" if reason else "ok" if self.evaluations.running else "stopped", reason, waiting)

    def private_scores(self, identifier: str) -> ScoreTable:
        """The scores of a submission that is not published; empty when there are none."""
        job = self.get(identifier)
        return ScoreTable(() if job is None or job.state != "done" else _scores(job))

    def private_maps(self, identifier: str) -> list[MapRecord]:
        """The maps of a submission that is not published, as the server wrote them; empty when there are none."""
        job = self.get(identifier)
        return [] if job is None or job.state != "done" else [MapRecord(**row) for row in job.maps]

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
        owner, job = self.submitter(request), self.get(identifier)
        if job is None or job.submitter != owner:
            raise RefusedError("You have no such submission.", 404)
        return job

    def get(self, identifier: str) -> Job | None:
        """The submission with this id as it is now."""
        return next(iter(self._now(self.jobs.read(id=identifier))), None)

    def of(self, submitter: str) -> list[Job]:
        """Everything that one submitter has here as it is now, the newest first."""
        return self._now(self.jobs.read(submitter=submitter))

    def _now(self, found: list[Job]) -> list[Job]:
        """The submissions, published where the store shows them."""
        if not any(job.state == "done" for job in found):
            return found
        public = {entry.metadata.get(SUBMISSION) for entry in self._source.algorithms()}
        shown = {"state": "published", "message": "published"}
        return [replace(job, **shown) if job.state == "done" and job.id in public else job for job in found]

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

    def task(self) -> Task:
        """What submissions are evaluated on now: the first protocol with scores on their dataset."""
        dataset = self.dataset()
        record = self._source.protocol(dataset=dataset.name)
        if record.protocol is None:
            raise StoreError(f"The store knows only the hash {record.key}; submissions need the whole protocol.")
        hidden = frozenset(scene.id for scene in dataset if self.hidden(scene.id, dataset.name))
        columns = tuple(column.versioned for column in self._source.cube(record.key).columns)
        return Task(dataset, hidden, record.protocol, columns)

    # accepting an upload

    @contextmanager
    def uploading(self, submitter: str) -> Iterator[Path]:
        """The folder of a new upload, whose name is its id; one that fails leaves nothing and costs nothing."""
        if submitter in self._uploading:
            raise RefusedError("Another upload with this token is under way; send one after the other.", 429)
        if len(self._uploading) >= self.rules.uploads_at_once:
            raise RefusedError("Too many uploads at the moment; try again in a minute.", 503, SOON)
        self._uploading.add(submitter)
        folder = self.folder / secrets.token_hex(IDENTIFIER_BYTES)
        try:
            folder.mkdir(mode=0o700)
            yield folder
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            self._uploading.discard(submitter)

    def check_upload(self, name: str, submitter: str) -> str:
        """The name as tables will show it; refuses one of somebody else, and what could not be evaluated or stored."""
        rules = self.rules
        text = " ".join(part for part in name.split(" ") if part)
        if not NAME.fullmatch(text) or text.lower().endswith(SUBMITTED_MARK):
            raise RefusedError(
                "The name of an algorithm has 1 to 80 letters (A-Z, a-z), digits, spaces and -_.()+, and does not end "
                f"with {SUBMITTED_MARK!r}; found {name[:80]!r}."
            )
        known = self.jobs.known()
        own = {one.id: one for one in known if one.submitter == submitter}
        for entry in self._store.algorithms():
            if name_key(entry.name) == name_key(text) and entry.metadata.get(SUBMISSION) not in own:
                raise RefusedError(f"There is an algorithm called {entry.name!r} already; choose another name.", 409)
        if self.evaluations.trouble or not self.evaluations.running:
            raise RefusedError(NOT_NOW, 503, SOON)
        if shutil.disk_usage(self.folder).free < rules.least_free + rules.largest_bytes:
            raise RefusedError("The server's disk is full; try again later.", 503, SOON)
        if sum(one.state in OPEN for one in known) >= rules.most_waiting:
            raise RefusedError("The queue is full; try again later.", 503, SOON)
        if sum(one.size for one in known) >= rules.total_quota:
            raise RefusedError("The space for submissions is used up; the host must make room.", 503, SOON)
        if sum(one.state == "held" for one in own.values()) >= rules.most_held:
            raise RefusedError("The host must look at your held submissions first; withdraw some, or wait.", 429)
        if sum(one.size for one in own.values()) >= rules.quota:
            raise RefusedError(f"Your submissions use {rules.quota >> 20} MiB; withdraw some of them.", 429)
        if not self.jobs.left(submitter):
            hours = f"{rules.period_hours:g}"
            raise RefusedError(f"{rules.per_period} submissions were made in the last {hours} hours.", 429)
        return text

    def enqueue(self, folder: Path, submitter: str, name: str, description: str, link: str) -> Job:
        """Put an upload into the queue; unpublished earlier submissions of the same name are withdrawn."""
        upload = folder / UPLOAD
        try:
            if not zipfile.is_zipfile(upload):
                raise RefusedError("The upload is not a zip file, or it was cut off.")
            if not member_names(upload, self.rules.archive):
                raise RefusedError("The zip holds no files.")
        except (DatasetError, FileError) as refusal:
            raise RefusedError(str(refusal).replace(str(upload), "The zip")) from None
        job = Job(folder.name, submitter, time.time(), name, description, link, size=upload.stat().st_size)
        with self._publishing:
            mine = self.of(submitter)
            replaced = [one.id for one in mine if one.name == name and one.state != "published"]
            self.jobs.add(job, replaced)
        self._discard(replaced)
        self.evaluations.wake.set()
        return job

    # results

    def publish(self, job: Job) -> Job:
        """Write a finished submission into the store in one transaction; an earlier one of the same name is removed."""
        with self._publishing:
            mine = {one.id: one for one in self.of(job.submitter)}
            state = mine[job.id].state if job.id in mine else "withdrawn"
            if state != "done":
                raise RefusedError(f"Only a finished submission can be published; this one is {state}.", 409)
            same = [one for one in mine.values() if name_key(one.name) == name_key(job.name)]
            earlier = [one.id for one in same if one.state == "published"]
            task, maps = self.task(), [MapRecord(**row) for row in job.maps]
            try:
                self._store.publish(
                    job.name, ScoreTable(_scores(job)), submission=job.id, replaces=earlier, protocol=task.protocol,
                    maps=maps, description=job.description, link=job.link,
                )  # fmt: skip
            except NameTaken as taken:
                raise RefusedError(str(taken), 409) from None
            finally:
                self._source.refresh()
        try:
            self.jobs.remove(earlier)
        except StoreError as problem:  # they are private submissions until their owner withdraws them
            log.error("Submission %s is published, but %s could not be removed: %s", job.id, earlier, problem)
        else:
            self._discard(earlier)
        return self._now([mine[job.id]])[0]

    def withdraw(self, job: Job) -> None:
        """Delete a submission, whether it is queued, finished or published."""
        with self._publishing:
            now = self.get(job.id)
            if now is not None and now.state == "published":
                self._store.withdraw(job.id)
                self._source.refresh()
            self.jobs.remove([job.id])
        self._discard([job.id])

    def _discard(self, identifiers: list[str]) -> None:
        """Remove the files of submissions."""
        for identifier in identifiers:
            shutil.rmtree(self.folder / identifier, ignore_errors=True)


def _scores(job: Job) -> list[Score]:
    """The scores of a submission; an earlier version kept null in place of NaN."""
    return [Score(**{**row, "value": math.nan if row["value"] is None else row["value"]}) for row in job.scores]


def only_server(folder: Path) -> IO[bytes] | None:
    """A lock that says that this is the only server of the folder, held until it is closed."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return None
    file = open(folder / "server.lock", "ab", opener=for_owner)  # noqa: SIM115 - open as long as the server runs
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise StereogaugeError(
            f"Another server uses {folder} for its submissions; give this one another --data."
        ) from None
    return file
