"""What a worker does: compute one group of cells. It reads files and returns numbers; only the main process writes."""

from __future__ import annotations

import socket
import time
import traceback
from dataclasses import dataclass

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.columns import Column
from stereogauge.evaluation.evaluate import evaluate_cell
from stereogauge.evaluation.groups import Cell, Group
from stereogauge.metrics.declaration import parse_metric
from stereogauge.regions.scene_regions import SceneRegions
from stereogauge.scores.cell import CellScores


@dataclass(frozen=True)
class Trouble:
    """Why a cell could not be computed, by its index in the group."""

    index: int
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class GroupResult:
    """The cells that were computed, by index in the group, and the others with their reasons."""

    cells: tuple[tuple[int, CellScores], ...]
    troubles: tuple[Trouble, ...]
    seconds: float


def evaluate_group(group: Group) -> GroupResult:
    """Compute every cell of a group; one that fails does not keep the others from being computed."""
    started = time.perf_counter()
    scene_regions = SceneRegions(group.scene, group.protocol)
    cells: list[tuple[int, CellScores]] = []
    troubles: list[Trouble] = []
    for index, cell in enumerate(group.cells):
        try:
            cells.append((index, compute(cell, scene_regions, group.resize)))
        except StereogaugeError as problem:
            troubles.append(Trouble(index, str(problem)))
        except MemoryError:
            troubles.append(Trouble(index, "there was not enough memory; use fewer workers (--jobs)"))
        except Exception as problem:  # a defect of one metric must not cost the cells of the others
            troubles.append(Trouble(index, f"{type(problem).__name__}: {problem}", traceback.format_exc()))
    group.scene.release()
    return GroupResult(tuple(cells), tuple(troubles), time.perf_counter() - started)


def compute(cell: Cell, scene_regions: SceneRegions, resize: bool) -> CellScores:
    """All columns of one cell."""
    started = time.perf_counter()
    wanted: list[Column] = [(parse_metric(column.metric), column.region) for column in cell.columns]
    scores = evaluate_cell(
        cell.estimate,
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
