"""The number of submissions per submitter; a withdrawn one still counts, one that was found invalid does not."""

from __future__ import annotations

import time

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from stereogauge.store.engine import Database
from stereogauge.web.submissions.schema import attempts


class Attempts:
    """Counts submissions within the last period."""

    def __init__(self, database: Database, per_period: int, period_hours: float, free_invalid: int) -> None:
        self._database = database
        self._per_period = per_period
        self._seconds = 3600.0 * period_hours
        self._free_invalid = free_invalid

    def left(self, submitter: str) -> int:
        """The number of submissions that the submitter may still make now."""
        with self._database.reading() as connection:
            return self._left(connection, submitter)

    def _left(self, connection: Connection, submitter: str) -> int:
        return max(0, self._per_period - self._made(connection, submitter, invalid=0))

    def _made(self, connection: Connection, submitter: str, invalid: int) -> int:
        query = (
            sql.select(sql.func.count())
            .select_from(attempts)
            .where(
                attempts.c.submitter == submitter,
                attempts.c.at > time.time() - self._seconds,
                attempts.c.invalid == invalid,
            )
        )
        return int(connection.execute(query).scalar_one())

    def reserve(self, submitter: str, job: str) -> bool:
        """Count one more submission if there is one left; both in one transaction, so that none slips in between."""
        with self._database.writing() as connection:
            if self._left(connection, submitter) < 1:
                return False
            connection.execute(attempts.insert().values(submitter=submitter, at=time.time(), job=job))
            return True

    def forgive(self, job: str) -> bool:
        """Do not count a submission that was found invalid; returns whether it is free.

        Only so many of them are free in a period: each costs time, and its findings tell a little about hidden truth.
        """
        mine = attempts.c.job == job
        with self._database.writing() as connection:
            made = connection.execute(sql.select(attempts.c.submitter, attempts.c.invalid).where(mine)).first()
            if made is None or made.invalid:
                return made is not None
            if self._made(connection, made.submitter, invalid=1) >= self._free_invalid:
                return False
            connection.execute(attempts.update().where(mine).values(invalid=1))
            return True

    def release(self, job: str) -> None:
        """Give back what a submission cost: its upload was refused, or the host could not evaluate it."""
        with self._database.writing() as connection:
            connection.execute(attempts.delete().where(attempts.c.job == job))
