"""What a report says, before it is written as a page or as files: sections of prose, tables, figures and galleries."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct, field

from stereogauge.decision.answer import Answer
from stereogauge.figures.chart import Chart
from stereogauge.figures.galleries import Gallery, PictureRows
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.selection import Selection
from stereogauge.tables.table import Table


class FigureEntry(NamedTuple):
    """A chart, gallery or rows of pictures, the name of its files, and how to read it."""

    name: str
    data: Chart | Gallery | PictureRows
    reading: str = ""


class Section(Struct, frozen=True):
    """A part of the report; `notes` say what could not be shown and why, `unknown` what the scores do not show.

    `detail` is smaller print below the prose.
    """

    id: str
    title: str
    prose: str
    entries: tuple[Table | FigureEntry, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    detail: str = ""


class Provenance(Struct, frozen=True):
    """Where the scores come from: protocol, algorithms with description and link, and cells that failed."""

    protocol_name: str = ""
    protocol_text: str = ""
    store: str = ""
    algorithms: tuple[tuple[str, str, str], ...] = ()
    failures: tuple[str, ...] = ()


class ReportOptions(Struct, frozen=True):
    """Choices of a report; None lets the scores decide.

    `only_sure`: values are needed only where they are sure; scores are shown with their coverage, and ordered at equal
    density.
    """

    title: str = "Comparison of stereo algorithms"
    model: str = "extended"
    metric: str | None = None
    profiles: tuple[str, ...] = ("balanced",)
    missing: str = "common"
    alpha: float = 0.05
    draws: int = 1000
    seed: int = 0
    gallery_metrics: tuple[str, ...] = ()
    gallery_scenes: tuple[str, ...] = ()
    only_sure: bool = False


class Content(Struct, frozen=True, eq=False):
    """The whole report."""

    title: str
    selection: Selection
    cube: ScoreCube
    sections: tuple[Section, ...]
    provenance: Provenance = field(default_factory=Provenance)
    answer: Answer | None = None

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every table, in order."""
        return tuple(entry for section in self.sections for entry in section.entries if isinstance(entry, Table))

    @property
    def figures(self) -> tuple[FigureEntry, ...]:
        """Every figure, in order."""
        return tuple(entry for section in self.sections for entry in section.entries if isinstance(entry, FigureEntry))
