"""A wrong argument of a kernel is an exception before anything runs."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from stereogauge.kernels import library
from stereogauge.kernels.library import FLAG, REAL, Reads, Writes, native

MAP = (np.float32, "height", "width")
SLOTS = ((np.uint8, np.uint16), "height", "width")
literal_depth = native(
    "literal_depth",
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
    with pytest.raises(TypeError, match=r"is declared as .* and the library has v-- rf4 rf4 ru1 vf8 vf8 vb1 wf8"):
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
