"""Costs that can be ranked: lower is better in every cell, and no cell is missing.

Gaps are treated by the rule that the user chose; a column without any value is always left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.errors import NothingLeftError, StereogaugeError
from stereogauge.scores.aggregation import Gap, UsableScores, charged, column_costs, scene_shares, usable_scores
from stereogauge.scores.column import Column, HasColumns
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.facts import unit_means, usual_maximum
from stereogauge.scores.scope import MissingPixels, MissingRule
from stereogauge.scores.selection import Dropped, Selection

Mask = NDArray[np.bool_]
RANKED_LAST = "too incomplete, ranked last there"


class Costs(HasColumns, Struct, frozen=True, eq=False, dict=True):
    """Costs of algorithms in flat columns, one for each (scene, region, measure).

    `matrix` has shape (algorithms, flat columns); +inf marks a gap under the rule `worst`. `scene_of` and `column_of`
    give the place of each flat column in `scenes` and `columns`. Every scene has at least one flat column. `maxima`
    holds what counts as 1 in each flat column, NaN where that is not known, and `shares` how much it counts in a sum
    over scenes. `unit_of` numbers the independent unit of each scene: scenes of one place count as one in every
    statistic. `repeated` names the column that has the pixels of one that is not counted again.
    """

    algorithms: tuple[str, ...]
    scenes: tuple[str, ...]
    columns: tuple[Column, ...]
    matrix: Values
    scene_of: NDArray[np.intp]
    column_of: NDArray[np.intp]
    maxima: Values
    shares: Values
    unit_of: NDArray[np.intp]
    repeated: Mapping[str, str] = field(default_factory=dict)

    @property
    def units(self) -> int:
        """The number of independent units among the scenes."""
        return len(np.unique(self.unit_of))

    def unit_means(self, by_scene: Values) -> Values:
        """Means over the scenes of each unit, shape (…, units), of an array with scenes last."""
        return unit_means(by_scene, self.unit_of)

    @cached_property
    def metric_places(self) -> NDArray[np.intp]:
        """The place in `metrics` of each flat column."""
        by_column = np.array([self.metrics.index(column.metric) for column in self.columns], np.intp)
        return by_column[self.column_of]

    def column_at(self, flat: np.intp) -> Column:
        """The column of a flat one."""
        return self.columns[int(self.column_of[flat])]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the flat columns, for example `teddy bad@1:nonocc`."""
        pairs = zip(self.scene_of, self.column_of, strict=True)
        return tuple(f"{self.scenes[scene]} {self.columns[column]}" for scene, column in pairs)

    def scene_means(self, cells: Values) -> Values:
        """Means over the flat columns of each scene, shape (…, scenes)."""
        means = [cells[..., self.scene_of == scene].mean(axis=-1) for scene in range(len(self.scenes))]
        return np.stack(means, axis=-1)

    @cached_property
    def in_scene(self) -> Values:
        """1 where a flat column belongs to a scene, shape (flat columns, scenes)."""
        return np.asarray(self.scene_of[:, None] == np.arange(len(self.scenes)), np.float64)

    def resampled(self, scenes: Sequence[int]) -> Costs:
        """The costs over these scenes, which may repeat."""
        places = [np.flatnonzero(self.scene_of == scene) for scene in scenes]
        flat = np.concatenate(places)
        owner = np.repeat(np.arange(len(scenes)), [len(place) for place in places])
        return replace(
            self,
            scenes=tuple(f"{self.scenes[scene]}#{turn}" for turn, scene in enumerate(scenes)),
            matrix=self.matrix[:, flat],
            scene_of=owner,
            column_of=self.column_of[flat],
            maxima=self.maxima[flat],
            shares=self.shares[flat],
            unit_of=np.arange(len(scenes)),
        )


def twins(cube: ScoreCube) -> dict[int, int]:
    """Columns that repeat an earlier one of the same metric: equal scores over equal numbers of pixels everywhere.

    Two regions may hold the same pixels on all scenes (`disc` and `boundary` of Middlebury v2); they count once. Where
    pixels were not counted, nothing is taken for a repetition.
    """
    seen: dict[tuple[str, bytes, bytes], int] = {}
    found: dict[int, int] = {}
    for place, column in enumerate(cube.columns):
        if not np.nan_to_num(cube.counts[:, :, place]).any():
            continue
        values, counts = (np.ascontiguousarray(part[:, :, place]) for part in (cube.values, cube.counts))
        first = seen.setdefault((column.metric, values.tobytes(), counts.tobytes()), place)
        if first != place:
            found[place] = first
    return found


def richest(gap: Mask, sparse: Mask, rows: Mask) -> Mask:
    """The algorithms whose comparison holds the most evidence: (algorithms − 1) × the columns that all of them have.

    Starting from all algorithms, the one that costs the others the most columns is left out again and again; the best
    set on the way is taken, or `rows` where that holds as much. A score that covers too little of its pixels is no gap
    here, since no algorithm removes a column by leaving pixels out; one that is sparse in most
    columns is left out.
    """
    lacks = gap & ~sparse
    kept: Mask = np.asarray(sparse.sum(axis=1) <= sparse.shape[1] / 2)

    def amount(chosen: Mask) -> int:
        return max(0, int(chosen.sum()) - 1) * int((~lacks[chosen].any(axis=0)).sum())

    best = rows
    while kept.any():
        if amount(kept) > amount(best):
            best = kept.copy()
        alone = lacks & kept[:, None] & (lacks[kept].sum(axis=0) == 1)
        order = np.lexsort((lacks.sum(axis=1), alone.sum(axis=1), kept))
        kept[order[-1]] = False
    return best


def prepare(
    cube: ScoreCube, rule: MissingRule = "common", missing_pixels: MissingPixels = "charged"
) -> tuple[Costs, Selection]:
    """Costs without gaps, and the selection that says what the rule for gaps removed.

    `drop-algorithm` leaves out algorithms with a gap, `drop-column` the columns of scenes in which one has a gap,
    `worst` gives a gap the last rank, `common` first leaves out algorithms that lack more than half of the columns,
    then the columns that another one lacks; where that would leave out most of the algorithms, those stay whose common
    columns hold the most comparisons (`richest`). Regions with the same pixels count once.

    Missing pixels are charged (see `stereogauge.scores.aggregation`) or, on request, left out. A score that cannot be
    charged and covers too little of its pixels counts against its algorithm, never against the column: it takes the
    last rank there under every rule but `drop-algorithm`.
    """
    if not (cube.algorithms and cube.scenes and cube.columns):
        raise StereogaugeError(f"Nothing to rank: the selection has {cube!r}; select at least one of each.")
    cube = charged(cube) if missing_pixels == "charged" else cube
    found = usable_scores(cube)
    shape = (len(cube.algorithms), -1)
    matrix = column_costs(cube.columns, found.values).reshape(shape)
    gaps = _Gaps(found, np.isnan(matrix), found.sparse.reshape(shape))
    keep: NDArray[np.bool_] = np.asarray(~gaps.gap.all(axis=0))
    dropped = [gaps.dropped(flat, gaps.reason_for_all(flat), "nothing to compare") for flat in np.flatnonzero(~keep)]
    repeated = twins(cube)
    for place in repeated:
        keep[place :: len(cube.columns)] = False
    rows: NDArray[np.bool_] = np.ones(len(cube.algorithms), bool)
    if rule == "drop-algorithm":
        rows = np.asarray(~(gaps.gap & keep).any(axis=1))
    elif rule == "common":
        rows = np.asarray((gaps.gap & keep).sum(axis=1) <= keep.sum() / 2)
        if 2 * rows.sum() < len(rows):
            rows = richest(gaps.gap[:, keep], gaps.sparse[:, keep], rows)
    dropped += [gaps.of_algorithm("algorithm", row, gaps.gap[row] & keep) for row in np.flatnonzero(~rows)]
    if rule in ("drop-column", "common"):
        partial: NDArray[np.bool_] = np.asarray(keep & (gaps.gap & ~gaps.sparse)[rows].any(axis=0))
        dropped += gaps.columns(partial, rows)
        keep = keep & ~partial
    dropped += [
        gaps.of_algorithm("score", row, gaps.sparse[row] & keep, f": {RANKED_LAST}")
        for row in np.flatnonzero(rows & (gaps.sparse & keep).any(axis=1))
    ]
    dropped += [
        Dropped("column", str(cube.columns[place]), f"the same pixels as {cube.columns[twin]}", cause="same pixels")
        for place, twin in repeated.items()
    ]
    if not rows.any() or not keep.any():
        raise NothingLeftError(
            f"After the rule {rule!r} for missing cells nothing is left of {len(cube.algorithms)} algorithms and "
            f"{matrix.shape[1]} columns ({dropped[0].name}: {dropped[0].reason}); choose another rule or a smaller "
            f"selection."
        )
    matrix = matrix if rows.all() and keep.all() else matrix[np.ix_(rows, keep)]
    if gaps.gap.any():
        matrix[np.isnan(matrix)] = np.inf
    kept_scenes, kept_columns = np.divmod(np.flatnonzero(keep), len(cube.columns))
    scenes, scene_of = np.unique(kept_scenes, return_inverse=True)
    columns, column_of = np.unique(kept_columns, return_inverse=True)
    costs = Costs(
        algorithms=tuple(name for name, kept in zip(cube.algorithms, rows, strict=True) if kept),
        scenes=tuple(cube.scenes[scene] for scene in scenes),
        columns=tuple(cube.columns[column] for column in columns),
        matrix=matrix,
        scene_of=scene_of,
        column_of=column_of,
        maxima=_maxima(cube)[keep],
        shares=scene_shares(cube).ravel()[keep],
        unit_of=np.unique(cube.unit_of[scenes], return_inverse=True)[1],
        repeated={str(cube.columns[place]): str(cube.columns[twin]) for place, twin in repeated.items()},
    )
    selection = replace(
        Selection.of(cube, rule, tuple(dropped)),
        algorithms=costs.algorithms,
        scenes=costs.scenes,
        columns=costs.columns,
        missing_pixels=missing_pixels,
        units=costs.units,
    )
    return costs, selection


def _maxima(cube: ScoreCube) -> Values:
    """What counts as 1 in each flat column."""
    pixels = np.fmax.reduce(cube.support, axis=0)
    found = [
        usual_maximum(column, one, pixels[scene, place])
        for scene, one in enumerate(cube.facts)
        for place, column in enumerate(cube.columns)
    ]
    return np.array(found, np.float64)


class _Gaps:
    """The gaps of a selection over its flat columns, with their reasons in words."""

    def __init__(self, found: UsableScores, gap: Mask, sparse: Mask) -> None:
        self.found, self.gap, self.sparse = found, gap, sparse
        self.names = [(scene, str(column)) for scene in found.cube.scenes for column in found.cube.columns]

    def dropped(self, flat: np.intp, reason: str, cause: str) -> Dropped:
        """A column of one scene that is left out."""
        return Dropped("column", " ".join(self.names[flat]), reason, *self.names[flat], cause)

    def gap_of(self, row: int | np.intp, flat: np.intp) -> Gap:
        scene, column = divmod(int(flat), len(self.found.cube.columns))
        return self.found.gap_of(int(row), scene, column)

    def reason_for_all(self, flat: np.intp) -> str:
        """Why a column says nothing about any algorithm."""
        gaps = (self.gap_of(row, flat) for row in range(len(self.gap)))
        reasons = {gap.reason for gap in gaps if gap.cause != "no score"}
        return f"{min(reasons)}: too few for a comparison" if reasons else "no algorithm has a score there"

    def of_algorithm(self, kind: str, row: np.intp, flats: Mask, end: str = "") -> Dropped:
        """An algorithm, or scores of one, with the first of these gaps, and how many more there are."""
        first, *others = np.flatnonzero(flats)
        gap = self.gap_of(row, first)
        link = "for" if gap.cause == "no score" else "of"
        more = f" and {len(others)} more" if others else ""
        reason = f"{gap.reason} {link} {' '.join(self.names[first])}{more}{end}"
        return Dropped(kind, self.found.cube.algorithms[row], reason, cause=gap.cause)

    def columns(self, partial: Mask, rows: Mask) -> list[Dropped]:
        """The columns that an algorithm lacks; a scene that loses all its columns is named once."""
        cube, dropped = self.found.cube, []
        known = np.flatnonzero(~self.gap.all(axis=0))
        for scene, name in enumerate(cube.scenes):
            inside = known[known // len(cube.columns) == scene]
            flats = inside[partial[inside]]
            if len(flats) and len(flats) == len(inside):
                dropped.append(Dropped("scene", name, self._no_score(flats, rows), cause="no score"))
            else:
                dropped += [
                    self.dropped(flat, self._no_score(flats[flats == flat], rows), "no score") for flat in flats
                ]
        return dropped

    def _no_score(self, flats: NDArray[np.intp], rows: Mask) -> str:
        lacking = np.flatnonzero(self.gap[:, flats].any(axis=1) & rows)
        return f"no score of {', '.join(self.found.cube.algorithms[row] for row in lacking)}"
