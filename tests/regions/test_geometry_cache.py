"""Geometry sets on disk: found again, never trusted when damaged or foreign."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from stereogauge.hashing import PACKAGE, source_hash
from stereogauge.masks.geometry import sets
from stereogauge.masks.geometry.sets import GeometrySets, cached_geometry_sets, sets_key
from stereogauge.protocol import GeometryParameters

TRUTH = np.where(np.mgrid[:60, :80][1] < 40, 20.0, 60.0).astype(np.float32)
BASE = np.ones(TRUTH.shape, bool)
PARAMETERS = GeometryParameters()


def cached(folder: Path, truth: np.ndarray = TRUTH, parameters: GeometryParameters = PARAMETERS) -> GeometrySets:
    return cached_geometry_sets(truth, BASE, 1.0, parameters, folder=folder)


def same(first: GeometrySets, second: GeometrySets) -> bool:
    others = second.arrays()
    return all(np.array_equal(v, others[k], equal_nan=v.dtype.kind == "f") for k, v in first.arrays().items())


@pytest.fixture
def computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often sets were really computed."""
    calls: list[int] = []
    original = sets.geometry_sets

    def counting(*arguments: object) -> GeometrySets:
        calls.append(1)
        return original(*arguments)

    monkeypatch.setattr(sets, "geometry_sets", counting)
    return calls


def test_the_second_call_reads_the_file(tmp_path: Path, computed: list[int]) -> None:
    first, second = cached(tmp_path), cached(tmp_path)
    assert len(computed) == 1
    assert same(first, second)
    assert type(second.width) is int
    assert type(second.refusal) is str
    assert not list(tmp_path.glob("*.part"))


def test_another_truth_or_parameter_is_another_entry(tmp_path: Path, computed: list[int]) -> None:
    cached(tmp_path)
    cached(tmp_path, TRUTH + 1)
    cached(tmp_path, parameters=GeometryParameters(band_length=10.0))
    assert len(computed) == 3


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "text", "another entry"])
def test_a_damaged_or_foreign_file_is_computed_again_and_replaced(
    tmp_path: Path, computed: list[int], damage: str
) -> None:
    sound = cached(tmp_path)
    (path,) = tmp_path.glob("*.npz")
    content = bytearray(path.read_bytes())
    if damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        position = content.find(b"edge_gradient.npy") + 400
        content[position] ^= 0xFF
        path.write_bytes(content)
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("not an archive")
    else:
        cached(tmp_path, TRUTH + 1)
        (other,) = set(tmp_path.glob("*.npz")) - {path}
        path.write_bytes(other.read_bytes())
    before = len(computed)
    assert same(cached(tmp_path), sound)
    assert len(computed) == before + 1
    cached(tmp_path)
    assert len(computed) == before + 1


def test_the_key_depends_on_mask_resolution_and_drawn_planes() -> None:
    drawn = np.zeros(TRUTH.shape, np.uint8)
    keys = {
        sets_key(TRUTH, BASE, 1.0, PARAMETERS, None),
        sets_key(TRUTH, ~BASE, 1.0, PARAMETERS, None),
        sets_key(TRUTH, BASE, 0.5, PARAMETERS, None),
        sets_key(TRUTH, BASE, 1.0, PARAMETERS, drawn),
        sets_key(None, BASE, 1.0, PARAMETERS, drawn),
    }
    assert len(keys) == 5


def test_the_key_changes_with_each_source_that_the_sets_depend_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keys = {sets_key(TRUTH, BASE, 1.0, PARAMETERS, None)}
    for place, changed in enumerate(sets.SOURCES):
        package = tmp_path / str(place)
        package.mkdir()
        for source in sets.SOURCES:
            copy = shutil.copytree if (PACKAGE / source).is_dir() else shutil.copy
            copy(PACKAGE / source, package / source)
        more = package / changed
        if more.is_dir():
            more /= "more.cpp" if changed == "native" else "more.py"
        with more.open("a") as file:
            file.write("# another line")
        monkeypatch.setattr(sets, "source_hash", functools.partial(source_hash, package=package))
        keys.add(sets_key(TRUTH, BASE, 1.0, PARAMETERS, None))
    assert len(keys) == 1 + len(sets.SOURCES)


def test_every_module_behind_the_sets_lies_in_a_folder_of_the_sources() -> None:
    """A module elsewhere could change what is computed without a new key."""
    script = "import sys, stereogauge.masks.geometry.sets; print(*(m for m in sys.modules if m[:12] == 'stereogauge.'))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    parts = {name.removeprefix("stereogauge.").replace(".", "/") + ".py" for name in loaded}
    own = {part for part in parts if part.startswith(("masks/", "kernels/")) and part != "masks/__init__.py"}
    assert {part for part in own if not part.startswith(sets.SOURCES)} == set()


def test_a_folder_that_cannot_be_written_costs_only_the_cache(tmp_path: Path, computed: list[int]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert same(cached(blocked), cached(blocked))
    assert len(computed) == 2
