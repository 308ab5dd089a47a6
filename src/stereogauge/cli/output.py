"""What commands print: machine-readable documents on standard output, everything else on standard error."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from stereogauge.cli.options import Format

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from stereogauge.scores.table import ScoreTable
    from stereogauge.tables.table import Table as PlainTable


def console(*, errors: bool = False) -> Console:
    """A console that never wraps what is piped into a file or another program.

    A reader that has gone is for the caller to notice: Rich's own answer is exit code 1, which means a finding here.
    """
    from rich.console import Console

    class Told(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    stream = sys.stderr if errors else sys.stdout
    return Told(file=stream, width=None if stream.isatty() else 10_000, highlight=False)


def print_table(table: Table) -> None:
    """A table on standard output that fits the terminal without cutting anything."""
    from stereogauge.cli.fitting import print_fitted

    print_fitted(console(), table)


def print_entry(name: str, lines: list[str], *, indent: int) -> None:
    """A name and its lines beside it, as wide as the terminal; addresses are never broken, and nothing is in a pipe."""
    width = max(shutil.get_terminal_size().columns, indent + 20) - indent if sys.stdout.isatty() else 10_000
    for line in lines:
        for part in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False):
            sys.stdout.write(f"{name:{indent}}{part}\n")
            name = ""


def say(text: str) -> None:
    """One line for the person at the terminal."""
    sys.stderr.write(text + "\n")


def announce_compilation() -> None:
    """Say that the first run takes longer, where kernels have yet to be compiled."""
    from stereogauge.kernels.jit import kernel_cache

    if not any(kernel_cache().rglob("*.nbi")):
        say("compiling kernels, once; later runs take them from the cache …")


def print_scores(table: ScoreTable, form: Format) -> None:
    """The whole table in the chosen format; scenes are aggregated in `table` and `latex`."""
    if form is Format.json:
        sys.stdout.write(table.to_json() + "\n")
    elif form is Format.csv:
        sys.stdout.write(table.to_csv())
    elif form is Format.latex:
        from stereogauge.tables.latex import latex_tabular

        sys.stdout.write(latex_tabular(_over_scenes(table)))
    else:
        print_score_table(table)


def print_score_table(table: ScoreTable, title: str = "") -> None:
    """The scores over all scenes; turned on its side when there are more columns than algorithms."""
    from stereogauge.tables.terminal import terminal_table

    shown = replace(_over_scenes(table), title=title, notes=())
    upright = len(table.columns) <= max(6, len(table.algorithms))
    print_table(terminal_table(shown if upright else shown.turned(), boxed=False))


def _over_scenes(table: ScoreTable) -> PlainTable:
    from stereogauge.protocol import Protocol
    from stereogauge.tables.score_table import score_table

    read = table.protocol or Protocol()
    return score_table(table.cube, read.aggregation, read.scene_weights)


def notes(table: ScoreTable) -> list[str]:
    """Every distinct remark on a score, with the algorithms and columns that it concerns."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for score in table:
        if score.note:
            algorithms, columns = found.setdefault(score.note, ([], []))
            algorithms.append(score.algorithm)
            columns.append(f"{score.metric}:{score.region}")
    return [f"{_shortened(a)}: {note.rstrip('.')} ({_shortened(c)})" for note, (a, c) in found.items()]


def _shortened(names: Iterable[str], most: int = 4) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
