"""Records, one dictionary each, in every output format."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from stereogauge.cli.options import Format
from stereogauge.cli.output import print_table
from stereogauge.scores.plain import json_value

Row = Mapping[str, Any]


def print_rows(rows: Sequence[Row], form: Format) -> None:
    """Records with the same keys, which become the column heads; gaps are null in JSON and empty in CSV."""
    from stereogauge.tables.latex import latex_tabular
    from stereogauge.tables.table import of_records
    from stereogauge.tables.terminal import terminal_table
    from stereogauge.tables.text import csv_table

    if form is Format.json:
        sys.stdout.write(json.dumps([json_value(dict(row)) for row in rows], indent=2, allow_nan=False) + "\n")
        return
    table = of_records("rows", rows)
    if form is Format.csv:
        sys.stdout.write(csv_table(table))
    elif form is Format.latex:
        sys.stdout.write(latex_tabular(table))
    else:
        print_table(terminal_table(table, boxed=False))
