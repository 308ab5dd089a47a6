"""The queue of submissions, in SQL, and its limits: what was accepted is worked on even when the server was stopped.

    uploading → queued → validating → evaluating → done
                  ↑           ↓            ↓
                  └──── held, or invalid, failed

A done submission is published where the store shows it; that is no state of its own, so that both cannot disagree.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import sqlalchemy as sql
from msgspec import Struct
from sqlalchemy import JSON, Column, Float, Index, Integer, MetaData, String, Table, Text
from sqlalchemy.engine import Connection, Row

from stereogauge.store.engine import Database
from stereogauge.web.errors import RefusedError

metadata = MetaData()
"""The tables behind submissions, in a separate database, so that a store can be copied without them."""

jobs = Table(
    "jobs",
    metadata,
    Column("id", String, primary_key=True),
    Column("submitter", String, nullable=False),
    Column("name", String, nullable=False, server_default=""),
    Column("description", Text, nullable=False, server_default=""),
    Column("link", String, nullable=False, server_default=""),
    Column("state", String, nullable=False),
    Column("progress", Float, nullable=False, server_default="0"),
    Column("message", Text, nullable=False, server_default=""),
    Column("findings", JSON, nullable=False, server_default="[]"),
    Column("scores", JSON, nullable=False, server_default="[]"),
    Column("maps", JSON, nullable=False, server_default="[]"),
    Column("created", Float, nullable=False),
    # When its evaluation last began; of several submitters, the one who waited longest is next.
    Column("began", Float, nullable=False, server_default="0"),
    # Counts the starts that ended through no fault of the upload that could be named.
    Column("losses", Integer, nullable=False, server_default="0"),
    # 1 for one that exists no more, and is kept for a period because it counts.
    Column("withdrawn", Integer, nullable=False, server_default="0"),
    Index("jobs_by_submitter", "submitter", "created"),
    Index("jobs_by_state", "state", "created"),
)

State = Literal["uploading", "queued", "validating", "evaluating", "held", "invalid", "failed", "done", "published"]
WORKING: tuple[State, ...] = ("validating", "evaluating")
OPEN: tuple[State, ...] = ("queued", *WORKING)
LISTS = ("findings", "scores", "maps")
QUEUED: dict[str, Any] = {"state": "queued", "progress": 0.0, "message": "waiting for its turn"}
HELD: dict[str, Any] = {
    "state": "held",
    "progress": 0.0,
    "message": "could not be evaluated so far; the host was informed, and it costs no attempt while it is held",
}
MOST_LOSSES = 3
"""Starts that may end without a result before a submission is held for the host."""


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


class Job(Struct, frozen=True):
    """One submission. `findings`, `scores` and `maps` are lists of plain values; `losses` counts the evaluations that
    ended without a result and without a fault of the upload.
    """

    id: str
    submitter: str
    name: str
    description: str
    link: str
    state: str
    progress: float
    message: str
    findings: list[dict[str, Any]]
    scores: list[dict[str, Any]]
    maps: list[dict[str, Any]]
    created: float
    began: float
    losses: int
    withdrawn: int

    @property
    def open(self) -> bool:
        """Whether there is still work to do."""
        return self.state in OPEN


def new_identifier() -> str:
    """An id that cannot be guessed, usable as a folder's name."""
    return secrets.token_hex(12)


class Jobs:
    """The table of submissions: one row each, which stays while it counts among those of its submitter."""

    def __init__(self, database: Database, rules: Rules) -> None:
        self._database = database
        self._rules = rules

    # reading

    def _rows(self, query: sql.Select[Any]) -> Sequence[Row[Any]]:
        with self._database.reading() as connection:
            return connection.execute(query).all()

    def _read(self, *wanted: Any) -> list[Job]:
        known = (jobs.c.withdrawn == 0, jobs.c.state != "uploading")
        query = sql.select(jobs).where(*known, *wanted).order_by(jobs.c.created.desc())
        return [Job(**row._mapping) for row in self._rows(query)]

    def get(self, identifier: str) -> Job | None:
        """The submission with this id."""
        return next(iter(self._read(jobs.c.id == identifier)), None)

    def of(self, submitter: str) -> list[Job]:
        """Everything that one submitter has here, the newest first."""
        return self._read(jobs.c.submitter == submitter)

    def owners(self) -> dict[str, tuple[str, str]]:
        """The submitter and the state of every submission by its id."""
        query = sql.select(jobs.c.id, jobs.c.submitter, jobs.c.state).where(jobs.c.withdrawn == 0)
        return {row.id: (row.submitter, row.state) for row in self._rows(query)}

    def waiting(self) -> int:
        """How many are queued or being worked on."""
        return len(self._rows(sql.select(jobs.c.id).where(jobs.c.state.in_(OPEN), jobs.c.withdrawn == 0)))

    # from an upload to a result

    def reserve(self, submitter: str, identifier: str) -> None:
        """Begin an upload if the submitter has one left and no other under way, all in one transaction."""
        cut_off = (jobs.c.state == "uploading") & (jobs.c.created < time.time() - 2 * self._rules.upload_seconds)
        forgotten = (jobs.c.withdrawn == 1) & (jobs.c.created < self._since())
        with self._database.writing() as connection:
            connection.execute(jobs.delete().where(forgotten | cut_off))
            made = Counter(connection.execute(self._made(submitter)).scalars())
            if made["uploading"]:
                raise RefusedError("Another upload with this token is under way; send one after the other.", 429)
            if not self._left(made):
                hours, count = f"{self._rules.period_hours:g}", self._rules.per_period
                raise RefusedError(f"{count} submissions were made in the last {hours} hours.", 429)
            row = {"id": identifier, "submitter": submitter, "state": "uploading", "created": time.time()}
            connection.execute(jobs.insert().values(**row))

    def release(self, *wanted: str) -> None:
        """Forget uploads that were refused, or all that are under way: they cost nothing."""
        chosen = jobs.c.id.in_(wanted) if wanted else jobs.c.state == "uploading"
        with self._database.writing() as connection:
            connection.execute(jobs.delete().where(chosen))

    def add(self, identifier: str, name: str, description: str, link: str) -> None:
        """Put an upload at the end of the queue."""
        self.change(identifier, name=name, description=description, link=link, created=time.time(), **QUEUED)

    def next(self) -> Job | None:
        """The submission whose submitter has waited longest for a turn, of those the one that came first."""
        turns = sql.select(jobs.c.submitter, sql.func.max(jobs.c.began).label("last")).group_by(jobs.c.submitter)
        last = turns.subquery()
        query = (
            sql.select(jobs.c.id)
            .join(last, last.c.submitter == jobs.c.submitter)
            .where(jobs.c.state == "queued", jobs.c.withdrawn == 0)
            .order_by(last.c.last, jobs.c.created)
            .limit(1)
        )
        found = self._rows(query)
        return self.get(found[0].id) if found else None

    def begin(self, job: Job) -> bool:
        """Take a submission out of the queue; False where it is there no more."""
        started = {"state": "validating", "message": "reading the zip", "began": time.time()}
        return self._changed((jobs.c.id == job.id, jobs.c.state == "queued"), started)

    def change(self, identifier: str, *, working: bool = False, **values: Any) -> bool:
        """Change parts of a submission, with `working` only of one that is being worked on.

        False, and no change, where there is none.
        """
        states = (jobs.c.state.in_(WORKING),) if working else ()
        return self._changed((jobs.c.id == identifier, *states), values)

    def _changed(self, wanted: Iterable[Any], values: dict[str, Any]) -> bool:
        with self._database.writing() as connection:
            changed = jobs.update().where(jobs.c.withdrawn == 0, *wanted).values(**values)
            return bool(connection.execute(changed).rowcount)

    def lose(self, job: Job) -> bool:
        """Queue a submission again after a start without a result; held after the third. Returns whether it is held."""
        held = job.losses + 1 >= MOST_LOSSES
        after = HELD if held else QUEUED
        return self.change(job.id, working=True, losses=job.losses + 1, **after) and held

    def resume(self) -> None:
        """Put back into the queue what is marked as being worked on: an error or a stop of the server left it so."""
        self._changed([jobs.c.state.in_(WORKING)], QUEUED)

    def restart(self) -> None:
        """Begin after a start of the server: what was held is tried again, and no upload is under way."""
        self._changed([jobs.c.state.in_((*WORKING, "held"))], {**QUEUED, "losses": 0})
        self.release()

    def remove(self, *identifiers: str) -> None:
        """Withdraw submissions; nothing is kept of them but that they were made."""
        nothing = {"name": "", "description": "", "link": "", "message": "", **{name: [] for name in LISTS}}
        self._changed([jobs.c.id.in_(identifiers)], {**nothing, "withdrawn": 1})

    # what a submitter may still do

    def left(self, submitter: str) -> int:
        """The number of submissions that the submitter may still make now."""
        return self._left(self._counted(submitter))

    def forgives(self, submitter: str) -> bool:
        """Whether one more invalid submission is free.

        Only some of them are free in a period: each costs time, and its findings tell a little about hidden truth.
        """
        return self._counted(submitter)["invalid"] < self._rules.free_invalid

    def _since(self) -> float:
        return time.time() - 3600.0 * self._rules.period_hours

    def _made(self, submitter: str) -> sql.Select[Any]:
        """The states of the submissions of the period, withdrawn ones included."""
        return sql.select(jobs.c.state).where(jobs.c.submitter == submitter, jobs.c.created > self._since())

    def _counted(self, submitter: str) -> Counter[str]:
        return Counter(row.state for row in self._rows(self._made(submitter)))

    def _left(self, made: Counter[str]) -> int:
        free = made["held"] + min(made["invalid"], self._rules.free_invalid)
        return max(0, self._rules.per_period - made.total() + free)


OF_EARLIER_VERSIONS = ("attempts", "turns", "published_names")
"""Tables of what a submission's own row says now."""


def prepare(connection: Connection) -> None:
    """Make the tables, and bring those of an earlier version up to date."""
    metadata.create_all(connection)
    for table in metadata.sorted_tables:
        present = {column["name"] for column in sql.inspect(connection).get_columns(table.name)}
        for column in table.columns:
            if column.name not in present:
                kind = column.type.compile(connection.dialect)
                default = column.server_default.arg if isinstance(column.server_default, sql.DefaultClause) else ""
                added = f"ALTER TABLE {table.name} ADD COLUMN {column.name} {kind} NOT NULL DEFAULT '{default}'"
                connection.exec_driver_sql(added)
    # The store says which are public.
    connection.exec_driver_sql("UPDATE jobs SET state = 'done' WHERE state IN ('published', 'publishing')")
    known = sql.inspect(connection).get_table_names()
    if "attempts" in known:  # those without a submission were withdrawn, and still count
        connection.exec_driver_sql(
            "INSERT INTO jobs (id, submitter, name, state, created, withdrawn) "
            "SELECT job, submitter, '', CASE invalid WHEN 1 THEN 'invalid' ELSE 'done' END, at, 1 FROM attempts "
            "WHERE job <> '' AND job NOT IN (SELECT id FROM jobs)"
        )
    for name in set(OF_EARLIER_VERSIONS).intersection(known):
        connection.exec_driver_sql(f"DROP TABLE {name}")
