"""What `stereogauge confidence` reads from files and writes into its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.confidence.declaration import confidence_measures
from stereogauge.confidence.evaluation import SceneCurves, pooled_curves
from stereogauge.confidence.files import read_confidence
from stereogauge.confidence.run import PAPER_DOMAIN, SceneRun
from stereogauge.errors import FileError
from stereogauge.figures import mpl
from stereogauge.figures.pictures import save_picture
from stereogauge.figures.sparsification import Kind, confidence_picture, sparsification_data
from stereogauge.io.disparity import read_disparity
from stereogauge.matching.result import MatchResult
from stereogauge.model import DisparityMap, Scene

KINDS: tuple[Kind, ...] = ("counts", "rates", "normalised")
DIRECTIONS = {"higher": True, "lower": False}


def file_run(
    scene: Scene,
    disparity: str,
    maps: Sequence[str],
    encoding: str | None,
    scale: float | None,
    threshold: float,
    domain: str,
) -> SceneRun:
    """A scene whose disparity and confidence maps come from files; {scene} in a path stands for the scene's id."""
    estimate = read_disparity(disparity.format(scene=scene.id), encoding=encoding, scale=scale)
    if domain == PAPER_DOMAIN:
        domain = "nonocc" if "nonocc" in scene.masks else "all"
    from stereogauge.regions.criteria import regions

    return SceneRun(
        scene=scene.id,
        result=_found(disparity, estimate),
        gt=scene.gt,
        domain=regions(scene, [domain])[domain],
        maps=dict(_named_map(text, scene.id) for text in maps),
        features={},
        threshold=threshold,
    )


def _named_map(text: str, scene: str) -> tuple[str, Any]:
    name, equals, rest = text.partition("=")
    path, colon, direction = rest.rpartition(":")
    if not equals or not colon or direction not in DIRECTIONS:
        raise FileError(f"A confidence map is written NAME=FILE:higher or NAME=FILE:lower; found {text!r}.")
    return name, read_confidence(path.format(scene=scene), higher_is_better=DIRECTIONS[direction])


def _found(path: str, disparity: DisparityMap) -> MatchResult:
    blank = np.zeros(disparity.shape, np.uint8)
    largest = int(np.nan_to_num(disparity, nan=0.0).max()) + 1
    return MatchResult(Path(path).stem, largest, {}, blank, blank, disparity, disparity, seconds=0.0, cpu_seconds=0.0)


def write_files(folder: Path, runs: Sequence[SceneRun], curves: Sequence[SceneCurves]) -> int:
    """Sparsification figures of all scenes (and pooled), and a picture of every map; returns how many files."""
    labels = {name: declared.label for name, declared in confidence_measures().items()}
    formulas = {name: declared.formula for name, declared in confidence_measures().items()}
    shown = [*curves, pooled_curves(curves)] if len(curves) > 1 else list(curves)
    threshold = runs[0].threshold
    caption = (
        f"Matcher {runs[0].result.matcher}; bad = error above {threshold:g} px; the grey bar marks the share of good "
        "pixels; ties in expectation."
    )
    count = 0
    for kind in KINDS:
        data = sparsification_data(shown, kind, labels=labels, caption=caption, title=f"Sparsification, {kind}")
        for suffix in ("png", "svg"):
            mpl.save(mpl.draw(data), folder / f"sparsification-{kind}.{suffix}")
            count += 1
    for run in runs:
        for name, values in run.maps.items():
            picture = confidence_picture(labels.get(name, name), values, None, formulas.get(name, ""))
            save_picture(folder / run.scene / f"{name}.png", picture, subtitle=run.scene)
            count += 1
    return count
