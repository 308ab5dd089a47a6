"""Charts of a ranking: weighted bars, radar, critical difference, rank maps, A* layers, intervals, rank sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from stereogauge.errors import StereogaugeError
from stereogauge.figures import chart as vl
from stereogauge.figures.chart import Chart, Row, Spec
from stereogauge.figures.palette import FAINT, INK, MUTED, Styles, complete, segment_colours
from stereogauge.ranking.bootstrap import Bootstrap
from stereogauge.ranking.costs import prepare
from stereogauge.ranking.model import Ranking
from stereogauge.ranking.profile import property_of
from stereogauge.ranking.ranks import column_ranks, normalised
from stereogauge.ranking.significance import Friedman
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import missing_rule
from stereogauge.text import p_text

MOST_NAMED = 4
MOST_NUMBERED_COLUMNS = 30
LETTERS_BETWEEN = 6  # space between two names of a layer, in letters
MOST_RINGS = 5
RADAR = 250  # px
TOTAL = 34  # px: width of the number behind a bar
FURTHEST = 1.25
"""Share of the heuristic maximum at which a radar chart ends."""
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def stacked_bars_data(ranking: Ranking, name: str = "", by: Literal["term", "property"] = "term") -> Chart:
    """Weighted scores as bars, shortest first, with one segment per term or property; `name` is that of the profile.

    Rows: algorithm, term (or property), weight, value (what it adds to the score).
    """
    if "contributions" not in ranking.arrays:
        raise StereogaugeError(f"Stacked bars show a weighted ranking; found one of the model {ranking.model!r}.")
    terms = ranking.names["terms"]
    parts = terms if by == "term" else tuple(dict.fromkeys(map(property_of, terms)))
    member = np.array([[part in (term, property_of(term)) for part in parts] for term in terms], np.float64)
    segments, weights = ranking.arrays["contributions"] @ member, ranking.arrays["weights"] @ member
    texts = [f"{part} ({100 * weight:.0f} %)" for part, weight in zip(parts, weights, strict=True)]
    rows = [
        row
        for algorithm, values in zip(ranking.algorithms, segments, strict=True)
        for row in vl.tidy(
            algorithm=algorithm, segment=texts, place=range(len(parts)), weight=weights, value=values, **{by: parts}
        )
    ]
    ends = np.maximum(segments, 0).sum(axis=1)
    totals = vl.tidy(algorithm=ranking.algorithms, end=ends, total=segments.sum(axis=1))
    axis = f"weighted score ({'shorter' if np.all(segments >= 0) else 'lower'} is better)"
    y = vl.names("algorithm", ranking.algorithms, axis={"labelLimit": 0})
    width, room = vl.row_widths(ranking.algorithms)
    scale = {"domainMax": float(ends.max()) * room / (room - TOTAL), "nice": False}
    bars = {
        "x": vl.quantity("value", axis, stack="zero", scale=scale),
        "y": y,
        "color": vl.scaled("segment", segment_colours(texts), room),
        "order": vl.quantity("place"),
        "tooltip": vl.hover("algorithm", "segment", ("value", "adds", ".4f")),
    }
    text = {"x": vl.quantity("end", axis), "y": y, "text": vl.quantity("total", format=".3f")}
    view = vl.layered(
        vl.layer("bar", bars, stroke="white", strokeWidth=0.5),
        vl.layer("text", text, totals, align="left", dx=3),
        width=width,
        height=vl.ROW * len(ranking.algorithms),
    )
    title = f"Weighted combination{': ' + name if name else ''}"
    return Chart(title, ranking.selection.caption(), rows, view, "segment")


class RadarPoint(NamedTuple):
    """A point of a radar chart: its distance from the centre (None is a gap), and what it means."""

    algorithm: str
    axis: str
    radius: float | None
    label: str


def radar(
    title: str,
    caption: str,
    points: Sequence[RadarPoint],
    by: Literal["rank", "score"],
    styles: Styles,
) -> Chart:
    """Algorithms over several axes at once, the best in the centre.

    Radii are ranks divided by the number of algorithms, or scores as shares of the heuristic maximum; a share beyond
    1.25 is drawn there as a hollow triangle. Rows: algorithm, axis, radius, label, beyond, x, y.
    """
    largest = max((point.radius for point in points if point.radius is not None), default=1.0)
    furthest = 1.0 if by == "rank" else min(largest, FURTHEST) or 1.0
    shares = np.linspace(0, furthest, MOST_RINGS)[1:].tolist()
    rings = rank_rings(len(styles)) if by == "rank" else tuple((share, f"{share:.2g}") for share in shares)
    axes = list(dict.fromkeys(point.axis for point in points))
    angles = {axis: 2 * math.pi * place / len(axes) for place, axis in enumerate(axes)}

    rows: list[Row] = []
    for point in points:
        radius = math.nan if point.radius is None or math.isinf(point.radius) else point.radius
        place = _polar(min(radius, furthest), angles[point.axis])
        rows.append({**point._asdict(), "place": axes.index(point.axis), "beyond": radius > furthest, **place})
    circle = np.linspace(0, 2 * math.pi, 73)
    turns = [turn for radius, text in rings for turn in vl.tidy(ring=text, step=range(73), **_polar(radius, circle))]
    texts = [{"text": text, **_polar(radius, math.pi / len(axes))} for radius, text in rings]
    spokes = [{**_polar(furthest, angle), "x0": 0.0, "y0": 0.0} for angle in angles.values()]
    rims = [{"text": axis, "side": math.sin(angle), **_polar(1.07 * furthest, angle)} for axis, angle in angles.items()]
    span = {"domain": [-1.12 * furthest, 1.12 * furthest], "nice": False}
    x, y = vl.quantity("x", axis=None, scale=span), vl.quantity("y", axis=None, scale=span)
    centre = {"x": {**x, "field": "x0"}, "y": {**y, "field": "y0"}}
    marks = vl.algorithm_marks(styles)
    position: Spec = {"x": x, "y": y}
    series = {
        **position,
        "opacity": vl.emphasis("algorithm"),
        "tooltip": vl.hover("algorithm", "axis", ("label", "value")),
    }
    line = {**series, "color": marks["color"], "order": vl.quantity("place")}
    ring = {**position, "detail": {"field": "ring"}, "order": vl.quantity("step")}
    text = {**position, "text": {"field": "text"}}
    around = [row for row in rows if row["place"] == len(axes) - 1]
    around += [{**row, "place": len(axes)} for row in rows if row["place"] == 0]
    broken: Spec = {"invalid": "break-paths-filter-domains"}
    sides = {"left": "datum.side > 0.2", "right": "datum.side < -0.2", "center": "abs(datum.side) <= 0.2"}
    beyond: Spec = {"shape": "triangle-up", "size": 90, "filled": False}
    view = {
        "width": RADAR,
        "height": RADAR,
        "layer": [
            vl.layer("line", ring, turns, color=FAINT),
            vl.layer("rule", {**centre, "x2": {"field": "x"}, "y2": {"field": "y"}}, spokes, color=FAINT),
            *(vl.layer("text", text, rims, where=test, align=align) for align, test in sides.items()),
            vl.layer("line", line, **broken),
            vl.layer("line", line, around, where=f"indexof({vl.HIDDEN}, datum.algorithm) < 0", **broken),
            vl.layer("point", {**series, **marks}, where="!datum.beyond && isValid(datum.x)", size=30),
            vl.layer("point", {**series, "color": marks["color"]}, where="datum.beyond", **beyond),
            vl.layer("text", text, texts, color=MUTED, fontSize=9),
        ],
    }
    return Chart(title, caption, rows, view, "algorithm")


def _polar(radius: float, angle: float | Values) -> dict[str, Any]:
    """A point, or points, at this distance from the centre and at this angle from the top."""
    return {"x": radius * np.sin(angle), "y": radius * np.cos(angle)}


def rank_rings(count: int) -> tuple[tuple[float, str], ...]:
    """Rings at whole ranks, the last place outermost, at most five of them.

    >>> rank_rings(3)
    ((0.3333333333333333, '1'), (0.6666666666666666, '2'), (1.0, '3'))
    """
    step = -(-count // MOST_RINGS)
    ranks = range(count, 0, -step)
    return tuple((rank / count, f"{rank}") for rank in reversed(ranks))


def radar_data(
    cube: ScoreCube,
    columns: Sequence[str] | None = None,
    *,
    by: Literal["rank", "score"] = "rank",
    missing: str = "common",
    styles: Styles | None = None,
) -> Chart:
    """Average over the scenes of each column, as rank among the algorithms or as share of the heuristic maximum.

    Shares beyond 1.25 are drawn there and marked. The caption names every column that could not be an axis.
    """
    if by not in ("rank", "score"):
        raise StereogaugeError(f"A radar chart shows the rank or the score; found {by!r}.")
    chosen = cube if columns is None else cube.select(metrics=columns)
    costs, selection = prepare(chosen, missing_rule(missing))
    if len(costs.columns) < 3:
        raise StereogaugeError(f"A radar chart needs at least three columns; found {len(costs.columns)}.")
    points: list[RadarPoint] = []
    for index, column in enumerate(costs.columns):
        cells = costs.matrix[:, costs.column_of == index]
        means = cells.mean(axis=1, keepdims=True)
        if by == "rank":
            ranks = column_ranks(means)[:, 0]
            radii, labels = ranks / len(costs.algorithms), [f"rank {rank:g}" for rank in ranks]
        else:
            usual = costs.maxima[costs.column_of == index]
            radii = normalised(column.metric, cells, "heuristic", usual, capped=False)[0].mean(axis=1)
            labels = [_score_text(column, mean, selection.depth_unit) for mean in means[:, 0]]
        points += map(RadarPoint, costs.algorithms, [column.label] * len(radii), radii.tolist(), labels)
    beyond = any(point.radius > FURTHEST for point in points if point.radius is not None)
    absent = [column.label for column in chosen.columns if column not in costs.columns]
    remarks = [f"no axis, for lack of scores: {', '.join(absent)}"] if absent else []
    remarks += [f"△ beyond {FURTHEST:g}, drawn at the rim"] if beyond else []
    return radar(
        "Rank by column" if by == "rank" else "Score as a share of the heuristic maximum",
        " · ".join([selection.caption(), *remarks]),
        points,
        by,
        complete(styles, costs.algorithms),
    )


def _score_text(column: Column, cost: float, depth_unit: str) -> str:
    higher = column.declared.metric.direction == "higher"
    return f"{-cost if higher else cost:.3g} {column.unit(depth_unit)}".strip()


def parallel(
    title: str,
    columns: Mapping[str, str],
    algorithms: Sequence[str],
    values: Sequence[Sequence[float | None]],
    ranks: Sequence[Sequence[float | None]],
    styles: Styles,
) -> Chart:
    """One vertical axis per column, one line per algorithm, best on top; `columns` maps labels to directions.

    Rows: algorithm, column, value, rank, height (1 is the best value of the column, 0 the worst).
    """
    rows: list[Row] = []
    ends: list[Row] = []
    for place, (label, direction) in enumerate(columns.items()):
        known = [value for row in values if (value := row[place]) is not None]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        best, worst = (high, low) if direction == "higher" else (low, high)
        span = (best - worst) or math.nan
        if known:
            ends += [{"column": label, "height": 1.0, "value": best}, {"column": label, "height": 0.0, "value": worst}]
        for row, algorithm in enumerate(algorithms):
            value = values[row][place]
            share = math.nan if value is None else (value - worst) / span if best != worst else 0.5
            rows.append(
                {"algorithm": algorithm, "column": label, "value": value, "rank": ranks[row][place], "height": share}
            )
    aslant = max(map(len, columns), default=0) > 12 or len(columns) > 6
    axis = {"orient": "top", "labelAngle": -35 if aslant else 0, "offset": 14, "grid": True}
    axis |= {"domain": False, "ticks": False}
    x = vl.names("column", list(columns), axis=axis, scale={"padding": 0.5})
    y = vl.quantity("height", axis=None, scale={"domain": [-0.1, 1]})
    marks = vl.algorithm_marks(styles, vl.PAGE)
    shown = vl.hover("algorithm", "column", ("value", "value", ".4g"), "rank")
    seen = vl.emphasis("algorithm")
    lines = {"x": x, "y": y, "color": marks["color"], "opacity": seen, "tooltip": shown}
    room = {"condition": {"test": f"width > {34 * len(columns)}", "value": 1}, "value": 0}
    text = {"x": x, "y": y, "text": vl.quantity("value", format=".3g"), "opacity": room}
    view = vl.layered(
        vl.layer("line", lines, invalid="break-paths-filter-domains"),
        vl.layer("point", {**lines, "shape": marks["shape"]}, where="isValid(datum.height)", size=28),
        vl.layer("text", text, ends, where="datum.height === 1", dy=-8, color=MUTED, fontSize=9),
        vl.layer("text", text, ends, where="datum.height === 0", dy=10, color=MUTED, fontSize=9),
        width=vl.PAGE,
        height=200,
    )
    return Chart(title, "", rows, view, "algorithm")


def _joined_points(
    algorithms: Sequence[str],
    values: Values,
    groups: Sequence[tuple[int, int]],
    styles: Styles,
    axis: str,
    number: str,
    ruler: tuple[float, str] | None = None,
) -> tuple[Sequence[Row], Spec]:
    """One point per algorithm in a row of its own; a bar right of the axis joins each group of neighbouring rows."""
    low, high = float(values.min()), float(values.max())
    step = 0.035 * ((high - low) or 1.0)
    bars = [
        {
            "x": high + step * (2 + place),
            "from": algorithms[first],
            "to": algorithms[last],
            "group": ", ".join(algorithms[first : last + 1]),
        }
        for place, (first, last) in enumerate(groups)
    ]
    end = max(high, high + step * (2 + len(bars)), low + (ruler[0] if ruler else 0.0))
    # Beside long names little width is left for the points: texts end at the right instead of being cut off there.
    title = {"titleAnchor": "end", "titleAlign": "right"}
    # The axis ends at the last value: the bars have a place, not a value.
    shown = {**title, "values": _ticks(low, high), "domain": False}
    x = vl.quantity("value", axis, scale={"domain": [low - step, end], "nice": False, "zero": False}, axis=shown)
    y = vl.names("algorithm", algorithms, axis={"labelLimit": 0})
    marks = vl.algorithm_marks(styles, legend=None)
    joined = {
        "x": vl.quantity("x", axis),
        "y": vl.names("from", algorithms),
        "y2": {"field": "to"},
        "tooltip": vl.hover(("group", "not distinguished")),
    }
    point = {"x": x, "y": y, **marks, "tooltip": vl.hover("algorithm", ("value", axis, number))}
    layers = [
        vl.layer("rule", joined, bars, strokeWidth=4, color=INK, strokeCap="round"),
        vl.layer("point", point, size=60),
    ]
    if ruler is not None:
        length = [{"from": low, "to": low + ruler[0], "text": ruler[1], "algorithm": ""}]
        span = {"y": {"value": -10}, "x": vl.quantity("from", axis), "x2": {"field": "to"}}
        above = {"x": {"value": "width"}, "y": {"value": -19}, "text": {"field": "text"}}
        layers += [
            vl.layer("rule", span, length, strokeWidth=1.6, color=INK),
            vl.layer("text", above, length, align="right"),
        ]
    width, _ = vl.row_widths(algorithms)
    view = vl.layered(*layers, width=width, height=vl.ROW * len(algorithms))
    return vl.tidy(algorithm=algorithms, value=values), view


def _ticks(low: float, high: float) -> list[float]:
    """About six round values from `low` to `high`."""
    rough = (high - low) / 6 or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [step * place for place in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def critical_difference_data(test: Friedman, styles: Styles | None = None) -> Chart:
    """Average ranks with Nemenyi's critical distance; bars join what the test does not distinguish.

    Refused where so few scenes cannot distinguish anything. Rows: algorithm, value (the average rank).
    """
    if not test.can_tell:
        raise StereogaugeError(test.sentence)
    rows, view = _joined_points(
        test.algorithms,
        test.average_rank,
        test.cliques,
        complete(styles, test.algorithms),
        "average rank (lower is better)",
        ".2f",
        (test.critical_distance, f"CD = {test.critical_distance:.2f} · Friedman {p_text(test.p_value)}"),
    )
    title = f"Critical difference (α = {test.alpha:g}, {test.blocks} scenes)"
    return Chart(title, test.selection.caption(), rows, view)


def ranks_data(test: Friedman, styles: Styles | None = None) -> Chart:
    """Average ranks with half the critical distance on either side.

    Rows: algorithm, value (the average rank), low, high.
    """
    rank, half = test.average_rank, test.critical_distance / 2
    low, high = np.maximum(rank - half, 1), np.minimum(rank + half, len(rank))
    rows = vl.tidy(algorithm=test.algorithms, value=rank, low=low, high=high, note="")
    axis = "average rank, half the critical distance on either side"
    title = f"Average ranks (α = {test.alpha:g}, {test.blocks} scenes)"
    return intervals(title, test.selection.caption(), rows, axis, styles=styles)


def alike_data(ranking: Ranking, styles: Styles | None = None) -> Chart:
    """Rank sums of the extended model; bars join the maximal sets that perform alike (sums closer than τ).

    Rows: algorithm, value (the rank sum).
    """
    if "alike" not in ranking.arrays:
        raise StereogaugeError(f"This figure shows the extended model; found a ranking of {ranking.model!r}.")
    groups: list[tuple[int, int]] = []
    for first, row in enumerate(ranking.arrays["alike"]):
        last = int(np.flatnonzero(row).max())
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    tau = float(ranking.arrays["tau"])
    marks = complete(styles, ranking.algorithms)
    axis = "sum of ranks (lower is better)"
    rows, view = _joined_points(ranking.algorithms, ranking.value, groups, marks, axis, ".0f")
    title = f"Extended Middlebury model: alike when sums differ by less than τ = {tau:g}"
    return Chart(title, ranking.selection.caption(), rows, view)


def rank_map_data(cube: ScoreCube, *, missing: str = "common", most: int | None = None) -> Chart:
    """Ranks by column among all, of the `most` algorithms with the best average."""
    costs, selection = prepare(cube, missing_rule(missing))
    ranks = column_ranks(costs.matrix)
    order = np.argsort(ranks.mean(axis=1), kind="stable")[:most]
    one_metric = len(costs.metrics) == 1
    columns = [
        f"{costs.scenes[scene]} {costs.columns[column].region if one_metric else costs.columns[column].label}"
        for scene, column in zip(costs.scene_of, costs.column_of, strict=True)
    ]
    title = f"Rank by scene and {'region, ' + costs.metrics[0] if one_metric else 'column'}"
    algorithms = [costs.algorithms[index] for index in order]
    return _rank_map(title, selection.caption(), algorithms, columns, ranks[order])


def _rank_map(title: str, caption: str, algorithms: Sequence[str], columns: Sequence[str], ranks: Values) -> Chart:
    """Rank of each algorithm, best first, in each column."""
    last = max(len(algorithms), 2)
    scale = {"scheme": "cividis", "reverse": True, "domain": [1, last]}
    number = ".3~g" if len(columns) <= MOST_NUMBERED_COLUMNS and len(algorithms) <= 60 else None
    dark = f"datum.value > {0.55 * last}"
    cell = min(28.0, (vl.PAGE - 190) / max(1, len(columns))), vl.ROW
    return vl.heat_map(title, caption, algorithms, columns, ranks, "rank", scale, number=number, dark=dark, cell=cell)


def layers_data(ranking: Ranking, styles: Styles | None = None) -> Chart:
    """A* groups as layers, the first on top; lines join each algorithm to those that it dominates directly.

    Rows: algorithm, group, x (0 to 1), dominated_by.
    """
    if ranking.group is None or "dominates" not in ranking.arrays:
        raise StereogaugeError(f"Layers show A* groups; found a ranking of the model {ranking.model!r}.")
    dominates = ranking.arrays["dominates"]
    between = (dominates.astype(np.int64) @ dominates.astype(np.int64)) > 0
    edges = np.argwhere(dominates & ~between).tolist()
    across = np.zeros(len(ranking))
    depth = int(ranking.group.max())
    letters = 0
    for group in range(1, depth + 1):
        members = np.flatnonzero(ranking.group == group)
        widths = np.array([len(ranking.algorithms[member]) + LETTERS_BETWEEN for member in members])
        across[members] = (np.cumsum(widths) - widths / 2) / widths.sum()
        letters = max(letters, int(widths.sum()))
    groups = [f"A*{str(group).translate(SUBSCRIPTS)}" for group in range(1, depth + 1)]
    above = [[ranking.algorithms[a] for a, b in edges if b == index] for index in range(len(ranking))]
    rows = vl.tidy(
        algorithm=ranking.algorithms,
        group=ranking.group,
        layer=[groups[group - 1] for group in ranking.group],
        x=across,
        dominated_by=[", ".join(names) or "none" for names in above],
    )
    lines = [{"edge": place, **rows[end]} for place, edge in enumerate(edges) for end in edge]
    shown = ranking.selection.metrics
    metrics = ", ".join(shown) if len(shown) <= MOST_NAMED else f"{len(shown)} metrics"
    x = vl.quantity("x", axis=None, scale={"domain": [0, 1]})
    axis = {"domain": False, "ticks": False, "grid": False, "labelFontSize": 12}
    place = {"x": x, "y": vl.names("layer", groups, axis=axis)}
    marks = vl.algorithm_marks(complete(styles, ranking.algorithms), legend=None)
    tooltip = vl.hover("algorithm", "layer", ("dominated_by", "directly dominated by"))
    text = {**place, "text": {"field": "algorithm"}}
    view = vl.layered(
        vl.layer("line", {**place, "detail": {"field": "edge"}}, lines, color=MUTED, opacity=0.45, strokeWidth=0.9),
        vl.layer("point", {**place, **marks, "tooltip": tooltip}, size=90),
        vl.layer("text", text, dy=-12, stroke="white", strokeWidth=3, strokeJoin="round"),
        vl.layer("text", text, dy=-12),
        width=vl.COLUMN if 5.5 * letters + 50 < vl.COLUMN else vl.PAGE,
        height=52 * depth,
    )
    return Chart(f"A* groups by {metrics}", ranking.selection.caption(), rows, view)


def intervals_data(bootstrapped: Bootstrap, styles: Styles | None = None, most: int | None = None) -> Chart:
    """Bootstrap intervals of the figure that decides the order, of the first `most` algorithms.

    Rows: algorithm, value, low, high, note (the share of draws in which it is first).
    """
    rows = vl.tidy(
        algorithm=bootstrapped.algorithms[:most],
        value=bootstrapped.value[:most],
        low=bootstrapped.value_low[:most],
        high=bootstrapped.value_high[:most],
        note=[f"{first:.0%}" for first in bootstrapped.first[:most]],
    )
    title = f"{100 * bootstrapped.level:g} % intervals over scenes ({bootstrapped.draws} draws)"
    axis = f"{bootstrapped.value_name} (lower is better)"
    return intervals(title, bootstrapped.selection.caption(), rows[:most], axis, "first", styles)


def intervals(
    title: str, caption: str, rows: Sequence[Row], axis: str, heading: str = "", styles: Styles | None = None
) -> Chart:
    """A ranked list with intervals: a point and a line per algorithm, and notes under a heading.

    Rows: algorithm, value, low and high (NaN where no interval is known), note.
    """
    algorithms = [one["algorithm"] for one in rows]
    y = vl.names("algorithm", algorithms)
    marks = vl.algorithm_marks(complete(styles, algorithms), legend=None)
    known = [("low", "from", ".3f"), ("high", "to", ".3f")] if any(math.isfinite(one["low"]) for one in rows) else []
    noted = [("note", heading)] if heading else []
    tooltip = vl.hover("algorithm", ("value", axis, ".3f"), *known, *noted)
    scale = vl.around(one[part] for one in rows for part in ("value", "low", "high"))
    span = {"x": vl.quantity("low", axis, scale=scale), "x2": {"field": "high"}, "y": y, "color": marks["color"]}
    value = vl.quantity("value", axis, scale=scale)
    right: Spec = {"x": {"value": "width"}}
    beside: Spec = {"align": "left", "dx": 6}
    notes = [
        vl.layer("text", {**right, "y": y, "text": {"field": "note"}}, **beside),
        vl.layer("text", {**right, "y": {"value": -8}}, [{}], text=heading, color=MUTED, **beside),
    ]
    view = vl.layered(
        vl.layer("rule", {**span, "tooltip": tooltip}, where="isValid(datum.low)", strokeWidth=2),
        vl.layer("point", {"x": value, "y": y, **marks, "tooltip": tooltip}, size=55),
        *(notes if heading else ()),
        height=vl.ROW * len(algorithms),
    )
    return Chart(title, caption, tuple(rows), view)


def model_figure_data(ranking: Ranking) -> Chart:
    """The figure that fits a ranking's model: bars, layers, rank sums, or ranks by column."""
    if "contributions" in ranking.arrays:
        return stacked_bars_data(ranking)
    if "dominates" in ranking.arrays:
        return layers_data(ranking)
    if "alike" in ranking.arrays:
        return alike_data(ranking)
    if "column_ranks" not in ranking.arrays:
        raise StereogaugeError(f"The model {ranking.model!r} has no figure.")
    title = f"Rank by column, model {ranking.model}"
    ranks = ranking.arrays["column_ranks"]
    return _rank_map(title, ranking.selection.caption(), ranking.algorithms, ranking.names["columns"], ranks)
