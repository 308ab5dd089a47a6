"""The figure of cost over size: one panel per quantity, logarithmic on both axes, with the slope of each curve."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.curves import Curve
from stereogauge.figures.chart import (
    Chart,
    Spec,
    algorithm_marks,
    equal,
    layer,
    layered,
    panel_width,
    quantity,
)
from stereogauge.figures.chart import panels as side_by_side
from stereogauge.figures.palette import MUTED, algorithm_styles
from stereogauge.tables.table import Table, number, table
from stereogauge.text import number_text

TITLE = "Cost over size"
CAPTION = (
    "Fastest of several runs. Dashed: linear growth (for workers: as many times faster as there are workers). "
    "The slope is the exponent p of cost ∝ size^p over the larger half of the sizes."
)
FALLING = ("workers",)


def panels(curves: Sequence[Curve]) -> dict[str, list[Curve]]:
    """The curves of each quantity, in the order in which they were measured."""
    found: dict[str, list[Curve]] = {}
    for curve in curves:
        found.setdefault(curve.over, []).append(curve)
    return found


def scaling_chart(curves: Sequence[Curve]) -> Chart:
    """All panels, two beside each other. Rows: over, work, size, seconds, linear (seconds if growth were linear)."""
    grouped = panels(curves)
    rows = tuple(
        {"over": over, "work": text, "size": size, "seconds": seconds, "linear": linear}
        for over, some in grouped.items()
        for text, curve in _labelled(some).items()
        for size, seconds, linear in zip(curve.sizes, curve.seconds, _linear(over, curve), strict=True)
    )
    views = [_panel(over, some) for over, some in grouped.items()]
    view = side_by_side(views, 2)
    view["resolve"] = {"scale": {"color": "independent", "shape": "independent"}}
    return Chart(TITLE, CAPTION, rows, view)


def _labelled(curves: Sequence[Curve]) -> dict[str, Curve]:
    return {f"{curve.name}: slope {number_text(curve.slope, 2)}": curve for curve in curves}


def _linear(over: str, curve: Curve) -> list[float]:
    power, fixed = (-1, 0) if over in FALLING else (1, -1)
    return [curve.seconds[fixed] * (size / curve.sizes[fixed]) ** power for size in curve.sizes]


def _panel(over: str, curves: Sequence[Curve]) -> Spec:
    styles = algorithm_styles(_labelled(curves))
    sizes = sorted({size for curve in curves for size in curve.sizes})
    marks = algorithm_marks(styles, panel_width(2), "work")
    logarithmic = {"type": "log", "nice": False, "padding": 6}
    x = quantity("size", over, scale=logarithmic, axis={"values": sizes, "format": "~g"})
    y = quantity("seconds", "seconds", scale=logarithmic, axis={"format": "~g", "tickCount": 5})
    linear = {"x": x, "y": {**y, "field": "linear"}, "detail": {"field": "work"}}
    return layered(
        layer("line", linear, color=MUTED, strokeDash=[5, 4]),
        layer("line", {"x": x, "y": y, "color": marks["color"]}),
        layer("point", {"x": x, "y": y, **marks}, size=35),
        where=equal("over", over),
        width=panel_width(2),
        height=190,
    )


def scaling_table(curves: Sequence[Curve]) -> Table:
    """One row per curve: its slope, and what its first and last size took."""
    rows = [
        (
            curve.over,
            curve.name,
            number(curve.slope, 2),
            f"{curve.sizes[0]:g}",
            number(curve.seconds[0] * 1e3),
            f"{curve.sizes[-1]:g}",
            number(curve.seconds[-1] * 1e3),
        )
        for curve in curves
    ]
    header = ("over", "work", "slope", "from", "ms", "to", "ms ")
    return table("scaling", TITLE, header, rows)


def data_table(curves: Sequence[Curve]) -> Table:
    """Every point of the figure."""
    rows = [
        (curve.over, curve.name, number(size), number(seconds))
        for curve in curves
        for size, seconds in zip(curve.sizes, curve.seconds, strict=True)
    ]
    return table("performance-scaling", TITLE, ("over", "work", "size", "seconds"), rows)
