"""What a worker is sent, cells of one scene, and what it does: it reads files and returns numbers, and never writes."""

from __future__ import annotations

import socket
import time
import traceback

from msgspec import Struct
from msgspec.structs import replace

from stereogauge.datasets.plausibility import Finding, map_doubts, scene_doubts
from stereogauge.errors import StereogaugeError, Unreachable
from stereogauge.evaluation.evaluate import SceneEstimate, evaluate_cell, resized
from stereogauge.io.files import load_disparity
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.model import Scene
from stereogauge.protocol import Protocol
from stereogauge.registry import plugin_place
from stereogauge.scores.column import VersionedColumn
from stereogauge.scores.score import CellScores, Failure


class PlannedCell(SceneEstimate, frozen=True, kw_only=True):
    """One algorithm on one scene: where its map is, and the columns to compute."""

    columns: tuple[VersionedColumn, ...]
    inputs: int
    content: str


class CellGroup(Struct, frozen=True):
    """Cells of one scene that are computed together, so that the scene's pixel sets are made once."""

    scene: Scene
    protocol: Protocol
    cells: tuple[PlannedCell, ...]
    resize: bool = False

    def split(self) -> list[CellGroup]:
        """Each cell on its own."""
        return [replace(self, cells=(cell,)) for cell in self.cells]

    def failure(self, cell: PlannedCell, reason: str, detail: str = "") -> Failure:
        """The record of a cell that could not be computed."""
        return Failure(self.scene.dataset, self.scene.id, cell.algorithm, self.protocol.scoring_hash, reason, detail)


class GroupResult(Struct, frozen=True):
    """The cells that were computed, the failures of the others, and doubts about inputs."""

    cells: tuple[CellScores, ...]
    failures: tuple[Failure, ...]
    seconds: float
    doubts: tuple[Finding, ...] = ()


def evaluate_group(group: CellGroup) -> GroupResult:
    """Compute every cell of a group; one that fails does not keep the others from being computed.

    A server that does not answer fails for all of them, and raises `Unreachable`.
    """
    started = time.perf_counter()
    scene_regions = SceneRegions(group.scene, group.protocol)
    host = socket.gethostname()
    cells: list[CellScores] = []
    failures: list[Failure] = []
    doubts = scene_doubts(group.scene)
    for cell in group.cells:
        try:
            estimate = load_disparity(cell.estimate)
            if group.resize:
                estimate = resized(estimate, group.scene.shape)
            begun = time.perf_counter()
            wanted = [column.column for column in cell.columns]
            scores = evaluate_cell(replace(cell, estimate=estimate), scene_regions, wanted, resize=group.resize)
            seconds = time.perf_counter() - begun
            cells.append(CellScores.of_scores(scores, cell.columns, inputs=cell.inputs, seconds=seconds, host=host))
            doubts += map_doubts(cell.algorithm, estimate, group.scene, cell.estimate)
        except Unreachable:
            raise
        except StereogaugeError as problem:
            failures.append(group.failure(cell, str(problem)))
        except MemoryError:
            failures.append(group.failure(cell, "there was not enough memory; use fewer workers (--jobs)"))
        except Exception as problem:  # a defect of one metric must not cost the cells of the others
            place = plugin_place(problem)
            reason = f"{place}: " if place else ""
            failures.append(group.failure(cell, f"{reason}{type(problem).__name__}: {problem}", traceback.format_exc()))
    group.scene.release()
    return GroupResult(tuple(cells), tuple(failures), time.perf_counter() - started, tuple(doubts))
