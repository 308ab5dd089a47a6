"""Galleries for a report: the maps and scenes are read from where they lay when they were evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stereogauge.decision.origins import Origins
from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.evaluate import picture
from stereogauge.figures.data.galleries import Colours, gallery_data
from stereogauge.figures.pictures import render, render_disparity
from stereogauge.io.files import load_disparity
from stereogauge.report.content import GalleryEntry
from stereogauge.report.page import narrowed
from stereogauge.scores.cube import ScoreCube

OF_THE_PAPER = ("d-fat", "d-thin", "f-frag", "f-por")
MOST_SCENES, MOST_METRICS, WIDEST = 2, 4, 720


def galleries(
    cube: ScoreCube,
    origins: Origins,
    metrics: Sequence[str] = (),
    scenes: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> tuple[list[GalleryEntry], list[str]]:
    """One gallery per scene and metric, and the reasons for those that could not be made.

    Without a choice: two scenes, and the four metrics of the supplement's galleries where they have scores, else the
    first ones.
    """
    entries: list[GalleryEntry] = []
    reasons: list[str] = []
    for scene in scenes or cube.scenes[:MOST_SCENES]:
        for metric in metrics or _metrics(cube, scene):
            if progress is not None:
                progress(f"{scene}: {metric}")
            try:
                entries.append(_gallery(cube, origins, scene, metric))
            except (StereogaugeError, OSError) as reason:
                reasons.append(f"Gallery of {scene} by {metric}: {reason}")
    return entries, reasons


def _metrics(cube: ScoreCube, scene: str) -> list[str]:
    """Metrics with a picture and at least one score on the scene; those of the paper first."""
    scene_index = cube.scenes.index(scene)
    scored = [
        column
        for index, column in enumerate(cube.columns)
        if np.isfinite(cube.values[:, scene_index, index]).any() and column.declared.metric.picture is not None
    ]
    names = list(dict.fromkeys(column.metric for column in scored))
    paper = [name for name in OF_THE_PAPER if name in names]
    return (paper or names)[:MOST_METRICS]


def _gallery(cube: ScoreCube, origins: Origins, scene: str, metric: str) -> GalleryEntry:
    found = origins.scene(scene)
    columns = [str(column) for column in cube.columns if column.metric == metric]
    truth = found.gt
    known = truth[np.isfinite(truth)] if truth is not None else np.empty(0)
    pictures: dict[str, tuple[Colours, ...]] = {}
    for algorithm in cube.algorithms:
        source = origins.source(algorithm, scene)
        if source is None:
            continue
        estimate = load_disparity(source)
        limits = (float(known.min()), float(known.max())) if known.size else (0.0, float(np.nanmax(estimate)))
        shown = picture(estimate, found, metric, origins.protocol)
        pictures[algorithm] = (narrowed(render_disparity(estimate, limits), WIDEST), narrowed(render(shown), WIDEST))
    others = tuple(str(column) for column in cube.columns if column.metric == "rms")[:2]
    data = gallery_data(cube, scene, columns[0], pictures, ("disparity", metric), others)
    return GalleryEntry(f"{scene}-{metric}".replace("/", "-").replace("@", "-"), data)
