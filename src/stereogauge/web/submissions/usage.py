"""The number of submissions per submitter; a withdrawn one still counts."""

from __future__ import annotations

import time

import sqlalchemy as sql
from sqlalchemy import Column, Float, Index, String, Table

from stereogauge.store.engine import Database
from stereogauge.web.submissions.schema import metadata

attempts = Table(
    "attempts",
    metadata,
    Column("submitter", String, nullable=False),
    Column("at", Float, nullable=False),
    Index("attempts_by_submitter", "submitter", "at"),
)


class Attempts:
    """Counts submissions within the last period."""

    def __init__(self, database: Database, per_period: int, period_hours: float) -> None:
        self._database = database
        self._per_period = per_period
        self._seconds = 3600.0 * period_hours

    def left(self, submitter: str) -> int:
        """The number of submissions that the submitter may still make now."""
        query = (
            sql.select(sql.func.count())
            .select_from(attempts)
            .where(attempts.c.submitter == submitter, attempts.c.at > time.time() - self._seconds)
        )
        with self._database.reading() as connection:
            return max(0, self._per_period - int(connection.execute(query).scalar_one()))

    def note(self, submitter: str) -> None:
        """Count one more submission."""
        with self._database.writing() as connection:
            connection.execute(attempts.insert().values(submitter=submitter, at=time.time()))
