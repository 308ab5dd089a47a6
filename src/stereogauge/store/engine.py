"""A connection to the database behind a store, its transactions, and one sentence for everything that can go wrong with
them.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from stereogauge.errors import MissingDependency, StoreError


def database_url(location: str | os.PathLike[str]) -> sql.URL:
    """The URL of a path or URL; `postgres://` and `postgresql://` mean the psycopg driver."""
    text = os.fsdecode(location)
    if "://" not in text:
        return sql.URL.create("sqlite", database=str(Path(text).expanduser().absolute()))
    try:
        url = sql.make_url(text)
    except ArgumentError:
        raise StoreError(
            f"{text!r} is not the URL of a store; give a file name or postgresql+psycopg://user@host/name."
        ) from None
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise StoreError(f"A store is a SQLite file or a PostgreSQL database; found {url.get_backend_name()!r}.")
    if url.get_backend_name() == "sqlite" and not url.database:
        raise StoreError("The store's URL names no file; write sqlite:///scores.sqlite.")
    return url


AGAIN = "run the same command again, what was stored is kept"
WAIT = "and did not finish within {timeout:g} s; wait for it and " + AGAIN
FULL = f"the disk is full; free some space and {AGAIN}"
MEANINGS = {
    "SQLITE_FULL": FULL,
    "SQLITE_IOERR": f"the disk cannot be written (full, over quota, or failing); free some space and {AGAIN}",
    "SQLITE_BUSY": f"another program is writing to it {WAIT}",
    "SQLITE_LOCKED": f"another program is writing to it {WAIT}",
    "SQLITE_READONLY": "it cannot be written (read-only file or folder); give another path with --store",
    "SQLITE_CANTOPEN": "it cannot be opened or made there; check the path and its permissions",
    "SQLITE_NOTADB": "this is not a store but some other file; give another path with --store",
    "SQLITE_CORRUPT": "the file is damaged; restore a copy, or evaluate into a new store",
    "53100": FULL.replace("the disk", "the server's disk"),
    "55P03": f"another program holds it locked {WAIT}",
    "25006": "it was opened read-only; nothing can be written to it",
}
"""What an error means for the user, by SQLite's name of it or PostgreSQL's SQLSTATE."""
DAMAGED = (
    "the file is damaged; `stereogauge store check STORE` lists what is; restore a copy, or evaluate into a new store"
)
DAMAGE = (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)
"""What reading names, texts and packed numbers raises where they are not those that were written."""
REFUSED = "connection refused"
"""In the message of a PostgreSQL client that reached no server; such an error has no SQLSTATE."""
NO_SERVER = "the server does not answer; check that it runs, and host and port"


class Database:
    """One database with its transactions; every failure of it is a `StoreError`."""

    def __init__(self, location: str | os.PathLike[str], *, read_only: bool, timeout: float) -> None:
        self.url = database_url(location)
        self.read_only = read_only
        self.timeout = timeout
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.engine = self._sqlite_engine() if self.sqlite else self._server_engine()

    @property
    def name(self) -> str:
        """The file, or the URL without its password: what messages call the store."""
        return str(self.url.database) if self.sqlite else self.url.render_as_string(hide_password=True)

    def _server_engine(self) -> Engine:
        try:
            engine = sql.create_engine(self.url, pool_pre_ping=True)
        except (ImportError, NoSuchModuleError):
            raise MissingDependency("psycopg", "postgres", "A store on PostgreSQL") from None
        milliseconds = int(self.timeout * 1000)

        @sql.event.listens_for(engine, "connect")
        def prepare(connection: Any, _: Any) -> None:
            with connection.cursor() as cursor:
                cursor.execute(f"SET lock_timeout = {milliseconds}")
                if self.read_only:
                    cursor.execute("SET default_transaction_read_only = on")
            connection.commit()

        return engine

    def _sqlite_engine(self) -> Engine:
        engine = sql.create_engine("sqlite://", creator=self._connect_sqlite, poolclass=QueuePool)

        @sql.event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))

        return engine

    def _connect_sqlite(self) -> sqlite3.Connection:
        file = Path(str(self.url.database))
        if self.read_only and not file.is_file():
            command = f"`stereogauge evaluate DATASET RESULTS --store {shlex.quote(str(file))}`"
            raise StoreError(f"{file}: there is no such store; {command} makes one.")
        if not file.parent.is_dir():
            raise StoreError(f"{file}: the folder {file.parent} does not exist; make it first.")
        address = file.absolute().as_uri()
        if self.read_only:
            # Where SQLite cannot write, it cannot coordinate with a writer, but no other program can write either.
            shared = os.access(file.parent, os.W_OK) or file.with_name(file.name + "-wal").exists()
            address += "?mode=ro" if shared else "?immutable=1"
        connection = sqlite3.connect(
            address, uri=True, timeout=self.timeout, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA foreign_keys = ON")
        if not self.read_only:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the store throughout."""
        with self._translated(), self.engine.begin() as connection:
            try:
                yield connection
            except DAMAGE as problem:
                what = f"{type(problem).__name__}: {_first_line(problem)}"
                raise StoreError(f"{self.name}: what it holds cannot be understood ({what}); {DAMAGED}.") from problem

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is stored whole or not at all; waits for other writers."""
        if self.read_only:
            raise StoreError(f"{self.name} was opened read-only; nothing can be written to it.")
        engine = self.engine.execution_options(begin="BEGIN IMMEDIATE")
        with self._translated(), engine.begin() as connection:
            yield connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as problem:
            raise StoreError(self.sentence(problem.orig or problem)) from problem
        except sqlite3.Error as problem:
            raise StoreError(self.sentence(problem)) from problem
        except SQLAlchemyError as problem:
            raise StoreError(f"{self.name}: {_first_line(problem)}.") from problem

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file, one sentence; a server looks after its own files."""
        if not self.sqlite:
            return []
        try:
            with self.engine.begin() as connection:
                found = list(connection.exec_driver_sql("PRAGMA integrity_check(3)").scalars())
        except (SQLAlchemyError, sqlite3.Error) as problem:
            found = [str(getattr(problem, "orig", None) or problem)]
        return [] if found == ["ok"] else [f"{self.name}: {DAMAGED} ({_first_line(ValueError(found[0]))})."]

    def backup(self, target: Path) -> None:
        """Copy the database into a new file, readable by its owner alone; it may be read and written meanwhile."""
        if not self.sqlite:
            raise StoreError(f"{self.name} is on a server, which has its own way to copy it: pg_dump.")
        part = target.with_name(f".{target.name}.part")
        try:
            with open(part, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)):
                pass
            with (
                contextlib.closing(self._connect_sqlite()) as source,
                contextlib.closing(sqlite3.connect(part)) as copy,
            ):
                source.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # one file holds all of it
            os.link(part, target)  # never over another file
        except sqlite3.Error as problem:
            raise StoreError(self.sentence(problem)) from problem
        except OSError as problem:
            raise StoreError(f"{target}: the copy cannot be written ({problem.strerror}).") from None
        finally:
            part.unlink(missing_ok=True)

    def sentence(self, problem: BaseException) -> str:
        """What happened to the store, and what to do."""
        # SQLite's extended names begin with the plain one: SQLITE_IOERR_WRITE.
        name = "_".join(str(getattr(problem, "sqlite_errorname", "")).split("_")[:2])
        state = getattr(problem, "sqlstate", None)
        meaning = MEANINGS.get(name) or MEANINGS.get(state or "")
        text = _first_line(problem)
        if meaning is None and state is None and not self.sqlite and REFUSED in text.lower():
            meaning = NO_SERVER
        return f"{self.name}: {text if meaning is None else meaning.format(timeout=self.timeout)}."

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _first_line(problem: BaseException) -> str:
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return (lines[0] if lines else type(problem).__name__).rstrip(".")
