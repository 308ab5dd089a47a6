"""Where maps and scenes come from when a decision is looked at in pixels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from stereogauge.model import Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.cube import ScoreCube
from stereogauge.store import Store


class Origins(NamedTuple):
    """Functions of names, so that a store or folders serve alike; `source` is None where a map is not at hand."""

    scene: Callable[[str], Scene]
    source: Callable[[str, str], Any]
    protocol: Protocol | None


def store_origins(store: Store, cube: ScoreCube, protocol: Protocol | None) -> Origins:
    """The origins that a store remembers, for the scenes of a cube."""
    dataset: Mapping[str, str] = dict(zip(cube.scenes, cube.datasets, strict=True))

    def bare(name: str) -> str:
        return name.removeprefix(f"{dataset[name]}/")

    return Origins(
        scene=lambda name: store.scene(dataset[name], bare(name)),
        source=lambda algorithm, name: store.map_source(algorithm, dataset[name], bare(name)),
        protocol=protocol,
    )


def map_origins(
    scenes: Mapping[str, Scene], maps: Mapping[str, Mapping[str, Any]], protocol: Protocol | None = None
) -> Origins:
    """Origins from scenes by name and maps by algorithm and scene."""
    return Origins(
        scene=lambda name: scenes[name],
        source=lambda algorithm, name: maps.get(algorithm, {}).get(name),
        protocol=protocol,
    )
