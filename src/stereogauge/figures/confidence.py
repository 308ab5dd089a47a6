"""Charts of confidence: sparsification, error over density, reliability; and pictures of confidence maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures.calibration import Reliability
from stereogauge.confidence_measures.evaluation import SceneCurves
from stereogauge.confidence_measures.sparsification import AnyCurve, ErrorKind, SparsificationCurve
from stereogauge.evaluation.error_density import ErrorDensity
from stereogauge.figures import chart as vl
from stereogauge.figures.chart import Chart, Row, Spec
from stereogauge.figures.palette import FAINT, Styles, colour, complete
from stereogauge.metrics.picture import Picture

Kind = Literal["counts", "rates", "normalised"]
Values = NDArray[np.float64]
Y_LABELS: Mapping[Kind, str] = {
    "counts": "remaining bad pixels",
    "rates": "bad pixels among the kept, %",
    "normalised": "rate relative to full density",
}
RELIABILITY_LABELS = {
    "intervals": ("probability of the interval, %", "true disparities in it, %"),
    "probability": ("predicted probability of a good pixel, %", "good pixels, %"),
}
POINTS = 101
ORACLE, RANDOM, BOUND = "oracle Δ", "random", "s(φ): kept by every measure"
SOLID: tuple[int, ...] = (1, 0)
DASHED, DOTTED, DASH_DOTTED, LONG = (6, 4), (2, 3), (8, 3, 2, 3), (12, 4)
REFERENCES = {ORACLE: ("#6b6b6b", DASH_DOTTED), RANDOM: ("#b0b0b0", DOTTED), BOUND: ("#1a1a1a", DASHED)}
"""Colour and dash of the lines that no measure gives: no measure's curve has such a colour."""


class Line(NamedTuple):
    """One curve of a panel: values over densities in per cent, with its colour and dash.

    `about` holds further fields of its rows.
    """

    label: str
    densities: Values
    values: Values
    colour: str
    dash: tuple[int, ...] = SOLID
    width: float = 1.4
    about: Row = MappingProxyType({})


class Panel(NamedTuple):
    """The curves of one scene; `good_share` (in per cent) is where a perfect order has no bad pixel left.

    `top` is where the value axis ends, since rates of very few pixels may lie far above it; None fits it to the data.
    """

    title: str
    lines: tuple[Line, ...]
    good_share: float | None = None
    top: float | None = None


def curve_panels(
    title: str,
    caption: str,
    found: Sequence[Panel],
    y_label: str,
    *,
    x_label: str = "density, %",
    number: str = ".4g",
) -> Chart:
    """Curves over density, one panel per scene. Rows: panel (its title and place), line, density (%), value, and what
    each line adds."""
    across = min(vl.ABREAST, len(found))
    width = vl.panel_width(across, 0.65 * vl.PAGE)
    rows = [
        row
        for place, panel in enumerate(found)
        for line in panel.lines
        for row in vl.tidy(
            panel=panel.title, place=place, line=line.label, density=line.densities, value=line.values, **line.about
        )
    ]
    lines = {line.label: line for panel in found for line in panel.lines}
    wide = width if across == 1 else vl.PAGE
    series = {
        "color": vl.scaled("line", {name: line.colour for name, line in lines.items()}, wide),
        "strokeDash": vl.scaled("line", {name: list(line.dash) for name, line in lines.items()}, wide),
        "strokeWidth": vl.scaled("line", {name: line.width for name, line in lines.items()}, wide, type="ordinal"),
    }
    views = []
    for place, panel in enumerate(found):
        y_title = y_label if place % across == 0 else None
        scale = {"clamp": True} if panel.top is None else {"domain": [0, panel.top], "clamp": True, "nice": False}
        x = vl.quantity("density", x_label, scale={"domain": [0, 100], "nice": False})
        y = vl.quantity("value", y_title, scale=scale)
        tooltip = vl.hover("line", ("density", "density, %", ".0f"), ("value", y_label, number))
        drawn = [
            vl.layer("line", {"x": x, "y": y, **series}),
            vl.layer("point", {"x": x, "y": y, "tooltip": tooltip}, opacity=0, size=90),
        ]
        if panel.good_share is not None:
            rule = {"x": vl.quantity("share", x_label)}
            drawn.insert(0, vl.layer("rule", rule, [{"share": panel.good_share}], color=FAINT, strokeWidth=3))
        height, heading = 125 if across > 1 else 230, vl.heading(panel.title)
        views.append(vl.layered(*drawn, width=width, height=height, where=vl.equal("place", place), title=heading))
    return Chart(title, caption, rows, vl.panels(views, across), "line")


def sparsification_data(
    scenes: Sequence[SceneCurves],
    kind: Kind = "counts",
    *,
    labels: Mapping[str, str] | None = None,
    title: str = "Sparsification",
    caption: str = "",
) -> Chart:
    """Curves of every measure in every scene with the oracle Δ and the random line.

    For counts also s(φ): the bad pixels that every measure would keep at φ.
    """
    measures = tuple(dict.fromkeys(name for scene in scenes for name in scene.curves))
    colours = {name: colour(index) for index, name in enumerate(measures)}
    shown = {name: (labels or {}).get(name, name) for name in measures}
    found = [_sparsification_panel(scene, kind, shown, colours) for scene in scenes]
    return curve_panels(title, caption, found, Y_LABELS[kind])


def _sparsification_panel(
    scene: SceneCurves, kind: Kind, labels: Mapping[str, str], colours: Mapping[str, str]
) -> Panel:
    densities = np.linspace(0, 1, POINTS)
    first = next(iter(scene.curves.values()))

    def line(label: str, curve: SparsificationCurve, shade: str, dash: tuple[int, ...] = SOLID) -> Line:
        return Line(label, 100 * densities, _values(curve, densities, kind), shade, dash)

    lines = [line(labels[name], curve, colours[name]) for name, curve in scene.curves.items()]
    lines += [line(ORACLE, first.oracle, *REFERENCES[ORACLE]), line(RANDOM, first.random, *REFERENCES[RANDOM])]
    if scene.bound is not None and kind == "counts":
        lines.append(Line(BOUND, 100 * densities, scene.bound.counts(densities), *REFERENCES[BOUND]))
    rate = 100 * first.bad_pixels / first.pixels
    full = float(lines[0].values[-1])
    return Panel(
        f"{scene.scene}: {first.bad_pixels} bad ({rate:.1f} %)",
        tuple(lines),
        100 * first.good_share,
        full * (1.05 if kind == "counts" else 1.3) or 1.0,
    )


def _values(curve: SparsificationCurve, densities: Values, kind: Kind) -> Values:
    if kind == "counts":
        return curve.counts(densities)
    rates = curve.rates(densities)
    if kind == "rates":
        return 100 * rates
    return rates / rates[-1] if rates[-1] > 0 else rates


def error_data(
    scenes: Mapping[str, Mapping[str, AnyCurve]],
    kind: ErrorKind,
    *,
    labels: Mapping[str, str] | None = None,
    caption: str = "",
) -> Chart:
    """The error of what remains by scene and measure, with the oracle and the random line; shares are in per cent."""
    measures = tuple(dict.fromkeys(name for curves in scenes.values() for name in curves))
    densities = np.linspace(0, 1, POINTS)[1:]
    factor = 1.0 if kind.magnitude else 100.0
    found = []
    for scene, curves in scenes.items():
        lines = [
            Line((labels or {}).get(name, name), 100 * densities, factor * curve.rates(densities), colour(index))
            for index, name in enumerate(measures)
            if (curve := curves.get(name)) is not None
        ]
        first = next(iter(curves.values()))
        full = factor * float(first.rates([1.0])[0])
        oracle = factor * first.oracle.rates(densities)
        lines.append(Line(ORACLE, 100 * densities, oracle, *REFERENCES[ORACLE]))
        lines.append(Line(RANDOM, 100 * densities, np.full(len(densities), full), *REFERENCES[RANDOM]))
        found.append(Panel(f"{scene}: {full:.3g} at full density", tuple(lines), None, 1.3 * full or 1.0))
    unit = f"{kind} of what remains, {'px' if kind.magnitude else '%'}"
    return curve_panels(f"Sparsification by {kind}", caption, found, unit)


def error_density_data(found: Sequence[ErrorDensity], styles: Styles | None = None) -> Chart:
    """Error over density, one panel per metric; curves of algorithms with confidence maps, large marks of all maps.

    Rows: metric, algorithm, density (%), value, whole (true for the map as it is). Grey lines are the densities at
    which scores are compared.
    """
    algorithms = tuple(dict.fromkeys(name for one in found for name in one.algorithms))
    scenes = found[0].scenes
    where = scenes[0] if len(scenes) == 1 else f"{len(scenes)} scenes, each cut to the same density"
    caption = (
        f"Metric over the pixels that are kept; {where}. Curves: the most confident pixels by the algorithm's map. "
        "Large marks: the map as it is. Only scores at one density can be put in order."
    )
    across = min(vl.ABREAST, len(found))
    rows = [row for one in found for row in _density_rows(one)]
    width = vl.panel_width(across, 0.7 * vl.PAGE)
    marks = vl.algorithm_marks(complete(styles, algorithms), vl.PAGE if across > 1 else width)
    views = [_density_panel(one, marks, width, titled=len(found) > 1) for one in found]
    return Chart("Error over density", caption, rows, vl.panels(views, across), "algorithm")


def _density_rows(found: ErrorDensity) -> list[Row]:
    rows: list[Row] = []
    for name in found.algorithms:
        about = {"metric": found.column.label, "algorithm": name}
        if name in found.curves:
            known = ~np.isnan(found.curves[name])
            density, value = 100 * found.densities[known], found.curves[name][known]
            rows += vl.tidy(**about, density=density, value=value, whole=False)
        point = found.points[name]
        rows.append({**about, "density": 100 * point.density, "value": point.value, "whole": True})
    return rows


def _density_panel(found: ErrorDensity, marks: Spec, width: float, *, titled: bool) -> Spec:
    unit = found.column.declared.metric.unit
    label = f"{found.column.metric}{f' [{unit}]' if unit else ''}"
    place = {
        "x": vl.quantity("density", "density, %", scale={"domain": [0, 103], "nice": False}),
        "y": vl.quantity("value", label),
        "tooltip": vl.hover("algorithm", ("density", "density, %", ".1f"), ("value", label, ".4g")),
    }
    compared = [{"density": 100 * one.density} for one in found.equal]
    title: Spec = {"title": vl.heading(found.column.label)} if titled else {}
    return vl.layered(
        vl.layer("rule", {"x": place["x"]}, compared, color=FAINT, strokeWidth=2),
        vl.layer("line", {**place, "color": marks["color"]}, where="!datum.whole"),
        vl.layer("point", {**place, **marks}, where="datum.whole", size=75),
        where=vl.equal("metric", found.column.label),
        width=width,
        height=190,
        **title,
    )


def reliability_data(found: Sequence[tuple[str, str, Reliability]], *, caption: str = "") -> Chart:
    """What confidence maps predict against what is observed, for (scene, map, reliability).

    There is a panel for intervals and one for probabilities; below the diagonal a map promises too much. Rows: scene,
    map, kind, distribution, line, predicted, observed, pixels.
    """
    rows: list[Row] = []
    views: list[Spec] = []
    used = [kind for kind in RELIABILITY_LABELS if any(one.kind == kind for _, _, one in found)]
    texts: dict[str, tuple[str, tuple[int, ...]]] = {}
    for kind in used:
        for index, (scene, name, one) in enumerate(entry for entry in found if entry[2].kind == kind):
            suffix = "" if one.distribution is None else f", {one.distribution}"
            text = f"{name}, {scene}{suffix} (ECE {one.ece:.3f})"
            texts[text] = (colour(index), DASHED if one.distribution == "laplace" else SOLID)
            rows += vl.tidy(
                scene=scene,
                map=name,
                kind=kind,
                distribution=one.distribution or "",
                line=text,
                predicted=one.predicted,
                observed=one.observed,
                pixels=one.pixels,
            )
    wide = max(1, len(used)) * 300.0
    series = {
        "color": vl.scaled("line", {text: shade for text, (shade, _) in texts.items()}, wide),
        "strokeDash": vl.scaled("line", {text: list(dash) for text, (_, dash) in texts.items()}, wide),
    }
    scale = {"domain": [0, 100], "nice": False}
    for kind in used:
        x_label, y_label = RELIABILITY_LABELS[kind]
        place = {"x": vl.quantity("x", x_label, scale=scale), "y": vl.quantity("y", y_label, scale=scale)}
        tooltip = vl.hover("line", ("x", x_label, ".1f"), ("y", y_label, ".1f"), ("pixels", "pixels", ",.0f"))
        percent = {"x": "100 * datum.predicted", "y": "100 * datum.observed"}
        encoding = {**place, **series, "tooltip": tooltip}
        here = vl.equal("kind", kind)
        curve = vl.layer("line", encoding, where=here, calculate=percent, point={"size": 16})
        diagonal = vl.layer("line", place, [{"x": 0, "y": 0}, {"x": 100, "y": 100}], color=FAINT, strokeWidth=3)
        views.append(vl.layered(diagonal, curve, width=260, height=250, title=vl.heading(f"Calibration of {kind}")))
    return Chart("Reliability", caption, rows, vl.panels(views), "line")


def confidence_picture(label: str, values: NDArray[np.floating[Any]], formula: str = "") -> Picture:
    """A confidence map by the rank of its values, bright = least confident; NaN counts as the least confident.

    Ranks show the order that sparsification follows, whatever the scale of the measure.
    """
    filled = np.nan_to_num(values.astype(np.float64), nan=np.inf)
    _, inverse, counts = np.unique(filled, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    share = (100 * middle / values.size)[inverse].reshape(values.shape)
    return Picture(
        title=f"{label}: {formula}" if formula else label,
        values=share,
        kind="sequential",
        unit="% of pixels that are more confident",
        limits=(0.0, 100.0),
    )
