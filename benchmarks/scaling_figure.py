"""The figure of cost over size: one panel per quantity, logarithmic on both axes, with the slope of each curve."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from benchmarks.curves import Curve
from stereogauge.figures.mpl.figure import SMALL, panel_figure, plain
from stereogauge.figures.palette import MARKERS, MUTED, OKABE_ITO
from stereogauge.tables.table import Table, number, table, words
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


def scaling_figure(curves: Sequence[Curve]) -> Figure:
    """All panels, two beside each other."""
    grouped = panels(curves)
    data = SimpleNamespace(title=TITLE, caption=CAPTION)
    figure, grid = panel_figure(data, len(grouped), 2, 2.1)
    for axes, (over, some) in zip(grid.ravel(), grouped.items(), strict=False):
        _panel(axes, over, some)
    return figure


def _panel(axes: Axes, over: str, curves: Sequence[Curve]) -> None:
    for place, curve in enumerate(curves):
        label = f"{curve.name}: slope {number_text(curve.slope, 2)}"
        marker, colour = MARKERS[place][0], OKABE_ITO[place]
        axes.plot(curve.sizes, curve.seconds, color=colour, marker=marker, markersize=4, linewidth=1.3, label=label)
        power, fixed = (-1, 0) if over in FALLING else (1, -1)
        ideal = [curve.seconds[fixed] * (size / curve.sizes[fixed]) ** power for size in curve.sizes]
        axes.plot(curve.sizes, ideal, color=MUTED, linewidth=0.7, linestyle="--", zorder=1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** (0.12 * len(curves) + 0.1))  # room for the legend
    sizes = sorted({size for curve in curves for size in curve.sizes})
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_locator(NullLocator())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    plain(axes, grid="both")
    axes.set_xlabel(over)
    axes.set_ylabel("seconds")
    axes.legend(fontsize=SMALL, loc="upper left", frameon=False, borderpad=0.1, handlelength=1.6)


def scaling_table(curves: Sequence[Curve]) -> Table:
    """One row per curve: its slope, and what its first and last size took."""
    rows = [
        (
            words(curve.over),
            words(curve.name),
            number(curve.slope, 2),
            words(f"{curve.sizes[0]:g}"),
            number(curve.seconds[0] * 1e3),
            words(f"{curve.sizes[-1]:g}"),
            number(curve.seconds[-1] * 1e3),
        )
        for curve in curves
    ]
    header = ("over", "work", "slope", "from", "ms", "to", "ms ")
    return table("scaling", TITLE, header, rows)


def data_table(curves: Sequence[Curve]) -> Table:
    """Every point of the figure."""
    rows = [
        (words(curve.over), words(curve.name), number(size), number(seconds))
        for curve in curves
        for size, seconds in zip(curve.sizes, curve.seconds, strict=True)
    ]
    return table("performance-scaling", TITLE, ("over", "work", "size", "seconds"), rows)
