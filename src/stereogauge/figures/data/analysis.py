"""What the figures of an analysis show, as plain values. `mpl` and `plotly` draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from stereogauge.figures.palette import Style, Styles, colour, complete
from stereogauge.ranking.model import Ranking
from stereogauge.ranking.relations import Determination, DoubleCounting, Scatter, ScoreHistogram, scatter
from stereogauge.ranking.stability import OrderAgreement
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import Selection


class SquareMap(NamedTuple):
    """A number between every two of some names, as a heat map between `limits`; NaN is left blank."""

    title: str
    caption: str
    names: tuple[str, ...]
    values: Values
    limits: tuple[float, float]
    unit: str


class ScatterPanel(NamedTuple):
    """One column against another: points (algorithms, scenes) and a line (start, end) for each scene, opacity = r²."""

    x_label: str
    y_label: str
    x: Values
    y: Values
    lines: tuple[tuple[float, float, float, float], ...]
    opacity: Values
    r_squared: float


class ScatterMatrix(NamedTuple):
    """Panels of scatter plots: colours are scenes, shapes are algorithms. `columns` panels stand side by side."""

    title: str
    caption: str
    panels: tuple[ScatterPanel, ...]
    columns: int
    algorithms: tuple[str, ...]
    scenes: tuple[str, ...]
    styles: dict[str, Style]
    scene_colours: dict[str, str]


class HistogramPanel(NamedTuple):
    """Scores of one column between edges, the marked algorithms' mean scores, and the ranges."""

    label: str
    edges: Values
    counts: Values
    marked: dict[str, float]
    heuristic: float | None
    theoretical: float


class Histograms(NamedTuple):
    """Score histograms side by side."""

    title: str
    caption: str
    panels: tuple[HistogramPanel, ...]
    styles: dict[str, Style]


class CountedErrors(NamedTuple):
    """Erroneous pixels by region under two sets of regions, each algorithm with two stacked bars."""

    title: str
    caption: str
    algorithms: tuple[str, ...]
    sets: tuple[tuple[str, tuple[str, ...], Values], ...]
    distinct: Values


class Slopes(NamedTuple):
    """Places of the algorithms under several orders, joined by lines: crossing lines are disagreements."""

    title: str
    caption: str
    algorithms: tuple[str, ...]
    orders: tuple[str, ...]
    ranks: Values
    marks: tuple[tuple[bool, ...], ...]
    mark_meaning: str
    styles: dict[str, Style]


def label(column: Column, selection: Selection) -> str:
    """A column with its unit, for axes."""
    unit = column.unit(selection.depth_unit)
    return f"{column.label} [{unit}]" if unit else column.label


def determination_data(found: Determination) -> SquareMap:
    """r² between all pairs of columns."""
    return SquareMap(
        title="r² of linear fits between columns",
        caption=found.selection.caption(),
        names=tuple(column.label for column in found.columns),
        values=found.r_squared,
        limits=(0.0, 1.0),
        unit="r²",
    )


def agreement_data(found: OrderAgreement, selection: Selection) -> SquareMap:
    """Kendall's τ-b between orders."""
    return SquareMap(
        title="Agreement of orders (Kendall's τ-b)",
        caption=selection.caption(),
        names=found.names,
        values=found.kendall,
        limits=(-1.0, 1.0),
        unit="τ-b",
    )


def scatter_matrix_data(
    cube: ScoreCube, horizontal: Sequence[str], vertical: Sequence[str], styles: Styles | None = None
) -> ScatterMatrix:
    """Every vertical column against every horizontal one, one least-squares line per scene."""
    panels = tuple(_panel(scatter(cube, x, y)) for y in vertical for x in horizontal)
    return ScatterMatrix(
        title="Columns against each other; line opacity = r² of the scene's linear fit",
        caption=Selection.of(cube.select(metrics=[*horizontal, *vertical])).caption(),
        panels=panels,
        columns=len(horizontal),
        algorithms=cube.algorithms,
        scenes=cube.scenes,
        styles=complete(styles, cube.algorithms),
        scene_colours={scene: colour(index) for index, scene in enumerate(cube.scenes)},
    )


def _panel(found: Scatter) -> ScatterPanel:
    lines = []
    for index, fit in enumerate(found.fits):
        x, y = found.x_values[:, index], found.y_values[:, index]
        known = x[np.isfinite(x) & np.isfinite(y)]
        low, high = (float(known.min()), float(known.max())) if known.size else (np.nan, np.nan)
        lines.append((low, fit.slope * low + fit.intercept, high, fit.slope * high + fit.intercept))
    return ScatterPanel(
        x_label=label(found.x, found.selection),
        y_label=label(found.y, found.selection),
        x=found.x_values,
        y=found.y_values,
        lines=tuple(lines),
        opacity=np.nan_to_num(np.array([fit.r_squared for fit in found.fits])),
        r_squared=found.r_squared,
    )


def histograms_data(found: Sequence[ScoreHistogram], styles: Styles | None = None) -> Histograms:
    """Score histograms; an algorithm is marked at the mean of its scores over the scenes that have one."""
    names = tuple(dict.fromkeys(name for one in found for name in one.marked))
    panels = tuple(
        HistogramPanel(
            label=label(one.column, one.selection),
            edges=one.edges,
            counts=one.counts.astype(np.float64),
            marked={
                name: float(np.mean(scores[np.isfinite(scores)]))
                for name, scores in one.marked.items()
                if np.isfinite(scores).any()
            },
            heuristic=None if one.heuristic is None else one.heuristic[1],
            theoretical=one.theoretical[1],
        )
        for one in found
    )
    shown = replace(found[0].selection, columns=tuple(one.column for one in found))
    return Histograms("Score histograms", shown.caption(), panels, complete(styles, names))


def counted_errors_data(nested: DoubleCounting, parted: DoubleCounting) -> CountedErrors:
    """The double-counting table as bars."""
    return CountedErrors(
        title="Erroneous pixels as counted by nested regions and by a partition",
        caption="" if nested.selection is None else nested.selection.caption(),
        algorithms=nested.algorithms,
        sets=tuple(
            (name, one.regions, one.errors.astype(np.float64))
            for name, one in (("nested", nested), ("partition", parted))
        ),
        distinct=nested.distinct.astype(np.float64),
    )


def slopes_data(
    orders: Mapping[str, Ranking],
    marks: Mapping[str, Sequence[str]] | None = None,
    mark_meaning: str = "",
    styles: Styles | None = None,
) -> Slopes:
    """Places under several orders over the algorithms that all of them rank; `marks` names some in each order."""
    rankings = list(orders.values())
    common = tuple(name for name in rankings[0].algorithms if all(name in other.algorithms for other in rankings))
    ranks_of = [dict(zip(ranking.algorithms, ranking.rank.tolist(), strict=True)) for ranking in rankings]
    columns = tuple(dict.fromkeys(column for ranking in rankings for column in ranking.selection.columns))
    return Slopes(
        title="Places under different orders",
        caption=replace(rankings[0].selection, columns=columns).caption(),
        algorithms=common,
        orders=tuple(orders),
        ranks=np.array([[ranks[name] for ranks in ranks_of] for name in common], np.float64),
        marks=tuple(tuple(name in (marks or {}).get(order, ()) for order in orders) for name in common),
        mark_meaning=mark_meaning,
        styles=complete(styles, common),
    )
