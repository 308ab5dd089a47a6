"""What commands print: machine-readable documents on standard output, everything else on standard error."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stereogauge.cli.options import Format
from stereogauge.errors import StereogaugeError
from stereogauge.protocol import Protocol
from stereogauge.tables.formats import csv_tables, json_tables, latex_table, latex_tabular
from stereogauge.tables.table import Table, of_records, table
from stereogauge.tables.terminal import plain_text, print_table
from stereogauge.text import json_text, shortened

if TYPE_CHECKING:
    from rich.console import Console

    from stereogauge.datasets.plausibility import Finding
    from stereogauge.evaluation.progress import Progress, TimeLeft
    from stereogauge.figures.chart import Chart
    from stereogauge.figures.pictures import PictureFigure
    from stereogauge.io.files import DisparityFile
    from stereogauge.model import ResultSet, Scene
    from stereogauge.scores.table import ScoreTable
    from stereogauge.store import Store


GIBIBYTE = 2**30
MUCH_MEMORY = 2 * GIBIBYTE
LINE_EVERY = 10.0
BAR_EVERY = 0.2
STYLES_IN_PIPES = frozenset({"FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"})
"""Variables with which Rich takes a pipe for a terminal."""


def console(*, errors: bool = False) -> Console:
    """A console that never wraps what is piped into a file or another program.

    A reader that has gone is for the caller to notice: Rich's own answer is exit code 1, which means a finding here.
    """
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    stream = sys.stderr if errors else sys.stdout
    return Piped(file=stream, width=None if stream.isatty() else 10_000, highlight=False)


_gathered: ContextVar[list[tuple[Table, Format, bool]] | None] = ContextVar("gathered", default=None)
"""Tables of several runs of one command, to be printed as one document, with the arguments of `print_tables`."""


def gathering() -> bool:
    """Whether the tables of several runs become one document, in which their names must differ."""
    return _gathered.get() is not None


@contextlib.contextmanager
def one_document() -> Iterator[None]:
    """Print the tables of everything inside together at the end, also where a later run fails."""
    found: list[tuple[Table, Format, bool]] = []
    token = _gathered.set(found)
    try:
        yield
    finally:
        _gathered.reset(token)
        if found:
            print_tables([one for one, *_ in found], found[-1][1], boxed=found[-1][2])


def print_findings(owner: str, findings: Iterable[tuple[str, Finding]]) -> None:
    """What was found, each with what `owner` says it belongs to; nothing where nothing was found."""
    rows = [[text or "–" for text in (name, one.scene, one.kind, one.sentence)] for name, one in findings]
    if rows:
        print_tables([table("findings", "", (owner, "scene", "finding", "what"), rows)])


def print_tables(tables: Sequence[Table], form: Format = Format.table, *, boxed: bool = True) -> None:
    """Tables in the chosen format: boxed ones as LaTeX environments, others as bare tabulars.

    On a terminal they fit its width without cutting anything; several become one table in CSV.
    """
    gathered = _gathered.get()
    if gathered is not None:
        gathered += [(one, form, boxed) for one in tables]
    elif form is Format.json:
        sys.stdout.write(json_tables(tables))
    elif form is Format.csv:
        sys.stdout.write(csv_tables(tables))
    elif form is Format.latex:
        sys.stdout.write("\n".join(map(latex_table if boxed else latex_tabular, tables)))
    elif boxed or sys.stdout.isatty() or not STYLES_IN_PIPES.isdisjoint(os.environ):
        for one in tables:
            print_table(console(), one, boxed=boxed)
    else:
        sys.stdout.write("".join(map(plain_text, tables)))
    if gathered is None and (form is Format.csv or (form is Format.latex and not boxed)):
        # These have no room for the remarks below a table.
        for note in dict.fromkeys(note for one in tables for note in one.notes):
            say(f"note: {note}")


def print_rows(rows: Sequence[Mapping[str, Any]], form: Format = Format.table) -> None:
    """Records with the same keys, which become the column heads; gaps are null in JSON and empty in CSV."""
    if form is Format.json:
        print_json(rows)
    else:
        print_tables([of_records("rows", rows)], form, boxed=False)


def print_json(document: Any) -> None:
    """One document: plain values, records, and results that are written as JSON."""
    sys.stdout.write(json_text(document) + "\n")


def print_entry(name: str, lines: list[str], *, indent: int) -> None:
    """A name and its lines beside it, as wide as the terminal; addresses are never broken, and nothing is in a pipe."""
    width = max(shutil.get_terminal_size().columns, indent + 20) - indent if sys.stdout.isatty() else 10_000
    for line in lines:
        for part in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False):
            sys.stdout.write(f"{name:{indent}}{part}\n")
            name = ""


def save_figures(folder: Path, figures: Mapping[str, Chart | PictureFigure], kinds: Sequence[str]) -> None:
    """Write every figure into the folder in each of these formats."""
    for name, figure in figures.items():
        for kind in kinds:
            figure.save(folder / f"{name}.{kind}")


def say(text: str) -> None:
    """One line on standard error."""
    sys.stderr.write(text + "\n")


def progress(what: str = "cell", verb: str = "compute") -> Progress:
    """A bar on standard error where that is a terminal, lines where it is not."""
    from stereogauge.evaluation.progress import terminal_progress

    return terminal_progress(lambda: console(errors=True), what, verb)


@contextlib.contextmanager
def counting(total: int, what: str, verb: str = "compute") -> Iterator[Callable[[str], None]]:
    """Show how many of `total` are done; yields a function to call with the name of what is done next."""
    bar = progress(what, verb)
    bar.start(total, 0)

    def advance(name: str) -> None:
        bar.scene(name)
        bar.advance(1, 0)

    try:
        yield advance
    finally:
        bar.finish()


@contextlib.contextmanager
def working(what: str = "measuring", ahead: TimeLeft | None = None) -> Iterator[Callable[[str], None]]:
    """Say what is being done, and for how long, once that takes longer than two seconds.

    Yields a function that changes the text. One line is kept up to date where standard error is a terminal, with a bar
    and the time left where they are known `ahead`; elsewhere every text is a line. Nothing may be printed on standard
    output meanwhile.
    """
    from stereogauge.evaluation.progress import SHOWN_AFTER

    ended = threading.Event()
    terminal = sys.stderr.isatty()
    text, since = what, time.monotonic()
    show: Callable[[str], object] | None = None

    def change(step: str) -> None:
        nonlocal text, since
        text, since = step, time.monotonic()
        if show is not None:
            show(f"{text} …")

    def watch(ahead: TimeLeft) -> None:
        with step_bar(timed=False) as draw:
            waiting = True
            while waiting:
                left = "" if ahead.seconds is None else f"about {ahead.seconds:.0f} s left"
                if terminal:
                    draw(f"{ahead.stage or text}  {left}", ahead.share, 1)
                else:
                    stage = f"{text} ({ahead.stage})" if ahead.stage else text
                    say(f"{stage}: {ahead.share:.0%}, {left}" if ahead.share else f"{stage} …")
                waiting = not ended.wait(BAR_EVERY if terminal else LINE_EVERY)

    def count() -> None:
        nonlocal show
        with console(errors=True).status("") if terminal else contextlib.nullcontext() as status:
            show = say if status is None else status.update
            show(f"{text} …")
            while not ended.wait(1.0 if terminal else LINE_EVERY):
                show(f"{text} … {time.monotonic() - since:.0f} s")

    def tell() -> None:
        if not ended.wait(SHOWN_AFTER):
            count() if ahead is None else watch(ahead)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield change
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def step_bar(*, lines: bool = False, timed: bool = True) -> Iterator[Callable[[str, float, float | None], None]]:
    """A bar, with the time left if `timed`, on a terminal until the end; elsewhere one line per step, or nothing.

    Yields a function of what is being done, how much of it is done, and how much there is (None: not known).
    """
    if not sys.stderr.isatty():
        seen: set[str] = set()

        def tell(what: str, done: float, total: float | None) -> None:
            if lines and what not in seen:
                seen.add(what)
                say(f"{what} …")

        yield tell
        return
    from rich.progress import BarColumn, ProgressColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    parts: list[ProgressColumn] = [BarColumn(), TaskProgressColumn(), TextColumn("{task.description}")]
    if timed:
        parts.insert(2, TimeRemainingColumn())
    whole = sys.stdout.isatty()  # what is piped must not be redirected to the bar's console
    with Bars(*parts, console=console(errors=True), transient=True, redirect_stdout=whole) as bars:
        task = bars.add_task("", total=None)
        yield lambda what, done, total: bars.update(task, completed=done, total=total, description=what)


def announce_memory(bytes_needed: int | None, what: str) -> None:
    """Print that much memory is needed, and how much there is."""
    from stereogauge.evaluation.memory import free_memory

    if bytes_needed is None or bytes_needed < MUCH_MEMORY:
        return
    free = free_memory()
    known = "" if free is None else f"; {free / GIBIBYTE:.1f} GiB are free"
    short = free is not None and bytes_needed > free
    advice = ", so that the system may end it: use smaller images, fewer disparities or another mode" if short else ""
    say(f"note: {what} needs about {bytes_needed / GIBIBYTE:.1f} GiB of memory{known}{advice}")


def print_basis(protocol: Protocol, inputs: str, scenes: Iterable[Scene]) -> None:
    """What the scores rest on: the protocol, the scenes' files and settings, and what was assumed."""
    from stereogauge.evaluation.fingerprints import assumptions

    say(f"protocol {protocol.name} {protocol.hash}, scoring {protocol.scoring_hash}, scenes {inputs}")
    assumed = assumptions(scenes, protocol)
    if assumed:
        say(f"assumed: {assumed}")


def print_repeated(store: Store) -> None:
    """Which scenes of a store have the same ground truth, if any."""
    groups = store.repeated_scenes()
    if groups:
        named = shortened([" and ".join(group) for group in groups], 3)
        say(f"note: the same ground truth is in several scenes ({named}); each group counts as one scene in every test")


def print_reading(scenes: Iterable[Scene], results: Iterable[ResultSet]) -> None:
    """How the files of ground truth and of estimates were read; one file of each kind is looked at."""
    truths = [("", scene.source("gt")) for scene in scenes]
    estimates = [(result.name, source) for result in results for source in result.maps.values()]
    read = {"ground truth": _readings(truths), "estimates": _readings(estimates)}
    if any(read.values()):
        say(f"read: {'; '.join(f'{kind} as {text}' for kind, text in read.items() if text)}")


def _readings(sources: Iterable[tuple[str, Any]]) -> str:
    """How files were read, with the names that it is about where they differ; "" where none can be read."""
    from stereogauge.io.content import inner_suffix
    from stereogauge.io.files import as_file

    files: dict[tuple[Any, ...], tuple[DisparityFile, list[str]]] = {}
    for name, source in sources:
        file = as_file(source)
        if file is not None:
            key = (inner_suffix(file.path), file.encoding, file.scale, file.offset, file.unknown, file.flip, file.crop)
            files.setdefault(key, (file, []))[1].append(name)
    texts: dict[str, list[str]] = {}
    for file, names in files.values():
        with contextlib.suppress(StereogaugeError):  # a file that cannot be read is reported where it is
            texts.setdefault(file.described(), []).extend(names)
    if len(texts) == 1:
        return next(iter(texts))
    return ", ".join(f"{text} for {shortened(names)}" if any(names) else text for text, names in texts.items())


def print_scores(scores: ScoreTable, form: Format = Format.table, title: str = "") -> None:
    """All scores in the chosen format; scenes are aggregated in `table` and `latex`."""
    from stereogauge.tables.score_table import tables_of_scores

    if form is Format.json:
        print_json(scores)
    elif form is Format.csv:
        sys.stdout.write(scores.to_csv())
    else:
        print_tables(tables_of_scores(scores, title, upright=form is Format.table), form, boxed=False)


def upright(table: Table, form: Format) -> Table:
    """The table, turned on a terminal where it has many more columns than rows."""
    return table.upright if form is Format.table else table
