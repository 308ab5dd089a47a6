"""`catalogue`: everything that can be chosen, read from the declarations."""

from __future__ import annotations

import functools
import io
import re
import typing
from typing import Any

from stereogauge.errors import unknown_name
from stereogauge.masks.declaration import declared_regions
from stereogauge.metrics.declaration import COUNTS, MISSING, SCALING, Metric, metrics
from stereogauge.ranking.model import models
from stereogauge.ranking.normalisation import Normalisation
from stereogauge.ranking.profile import load_profile, shipped_profiles
from stereogauge.ranking.ranks import Ties
from stereogauge.scores.selection import MissingRule
from stereogauge.version import VERSION
from stereogauge.web.answer import Answer, Bounds, Text
from stereogauge.web.source import ProtocolRecord


class MetricEntry(Answer):
    """A metric's declaration; `counts` says what the count of a score is a number of."""

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
    counts: str
    picture: bool
    needs: list[str]
    parameters: list[str]
    source: str
    description: Text


class RegionEntry(Answer):
    """A region's declaration."""

    id: str
    name: str
    definition: str
    source: str
    description: Text


class ModelEntry(Answer):
    """A model's declaration with its options and their meaning."""

    id: str
    name: str
    definition: str
    source: str
    value_name: str
    classes: bool
    options: dict[str, str]


class ProfileEntry(Answer):
    """Named weights that sum to 1."""

    id: str
    name: str
    description: str
    weights: dict[str, float]


class ProtocolEntry(Answer):
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


class CatalogueAnswer(Answer):
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
        regions=[RegionEntry.of(region) for region in declared_regions().values()],
        models=[ModelEntry.of(model) for model in models().values()],
        profiles=[ProfileEntry.of(load_profile(name), id=name) for name in shipped_profiles()],
        protocols=[_protocol(record) for record in records],
        normalisations=list(typing.get_args(Normalisation)),
        ties=list(typing.get_args(Ties)),
        missing_rules=list(typing.get_args(MissingRule)),
        aggregations=["mean", "pooled", "weighted"],
    )


def _metric(metric: Metric) -> MetricEntry:
    return MetricEntry.of(
        metric,
        missing=MISSING[metric.missing],
        scaling=SCALING[metric.scaling],
        counts=COUNTS[metric.counts],
        picture=metric.picture is not None,
        needs=sorted(metric.needs),
        parameters=[f"{p.name} ({p.unit or 'no unit'}) {p.description}".strip() for p in metric.parameters],
    )


def _protocol(record: ProtocolRecord) -> ProtocolEntry:
    own: dict[str, Any] = {"key": record.key, "name": record.name, "also": record.also}
    if record.protocol is not None:
        return ProtocolEntry.of(record.protocol, **own, text=record.protocol.to_toml())
    return ProtocolEntry(
        **own, hash=record.key, description="", text="The store knows only the hash of this protocol.", model="a-star",
        metrics=[], regions=[], scene_weights={},
    )  # fmt: skip


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
