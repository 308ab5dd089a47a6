"""`stereogauge metrics`: the catalogue, from the declarations."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from stereogauge.cli import options
from stereogauge.cli.output import print_entry, print_json, print_rows
from stereogauge.text import json_value

USUAL = ("bad", "rms", "mae", "d1", "quantile", "density", "invalid")


def command(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A metric, to show its whole declaration.")] = None,
    form: options.OutputFormat = options.Format.table,
) -> None:
    """List the metrics, or show one in full."""
    from stereogauge.metrics.registry import declared_metric, metrics

    known = metrics()
    listed = [*(known[usual] for usual in USUAL), *(metric for key, metric in known.items() if key not in USUAL)]
    rows = [declaration(metric) for metric in ([declared_metric(name)] if name else listed)]
    if form is options.Format.json:
        print_json(rows[0] if name else rows)
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
        heads = ("id", "unit", "better", "pixels")
        about = [row["description"].partition(". ")[0].rstrip(".") for row in rows]
        whole = zip(rows, about, strict=True)
        print_rows([{**{key: row[key] for key in heads}, "what it is": text} for row, text in whole])


def declaration(metric: Any) -> dict[str, Any]:
    """A metric's declaration as plain values."""
    from stereogauge.metrics.declaration import COUNTS, MISSING, SCALING

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


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
