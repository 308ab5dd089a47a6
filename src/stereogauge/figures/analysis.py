"""Charts of an analysis: relations between columns, agreement of orders, histograms, counted errors, slopes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from stereogauge.figures.chart import (
    COLUMN,
    PAGE,
    ROW,
    Chart,
    Row,
    Spec,
    algorithm_marks,
    heading,
    heat_map,
    hover,
    layer,
    layered,
    names,
    panel_width,
    panels,
    quantity,
    quoted,
    rows_where,
    scaled,
)
from stereogauge.figures.palette import INK, MUTED, Styles, colour, complete, segment_colours
from stereogauge.ranking.model import Ranking
from stereogauge.ranking.relations import Determination, DoubleCounting, Scatter, ScoreHistogram, scatter
from stereogauge.ranking.stability import OrderAgreement
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import Selection

MOST_NUMBERED = 22
HISTOGRAM_COLUMNS = 3


def label(column: Column, selection: Selection) -> str:
    """A column with its unit, for axes."""
    unit = column.unit(selection.depth_unit)
    return f"{column.label} [{unit}]" if unit else column.label


def determination_data(found: Determination) -> Chart:
    """r² between all pairs of columns."""
    columns = [column.label for column in found.columns]
    scale = {"scheme": "cividis", "domain": [0, 1]}
    caption = found.selection.caption()
    return _square_map("r² of linear fits between columns", caption, columns, found.r_squared, scale, "r²")


def agreement_data(found: OrderAgreement, selection: Selection) -> Chart:
    """Kendall's τ-b between orders."""
    scale = {"scheme": "redblue", "domain": [-1, 1]}
    title = "Agreement of orders (Kendall's τ-b)"
    return _square_map(title, selection.caption(), found.names, found.kendall, scale, "τ-b")


def _square_map(title: str, caption: str, texts: Sequence[str], values: Values, scale: Spec, unit: str) -> Chart:
    """A number between every two of some names. Rows: row, column, value; a value that is not known is blank."""
    rows = tuple(
        {"row": first, "column": second, "value": float(values[row, column])}
        for row, first in enumerate(texts)
        for column, second in enumerate(texts)
    )
    low = scale["domain"][0]
    side = min(30.0, (PAGE - 220) / max(1, len(texts)))
    view = heat_map(
        texts,
        texts,
        unit,
        scale,
        number=".2f" if len(texts) <= MOST_NUMBERED else None,
        dark="datum.value < 0.5" if low >= 0 else "abs(datum.value) > 0.65",
        cell=(side, min(side, 22.0)),
    )
    return Chart(title, caption, rows, view)


def scatter_matrix_data(
    cube: ScoreCube, horizontal: Sequence[str], vertical: Sequence[str], styles: Styles | None = None
) -> Chart:
    """Every vertical column against every horizontal one: colours are scenes, shapes are algorithms.

    A least-squares line per scene is as opaque as its r² is high. Rows: panel, scene, algorithm, x, y. The fact
    `panels` holds for each panel its labels (x_label, y_label), r_squared over all points, and for each scene the
    r² (`fits`) and the ends of the line (`lines`: x, y, x2, y2).
    """
    found = [scatter(cube, x, y) for y in vertical for x in horizontal]
    facts = tuple(_panel_facts(one) for one in found)
    rows = tuple(
        {
            "panel": place,
            "scene": scene,
            "algorithm": algorithm,
            "x": float(one.x_values[row, column]),
            "y": float(one.y_values[row, column]),
        }
        for place, one in enumerate(found)
        for column, scene in enumerate(cube.scenes)
        for row, algorithm in enumerate(cube.algorithms)
    )
    across = len(horizontal)
    marks = {
        "color": scaled("scene", {scene: colour(index) for index, scene in enumerate(cube.scenes)}, PAGE / 2),
        "shape": algorithm_marks(complete(styles, cube.algorithms), PAGE / 2)["shape"],
    }
    width = COLUMN if across == 1 else panel_width(across)
    views = [_scatter_panel(place, one, cube.scenes, marks, width) for place, one in enumerate(facts)]
    title = "Columns against each other; line opacity = r² of the scene's linear fit"
    caption = Selection.of(cube.select(metrics=[*horizontal, *vertical])).caption()
    return Chart(title, caption, rows, panels(views, across), "scene", {"panels": facts})


def _panel_facts(found: Scatter) -> dict[str, object]:
    lines = []
    for index, fit in enumerate(found.fits):
        x, y = found.x_values[:, index], found.y_values[:, index]
        known = x[np.isfinite(x) & np.isfinite(y)]
        low, high = (float(known.min()), float(known.max())) if known.size else (math.nan, math.nan)
        lines.append((low, fit.slope * low + fit.intercept, high, fit.slope * high + fit.intercept))
    return {
        "x_label": label(found.x, found.selection),
        "y_label": label(found.y, found.selection),
        "r_squared": found.r_squared,
        "fits": tuple(float(np.nan_to_num(fit.r_squared)) for fit in found.fits),
        "lines": tuple(lines),
    }


def _scatter_panel(place: int, facts: Mapping[str, object], scenes: Sequence[str], marks: Spec, width: float) -> Spec:
    fits, ends = facts["fits"], facts["lines"]
    assert isinstance(fits, tuple)
    assert isinstance(ends, tuple)
    lines = [
        {"scene": scene, "fit": fit, **dict(zip(("x", "y", "x2", "y2"), line, strict=True))}
        for scene, fit, line in zip(scenes, fits, ends, strict=True)
        if all(map(math.isfinite, line))
    ]
    scale = {"zero": False, "padding": 8}
    x = quantity("x", str(facts["x_label"]), scale=scale)
    y = quantity("y", str(facts["y_label"]), scale=scale)
    opacity = {"field": "fit", "type": "quantitative", "scale": {"domain": [0, 1], "range": [0, 1]}, "legend": None}
    line = {"x": x, "y": y, "x2": {"field": "x2"}, "y2": {"field": "y2"}, "color": marks["color"], "opacity": opacity}
    told = hover("algorithm", "scene", ("x", str(facts["x_label"]), ".4g"), ("y", str(facts["y_label"]), ".4g"))
    points = layer("point", {"x": x, "y": y, **marks, "tooltip": told}, size=32)
    drawn = [
        layer("rule", {**line, "tooltip": hover("scene", ("fit", "r²", ".2f"))}, lines, strokeWidth=1.4),
        rows_where(points, f"datum.panel === {place} && isValid(datum.x) && isValid(datum.y)"),
    ]
    title = heading(f"r² = {facts['r_squared']:.2f} over all points", anchor="end", color=MUTED)
    return layered(*drawn, width=width, height=max(110.0, 0.72 * width), title=title, zoom=f"zoom{place}")


def histograms_data(found: Sequence[ScoreHistogram], styles: Styles | None = None) -> Chart:
    """Score histograms; an algorithm is marked at the mean of its scores over the scenes that have one.

    Rows: column, from, to, count. The fact `marked` maps each column to the marked algorithms' means.
    """
    marks = complete(styles, dict.fromkeys(name for one in found for name in one.marked))
    texts = [label(one.column, one.selection) for one in found]
    rows = tuple(
        {"column": text, "from": float(low), "to": float(high), "count": int(count)}
        for text, one in zip(texts, found, strict=True)
        for low, high, count in zip(one.edges, one.edges[1:], one.counts, strict=False)
    )
    marked = {
        text: {
            name: float(np.mean(scores[np.isfinite(scores)]))
            for name, scores in one.marked.items()
            if np.isfinite(scores).any()
        }
        for text, one in zip(texts, found, strict=True)
    }
    columns = min(HISTOGRAM_COLUMNS, len(found))
    width = panel_width(columns) if columns > 1 else COLUMN
    views = [_histogram(text, one, marked[text], marks, width) for text, one in zip(texts, found, strict=True)]
    shown = replace(found[0].selection, columns=tuple(one.column for one in found))
    return Chart("Score histograms", shown.caption(), rows, panels(views, columns), facts={"marked": marked})


def _histogram(text: str, found: ScoreHistogram, marked: Mapping[str, float], styles: Styles, width: float) -> Spec:
    largest = found.theoretical[1]
    remarks = [f"at most {'∞' if math.isinf(largest) else f'{largest:g}'}"]
    limit = None if found.heuristic is None else float(found.heuristic[1])
    outside = limit is not None and limit > 1.5 * float(found.edges[-1])
    if outside:
        remarks.append(f"heuristic maximum {limit:g} →")
    title = [text, ", ".join(remarks)]
    x = quantity("from", title)
    bars = {
        "x": {**x, "bin": {"binned": True}},
        "x2": {"field": "to"},
        "y": quantity("count", "scores"),
        "tooltip": hover(("count", "scores"), ("from", "from", ".4g"), ("to", "to", ".4g")),
    }
    drawn = [rows_where(layer("bar", bars, color="#9db8cc"), f"datum.column === {quoted(text)}")]
    if limit is not None and not outside:
        rule = {"x": quantity("limit", title), "tooltip": hover(("limit", "heuristic maximum", ".4g"))}
        drawn.append(layer("rule", rule, [{"limit": limit}], strokeDash=[5, 3], color=INK))
    if marked:
        points = [{"mark": f"{name} (mean of scenes)", "mean": mean} for name, mean in marked.items()]
        shown = {f"{name} (mean of scenes)": style for name, style in styles.items()}
        place = {"x": quantity("mean", title), "y": {"datum": 0}}
        told = hover(("mark", "algorithm"), ("mean", "mean", ".4g"))
        encoding = {**place, **algorithm_marks(shown, PAGE, "mark"), "tooltip": told}
        drawn.append(layer("point", encoding, points, size=80, stroke="white", strokeWidth=0.8))
    return layered(*drawn, width=width, height=110)


def counted_errors_data(nested: DoubleCounting, parted: DoubleCounting) -> Chart:
    """Erroneous pixels by region as nested regions and as a partition count them, two stacked bars per algorithm.

    Rows: algorithm, set, region, errors. A line marks the distinct erroneous pixels.
    """
    sets = {"nested": nested, "partition": parted}
    regions = [region for one in sets.values() for region in one.regions]
    rows = tuple(
        {
            "algorithm": algorithm,
            "set": kind,
            "region": region,
            "place": regions.index(region),
            "errors": float(one.errors[row, place]),
        }
        for kind, one in sets.items()
        for row, algorithm in enumerate(nested.algorithms)
        for place, region in enumerate(one.regions)
    )
    distinct = [
        {"algorithm": algorithm, "distinct": float(count)}
        for algorithm, count in zip(nested.algorithms, nested.distinct, strict=True)
    ]
    axis = "counted errors [px]; line: distinct"
    y = names("algorithm", nested.algorithms)
    bars = {
        "x": quantity("errors", axis, stack="zero", axis={"format": ",.0f"}),
        "y": {**y, "scale": {**y["scale"], "paddingInner": 0.25}},
        "yOffset": names("set", list(sets)),
        "color": scaled("region", segment_colours(regions)),
        "order": quantity("place"),
        "tooltip": hover("algorithm", "set", "region", ("errors", "errors [px]", ",.0f")),
    }
    ticks = {"x": quantity("distinct", axis), "y": y, "tooltip": hover("algorithm", ("distinct", "distinct", ",.0f"))}
    view = layered(
        layer("bar", bars, stroke="white", strokeWidth=0.5),
        layer("tick", ticks, distinct, color=INK, thickness=1.6, bandSize=1.5 * ROW),
        height=1.6 * ROW * len(nested.algorithms),
    )
    caption = "" if nested.selection is None else nested.selection.caption()
    title = "Erroneous pixels as counted by nested regions and by a partition"
    return Chart(title, caption, rows, view, "region")


def slopes_data(
    orders: Mapping[str, Ranking],
    marks: Mapping[str, Sequence[str]] | None = None,
    mark_meaning: str = "",
    styles: Styles | None = None,
) -> Chart:
    """Places under several orders over the algorithms that all of them rank: crossing lines are disagreements.

    `marks` names some algorithms in each order; they are filled. Rows: algorithm, order, rank, place (with ties set
    apart), marked.
    """
    rankings = list(orders.values())
    common = tuple(name for name in rankings[0].algorithms if all(name in other.algorithms for other in rankings))
    rows: list[Row] = []
    for order, ranking in orders.items():
        ranks = dict(zip(ranking.algorithms, ranking.rank.tolist(), strict=True))
        sorted_names = sorted(common, key=lambda name: ranks[name])
        rows += [
            {
                "algorithm": name,
                "order": order,
                "rank": ranks[name],
                "place": sorted_names.index(name) + 1,
                "marked": name in (marks or {}).get(order, ()),
                "text": f"{ranks[name]:g}  {name}",
            }
            for name in common
        ]
    columns = tuple(dict.fromkeys(column for ranking in rankings for column in ranking.selection.columns))
    x = names(
        "order",
        list(orders),
        f"filled: {mark_meaning}" if mark_meaning else None,
        axis={"labelAngle": 0, "domain": False, "ticks": False},
        scale={"padding": 0.75},
    )
    y = quantity("place", axis=None, scale={"reverse": True, "zero": False, "nice": False, "padding": 8})
    drawn = {key: {**one, "legend": None} for key, one in algorithm_marks(complete(styles, common)).items()}
    told = hover("algorithm", "order", "rank")
    place = {"x": x, "y": y}
    points = {**place, **drawn, "tooltip": told}
    first, last = (quoted(order) for order in (next(iter(orders)), list(orders)[-1]))
    text = {**place, "text": {"field": "text"}}
    view = layered(
        layer("line", {**place, "color": drawn["color"]}),
        rows_where(layer("point", points, size=60), "datum.marked"),
        rows_where(layer("point", points, size=60, fill="white", filled=False, strokeWidth=1.4), "!datum.marked"),
        rows_where(layer("text", text, align="right", dx=-9), f"datum.order === {first}"),
        rows_where(layer("text", text, align="left", dx=9), f"datum.order === {last}"),
        width=COLUMN if len(orders) <= 3 else PAGE,
        height=1.2 * ROW * len(common),
    )
    caption = replace(rankings[0].selection, columns=columns).caption()
    return Chart("Places under different orders", caption, tuple(rows), view, "algorithm")
