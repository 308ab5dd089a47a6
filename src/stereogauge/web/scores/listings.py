"""`datasets`, `scenes`, `algorithms`: everything with scores, and the gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.datasets.declaration import families
from stereogauge.tags import Tags
from stereogauge.web.answer import Answer
from stereogauge.web.hiding import Hidden
from stereogauge.web.scores.reader import ScoreReader
from stereogauge.web.source import StoreSource


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
    """An algorithm with its colour and marker; `gaps` are the scenes without any score of it."""

    name: str
    description: str
    link: str
    colour: str
    marker: str
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
            marker=styles[name].plotly_marker,
            scenes=int(present[row].sum()),
            gaps=[scenes[index] for index in np.flatnonzero(~present[row])],
            tags=_plain(records[name].tags),
        )
        for row, name in enumerate(algorithms)
    ]
