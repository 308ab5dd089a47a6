"""Two maps of a scene against each other, and all maps together: who is right where."""

from __future__ import annotations

import contextlib

import numpy as np

from stereogauge.decision.pixels import Contrast, contrast, wrong_pixels
from stereogauge.errors import FileError, StereogaugeError
from stereogauge.metrics.picture import Picture
from stereogauge.web.answer import Answer
from stereogauge.web.scenes.reader import SceneQuery, SceneReader, SceneView

MOST_CROPS = 6
MOST_MAPS = 80


class CropAnswer(Answer):
    """A square, the shares of its counted pixels where each of the two is wrong, and what it adds to the difference."""

    x: int
    y: int
    size: int
    first_wrong: float
    second_wrong: float
    gain: float


class ContrastAnswer(Answer):
    """Who is right where; `shares` are both right, only the first, only the second, both wrong."""

    scene: str
    first: str
    second: str
    column: str
    text: str
    shares: list[float]
    crops: list[CropAnswer]


def contrasted(scenes: SceneReader, view: SceneView, first: str, second: str, column: str) -> Contrast:
    """Two algorithms' maps of a scene under one column."""
    scenes.refuse_hidden(view, "where algorithms differ is")
    record = scenes.source.protocol(view.protocol)
    maps = {name: scenes.estimate(name, view) for name in (first, second)}
    with view.lock:
        return contrast(view.scene, maps, column, record.protocol, crops=MOST_CROPS)


def contrast_answer(scenes: SceneReader, query: SceneQuery, first: str, second: str, column: str) -> ContrastAnswer:
    """The shares and the crops in which two algorithms differ most, the largest difference first."""
    found = contrasted(scenes, scenes.view(query), first, second, column)
    crops = [
        CropAnswer(
            x=crop.left,
            y=crop.top,
            size=crop.side,
            first_wrong=crop.first_wrong,
            second_wrong=crop.second_wrong,
            gain=crop.gain,
        )
        for crop in found.crops
    ]
    return ContrastAnswer(
        scene=query.name,
        first=first,
        second=second,
        column=column,
        text=found.shares_text,
        shares=list(found.shares),
        crops=crops,
    )


def hardness(scenes: SceneReader, view: SceneView, column: str) -> Picture:
    """The share of algorithms that are wrong, per pixel: a hard image, or a bad matcher."""
    scenes.refuse_hidden(view, "where algorithms fail is")
    wrong = np.zeros(view.scene.shape, np.float32)
    counted, maps = np.ones(view.scene.shape, np.bool_), 0
    for record in scenes.source.algorithms()[:MOST_MAPS]:
        with contextlib.suppress(FileError, StereogaugeError):
            found, counted = wrong_pixels(scenes.measurement(view, record.name, column.partition(":")[0]), column)
            wrong += found
            maps += 1
    if not maps:
        raise StereogaugeError(f"No map of {view.name} is at hand, or {column} does not call single pixels wrong.")
    share = np.where(counted, 100 * wrong / maps, np.nan).astype(np.float32)
    title = f"share of {maps} algorithms that are wrong, {column}"
    return Picture(title, share, "sequential", "%", (0.0, 100.0), unknown=~view.regions.known)
