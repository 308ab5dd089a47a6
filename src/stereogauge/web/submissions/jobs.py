"""The queue of submissions, its limits, and the tokens of submitters, in SQL.

What was accepted is worked on even when the server was stopped:

    queued → validating → evaluating → done
      ↑          ↓            ↓
      └──── held, or invalid, failed

A done submission is published where the store shows it; that is no state of its own, so that both cannot disagree.
Tokens are kept only as hashes, so that a stolen database is of no use.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from typing import Any

import sqlalchemy as sql
from msgspec import Struct
from msgspec.structs import asdict, fields
from sqlalchemy import JSON, Column, Float, Integer, MetaData, Table, Text
from sqlalchemy.engine import Connection

from stereogauge.datasets.archives import Limits
from stereogauge.errors import StereogaugeError
from stereogauge.store.engine import Database
from stereogauge.web.errors import RefusedError

WORKING = ("validating", "evaluating")
OPEN = ("queued", *WORKING)
QUEUED: dict[str, Any] = {"state": "queued", "progress": 0.0, "message": "waiting for its turn"}
HELD: dict[str, Any] = {
    "state": "held",
    "progress": 0.0,
    "message": "could not be evaluated so far; the host was informed, and it costs no attempt while it is held",
}
WITHDRAWN: dict[str, Any] = {"withdrawn": 1, "name": "", "description": "", "link": "", "message": ""}
WITHDRAWN |= {"findings": [], "scores": [], "maps": []}
MOST_LOSSES = 3
"""Starts that may end without a result before a submission is held for the host."""
LONGEST_NAME = 80
MOST_CLIENTS = 10_000


class Rules(Struct, frozen=True):
    """Limits: sizes in bytes, times in seconds unless the name says hours; `hidden` are patterns of hidden scenes.

    Within each `stall_seconds` of an upload at least `least_rate` bytes per second must arrive. `quota` is the disk
    space of all that one submitter has here, `total_quota` that of all submitters; nothing is taken while fewer than
    `least_free` bytes of the disk are free. Of the uploads that are found invalid, `free_invalid` per period do not
    count as submissions. `watched_at_once` are the streams of progress that one submitter may hold open.
    """

    per_period: int = 10
    period_hours: float = 24.0
    largest_bytes: int = 512 << 20
    largest_unpacked: int = 4 << 30
    most_entries: int = 2000
    seconds: float = 3600.0
    upload_seconds: float = 900.0
    stall_seconds: float = 10.0
    least_rate: int = 64 << 10
    memory_bytes: int = 16 << 30
    most_waiting: int = 100
    most_held: int = 3
    uploads_at_once: int = 32
    watched_at_once: int = 4
    quota: int = 16 << 30
    total_quota: int = 256 << 30
    least_free: int = 1 << 30
    failures_allowed: int = 10
    failure_seconds: float = 300.0
    database_seconds: float = 30.0
    hidden: tuple[str, ...] = ()
    free_invalid: int = 20

    @property
    def archive(self) -> Limits:
        """What a zip may hold."""
        return Limits(entries=self.most_entries, size=self.largest_unpacked)


class Job(Struct, frozen=True):
    """One submission, which is one row of the queue; `findings`, `scores` and `maps` are lists of plain values.

    `size` is what its files take. `began` is when its evaluation last began, `losses` counts the evaluations that ended
    without a result and without a fault of the upload. `withdrawn` is 1 for one that exists no more and is kept for a
    period because it counts.
    """

    id: str
    submitter: str
    created: float
    name: str = ""
    description: str = ""
    link: str = ""
    state: str = "queued"
    progress: float = 0.0
    message: str = QUEUED["message"]
    findings: list[dict[str, Any]] = []
    scores: list[dict[str, Any]] = []
    maps: list[dict[str, Any]] = []
    size: int = 0
    began: float = 0.0
    losses: int = 0
    withdrawn: int = 0

    @property
    def open(self) -> bool:
        """Whether there is still work to do."""
        return self.state in OPEN


metadata = MetaData()
"""The tables behind submissions, in a separate database, so that a store can be copied without them."""
KINDS = {str: Text, float: Float, int: Integer}
jobs = Table(
    "jobs",
    metadata,
    *(Column(one.name, KINDS.get(one.type, JSON), primary_key=one.name == "id", nullable=False) for one in fields(Job)),
    sql.Index("jobs_by_submitter", "submitter", "created"),
    sql.Index("jobs_by_state", "state", "created"),
)
tokens = Table(
    "tokens",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("submitter", Text, nullable=False),
    Column("issued", Float, nullable=False),
)


class Jobs:
    """The table of submissions: one row each, which stays while it counts among those of its submitter."""

    def __init__(self, database: Database, rules: Rules) -> None:
        self._database = database
        self._rules = rules

    def read(self, **wanted: str) -> list[Job]:
        """The submissions whose columns have these values, the newest first."""
        known = sql.select(jobs).where(jobs.c.withdrawn == 0).filter_by(**wanted).order_by(jobs.c.created.desc())
        with self._database.reading() as connection:
            return [Job(**row._mapping) for row in connection.execute(known)]

    def known(self) -> Sequence[Any]:
        """Id, submitter, state and size of every submission."""
        columns = sql.select(jobs.c.id, jobs.c.submitter, jobs.c.state, jobs.c.size).where(jobs.c.withdrawn == 0)
        with self._database.reading() as connection:
            return connection.execute(columns).all()

    def add(self, job: Job, replaced: Collection[str]) -> None:
        """Put a submission at the end of the queue and withdraw those that it replaces; forget what counts no more."""
        forgotten = (jobs.c.withdrawn == 1) & (jobs.c.created < self._since())
        with self._database.writing() as connection:
            connection.execute(jobs.delete().where(forgotten))
            connection.execute(jobs.update().where(jobs.c.id.in_(replaced)).values(**WITHDRAWN))
            connection.execute(jobs.insert().values(**asdict(job)))

    def take(self) -> Job | None:
        """Begin with the submission whose submitter has waited longest for a turn, of those the one that came first.

        What is marked as being worked on was left by an error or by a stop of the server, and is queued again.
        """
        other = jobs.alias()
        last = sql.select(sql.func.max(other.c.began)).where(other.c.submitter == jobs.c.submitter).scalar_subquery()
        queued = (jobs.c.state == "queued") & (jobs.c.withdrawn == 0)
        started = {"state": "validating", "message": "reading the zip", "began": time.time()}
        with self._database.writing() as connection:
            connection.execute(jobs.update().where(jobs.c.state.in_(WORKING)).values(**QUEUED))
            found = connection.execute(sql.select(jobs).where(queued).order_by(last, jobs.c.created).limit(1)).first()
            if found is not None:
                connection.execute(jobs.update().where(jobs.c.id == found.id).values(**started))
        return None if found is None else Job(**{**found._mapping, **started})

    def change(self, identifier: str, **values: Any) -> bool:
        """Change parts of a submission that is being worked on; False, and no change, where it is not."""
        return self._changed(jobs.c.id == identifier, jobs.c.state.in_(WORKING), **values)

    def _changed(self, *wanted: Any, **values: Any) -> bool:
        with self._database.writing() as connection:
            changed = jobs.update().where(jobs.c.withdrawn == 0, *wanted).values(**values)
            return bool(connection.execute(changed).rowcount)

    def lose(self, job: Job) -> bool:
        """Queue a submission again after a start without a result; held after the third. Returns whether it is held."""
        held = job.losses + 1 >= MOST_LOSSES
        return self.change(job.id, losses=job.losses + 1, **(HELD if held else QUEUED)) and held

    def release(self) -> None:
        """Queue what was held again, after a start of the server."""
        self._changed(jobs.c.state == "held", losses=0, **QUEUED)

    def remove(self, identifiers: Collection[str]) -> None:
        """Withdraw submissions; nothing is kept of them but that they were made."""
        self._changed(jobs.c.id.in_(identifiers), **WITHDRAWN)

    def left(self, submitter: str) -> int:
        """The number of submissions that the submitter may still make now."""
        made = self._made(submitter)
        free = made["held"] + min(made["invalid"], self._rules.free_invalid)
        return max(0, self._rules.per_period - made.total() + free)

    def forgives(self, submitter: str) -> bool:
        """Whether one more invalid submission is free.

        Only some of them are free in a period: each costs time, and its findings tell a little about hidden truth.
        """
        return self._made(submitter)["invalid"] < self._rules.free_invalid

    def _since(self) -> float:
        return time.time() - 3600.0 * self._rules.period_hours

    def _made(self, submitter: str) -> Counter[str]:
        """The states of the submissions of the period, withdrawn ones included."""
        made = sql.select(jobs.c.state).where(jobs.c.submitter == submitter, jobs.c.created > self._since())
        with self._database.reading() as connection:
            return Counter(connection.execute(made).scalars())


class Tokens:
    """Issues, revokes and recognises tokens; an address may try only a few wrong ones in a period."""

    def __init__(self, database: Database, rules: Rules, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._rules = rules
        self._clock = clock
        self._failures: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def issue(self, submitter: str) -> str:
        """A new token for a submitter, 256 random bits; it cannot be shown again."""
        if not submitter.strip() or len(submitter) > LONGEST_NAME or not submitter.isprintable():
            raise StereogaugeError(f"A submitter has a name of 1 to {LONGEST_NAME} letters; found {submitter!r}.")
        token = f"sg_{secrets.token_urlsafe(32)}"
        with self._database.writing() as connection:
            row = tokens.insert().values(hash=_hash(token), submitter=submitter, issued=time.time())
            connection.execute(row)
        return token

    def revoke(self, submitter: str) -> int:
        """Delete the tokens of a submitter; returns their number."""
        with self._database.writing() as connection:
            return int(connection.execute(tokens.delete().where(tokens.c.submitter == submitter)).rowcount)

    def submitter(self, authorization: str, client: str) -> str:
        """The owner of the token in a request's header; wrong tokens are limited by address, a right one passes.

        It is looked up by its hash, so that timing reveals nothing.
        """
        kind, _, token = authorization.partition(" ")
        if kind.lower() != "bearer" or not token:
            raise RefusedError("A submission needs a token: Authorization: Bearer TOKEN.", 401)
        with self._database.reading() as connection:
            query = sql.select(tokens.c.submitter).where(tokens.c.hash == _hash(token.strip()))
            found = connection.execute(query).scalar()
        if found is None:
            self._refuse(client)
        return str(found)

    def _refuse(self, client: str) -> None:
        """Count a wrong token of an address and refuse it."""
        most, now = self._rules.failures_allowed, self._clock()
        with self._lock:
            if client not in self._failures and len(self._failures) >= MOST_CLIENTS:
                self._failures.pop(next(iter(self._failures)))
            times = self._failures.setdefault(client, deque(maxlen=most))
            wait = times[0] + self._rules.failure_seconds - now if len(times) == most else 0.0
            if wait > 0:
                raise RefusedError("Too many wrong tokens from this address; wait and try again.", 429, wait)
            times.append(now)
        raise RefusedError("This token is not known here.", 401)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def prepare(connection: Connection) -> None:
    """Make the tables, and bring a queue of an earlier version up to date; the store says which are published."""
    metadata.create_all(connection)
    present = {column["name"] for column in sql.inspect(connection).get_columns(jobs.name)}
    for one in fields(Job):
        if one.name not in present:
            kind = jobs.c[one.name].type.compile(connection.dialect)
            default = "[]" if kind == "JSON" else one.default
            connection.exec_driver_sql(f"ALTER TABLE jobs ADD COLUMN {one.name} {kind} NOT NULL DEFAULT '{default}'")
    connection.execute(jobs.update().where(jobs.c.state.in_(("published", "publishing"))).values(state="done"))
    connection.execute(jobs.delete().where(jobs.c.state == "uploading"))
