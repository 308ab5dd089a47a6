"""Plain rows, one dictionary each, in every output format."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from stereogauge.cli.options import Format
from stereogauge.cli.output import print_table

Row = Mapping[str, Any]
LATEX_SPECIAL = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}"}


def print_rows(rows: Sequence[Row], form: Format) -> None:
    """All rows have the same keys, which become the column heads; NaN is null in JSON and empty elsewhere."""
    if form is Format.json:
        sys.stdout.write(json.dumps([{k: _plain(v) for k, v in row.items()} for row in rows], indent=2) + "\n")
    elif form is Format.csv:
        sys.stdout.write(csv_text(rows))
    elif form is Format.latex:
        sys.stdout.write(_latex(rows))
    else:
        _print_table(rows)


def csv_text(rows: Sequence[Row]) -> str:
    """The rows as CSV under their keys; what is not finite is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(rows[0].keys())
    writer.writerows([["" if _plain(v) is None else v for v in row.values()] for row in rows])
    return stream.getvalue()


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


def _print_table(rows: Sequence[Row]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, value in rows[0].items():
        table.add_column(name, justify="left" if isinstance(value, str) else "right")
    for row in rows:
        table.add_row(*(Text(_text(value)) for value in row.values()))
    print_table(table)


def _latex(rows: Sequence[Row]) -> str:
    def cells(values: Any) -> str:
        return " & ".join("".join(LATEX_SPECIAL.get(c, c) for c in _text(value)) for value in values)

    alignment = "".join("l" if isinstance(value, str) else "r" for value in rows[0].values())
    lines = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", cells(rows[0].keys()) + r" \\", r"\midrule"]
    lines += [cells(row.values()) + r" \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])
