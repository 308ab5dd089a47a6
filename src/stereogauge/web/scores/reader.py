"""Scores of an unpublished submission beside the public ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stereogauge.errors import StereogaugeError
from stereogauge.figures.palette import Style, algorithm_styles
from stereogauge.ranking.costs import Costs, prepare
from stereogauge.ranking.model import Ranking, model_declaration
from stereogauge.ranking.run import about_pixels, arranged
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.scope import MissingRule
from stereogauge.scores.selection import Dropped, Selection
from stereogauge.scores.table import ScoreTable
from stereogauge.web.cache import RecentCache
from stereogauge.web.errors import HiddenTruthError
from stereogauge.web.hiding import Hidden
from stereogauge.web.selection import SelectionQuery, check_names, refuse_order
from stereogauge.web.source import StoreSource

SUBMITTED_MARK = " (submitted)"


def submitted_name(name: str, cube: ScoreCube) -> str:
    """The name of an unpublished submission beside a cube's algorithms: marked where one of them has it already."""
    return name + SUBMITTED_MARK if name in cube.algorithms else name


def joined(cube: ScoreCube, table: ScoreTable) -> ScoreCube:
    """The cube with one more row per algorithm of the table; scenes and columns that the cube lacks are left out.

    An algorithm whose name the cube has already gets a mark, so that both versions can be distinguished.
    """
    if not len(table):
        return cube
    submitted = ScoreCube.of(table)
    names = {scene.removeprefix(f"{dataset}/"): index for index, (scene, dataset) in enumerate(_scenes(cube))}
    scenes = [
        (index, names[scene.removeprefix(f"{dataset}/")]) for index, (scene, dataset) in enumerate(_scenes(submitted))
    ]
    columns = [(index, cube.columns.index(c)) for index, c in enumerate(submitted.columns) if c in cube.columns]
    source = np.ix_(range(len(submitted.algorithms)), [s for s, _ in scenes], [c for c, _ in columns])
    target = np.ix_(range(len(submitted.algorithms)), [s for _, s in scenes], [c for _, c in columns])

    def added(part: str, gap: float) -> Values | None:
        old, new = getattr(cube, part), getattr(submitted, part)
        if old is None:
            return None
        rows = np.full((len(submitted.algorithms), len(cube.scenes), len(cube.columns)), gap)
        rows[target] = new[source]
        return np.concatenate([old, rows])

    measured = np.zeros((len(cube.scenes), len(cube.columns)), bool)
    measured[target[1:]] = ~np.isnan(submitted.values[source]).all(axis=0)
    values = added("values", np.nan)
    assert values is not None
    return replace(
        cube,
        algorithms=cube.algorithms + tuple(submitted_name(name, cube) for name in submitted.algorithms),
        values=values,
        sums=added("sums", 0.0),
        counts=added("counts", 0.0),
        missing=added("missing", 0.0),
        void=None if cube.void is None else cube.void & ~measured,
    )


def _scenes(cube: ScoreCube) -> list[tuple[str, str]]:
    return list(zip(cube.scenes, cube.datasets or ("",) * len(cube.scenes), strict=True))


COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
MOST_CELLS = 10_000_000
"""Scores of selections that are kept; each takes 8 bytes, and 8 more for its cost."""

OWN = Style("#7a7a7a", "star")
"""An unpublished submission, which only its owner sees; the page (main.js) draws it the same."""
MOST_WHOLE = 4
NOTHING_HIDDEN = Hidden()

PrivateScores = Callable[[str], ScoreTable]
"""The scores of an unpublished submission, by its id."""


@dataclass(frozen=True)
class _Selected:
    """The values of a selection, and their costs by the columns that a model reads: a new weight changes neither."""

    cube: ScoreCube
    costs: dict[tuple[Column, ...], tuple[Costs, Selection]] = field(default_factory=dict)


def _compared(cube: ScoreCube, rule: MissingRule) -> tuple[str, ...]:
    """The scenes that an order compares; none where the rule for gaps leaves nothing."""
    try:
        return prepare(cube, rule)[1].scenes
    except StereogaugeError:
        return ()


class ScoreReader:
    """Reads the scores of selections; the last ones are kept while the store stays the same."""

    def __init__(
        self,
        source: StoreSource,
        private: PrivateScores = lambda _: ScoreTable(()),
        hidden: Hidden = NOTHING_HIDDEN,
    ) -> None:
        self.source = source
        self.private = private
        self.hidden = hidden
        self._whole: RecentCache[ScoreCube] = RecentCache(MOST_WHOLE)
        self._kept: RecentCache[_Selected] = RecentCache(MOST_CELLS, lambda kept: 2.0 * kept.cube.values.size)

    def whole(self, query: SelectionQuery) -> ScoreCube:
        """All scores under the selection's protocol, with the visitor's unpublished submission where one is named."""
        key = self.source.protocol(query.protocol).key
        if query.submission is not None:
            return self.hidden.rounded(joined(self.source.cube(key), self.private(query.submission)))
        return self._whole.get((self.source.version(), key), lambda: self.hidden.rounded(self.source.cube(key)))

    def scene_by_scene(self, query: SelectionQuery) -> ScoreCube:
        """The selected scores for views of single scenes: hidden ones have none there."""
        return self.hidden.scene_by_scene(self.values(query))

    def values(self, query: SelectionQuery) -> ScoreCube:
        """The selected scores without sums, which only pooling reads."""
        return self._selected(query).cube

    def ordered(self, query: SelectionQuery) -> ScoreCube:
        """The selected scores that an order may compare; see `comparable`."""
        return self.comparable(self.values(query), query.missing)[0]

    def comparable(self, cube: ScoreCube, rule: MissingRule) -> tuple[ScoreCube, tuple[Dropped, ...]]:
        """The scores that an order may compare, and who is left out of it.

        Hidden scenes are compared together or not at all, since scores over some of them would reveal single ones.
        Where the rule for gaps would take some without the others, the algorithms that lack one are left out.
        """
        incomplete = self.hidden.incomplete(cube)
        whole = tuple(name for name in cube.algorithms if name not in incomplete)
        if not incomplete or not whole or not self.hidden.splits(cube, _compared(cube, rule)):
            return cube, ()
        reason = "no score on a hidden scene, and these are compared together only"
        lost = (Dropped("algorithm", name, reason) for name in cube.algorithms if name in incomplete)
        return cube.select(algorithms=whole), tuple(lost)

    def with_statistics(self, query: SelectionQuery) -> ScoreCube:
        """The selected scores with sums and counts."""
        return self._part(self.whole(query), query)

    def _part(self, cube: ScoreCube, query: SelectionQuery) -> ScoreCube:
        check_names(cube, query)
        if self.hidden.splits(cube, query.scenes):
            raise HiddenTruthError("some of these scenes", "the score of one without the others is")
        names = query.names
        cube = cube.limited(query.least_coverage, query.least_support)
        return cube if all(part is None for part in names.values()) else cube.select(**names)

    def _selected(self, query: SelectionQuery) -> _Selected:
        def make() -> _Selected:
            return _Selected(self._part(replace(self.whole(query), sums=None), query))

        # A submission's scores appear when it is done, without a change of the store.
        private = 0 if query.submission is None else len(self.private(query.submission))
        return self._kept.get((self.source.version(), query, private), make)

    def ranking(self, query: SelectionQuery, model: str, options: dict[str, Any]) -> Ranking:
        """`stereogauge.rank` of a selection."""
        refuse_order(query)
        declared = model_declaration(model)
        declared.check(options)
        selected = self._selected(query)
        cube = selected.cube if query.metrics is not None else about_pixels(selected.cube)
        if declared.narrow is not None:
            cube = declared.narrow(cube, **options)
        if cube.columns not in selected.costs:
            compared, lost = self.comparable(cube, query.missing)
            costs, selection = prepare(compared, query.missing)
            selected.costs[cube.columns] = costs, replace(selection, dropped=(*lost, *selection.dropped))
        costs, selection = selected.costs[cube.columns]
        return arranged(declared, costs, selection, declared.compute(costs, **options), options)

    def styles(self, names: Iterable[str] = ()) -> dict[str, Style]:
        """One colour and marker per algorithm, the same in every view; those of `names` that are not public get OWN."""
        records = self.source.algorithms()
        styles = algorithm_styles(record.name for record in records)
        stated = {record.name: record.colour for record in records if COLOUR.fullmatch(record.colour)}
        public = {name: style._replace(colour=stated.get(name, style.colour)) for name, style in styles.items()}
        return dict.fromkeys(names, OWN) | public
