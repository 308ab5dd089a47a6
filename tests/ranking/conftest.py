"""Small score cubes for tests of rankings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tests.supplement import supplement_maxima as supplement_maxima

from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube


@pytest.fixture(scope="session")
def cube_of() -> Callable[..., ScoreCube]:
    """A cube from nested lists (algorithms × scenes × columns, or algorithms × columns on one scene)."""

    def build(values: object, columns: Sequence[str] = ("bad@1:all",), algorithms: str | None = None) -> ScoreCube:
        array = np.array(values, np.float64)
        if array.ndim == 2:
            array = array[:, None, :]
        names = algorithms or "".join(chr(ord("A") + place) for place in range(array.shape[0]))
        return ScoreCube(
            algorithms=tuple(names),
            scenes=tuple(f"scene{place}" for place in range(array.shape[1])),
            columns=tuple(Column(*text.split(":")) for text in columns),
            values=array,
            protocol="0123456789abcdef",
        )

    return build
