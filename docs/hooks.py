"""Pages that are made from the declarations when the documentation is built: the catalogue of metrics and criteria."""

from __future__ import annotations

import math
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    files.append(File.generated(config, "catalogue.md", content=catalogue()))
    return files


def catalogue() -> str:
    """Every metric and criterion with everything that is declared of it."""
    from stereogauge.metrics.declaration import metrics
    from stereogauge.regions.declaration import declared_regions

    parts = ["# Catalogue", "Made from the declarations that the program itself reads.", "## Metrics"]
    for metric in sorted(metrics().values(), key=lambda m: m.id):
        title = metric.id + "".join(f"@{p.name}" for p in metric.parameters)
        better = {"lower": "lower is better", "higher": "higher is better", "zero": "nearer to 0 is better"}[
            metric.direction
        ]
        facts = [
            f"unit {metric.unit or '–'}, {better}, range {_interval(metric.range)}",
            f"pixels: {metric.region or 'any criterion'}; needs {', '.join(sorted(metric.needs)) or 'nothing'}",
            "pools over scenes" if metric.pools else "does not pool over scenes",
            f"source: {metric.source}",
        ]
        if metric.heuristic_range:
            facts.insert(1, f"what real algorithms reach: {_interval(metric.heuristic_range)}")
        parts += [f"### `{title}` {metric.name}", _formula(metric.formula), " ".join(metric.description.split())]
        parts.append("\n".join(f"- {fact}" for fact in facts))
        if metric.parameters:
            parts.append(
                "\n".join(f"- parameter {p.name} ({p.unit or '–'}): {p.description}" for p in metric.parameters)
            )
    parts.append("## Criteria")
    for region in sorted(declared_regions().values(), key=lambda r: r.id):
        parts += [
            f"### `{region.id}` {region.name}",
            _formula(region.definition),
            " ".join(region.description.split()),
            f"- source: {region.source}",
        ]
    return "\n\n".join(parts) + "\n"


def _formula(latex: str) -> str:
    """MathML, which browsers draw without any script."""
    return f"<p>{convert(latex, display='block')}</p>"


def _interval(limits: tuple[float, float]) -> str:
    low, high = (("∞" if bound > 0 else "−∞") if math.isinf(bound) else f"{bound:g}" for bound in limits)
    return f"{low} … {high}"
