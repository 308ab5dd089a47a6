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
from small_images import save_small

from stereogauge.datasets import load_dataset
from stereogauge.evaluation.evaluate import evaluate
from stereogauge.figures.geometry import direction_histograms_data, plane_segmentation_data, set_pictures
from stereogauge.figures.pictures import LegendEntry, PictureFigure, PicturePanel, render, render_disparity
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


def legend_of(pictures: Sequence[Picture]) -> list[LegendEntry]:
    """One entry for each named colour."""
    named = {text: colour for picture in pictures for text, colour in picture.legend.values()}
    return [LegendEntry(text, colour) for text, colour in named.items()]


def in_rows(panels: Sequence[PicturePanel], across: int) -> list[Sequence[PicturePanel]]:
    """Panels in rows of equal length."""
    return [panels[start : start + across] for start in range(0, len(panels), across)]


def _own_value(name: str, measurement: Measurement) -> float:
    """The score of a metric on the pixel set that it is bound to."""
    metric = parse_metric(name)
    return metric.value(measurement, str(metric.metric.region))


def sets_figure(scene_regions: SceneRegions) -> PictureFigure:
    """Bands, extrapolated maps and fine structures of one scene."""
    made = set_pictures(scene_regions)
    names = ("discontinuities", "extrapolated-background", "fine-structures", "extrapolated-foreground")
    pictures = [made[name] for name in names]
    return PictureFigure(
        f"Pixel sets of {scene_regions.scene.id}",
        "Extrapolated maps: the disparity from beyond the edge, drawn into the band on this side.",
        in_rows([PicturePanel(render(picture), picture.title) for picture in pictures], 2),
        legend_of(pictures),
    )


def metrics_figure(measurement: Measurement, algorithm: str) -> PictureFigure:
    """The pictures of all nine metrics of one estimate."""
    pictures = {name: parse_metric(name).picture(measurement) for name in NINE}
    panels = [
        PicturePanel(render(picture), f"{name} {_own_value(name, measurement):.3g} {picture.unit}")
        for name, picture in pictures.items()
    ]
    return PictureFigure(
        f"{algorithm} on {measurement.scene.id}: nine metrics, each with its pixels",
        "Heat from dark (0) to bright; offset from blue (behind the plane) to red (in front). Hatched: no estimate.",
        in_rows(panels, 3),
        legend_of(list(pictures.values())),
    )


def pair_figure(scene_regions: SceneRegions, maps: Mapping[str, Any]) -> PictureFigure:
    """Two real maps of equal RMS, side by side with the metrics that distinguish them."""
    scene = scene_regions.scene
    limits = (float(np.nanmin(scene.gt)), float(np.nanmax(scene.gt)))
    measurements = {name: Measurement(load_disparity(source), scene_regions) for name, source in maps.items()}
    rows = [
        [
            PicturePanel(
                render_disparity(one.estimate, limits), f"{name}: rms {parse_metric('rms').value(one, 'nonocc'):.3f} px"
            )
            for name, one in measurements.items()
        ]
    ]
    pictures: list[Picture] = []
    for metric in map(parse_metric, ("d-fat", "f-frag", "p-bump")):
        found = [metric.picture(one) for one in measurements.values()]
        scores = [_own_value(metric.id, one) for one in measurements.values()]
        rows.append(
            [
                PicturePanel(render(picture), f"{metric.metric.name}: {metric.id} {score:.3f}")
                for picture, score in zip(found, scores, strict=True)
            ]
        )
        pictures += found
    return PictureFigure(
        f"Two maps of {scene.id} with the same RMS",
        "Published course-work results on Middlebury's Cones. Bumpiness from 0 (dark) to 1.1 px (bright).",
        rows,
        legend_of(pictures),
    )


def pair() -> None:
    """The pair's figure and its table."""
    scene = load_dataset("middlebury-v2", DATA / "middlebury-v2")["cones"]
    maps = {name: DisparityFile(DATA / f"middlebury-v2/results/{name}/cones.png", "middlebury", 4.0) for name in PAIR}
    scene_regions = SceneRegions(scene, PROTOCOL)
    save_small(pair_figure(scene_regions, maps), IMAGES / "geometry-pair.png", 1.15, colours=128)
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
    save_small(sets_figure(motorcycle), IMAGES / "geometry-sets.png", 1.45, colours=128)
    planes = plane_segmentation_data(motorcycle)
    if planes is not None:
        save_small(planes, IMAGES / "geometry-planes.png", 1.45)
    measurements = {name: Measurement(load_disparity(found["Motorcycle"]), motorcycle) for name, found in maps.items()}
    nine = metrics_figure(measurements["OpenCV SGBM"], "OpenCV SGBM")
    save_small(nine, IMAGES / "geometry-metrics.png", 1.25, colours=128)
    save_small(direction_histograms_data(measurements), IMAGES / "geometry-directions.png", 1.45)


if __name__ == "__main__":
    main()
