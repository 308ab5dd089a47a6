"""`rank`: scores, a selection and a model in; an order out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge import store
from stereogauge.ranking.costs import Costs, prepare
from stereogauge.ranking.model import Model, Outcome, Ranking, along_algorithms, model_declaration
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.selection import Selection, frozen_options, missing_rule
from stereogauge.scores.table import ScoreTable

Scores = ScoreTable | ScoreCube | str | Path


def as_cube(scores: Scores) -> ScoreCube:
    """A table, a cube, or everything in the store at a path or URL, as a cube."""
    if isinstance(scores, ScoreCube):
        return scores
    if isinstance(scores, ScoreTable):
        return scores.cube
    with store.open_store(scores, read_only=True) as opened:
        return opened.cube()


def rank(
    scores: Scores,
    model: str = "a-star",
    metrics: Iterable[str] | None = None,
    regions: Iterable[str] | None = None,
    scenes: Iterable[str] | None = None,
    algorithms: Iterable[str] | None = None,
    *,
    missing: str = "common",
    least_coverage: float | None = None,
    least_support: float | None = None,
    **options: Any,
) -> Ranking:
    """Order the algorithms of `scores` under a model.

    Parameters
    ----------
    scores
        A score table, a score cube, or the path or URL of a store.
    model
        `middlebury` (average rank over the columns of one metric), `extended` (sum of the ranks by several metrics,
        with who performs alike), `a-star` (groups by Pareto dominance), `weighted` (an application's weights), or an
        installed one.
    metrics, regions, scenes, algorithms
        What to look at; None means everything, of the metrics those about pixels: run time is no accuracy. A metric
        may be written with its region: `bad@1:nonocc`.
    missing
        What a missing cell does: `common` (the default: compare on what all but incomplete algorithms have),
        `drop-algorithm`, `drop-column`, or `worst` (the last rank there).
    least_coverage
        Share of its pixels that a score which leaves missing estimates out must cover, 0.9 by default; below it is a
        gap.
    least_support
        Pixels that a set must have; None takes 200 at full size, fewer for smaller images, and at least 30.
    options
        The model's own: `ties` (middlebury, extended), `tau` (extended), `weights`, `profile`, `normalisation`
        (weighted).

    Examples
    --------
    >>> truth = np.tile([4, 4, 8, 8], (10, 5))
    >>> maps = {"near": truth + 2, "exact": truth}
    >>> scores = sg.evaluate(maps, sg.Scene("step", gt=truth), ["bad@1", "mae"], ["all"])
    >>> sg.rank(scores, "middlebury", metrics=["mae"])
    Ranking(middlebury: 1 exact, 2 near)
    """
    declared = model_declaration(model)
    cube = selected(scores, metrics, regions, scenes, algorithms).limited(least_coverage, least_support)
    costs, selection = model_costs(cube, declared, missing, options)
    return arranged(declared, costs, selection, declared.compute(costs, **options), options)


def selected(
    scores: Scores,
    metrics: Iterable[str] | None = None,
    regions: Iterable[str] | None = None,
    scenes: Iterable[str] | None = None,
    algorithms: Iterable[str] | None = None,
) -> ScoreCube:
    """The selected scores; run time and memory only where they were named."""
    cube = as_cube(scores).select(metrics=metrics, regions=regions, scenes=scenes, algorithms=algorithms)
    return cube if metrics is not None else about_pixels(cube)


def about_pixels(cube: ScoreCube) -> ScoreCube:
    """The columns that measure the map and not its making; all of them where there are no others."""
    kept = [place for place, column in enumerate(cube.columns) if column.declared.metric.missing != "not about pixels"]
    return cube if len(kept) in (0, len(cube.columns)) else cube.take(columns=kept)


def model_costs(cube: ScoreCube, model: Model, missing: str, options: dict[str, Any]) -> tuple[Costs, Selection]:
    """What a model reads of a cube, without gaps, and the selection that says so."""
    model.check(options)
    read = cube if model.narrow is None else model.narrow(cube, **options)
    return prepare(read, missing_rule(missing))


def arranged(model: Model, costs: Costs, selection: Selection, outcome: Outcome, options: dict[str, Any]) -> Ranking:
    """An outcome in order of rank, then of the model's tie-break or value, then as selected."""
    keys = outcome.tie_break or (outcome.value,)
    order = np.lexsort((np.arange(len(costs.algorithms)), *reversed(keys), outcome.rank))
    return Ranking(
        model=model.id,
        value_name=model.value_name,
        options=frozen_options(options),
        selection=replace(selection, dropped=selection.dropped + outcome.dropped),
        algorithms=tuple(costs.algorithms[place] for place in order),
        rank=outcome.rank[order],
        value=outcome.value[order],
        group=None if outcome.group is None else outcome.group[order],
        extra={name: [values[place] for place in order] for name, values in outcome.extra.items()},
        arrays=along_algorithms(outcome.arrays, outcome.axes, order),
        axes=outcome.axes,
        names=outcome.names,
        notes=outcome.notes,
    )
