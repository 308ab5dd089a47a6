"""What a result was computed from: the requested scores, the rule for gaps, and what that rule removed.

Every ranking, statistic, figure and report has one, and names it in its caption.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, get_args

from msgspec import Struct

from stereogauge.errors import one_of
from stereogauge.protocol import EITHER_UNIT, Aggregations
from stereogauge.scores.column import Column, HasColumns
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.scope import LEAST_COVERAGE, MissingPixels, MissingRule
from stereogauge.text import json_values


def missing_rule(text: str) -> MissingRule:
    """The rule for gaps that `text` names."""
    rule: MissingRule = one_of("rule for missing cells", text, get_args(MissingRule))
    return rule


def missing_pixels_rule(text: str) -> MissingPixels:
    """The rule for missing pixels that `text` names."""
    rule: MissingPixels = one_of("rule for missing pixels", text.replace("-", " "), get_args(MissingPixels))
    return rule


class Dropped(NamedTuple):
    """Something that was requested and left out.

    Its kind (algorithm, scene, column, metric, or single scores), its name, and why. A column of one scene is called
    after both, `scene` and `column`. Reasons that differ in names and numbers only have the same `cause`.
    """

    kind: str
    name: str
    reason: str
    scene: str = ""
    column: str = ""
    cause: str = ""

    def __str__(self) -> str:
        return (
            f"{self.name} {self.reason}"
            if self.kind == "score"
            else f"left out: {self.kind} {self.name}: {self.reason}"
        )


def in_words(dropped: Iterable[Dropped], most: int = 6) -> list[str]:
    """One sentence for everything that was left out for one kind of reason.

    >>> scenes, columns = ("teddy", "cones"), ("d1:all", "d1:bg")
    >>> cells = [Dropped("column", f"{s} {c}", "no score of A", s, c) for s in scenes for c in columns]
    >>> in_words(cells)
    ['Left out: column d1:all, d1:bg on teddy, cones (no score of A).']
    """
    together: dict[tuple[str, str], list[Dropped]] = {}
    for what in dropped:
        together.setdefault((what.kind, what.cause or what.reason), []).append(what)
    found = []
    for (kind, _), alike in together.items():
        others = len({what.reason for what in alike}) - 1
        reason = alike[0].reason + (f", and {others} more like it" if others else "")
        names = enumerated(by_scenes(alike, most), 3) if kind == "column" else enumerated([w.name for w in alike], most)
        found.append(f"{'Last place' if kind == 'score' else f'Left out: {kind}'} {names} ({reason}).")
    return found


def by_scenes(dropped: Iterable[Dropped], most: int = 6) -> list[str]:
    """Columns that were left out, those of the same scenes in one phrase; a column of all scenes names no scene."""
    scenes: dict[str, list[str]] = {}
    for what in dropped:
        scenes.setdefault(what.column or what.name, []).append(what.scene)
    columns: dict[tuple[str, ...], list[str]] = {}
    for column, places in scenes.items():
        columns.setdefault(tuple(places), []).append(column)
    return [
        enumerated(names, most) + (f" on {enumerated(places, most)}" if all(places) else "")
        for places, names in columns.items()
    ]


class Selection(HasColumns, Struct, frozen=True):
    """Algorithms, scenes and columns that entered a result, the rules for gaps, and what was left out.

    `least_coverage` and `least_support` are the limits of `usable_scores`; `asked_scenes` is the number
    of scenes before the rule for gaps, `units` that of the independent ones among those kept; `depth_unit` is the unit
    of depth errors on the scenes. `missing_pixels` says whether pixels that scores leave out were charged, and
    `aggregation` how scenes become one number.
    """

    algorithms: tuple[str, ...]
    scenes: tuple[str, ...]
    columns: tuple[Column, ...]
    missing: MissingRule = "common"
    dropped: tuple[Dropped, ...] = ()
    protocol: str = ""
    least_coverage: float = LEAST_COVERAGE
    least_support: float | None = None
    asked_scenes: int = 0
    depth_unit: str = EITHER_UNIT
    missing_pixels: MissingPixels = "charged"
    units: int = 0
    aggregation: Aggregations = "mean"

    @classmethod
    def of(cls, cube: ScoreCube, missing: MissingRule = "common", dropped: tuple[Dropped, ...] = ()) -> Selection:
        """The selection of everything in a cube."""
        return cls(
            cube.algorithms,
            cube.scenes,
            cube.columns,
            missing,
            dropped,
            cube.protocol,
            cube.least_coverage,
            cube.least_support,
            cube.requested_scenes,
            cube.depth_unit,
            aggregation=cube.aggregation,
        )

    @property
    def independent_scenes(self) -> int:
        """The number of scenes, those of one place counted once."""
        return self.units or len(self.scenes)

    def caption(self) -> str:
        """One line for the foot of a figure: how many algorithms, which scenes, metrics, regions and protocol."""
        few = len(self.scenes) < self.asked_scenes
        scenes = enumerated(self.scenes)
        parts = [
            f"{len(self.algorithms)} algorithms",
            f"scenes: {f'{len(self.scenes)} of {self.asked_scenes} ({scenes})' if few else scenes}",
            f"metrics: {enumerated(self.metrics)}",
            f"regions: {enumerated(self.regions)}",
            f"coverage ≥ {100 * self.least_coverage:g} %",
        ]
        if self.protocol:
            parts.append(f"protocol {self.protocol[:12]}")
        if self.dropped:
            parts.append(f"left out: {enumerated([f'{what.kind} {what.name}' for what in self.dropped], 3)}")
        return " · ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """The selection as plain values for JSON."""
        kept = ("algorithms", "scenes", "missing", "least_coverage", "least_support", "dropped", "protocol")
        return json_values(
            self,
            (*kept, "missing_pixels", "independent_scenes", "aggregation"),
            columns=[str(column) for column in self.columns],
            asked_scenes=self.asked_scenes or len(self.scenes),
        )


def enumerated(names: Sequence[str], longest: int = 6) -> str:
    """Names with commas, at most `longest` of them, and the number of the others."""
    if len(names) <= longest:
        return ", ".join(names) or "none"
    return f"{', '.join(names[: longest - 1])} and {len(names) - longest + 1} more"
