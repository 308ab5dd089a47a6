"""What the documentation's builder makes itself: the navigation from the pages that exist, and the catalogue from the
declarations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parent
GENERATED = "catalogue.md"
NAVIGATION = {
    "Guide": (
        "guide/concepts.md",
        "guide/first-evaluation.md",
        "guide/own-data.md",
        "guide/answer.md",
        "guide/choosing.md",
        "guide/networks.md",
        "guide/training.md",
        "guide/notebook.md",
        "guide/elsewhere.md",
        "guide/gate.md",
        "guide/hosting.md",
        "guide/cluster.md",
        "guide/extending.md",
        "guide/troubleshooting.md",
    ),
    "Topics": (
        "datasets.md",
        "protocols.md",
        "geometry.md",
        "without-ground-truth.md",
        "confidence.md",
        "ranking.md",
        "analysis.md",
        "sensitivity.md",
        "tuning.md",
        "site.md",
        "store.md",
        "scale.md",
        "performance.md",
    ),
    "Reference": (GENERATED, "architecture.md", "evaluators.md", "reproduction.md"),
}
BETTER = {"lower": "lower is better", "higher": "higher is better", "zero": "nearer to 0 is better"}


def on_config(config: Any) -> Any:
    """The navigation: every named page, then the decisions."""
    sections = [{title: list(pages)} for title, pages in NAVIGATION.items()]
    decisions = sorted(path.relative_to(DOCS).as_posix() for path in (DOCS / "decisions").glob("*.md"))
    config.nav = ["index.md", *sections, {"Decisions": decisions}]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Replace the page that names the commands by the generated one."""
    written = files.get_file_from_path(GENERATED)
    if written is not None:
        files.remove(written)
    files.append(File.generated(config, GENERATED, content=catalogue()))
    return files


def catalogue() -> str:
    """Everything that is declared: metrics, regions, confidence measures, models, matchers."""
    parts = ["# Catalogue", "Made from the declarations that the program itself reads."]
    for section in (_metrics, _regions, _confidence, _models, _matchers):
        parts += section()
    return "\n\n".join(parts) + "\n"


def _metrics() -> Iterable[str]:
    from stereogauge.metrics.declaration import MISSING, SCALING
    from stereogauge.metrics.registry import metrics

    yield "## Metrics"
    for metric in sorted(metrics().values(), key=lambda m: m.id):
        title = metric.id + "".join(f"@{p.name}" for p in metric.parameters)
        facts = [
            f"unit {metric.unit or '–'}, {BETTER[metric.direction]}, range {_interval(metric.range)}",
            f"pixels: {metric.region or 'any region'}; needs {', '.join(sorted(metric.needs)) or 'nothing'}",
            "pools over scenes" if metric.pools else "does not pool over scenes",
            f"a missing estimate is {MISSING[metric.missing]}; the value is {SCALING[metric.scaling]}",
            f"source: {metric.source}",
        ]
        if metric.heuristic_range:
            facts.insert(1, f"what real algorithms reach: {_interval(metric.heuristic_range)}")
        facts += [f"parameter {p.name} ({p.unit or '–'}): {p.description}" for p in metric.parameters]
        yield from _entry(title, metric.name, metric.formula, metric.description, facts)
        yield from _pictures(metric.id)


def _regions() -> Iterable[str]:
    from stereogauge.masks.declaration import declared_regions

    yield "## Regions"
    for region in sorted(declared_regions().values(), key=lambda r: r.id):
        facts = [f"parameter {p.name} ({p.unit or '–'}): {p.description}" for p in region.parameters]
        facts.append(f"source: {region.source}")
        yield from _entry(region.id, region.name, region.definition, region.description, facts)


def _confidence() -> Iterable[str]:
    from stereogauge.confidence_measures.declaration import confidence_measures

    yield "## Confidence measures"
    yield "In every map lower means more confident."
    for measure in sorted(confidence_measures().values(), key=lambda m: m.id):
        facts = [f"needs {', '.join(sorted(measure.needs)) or 'nothing'}", f"source: {measure.source}"]
        yield from _entry(measure.id, measure.label, measure.formula, measure.description, facts)


def _models() -> Iterable[str]:
    from stereogauge.ranking.model import models

    yield "## Models"
    for model in sorted(models().values(), key=lambda m: m.id):
        facts = [f"value: {model.value_name}", f"source: {model.source}"]
        facts += [f"option {name}: {meaning}" for name, meaning in model.options.items()]
        yield from _entry(model.id, model.name, "", model.definition, facts)


def _matchers() -> Iterable[str]:
    from stereogauge.matching.declaration import matchers

    yield "## Matchers"
    for matcher in sorted(matchers().values(), key=lambda m: m.id):
        facts = [
            f"{parameter.name} = {parameter.default}: {parameter.description} ({parameter.allowed})"
            for parameter in matcher.parameters
        ]
        yield from _entry(matcher.id, matcher.name, "", matcher.description, [f"source: {matcher.source}", *facts])


def _entry(title: str, name: str, formula: str, description: str, facts: Iterable[str]) -> Iterable[str]:
    yield f"### `{title}` {name}"
    if formula:
        yield f"<p>{mathml(formula)}</p>"
    yield " ".join(description.split()).replace("|", r"\|").replace("<", "&lt;")
    yield "\n".join(f"- {fact}" for fact in facts)


def mathml(formula: str) -> str:
    """A formula as MathML, which browsers draw without any script.

    The converter writes \\setminus as the identifier ⧵ (U+29F5), which hardly any font has, so that the page shows
    nothing there; the set minus ∖ (U+2216) is in every mathematical font, and as an operator it has space around it.
    """
    return str(convert(formula, display="block")).replace("<mi>&#x029F5;</mi>", "<mo>&#x2216;</mo>")


def _pictures(metric: str) -> Iterable[str]:
    """The example picture and the response curve of a metric, where `scripts/catalogue_pictures.py` drew them."""
    kinds = {"picture": "on a census SGM map of Motorcycle", "response": "under controlled damage"}
    names = {kind: f"images/guide-{kind}-{metric}.png" for kind in kinds}
    found = [f"![{metric} {kinds[kind]}]({name})" for kind, name in names.items() if (DOCS / name).is_file()]
    if found:
        yield "\n".join(found)


def _interval(limits: tuple[float, float]) -> str:
    low, high = (("∞" if bound > 0 else "−∞") if math.isinf(bound) else f"{bound:g}" for bound in limits)
    return f"{low} … {high}"
