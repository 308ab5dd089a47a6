"""What a worker is sent, cells of one scene, and what it does: it reads files and returns numbers, and never writes."""

from __future__ import annotations

import socket
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from stereogauge.confidence_measures.files import ConfidenceSource
from stereogauge.datasets.misplaced import Suspicion
from stereogauge.datasets.plausibility import calibration_doubt, lossy_doubt, suspicion
from stereogauge.errors import StereogaugeError, Unreachable
from stereogauge.evaluation.evaluate import evaluate_cell
from stereogauge.io.files import load_disparity
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Fact
from stereogauge.model import DisparityMap, DisparitySource, Scene
from stereogauge.protocol import Protocol
from stereogauge.registry import plugin_place
from stereogauge.scores.column import VersionedColumn
from stereogauge.scores.score import CellScores


@dataclass(frozen=True)
class PlannedCell:
    """One algorithm on one scene: where its map is, and the columns to compute."""

    algorithm: str
    estimate: Any
    columns: tuple[VersionedColumn, ...]
    inputs: int
    content: str
    right_estimate: Any = None
    confidence: ConfidenceSource | None = None
    extras: Mapping[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True)
class CellGroup:
    """Cells of one scene that are computed together, so that the scene's pixel sets are made once."""

    scene: Scene
    protocol: Protocol
    cells: tuple[PlannedCell, ...]
    resize: bool = False

    def split(self) -> list[CellGroup]:
        """Each cell on its own."""
        return [replace(self, cells=(cell,)) for cell in self.cells]


@dataclass(frozen=True)
class Trouble:
    """Why a cell could not be computed, by its index in the group."""

    index: int
    reason: str
    detail: str = ""


class Doubt(NamedTuple):
    """What makes a map or its scene look misread; `algorithm` is empty where the scene itself does."""

    scene: str
    algorithm: str
    kind: str
    sentence: str


@dataclass(frozen=True)
class GroupResult:
    """The cells that were computed, by index in the group, the others with their reasons, and doubts about inputs."""

    cells: tuple[tuple[int, CellScores], ...]
    troubles: tuple[Trouble, ...]
    seconds: float
    doubts: tuple[Doubt, ...] = ()


def evaluate_group(group: CellGroup) -> GroupResult:
    """Compute every cell of a group; one that fails does not keep the others from being computed.

    A server that does not answer fails for all of them, and raises `Unreachable`.
    """
    started = time.perf_counter()
    scene_regions = SceneRegions(group.scene, group.protocol)
    cells: list[tuple[int, CellScores]] = []
    troubles: list[Trouble] = []
    doubts = _doubts(group.scene.id, "", _calibration_doubt(group.scene))
    for index, cell in enumerate(group.cells):
        try:
            estimate = load_disparity(cell.estimate)
            cells.append((index, compute(cell, estimate, scene_regions, group.resize)))
            doubts += doubts_of_map(cell.algorithm, cell.estimate, estimate, group.scene)
        except Unreachable:
            raise
        except StereogaugeError as problem:
            troubles.append(Trouble(index, str(problem)))
        except MemoryError:
            troubles.append(Trouble(index, "there was not enough memory; use fewer workers (--jobs)"))
        except Exception as problem:  # a defect of one metric must not cost the cells of the others
            place = plugin_place(problem)
            reason = f"{place}: " if place else ""
            troubles.append(Trouble(index, f"{reason}{type(problem).__name__}: {problem}", traceback.format_exc()))
    group.scene.release()
    return GroupResult(tuple(cells), tuple(troubles), time.perf_counter() - started, tuple(doubts))


def _doubts(scene: str, algorithm: str, *found: Suspicion | None) -> list[Doubt]:
    return [Doubt(scene, algorithm, *suspected) for suspected in found if suspected is not None]


def _calibration_doubt(scene: Scene) -> Suspicion | None:
    try:
        return calibration_doubt(scene.calibration, scene.gt) if scene.has("gt") else None
    except Unreachable:
        raise
    except StereogaugeError:
        return None  # an unreadable ground truth is the trouble of every cell


def doubts_of_map(algorithm: str, source: DisparitySource, estimate: DisparityMap, scene: Scene) -> list[Doubt]:
    """What makes a map look misread; one of another size was resized on request."""
    fits = scene.has("gt") and estimate.shape == scene.shape
    suspected = suspicion(estimate, scene.gt, scene.calibration, source) if fits else None
    return _doubts(scene.id, algorithm, suspected, lossy_doubt(source))


def compute(cell: PlannedCell, estimate: DisparityMap, scene_regions: SceneRegions, resize: bool) -> CellScores:
    """All columns of one cell, whose map was read already."""
    started = time.perf_counter()
    wanted = [column.column for column in cell.columns]
    scores = evaluate_cell(
        estimate,
        scene_regions,
        wanted,
        algorithm=cell.algorithm,
        right_estimate=cell.right_estimate,
        confidence=cell.confidence,
        extras=cell.extras,
        resize=resize,
    )
    seconds = time.perf_counter() - started
    return CellScores.of_scores(scores, cell.columns, inputs=cell.inputs, seconds=seconds, host=socket.gethostname())
