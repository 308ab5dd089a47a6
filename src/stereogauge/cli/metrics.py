"""`stereogauge metrics`: the catalogue, from the declarations."""

from __future__ import annotations

import json
import math
import sys
from typing import Annotated, Any

import typer

from stereogauge.cli import options
from stereogauge.cli.output import print_entry, print_table


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One metric, to see everything that is declared of it.")
    ] = None,
    form: options.OutputFormat = options.Format.table,
) -> None:
    """The catalogue of metrics, or one metric in full."""
    from stereogauge.errors import unknown_name
    from stereogauge.metrics.declaration import metrics

    known = metrics()
    if name is not None and name.partition("@")[0] not in known:
        raise unknown_name("metric", name.partition("@")[0], known)
    chosen = [known[name.partition("@")[0]]] if name else list(known.values())
    rows = [declaration(metric) for metric in chosen]
    if form is options.Format.json:
        sys.stdout.write(json.dumps(rows[0] if name else rows, indent=1, ensure_ascii=False) + "\n")
    elif form is options.Format.csv:
        import csv

        writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    elif form is options.Format.latex:
        for row in rows:
            sys.stdout.write(rf"\item[{row['id']}] {row['name']}: ${row['formula']}$" + "\n")
    elif name:
        for key, value in rows[0].items():
            if value not in (None, "", []):
                print_entry(key, [_plain(value)], indent=19)
    else:
        print_table(_table(rows))


def declaration(metric: Any) -> dict[str, Any]:
    """A metric's declaration as plain values."""
    from stereogauge.metrics.declaration import MISSING, SCALING

    return {
        "id": metric.id + "".join(f"@{p.name.upper()}" for p in metric.parameters[:1]),
        "name": metric.name,
        "formula": metric.formula,
        "unit": metric.unit,
        "better": {"lower": "lower", "higher": "higher", "zero": "nearer to 0"}[metric.direction],
        "range": [_bound(b) for b in metric.range],
        "heuristic range": [_bound(b) for b in metric.heuristic_range] if metric.heuristic_range else None,
        "pixels": metric.region or "any region",
        "pools over scenes": metric.pools,
        "missing estimates": MISSING[metric.missing],
        "scaling": SCALING[metric.scaling],
        "needs": sorted(metric.needs),
        "parameters": [f"{p.name} ({p.unit}) {p.description}" for p in metric.parameters],
        "source": metric.source,
        "description": " ".join(metric.description.split()),
        "version": metric.version,
    }


def _bound(value: float) -> float | str:
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _table(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("id", "unit", "better", "pixels", "what it is"):
        table.add_column(heading)
    for row in rows:
        summary = row["description"].partition(". ")[0].rstrip(".")
        table.add_row(*(_escaped(str(t)) for t in (row["id"], row["unit"], row["better"], row["pixels"], summary)))
    return table
