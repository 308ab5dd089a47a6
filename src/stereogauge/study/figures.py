"""Charts of a study and of robustness: response curves, sensitivity maps, and how much maps change."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from stereogauge.figures import chart as vl
from stereogauge.figures.chart import Chart, Row, Spec
from stereogauge.figures.palette import FAINT, OKABE_ITO
from stereogauge.metrics.registry import parse_column
from stereogauge.study.damage import damage_called
from stereogauge.study.images import IMAGE_DAMAGES
from stereogauge.study.run import Sensitivity, Study

COLOURED = 4
FAINTEST = 0.02  # of a panel's largest response: a curve below it gets no colour
SERIES = {
    "changed": "changed, % of pixels with both estimates",
    "lost": "lost, % of all pixels",
    "gained": "gained, % of all pixels",
}


def response_curves_data(study: Study, metrics: Sequence[str] | None = None) -> Chart:
    """The response curves of a study; in each panel the damages that move the metric most get a colour.

    Rows: metric, damage, strength, unit, relative (strength from 0 to 1), value, rank (0 moves the metric most),
    coloured.
    """
    rows: list[Row] = []
    views: list[Spec] = []
    chosen = study.metrics if metrics is None else metrics
    across = min(vl.ABREAST, len(chosen))
    width = vl.panel_width(across)
    for metric in chosen:
        own = _curve_rows(study, metric)
        rows += own
        unit = parse_column(metric)[0].metric.unit
        views.append(_response_panel(metric, f"{metric} [{unit}]" if unit else metric, own, width))
    caption = (
        f"Scene {study.scene}, protocol {study.protocol}. Strength relative to the largest step of each damage; "
        f"up to {COLOURED} damages that move a metric most are coloured, the others grey."
    )
    view = vl.panels(views, across)
    if len(views) > 1:
        view["resolve"] = {"scale": {"color": "independent"}, "legend": {"color": "independent"}}
    title = "Response of a matcher to damaged images" if study.of_images else "Response of metrics to controlled damage"
    return Chart(title, caption, rows, view)


def _curve_rows(study: Study, metric: str) -> list[Row]:
    curves = {damage: curve for damage in study.damages if (curve := study.curve(metric, damage))}
    declared = {name: IMAGE_DAMAGES[name] if study.of_images else damage_called(name) for name in curves}
    reach = {damage: _reach([value for _, value in curve]) for damage, curve in curves.items()}
    ordered = sorted(reach, key=lambda damage: -reach[damage])
    limit = FAINTEST * max(reach.values(), default=0.0)
    return [
        row
        for rank, damage in enumerate(ordered)
        for strengths, values in [np.transpose(curves[damage])]
        for row in vl.tidy(
            metric=metric,
            damage=declared[damage].name,
            strength=strengths,
            unit=declared[damage].unit,
            relative=strengths / strengths[-1],
            value=values,
            rank=rank,
            coloured=rank < COLOURED and reach[damage] > limit,
        )
    ]


def _reach(values: Sequence[float]) -> float:
    """The largest change of a curve from its start; 0 for one without finite values."""
    finite = [value for value in values if math.isfinite(value)]
    return max(abs(value - finite[0]) for value in finite) if finite else 0.0


def _response_panel(metric: str, label: str, rows: Sequence[Row], width: float) -> Spec:
    coloured = dict.fromkeys(row["damage"] for row in rows if row["coloured"])
    place = {
        "x": vl.quantity("relative", "relative strength"),
        "y": vl.quantity("value"),
        "tooltip": vl.hover("damage", ("strength", "strength", ".4g"), "unit", ("value", label, ".4g")),
    }
    shades = vl.scaled("damage", dict(zip(coloured, OKABE_ITO, strict=False)), width)
    faint = {**place, "detail": {"field": "damage"}}
    drawn = []
    if not all(row["coloured"] for row in rows):
        drawn.append(vl.layer("line", faint, where="!datum.coloured", color=FAINT, strokeWidth=0.9))
    if coloured:  # a legend without an entry has no size
        drawn.append(vl.layer("line", {**place, "color": shades}, where="datum.coloured", point={"size": 12}))
    here = vl.equal("metric", metric)
    return vl.layered(*drawn, width=width, height=125, where=here, title=vl.heading(label))


def sensitivity_data(found: Sensitivity, *, selective: bool = True, scene: str = "") -> Chart:
    """The sensitivity matrix: after both normalisations, or only with each metric's largest response = 1.

    Rows: row (metric), column (damage), value (relative response), marked (the metric is named after the damage).
    """
    named_after = {declared.name: declared.metric for declared in map(damage_called, found.damages)}
    where = f"Scene {scene}. " if scene else ""
    how = (
        "Each metric in units of its largest response, then each damage in units of its total effect on these metrics."
        if selective
        else "Each metric in units of its largest response; every damage at its reference strength."
    )
    return vl.heat_map(
        "Which metric reacts to which damage" if selective else "What every metric sees",
        f"{where}{how} Frames: the damage that the metric is named after.",
        found.metrics,
        list(named_after),
        found.selective if selective else found.scaled,
        "relative response",
        {"scheme": "cividis", "domain": [0, 1]},
        number=".2f",
        dark="datum.value < 0.5",
        cell=(min(31.0, (vl.PAGE - 200) / max(1, len(named_after))), 22),
        frames=lambda metric, damage: named_after[damage] == metric,
    )


def robustness_data(table: pd.DataFrame, *, threshold: float, pixels: str = "all pixels") -> Chart:
    """The bars of a table as `stereogauge.study.robustness.robustness_table` makes it, one panel per condition.

    Rows: condition, algorithm, series (changed, lost or gained), value in per cent.
    """
    algorithms = list(dict.fromkeys(table["algorithm"]))
    conditions = {
        f"{condition}: {first} → {second}": own.set_index("algorithm").reindex(algorithms)
        for (condition, first, second), own in table.groupby(["condition", "first", "second"], sort=False)
    }
    rows = [
        {"condition": condition, "algorithm": algorithm, "series": series, "share": share, "value": float(value)}
        for condition, own in conditions.items()
        for algorithm in algorithms
        for (series, share), value in zip(SERIES.items(), own.loc[algorithm, list(SERIES)], strict=True)
    ]
    across = min(vl.ABREAST, len(conditions))
    views = [
        _robustness_panel(condition, algorithms, vl.panel_width(across), first=not place % across)
        for place, condition in enumerate(conditions)
    ]
    caption = f"Changed: disparities that differ by more than {threshold:g} px. Pixels: {pixels}. 0 is full robustness."
    title = "Change of the maps when only lighting or time changes"
    return Chart(title, caption, rows, vl.panels(views, across), "share")


def _robustness_panel(condition: str, algorithms: Sequence[str], width: float, *, first: bool) -> Spec:
    """The bars of one condition with their values; a dash where there is none."""
    place = {
        "y": vl.names("algorithm", algorithms, axis={} if first else {"labels": False, "ticks": False}),
        "yOffset": vl.names("share", list(SERIES.values())),
    }
    colours = {share: OKABE_ITO[index] for index, share in enumerate(SERIES.values())}
    bars: Spec = {**place, "x": vl.quantity("value", "%"), "color": vl.scaled("share", colours, vl.PAGE)}
    bars["tooltip"] = vl.hover("algorithm", "share", ("value", "%", ".3g"))
    text = {**place, "x": vl.quantity("end"), "text": {"field": "text"}}
    labels = {
        "text": "isValid(datum.value) ? format(datum.value, '.3~g') : '–'",
        "end": "isValid(datum.value) ? datum.value : 0",
    }
    height = 2.2 * vl.ROW * len(algorithms)
    return vl.layered(
        vl.layer("bar", bars),
        vl.layer("text", text, calculate=labels, align="left", dx=3, fontSize=8),
        width=width,
        height=height,
        where=vl.equal("condition", condition),
        title=vl.heading(condition),
    )
