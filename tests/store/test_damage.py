"""Damaged stores: other numbers are never read in silence, and every answer is one sentence."""

from __future__ import annotations

import contextlib
import csv
import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import stereogauge as sg
from stereogauge import open_store
from stereogauge.cli import main
from stereogauge.errors import StoreError
from stereogauge.scores.score import CellScores
from stereogauge.store import schema
from stereogauge.store.migrations import prepare

FILES = 40
NAMED = ("dataset", "scene", "algorithm", "protocol", "metric", "region", "value", "sum", "count", "missing")


def exported(store: Path, target: Path) -> list[tuple[str, ...]]:
    with open_store(store, read_only=True) as opened:
        opened.export_csv(target)
    with target.open(newline="", encoding="utf-8") as file:
        return sorted(tuple(row[name] for name in NAMED) for row in csv.DictReader(file))


@pytest.fixture
def whole(tmp_path: Path, make_cell: Callable[..., CellScores]) -> Path:
    path = tmp_path / "whole.sqlite"
    with open_store(path) as store:
        store.write(
            [make_cell(f"algorithm {place}", scene=f"scene {other}") for place in range(20) for other in range(5)]
        )
    return path


def test_damaged_files_give_the_same_numbers_or_one_sentence(whole: Path, tmp_path: Path) -> None:
    expected = exported(whole, tmp_path / "whole.csv")
    data = whole.read_bytes()
    refused: list[str] = []
    for seed in range(FILES):
        chance = random.Random(seed)
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 4, 30))):
            damaged[chance.randrange(100, len(damaged))] = chance.randrange(256)
        path = tmp_path / f"{seed}.sqlite"
        path.write_bytes(damaged)
        try:
            found = exported(path, tmp_path / "found.csv")
        except StoreError as problem:
            refused.append(str(problem))
        else:
            assert found == expected, seed
    assert len(refused) > FILES // 4
    assert not any("\n" in sentence for sentence in refused)


def test_a_changed_number_is_found_by_every_reader(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(whole) as store, store._database.writing() as connection:
        row = connection.execute(schema.scores.select().limit(1)).mappings().one()
        other = bytes(row["value"][:7]) + bytes([row["value"][7] ^ 1]) + bytes(row["value"][8:])
        connection.execute(schema.scores.update().where(schema.scores.c.id == row["id"]).values(value=other))
    with open_store(whole, read_only=True) as store:
        for read in (store.cube, store.scores, lambda: list(store.all_cells())):
            with pytest.raises(StoreError, match="algorithm 0 on scene 0"):
                read()
        assert len(store.check()) == 1
    with pytest.raises(SystemExit, match="1"):
        main(["store", "check", str(whole)])
    assert "algorithm 0 on scene 0" in capsys.readouterr().out


def test_a_whole_store_is_found_whole(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["store", "check", str(whole)])
    assert "100 cells" in capsys.readouterr().err


def test_an_older_store_gets_its_check_sums(whole: Path) -> None:
    with open_store(whole) as store:
        before = store.cube().values
        with store._database.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE scores DROP COLUMN crc")
            connection.execute(schema.schema_version.update().values(version=2))
        prepare(store._database)
        assert store.check() == []
        assert (store.cube().values == before).sum() == (before == before).sum()


def test_rows_that_another_program_deleted_are_noticed(whole: Path) -> None:
    for table, condition in (("scores", "id = 7"), ("algorithms", "id = 3"), ("runs", "id = 1")):
        damaged = whole.with_name(f"{table}.sqlite")
        shutil.copy(whole, damaged)
        with contextlib.closing(sqlite3.connect(damaged)) as other:
            other.execute(f"DELETE FROM {table} WHERE {condition}")
            other.commit()
        with open_store(damaged, read_only=True) as store:
            assert any(f"The table '{table}' has" in sentence for sentence in store.check())
    with open_store(whole) as store:
        assert store.check() == []
        store.delete_algorithm("algorithm 3")  # on purpose
        assert store.check() == []


def test_an_edited_protocol_text_is_noticed(tmp_path: Path, make_cell: Callable[..., CellScores]) -> None:
    path = tmp_path / "edited.sqlite"
    with open_store(path) as store:
        store.write([make_cell("one")], protocol=sg.load_protocol("middlebury-v3"))
        assert store.check() == []
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE protocols SET text = replace(text, 'border', 'border = 3 #')")
        other.execute("UPDATE protocols SET text = text || char(10) || '# harmless'")
        other.commit()
    with open_store(path, read_only=True) as store:
        assert any("text of the protocol" in sentence for sentence in store.check())


def test_an_edited_name_of_a_protocol_is_noticed(tmp_path: Path, make_cell: Callable[..., CellScores]) -> None:
    path = tmp_path / "edited.sqlite"
    with open_store(path) as store:
        store.write([make_cell("one")], protocol=sg.load_protocol("middlebury-v3"))
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE protocols SET name = 'kitti-2015'")
        other.commit()
    with open_store(path, read_only=True) as store:
        assert any("protocol 'kitti-2015'" in sentence for sentence in store.check())


def test_counts_of_rows_that_another_program_deleted_are_noticed(whole: Path) -> None:
    with contextlib.closing(sqlite3.connect(whole)) as other:
        other.execute("DELETE FROM row_counts")
        other.commit()
    with open_store(whole, read_only=True) as store:
        assert any("'scores' has 100 rows, 0 were written" in sentence for sentence in store.check())


def test_a_store_of_an_earlier_version_has_no_counts_and_opens(whole: Path) -> None:
    with contextlib.closing(sqlite3.connect(whole)) as other:
        other.execute("DROP TABLE row_counts")
        other.commit()
    with open_store(whole, read_only=True) as store:
        assert store.check() == []
    with open_store(whole) as store:
        assert store.check() == []
    with contextlib.closing(sqlite3.connect(whole)) as other:
        assert other.execute("SELECT rows FROM row_counts WHERE name = 'scores'").fetchone() == (100,)


def test_a_copy_of_a_store_in_use_is_one_state_of_it(whole: Path, make_cell: Callable[..., CellScores]) -> None:
    target = whole.with_name("copy.sqlite")
    stop = threading.Event()

    def write() -> None:
        with open_store(whole) as store:
            while not stop.is_set():
                store.write([make_cell(f"new {time.monotonic_ns()}", scene=f"scene {place}") for place in range(5)])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for place in range(3):
            time.sleep(0.1)
            with open_store(whole, read_only=True) as store:
                store.backup(target.with_name(f"copy-{place}.sqlite"))
    finally:
        stop.set()
        writer.join()
    for place in range(3):
        copied = target.with_name(f"copy-{place}.sqlite")
        assert copied.stat().st_mode & 0o077 == 0
        with open_store(copied, read_only=True) as store:
            assert store.check() == []
            assert store.counts()["cells"] % 5 == 0
    with open_store(whole, read_only=True) as store, pytest.raises(StoreError, match="cannot be written"):
        store.backup(whole)
