"""What a result was computed from: the requested scores, the rule for gaps, and what that rule removed.

Every ranking, statistic, figure and report has one, and names it in its caption.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, get_args

from msgspec import Struct

from stereogauge.errors import one_of
from stereogauge.protocol import EITHER_UNIT
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


NUMBER = re.compile(r"[\d.]+")


class Dropped(NamedTuple):
    """Something that was requested and left out.

    Its kind (algorithm, scene, column, metric, or single scores), its name, and why.
    """

    kind: str
    name: str
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.name} {self.reason}"
            if self.kind == "score"
            else f"left out: {self.kind} {self.name}: {self.reason}"
        )


def in_words(dropped: Iterable[Dropped], most: int = 6) -> list[str]:
    """One sentence for everything that was left out for one kind of reason.

    >>> cells = [f"{scene} d1:{region}" for scene in ("teddy", "cones") for region in ("all", "bg")]
    >>> in_words([Dropped("column", cell, "no score of A") for cell in cells])
    ['Left out: column d1:all, d1:bg on teddy, cones (no score of A).']
    """
    together: dict[tuple[str, str], dict[str, list[str]]] = {}
    for what in dropped:
        alike = " ".join(NUMBER.sub("#", what.reason).split()[:2])
        together.setdefault((what.kind, alike), {}).setdefault(what.reason, []).append(what.name)
    found = []
    for (kind, _), reasons in together.items():
        names = [name for some in reasons.values() for name in some]
        reason = next(iter(reasons)) + ("" if len(reasons) == 1 else f", and {len(reasons) - 1} more like it")
        named = enumerated(by_scenes(names, most), 3) if kind == "column" else enumerated(names, most)
        found.append(f"{'Last place' if kind == 'score' else f'Left out: {kind}'} {named} ({reason}).")
    return found


def by_scenes(cells: Iterable[str], most: int = 6) -> list[str]:
    """Cells such as "teddy bad@1:all", those of the same scenes in one phrase; a column of all scenes has no scene."""
    scenes: dict[str, list[str]] = {}
    for cell in cells:
        scene, _, column = cell.rpartition(" ")
        scenes.setdefault(column, []).append(scene)
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
    of depth errors on the scenes. `missing_pixels` says whether pixels that scores leave out were charged.
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
        )

    @property
    def independent_scenes(self) -> int:
        """The number of scenes, those of one place counted once."""
        return self.units or len(self.scenes)

    def caption(self, longest: int = 6) -> str:
        """One line for the foot of a figure: how many algorithms, which scenes, metrics, regions and protocol."""
        parts = [
            f"{len(self.algorithms)} algorithms",
            f"scenes: {self._scenes(longest)}",
            f"metrics: {enumerated(self.metrics, longest)}",
            f"regions: {enumerated(self.regions, longest)}",
        ]
        parts.append(f"coverage ≥ {100 * self.least_coverage:g} %")
        if self.protocol:
            parts.append(f"protocol {self.protocol[:12]}")
        if self.dropped:
            parts.append(f"left out: {enumerated([f'{what.kind} {what.name}' for what in self.dropped], 3)}")
        return " · ".join(parts)

    def _scenes(self, longest: int) -> str:
        names = enumerated(self.scenes, longest)
        return f"{len(self.scenes)} of {self.asked_scenes} ({names})" if len(self.scenes) < self.asked_scenes else names

    def to_dict(self) -> dict[str, Any]:
        """The selection as plain values for JSON."""
        kept = ("algorithms", "scenes", "missing", "least_coverage", "least_support", "dropped", "protocol")
        return json_values(
            self,
            (*kept, "missing_pixels", "independent_scenes"),
            columns=[str(column) for column in self.columns],
            asked_scenes=self.asked_scenes or len(self.scenes),
        )


def enumerated(names: Sequence[str], longest: int = 6) -> str:
    """Names with commas, at most `longest` of them, and the number of the others."""
    if len(names) <= longest:
        return ", ".join(names) or "none"
    return f"{', '.join(names[: longest - 1])} and {len(names) - longest + 1} more"
