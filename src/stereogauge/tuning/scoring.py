"""One trial on one scene: match, measure, return numbers. Runs in this process, in worker processes or on a cluster."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, field
from typing import Any

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.evaluate import evaluate_cell
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.matching.declaration import Value
from stereogauge.matching.run import match
from stereogauge.model import Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.column import Column

KEPT_SCENES = 64
"""Scenes whose images, regions and geometry sets a process keeps for the next trials."""


@dataclass(frozen=True)
class PreparedScene:
    """A scene under a protocol, as all trials use it. `token` stands for its content."""

    token: str
    scene: Scene = field(compare=False, repr=False)
    protocol: Protocol = field(compare=False, repr=False)
    columns: tuple[Column, ...]
    ndisp: int


@dataclass(frozen=True)
class SceneTask:
    """Parameters to try on a scene."""

    scene: PreparedScene
    matcher: Any
    parameters: dict[str, Value]


@dataclass(frozen=True)
class SceneOutcome:
    """Scores in the order of the scene's columns, or the reason why there are none."""

    values: tuple[float, ...] = ()
    seconds: float = 0.0
    failure: str = ""


@functools.lru_cache(maxsize=KEPT_SCENES)
def _regions(prepared: PreparedScene) -> SceneRegions:
    return SceneRegions(prepared.scene, prepared.protocol)


def forget_scenes() -> None:
    """Free the scenes that this process kept."""
    _regions.cache_clear()


def score_scene(task: SceneTask) -> SceneOutcome:
    """Match and measure; a failure of the matcher is an outcome, not an exception."""
    started, failure = time.perf_counter(), ""
    values: tuple[float, ...] = ()
    try:
        values = _scores(task)
    except StereogaugeError as problem:
        failure = str(problem)
    except MemoryError:
        failure = "there was not enough memory"
    except Exception as problem:  # a matcher of the user's may raise anything
        failure = f"{type(problem).__name__}: {problem}"
    return SceneOutcome(values, time.perf_counter() - started, failure)


def _scores(task: SceneTask) -> tuple[float, ...]:
    prepared = task.scene
    scene_regions = _regions(prepared)
    scene = scene_regions.scene
    result = match(scene.left, scene.right, task.matcher, ndisp=prepared.ndisp, **task.parameters)
    scores = evaluate_cell(
        result.disparity,
        scene_regions,
        prepared.columns,
        algorithm="",
        right_estimate=result.right_disparity,
        extras={"seconds": result.seconds, "cpu_seconds": result.cpu_seconds},
    )
    return tuple(score.value for score in scores)
