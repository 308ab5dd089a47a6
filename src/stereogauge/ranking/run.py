"""`rank`: scores, a selection and a model in; an order out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from stereogauge import store
from stereogauge.errors import StereogaugeError
from stereogauge.masks.standard import PARTITION
from stereogauge.ranking.costs import Costs, prepare
from stereogauge.ranking.model import Model, Outcome, Ranking, model_declaration
from stereogauge.ranking.profile import composed_weights
from stereogauge.scores.aggregation import charged, counting_note
from stereogauge.scores.column import shared_pixels
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.scope import MissingPixels
from stereogauge.scores.selection import Selection, missing_pixels_rule, missing_rule
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
    missing_pixels: str = "charged",
    least_coverage: float | None = None,
    least_support: float | None = None,
    proportions: Mapping[str, float] | str | None = None,
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
    missing_pixels
        `charged` (the default): pixels that a score leaves out cost as much as any estimate inside the scene's range
        could, so that no algorithm gains by leaving them out; `left out`: scores as they are.
    least_coverage
        Share of its pixels that a score must cover whose missing pixels are not charged, 0.9 by default; below it is a
        gap.
    least_support
        Pixels that a set must have; None takes 200 at full size, fewer for smaller images, and at least 30.
    proportions
        The share of each part of the application's images, instead of the weights of the weighted model, as for
        `answer`.
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
    if proportions is not None:
        options["weights"] = composed_weights(cube, proportions, options.get("weights"), options.get("profile"))
    ranking = _ranked(cube, declared, missing, missing_pixels_rule(missing_pixels), options)
    return with_notes(ranking, cube, declared, missing, options)


def _ranked(
    cube: ScoreCube, model: Model, missing: str, missing_pixels: MissingPixels, options: dict[str, Any]
) -> Ranking:
    read, known = model.read(cube, options)
    costs, selection = prepare(read, missing_rule(missing), missing_pixels)
    return arranged(model, costs, selection, model.compute(costs, **known), options)


def with_notes(ranking: Ranking, cube: ScoreCube, model: Model, missing: str, options: dict[str, Any]) -> Ranking:
    """The ranking with notes on nested regions and on what the other rule for missing pixels would change."""
    notes = list(ranking.notes)
    shared = shared_pixels(ranking.selection.columns)
    if shared.regions:
        notes.append(
            f"The regions {', '.join(shared.regions)} share pixels, so a pixel counts up to {shared.times} times; "
            f"exclusive ones are {', '.join(PARTITION)}."
        )
    if "contributions" in ranking.arrays and (counting := counting_note(cube.aggregation)):
        notes.append(counting)
    rule = ranking.selection.missing_pixels
    other: MissingPixels = "left out" if rule == "charged" else "charged"
    changed = ranking
    if charged(cube) is not cube:
        with contextlib.suppress(StereogaugeError):  # there may be no such order
            changed = _ranked(cube, model, missing, other, options)
    places = [dict(zip(one.algorithms, one.rank, strict=True)) for one in (ranking, changed)]
    differs = places[0] != places[1]
    if differs:
        order = ", ".join(f"{rank} {name}" for rank, name in zip(changed.rank[:5], changed.algorithms[:5], strict=True))
        notes.append(f"Missing pixels are {rule} here. The order would change if they were {other}: {order}.")
    return replace(ranking, notes=tuple(notes), changed_if=other if differs else None, shared_regions=shared.regions)


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


def arranged(model: Model, costs: Costs, selection: Selection, outcome: Outcome, options: dict[str, Any]) -> Ranking:
    """An outcome in order of rank, then of the model's tie-break or value, then as selected."""
    keys = outcome.tie_break or (outcome.value,)
    order = np.lexsort((np.arange(len(costs.algorithms)), *reversed(keys), outcome.rank))
    return Ranking(
        model=model.id,
        value_name=model.value_name,
        options={name: dict(value) if isinstance(value, Mapping) else value for name, value in options.items()},
        selection=replace(selection, dropped=selection.dropped + outcome.dropped),
        algorithms=tuple(costs.algorithms[place] for place in order),
        **outcome.parts(order),
    )
