"""Who may submit: tokens, stored only as hashes so that a stolen database is of no use, and wrong ones."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable

import sqlalchemy as sql
from sqlalchemy import Column, Float, String, Table

from stereogauge.errors import StereogaugeError
from stereogauge.store.engine import Database
from stereogauge.web.errors import RefusedError
from stereogauge.web.submissions.jobs import Rules, metadata

tokens = Table(
    "tokens",
    metadata,
    Column("hash", String, primary_key=True),
    Column("submitter", String, nullable=False),
    Column("issued", Float, nullable=False),
)
LONGEST_NAME = 80
MOST_CLIENTS = 10_000


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
