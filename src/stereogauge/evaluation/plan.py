"""What must be computed: the cells of results on a dataset that a store does not hold yet for exactly these inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from stereogauge.confidence_measures.files import ConfidenceSource, every_confidence
from stereogauge.evaluation.evaluate import check_names, next_map
from stereogauge.evaluation.fingerprints import ContentHashes, fingerprint, scene_contents
from stereogauge.evaluation.worker import CellGroup, PlannedCell
from stereogauge.metrics.measurement import Fact
from stereogauge.model import Dataset, ResultSet, Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.column import Column, columns_of_scene, confidence_columns, declared_columns
from stereogauge.store import Store
from stereogauge.store.write import Failure

LARGEST_GROUP = 32
"""The most cells of one task, so that an interruption costs little."""
TASKS_PER_WORKER = 4
"""The fewest tasks per worker where there are enough cells, so that all workers end at about the same time."""

Facts = Mapping[tuple[str, str], Mapping[str, Fact]]


@dataclass(frozen=True)
class Plan:
    """What to compute, scene by scene.

    `stored` counts the cells that the store holds already; `gaps` are (algorithm, scene) without a map; `unreadable`
    are cells whose files cannot be read.
    """

    dataset: Dataset
    protocol: Protocol
    results: tuple[ResultSet, ...]
    contents: Mapping[str, str]
    scenes: tuple[CellGroup, ...]
    stored: int
    gaps: tuple[tuple[str, str], ...]
    unreadable: tuple[Failure, ...]

    @property
    def cells(self) -> int:
        """How many cells must be computed."""
        return sum(len(group.cells) for group in self.scenes)

    @property
    def scores(self) -> int:
        """How many scores that will give."""
        return sum(len(cell.columns) for group in self.scenes for cell in group.cells)

    def groups(self, workers: int) -> list[CellGroup]:
        """The work in tasks of one scene each, small enough that `workers` end together."""
        size = (
            max(1, min(LARGEST_GROUP, math.ceil(self.cells / (workers * TASKS_PER_WORKER))))
            if workers > 1
            else LARGEST_GROUP
        )
        return [
            replace(group, cells=group.cells[start : start + size])
            for group in self.scenes
            for start in range(0, len(group.cells), size)
        ]


def make_plan(
    store: Store,
    dataset: Dataset,
    results: Iterable[ResultSet],
    protocol: Protocol,
    *,
    facts: Facts = MappingProxyType({}),
    resize: bool = False,
    hashes: ContentHashes | None = None,
) -> Plan:
    """Compare what is wanted with what `store` holds.

    `facts` are further facts of runs by (algorithm, scene), such as `cpu_seconds`. A file that cannot be read does not
    stop the others.
    """
    sets = tuple(results)
    further = every_confidence(sets)
    check_names([*sets, *further], dataset.ids)
    declared = declared_columns(protocol)
    wanted = {scene.id: columns_of_scene(declared, scene, dataset) for scene in dataset}
    of_confidence = set(confidence_columns(declared)) if further else set()
    further = further if of_confidence else []
    names = {result.name for result in further}
    hashes = hashes or ContentHashes(store)
    contents = scene_contents([scene for scene in dataset if any(scene.id in r.maps for r in sets)], hashes)
    own = [column.column for column in declared]
    pairs = [(scene, result) for scene in dataset for result in (*sets, *further) if scene.id in result.maps]
    sources = [_sources(scene, result, own) for scene, result in pairs]
    hashed = iter(hashes.of([source for parts in sources for source in parts.values()]))
    stored = store.stored(dataset.name, protocol.scoring_hash)
    work: dict[str, list[PlannedCell]] = {}
    unreadable: list[Failure] = []
    done = 0
    for (scene, result), parts in zip(pairs, sources, strict=True):
        whole, content = contents[scene.id], {part: next(hashed) for part in parts}
        problems = [answer for answer in (whole, *content.values()) if not isinstance(answer, str)]
        if problems:
            unreadable.append(Failure(dataset.name, scene.id, result.name, protocol.scoring_hash, str(problems[0])))
            continue
        known = {"seconds": result.seconds[scene.id]} if scene.id in result.seconds else {}
        extras: dict[str, Fact] = {**known, **facts.get((result.name, scene.id), {})}
        confidence = ConfidenceSource.of(result, scene.id)
        further_inputs = [] if confidence is None else [content["confidence"], confidence.better, confidence.kind]
        further_inputs += [content[part] for part in ("next", "next truth") if part in content]
        inputs = fingerprint([whole, content["map"], content.get("right", ""), extras, resize, *further_inputs])
        columns = wanted[scene.id]
        if result.name in names:
            columns = tuple(column for column in columns if column in of_confidence)
        missing = stored.missing(scene.id, result.name, inputs, columns)
        if not missing:
            done += 1
            continue
        cell = PlannedCell(
            algorithm=result.name,
            estimate=parts["map"],
            columns=missing,
            inputs=inputs,
            content=str(content["map"]),
            right_estimate=parts.get("right"),
            next_estimate=parts.get("next"),
            confidence=confidence,
            extras=extras,
        )
        work.setdefault(scene.id, []).append(cell)
    return Plan(
        dataset=dataset,
        protocol=protocol,
        results=sets,
        contents={name: answer for name, answer in contents.items() if isinstance(answer, str)},
        scenes=tuple(CellGroup(dataset[name], protocol, tuple(cells), resize) for name, cells in work.items()),
        stored=done,
        gaps=tuple((result.name, scene.id) for result in sets for scene in dataset if scene.id not in result.maps),
        unreadable=tuple(unreadable),
    )


def _sources(scene: Scene, result: ResultSet, columns: Sequence[Column]) -> dict[str, Any]:
    """What a cell reads beside its scene."""
    following = next_map(result, scene, columns)
    found = {
        "map": result.maps[scene.id],
        "right": result.right_maps.get(scene.id),
        "confidence": result.confidence.get(scene.id),
        "next": following,
        "next truth": None if following is None else scene.source("gt_next"),
    }
    return {part: source for part, source in found.items() if source is not None}
