"""The pictures behind a comparison: ground truth, estimates, and every metric's per-pixel map, as files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.errors import NotApplicable
from stereogauge.evaluation.evaluate import columns
from stereogauge.figures.pictures import render_disparity, save_picture, write_png
from stereogauge.io.files import load_disparity
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import DisparityMap, Scene
from stereogauge.protocol import Protocol
from stereogauge.regions.scene_regions import SceneRegions


def disparity_limits(truth: DisparityMap) -> tuple[float, float]:
    """The range in which all maps of a scene are drawn: that of its ground truth."""
    known = truth[np.isfinite(truth)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)


def file_name(text: str) -> str:
    """`text` as a file name that every system takes."""
    return re.sub(r"[^\w.@+-]+", "-", text).strip("-.") or "unnamed"


def write_pictures(folder: Path, maps: Mapping[str, Any], scene: Scene, protocol: Protocol) -> list[Path]:
    """One annotated picture per estimate and distinct metric map, and all disparity maps in one range."""
    limits = disparity_limits(scene.gt)
    scene_regions = SceneRegions(scene, protocol)
    metrics = list(dict.fromkeys(metric for metric, _ in columns(protocol.metrics, protocol.regions)))
    written = [folder / "ground-truth.png"]
    write_png(written[0], render_disparity(scene.gt, limits))
    for name, source in maps.items():
        estimate = load_disparity(source)
        written.append(folder / f"{file_name(name)}.png")
        write_png(written[-1], render_disparity(estimate, limits))
        measurement = Measurement(estimate, scene_regions, metrics=metrics)
        seen: set[str] = set()
        for metric in metrics:
            if metric.metric.picture is None:
                continue
            try:
                picture = metric.picture(measurement)
            except NotApplicable:
                continue
            if picture.title in seen:
                continue
            seen.add(picture.title)
            written.append(folder / f"{file_name(name)}-{file_name(metric.id)}.png")
            save_picture(written[-1], picture, f"{name} on {scene.id}")
    return written
