"""Where questions about scores start: selections and their costs, kept while the store stays the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import Any

from stereogauge.figures.palette import Style, algorithm_styles
from stereogauge.ranking.costs import Costs, prepare
from stereogauge.ranking.model import model_declaration
from stereogauge.ranking.result import Ranking
from stereogauge.ranking.run import arranged
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.selection import Selection
from stereogauge.scores.table import ScoreTable
from stereogauge.web.cache import RecentCache
from stereogauge.web.scores.joining import joined
from stereogauge.web.selection import Asked, check_names, only_values, part, protocol_record
from stereogauge.web.source import ProtocolRecord, ScoreSource

COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
MOST_CELLS = 10_000_000
"""Numbers kept in prepared selections, 8 bytes each."""

Private = Callable[[str], ScoreTable]
"""The scores of an unpublished submission, by its id."""


def _no_submissions(identifier: str) -> ScoreTable:
    return ScoreTable(())


class Desk:
    """Answers start here: the scores that a selection means, and their costs."""

    def __init__(self, source: ScoreSource, private: Private = _no_submissions) -> None:
        self.source = source
        self.private = private
        self._cubes: RecentCache[ScoreCube] = RecentCache(MOST_CELLS, lambda cube: 4.0 * cube.values.size)
        self._costs: RecentCache[tuple[Costs, Selection]] = RecentCache(MOST_CELLS, lambda pair: pair[0].matrix.size)

    def protocol(self, wanted: Asked) -> ProtocolRecord:
        """The protocol of a selection."""
        return protocol_record(self.source, wanted.protocol)

    def everything(self, wanted: Asked) -> ScoreCube:
        """All scores under the selection's protocol, with the asker's own submission where one is named."""
        cube = self.source.cube(self.protocol(wanted).key)
        return cube if wanted.submission is None else joined(cube, self.private(wanted.submission))

    def scores(self, wanted: Asked) -> ScoreCube:
        """The selected scores with their statistics."""
        return self._cubes.get(("scores", *self._key(wanted)), lambda: self._selected(wanted))

    def values(self, wanted: Asked) -> ScoreCube:
        """The selected scores alone."""
        return self._cubes.get(("values", *self._key(wanted)), lambda: self._selected(wanted, bare=True))

    def _selected(self, wanted: Asked, bare: bool = False) -> ScoreCube:
        cube = self.everything(wanted)
        check_names(cube, wanted)
        return part(only_values(cube) if bare else cube, wanted)

    def _key(self, wanted: Asked) -> tuple[Hashable, ...]:
        if wanted.submission is not None:
            return self.source.version(), wanted, len(self.private(wanted.submission))
        return self.source.version(), wanted

    def ranking(self, wanted: Asked, model: str, options: dict[str, Any]) -> Ranking:
        """`stereogauge.rank` of a selection; costs are prepared once for all options that do not change them."""
        declared = model_declaration(model)
        declared.check(options)
        cube = self.values(wanted)
        if declared.narrow is not None:
            cube = declared.narrow(cube, **options)
        key = (*self._key(wanted), cube.columns)
        costs, selection = self._costs.get(key, lambda: prepare(cube, wanted.missing))
        return arranged(declared, costs, selection, declared.compute(costs, **options), options)

    def styles(self) -> dict[str, Style]:
        """One colour and marker for each algorithm of the source, the same in every view."""
        records = self.source.algorithms()
        styles = algorithm_styles(record.name for record in records)
        own = {record.name: record.colour for record in records if COLOUR.fullmatch(record.colour)}
        return {name: style._replace(colour=own.get(name, style.colour)) for name, style in styles.items()}
