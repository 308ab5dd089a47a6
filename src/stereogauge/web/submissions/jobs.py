"""The queue of submissions, in SQL: what was accepted is worked on even when the server was stopped in between."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sql

from stereogauge.store.engine import Database
from stereogauge.web.submissions.schema import jobs, turns

State = Literal[
    "queued", "validating", "evaluating", "held", "invalid", "failed", "done", "publishing", "published"
]  # fmt: skip
WORKING: tuple[State, ...] = ("validating", "evaluating")
LISTS = ("findings", "scores", "maps")
"""What is kept as JSON."""
OPEN: tuple[State, ...] = ("queued", *WORKING)
ENDED: tuple[State, ...] = ("invalid", "failed")
"""States of which no file is kept."""
WAITING = "waiting for its turn"
MOST_LOSSES = 3
"""Starts that may end without a result before a submission is held for the host."""
HELD = "could not be evaluated so far; the host was told, and it costs no attempt"


@dataclass(frozen=True)
class Job:
    """One submission. `findings`, `scores` and `maps` are lists of plain values; `attempt` counts its evaluations, and
    `losses` those that ended without a result and without a fault of the upload.
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
    attempt: int
    losses: int

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
            "message": WAITING,
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

    def states(self) -> dict[str, str]:
        """The state of every submission by its id."""
        with self._database.reading() as connection:
            return {row.id: row.state for row in connection.execute(sql.select(jobs.c.id, jobs.c.state))}

    def change(self, identifier: str, *, attempt: int | None = None, **values: Any) -> bool:
        """Change parts of a submission; lists are kept as JSON. False, and no change, where there is none any more.

        With `attempt`, what that start of the evaluation reports; it counts only while no later one has begun.
        """
        plain = {key: json.dumps(value) if isinstance(value, list) else value for key, value in values.items()}
        wanted = [jobs.c.id == identifier]
        if attempt is not None:
            wanted += [jobs.c.attempt == attempt, jobs.c.state.in_(WORKING)]
        with self._database.writing() as connection:
            return bool(connection.execute(jobs.update().where(*wanted).values(**plain)).rowcount)

    def remove(self, identifier: str) -> None:
        """Forget a submission."""
        with self._database.writing() as connection:
            connection.execute(jobs.delete().where(jobs.c.id == identifier))

    def next(self) -> Job | None:
        """The submission whose submitter has waited longest for a turn, of those the one that came first."""
        queued = sql.select(jobs.c.id, jobs.c.submitter, jobs.c.created).where(jobs.c.state == "queued")
        with self._database.reading() as connection:
            rows = connection.execute(queued).all()
            last = {row.submitter: row.at for row in connection.execute(sql.select(turns.c.submitter, turns.c.at))}
        if not rows:
            return None
        return self.get(min(rows, key=lambda row: (last.get(row.submitter, 0.0), row.created)).id)

    def begin(self, job: Job) -> int | None:
        """Take a submission out of the queue; returns the number of this attempt, None where it was withdrawn."""
        with self._database.writing() as connection:
            taken = connection.execute(
                jobs.update()
                .where(jobs.c.id == job.id, jobs.c.state == "queued", jobs.c.attempt == job.attempt)
                .values(state="validating", attempt=job.attempt + 1, progress=0.0, message="unpacking")
            )
            if not taken.rowcount:
                return None
            connection.execute(turns.delete().where(turns.c.submitter == job.submitter))
            connection.execute(turns.insert().values(submitter=job.submitter, at=time.time()))
            return job.attempt + 1

    def lose(self, identifier: str, attempt: int) -> bool:
        """Queue a submission again after a start without a result; held after the third. Returns whether it is held."""
        mine = (jobs.c.id == identifier, jobs.c.attempt == attempt, jobs.c.state.in_(WORKING))
        with self._database.writing() as connection:
            losses = connection.execute(sql.select(jobs.c.losses).where(*mine)).scalar()
            if losses is None:
                return False
            held: bool = losses + 1 >= MOST_LOSSES
            values = {"state": "held", "message": HELD} if held else {"state": "queued", "message": WAITING}
            connection.execute(jobs.update().where(*mine).values(losses=losses + 1, progress=0.0, **values))
            return held

    def waiting(self) -> int:
        """How many are queued or being worked on."""
        query = sql.select(sql.func.count()).select_from(jobs).where(jobs.c.state.in_(OPEN))
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def resume(self, states: Iterable[State] = WORKING) -> int:
        """Put what was being worked on when the server stopped back into the queue; returns how many that were."""
        again = {"state": "queued", "progress": 0.0, "message": WAITING}
        if "held" in states:
            again["losses"] = 0
        with self._database.writing() as connection:
            found = connection.execute(jobs.update().where(jobs.c.state.in_(tuple(states))).values(**again))
            return int(found.rowcount)
