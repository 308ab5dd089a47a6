"""`datasets`, `scenes`, `algorithms`: what there is, with its gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from stereogauge.web.hiding import Hidden
from stereogauge.web.scores.desk import Desk
from stereogauge.web.selection import Asked


class DatasetEntry(BaseModel):
    """A dataset, its scenes, and the keys of the protocols under which they have scores."""

    name: str
    scenes: list[str]
    hidden: int
    protocols: list[str]


class SceneEntry(BaseModel):
    """A scene; `gaps` are the algorithms without any score on it."""

    name: str
    dataset: str
    hidden: bool
    gaps: list[str]


class AlgorithmEntry(BaseModel):
    """An algorithm with its colour and marker; `gaps` are the scenes without any score of it."""

    name: str
    description: str
    link: str
    colour: str
    marker: str
    seconds: float | None
    scenes: int
    gaps: list[str]


Names = tuple[str, ...]


def _present(desk: Desk, protocol: str | None) -> tuple[Names, Names, Names, NDArray[np.bool_]]:
    """Algorithms, scenes, their datasets, and who has any score where."""
    if not desk.source.protocols():
        return (), (), (), np.zeros((0, 0), bool)
    cube = desk.everything(Asked(protocol=protocol))
    return cube.algorithms, cube.scenes, cube.datasets, np.asarray(np.isfinite(cube.values).any(axis=2))


def dataset_entries(desk: Desk, hidden: Hidden, protocol: str | None = None) -> list[DatasetEntry]:
    """The datasets that have scores: under one protocol, or under any. Scenes have the names of the first with them."""
    entries: dict[str, DatasetEntry] = {}
    for record in desk.source.protocols() if protocol is None else (desk.protocol(Asked(protocol=protocol)),):
        _, scenes, datasets, _ = _present(desk, record.key)
        owners = datasets or ("",) * len(scenes)
        for name in dict.fromkeys(owners):
            own = [scene for scene, owner in zip(scenes, owners, strict=True) if owner == name]
            count = sum(hidden(scene, name) for scene in own)
            entry = entries.setdefault(name, DatasetEntry(name=name, scenes=own, hidden=count, protocols=[]))
            entry.protocols.append(record.key)
    return list(entries.values())


def scene_entries(desk: Desk, hidden: Hidden, protocol: str | None = None) -> list[SceneEntry]:
    """The scenes that have scores."""
    algorithms, scenes, datasets, present = _present(desk, protocol)
    owners = datasets or ("",) * len(scenes)
    return [
        SceneEntry(
            name=scene,
            dataset=owners[place],
            hidden=hidden(scene, owners[place]),
            gaps=[algorithms[row] for row in np.flatnonzero(~present[:, place])],
        )
        for place, scene in enumerate(scenes)
    ]


def algorithm_entries(desk: Desk, protocol: str | None = None) -> list[AlgorithmEntry]:
    """The algorithms that have scores."""
    algorithms, scenes, _, present = _present(desk, protocol)
    styles = desk.styles()
    records = {record.name: record for record in desk.source.algorithms()}
    return [
        AlgorithmEntry(
            name=name,
            description=records[name].description,
            link=records[name].link if records[name].link.startswith(("http://", "https://")) else "",
            colour=styles[name].colour,
            marker=styles[name].plotly_marker,
            seconds=records[name].seconds,
            scenes=int(present[row].sum()),
            gaps=[scenes[place] for place in np.flatnonzero(~present[row])],
        )
        for row, name in enumerate(algorithms)
    ]
