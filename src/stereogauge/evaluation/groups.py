"""What a worker is sent: cells of one scene. Apart from the plan, so that workers do without a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stereogauge.confidence_measures.files import ConfidenceSource
from stereogauge.metrics.measurement import Fact
from stereogauge.model import Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.column import VersionedColumn


@dataclass(frozen=True)
class Cell:
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
class Group:
    """Cells of one scene that are computed together, so that the scene's pixel sets are made once."""

    scene: Scene
    protocol: Protocol
    cells: tuple[Cell, ...]
    resize: bool = False

    def split(self) -> list[Group]:
        """Each cell on its own."""
        return [replace(self, cells=(cell,)) for cell in self.cells]
