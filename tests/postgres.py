"""A PostgreSQL server for tests, where the system has one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

NO_SERVER = "no PostgreSQL server program found; install the system's package `postgresql` to run these tests"


def _program(name: str) -> str | None:
    found = shutil.which(name)
    if found:
        return found
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(installed[-1]) if installed else None


class PostgresServer(NamedTuple):
    """A server of our own: its URL without the database's name, and how it is stopped at once and started again."""

    url: str
    stop: Callable[[], None]
    start: Callable[[], None]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running server in a temporary folder."""
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    initdb, pg_ctl = _program("initdb"), _program("pg_ctl")
    if initdb is None or pg_ctl is None:
        pytest.skip(NO_SERVER)
    owner = None
    if os.getuid() == 0:
        import pwd  # only on Unix

        try:
            owner = pwd.getpwnam("postgres").pw_uid
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    with tempfile.TemporaryDirectory(prefix="stereogauge-postgres-") as folder:
        if owner is not None:
            os.chown(folder, owner, -1)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]

        def call(*words: str) -> None:
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL, user=owner, cwd=folder, timeout=120)

        call(initdb, "-D", f"{folder}/data", "-U", "tester", "-A", "trust", "-N", "--no-locale", "-E", "UTF8")
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"

        def start() -> None:
            call(pg_ctl, "-D", f"{folder}/data", "-o", options, "-l", f"{folder}/log", "-w", "start")

        def stop() -> None:
            call(pg_ctl, "-D", f"{folder}/data", "-m", "immediate", "-w", "stop")

        start()
        try:
            yield PostgresServer(f"postgresql+psycopg://tester@127.0.0.1:{port}", stop, start)
        finally:
            stop()


@pytest.fixture(scope="session")
def postgres_server(postgres: PostgresServer) -> str:
    """The URL of the server, without the database's name."""
    return postgres.url


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """A new, empty database."""
    import psycopg

    name = f"scores_{uuid.uuid4().hex}"
    address = postgres_server.replace("+psycopg", "")
    with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{postgres_server}/{name}"
