"""The figures of a study: its responses as the plain values that `stereogauge.figures` draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stereogauge.figures.data.study import ResponseCurve, ResponseCurves, ResponsePanel, SensitivityMap
from stereogauge.figures.palette import OKABE_ITO
from stereogauge.metrics.registry import parse_column
from stereogauge.study.damage import damage_called
from stereogauge.study.run import Study
from stereogauge.study.sensitivity import Sensitivity

COLOURED = 4
FAINTEST = 0.02  # of a panel's largest response: below that a curve is not worth a colour


def response_curves_data(study: Study, metrics: Sequence[str] | None = None) -> ResponseCurves:
    """The response curves of a study; in each panel the damages that move the metric most get a colour."""
    panels = tuple(_panel(study, metric) for metric in (study.metrics if metrics is None else metrics))
    caption = (
        f"Scene {study.scene}, protocol {study.protocol}. Strength relative to the largest step of each damage; "
        f"up to {COLOURED} damages that move a metric most are coloured, the others grey."
    )
    return ResponseCurves("Response of metrics to controlled damage", caption, panels)


def _panel(study: Study, metric: str) -> ResponsePanel:
    curves = {damage: study.curve(metric, damage) for damage in study.damages}
    reach = {damage: _reach([value for _, value in curve]) for damage, curve in curves.items()}
    ordered = sorted(reach, key=lambda damage: -reach[damage])
    limit = FAINTEST * max(reach.values(), default=0.0)
    colours = {d: OKABE_ITO[rank] for rank, d in enumerate(ordered[:COLOURED]) if reach[d] > limit}
    bound, _ = parse_column(metric)
    unit = bound.metric.unit
    return ResponsePanel(
        metric,
        f"{metric} [{unit}]" if unit else metric,
        tuple(
            _curve(damage, curve, ordered.index(damage), colours.get(damage, ""))
            for damage, curve in curves.items()
            if curve
        ),
    )


def _reach(values: Sequence[float]) -> float:
    """The largest change of a curve from its start; 0 for one without finite values."""
    finite = [value for value in values if np.isfinite(value)]
    return max(abs(value - finite[0]) for value in finite) if finite else 0.0


def _curve(damage: str, steps: Sequence[tuple[float, float]], rank: int, colour: str) -> ResponseCurve:
    strengths = tuple(strength for strength, _ in steps)
    relative = tuple(strength / strengths[-1] for strength in strengths)
    kind = damage_called(damage)
    return ResponseCurve(kind.name, relative, strengths, tuple(value for _, value in steps), kind.unit, rank, colour)


def sensitivity_data(found: Sensitivity, *, selective: bool = True, scene: str = "") -> SensitivityMap:
    """The sensitivity matrix: after both normalisations, or only with each metric's largest response = 1."""
    named_after = {damage_called(damage).metric: column for column, damage in enumerate(found.damages)}
    marked = tuple((row, named_after[metric]) for row, metric in enumerate(found.metrics) if metric in named_after)
    where = f"Scene {scene}. " if scene else ""
    how = (
        "Each metric in units of its largest response, then each damage in units of its total effect on these metrics."
        if selective
        else "Each metric in units of its largest response; every damage at its reference strength."
    )
    return SensitivityMap(
        title="Which metric reacts to which damage" if selective else "What every metric sees",
        caption=f"{where}{how} Frames: the damage that the metric is named after.",
        metrics=found.metrics,
        damages=tuple(damage_called(damage).name for damage in found.damages),
        values=found.selective if selective else found.scaled,
        marked=marked,
        unit="relative response",
    )
