"""A report: sections of prose, tables, figures and galleries, and how they are written.

`to_html` makes one file that needs nothing else: scripts, styles, pictures and data are all inside the page.
`assets/page.html` is a Jinja2 template with autoescape, so that names from users are escaped without being named.
`write_report` puts the tables and figures beside it as files.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec import Struct, field

from stereogauge.decision.answer import Answer
from stereogauge.errors import StereogaugeError, UnknownNameError
from stereogauge.figures.chart import FORMATS, Chart, vega_script
from stereogauge.figures.galleries import Gallery
from stereogauge.figures.palette import Styles
from stereogauge.figures.pictures import Colours, PictureFigure, narrowed
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.scope import DRAWS
from stereogauge.scores.selection import Selection
from stereogauge.scores.table import ScoreTable
from stereogauge.tables.formats import csv_table, html_table, latex_table, latex_text
from stereogauge.tables.table import Table
from stereogauge.text import counted

NOT_MEASURED = ("metric of these scores", "region of these scores")
Found = TypeVar("Found")
CARD_WIDTH, PICTURE_QUALITY = 360, 82  # pixels; per cent of WebP


class FigureEntry(NamedTuple):
    """A chart, gallery or rows of pictures, the name of its files, and how to read it."""

    name: str
    data: Chart | PictureFigure
    reading: str = ""


Entry = Table | FigureEntry


class Section(Struct, frozen=True):
    """A part of the report; `notes` say what could not be shown and why, `unknown` what the scores do not show.

    `detail` is smaller print below the prose.
    """

    id: str
    title: str
    prose: str
    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    detail: str = ""


def reason_text(problem: Exception) -> str:
    """Why a part is not shown; a metric that was not evaluated is not misspelt by the reader."""
    if not isinstance(problem, UnknownNameError) or problem.kind not in NOT_MEASURED:
        return str(problem)
    return f"{problem.name} was not measured; evaluate with --metrics {problem.name}."


class Attempts:
    """Collects what could be made, and the reasons for what could not."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.notes: list[str] = []

    def get(self, make: Callable[[], Found], what: str = "") -> Found | None:
        """What could be made; None, and a note about `what`, where it could not."""
        try:
            return make()
        except (StereogaugeError, OSError) as reason:
            note = f"{what}: {reason}" if what else reason_text(reason)
            if note not in self.notes:
                self.notes.append(note)
            return None

    def add(self, make: Callable[[], Entry]) -> None:
        """Add a table or figure."""
        self.entries += self.get(lambda: [make()]) or []

    def analysis(self, make: Callable[[], list[Entry]], *, tables: int = 0) -> None:
        """Add the first `tables` tables and the figures of an analysis."""
        made = self.get(make) or []
        self.entries += [one for one in made if isinstance(one, Table)][:tables]
        self.entries += [one for one in made if isinstance(one, FigureEntry)]

    def figure(self, name: str, make: Callable[[], Chart], reading: str) -> None:
        """Add a chart under a name, with how to read it."""
        self.add(lambda: FigureEntry(name, make(), reading))

    def section(self, identifier: str, title: str, prose: str) -> Section:
        """Everything that was added, and the reasons for the rest."""
        return Section(identifier, title, prose, tuple(self.entries), tuple(self.notes))


class Provenance(Struct, frozen=True):
    """Where the scores come from: protocol, algorithms with description and link, and cells that failed."""

    protocol_name: str = ""
    protocol_text: str = ""
    store: str = ""
    algorithms: tuple[tuple[str, str, str], ...] = ()
    failures: tuple[str, ...] = ()


class AnalysisOptions(Struct, frozen=True):
    """Choices of an analysis: the metric of tests and counts, the rule for gaps, level, marked algorithms, profile.

    `styles` are those of more algorithms, of which the scores hold only some; None makes them for the scores' own.
    """

    metric: str = ""
    missing: str = "common"
    alpha: float = 0.05
    mark: tuple[str, ...] = ()
    profile: str | None = None
    draws: int = DRAWS
    seed: int = 0
    styles: Styles | None = None


class ReportOptions(AnalysisOptions, frozen=True, kw_only=True):
    """Choices of a report; without a metric it is the first of the scores.

    `only_sure`: values are needed only where they are sure; scores are shown with their coverage, and ordered at equal
    density.
    """

    title: str = "Comparison of stereo algorithms"
    model: str = "extended"
    profiles: tuple[str, ...] = ("balanced",)
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


def to_html(content: Content, made: str = "") -> str:
    """The whole page; `made` says when and with what it was made."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("stereogauge.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        content=content,
        facts=_facts(content),
        summary=_summary(content),
        described=[entry for entry in content.provenance.algorithms if entry[1] or entry[2]],
        made=made,
        style=_asset("page.css"),
        script=_asset("page.js"),
        vega=vega_script(),
        kind_of=_kind,
        html_table=html_table,
        svg=lambda entry: _base64(entry.data.encoded("svg")),
        declared=lambda entry: entry.data.script,
        webp=_webp,
    )


def _asset(name: str) -> str:
    return resources.files("stereogauge.report").joinpath("assets", name).read_text(encoding="utf-8")


def _summary(content: Content) -> str:
    """What this is, in one line."""
    selection = content.selection
    datasets = ", ".join(dict.fromkeys(name for name in content.cube.datasets if name))
    where = f" of {datasets}" if datasets else ""
    return (
        f"Which stereo matcher is right for you, and why: {counted(len(selection.algorithms), 'algorithm')} on "
        f"{counted(len(selection.scenes), 'scene')}{where}."
    )


def _facts(content: Content) -> dict[str, str]:
    selection, origin = content.selection, content.provenance
    return {
        "algorithms": ", ".join(selection.algorithms),
        "scenes": ", ".join(selection.scenes),
        "metrics": ", ".join(selection.metrics),
        "regions": ", ".join(selection.regions),
        "protocol": " ".join(part for part in (origin.protocol_name, selection.protocol) if part),
        "store": origin.store,
    }


def _kind(entry: Entry) -> str:
    if isinstance(entry, Table):
        return "table"
    return "figure" if isinstance(entry.data, Chart) else "gallery" if isinstance(entry.data, Gallery) else "rows"


def _webp(colours: Colours) -> str:
    import cv2

    options = [cv2.IMWRITE_WEBP_QUALITY, PICTURE_QUALITY]
    ordered = cv2.cvtColor(narrowed(colours, CARD_WIDTH), cv2.COLOR_RGB2BGR)
    return _base64(cv2.imencode(".webp", ordered, options)[1].tobytes())


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


PREAMBLE = r"""\documentclass[10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[margin=15mm,landscape]{geometry}
\usepackage{booktabs}
\usepackage{graphicx}
\begin{document}
"""


def write_report(
    content: Content,
    folder: Path,
    *,
    formats: Sequence[str] = FORMATS,
    made: str = "",
    progress: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write everything and return the files; existing ones of the same name are replaced, others stay."""
    report = progress or (lambda _: None)
    written: list[Path] = []

    def put(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)

    for entry in content.tables:
        put(folder / "tables" / f"{entry.name}.tex", latex_table(entry))
        put(folder / "tables" / f"{entry.name}.csv", csv_table(entry))
    put(folder / "tables" / "all.tex", tables_document(content))
    put(folder / "scores.csv", ScoreTable(content.cube.scores()).to_csv())
    for figure in content.figures:
        report(f"figure {figure.name}")
        kinds = [*formats, "csv"] if isinstance(figure.data, Chart) else formats
        written += [figure.data.save(folder / "figures" / f"{figure.name}.{kind}") for kind in kinds]
    report("report.html")
    put(folder / "report.html", to_html(content, made))
    return written


def tables_document(content: Content) -> str:
    """A LaTeX document that holds all tables, each no wider than the page."""
    inputs = "\n".join(rf"\input{{{entry.name}}}" + "\n" + r"\clearpage" for entry in content.tables)
    return f"{PREAMBLE}\\section*{{{latex_text(content.title)}}}\n{inputs}\n\\end{{document}}\n"
