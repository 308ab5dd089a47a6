"""A wrong argument of a kernel is an exception before anything runs."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest

from stereogauge import StereogaugeError, kernels
from stereogauge.kernels import library, pixelwise
from stereogauge.kernels.library import FLAG, REAL, Array, Reads, Writes, native

MAP = (np.float32, "height", "width")
SLOTS = ((np.uint8, np.uint16), "height", "width")
literal_depth = native(
    "literal_depth",
    returns=FLAG,
    refusal="a slot is not below {slots}.",
    estimate=Reads(*MAP),
    truth=Reads(*MAP),
    slots=Reads(*SLOTS),
    focal_baseline=REAL,
    mu=REAL,
    charge=FLAG,
    sums=Writes(np.float64, "slots"),
)


def arguments(**changed: object) -> list[object]:
    """Arguments that fit, and others in their places."""
    maps = {name: np.ones((3, 5), np.float32) for name in ("estimate", "truth")}
    rest = {"focal_baseline": 1.0, "mu": 0.5, "charge": True, "sums": np.zeros(2)}
    return [*({**maps, "slots": np.zeros((3, 5), np.uint8), **rest} | changed).values()]


@pytest.mark.usefixtures("processor_level")
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_arguments_that_fit_are_passed(kind: type[np.generic]) -> None:
    sums = np.zeros(2)
    literal_depth(*arguments(truth=np.full((3, 5), 2, np.float32), slots=np.ones((3, 5), kind), sums=sums))
    assert sums.tolist() == [0, pytest.approx(15 * (1 / 1.5 - 1 / 2.5))]


READ_ONLY = np.zeros(2)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"truth": np.ones((3, 5))}, "truth must be an array of float32, not float64"),
        ({"truth": [[1.0]]}, "truth must be a NumPy array, not list"),
        ({"truth": None}, "truth must be a NumPy array, not NoneType"),
        ({"truth": np.ones((3, 6), np.float32)}, "truth does not fit: axis 1 is 6 long, not width = 5"),
        ({"truth": np.ones((4, 5), np.float32)}, "truth does not fit: axis 0 is 4 long, not height = 3"),
        ({"truth": np.ones(15, np.float32)}, "truth does not fit: it has 1 dimensions, not 2"),
        ({"truth": np.ones((5, 3), np.float32).T}, "truth does not fit: it is not contiguous"),
        ({"truth": np.ones((3, 10), np.float32)[:, ::2]}, "truth does not fit: it is not contiguous"),
        ({"slots": np.zeros((3, 5), np.int32)}, "slots must be an array of uint8 or uint16, not int32"),
        ({"sums": READ_ONLY}, "sums does not fit: it is read-only"),
        ({"sums": np.frombuffer(bytearray(17), np.uint8)[1:].view(np.float64)}, "sums does not fit: it is not aligned"),
    ],
)
def test_a_wrong_array_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        literal_depth(*arguments(**changed))


def test_a_wrong_number_of_arguments_is_refused() -> None:
    with pytest.raises(TypeError, match="takes 7 arguments, not 6"):
        literal_depth(*arguments()[:-1])


def test_bound_arrays_are_checked_once_and_the_numbers_follow() -> None:
    outside = native("left_right_differences", left=Reads(*MAP), right=Reads(*MAP), found=Writes(*MAP), outside=REAL)
    maps, found = np.full((2, 3), 9, np.float32), np.zeros((2, 3), np.float32)
    call = outside.bind(maps, maps, found)
    for number in (4.0, 7.0):
        call(number)
        assert (found == number).all()
    with pytest.raises(TypeError, match="takes 1 numbers after its arrays, not 2"):
        call(1.0, 2.0)
    with pytest.raises(ValueError, match="right does not fit: axis 1 is 2 long, not width = 3"):
        outside.bind(maps, maps[:, :2].copy(), found)
    with pytest.raises(TypeError, match="sums must be a NumPy array, not int"):
        literal_depth.bind(*arguments()[:3])


def test_lengths_that_follow_from_sizes_are_checked() -> None:
    part = native(
        "literal_depth", map=Reads(*MAP), edges=Reads(np.int64, "height + 1"), room=Writes(np.int8, ">=2 * width")
    )
    maps = np.ones((3, 5), np.float32)
    with pytest.raises(ValueError, match=r"edges does not fit: axis 0 is 3 long, not height \+ 1 = 4"):
        part(maps, np.zeros(3, np.int64), np.zeros(10, np.int8))
    with pytest.raises(ValueError, match=r"room does not fit: axis 0 is 9 long, not 2 \* width = 10"):
        part(maps, np.zeros(4, np.int64), np.zeros(9, np.int8))


def test_a_declaration_that_differs_from_the_library_is_refused() -> None:
    swapped = native("literal_depth", estimate=Writes(*MAP), truth=Reads(*MAP), slots=Reads(*SLOTS), sums=REAL)
    maps = np.ones((3, 5), np.float32)
    with pytest.raises(TypeError, match=r"is declared as .* and the library has vb1 rf4 rf4 ru1 vf8 vf8 vb1 wf8"):
        swapped(maps, maps, np.zeros((3, 5), np.uint8), 1.0)


def test_memory_can_begin_at_a_line_of_the_cache() -> None:
    assert all(library.aligned(count, np.uint16).ctypes.data % 64 == 0 for count in range(1, 50))


def test_a_level_that_the_processor_does_not_have_is_refused() -> None:
    program = "from stereogauge.kernels.library import level\nlevel()"
    environment = {**os.environ, "STEREOGAUGE_NATIVE_LEVEL": "v9"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert "STEREOGAUGE_NATIVE_LEVEL is 'v9'; this processor has " in done.stderr


def test_a_missing_library_is_one_sentence() -> None:
    program = "from stereogauge.kernels.library import library\nlibrary()"
    environment = {**os.environ, "STEREOGAUGE_NATIVE_LIBRARY": "nowhere.so"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert "native library was not found as nowhere.so: install the package again" in done.stderr.splitlines()[-1]


def test_a_source_tree_that_this_user_may_not_build_in_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = tmp_path / "src" / "stereogauge" / "native"
    native.mkdir(parents=True)
    (native / "sgm.cpp").touch()
    (tmp_path / "hatch_build.py").touch()
    monkeypatch.setattr(library, "FOLDER", native)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # as for a user without rights; root may write anywhere
    monkeypatch.delenv("STEREOGAUGE_NATIVE_LIBRARY", raising=False)
    library.library.cache_clear()
    try:
        with pytest.raises(StereogaugeError, match="must be built again, and this user may not write there: run"):
            library.library()
    finally:
        library.library.cache_clear()


def declared() -> dict[str, library.Function]:
    """All functions that modules of kernels declare."""
    modules = [importlib.import_module(f"{kernels.__name__}.{one.name}") for one in iter_modules(kernels.__path__)]
    found = (value for module in modules for value in vars(module).values() if isinstance(value, library.Function))
    return {function.name: function for function in found}


def fitting(function: library.Function, kind: int = 0) -> dict[str, Any]:
    """Arrays that a declaration accepts, every size 32, with the first of their types or another; 0 for numbers."""
    made: dict[str, Any] = {}
    for name, argument in function.arguments.items():
        if not isinstance(argument, Array):
            made[name] = 0
            continue
        parts = (str(part).removeprefix(">=") for part in argument.shape)
        shape = [int(eval(re.sub(r"[a-z_]+", "32", part))) for part in parts]
        one = made[argument.same_as].dtype if argument.same_as else argument.types[kind % len(argument.types)]
        made[name] = library.aligned(int(np.prod(shape)), one).reshape(shape)
    return made


def damaged(value: np.ndarray, argument: Array, others: str) -> Iterator[np.ndarray]:
    """The array with one thing wrong: type, byte order, dimensions, length, layout, alignment, or read-only.

    `others` are the shapes of the other arrays: a size that none of them has may be any.
    """
    wrong = {np.dtype(one) for one in (np.int8, np.float64, np.uint32)} - {*argument.types, value.dtype}
    yield from (np.zeros(value.shape, one) for one in wrong)
    yield value[None]
    length = str(argument.shape[-1])
    if not length.isidentifier() or re.search(rf"\b{length}\b", others):
        yield np.zeros((*value.shape[:-1], value.shape[-1] - 1), value.dtype)
    if value.shape[-1] > 1:
        yield np.zeros((*value.shape[:-1], 2 * value.shape[-1]), value.dtype)[..., ::2]
    if value.itemsize > 1:
        yield value.view(value.dtype.newbyteorder())
        yield np.zeros(value.nbytes + 1, np.uint8)[1:].view(value.dtype).reshape(value.shape)
    if argument.written:
        read_only = value.copy()
        read_only.flags.writeable = False
        yield read_only


@pytest.mark.parametrize("name", sorted(declared()))
def test_every_kernel_refuses_every_array_that_differs_from_its_declaration(name: str) -> None:
    function = declared()[name]
    arrays = {place: one for place, one in function.arguments.items() if isinstance(one, Array)}
    for kind in range(2):
        values = fitting(function, kind)
        function.bind(*values.values())
        for place, argument in arrays.items():
            others = str([one.shape for key, one in arrays.items() if key != place])
            for wrong in damaged(values[place], argument, others):
                with pytest.raises((TypeError, ValueError), match=f"^{name}: "):
                    function.bind(*(values | {place: wrong}).values())


@pytest.mark.usefixtures("processor_level")
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_a_slot_without_a_row_is_refused(kind: type[np.generic]) -> None:
    slots = np.zeros((3, 32), kind)
    slots[2, 31] = 2
    maps = np.ones((3, 32), np.float32), np.ones((3, 32), np.float32), slots
    with pytest.raises(ValueError, match="literal_depth: a slot is not below 2"):
        pixelwise.literal_depth(*maps, 1.0, 0.5, True, np.zeros(2))
    with pytest.raises(ValueError, match="count_exclusions: a slot is not below 2"):
        pixelwise.count_exclusions(*maps, 0.0, np.ones(3, np.bool_), np.zeros((2, pixelwise.EXCLUSIONS), np.int64))
    with pytest.raises(ValueError, match="tally_errors: a slot is not below 2"):
        tally(maps)
    slots[2, 31] = 1
    tally(maps)


@pytest.mark.usefixtures("processor_level")
@pytest.mark.parametrize(
    ("width", "changed"),
    [
        (32, {"segments": [4]}),
        (32, {"segment_rows": [0, 1, 1, 2]}),
        (32, {"firsts": [0, 2]}),
        (32, {"firsts": [-1, 1]}),
        (32, {"groups": [(4 << 8) + 255]}),
        (15, {}),
    ],
)
def test_groups_beyond_the_map_are_refused(width: int, changed: dict[str, list[int]]) -> None:
    maps = np.ones((3, width), np.float32), np.ones((3, width), np.float32), np.zeros((3, width), np.uint8)
    with pytest.raises(ValueError, match=r"tally_errors: .* a segment or group is not in the map"):
        tally(maps, **changed)


def tally(maps: tuple[np.ndarray, ...], **changed: list[int]) -> None:
    """The pass over two slots with one group of eight pixels, and other groups where they are given."""
    usual = {"segment_rows": [0, 1, 1, 1], "segments": [0], "firsts": [0, 1], "groups": [255]}
    kinds = (np.int64, np.uint32, np.int64, np.uint32)
    groups = [np.array(one, kind) for one, kind in zip((usual | changed).values(), kinds, strict=True)]
    height, width = maps[0].shape
    rows = [np.empty(width + 16, kind) for kind in ("f4", "f4", "f8", "f4", "f4", "u4")]
    sums = np.zeros((2, pixelwise.SUMS, pixelwise.LANES))
    histogram, keys = np.zeros((2, pixelwise.KEYS), np.uint32), np.empty((1, width), np.uint16)
    flags = np.empty(height, np.bool_), np.empty(height, np.bool_)
    pixelwise.tally_errors(*maps, *groups, 1.0, *(np.float32(1),) * 4, True, *rows, keys, sums, histogram, *flags)


@pytest.mark.usefixtures("processor_level")
@pytest.mark.parametrize(
    "changed",
    [
        {"found": [0, 9]},
        {"codes": [0, 32]},
        {"owners": [0, 2]},
        {"questions": [[1, 0, 2, 0]]},
        {"questions": [[0, 0, 3, 0]]},
        {"questions": [[0, -1, 1, 0]]},
        {"questions": [[0, 0, 2, 2]]},
    ],
)
def test_a_pixel_or_question_beyond_the_arrays_is_refused(changed: dict[str, list[Any]]) -> None:
    usual: dict[str, list[Any]] = {"found": [0, 1], "codes": [0, 0], "owners": [0, 1], "questions": [[0, 0, 2, 1]]}

    def select(**given: list[Any]) -> float:
        kinds = ("u4", "u2", "u1", "i8")
        found, codes, owners, questions = map(np.array, (usual | given).values(), kinds)
        rooms = [np.empty(2, kind) for kind in ("u4", "u1", "f4", "f4")]
        maps, members = (np.array([3, 5, 9], np.float32), np.ones(3, np.float32)), np.ones((1, 2), np.bool_)
        selected = np.empty(1, np.float32)
        places = np.zeros(32, np.int64)
        pixelwise.select_errors(*maps, found, codes, owners, places, questions, members, *rooms, selected)
        return float(selected[0])

    assert select() == 4
    with pytest.raises(ValueError, match="select_errors: "):
        select(**changed)
