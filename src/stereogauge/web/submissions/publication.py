"""Publishing and withdrawing: who owns a name, and what the store shows under it."""

from __future__ import annotations

import logging
from typing import Any

import sqlalchemy as sql

from stereogauge.errors import StoreError
from stereogauge.protocol import Protocol
from stereogauge.scores.table import ScoreTable
from stereogauge.store.engine import Database
from stereogauge.store.lookalikes import folded
from stereogauge.store.store import Store
from stereogauge.store.write import SUBMISSION, MapRecord, NameTaken
from stereogauge.web.submissions.jobs import Job
from stereogauge.web.submissions.schema import jobs, published_names
from stereogauge.web.submissions.uploads import UploadRefusedError

log = logging.getLogger(__name__)


class Publication:
    """Names in two databases: that of submissions says whose a name is, the store shows the scores under it.

    A submission becomes public in three steps: its name is claimed and it is marked as being published; the store takes
    it whole, or refuses it, in one transaction; it is marked as published. What a stop of the server, or a database
    that does not answer, leaves between two of them is decided by the store: published is what it shows.
    """

    def __init__(self, database: Database, store: Store) -> None:
        self._database = database
        self._store = store

    def taken(self, name: str, submitter: str) -> str | None:
        """The algorithm of somebody else that has this name, or one that looks like it; None if there is none."""
        key = folded(name)
        with self._database.reading() as connection:
            names = published_names
            claim = connection.execute(sql.select(names.c.submitter).where(names.c.key == key)).scalar()
        if claim is not None and claim != submitter:
            return name
        alike = [entry.name for entry in self._store.algorithms() if folded(entry.name) == key]
        return alike[0] if alike and claim != submitter else None

    def publish(self, job: Job, scores: ScoreTable, protocol: Protocol | None) -> list[str]:
        """Make a finished submission public; returns the ids of the earlier ones that it replaced."""
        earlier, former = self._claim(job)
        about: dict[str, Any] = {"submission": job.id, "description": job.description, "link": job.link}
        maps = [MapRecord(**row) for row in job.maps]
        try:
            self._store.publish(job.name, scores, protocol=protocol, maps=maps, replaces=earlier, **about)
        except Exception as problem:
            self._unclaim(job, former)
            if isinstance(problem, NameTaken):
                raise UploadRefusedError(str(problem), 409) from None
            raise
        try:
            there = self._finish(job, earlier)
        except StoreError as problem:  # it is public now; `settle` marks it later
            log.error("Submission %s is public, but could not be marked as published: %s", job.id, problem)
            return []
        if not there:
            self._store.withdraw(job.id)
            raise UploadRefusedError("The submission was withdrawn meanwhile.", 409)
        return earlier

    def _claim(self, job: Job) -> tuple[list[str], str | None]:
        """Make the name this submission's; returns the owner's earlier submissions and the one that had the name."""
        key = folded(job.name)
        names = published_names
        with self._database.writing() as connection:
            state = connection.execute(sql.select(jobs.c.state).where(jobs.c.id == job.id)).scalar()
            if state != "done":
                said = f"Only a finished submission can be published; this one is {state or 'withdrawn'}."
                raise UploadRefusedError(said, 409)
            claim = connection.execute(sql.select(names).where(names.c.key == key)).mappings().first()
            if claim is not None and claim["submitter"] != job.submitter:
                raise UploadRefusedError(
                    f"There is an algorithm called {job.name!r} already; choose another name.", 409
                )
            published = sql.select(jobs.c.id, jobs.c.name).where(
                jobs.c.submitter == job.submitter, jobs.c.state.in_(("published", "publishing"))
            )
            earlier = [number for number, name in connection.execute(published) if folded(name) == key]
            connection.execute(names.delete().where(names.c.key == key))
            connection.execute(names.insert().values(key=key, submitter=job.submitter, job=job.id))
            connection.execute(jobs.update().where(jobs.c.id == job.id).values(state="publishing"))
            return earlier, None if claim is None else claim["job"]

    def _unclaim(self, job: Job, former: str | None) -> None:
        names = published_names
        mine = names.c.job == job.id
        try:
            with self._database.writing() as connection:
                connection.execute(jobs.update().where(jobs.c.id == job.id).values(state="done"))
                if former is None:
                    connection.execute(names.delete().where(mine))
                else:
                    connection.execute(names.update().where(mine).values(job=former))
        except StoreError as problem:
            log.error("Submission %s was not published, and could not be marked so yet: %s", job.id, problem)

    def _finish(self, job: Job, earlier: list[str]) -> bool:
        """Mark as published; False where the submission was withdrawn meanwhile."""
        with self._database.writing() as connection:
            done = {"state": "published", "message": "published"}
            connection.execute(jobs.delete().where(jobs.c.id.in_(earlier)))
            return bool(connection.execute(jobs.update().where(jobs.c.id == job.id).values(**done)).rowcount)

    def settle(self) -> None:
        """Decide about submissions that were being published when the server stopped or a database did not answer."""
        self._adopt()
        with self._database.reading() as connection:
            open_ones = list(connection.execute(sql.select(jobs.c.id).where(jobs.c.state == "publishing")).scalars())
        if not open_ones:
            return
        shown = {entry.metadata.get(SUBMISSION) for entry in self._store.algorithms()}
        names = published_names
        with self._database.writing() as connection:
            for number in open_ones:
                state = "published" if number in shown else "done"
                connection.execute(jobs.update().where(jobs.c.id == number).values(state=state))
                if state == "done":
                    connection.execute(names.delete().where(names.c.job == number))

    def _adopt(self) -> None:
        """Make submissions that an earlier version published the owners of their names."""
        shown = {entry.name: entry.metadata for entry in self._store.algorithms()}
        names = published_names
        with self._database.reading() as connection:
            owned = set(connection.execute(sql.select(names.c.job)).scalars())
            published = connection.execute(
                sql.select(jobs.c.id, jobs.c.name, jobs.c.submitter).where(jobs.c.state == "published")
            ).all()
        for number, name, submitter in published:
            if number in owned or SUBMISSION in shown.get(name, {SUBMISSION: ""}):
                continue
            self._store.describe_algorithm(name, metadata={**shown[name], SUBMISSION: number})
            with self._database.writing() as connection:
                connection.execute(names.delete().where(names.c.key == folded(name)))
                connection.execute(names.insert().values(key=folded(name), submitter=submitter, job=number))

    def withdraw(self, job: Job) -> bool:
        """Remove a submission everywhere; returns whether it was public."""
        public = self._store.withdraw(job.id) if job.state in ("published", "publishing") else False
        with self._database.writing() as connection:
            connection.execute(jobs.delete().where(jobs.c.id == job.id))
            connection.execute(published_names.delete().where(published_names.c.job == job.id))
        return public
