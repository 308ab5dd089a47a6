"""Rows of work, ours and a peer's times, their ratio, its noise and the goal; printed as they come, kept as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

from benchmarks.curves import Curve
from benchmarks.timing import Statistic, Times
from stereogauge.text import json_value, number_text

FORMAT = 1
LIMIT = "the limit of"


def amount_text(value: float, unit: str) -> str:
    """A value with its unit; seconds below one as milliseconds."""
    if unit == "s" and value < 1:
        return f"{number_text(value * 1e3)} ms"
    return f"{number_text(value)} {unit}".rstrip()


@dataclass(frozen=True)
class Row:
    """One work, ours and the peer's, in the same run; `goal` is the largest good ratio of ours to the peer's.

    `by` names the statistic that the goal is about; both are shown. A limit is a peer with one value.
    """

    group: str
    work: str
    ours: Times
    theirs: Times
    peer: str
    goal: float
    note: str = ""
    by: Statistic = "median"
    unit: str = "s"

    def ratio(self, by: Statistic | None = None) -> float:
        """Ours divided by the peer's."""
        return self.ours.by(by or self.by) / self.theirs.by(by or self.by)

    @property
    def noise(self) -> float:
        """The larger of both noises; NaN where neither was timed twice."""
        noises = [times.noise(self.by) for times in (self.ours, self.theirs)]
        return max((value for value in noises if not math.isnan(value)), default=math.nan)

    @property
    def met(self) -> bool:
        return self.ratio() <= self.goal

    @property
    def verdict(self) -> str:
        """Whether the goal is met; a miss that is smaller than the noise says so."""
        if self.met:
            return "met"
        return "missed within noise" if self.ratio() <= self.goal * self.noise else "missed"

    def line(self) -> str:
        """One line for the terminal."""
        ours = f"{amount_text(self.ours.median, self.unit)} (min {amount_text(self.ours.fastest, self.unit)})"
        theirs = amount_text(self.theirs.median, self.unit)
        if len(self.theirs.values) > 1:
            theirs += f" (min {amount_text(self.theirs.fastest, self.unit)})"
        ratios = " / ".join(f"{number_text(self.ratio(by))}" for by in ("median", "fastest"))
        noise = "" if math.isnan(self.noise) else f", noise {number_text(self.noise)} ×"
        goal = f"goal ≤ {self.goal:.4g} × by {self.by}"
        note = f"; {self.note}" if self.note else ""
        measured = f"{ours} against {self.peer} {theirs} = {ratios} ×{noise}"
        return f"{self.verdict.upper():7s} {self.work}: {measured} ({goal}){note}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values: everything measured, and what follows from it."""
        return {
            "group": self.group,
            "work": self.work,
            "unit": self.unit,
            "ours": list(self.ours.values),
            "ours_median": self.ours.median,
            "ours_fastest": self.ours.fastest,
            "peer": self.peer,
            "theirs": list(self.theirs.values),
            "theirs_median": self.theirs.median,
            "theirs_fastest": self.theirs.fastest,
            "ratio_median": self.ratio("median"),
            "ratio_fastest": self.ratio("fastest"),
            "noise": json_value(self.noise),
            "goal": self.goal,
            "by": self.by,
            "met": self.met,
            "verdict": self.verdict,
            "note": self.note,
        }

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Row:
        """The row that `to_dict` wrote; what follows from the measured values is computed again."""
        own = {name: plain[name] for name in ("group", "work", "peer", "goal", "note", "by", "unit")}
        return cls(ours=Times(tuple(plain["ours"])), theirs=Times(tuple(plain["theirs"])), **own)


@dataclass(frozen=True)
class Missing:
    """A row that could not be measured here: why, and how to get it."""

    group: str
    work: str
    why: str


@dataclass
class Report:
    """What a run has measured so far. `group` is the one that is running."""

    group: str = ""
    rows: list[Row] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    stream: TextIO | None = None

    def say(self, text: str) -> None:
        """Print to the stream, standard output unless said."""
        print(text, file=self.stream, flush=True)

    def row(
        self,
        work: str,
        ours: Times | float,
        peer: Times | float,
        peer_name: str,
        goal: float,
        note: str = "",
        *,
        by: Statistic = "median",
        unit: str = "s",
    ) -> Row:
        """Add one line and print it at once; `goal` is the largest ratio that is good."""
        row = Row(self.group, work, _times(ours), _times(peer), peer_name, goal, note, by, unit)
        self.rows.append(row)
        self.say(row.line())
        return row

    def limit(self, work: str, ours: Times | float, limit: float, note: str = "", *, unit: str = "s") -> Row:
        """A row without a peer: ours against an amount that is not to be exceeded."""
        return self.row(work, ours, limit, LIMIT, 1.0, note, unit=unit)

    def miss(self, work: str, why: str) -> None:
        """A row that cannot be measured here: say why and how to get it."""
        self.missing.append(Missing(self.group, work, why))
        self.say(f"NO ROW  {work}: {why}")

    def curve(self, curve: Curve) -> None:
        """Add one curve of cost over size."""
        self.curves.append(curve)
        self.say(f"CURVE   {curve.name} over {curve.over}: slope {number_text(curve.slope, 2)}")

    def summary(self) -> str:
        """One sentence about goals."""
        missed = sum(not row.met for row in self.rows)
        close = sum(row.verdict == "missed within noise" for row in self.rows)
        parts = [f"{len(self.rows)} rows", f"{missed} beyond their goal"]
        parts += [f"{close} of these within the noise"] if close else []
        parts += [f"{len(self.missing)} not measured"] if self.missing else []
        return ", ".join(parts)

    def to_dict(self, machine: Mapping[str, Any], date: str) -> dict[str, Any]:
        """The document that `--json` writes and `benchmarks.page` reads."""
        return {
            "format": FORMAT,
            "date": date,
            "machine": dict(machine),
            "rows": [row.to_dict() for row in self.rows],
            "missing": [asdict(row) for row in self.missing],
            "curves": [curve.to_dict() for curve in self.curves],
        }


def _times(value: Times | float) -> Times:
    return value if isinstance(value, Times) else Times((float(value),))
