"""`catalogue`: everything that can be chosen, read from the declarations."""

from __future__ import annotations

import functools
import io
import math
import re
import typing
from typing import Any

from pydantic import BaseModel

from stereogauge.errors import unknown_name
from stereogauge.metrics.declaration import MISSING, SCALING, Metric, metrics
from stereogauge.ranking.model import models
from stereogauge.ranking.normalisation import Normalisation
from stereogauge.ranking.profile import load_profile, shipped_profiles
from stereogauge.ranking.ranks import Ties
from stereogauge.regions.declaration import declared_regions
from stereogauge.scores.selection import MissingRule
from stereogauge.version import VERSION
from stereogauge.web.source import ProtocolRecord

Bounds = tuple[float | None, float | None]


class MetricEntry(BaseModel):
    """A metric's declaration; a bound of null is infinite."""

    id: str
    name: str
    formula: str
    unit: str
    direction: str
    range: Bounds
    heuristic_range: Bounds | None
    region: str | None
    pools: bool
    missing: str
    scaling: str
    picture: bool
    needs: list[str]
    parameters: list[str]
    source: str
    description: str


class RegionEntry(BaseModel):
    """A region's declaration."""

    id: str
    name: str
    definition: str
    source: str
    description: str


class ModelEntry(BaseModel):
    """A model's declaration with its options and their meaning."""

    id: str
    name: str
    definition: str
    source: str
    value_name: str
    classes: bool
    options: dict[str, str]


class ProfileEntry(BaseModel):
    """Named weights that sum to 1."""

    id: str
    name: str
    description: str
    weights: dict[str, float]


class ProtocolEntry(BaseModel):
    """A protocol with its whole text; `key` selects its scores, `also` lists others with the same scoring choices."""

    key: str
    name: str
    also: list[str]
    hash: str
    description: str
    text: str
    model: str
    metrics: list[str]
    regions: list[str]
    scene_weights: dict[str, float]


class CatalogueAnswer(BaseModel):
    """Everything that can be chosen."""

    version: str
    submissions: bool
    metrics: list[MetricEntry]
    regions: list[RegionEntry]
    models: list[ModelEntry]
    profiles: list[ProfileEntry]
    protocols: list[ProtocolEntry]
    normalisations: list[str]
    ties: list[str]
    missing_rules: list[str]
    aggregations: list[str]


def catalogue_answer(records: tuple[ProtocolRecord, ...], *, submissions: bool) -> CatalogueAnswer:
    """The catalogue of a site with scores under these protocols."""
    return CatalogueAnswer(
        version=VERSION,
        submissions=submissions,
        metrics=[_metric(metric) for metric in metrics().values()],
        regions=[
            RegionEntry(
                id=region.id,
                name=region.name,
                definition=region.definition,
                source=region.source,
                description=_text(region.description),
            )
            for region in declared_regions().values()
        ],
        models=[
            ModelEntry(
                id=model.id,
                name=model.name,
                definition=model.definition,
                source=model.source,
                value_name=model.value_name,
                classes=model.classes,
                options=dict(model.options),
            )
            for model in models().values()
        ],
        profiles=[
            ProfileEntry(id=name, name=profile.name, description=profile.description, weights=dict(profile.weights))
            for name, profile in ((name, load_profile(name)) for name in shipped_profiles())
        ],
        protocols=[_protocol(record) for record in records],
        normalisations=list(typing.get_args(Normalisation)),
        ties=list(typing.get_args(Ties)),
        missing_rules=list(typing.get_args(MissingRule)),
        aggregations=["mean", "pooled", "weighted"],
    )


def _metric(metric: Metric) -> MetricEntry:
    return MetricEntry(
        id=metric.id,
        name=metric.name,
        formula=metric.formula,
        unit=metric.unit,
        direction=metric.direction,
        range=_bounds(metric.range),
        heuristic_range=None if metric.heuristic_range is None else _bounds(metric.heuristic_range),
        region=metric.region,
        pools=metric.pools,
        missing=MISSING[metric.missing],
        scaling=SCALING[metric.scaling],
        picture=metric.picture is not None,
        needs=sorted(metric.needs),
        parameters=[f"{p.name} ({p.unit or 'no unit'}) {p.description}".strip() for p in metric.parameters],
        source=metric.source,
        description=_text(metric.description),
    )


def _protocol(record: ProtocolRecord) -> ProtocolEntry:
    protocol = record.protocol
    return ProtocolEntry(
        key=record.key,
        name=record.name,
        also=list(record.also),
        hash=protocol.hash if protocol else record.key,
        description=protocol.description if protocol else "",
        text=protocol.to_toml() if protocol else "The store knows only the hash of this protocol.",
        model=protocol.model if protocol else "a-star",
        metrics=list(protocol.metrics) if protocol else [],
        regions=list(protocol.regions) if protocol else [],
        scene_weights=dict(protocol.scene_weights) if protocol else {},
    )


def _bounds(pair: tuple[float, float]) -> Bounds:
    low, high = (bound if math.isfinite(bound) else None for bound in pair)
    return low, high


def _text(docstring: str) -> str:
    return " ".join(docstring.split())


@functools.lru_cache(maxsize=512)
def formula_picture(kind: str, identifier: str) -> bytes:
    """The formula of a metric (kind `metrics`) or a region (`regions`) as SVG, black on transparent."""
    declared: dict[str, Any] = dict(metrics() if kind == "metrics" else declared_regions())
    if identifier not in declared:
        raise unknown_name("formula", identifier, declared)
    text = declared[identifier].formula if kind == "metrics" else declared[identifier].definition
    return _drawn(text)


SPELLINGS = (
    (r"\\tfrac", r"\\frac"),
    (r"\\[bB]ig[lrg]?(?![a-zA-Z])", ""),
    (r"\\le(?![a-zA-Z])", r"\\leq"),
    (r"\\begin\{cases\}", r"\\{ "),
    (r"\\end\{cases\}", " "),
    (r"\\\\", r";\\quad "),
    (r"&", r"\\;\\;"),
)
"""Commands that Matplotlib spells differently from LaTeX."""


def _drawn(formula: str) -> bytes:
    import matplotlib
    from matplotlib.mathtext import math_to_image

    for wrong, right in SPELLINGS:
        formula = re.sub(wrong, right, formula)
    target = io.BytesIO()
    with matplotlib.rc_context({"mathtext.fontset": "cm", "svg.hashsalt": "stereogauge", "savefig.transparent": True}):
        try:
            math_to_image(f"${formula}$", target, format="svg", dpi=96)
        except ValueError:
            target = io.BytesIO()
            math_to_image(formula.replace("$", r"\$"), target, format="svg", dpi=96)
    return target.getvalue()
