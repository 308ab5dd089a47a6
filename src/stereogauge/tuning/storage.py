"""Optuna's tables beside ours in one database: studies are kept, shared, resumed, and open in optuna-dashboard."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import optuna
import sqlalchemy as sql
from optuna.exceptions import StorageInternalError
from optuna.storages import BaseStorage, InMemoryStorage, RDBStorage
from sqlalchemy.exc import SQLAlchemyError

from stereogauge.errors import StoreError
from stereogauge.store import open_store
from stereogauge.store.engine import Database, database_url

ATTEMPTS = 5
WAIT = 60
"""Seconds to wait for another writer."""


def open_storage(location: str | os.PathLike[str] | None) -> BaseStorage:
    """Optuna's storage in the store at `location`, both made where they are absent; in memory without a location."""
    if location is None:
        return InMemoryStorage()
    with open_store(location):
        pass  # our own tables first, so that the file is a store from its beginning
    url = database_url(location)
    for attempt in range(ATTEMPTS):
        try:
            return _storage(url)
        except (SQLAlchemyError, StorageInternalError) as problem:
            # Two programs that make the tables at once: the second finds them when it looks again.
            if attempt + 1 == ATTEMPTS:
                raise store_error(location, problem) from problem
            time.sleep(0.2 * (attempt + 1))
    raise StoreError(f"{os.fsdecode(location)}: the tables of tuning studies could not be made.")


def _storage(url: sql.URL) -> RDBStorage:
    text = url.render_as_string(hide_password=False)
    if url.get_backend_name() != "sqlite":
        return RDBStorage(text, engine_kwargs={"pool_pre_ping": True})
    storage = RDBStorage(text, engine_kwargs={"connect_args": {"timeout": WAIT}})
    _take_turns(storage.engine)
    return storage


def _take_turns(engine: sql.Engine) -> None:
    """Let every transaction of a SQLite file hold the write lock from its start.

    Optuna reads a trial's state and then writes it; PostgreSQL locks the row in between, SQLite does not, and two
    processes would take the same trial.
    """
    engine.dispose()

    @sql.event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA synchronous = NORMAL")

    @sql.event.listens_for(engine, "begin")
    def begin(connection: sql.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def store_error(location: str | os.PathLike[str], problem: BaseException) -> StoreError:
    """The sentence for what went wrong in the database."""
    cause: BaseException = problem
    while cause.__cause__ is not None:
        cause = cause.__cause__
    database = Database(location, read_only=True, timeout=WAIT)
    sentence = database.sentence(getattr(cause, "orig", None) or cause)
    database.close()
    return StoreError(sentence)


def open_studies(location: str | os.PathLike[str]) -> BaseStorage | None:
    """Optuna's storage of an existing store, to read from; None where it holds no studies yet."""
    database = Database(location, read_only=True, timeout=WAIT)
    try:
        with database.reading() as connection:
            present = sql.inspect(connection).has_table("studies")
    finally:
        database.close()
    return RDBStorage(database.url.render_as_string(hide_password=False)) if present else None


def close_storage(storage: BaseStorage | None) -> None:
    """Close the database's connections."""
    if isinstance(storage, RDBStorage):
        storage.remove_session()
        storage.engine.dispose()


@contextmanager
def quiet() -> Iterator[None]:
    """Optuna without its own log lines."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
