"""What commands print: machine-readable documents on standard output, everything else on standard error."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from stereogauge.cli.options import Format

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from stereogauge.scores.table import ScoreTable


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
    from stereogauge.tables.score_table import latex_table, rich_table

    if form is Format.json:
        sys.stdout.write(table.to_json() + "\n")
    elif form is Format.csv:
        sys.stdout.write(table.to_csv())
    elif form is Format.latex:
        sys.stdout.write(latex_table(table))
    else:
        print_table(rich_table(table))


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
