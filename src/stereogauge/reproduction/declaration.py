"""The parts of a reproduction: papers, their items (a table, a figure, a claim), and the rows that an item gives.

An item is a function of the available data; it computes and returns, and neither draws nor prints.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from stereogauge.errors import one_of
from stereogauge.figures.chart import Chart
from stereogauge.figures.pictures import PictureFigure
from stereogauge.reproduction.material import Material

Value = float | str


class Status(enum.StrEnum):
    """Whether a published number, picture or claim was reproduced.

    Numbers that another publication prints, sums of a paper's own numbers, and checks of our own numbers among
    themselves are counted as what they are.
    """

    REPRODUCED = "reproduced"
    ELSEWHERE = "reproduced from another publication"
    ARITHMETIC = "printed numbers that agree with each other"
    OWN = "our numbers that agree with each other"
    SAME_EXPERIMENT = "same experiment on other data"
    UNCHECKABLE = "cannot be checked"


class ReproducedNumber(Struct, frozen=True):
    """One published number or claim beside ours.

    `difference` is ours − theirs where both are numbers. A row is *reproduced* only if ours, rounded as printed, is
    what the paper prints; `reason` says what prevents that, or what the reader must know.
    """

    paper: str
    item: str
    what: str
    status: Status
    ours: Value | None = None
    theirs: Value | None = None
    reason: str = ""

    @property
    def difference(self) -> float | None:
        """Ours − theirs; None unless both are numbers."""
        if isinstance(self.ours, str) or isinstance(self.theirs, str) or self.ours is None or self.theirs is None:
            return None
        return self.ours - self.theirs

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values."""
        known = {**asdict(self), "status": self.status.value}
        reason = known.pop("reason")
        return {**known, "difference": self.difference, "reason": reason}


class FurtherNumbers(Struct, frozen=True):
    """Further numbers of an item, for which the paper prints nothing comparable."""

    title: str
    headings: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...]


class Item(Struct, frozen=True):
    """A table, figure or claim of a paper; `compute` records its findings."""

    id: str
    title: str
    compute: Compute


class Paper(Struct, frozen=True):
    """A paper with everything in it that holds a result; `data` says on what its experiments are repeated here."""

    id: str
    title: str
    data: str = ""
    items: list[Item] = field(default_factory=list)

    def item(self, identifier: str, title: str) -> Callable[[Compute], Compute]:
        """Declare the decorated function as the paper's next item."""

        def declare(compute: Compute) -> Compute:
            self.items.append(Item(identifier, title, compute))
            return compute

        return declare

    def unchecked(self, identifier: str, title: str, what: str, reason: str) -> None:
        """Declare an item in which there is nothing to check."""
        self.items.append(Item(identifier, title, lambda record, material: record.unchecked(what, None, reason)))

    def choose(self, wanted: Sequence[str] | None) -> tuple[Item, ...]:
        """The items called `wanted`, or all."""
        known = {item.id: item for item in self.items}
        return tuple(known[one_of(f"item of {self.id}", name, known)] for name in wanted or known)


class Recorder(Struct):
    """The findings of one item of one paper: rows, further tables, and figures by file name."""

    paper: str
    item: str
    title: str = ""
    data: str = ""
    rows: list[ReproducedNumber] = field(default_factory=list)
    tables: list[FurtherNumbers] = field(default_factory=list)
    figures: dict[str, Chart | PictureFigure] = field(default_factory=dict)

    def _row(self, status: Status, what: str, ours: Value | None, theirs: Value | None, reason: str) -> None:
        self.rows.append(ReproducedNumber(self.paper, self.item, what, status, ours, theirs, reason))

    def printed(
        self, what: str, ours: float, theirs: float, digits: int, reason: str = "", *, publication: str = ""
    ) -> None:
        """A number that the paper prints with `digits` decimals, or another `publication`, from the same data.

        Reproduced if ours rounds to it; otherwise the same experiment with the reason for the difference.
        """
        same = round(ours, digits) == theirs
        reproduced = Status.ELSEWHERE if publication else Status.REPRODUCED
        self._row(reproduced if same else Status.SAME_EXPERIMENT, what, ours, theirs, publication if same else reason)

    def equal(self, what: str, ours: Value, theirs: Value, reason: str = "") -> None:
        """A fact that is either equal or not."""
        self._row(Status.REPRODUCED if ours == theirs else Status.SAME_EXPERIMENT, what, ours, theirs, reason)

    def arithmetic(self, what: str, implied: Value, printed: Value) -> None:
        """A printed number that the paper's other numbers imply; says nothing about how they were measured."""
        same = implied == printed
        self._row(Status.ARITHMETIC if same else Status.UNCHECKABLE, what, implied, printed, "")

    def own(self, what: str, found: Value, expected: Value) -> None:
        """A property of our own numbers that the paper states in general."""
        self._row(Status.OWN if found == expected else Status.SAME_EXPERIMENT, what, found, expected, "")

    def other_data(self, what: str, ours: Value, theirs: Value | None, reason: str = "") -> None:
        """The same experiment on data that are not the paper's: `data`, unless the reason says otherwise."""
        self._row(Status.SAME_EXPERIMENT, what, ours, theirs, reason or self.data)

    def claim(self, what: str, holds: bool, ours: str, theirs: Value | None, reason: str = "") -> None:
        """Whether a statement of the paper holds on other data, and the numbers that say so."""
        self.other_data(what, f"{'holds' if holds else 'does not hold'}: {ours}", theirs, reason)

    def unchecked(self, what: str, theirs: Value | None, reason: str, ours: Value | None = None) -> None:
        """Something that cannot be checked with public data.

        `ours` is what the paper's other numbers imply, where they contradict a printed one.
        """
        self._row(Status.UNCHECKABLE, what, ours, theirs, reason)

    def table(self, title: str, headings: Iterable[str], cells: Iterable[Sequence[Any]]) -> None:
        """A further table."""
        self.tables.append(FurtherNumbers(title, tuple(headings), tuple(map(tuple, cells))))


Compute = Callable[[Recorder, Material], None]
