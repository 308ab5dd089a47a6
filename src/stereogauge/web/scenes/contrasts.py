"""Two maps of a scene against each other, and all maps together: who is right where."""

from __future__ import annotations

import contextlib

import numpy as np

from stereogauge.decision.pixels import Contrast, contrast, wrong_pixels
from stereogauge.errors import FileError, StereogaugeError
from stereogauge.figures.decision import profile_line_data
from stereogauge.metrics.picture import Picture
from stereogauge.text import json_value
from stereogauge.web.responses import Plain, plain
from stereogauge.web.scenes.reader import SceneQuery, SceneReader, SceneView

MOST_CROPS = 6
MOST_MAPS = 80


def contrasted(scenes: SceneReader, view: SceneView, first: str, second: str, column: str) -> Contrast:
    """Two algorithms' maps of a scene under one column."""
    scenes.refuse_hidden(view, "where algorithms differ is")
    record = scenes.source.protocol(view.protocol)
    maps = {name: scenes.estimate(name, view) for name in (first, second)}
    colours = {name: style.colour for name, style in scenes.source.styles(maps).items() if name in maps}
    with view.lock:
        return contrast(view.scene, maps, column, record.protocol, crops=MOST_CROPS, colours=colours)


def contrast_answer(scenes: SceneReader, query: SceneQuery, first: str, second: str, column: str) -> Plain:
    """Who is right where: `shares` are both right, only the first, only the second, both wrong.

    `crops` are the squares in which the two differ most, the largest difference first; `line` shows a small shift.
    """
    found = contrasted(scenes, scenes.view(query), first, second, column)
    line = profile_line_data(found)
    return {
        "scene": query.name,
        "first": first,
        "second": second,
        "column": column,
        "text": found.shares_text,
        "shares": json_value(found.shares),
        "crops": [
            plain(crop, ("first_wrong", "second_wrong", "gain"), x=crop.left, y=crop.top, size=crop.side)
            for crop in found.crops
        ],
        "line": None if line is None else line.page_spec(),
    }


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
        raise StereogaugeError(f"No map of {view.name} is available, or {column} does not call single pixels wrong.")
    share = np.where(counted, 100 * wrong / maps, np.nan).astype(np.float32)
    title = f"share of {maps} algorithms that are wrong, {column}"
    return Picture(title, share, "sequential", "%", (0.0, 100.0), unknown=~view.regions.known)
