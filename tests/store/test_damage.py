"""Damaged stores: other numbers are never read in silence, and every answer is one sentence."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from stereogauge.cli import main
from stereogauge.errors import StoreError
from stereogauge.scores.score import CellScores
from stereogauge.store import open_store, schema
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
