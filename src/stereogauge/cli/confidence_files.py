"""What `stereogauge confidence` reads from files and writes into its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence.declaration import confidence_measures
from stereogauge.confidence.evaluation import SceneCurves, curve_rows, pooled_curves
from stereogauge.confidence.files import read_confidence
from stereogauge.confidence.run import PAPER_DOMAIN, SceneRun
from stereogauge.errors import FileError, SizeError
from stereogauge.figures import mpl
from stereogauge.figures.data.sparsification import Kind, confidence_picture, sparsification_data
from stereogauge.figures.pictures import save_picture
from stereogauge.io.disparity import read_disparity
from stereogauge.matching.result import MatchResult
from stereogauge.model import DisparityMap, Scene
from stereogauge.tables.table import of_records
from stereogauge.tables.text import csv_table

KINDS: tuple[Kind, ...] = ("counts", "rates", "normalised")
DIRECTIONS = {"higher": True, "lower": False}


class NamedMap(NamedTuple):
    """A confidence map from a file; {scene} in the path stands for the scene's id."""

    name: str
    path: str
    higher_is_better: bool

    def read(self, scene: str) -> NDArray[np.float32]:
        """The map of a scene, lower = more confident."""
        return read_confidence(_path_of(self.path, scene), higher_is_better=self.higher_is_better)


def named_map(text: str) -> NamedMap:
    """What NAME=FILE:higher means."""
    name, equals, rest = text.partition("=")
    path, colon, direction = rest.rpartition(":")
    if not equals or not colon or direction not in DIRECTIONS:
        raise FileError(f"A confidence map is written NAME=FILE:higher or NAME=FILE:lower; found {text!r}.")
    return NamedMap(name, path, DIRECTIONS[direction])


def file_run(
    scene: Scene,
    disparity: str,
    maps: Sequence[NamedMap],
    encoding: str | None,
    scale: float | None,
    threshold: float,
    domain: str,
) -> SceneRun:
    """A scene whose disparity and confidence maps come from files; {scene} in a path stands for the scene's id."""
    from stereogauge.regions.scene_regions import regions

    estimate = read_disparity(_path_of(disparity, scene.id), encoding=encoding, scale=scale)
    found = {one.name: one.read(scene.id) for one in maps}
    _check_size("disparity map", estimate, scene)
    for name, values in found.items():
        _check_size(f"confidence map {name!r}", values, scene)
    if domain == PAPER_DOMAIN:
        domain = "nonocc" if "nonocc" in scene.masks else "all"
    return SceneRun(
        scene=scene.id,
        result=_found(disparity, estimate),
        gt=scene.gt,
        domain=regions(scene, [domain])[domain],
        maps=found,
        features={},
        threshold=threshold,
    )


def _path_of(template: str, scene: str) -> str:
    return template.replace("{scene}", scene)


def _check_size(what: str, values: NDArray[Any], scene: Scene) -> None:
    if values.shape != scene.shape:
        raise SizeError(
            f"The {what} of scene {scene.id!r} is {values.shape[1]}×{values.shape[0]}, its ground truth "
            f"{scene.shape[1]}×{scene.shape[0]}; both must have one size."
        )


def _found(path: str, disparity: DisparityMap) -> MatchResult:
    blank = np.zeros(disparity.shape, np.uint8)
    largest = int(np.nan_to_num(disparity, nan=0.0).max()) + 1
    return MatchResult(_name(path), largest, {}, blank, blank, disparity, disparity, seconds=0.0, cpu_seconds=0.0)


def _name(path: str) -> str:
    """What the maps are called: their file, or the folder of a file for every scene."""
    file = Path(path)
    return file.stem if "{scene}" not in file.stem else file.parent.name or "maps"


def write_files(folder: Path, runs: Sequence[SceneRun], curves: Sequence[SceneCurves]) -> int:
    """The curves as CSV, sparsification figures of all scenes (and pooled), and a picture of every map.

    Returns how many files.
    """
    labels = {name: declared.label for name, declared in confidence_measures().items()}
    formulas = {name: declared.formula for name, declared in confidence_measures().items()}
    shown = [*curves, pooled_curves(curves)] if len(curves) > 1 else list(curves)
    threshold = runs[0].threshold
    caption = (
        f"Matcher {runs[0].result.matcher}; bad = error above {threshold:g} px; the grey bar marks the share of good "
        "pixels; ties in expectation."
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "curves.csv").write_text(csv_table(of_records("curves", curve_rows(shown))), encoding="utf-8")
    count = 1
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
