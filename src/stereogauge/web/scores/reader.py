"""Scores of an unpublished submission beside the public ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from stereogauge.errors import StereogaugeError
from stereogauge.protocol import Aggregations
from stereogauge.ranking.costs import Costs, prepare
from stereogauge.ranking.model import Model, Ranking, model_declaration
from stereogauge.ranking.profile import composed_weights
from stereogauge.ranking.run import about_pixels, arranged, with_notes
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.scope import EVERY_PIXEL, MissingPixels, MissingRule
from stereogauge.scores.selection import Dropped, Selection
from stereogauge.scores.table import ScoreTable
from stereogauge.web.cache import RecentCache
from stereogauge.web.errors import HiddenTruthError
from stereogauge.web.hiding import Hidden
from stereogauge.web.selection import SelectionQuery, check_names, refuse_order
from stereogauge.web.source import ProtocolRecord, StoreSource, scene_places

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
    known = {place: index for index, place in enumerate(scene_places(cube).values())}
    scenes = [(index, known[place]) for index, place in enumerate(scene_places(submitted).values()) if place in known]
    columns = [(index, cube.columns.index(c)) for index, c in enumerate(submitted.columns) if c in cube.columns]
    source = np.ix_(range(len(submitted.algorithms)), [s for s, _ in scenes], [c for c, _ in columns])
    target = np.ix_(range(len(submitted.algorithms)), [s for _, s in scenes], [c for _, c in columns])

    def added(part: str, gap: float) -> Values:
        old, new = getattr(cube, part), getattr(submitted, part)
        rows = np.full((len(submitted.algorithms), len(cube.scenes), len(cube.columns)), gap)
        rows[target] = new[source]
        return np.concatenate([old, rows])

    measured = np.zeros((len(cube.scenes), len(cube.columns)), bool)
    measured[target[1:]] = ~np.isnan(submitted.values[source]).all(axis=0)
    return replace(
        cube,
        algorithms=cube.algorithms + tuple(submitted_name(name, cube) for name in submitted.algorithms),
        values=added("values", np.nan),
        sums=added("sums", 0.0),
        counts=added("counts", 0.0),
        missing=added("missing", 0.0),
        void=None if cube.void is None else cube.void & ~measured,
    )


MOST_BYTES = 128 << 20
"""What selections of scores, and whole protocols, may each hold."""

NOTHING_HIDDEN = Hidden()

PrivateScores = Callable[[str], ScoreTable]
"""The scores of an unpublished submission, by its id."""


class _Selected(Struct, frozen=True):
    """The values of a selection, their costs by the columns that a model reads and the rule for missing pixels (a new
    weight changes neither), and the last order by model, options and rule, which table and files share.
    """

    cube: ScoreCube
    costs: dict[tuple[tuple[Column, ...], str], tuple[Costs, Selection]] = field(default_factory=dict)
    last: dict[tuple[str, str, str], Ranking] = field(default_factory=dict)


def _compared(cube: ScoreCube, rule: MissingRule) -> tuple[str, ...]:
    """The scenes that an order compares; none where the rule for gaps leaves nothing."""
    try:
        return prepare(cube, rule)[1].scenes
    except StereogaugeError:
        return ()


def aggregation_name(how: Aggregations) -> str:
    """How scenes become one number, as a word."""
    return how if isinstance(how, str) else "by metric"


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
        self._whole: RecentCache[ScoreCube] = RecentCache(MOST_BYTES)
        self._kept: RecentCache[_Selected] = RecentCache(MOST_BYTES)

    def record(self, query: SelectionQuery) -> ProtocolRecord:
        """The protocol of a scope: for values at every pixel, the one that fills holes."""
        return self.source.protocol(query.protocol, query.dataset, filled=query.need == EVERY_PIXEL)

    def aggregation(self, query: SelectionQuery) -> Aggregations:
        """How scenes become one number: as requested, else as the protocol says."""
        own = self.record(query).protocol
        return query.aggregation or (own.aggregation if own else "mean")

    def whole(self, query: SelectionQuery) -> ScoreCube:
        """All scores of the scope's dataset under its protocol, with the visitor's unpublished submission if named."""
        key = self.record(query).key
        if query.submission is not None:
            return self.hidden.rounded(joined(self.source.cube(key, query.dataset), self.private(query.submission)))
        return self._whole.get(
            (self.source.version(), key, query.dataset),
            lambda: self.hidden.rounded(self.source.cube(key, query.dataset)),
        )

    def scene_by_scene(self, query: SelectionQuery) -> ScoreCube:
        """The selected scores for views of single scenes: hidden ones have none there."""
        return self.hidden.scene_by_scene(self.values(query))

    def values(self, query: SelectionQuery) -> ScoreCube:
        """The selected scores."""
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
        cube = cube.limited(query.coverage, query.least_support)
        cube = cube.read_by(self.record(query).protocol, query.aggregation)
        return cube if all(part is None for part in names.values()) else cube.select(**names)

    def _selected(self, query: SelectionQuery) -> _Selected:
        def make() -> _Selected:
            return _Selected(self._part(self.whole(query), query))

        # A submission's scores appear when it is done, without a change of the store.
        private = 0 if query.submission is None else len(self.private(query.submission))
        return self._kept.get((self.source.version(), query, private), make)

    def ranking(
        self, query: SelectionQuery, model: str, options: dict[str, Any], missing_pixels: MissingPixels = "charged"
    ) -> Ranking:
        """`stereogauge.rank` of a selection."""
        refuse_order(query)
        declared = model_declaration(model)
        declared.check(options)
        selected = self._selected(query)
        key = model, repr(sorted(options.items())), missing_pixels
        found = selected.last.get(key)
        if found is None:
            found = self._arranged(selected, query, declared, options, missing_pixels)
            selected.last.clear()
            selected.last[key] = found
        return found

    def _arranged(
        self,
        selected: _Selected,
        query: SelectionQuery,
        declared: Model,
        options: dict[str, Any],
        missing_pixels: MissingPixels,
    ) -> Ranking:
        cube = selected.cube if query.metrics is not None else about_pixels(selected.cube)
        cube, known = declared.read(cube, options)
        key = cube.columns, missing_pixels
        if key not in selected.costs:
            compared, lost = self.comparable(cube, query.missing)
            costs, selection = prepare(compared, query.missing, missing_pixels)
            selected.costs[key] = costs, replace(selection, dropped=(*lost, *selection.dropped))
        costs, selection = selected.costs[key]
        ranking = arranged(declared, costs, selection, declared.compute(costs, **known), options)
        return with_notes(ranking, self.comparable(cube, query.missing)[0], declared, query.missing, options)

    def weights(
        self, query: SelectionQuery, weights: Mapping[str, float] | None, profile: str | None = None
    ) -> Mapping[str, float] | None:
        """The weights of the scope's proportions, or the stated ones where it has none."""
        return composed_weights(self.values(query), query.proportions, weights, profile)

    def options(self, query: SelectionQuery, model: str, stated: dict[str, Any]) -> dict[str, Any]:
        """The stated options of a model, with the weights of the scope's proportions where it has weights."""
        if query.proportions is None or "weights" not in model_declaration(model).options:
            return stated
        return stated | {"weights": self.weights(query, stated.get("weights"), stated.get("profile"))}
