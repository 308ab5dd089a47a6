"""3000 malformed files: one clear sentence each, no crash, no large allocation, nothing on standard error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COUNT = 3000
PROGRAM = Path(__file__).with_name("malformed.py")
# A table of 65536 values, and what the interpreter and libraries keep at the first use of something.
FIXED_BYTES = 1_500_000
TIMES_THE_FILE = 12


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-W", "error", PROGRAM, str(COUNT), "1"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return {"stderr": done.stderr.decode(), **json.loads(done.stdout)}


def test_there_are_as_many_files_as_claimed_and_most_are_refused(run: dict[str, Any]) -> None:
    assert len(run["outcomes"]) >= COUNT
    assert sum("error" in outcome for outcome in run["outcomes"]) > COUNT * 0.7


def test_each_error_is_one_sentence_that_names_the_file(run: dict[str, Any]) -> None:
    for outcome in run["outcomes"]:
        if "error" not in outcome:
            continue
        message = outcome["error"]
        assert outcome["error_kind"] == "FileError", message
        assert outcome["file"] in message
        assert message.endswith("."), message
        assert message.isprintable(), message
        assert len(message) < 600, message


def test_what_is_read_is_a_legal_map(run: dict[str, Any]) -> None:
    read = [outcome for outcome in run["outcomes"] if "error" not in outcome]
    assert read
    assert all(outcome["legal"] for outcome in read)


def test_maps_without_any_value_are_legal(run: dict[str, Any]) -> None:
    empty = [outcome for outcome in run["outcomes"] if outcome["kind"] == "nan"]
    assert len(empty) == 18
    assert all(outcome.get("legal") for outcome in empty)


def test_no_allocation_beyond_a_few_times_the_file(run: dict[str, Any]) -> None:
    for outcome in run["outcomes"]:
        assert outcome["allocated"] <= FIXED_BYTES + TIMES_THE_FILE * outcome["size"], outcome
    assert run["resident_growth_kilobytes"] < 100_000


def test_nothing_is_written_to_standard_error(run: dict[str, Any]) -> None:
    assert run["stderr"] == ""


def test_every_encoding_is_among_the_damaged(run: dict[str, Any]) -> None:
    kinds = {outcome["kind"] for outcome in run["outcomes"] if "error" in outcome}
    encodings = ("pfm", "kitti", "middlebury", "sintel", "spring", "npy", "npz", "tiff", "exr")
    assert kinds >= {f"damaged {encoding}" for encoding in encodings}
