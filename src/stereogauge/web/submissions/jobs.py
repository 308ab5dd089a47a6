"""The queue of submissions, in SQL: what was accepted is worked on even when the server was stopped in between."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sql

from stereogauge.store.engine import Database
from stereogauge.web.submissions.schema import jobs

State = Literal["queued", "validating", "evaluating", "invalid", "failed", "done", "published"]
WORKING: tuple[State, ...] = ("validating", "evaluating")
LISTS = ("findings", "scores", "maps")
"""What is kept as JSON."""
OPEN: tuple[State, ...] = ("queued", *WORKING)


@dataclass(frozen=True)
class Job:
    """One submission. `findings`, `scores` and `maps` are lists of plain values."""

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

    @property
    def open(self) -> bool:
        """Whether there is still work to do."""
        return self.state in OPEN


def new_identifier() -> str:
    """An id that nobody guesses, fit for a folder's name."""
    return secrets.token_hex(12)


class Jobs:
    """The table of submissions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, identifier: str, submitter: str, name: str, description: str, link: str) -> Job:
        """A new submission at the end of the queue."""
        row = {
            "id": identifier,
            "submitter": submitter,
            "name": name,
            "description": description,
            "link": link,
            "state": "queued",
            "message": "waiting for its turn",
            "created": time.time(),
        }
        with self._database.writing() as connection:
            connection.execute(jobs.insert().values(**row))
        return self._read(sql.select(jobs).where(jobs.c.id == identifier))[0]

    def _read(self, query: sql.Select[Any]) -> list[Job]:
        with self._database.reading() as connection:
            rows = connection.execute(query).mappings().all()
        return [Job(**{**row, **{name: json.loads(row[name]) for name in LISTS}}) for row in rows]

    def get(self, identifier: str) -> Job | None:
        """The submission with this id."""
        return next(iter(self._read(sql.select(jobs).where(jobs.c.id == identifier))), None)

    def of(self, submitter: str) -> list[Job]:
        """Everything that one submitter has here, the newest first."""
        return self._read(sql.select(jobs).where(jobs.c.submitter == submitter).order_by(jobs.c.created.desc()))

    def change(self, identifier: str, **values: Any) -> None:
        """Change parts of a submission; lists are kept as JSON."""
        plain = {key: json.dumps(value) if isinstance(value, list) else value for key, value in values.items()}
        with self._database.writing() as connection:
            connection.execute(jobs.update().where(jobs.c.id == identifier).values(**plain))

    def remove(self, identifier: str) -> None:
        """Forget a submission."""
        with self._database.writing() as connection:
            connection.execute(jobs.delete().where(jobs.c.id == identifier))

    def next(self) -> Job | None:
        """The one that has waited longest."""
        query = sql.select(jobs).where(jobs.c.state == "queued").order_by(jobs.c.created).limit(1)
        return next(iter(self._read(query)), None)

    def waiting(self) -> int:
        """How many are queued or being worked on."""
        query = sql.select(sql.func.count()).select_from(jobs).where(jobs.c.state.in_(OPEN))
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def resume(self) -> int:
        """Put what was being worked on when the server stopped back into the queue; returns how many that were."""
        again = jobs.update().where(jobs.c.state.in_(WORKING)).values(state="queued", progress=0.0)
        with self._database.writing() as connection:
            return int(connection.execute(again).rowcount)
