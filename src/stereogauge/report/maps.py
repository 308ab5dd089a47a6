"""Galleries for a report: the maps and scenes are read from where they lay when they were evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stereogauge.decision.origins import Origins
from stereogauge.errors import StereogaugeError
from stereogauge.figures.data.galleries import Colours, gallery_data, most_different_crop
from stereogauge.figures.pictures import disparity_limits, render, render_disparity
from stereogauge.io.files import load_disparity
from stereogauge.metrics.declaration import parse_metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.protocol import load_protocol
from stereogauge.regions.scene_regions import SceneRegions
from stereogauge.report.content import GalleryEntry
from stereogauge.report.page import narrowed
from stereogauge.scores.cube import ScoreCube

OF_THE_PAPER = ("d-fat", "d-thin", "f-frag", "f-por")
MOST_SCENES, MOST_METRICS, WIDEST = 2, 4, 720
CROPPED, WIDEST_WHOLE = 0.4, 300
"""The share of width and height that a gallery shows of an image wider than so many px."""


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
    """The crop in which the maps differ most, from the best to the worst; with the ranks by RMS on all pixels and on
    those of the metric.
    """
    found = origins.scene(scene)
    scene_regions = SceneRegions(found, load_protocol(origins.protocol))
    column = next(column for column in cube.columns if column.metric == metric)
    measurements = {
        name: Measurement(load_disparity(source), scene_regions)
        for name in cube.algorithms
        if (source := origins.source(name, scene)) is not None
    }
    if not measurements:
        raise StereogaugeError(f"none of {', '.join(cube.algorithms)} has a map of {scene}.")
    share = CROPPED if found.shape[1] > WIDEST_WHOLE else 1.0
    crop = most_different_crop([column.declared.costs(m, column.region) for m in measurements.values()], share)
    pictures: dict[str, tuple[Colours, ...]] = {}
    for name, m in measurements.items():
        limits = disparity_limits(found.gt if found.has("gt") else m.raw)
        shown = (render_disparity(m.raw, limits), render(column.declared.picture(m)))
        pictures[name] = tuple(narrowed(colours[crop.inside], WIDEST) for colours in shown)
    others = tuple(str(column) for column in cube.columns if column.metric == "rms")[:1]
    root_mean_square = parse_metric("rms")
    own = (
        {}
        if not found.has("gt")
        else {
            f"rms on {column.region}": {
                name: root_mean_square.value(m, column.region) for name, m in measurements.items()
            }
        }
    )
    data = gallery_data(cube, scene, str(column), pictures, ("disparity", metric), others, own, crop)
    return GalleryEntry(f"{scene}-{metric}".replace("/", "-").replace("@", "-"), data)
