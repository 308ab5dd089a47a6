"""Everything that can be chosen: declarations, and the data sets, scenes and algorithms that have scores."""

from __future__ import annotations

import functools
import io
import re
import typing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.datasets.declaration import families
from stereogauge.errors import unknown_name
from stereogauge.masks.declaration import declared_regions
from stereogauge.metrics.declaration import COUNTS, MISSING, SCALING, Metric
from stereogauge.metrics.registry import metrics
from stereogauge.ranking.model import models
from stereogauge.ranking.normalisation import Normalisation
from stereogauge.ranking.profile import load_profile, shipped_profiles
from stereogauge.ranking.ranks import Ties
from stereogauge.scores.scope import MissingRule
from stereogauge.tags import Tags
from stereogauge.version import VERSION
from stereogauge.web.answer import Answer, Bounds, Text
from stereogauge.web.hiding import Hidden
from stereogauge.web.scores.reader import ScoreReader
from stereogauge.web.source import ProtocolRecord, StoreSource


class ParameterEntry(Answer):
    """A number in a metric's id: `bad@1` has the threshold 1."""

    name: str
    unit: str
    description: str


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
    classifies: bool
    needs: list[str]
    about_pixels: bool
    parameters: list[ParameterEntry]
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
        picture=metric.has_picture,
        classifies=bool(metric.classifies),
        needs=sorted(metric.needs),
        about_pixels=metric.missing != "not about pixels",
        parameters=[ParameterEntry.of(parameter) for parameter in metric.parameters],
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


class DatasetEntry(Answer):
    """A dataset, its name in words, its scenes, and the keys of the protocols under which they have scores."""

    name: str
    title: str
    scenes: list[str]
    hidden: int
    protocols: list[str]


class SceneEntry(Answer):
    """A scene; `gaps` are the algorithms without any score on it."""

    name: str
    dataset: str
    hidden: bool
    gaps: list[str]
    tags: dict[str, list[str]]


class AlgorithmEntry(Answer):
    """An algorithm with its colour and marker (`shape` is its SVG path); `gaps` are the scenes without its scores."""

    name: str
    description: str
    link: str
    colour: str
    marker: str
    shape: str
    seconds: float | None
    scenes: int
    gaps: list[str]
    tags: dict[str, list[str]]


Names = tuple[str, ...]


def _present(source: StoreSource, protocol: str | None) -> tuple[Names, Names, Names, NDArray[np.bool_]]:
    """Algorithms, scenes, the scenes' datasets, and which algorithm has any score on which scene."""
    if not source.protocols():
        return (), (), (), np.zeros((0, 0), bool)
    cube = source.cube(source.protocol(protocol).key)
    datasets = cube.datasets or ("",) * len(cube.scenes)
    return cube.algorithms, cube.scenes, datasets, np.asarray(np.isfinite(cube.values).any(axis=2))


def _plain(tags: Tags) -> dict[str, list[str]]:
    return {name: list(values) for name, values in tags.items()}


def dataset_entries(source: StoreSource, hidden: Hidden, protocol: str | None = None) -> list[DatasetEntry]:
    """The datasets with scores under one protocol, or under any; scenes are named as under the first protocol."""
    entries: dict[str, DatasetEntry] = {}
    for record in source.protocols() if protocol is None else (source.protocol(protocol),):
        _, scenes, datasets, _ = _present(source, record.key)
        for name in dict.fromkeys(datasets):
            members = [scene for scene, dataset in zip(scenes, datasets, strict=True) if dataset == name]
            count = sum(hidden(scene, name) for scene in members)
            own = DatasetEntry(name=name, title=_title(name), scenes=members, hidden=count, protocols=[])
            entry = entries.setdefault(name, own)
            entry.protocols.append(record.key)
    return list(entries.values())


def _title(name: str) -> str:
    """The name of a dataset of a known family with its variant; of others the name that they were given."""
    identifier, _, variant = name.partition(":")
    family = families().get(identifier)
    if family is None:
        return name
    return f"{family.name} ({variant})" if variant else family.name


def scene_entries(source: StoreSource, hidden: Hidden, protocol: str | None = None) -> list[SceneEntry]:
    """The scenes with scores."""
    algorithms, scenes, datasets, present = _present(source, protocol)
    tags = source.cube(source.protocol(protocol).key).scene_tags if scenes else {}
    return [
        SceneEntry(
            name=scene,
            dataset=datasets[index],
            hidden=hidden(scene, datasets[index]),
            gaps=[algorithms[row] for row in np.flatnonzero(~present[:, index])],
            tags=_plain(tags[scene]),
        )
        for index, scene in enumerate(scenes)
    ]


def algorithm_entries(scores: ScoreReader, protocol: str | None = None) -> list[AlgorithmEntry]:
    """The algorithms with scores."""
    algorithms, scenes, _, present = _present(scores.source, protocol)
    styles = scores.styles()
    records = {record.name: record for record in scores.source.algorithms()}
    return [
        AlgorithmEntry.of(
            records[name],
            link=records[name].link if records[name].link.startswith(("http://", "https://")) else "",
            colour=styles[name].colour,
            marker=styles[name].marker,
            shape=styles[name].shape,
            scenes=int(present[row].sum()),
            gaps=[scenes[index] for index in np.flatnonzero(~present[row])],
            tags=_plain(records[name].tags),
        )
        for row, name in enumerate(algorithms)
    ]
