"""Hashes of sources and of plain values."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from stereogauge.hashing import source_hash, values_hash


def package(folder: Path, **texts: str) -> Path:
    (folder / "part").mkdir(parents=True)
    for name, text in texts.items():
        (folder / "part" / f"{name}.py").write_text(text)
    return folder


def test_sources_have_another_hash_when_their_content_or_their_names_change(tmp_path: Path) -> None:
    first = package(tmp_path / "first", a="1", b="2")
    hashes = {
        source_hash("part", package=folder)
        for folder in (
            first,
            package(tmp_path / "content", a="1", b="3"),
            package(tmp_path / "name", a="1", c="2"),
            package(tmp_path / "border", a="12", b=""),
            package(tmp_path / "more", a="1", b="2", c=""),
        )
    }
    assert len(hashes) == 5
    assert source_hash("part/a.py", package=first) != source_hash("part/b.py", package=first)


def test_where_sources_lie_and_when_they_were_written_does_not_matter(tmp_path: Path) -> None:
    first, second = package(tmp_path / "first", a="1", b="2"), package(tmp_path / "second", b="2", a="1")
    os.utime(second / "part" / "a.py", (1, 1))
    assert source_hash("part", package=first) == source_hash("part", package=second)


def test_a_source_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        source_hash("part/absent.py", package=package(tmp_path, a="1"))


def test_values_have_one_hash_whatever_the_order_of_their_keys() -> None:
    assert values_hash({"a": 1, "b": [2.5, "x"]}) == values_hash({"b": [2.5, "x"], "a": 1})
    assert values_hash([1, 2]) != values_hash([2, 1])


@pytest.mark.parametrize(
    "values",
    [
        ["a" * 64, "", {}, False],
        ['é\n"', {"b": 1.5, "a": [True, None]}, True, 0, [], ["x", {}], ["y"]],
        {"b": ["x"], "a": "y"},
        "text",
        {},
        None,
    ],
)
def test_values_are_hashed_as_json_with_keys_in_order(values: object) -> None:
    assert values_hash(values) == hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
