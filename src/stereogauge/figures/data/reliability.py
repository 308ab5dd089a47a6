"""Reliability diagrams: what a confidence map predicts against what is observed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from stereogauge.confidence_measures.calibration import Reliability
from stereogauge.figures.palette import colour

LABELS = {
    "intervals": ("probability of the interval, %", "true disparities in it, %"),
    "probability": ("predicted probability of a good pixel, %", "good pixels, %"),
}


class ReliabilityLine(NamedTuple):
    """One map on one scene; shares from 0 to 1."""

    label: str
    predicted: tuple[float, ...]
    observed: tuple[float, ...]
    colour: str
    dash: Literal["solid", "dashed"]


class ReliabilityPanel(NamedTuple):
    """All maps of one kind; the diagonal is perfect calibration."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[ReliabilityLine, ...]


class ReliabilityDiagram(NamedTuple):
    """Panels side by side."""

    title: str
    caption: str
    panels: tuple[ReliabilityPanel, ...]


def reliability_data(
    found: Sequence[tuple[str, str, Reliability]], *, title: str = "Reliability", caption: str = ""
) -> ReliabilityDiagram:
    """The diagram of (scene, map, reliability): a panel for intervals and one for probabilities, as there are some."""
    panels = []
    for kind, (x_label, y_label) in LABELS.items():
        chosen = [entry for entry in found if entry[2].kind == kind]
        lines = tuple(
            ReliabilityLine(
                f"{name}, {scene}{'' if one.distribution is None else ', ' + one.distribution} (ECE {one.ece:.3f})",
                one.predicted,
                one.observed,
                colour(index),
                "dashed" if one.distribution == "laplace" else "solid",
            )
            for index, (scene, name, one) in enumerate(chosen)
        )
        if lines:
            panels.append(ReliabilityPanel(f"Calibration of {kind}", x_label, y_label, lines))
    return ReliabilityDiagram(title, caption, tuple(panels))


def reliability_rows(found: Sequence[tuple[str, str, Reliability]]) -> list[dict[str, Any]]:
    """The points behind the diagram."""
    return [
        {
            "scene": scene,
            "map": name,
            "kind": one.kind,
            "distribution": one.distribution or "",
            "predicted": predicted,
            "observed": observed,
            "pixels": pixels,
        }
        for scene, name, one in found
        for predicted, observed, pixels in zip(one.predicted, one.observed, one.pixels, strict=True)
    ]
