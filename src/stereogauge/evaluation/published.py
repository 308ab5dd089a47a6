"""Which evaluator a published number comes from: maps are scored under every preset until the digits agree.

A number agrees where our value, rounded to as many decimals as were printed, is that number; a percentage may be
printed as a share. The name of a number says which metrics are tried: an end-point error is not a share of pixels.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from stereogauge.errors import FileError, StereogaugeError
from stereogauge.evaluation.evaluate import evaluate
from stereogauge.metrics.declaration import PixelMetric
from stereogauge.model import Dataset, ResultSet
from stereogauge.protocol import Aggregation, Protocol, load_protocol, preset_names
from stereogauge.scores.aggregation import way
from stereogauge.scores.column import Column, columns_of
from stereogauge.scores.table import ScoreTable

NAMES = {
    "px": re.compile(r"(?i)epe|mae|avg|mean|l1|rms|\ba\d\d"),
    "%": re.compile(r"(?i)d1|bad|out|px|>|%|err|thres|bp|density|coverage"),
}
"""Patterns of names of numbers in pixels and of percentages; any other name may be either."""
WAYS: Mapping[Aggregation, str] = {
    "mean": "mean of images",
    "pooled": "pooled over pixels",
    "weighted": "weighted mean of images",
}
WITHOUT_VALUE = ("", "-", "–", "n/a", "nan")


class PrintedNumber(Struct, frozen=True):
    """A number as it was printed, with its name."""

    name: str
    text: str

    @property
    def value(self) -> float:
        """The number itself."""
        return float(self.text)

    def agrees(self, value: float) -> bool:
        """Whether a value, rounded as this number was, is this number."""
        decimals = len(self.text.partition(".")[2])
        return math.isfinite(value) and abs(value - self.value) <= 0.5 * 10**-decimals * (1 + 1e-9)


class Agreement(Struct, frozen=True):
    """A preset whose column gives a published number; `own` where the preset aggregates that column in this way."""

    number: PrintedNumber
    preset: str
    column: Column
    how: Aggregation
    value: float
    own: bool


def in_words(numbers: Iterable[PrintedNumber], found: Iterable[Agreement]) -> list[str]:
    """One sentence per number and way to get it, and first which presets give all of the numbers."""
    wanted, own = list(numbers), [one for one in found if one.own]
    presets = {number: {one.preset for one in own if one.number == number} for number in wanted}
    together = sorted(set.intersection(*presets.values()))
    sentences = [f"all numbers together: {_listed(together)}"] if together and len(wanted) > 1 else []
    for number in wanted:
        ways: dict[str, list[str]] = {}
        for one in own:
            if one.number == number:
                ways.setdefault(f"{one.column.metric} on {one.column.region}, {WAYS[one.how]}", []).append(one.preset)
        sentences += [f"{number.text} ({number.name}) is {_listed(names)}: {what}" for what, names in ways.items()]
        if not ways:
            sentences.append(f"{number.text} ({number.name}) is no preset's own number")
    return sentences


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def read_published(path: Path, row: str | None = None) -> list[PrintedNumber]:
    """The numbers of one row of a CSV table: its header names them; `row` is the value of the first column."""
    try:
        lines = [line for line in csv.reader(path.read_text(encoding="utf-8-sig").splitlines()) if any(line)]
    except (OSError, UnicodeDecodeError) as problem:
        raise FileError(f"{path} cannot be read as a table of published numbers: {problem}.") from None
    if len(lines) < 2:
        raise FileError(f"{path} needs a header with the names of the numbers and a row with them, as CSV.")
    header, *rows = lines
    chosen = [line for line in rows if row is None or line[0].strip() == row]
    if len(chosen) != 1:
        known = ", ".join(line[0] for line in rows)
        raise FileError(f"{path} has {len(chosen)} rows {'' if row is None else repr(row)}; choose one of: {known}.")
    numbers = []
    for name, text in zip(header, chosen[0], strict=False):
        stripped = text.strip().removesuffix("%").strip()
        if stripped.lower() in WITHOUT_VALUE or not re.fullmatch(r"[-+]?\d*\.?\d+", stripped):
            continue
        numbers.append(PrintedNumber(name.strip(), stripped))
    if not numbers:
        raise FileError(f"{path}: the row {', '.join(chosen[0])!r} has no number.")
    return numbers


def agreements(
    numbers: Iterable[PrintedNumber],
    dataset: Dataset,
    result: ResultSet,
    *,
    presets: Iterable[str] | None = None,
    progress: Callable[[str], None] = lambda preset: None,
) -> list[Agreement]:
    """Every preset, column and way to aggregate that gives one of the numbers; a preset's own way comes first."""
    wanted = list(numbers)
    found: list[Agreement] = []
    for name in presets or preset_names():
        progress(name)
        protocol = load_protocol(name)
        table = _scores(protocol, dataset, result)
        if table is None:
            continue
        for column, how, value in _values(table):
            own = way(column, protocol.aggregation) == how
            found += [
                Agreement(number, name, column, how, value, own)
                for number in wanted
                if _may_be(number, column)
                and (number.agrees(value) or (column.unit() == "%" and number.agrees(value / 100)))
            ]
    return sorted(found, key=lambda one: (wanted.index(one.number), not one.own))


def _may_be(number: PrintedNumber, column: Column) -> bool:
    """Whether the name of a number fits the unit of a column."""
    units = [unit for unit, pattern in NAMES.items() if pattern.search(number.name)]
    unit = column.unit()
    return not units or unit in units or unit not in NAMES


def _scores(protocol: Protocol, dataset: Dataset, result: ResultSet) -> ScoreTable | None:
    """The columns of pixel metrics of a protocol; None where it does not apply to the dataset."""
    columns = [
        str(column)
        for column in columns_of(protocol.metrics, protocol.regions)
        if isinstance(column.declared.metric, PixelMetric)
    ]
    if not columns:
        return None
    try:
        return evaluate({result.name: result}, dataset, columns, protocol=protocol.replace(scenes=[], left_out=[]))
    except StereogaugeError:
        return None


def _values(table: ScoreTable) -> Iterator[tuple[Column, Aggregation, float]]:
    ways: tuple[Aggregation, ...] = ("mean", "pooled")
    if table.protocol is not None and table.protocol.scene_weights:
        ways = (*ways, "weighted")
    for column in table.cube.columns:
        for how in ways:
            if way(column, how) == how:
                yield column, how, table.aggregate(column.metric, column.region, how=how)
