"""What sparsification figures show, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures.error_curves import AnyCurve
from stereogauge.confidence_measures.evaluation import SceneCurves
from stereogauge.confidence_measures.sparsification import ErrorKind, SparsificationCurve
from stereogauge.figures.palette import colour
from stereogauge.metrics.picture import Picture

Kind = Literal["counts", "rates", "normalised"]
Values = NDArray[np.float64]
Y_LABELS: Mapping[Kind, str] = {
    "counts": "remaining bad pixels",
    "rates": "bad pixels among the kept, %",
    "normalised": "rate relative to full density",
}
POINTS = 201
BOUND = "s(φ): kept by every measure"


class Line(NamedTuple):
    """One curve: values over densities (0 … 1), with its colour and dash."""

    label: str
    densities: Values
    values: Values
    colour: str
    dash: Literal["solid", "dashed", "dotted", "dashdot"]


class SparsificationPanel(NamedTuple):
    """The curves of one scene; `good_share` is where a perfect order has no bad pixel left, None for magnitudes.

    `top` is where the value axis ends: rates of very few pixels may lie far above.
    """

    title: str
    lines: tuple[Line, ...]
    good_share: float | None
    top: float


class SparsificationPlots(NamedTuple):
    """Panels side by side, `columns` in a row."""

    title: str
    caption: str
    kind: Kind | str
    y_label: str
    panels: tuple[SparsificationPanel, ...]
    columns: int


def sparsification_data(
    scenes: Sequence[SceneCurves],
    kind: Kind = "counts",
    *,
    labels: Mapping[str, str] | None = None,
    title: str = "Sparsification",
    caption: str = "",
    columns: int = 3,
) -> SparsificationPlots:
    """Curves of every measure in every scene with the oracle Δ and the random line.

    For counts also s(φ): the bad pixels that every measure would keep at φ.
    """
    names = tuple(dict.fromkeys(name for scene in scenes for name in scene.curves))
    colours = {name: colour(index) for index, name in enumerate(names)}
    shown = {name: (labels or {}).get(name, name) for name in names}
    panels = tuple(_panel(scene, kind, shown, colours) for scene in scenes)
    return SparsificationPlots(title, caption, kind, Y_LABELS[kind], panels, max(1, min(columns, len(panels))))


def error_data(
    scenes: Mapping[str, Mapping[str, AnyCurve]],
    kind: ErrorKind,
    *,
    labels: Mapping[str, str] | None = None,
    caption: str = "",
    columns: int = 3,
) -> SparsificationPlots:
    """The error of what remains by scene and measure, with the oracle and the random line; shares are in per cent."""
    names = tuple(dict.fromkeys(name for curves in scenes.values() for name in curves))
    densities = np.linspace(0, 1, POINTS)[1:]
    factor = 1.0 if kind.magnitude else 100.0
    panels = []
    for scene, curves in scenes.items():
        lines = [
            Line((labels or {}).get(name, name), densities, factor * curve.rates(densities), colour(index), "solid")
            for index, name in enumerate(names)
            if (curve := curves.get(name)) is not None
        ]
        first = next(iter(curves.values()))
        full = factor * float(first.rates([1.0])[0])
        lines.append(Line("oracle Δ", densities, factor * first.oracle.rates(densities), "#6b6b6b", "dashdot"))
        lines.append(Line("random", densities, np.full(len(densities), full), "#b0b0b0", "dotted"))
        title = f"{scene}: {full:.3g} at full density"
        panels.append(SparsificationPanel(title, tuple(lines), None, 1.3 * full or 1.0))
    unit = f"{kind} of what remains, {'px' if kind.magnitude else '%'}"
    return SparsificationPlots(
        f"Sparsification by {kind}", caption, str(kind), unit, tuple(panels), max(1, min(columns, len(panels)))
    )


def confidence_picture(
    label: str, values: NDArray[np.floating[Any]], domain: NDArray[np.bool_] | None = None, formula: str = ""
) -> Picture:
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
        unknown=None if domain is None else ~domain,
    )


def _panel(
    scene: SceneCurves, kind: Kind, labels: Mapping[str, str], colours: Mapping[str, str]
) -> SparsificationPanel:
    densities = np.linspace(0, 1, POINTS)
    first = next(iter(scene.curves.values()))
    lines = [
        Line(labels[name], densities, _values(curve, densities, kind), colours[name], "solid")
        for name, curve in scene.curves.items()
    ]
    lines.append(Line("oracle Δ", densities, _values(first.oracle, densities, kind), "#6b6b6b", "dashdot"))
    lines.append(Line("random", densities, _values(first.random, densities, kind), "#b0b0b0", "dotted"))
    if scene.bound is not None and kind == "counts":
        lines.append(Line(BOUND, densities, scene.bound.counts(densities), "#1a1a1a", "dashed"))
    rate = 100 * first.bad_pixels / first.pixels
    title = f"{scene.scene}: {first.bad_pixels} bad ({rate:.1f} %)"
    full = float(lines[0].values[-1])
    return SparsificationPanel(title, tuple(lines), first.good_share, full * (1.05 if kind == "counts" else 1.3) or 1.0)


def _values(curve: SparsificationCurve, densities: Values, kind: Kind) -> Values:
    if kind == "counts":
        return curve.counts(densities)
    rates = curve.rates(densities)
    if kind == "rates":
        return 100 * rates
    return rates / rates[-1] if rates[-1] > 0 else rates
