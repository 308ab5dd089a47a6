"""Galleries for a report: the maps and scenes are read from where they lay when they were evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.stored_maps import Origins
from stereogauge.figures.galleries import Card, gallery_data, most_different_crop
from stereogauge.figures.pictures import (
    COLOUR_MAPS,
    MISSING,
    Colours,
    Crop,
    LegendEntry,
    disparity_limits,
    image_colours,
    legend_entries,
    narrowed,
    picture_limits,
    render,
    render_disparity,
    scale_entries,
)
from stereogauge.io.files import load_disparity
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.registry import parse_metric
from stereogauge.model import Scene
from stereogauge.protocol import load_protocol
from stereogauge.ranking.profile import property_of
from stereogauge.report.content import FigureEntry
from stereogauge.scores.cube import ScoreCube

OF_THE_PAPER = ("d-fat", "f-por", "d-thin", "f-frag")
MOST_SCENES, WIDEST = 2, 720
CROPPED, WIDEST_WHOLE = 0.4, 300
"""The share of width and height that a gallery shows of an image wider than this, in px."""


def galleries(
    cube: ScoreCube,
    origins: Origins,
    metrics: Sequence[str] = (),
    scenes: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> tuple[list[FigureEntry], list[str]]:
    """One gallery per scene and metric, and the reasons for those that could not be made.

    Without a choice: two scenes, and one metric for each property (accuracy, discontinuities, planes, fine structures)
    that has scores.
    """
    entries: list[FigureEntry] = []
    reasons: list[str] = []
    for scene, shown in chosen_galleries(cube, metrics, scenes).items():
        measured: dict[str, Measurement] = {}
        for metric in shown:
            if progress is not None:
                progress(f"{scene}: {metric}")
            try:
                measured = measured or _measurements(cube, origins, scene)
                entries.append(_gallery(cube, measured, scene, metric))
            except (StereogaugeError, OSError) as reason:
                reasons.append(f"Gallery of {scene} by {metric}: {reason}")
    return entries, reasons


def chosen_galleries(cube: ScoreCube, metrics: Sequence[str] = (), scenes: Sequence[str] = ()) -> dict[str, list[str]]:
    """The metrics of the galleries of each scene."""
    return {scene: list(metrics or _metrics(cube, scene)) for scene in scenes or cube.scenes[:MOST_SCENES]}


def _measurements(cube: ScoreCube, origins: Origins, scene: str) -> dict[str, Measurement]:
    """The maps of a scene by algorithm, read once for all its galleries."""
    scene_regions = SceneRegions(origins.scene(scene), load_protocol(origins.protocol))
    found = {
        name: Measurement(load_disparity(source), scene_regions)
        for name in cube.algorithms
        if (source := origins.source(name, scene)) is not None
    }
    if not found:
        raise StereogaugeError(f"none of {', '.join(cube.algorithms)} has a map of {scene}.")
    return found


def _metrics(cube: ScoreCube, scene: str) -> list[str]:
    """One metric per property, with a picture and at least one score on the scene; those of the paper preferred."""
    scene_index = cube.scenes.index(scene)
    scored = [
        column
        for index, column in enumerate(cube.columns)
        if np.isfinite(cube.values[:, scene_index, index]).any() and column.declared.metric.has_picture
    ]
    names = list(dict.fromkeys(column.metric for column in scored))
    paper = [name for name in OF_THE_PAPER if name in names]
    chosen: dict[str, str] = {}
    for name in (*paper, *names):
        chosen.setdefault(property_of(name), name)
    return [name for name in names if name in chosen.values()]


def _gallery(cube: ScoreCube, measurements: Mapping[str, Measurement], scene: str, metric: str) -> FigureEntry:
    """The crop in which the maps differ most, from the best to the worst; with the ranks by RMS on all pixels and on
    those of the metric.
    """
    found = next(iter(measurements.values())).scene
    column = next(column for column in cube.columns if column.metric == metric)
    share = CROPPED if found.shape[1] > WIDEST_WHOLE else 1.0
    crop = most_different_crop([column.declared.costs(m, column.region) for m in measurements.values()], share)
    limits = disparity_limits(found.gt if found.has("gt") else np.stack([m.raw for m in measurements.values()]))
    seen = _on_one_scale({name: column.declared.picture(m) for name, m in measurements.items()})
    pictures: dict[str, tuple[Colours, ...]] = {
        name: _cut((render_disparity(m.raw, limits), render(seen[name])), crop) for name, m in measurements.items()
    }
    others = tuple(str(column) for column in cube.columns if column.metric == "rms")[:1]
    own = {}
    if found.has("gt") and f"rms:{column.region}" not in others:
        root_mean_square = parse_metric("rms")
        own[f"rms:{column.region}"] = {
            name: root_mean_square.value(m, column.region) for name, m in measurements.items()
        }
    missing = [m.raw for m in measurements.values() if np.isnan(m.raw[crop.inside]).any()]
    legend = [*scale_entries("disparity", "disparity", limits, "px"), *_legend(list(seen.values()), bool(missing))]
    kinds, reference = ("disparity", metric), _reference(found, limits, crop)
    data = gallery_data(cube, scene, str(column), pictures, kinds, others, own, crop, reference, legend)
    return FigureEntry(f"{scene}-{metric}".replace("/", "-").replace("@", "-"), data)


def _cut(pictures: Sequence[Colours], crop: Crop) -> tuple[Colours, ...]:
    return tuple(narrowed(colours[crop.inside], WIDEST) for colours in pictures)


def _on_one_scale(pictures: dict[str, Picture]) -> dict[str, Picture]:
    """The pictures with the same limits, so that a colour means the same for every algorithm."""
    limits = [picture_limits(one) for one in pictures.values() if one.kind in COLOUR_MAPS]
    if not limits:
        return pictures
    common = min(low for low, _ in limits), max(high for _, high in limits)
    return {name: replace(one, limits=common) for name, one in pictures.items()}


def _legend(pictures: Sequence[Picture], missing: bool) -> list[LegendEntry]:
    """What the colours of a metric's pictures mean, each once."""
    first = pictures[0]
    scale = (
        scale_entries(first.title, first.kind, picture_limits(first), first.unit) if first.kind in COLOUR_MAPS else []
    )
    named = [entry for picture in pictures for entry in legend_entries(picture)]
    return list(dict.fromkeys([*scale, *named, *([MISSING] if missing else [])]))


def _reference(scene: Scene, limits: tuple[float, float], crop: Crop) -> Card:
    """The ground truth above and the left image below, white where the scene has none, under a heading that says so."""
    blank = np.full((*scene.shape, 3), 255, np.uint8)
    truth, left = scene.has("gt"), scene.has("left")
    shown = (render_disparity(scene.gt, limits) if truth else blank, image_colours(scene.left) if left else blank)
    names = [*(["above: ground truth"] if truth else []), *(["below: left image"] if left else [])]
    return "\n".join(names), _cut(shown, crop)
