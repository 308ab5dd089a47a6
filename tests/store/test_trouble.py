"""A store that cannot be used says why in one sentence, and keeps what it held."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from tests.cells import same_scores

from stereogauge import open_store
from stereogauge.errors import StoreError
from stereogauge.store import Store, schema
from stereogauge.store.engine import Database
from stereogauge.store.migrations import STEPS, current_version, prepare
from stereogauge.store.write import MapRecord

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "scores.sqlite"


def fill(store: Store, make_cell, amount: int = 100_000) -> int:
    """Write until an error comes; returns how many cells were stored before it."""
    for number in range(amount):
        try:
            store.write([make_cell(f"algorithm {number}")])
        except StoreError:
            return number
    raise AssertionError("no error came")


def in_child(call: Callable[[], Any]) -> Any:
    """What `call` returns in a forked process: limits and rights that it gives up do not concern us."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=lambda: theirs.send(call()))
    process.start()
    theirs.close()
    answer = ours.recv() if ours.poll(60) else None
    process.join()
    ours.close()
    return answer


def check_kept(path: Path, make_cell, amount: int) -> None:
    with open_store(path) as store:
        found = {cell.algorithm: cell for cell in store.cells()}
        assert len(found) == amount
        assert all(same_scores(cell, make_cell(name)) for name, cell in found.items())
        store.write([make_cell("after")])
        assert store.counts()["cells"] == amount + 1


def test_a_full_disk_loses_nothing(path, make_cell, monkeypatch):
    def with_limit(self: Database) -> sqlite3.Connection:
        connection = connect(self)
        connection.execute("PRAGMA max_page_count = 60")
        return connection

    connect = Database._connect_sqlite
    with monkeypatch.context() as limited:
        limited.setattr(Database, "_connect_sqlite", with_limit)
        with open_store(path) as store:
            amount = fill(store, make_cell)
            with pytest.raises(StoreError, match=r"scores.sqlite: the disk is full; free some space and run the same"):
                store.write([make_cell("more")])
    assert amount > 3
    check_kept(path, make_cell, amount)


def test_a_file_that_may_not_grow_loses_nothing(path, make_cell):
    with open_store(path):
        pass

    def child() -> tuple[int, str]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        with open_store(path) as store:
            amount = fill(store, make_cell)
            try:
                store.write([make_cell("more")])
            except StoreError as problem:
                return amount, str(problem)
        return amount, "no error"

    amount, sentence = in_child(child)
    assert "free some space" in sentence
    assert sentence.count(".") <= 2
    check_kept(path, make_cell, amount)


def test_a_store_that_another_writer_holds_says_so(path, make_cell):
    with open_store(path, timeout=0.1) as store:
        store.write([make_cell("A")])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"another program is writing to it and did not finish within 0\.1 s"):
            store.write([make_cell("B")])
        with pytest.raises(StoreError, match="another program"):
            store.check_writable()
        assert [entry.name for entry in store.algorithms()] == ["A"]
        other.execute("ROLLBACK")
        other.close()
        store.write([make_cell("B")])
        assert len(store.algorithms()) == 2


@pytest.mark.postgres
def test_a_server_whose_tables_are_locked_says_so(postgres_url, make_cell):
    with open_store(postgres_url, timeout=0.2) as store, open_store(postgres_url) as other:
        store.write([make_cell("A")])
        with other._database.writing() as connection:
            connection.exec_driver_sql("LOCK TABLE scores IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(StoreError, match="another program holds it locked"):
                store.write([make_cell("B")])
        store.write([make_cell("B")])
        assert len(store.algorithms()) == 2


@pytest.mark.postgres
def test_a_server_that_is_read_only_says_so(postgres_url, make_cell):
    with open_store(postgres_url) as store:
        store.write([make_cell("A")])
    with open_store(postgres_url, read_only=True) as reader:
        with pytest.raises(StoreError, match="opened read-only"):
            reader.write([make_cell("B")])
        insert = schema.algorithms.insert().values(name="B", added=0.0)
        with pytest.raises(StoreError, match="opened read-only"), reader._database.reading() as connection:
            connection.execute(insert)


def test_a_server_that_is_absent_says_so():
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    with pytest.raises(StoreError, match="the server does not answer"):
        open_store("postgresql://nobody:secret@127.0.0.1:1/none")


def test_no_message_shows_a_password():
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    with pytest.raises(StoreError) as caught:
        open_store("postgresql://nobody:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)


def test_a_reader_cannot_write(path, make_cell):
    with open_store(path) as store:
        store.write([make_cell("A")])
    with open_store(path, read_only=True) as reader:
        with pytest.raises(StoreError, match="opened read-only; nothing can be written"):
            reader.write([make_cell("B")])
        assert same_scores(reader.cells()[0], make_cell("A"))


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become a user without rights")
def test_a_folder_without_write_permission_can_be_read_but_not_written(make_cell, tmp_path_factory):
    folder = tmp_path_factory.mktemp("locked")
    base = Path(tempfile.gettempdir())
    for parent in (folder, *folder.parents):
        if base in parent.parents:
            parent.chmod(0o755)
    path = folder / "scores.sqlite"
    with open_store(path) as store:
        store.write([make_cell("A")])
    path.chmod(0o444)

    def child() -> tuple[int, str]:
        os.setuid(NOBODY)
        with open_store(path, read_only=True) as reader:
            amount = len(reader.algorithms())
        try:
            with open_store(path) as writer:
                writer.check_writable()
        except StoreError as problem:
            return amount, str(problem)
        return amount, "no error"

    assert in_child(child) == (
        1,
        f"{path}: it cannot be written (read-only file or folder); give another path with --store.",
    )


def test_a_store_of_a_newer_version_says_so(location, make_cell):
    with open_store(location) as store:
        store.write([make_cell("A")])
        with store._database.writing() as connection:
            connection.execute(schema.schema_version.update().values(version=current_version() + 6))
    known = current_version()
    for read_only in (False, True):
        sentence = rf"newer Stereogauge \(its schema is version {known + 6}, this one knows {known}\)"
        with pytest.raises(StoreError, match=sentence):
            open_store(location, read_only=read_only)


def test_an_older_store_takes_the_steps_that_it_lacks_once(location, make_cell):
    taken: list[str] = []

    def add(connection: sql.Connection) -> None:
        taken.append("add")
        connection.exec_driver_sql("ALTER TABLE algorithms ADD COLUMN venue VARCHAR NOT NULL DEFAULT ''")

    def fill_in(connection: sql.Connection) -> None:
        taken.append("fill")
        connection.exec_driver_sql("UPDATE algorithms SET venue = 'unknown'")

    with open_store(location) as store:
        store.write([make_cell("A")])
    database = Database(location, read_only=False, timeout=1.0)
    prepare(database, (*STEPS, add))
    prepare(database, (*STEPS, add, fill_in))
    prepare(database, (*STEPS, add, fill_in))
    assert taken == ["add", "fill"]
    with database.reading() as connection:
        assert connection.exec_driver_sql("SELECT name, venue FROM algorithms").all() == [("A", "unknown")]
    database.close()


def test_a_step_that_fails_leaves_the_store_as_it_was(location, make_cell):
    def broken(connection: sql.Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE algorithms ADD COLUMN venue VARCHAR")
        connection.exec_driver_sql("UPDATE absent SET venue = 1")

    with open_store(location) as store:
        store.write([make_cell("A")])
    database = Database(location, read_only=False, timeout=1.0)
    with pytest.raises(StoreError, match="absent"):
        prepare(database, (*STEPS, broken))
    database.close()
    with open_store(location) as store:
        assert [entry.name for entry in store.algorithms()] == ["A"]
        store.write([make_cell("B")])


def test_some_other_file_is_not_taken_for_a_store(path):
    path.write_text("I am a letter, not a database. " * 100, encoding="utf-8")
    with pytest.raises(StoreError, match="not a store but some other file"):
        open_store(path)
    assert path.read_text(encoding="utf-8").startswith("I am a letter")


def test_some_other_database_is_not_written_into(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(StoreError, match=r"something else \(it holds recipes\)"):
        open_store(path)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("mysql://host/name", "a SQLite file or a PostgreSQL database"),
        ("sqlite://", "names no file"),
        ("://", "not the URL of a store"),
        ("/nowhere/at/all.sqlite", "folder /nowhere/at does not exist"),
    ],
)
def test_a_place_that_cannot_be_says_so(url, sentence):
    with pytest.raises(StoreError, match=sentence):
        open_store(url)


class Fatal(list[MapRecord]):
    """Records that kill the process when they are looked at, which is after the scores are written."""

    def __len__(self) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0


def test_a_process_killed_in_the_middle_of_a_transaction_leaves_no_half(path, make_cell):
    with open_store(path) as store:
        store.write([make_cell("A")])

    def child() -> None:
        with open_store(path) as store:
            store.write([make_cell(f"B{number}") for number in range(200)], maps=Fatal())

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with open_store(path) as store:
        assert [entry.name for entry in store.algorithms()] == ["A"]
        assert same_scores(store.cells()[0], make_cell("A"))
        store.write([make_cell("C")])
