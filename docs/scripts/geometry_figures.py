"""Draws the figures of docs/geometry.md and writes its tables to standard output.

Run as `STEREOGAUGE_DATA=folder python docs/scripts/geometry_figures.py`; the folder holds middlebury-2014 and
middlebury-v2 with their results.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from small_images import save_small

from stereogauge.datasets import load_dataset
from stereogauge.evaluation.evaluate import evaluate
from stereogauge.figures.geometry import direction_histograms_data, plane_segmentation_data, set_pictures
from stereogauge.figures.pictures import SMALL, WIDTH, LegendEntry, captioned_figure, render, render_disparity
from stereogauge.io.files import DisparityFile, load_disparity
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.matching.run import match
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.registry import parse_metric
from stereogauge.model import Dataset
from stereogauge.protocol import load_protocol
from stereogauge.scores.table import ScoreTable

IMAGES = Path(__file__).resolve().parents[1] / "images"
DATA = Path(os.environ.get("STEREOGAUGE_DATA", "."))
NINE = ("d-fat", "d-thin", "d-fuz-rel", "p-bump", "p-off", "p-mis", "f-por", "f-frag", "f-fat")
COLUMNS = ("rms", "bad@2", "invalid", *NINE, "f-missing")
MATCHERS = {"OpenCV SGBM": "opencv-sgbm", "OpenCV BM": "opencv-bm"}
PAIR = ("S06", "S07")
PROTOCOL = load_protocol("hci").replace(left_out=[])  # the pairs with other exposure and lighting too


def say(text: str = "") -> None:
    """One line of the page's tables."""
    sys.stdout.write(text + "\n")


def real_maps(data: Dataset) -> dict[str, dict[str, Any]]:
    """OpenCV's matchers run here, and the semi-dense maps that came with the data."""
    maps: dict[str, dict[str, Any]] = {name: {} for name in (*MATCHERS, "semi-dense")}
    for scene in data:
        ndisp = scene.calibration.ndisp or 64
        for name, matcher in MATCHERS.items():
            maps[name][scene.id] = match(scene.left, scene.right, matcher=matcher, ndisp=ndisp).disparity
        path = DATA / f"middlebury-2014/results/semidense-8bit/{scene.id}.png"
        maps["semi-dense"][scene.id] = DisparityFile(path, "middlebury", 255 / (16 * -(-ndisp // 16)))
    return maps


def heading(columns: Sequence[str], first: str) -> None:
    """The head of a Markdown table."""
    say(f"| {first} | " + " | ".join(f"`{name}`" for name in columns) + " |")
    say("|---|" + "---:|" * len(columns))


def cell(value: float) -> str:
    """Three significant digits; a dash where nothing was measured."""
    return f"{value:.3g}" if np.isfinite(value) else "–"


def tables(table: ScoreTable, floors: Mapping[str, Sequence[float]]) -> None:
    """Mean over the scenes that have a value, then one scene a row."""
    values = {(s.algorithm, s.scene, s.metric): s.value for s in table}
    heading(COLUMNS, "mean of eight scenes")
    for algorithm in table.algorithms:
        found = [[values[algorithm, scene, m] for scene in table.scenes] for m in COLUMNS]
        say(f"| {algorithm} | " + " | ".join(cell(float(np.nanmean(row))) for row in found) + " |")
    for algorithm in table.algorithms:
        say()
        heading(COLUMNS, algorithm)
        for scene in table.scenes:
            say(f"| {scene} | " + " | ".join(cell(values[algorithm, scene, m]) for m in COLUMNS) + " |")
    say()
    heading(("p-bump", "p-off", "p-mis"), "ground truth itself")
    for scene, floor in floors.items():
        say(f"| {scene} | " + " | ".join(cell(value) for value in floor) + " |")
    say()


def show(axes: Axes, colours: np.ndarray, title: str) -> None:
    """Finished colours without axes."""
    axes.imshow(colours, interpolation="nearest")
    axes.set_title(title, fontsize=SMALL, loc="left")
    axes.set_axis_off()


def legend_of(pictures: Sequence[Picture]) -> list[LegendEntry]:
    """One entry for each named colour."""
    named = {text: colour for picture in pictures for text, colour in picture.legend.values()}
    return [LegendEntry(text, colour) for text, colour in named.items()]


def sets_figure(scene_regions: SceneRegions) -> Figure:
    """Bands, extrapolated maps and fine structures of one scene."""
    pictures = set_pictures(scene_regions)
    names = ("discontinuities", "extrapolated-background", "fine-structures", "extrapolated-foreground")
    height, width = scene_regions.scene.shape
    figure = captioned_figure(
        WIDTH,
        WIDTH * height / width + 0.3,
        f"Pixel sets of {scene_regions.scene.id}",
        "Extrapolated maps: the disparity from beyond the edge, drawn into the band on this side.",
        legend_of([pictures[name] for name in names]),
    )
    for axes, name in zip(figure.subplots(2, 2).ravel(), names, strict=True):
        show(axes, render(pictures[name]), pictures[name].title)
    return figure


def metrics_figure(measurement: Measurement, algorithm: str) -> Figure:
    """The pictures of all nine metrics of one estimate."""
    pictures = [parse_metric(name).picture(measurement) for name in NINE]
    scores = [parse_metric(name).value(measurement, "") for name in NINE]
    height, width = measurement.scene.shape
    figure = captioned_figure(
        WIDTH,
        WIDTH * height / width + 0.5,
        f"{algorithm} on {measurement.scene.id}: nine metrics, each with its pixels",
        "Heat from dark (0) to bright; offset from blue (behind the plane) to red (in front). Hatched: no estimate.",
        legend_of(pictures),
    )
    for axes, name, picture, score in zip(figure.subplots(3, 3).ravel(), NINE, pictures, scores, strict=True):
        show(axes, render(picture), f"{name} {score:.3g} {picture.unit}")
    return figure


def pair_figure(scene_regions: SceneRegions, maps: Mapping[str, Any]) -> Figure:
    """Two real maps of equal RMS, side by side with what tells them apart."""
    scene = scene_regions.scene
    limits = (float(np.nanmin(scene.gt)), float(np.nanmax(scene.gt)))
    rows = (None, "d-fat", "f-frag", "p-bump")
    measurements = {name: Measurement(load_disparity(source), scene_regions) for name, source in maps.items()}
    pictures = {name: [parse_metric(m).picture(one) for m in rows if m] for name, one in measurements.items()}
    height, width = scene.shape
    figure = captioned_figure(
        WIDTH,
        2 * WIDTH * height / width + 0.6,
        f"Two maps of {scene.id} with the same RMS",
        "Published course-work results on Middlebury's Cones. Bumpiness from 0 (dark) to 0.5 px (bright).",
        legend_of([p for found in pictures.values() for p in found]),
    )
    grid = figure.subplots(len(rows), 2)
    for column, (name, measurement) in enumerate(measurements.items()):
        rms = parse_metric("rms").value(measurement, "nonocc")
        show(grid[0, column], render_disparity(measurement.estimate, limits), f"{name}: rms {rms:.3f} px")
        for row, metric in enumerate(rows[1:], 1):
            bound = parse_metric(str(metric))
            score = bound.value(measurement, "")
            show(grid[row, column], render(pictures[name][row - 1]), f"{bound.metric.name}: {metric} {score:.3f}")
    return figure


def pair() -> None:
    """The pair's figure and its table."""
    scene = load_dataset("middlebury-v2", DATA / "middlebury-v2")["cones"]
    maps = {name: DisparityFile(DATA / f"middlebury-v2/results/{name}/cones.png", "middlebury", 4.0) for name in PAIR}
    scene_regions = SceneRegions(scene, PROTOCOL)
    save_small(pair_figure(scene_regions, maps), IMAGES / "geometry-pair.png", dpi=110, colours=128)
    table = evaluate(maps, scene, ["rms", "bad@1", *NINE], ["nonocc"], PROTOCOL)
    columns = ("rms", "bad@1", *NINE)
    heading(columns, "Cones")
    for name in PAIR:
        say(f"| {name} | " + " | ".join(cell(table.value(metric, algorithm=name)) for metric in columns) + " |")


def main() -> None:
    """All tables and figures."""
    data = load_dataset("middlebury-v3", DATA / "middlebury-2014")
    maps = real_maps(data)
    table = evaluate(maps, data, list(COLUMNS), ["nonocc"], PROTOCOL)
    tables(table, {scene.id: SceneRegions(scene, PROTOCOL).geometry.plane_floors for scene in data})
    pair()
    motorcycle = SceneRegions(data["Motorcycle"], PROTOCOL)
    save_small(sets_figure(motorcycle), IMAGES / "geometry-sets.png", dpi=140, colours=128)
    planes = plane_segmentation_data(motorcycle)
    if planes is not None:
        save_small(planes, IMAGES / "geometry-planes.png", dpi=140)
    measurements = {name: Measurement(load_disparity(found["Motorcycle"]), motorcycle) for name, found in maps.items()}
    nine = metrics_figure(measurements["OpenCV SGBM"], "OpenCV SGBM")
    save_small(nine, IMAGES / "geometry-metrics.png", dpi=120, colours=128)
    save_small(direction_histograms_data(measurements), IMAGES / "geometry-directions.png", dpi=140)


if __name__ == "__main__":
    main()
