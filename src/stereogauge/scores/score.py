"""A score: one number with what it was computed from; and a cell, all scores of one algorithm on one scene.

A score's key is (dataset, scene, algorithm, metric, region, protocol). Sums and counts are kept, so pooling over pixels
or averaging over scenes is a choice made when reading. A cell is what a worker returns and a store keeps in one row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import astuple, replace
from numpy.typing import NDArray

from stereogauge.errors import FileError
from stereogauge.masks.expression import region_id
from stereogauge.metrics.registry import parse_column
from stereogauge.scores.column import Column, VersionedColumn

NO_ESTIMATE = "no estimate for this scene"
ARRAYS = ("values", "sums", "counts", "missing")
"""The parts of a cell, and of a cube, with one number per score."""


class Score(Struct, frozen=True, eq=False):
    """One number with its sufficient statistics; NaN with a note where nothing could be measured.

    `rule` is the occlusion rule that made the region, which the protocol's "auto" leaves open. It follows from scene
    and protocol, so it is no part of what makes two scores equal; a score from a store has "".
    """

    dataset: str
    scene: str
    algorithm: str
    metric: str
    region: str
    value: float
    sum: float
    count: int
    missing: int
    protocol: str
    note: str = ""
    rule: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Score) and astuple(self)[:-1] == astuple(other)[:-1]

    def __hash__(self) -> int:
        return hash(astuple(self)[:-1])


class CellScores(Struct, frozen=True, eq=False):
    """The scores of one cell.

    `protocol` is the scoring hash. `inputs` is a 64-bit fingerprint of everything that was read, 0 where it is
    not known. `notes` holds the reason of a NaN by place in `columns`. `seconds` is the time that computing took,
    on `host`.
    """

    dataset: str
    scene: str
    algorithm: str
    protocol: str
    columns: tuple[VersionedColumn, ...]
    values: NDArray[np.float64]
    sums: NDArray[np.float64]
    counts: NDArray[np.int64]
    missing: NDArray[np.int64]
    notes: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    inputs: int = 0
    seconds: float = 0.0
    host: str = ""

    @classmethod
    def of_scores(
        cls,
        scores: Sequence[Score],
        columns: tuple[VersionedColumn, ...],
        *,
        inputs: int = 0,
        seconds: float = 0.0,
        host: str = "",
    ) -> CellScores:
        """The cell of scores in the order of `columns`."""
        first = scores[0]
        return cls(
            dataset=first.dataset,
            scene=first.scene,
            algorithm=first.algorithm,
            protocol=first.protocol,
            columns=columns,
            values=np.array([score.value for score in scores], np.float64),
            sums=np.array([score.sum for score in scores], np.float64),
            counts=np.array([score.count for score in scores], np.int64),
            missing=np.array([score.missing for score in scores], np.int64),
            notes={place: score.note for place, score in enumerate(scores) if score.note},
            inputs=inputs,
            seconds=seconds,
            host=host,
        )

    def scores(self) -> Iterator[Score]:
        """The scores one by one."""
        for place, column in enumerate(self.columns):
            yield Score(
                dataset=self.dataset,
                scene=self.scene,
                algorithm=self.algorithm,
                metric=column.metric,
                region=column.region,
                value=float(self.values[place]),
                sum=float(self.sums[place]),
                count=int(self.counts[place]),
                missing=int(self.missing[place]),
                protocol=self.protocol,
                note=self.notes.get(place, ""),
            )

    def take(self, places: Sequence[int]) -> CellScores:
        """The cell with only the columns at `places`."""
        chosen = list(places)
        return replace(
            self,
            columns=tuple(self.columns[place] for place in chosen),
            **{name: getattr(self, name)[chosen] for name in ARRAYS},
            notes={new: self.notes[old] for new, old in enumerate(chosen) if old in self.notes},
        )


IMPORTED = "imported"
"""The protocol of scores from elsewhere that name none."""
NEEDED = ("scene", "algorithm", "metric", "value")


def score_of_row(row: Mapping[str, Any], where: str) -> Score:
    """The score that a row of a table from elsewhere holds; `where` names the row in errors.

    Needed are scene, algorithm, metric and value; dataset, region, sum, count, missing, protocol and note are optional.
    Without a region it is the metric's own, else `all`. A missing value is a gap. Without a count nothing is known of
    the pixels: the score is taken as it is, and cannot be pooled.
    """
    absent = next((name for name in NEEDED if name not in row), None)
    if absent is not None:
        raise FileError(f"{where} has no column {absent!r}; a table of scores needs {', '.join(NEEDED)}.")
    texts = {name: "" if _is_gap(row.get(name)) else str(row.get(name)).strip() for name in TEXTS}
    for name in ("scene", "algorithm", "metric"):
        if not texts[name]:
            raise FileError(f"{where}: the {name} is empty; every score has one.")
    metric, named = parse_column(texts["metric"])
    region = region_id(texts["region"] or named or metric.metric.region or "all")
    numbers: dict[str, float] = {}
    for name in NUMBERS:
        try:
            numbers[name] = math.nan if _is_gap(row.get(name)) else float(row[name])
        except (TypeError, ValueError):
            raise FileError(f"{where}: {name} must be a number; found {row[name]!r}.") from None
    counts = {name: 0 if math.isnan(numbers[name]) else int(numbers[name]) for name in ("count", "missing")}
    if min(counts.values()) < 0:
        raise FileError(f"{where}: count and missing are numbers of pixels of at least 0; found {counts}.")
    value, (low, high) = numbers["value"], metric.metric.range
    beyond = ROUNDED * max(1.0, abs(value))
    if value < low - beyond or value > high + beyond:
        raise FileError(
            f"{where}: {metric.id} of {texts['algorithm']} on {texts['scene']} is {value:g}, and it lies between "
            f"{low:g} and {high:g}{f' {metric.metric.unit}' if metric.metric.unit else ''}; correct the table."
        )
    told = any(not _is_gap(row.get(name)) for name in ("count", "missing", "note"))
    return Score(
        dataset=texts["dataset"],
        scene=texts["scene"],
        algorithm=texts["algorithm"],
        metric=metric.id,
        region=region,
        value=numbers["value"],
        sum=numbers["sum"] if counts["count"] else 0.0,
        count=counts["count"],
        missing=counts["missing"],
        protocol=texts["protocol"] or IMPORTED,
        note=texts["note"] if told or not math.isnan(value) else NO_ESTIMATE,
    )


ROUNDED = 1e-6
"""Share of a value by which rounding may take it beyond its range."""
TEXTS = ("dataset", "scene", "algorithm", "metric", "region", "protocol", "note")
NUMBERS = ("value", "sum", "count", "missing")


def _is_gap(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def cells_of_scores(scores: Iterable[Score]) -> list[CellScores]:
    """Scores grouped into cells, in order of appearance; versions are those of the present declarations.

    A scene that an algorithm has no estimate for makes no cell: the store holds what was measured.
    """
    groups: dict[tuple[str, str, str, str], list[Score]] = {}
    for score in scores:
        if score.note != NO_ESTIMATE:
            groups.setdefault((score.dataset, score.scene, score.algorithm, score.protocol), []).append(score)
    return [
        CellScores.of_scores(group, tuple(Column(score.metric, score.region).versioned for score in group))
        for group in groups.values()
    ]


def joined(cells: Sequence[CellScores]) -> CellScores:
    """Parts of one cell as one; no column may be in two of them."""
    first, last = cells[0], cells[-1]
    if len(cells) == 1:
        return first
    arrays: dict[str, Any] = {name: np.concatenate([getattr(cell, name) for cell in cells]) for name in ARRAYS}
    starts = np.cumsum([0, *(len(cell.columns) for cell in cells[:-1])]).tolist()
    return replace(
        last,
        columns=tuple(column for cell in cells for column in cell.columns),
        notes={
            start + place: note for start, cell in zip(starts, cells, strict=True) for place, note in cell.notes.items()
        },
        seconds=sum(cell.seconds for cell in cells),
        **arrays,
    )


class Failure(Struct, frozen=True):
    """A cell that could not be computed, and why. `detail` is what a program printed, or a traceback."""

    dataset: str
    scene: str
    algorithm: str
    protocol: str
    reason: str
    detail: str = ""
    at: float = 0.0
