"""Small score cubes and scenes for tests of decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tests.supplement import supplement_maxima as supplement_maxima

from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.facts import SceneFacts


@pytest.fixture(scope="session")
def cube_of() -> Callable[..., ScoreCube]:
    """A cube from nested lists (algorithms × scenes × columns), every score of 1000 pixels with so many missing."""

    def build(
        values: object,
        columns: Sequence[str] = ("bad@1:all",),
        missing: object = 0.0,
        algorithms: Sequence[str] | None = None,
    ) -> ScoreCube:
        array = np.array(values, np.float64)
        lost = np.broadcast_to(np.array(missing, np.float64), array.shape)
        names = algorithms or [chr(ord("A") + place) for place in range(array.shape[0])]
        return ScoreCube(
            algorithms=tuple(names),
            scenes=tuple(f"scene{place}" for place in range(array.shape[1])),
            columns=tuple(Column(*text.split(":")) for text in columns),
            values=array,
            sums=np.nan_to_num(array) * 10,
            counts=np.where(np.isnan(array), 0.0, 1000.0 - np.array([_apart(text) for text in columns]) * lost),
            missing=lost.copy(),
            protocol="0123456789abcdef",
            datasets=("made",) * array.shape[1],
            facts=(SceneFacts(size=1.0),) * array.shape[1],
        )

    return build


def _apart(column: str) -> float:
    """1 where the count of a metric leaves missing pixels out."""
    return 0.0 if Column(*column.split(":")).declared.metric.counts_missing("count") else 1.0
