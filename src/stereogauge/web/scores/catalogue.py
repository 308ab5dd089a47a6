"""Everything that can be chosen: declarations, and the data sets, scenes and algorithms that have scores."""

from __future__ import annotations

import functools
import io
import re
import typing
from contextlib import suppress
from typing import Annotated, Any

import numpy as np
from msgspec import structs

from stereogauge.datasets.declaration import families
from stereogauge.decision.requirements import Requirements
from stereogauge.decision.source import Source, compatibility
from stereogauge.decision.verdict import LEAST_MEASURED
from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.loading import entry_types, is_table, options_of
from stereogauge.masks.declaration import declared_regions
from stereogauge.metrics.declaration import COUNTS, MISSING, SCALING, Metric
from stereogauge.metrics.registry import metrics
from stereogauge.protocol import Protocol
from stereogauge.ranking.model import models
from stereogauge.ranking.profile import load_profile, property_of, shipped_profiles
from stereogauge.ranking.ranks import Normalisation, Ties
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.scope import DRAWS, Aggregation, MissingRule
from stereogauge.store.listing import StoredAlgorithm
from stereogauge.store.write import SUBMISSION
from stereogauge.text import json_value
from stereogauge.version import VERSION
from stereogauge.web.hiding import Hidden
from stereogauge.web.responses import Plain, plain
from stereogauge.web.scores.reader import ScoreReader, aggregation_name
from stereogauge.web.selection import SelectionQuery
from stereogauge.web.source import USUAL_PROFILE, ProtocolRecord, StoreSource, scene_places

STORE = "STORE"
"""The store in commands: its path is not shown to visitors."""
METRIC = ("id", "name", "formula", "unit", "direction", "range", "heuristic_range", "region", "pools", "source")
MODEL = ("id", "name", "definition", "source", "value_name", "classes", "options")
PROTOCOL = ("hash", "description", "model", "metrics", "regions", "scene_weights", "aggregation")
NOT_ABOUT_PIXELS = "not about pixels"


def catalogue_answer(records: tuple[ProtocolRecord, ...], *, submissions: bool) -> Plain:
    """Everything that can be chosen on a site with scores under these protocols."""
    return {
        "version": VERSION,
        "submissions": submissions,
        "metrics": [_metric(metric) for metric in metrics().values()],
        "regions": [
            plain(one, ("id", "name", "definition", "source"), description=" ".join(one.description.split()))
            for one in declared_regions().values()
        ],
        "models": [plain(model, MODEL) for model in models().values()],
        "profiles": [
            plain(load_profile(name), ("name", "purpose", "description", "weights"), id=name)
            for name in shipped_profiles()
        ],
        "protocols": [_protocol(record) for record in records],
        "normalisations": typing.get_args(Normalisation),
        "ties": typing.get_args(Ties),
        "missing_rules": typing.get_args(MissingRule),
        "aggregations": typing.get_args(Aggregation),
        "requirements": requirement_fields(),
        "draws": DRAWS,
    }


def _metric(metric: Metric) -> Plain:
    """A metric's declaration; `counts` says what the count of a score is a number of."""
    return plain(
        metric,
        METRIC,
        missing=MISSING[metric.missing],
        scaling=SCALING[metric.scaling],
        counts=COUNTS[metric.counts],
        picture=metric.has_picture,
        classifies=bool(metric.wrong),
        needs=sorted(metric.needs),
        about_pixels=metric.missing != NOT_ABOUT_PIXELS,
        parameters=[plain(one, ("name", "unit", "description")) for one in metric.parameters],
        description=" ".join(metric.description.split()),
    )


def requirement_fields() -> list[Plain]:
    """The numbers of requirements with their units and help, as their declaration has them."""
    found = []
    for table, kind in entry_types(Requirements).items():
        for option in filter(is_table, options_of(kind)):
            for name, own in entry_types(option).items():
                number = next(one for one in (own, *typing.get_args(own)) if typing.get_origin(one) is Annotated)
                meta = typing.get_args(number)[1]
                found.append({"table": table, "name": name, "unit": meta.extra["unit"], "help": meta.description})
    return found


def _protocol(record: ProtocolRecord) -> Plain:
    """A protocol with its whole text; `key` selects its scores, `also` lists others with the same scoring choices."""
    own: Plain = {"key": record.key, "name": record.name, "also": record.also}
    if record.protocol is not None:
        return plain(record.protocol, PROTOCOL, **own, text=record.protocol.to_toml())
    text = "The store knows only the hash of this protocol."
    return plain(Protocol(), PROTOCOL) | own | {"hash": record.key, "description": "", "text": text}


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


def dataset_entries(source: StoreSource, hidden: Hidden, protocol: str | None = None) -> list[Plain]:
    """The datasets with scores under one protocol, or under any: their titles, scenes, and keys of protocols."""
    entries: dict[str, Plain] = {}
    for record in source.protocols() if protocol is None else (source.protocol(protocol),):
        for place in scene_places(source.cube(record.key)).values():
            name = place.dataset
            own: Plain = {"name": name, "title": _title(name), "scenes": [], "hidden": 0, "protocols": []}
            entry = entries.setdefault(name, own)
            if place.scene not in entry["scenes"]:
                entry["scenes"].append(place.scene)
                entry["hidden"] += hidden(place.scene, name)
            if record.key not in entry["protocols"]:
                entry["protocols"].append(record.key)
    return list(entries.values())


def _title(name: str) -> str:
    """The name of a dataset of a known family with its variant; of others the name that they were given."""
    identifier, _, variant = name.partition(":")
    family = families().get(identifier)
    if family is None:
        return name
    return f"{family.name} ({variant})" if variant else family.name


def scene_entries(cube: ScoreCube, hidden: Hidden) -> list[Plain]:
    """The scenes with scores; `gaps` are the algorithms without any score on one."""
    present = np.asarray(np.isfinite(cube.values).any(axis=2))
    return [
        {
            "name": name,
            "dataset": place.dataset,
            "id": place.scene,
            "hidden": hidden(place.scene, place.dataset),
            "gaps": [cube.algorithms[row] for row in np.flatnonzero(~present[:, index])],
            "tags": json_value(dict(cube.scene_tags[name])),
        }
        for index, (name, place) in enumerate(scene_places(cube).items())
    ]


def algorithm_entries(scores: ScoreReader, cube: ScoreCube) -> list[Plain]:
    """The algorithms with scores, each with its colour and marker (`shape` is its SVG path).

    `gaps` are the scenes without its scores. One that is not public is the visitor's own submission.
    """
    present = np.asarray(np.isfinite(cube.values).any(axis=2))
    styles = scores.source.styles(cube.algorithms)
    records = {record.name: record for record in scores.source.algorithms()}
    return [
        {
            "name": name,
            "colour": styles[name].colour,
            "marker": styles[name].marker,
            "shape": styles[name].shape,
            "scenes": int(present[row].sum()),
            "gaps": [cube.scenes[index] for index in np.flatnonzero(~present[row])],
            **_known(records.get(name)),
        }
        for row, name in enumerate(cube.algorithms)
    ]


def _known(record: StoredAlgorithm | None) -> Plain:
    """What the submitter said of an algorithm: authors, publication, code, hardware, parameters and the like."""
    if record is None:
        return {"own": True, "description": "your submission", "link": "", "seconds": None, "tags": {}, "metadata": {}}
    link = record.link if record.link.startswith(("http://", "https://")) else ""
    said = {str(name): str(value) for name, value in record.metadata.items() if name != SUBMISSION}
    tags = json_value({name: list(values) for name, values in record.tags.items()})
    return plain(record, ("description", "seconds"), own=False, link=link, tags=tags, metadata=said)


def scope_answer(scores: ScoreReader, query: SelectionQuery) -> Plain:
    """What the parts of a scope can be here, and what they are where a request leaves them open.

    `purpose` is the profile that applies by default, or weights where the usual profile is mostly not measured;
    `composed` are the weights of the scope's proportions.
    """
    query = structs.replace(query, need=None)
    record = scores.record(query)
    cube = scores.values(query)
    source = Source(scores.ordered(query), record.protocol, STORE)
    found = {name: compatibility(source, load_profile(name)) for name in shipped_profiles()}
    weights = default_weights(scores, query)
    model, composed = (record.protocol or Protocol()).model, None
    with suppress(StereogaugeError):  # the calls that answer say why they refuse the proportions
        composed = dict(scores.weights(query, None) or {}) or None
    try:
        scores.ranking(query, model, {})
    except StereogaugeError:  # the protocol's own model cannot order these scores
        model = "weighted"
    return {
        "dataset": query.dataset,
        "protocol": record.key,
        "aggregation": aggregation_name(scores.aggregation(query)),
        "model": model,
        "purpose": {"profile": None if weights else USUAL_PROFILE, "weights": weights},
        "composed": composed,
        "profiles": [
            {"id": name, "measured_share": own.share, "note": own.sentence, "command": own.command}
            for name, own in found.items()
        ],
        "scenes": scene_entries(cube, scores.hidden),
        "algorithms": algorithm_entries(scores, cube),
        "columns": [
            column_info(column, cube.depth_unit, int(cube.applies[:, place].sum()))
            for place, column in enumerate(cube.columns)
        ],
    }


def default_weights(scores: ScoreReader, query: SelectionQuery) -> dict[str, float] | None:
    """The weights of a data set for which the usual profile is mostly not measured: every metric about pixels alike."""
    whole = SelectionQuery(dataset=query.dataset, protocol=query.protocol, submission=query.submission)
    source = Source(scores.ordered(whole), scores.record(whole).protocol, STORE)
    if compatibility(source, load_profile(USUAL_PROFILE)).share >= LEAST_MEASURED:
        return None
    cube = source.cube
    columns = [column for place, column in enumerate(cube.columns) if cube.applies[:, place].any()]
    return {column.metric: 1.0 for column in columns if column.declared.metric.missing != NOT_ABOUT_PIXELS} or None


def column_info(column: Column, depth_unit: str, scenes: int) -> Plain:
    """What a column's header shows; `scenes` counts those on which any algorithm has a score in it."""
    metric = column.declared.metric
    about = metric.missing != NOT_ABOUT_PIXELS
    return plain(
        metric,
        ("direction", "pools", "counts"),
        id=str(column),
        metric=column.metric,
        region=column.region,
        label=column.label,
        property=property_of(str(column)) if about else "run time",
        unit=column.unit(depth_unit),
        scenes=scenes,
    )
