"""`stereogauge metrics`: the catalogue, from the declarations."""

from __future__ import annotations

import csv
import sys
from typing import Annotated, Any

import typer

from stereogauge.cli import options
from stereogauge.cli.output import print_entry, print_json, print_rows
from stereogauge.metrics.declaration import COUNTS, MISSING, SCALING
from stereogauge.metrics.registry import declared_metric, metrics
from stereogauge.text import json_value

USUAL = ("bad", "rms", "mae", "d1", "quantile", "density", "invalid")


def command(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A metric, to show its whole declaration.")] = None,
    form: options.OutputFormat = options.Format.table,
) -> None:
    """List the metrics, or show one in full."""
    known = metrics()
    listed = [*(known[usual] for usual in USUAL), *(metric for key, metric in known.items() if key not in USUAL)]
    rows = [declaration(metric) for metric in ([declared_metric(name)] if name else listed)]
    if form is options.Format.json:
        print_json(rows[0] if name else rows)
    elif form is options.Format.csv:
        writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    elif form is options.Format.latex:
        for row in rows:
            sys.stdout.write(rf"\item[{row['id']}] {row['name']}: ${row['formula']}$" + "\n")
    elif name:
        for key, value in rows[0].items():
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            if value is not None and text:
                print_entry(key, ["yes" if value is True else "no" if value is False else text], indent=19)
    else:
        heads = ("id", "unit", "better", "pixels")
        print_rows(
            [
                {**{key: row[key] for key in heads}, "what it is": row["description"].partition(". ")[0].rstrip(".")}
                for row in rows
            ]
        )


def declaration(metric: Any) -> dict[str, Any]:
    """A metric's declaration as plain values."""
    return {
        "id": metric.id + "".join(f"@{p.name.upper()}" for p in metric.parameters[:1]),
        "name": metric.name,
        "formula": metric.formula,
        "unit": metric.unit,
        "better": {"lower": "lower", "higher": "higher", "zero": "nearer to 0"}[metric.direction],
        "range": json_value(metric.range),
        "heuristic range": json_value(metric.heuristic_range),
        "pixels": metric.region or "any region",
        "pools over scenes": metric.pools,
        "missing estimates": MISSING[metric.missing],
        "scaling": SCALING[metric.scaling],
        "counts": COUNTS[metric.counts],
        "needs": sorted(metric.needs),
        "parameters": [f"{p.name} ({p.unit}) {p.description}" for p in metric.parameters],
        "source": metric.source,
        "description": " ".join(metric.description.split()),
        "version": metric.version,
    }
