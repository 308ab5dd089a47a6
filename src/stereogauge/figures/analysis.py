"""Charts of an analysis: relations between columns, agreement of orders, histograms, counted errors, slopes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from stereogauge.figures import chart as vl
from stereogauge.figures.chart import Chart, Row, Spec
from stereogauge.figures.palette import INK, MUTED, Styles, complete, segment_colours
from stereogauge.ranking.model import Ranking
from stereogauge.ranking.relations import Determination, DoubleCounting, Scatter, ScoreHistogram, scatter
from stereogauge.ranking.stability import OrderAgreement
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import Selection

MOST_NUMBERED = 22
MOST_COLOURED, FEW_COLOURED = 12, 3


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
    """A number between every two of some names."""
    dark = "datum.value < 0.5" if scale["domain"][0] >= 0 else "abs(datum.value) > 0.65"
    number = ".2f" if len(texts) <= MOST_NUMBERED else None
    side = min(30.0, (vl.PAGE - 220) / max(1, len(texts)))
    cell = side, min(side, 22.0)
    return vl.heat_map(title, caption, texts, texts, values, unit, scale, number=number, dark=dark, cell=cell)


def scatter_matrix_data(
    cube: ScoreCube,
    horizontal: Sequence[str],
    vertical: Sequence[str],
    styles: Styles | None = None,
    marked: Sequence[str] = (),
) -> Chart:
    """Every vertical column against every horizontal one, one point per scene and algorithm.

    Points have the colour and shape of their algorithm. With `marked` algorithms, or more than twelve, the others are
    small and grey, so that their density is seen; without `marked` the three best by the first horizontal column stay
    coloured. A grey least-squares line per scene is as opaque as its r² is high. Rows: panel, scene, algorithm, x, y.
    """
    found = tuple(scatter(cube, x, y) for y in vertical for x in horizontal)
    rows = [
        row
        for place, one in enumerate(found)
        for scene, x, y in zip(cube.scenes, one.x_values.T, one.y_values.T, strict=True)
        for row in vl.tidy(panel=place, scene=scene, algorithm=cube.algorithms, x=x, y=y)
    ]
    across = len(horizontal)
    every = complete(styles, cube.algorithms)
    coloured = coloured_algorithms(cube, found[0], marked)
    marks = vl.algorithm_marks({name: every[name] for name in coloured}, vl.PAGE / 2)
    width = vl.panel_width(across)
    views = [_scatter_panel(place, one, cube, coloured, marks, width) for place, one in enumerate(found)]
    title = "Columns against each other; line opacity = r² of the scene's linear fit"
    caption = Selection.of(cube.select(metrics=[*horizontal, *vertical])).caption()
    return Chart(title, caption, rows, vl.panels(views, across), "algorithm")


def coloured_algorithms(cube: ScoreCube, first: Scatter, marked: Sequence[str]) -> tuple[str, ...]:
    """The algorithms whose points in a scatter plot have different colours."""
    if marked or len(cube.algorithms) <= MOST_COLOURED:
        return tuple(name for name in cube.algorithms if not marked or name in marked)
    sign = -1.0 if first.x.declared.metric.direction == "higher" else 1.0
    means = np.array([np.mean(row[np.isfinite(row)]) if np.isfinite(row).any() else np.inf for row in first.x_values])
    best = np.argsort(sign * means, kind="stable")[:FEW_COLOURED]
    return tuple(cube.algorithms[place] for place in best)


def _fit_lines(found: Scatter) -> list[Row]:
    """The least-squares line of each scene from its first point to its last, and its r²."""
    lines: list[Row] = []
    for fit, x, y in zip(found.fits, found.x_values.T, found.y_values.T, strict=True):
        known = x[np.isfinite(x) & np.isfinite(y)]
        if known.size and math.isfinite(fit.slope):
            ends = float(known.min()), float(known.max())
            heights = [fit.slope * end + fit.intercept for end in ends]
            line = dict(zip(("x", "x2", "y", "y2"), (*ends, *heights), strict=True))
            lines.append({"scene": fit.scene, "fit": float(np.nan_to_num(fit.r_squared)), **line})
    return lines


def _scatter_panel(
    place: int, found: Scatter, cube: ScoreCube, coloured: Sequence[str], marks: Spec, width: float
) -> Spec:
    x_label, y_label = label(found.x, found.selection), label(found.y, found.selection)
    scale = {"zero": False, "padding": 8}
    x = vl.quantity("x", x_label, scale=scale)
    y = vl.quantity("y", y_label, scale=scale)
    opacity = {"field": "fit", "type": "quantitative", "scale": {"domain": [0, 1], "range": [0, 1]}, "legend": None}
    line: Spec = {"x": x, "y": y, "x2": {"field": "x2"}, "y2": {"field": "y2"}, "opacity": opacity}
    line["tooltip"] = vl.hover("scene", ("fit", "r²", ".2f"))
    tooltip = vl.hover("algorithm", "scene", ("x", x_label, ".4g"), ("y", y_label, ".4g"))
    chosen = f"indexof({vl.quoted(list(coloured))}, datum.algorithm) >= 0"
    there = "isValid(datum.x) && isValid(datum.y)"
    at = {"x": x, "y": y, "tooltip": tooltip}
    grey: Spec = {"size": 9, "color": MUTED, "opacity": 0.35}
    others = vl.layer("circle", at, where=f"{there} && !({chosen})", **grey)
    drawn = [
        vl.layer("rule", line, _fit_lines(found), strokeWidth=1.1, color=MUTED),
        *([others] if len(coloured) < len(cube.algorithms) else []),
        vl.layer("point", {**at, **marks}, where=f"{there} && {chosen}", size=32),
    ]
    title = vl.heading(f"r² = {found.r_squared:.2f} over all points", anchor="end", color=MUTED)
    here = vl.equal("panel", place)
    height = max(110.0, 0.72 * width)
    return vl.layered(*drawn, width=width, height=height, where=here, title=title, zoom=f"zoom{place}")


def histograms_data(found: Sequence[ScoreHistogram], styles: Styles | None = None) -> Chart:
    """Score histograms; an algorithm is marked at the mean of its scores over the scenes that have one.

    Rows: column, from, to, count.
    """
    marks = complete(styles, dict.fromkeys(name for one in found for name in one.marked))
    texts = [label(one.column, one.selection) for one in found]
    rows = [
        row
        for text, one in zip(texts, found, strict=True)
        for row in vl.tidy(**{"column": text, "from": one.edges[:-1], "to": one.edges[1:], "count": one.counts})
    ]
    columns = min(vl.ABREAST, len(found))
    width = vl.panel_width(columns)
    views = [_histogram(text, one, marks, width) for text, one in zip(texts, found, strict=True)]
    shown = replace(found[0].selection, columns=tuple(one.column for one in found))
    return Chart("Score histograms", shown.caption(), rows, vl.panels(views, columns))


def _histogram(text: str, found: ScoreHistogram, styles: Styles, width: float) -> Spec:
    largest = found.theoretical[1]
    remarks = [f"at most {'∞' if math.isinf(largest) else f'{largest:g}'}"]
    limit = None if found.heuristic is None else float(found.heuristic[1])
    outside = limit is not None and limit > 1.5 * float(found.edges[-1])
    if outside:
        remarks.append(f"heuristic maximum {limit:g} →")
    title = [text, ", ".join(remarks)]
    x = vl.quantity("from", title)
    bars = {
        "x": {**x, "bin": {"binned": True}},
        "x2": {"field": "to"},
        "y": vl.quantity("count", "scores", axis={"tickMinStep": 1, "format": "d"}),
        "tooltip": vl.hover(("count", "scores"), ("from", "from", ".4g"), ("to", "to", ".4g")),
    }
    drawn = [vl.layer("bar", bars, where=vl.equal("column", text), color="#9db8cc")]
    if limit is not None and not outside:
        rule = {"x": vl.quantity("limit", title), "tooltip": vl.hover(("limit", "heuristic maximum", ".4g"))}
        drawn.append(vl.layer("rule", rule, [{"limit": limit}], strokeDash=[5, 3], color=INK))
    known = {name: scores[np.isfinite(scores)] for name, scores in found.marked.items() if np.isfinite(scores).any()}
    if known:
        points = [{"mark": f"{name} (mean of scenes)", "mean": scores.mean()} for name, scores in known.items()]
        shown = {f"{name} (mean of scenes)": style for name, style in styles.items()}
        place = {"x": vl.quantity("mean", title), "y": {"datum": 0}}
        tooltip = vl.hover(("mark", "algorithm"), ("mean", "mean", ".4g"))
        encoding = {**place, **vl.algorithm_marks(shown, vl.PAGE, "mark"), "tooltip": tooltip}
        drawn.append(vl.layer("point", encoding, points, size=80, stroke="white", strokeWidth=0.8))
    return vl.layered(*drawn, width=width, height=110)


def counted_errors_data(nested: DoubleCounting, parted: DoubleCounting) -> Chart:
    """Erroneous pixels by region as nested regions and as a partition count them, two stacked bars per algorithm.

    Rows: algorithm, set, region, errors. A line marks the distinct erroneous pixels.
    """
    sets = {"nested": nested, "partition": parted}
    regions = [region for one in sets.values() for region in one.regions]
    rows = [
        {"algorithm": algorithm, "set": kind, "region": region, "place": regions.index(region), "errors": float(count)}
        for kind, one in sets.items()
        for algorithm, errors in zip(nested.algorithms, one.errors, strict=True)
        for region, count in zip(one.regions, errors, strict=True)
    ]
    distinct = vl.tidy(algorithm=nested.algorithms, distinct=nested.distinct)
    axis = "counted errors [px]; line: distinct"
    y = vl.names("algorithm", nested.algorithms, axis={"labelLimit": 0})
    width, room = vl.row_widths(nested.algorithms)
    bars = {
        "x": vl.quantity("errors", axis, stack="zero", axis={"format": ",.0f"}),
        "y": {**y, "scale": {**y["scale"], "paddingInner": 0.25}},
        "yOffset": vl.names("set", list(sets)),
        "color": vl.scaled("region", segment_colours(regions), room),
        "order": vl.quantity("place"),
        "tooltip": vl.hover("algorithm", "set", "region", ("errors", "errors [px]", ",.0f")),
    }
    tooltip = vl.hover("algorithm", ("distinct", "distinct", ",.0f"))
    ticks = {"x": vl.quantity("distinct", axis), "y": y, "tooltip": tooltip}
    view = vl.layered(
        vl.layer("bar", bars, stroke="white", strokeWidth=0.5),
        vl.layer("tick", ticks, distinct, color=INK, thickness=1.6, bandSize=1.5 * vl.ROW),
        width=width,
        height=1.6 * vl.ROW * len(nested.algorithms),
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
        rows += vl.tidy(
            algorithm=common,
            order=order,
            rank=[ranks[name] for name in common],
            place=[sorted_names.index(name) + 1 for name in common],
            marked=[name in (marks or {}).get(order, ()) for name in common],
            text=[f"{ranks[name]:g}  {name}" for name in common],
        )
    columns = tuple(dict.fromkeys(column for ranking in rankings for column in ranking.selection.columns))
    x = vl.names(
        "order",
        list(orders),
        f"filled: {mark_meaning}" if mark_meaning else None,
        axis={"labelAngle": 0, "domain": False, "ticks": False},
        scale={"padding": 0.75},
    )
    y = vl.quantity("place", axis=None, scale={"reverse": True, "zero": False, "nice": False, "padding": 8})
    drawn = vl.algorithm_marks(complete(styles, common), legend=None)
    tooltip = vl.hover("algorithm", "order", "rank")
    place = {"x": x, "y": y}
    points = {**place, **drawn, "tooltip": tooltip}
    first, *_, last = orders
    text = {**place, "text": {"field": "text"}}
    hollow: Spec = {"fill": "white", "filled": False, "strokeWidth": 1.4}
    view = vl.layered(
        vl.layer("line", {**place, "color": drawn["color"]}),
        vl.layer("point", points, where="datum.marked", size=60),
        vl.layer("point", points, where="!datum.marked", size=60, **hollow),
        vl.layer("text", text, where=vl.equal("order", first), align="right", dx=-9),
        vl.layer("text", text, where=vl.equal("order", last), align="left", dx=9),
        width=vl.COLUMN if len(orders) <= 3 else vl.PAGE,
        height=1.2 * vl.ROW * len(common),
    )
    caption = replace(rankings[0].selection, columns=columns).caption()
    return Chart("Places under different orders", caption, rows, view, "algorithm")
