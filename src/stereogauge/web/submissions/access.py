"""Who may submit: tokens, of which only hashes are stored so that a stolen database is of no use, and wrong ones."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable

import sqlalchemy as sql

from stereogauge.errors import StereogaugeError
from stereogauge.store.engine import Database
from stereogauge.web.submissions.schema import tokens

PREFIX = "sg_"
LONGEST_NAME = 80
MOST_CLIENTS = 10_000


class AccessError(StereogaugeError):
    """A request without the right token, with the HTTP status and the seconds to wait."""

    def __init__(self, sentence: str, status: int, wait: float = 0.0) -> None:
        super().__init__(sentence)
        self.status = status
        self.wait = wait


class Tokens:
    """Issues, revokes and recognises tokens."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def issue(self, submitter: str) -> str:
        """A new token for a submitter, 256 random bits; it cannot be shown again."""
        if not submitter.strip() or len(submitter) > LONGEST_NAME or not submitter.isprintable():
            raise StereogaugeError(f"A submitter has a name of 1 to {LONGEST_NAME} letters; found {submitter!r}.")
        token = PREFIX + secrets.token_urlsafe(32)
        row = {"hash": _hash(token), "submitter": submitter, "issued": time.time()}
        with self._database.writing() as connection:
            connection.execute(tokens.insert().values(**row))
        return token

    def revoke(self, submitter: str) -> int:
        """Delete the tokens of a submitter; returns their number."""
        with self._database.writing() as connection:
            return int(connection.execute(tokens.delete().where(tokens.c.submitter == submitter)).rowcount)

    def submitter(self, token: str) -> str | None:
        """The owner of a token, None for an unknown one; looked up by its hash, so that timing reveals nothing."""
        with self._database.reading() as connection:
            found = connection.execute(sql.select(tokens.c.submitter).where(tokens.c.hash == _hash(token))).scalar()
        return None if found is None else str(found)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class FailureLimit:
    """Limits how many wrong tokens an address may try in a period."""

    def __init__(self, allowed: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.allowed = allowed
        self.seconds = seconds
        self._clock = clock
        self._failures: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def wait(self, client: str) -> float:
        """Seconds until this address may try again; 0 when it may now."""
        with self._lock:
            recent = self._recent(client)
            if len(recent) < self.allowed:
                return 0.0
            return max(0.0, recent[0] + self.seconds - self._clock())

    def failed(self, client: str) -> None:
        """Count a wrong token."""
        with self._lock:
            if client not in self._failures and len(self._failures) >= MOST_CLIENTS:
                self._failures.pop(next(iter(self._failures)))
            self._failures.setdefault(client, deque(maxlen=self.allowed)).append(self._clock())

    def _recent(self, client: str) -> deque[float]:
        times = self._failures.get(client, deque(maxlen=self.allowed))
        while times and times[0] <= self._clock() - self.seconds:
            times.popleft()
        return times
