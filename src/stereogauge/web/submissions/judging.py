"""Judging and scoring the maps of a submission, in a process that knows the ground truth.

It reads only files that the server wrote itself, and answers about the one scene that it was given: findings,
or numbers by metric and region. What they belong to is added by the server.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from stereogauge.datasets.plausibility import Finding
from stereogauge.datasets.validation import check_map
from stereogauge.errors import FileError, StereogaugeError
from stereogauge.evaluation.evaluate import evaluate
from stereogauge.io.files import load_disparity
from stereogauge.model import ConfidenceKind, ResultSet, Scene
from stereogauge.protocol import Protocol

HIDDEN_SENTENCE = (
    "This map does not look like a disparity map of the left view ({kind}); check its sign, scale and view."
)
HOSTS_FAULTS = ("bad-ground-truth", "unreadable", "wrong-size")
"""Findings about files that the server wrote, or that are its own."""
NUMBERS = ("metric", "region", "value", "sum", "count", "missing", "note")
"""What the server takes of a score."""


class HostError(StereogaugeError):
    """A problem of the host that prevents every evaluation, such as a full disk."""


class SceneMaps(Struct, frozen=True):
    """The maps of one submission on one scene, as the server wrote them; in a confidence map higher is more confident.

    `directed`: the submission declares which confidence is better.
    """

    name: str
    scene: Scene
    hidden: bool
    paths: Mapping[str, Path]
    kind: ConfidenceKind = "order"
    directed: bool = False
    seconds: float | None = None


def doubts(maps: SceneMaps) -> list[Finding]:
    """What the left map looks like against the ground truth, without numbers where that is hidden."""
    if not maps.scene.has("gt"):
        return []
    found = check_map(maps.paths["map"], maps.scene)
    for one in found:
        if one.kind in HOSTS_FAULTS:
            raise HostError(f"The scene {maps.scene.id} cannot be read: {one.sentence}")
    return [_without_numbers(one) for one in found] if maps.hidden else found


def _without_numbers(found: Finding) -> Finding:
    return replace(found, kind=f"{found.kind}, hidden", sentence=HIDDEN_SENTENCE.format(kind=found.kind))


def scores(maps: SceneMaps, protocol: Protocol, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """The scores of these columns on the scene, as plain values."""
    name, paths = maps.scene.id, maps.paths
    try:
        confidence: Any = paths.get("confidence")
        if confidence is not None and maps.kind == "sigma":
            confidence = -load_disparity(confidence)
        result = ResultSet(
            maps.name,
            {name: load_disparity(paths["map"])},
            right_maps={name: paths["right"]} if "right" in paths else {},
            confidence={} if confidence is None else {name: confidence},
            confidence_better="lower" if maps.kind == "sigma" else "higher" if maps.directed else None,
            confidence_kind=maps.kind,
            seconds={} if maps.seconds is None else {name: maps.seconds},
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is doubtful about the map is a finding of `doubts`
            found = evaluate(result, maps.scene, list(columns), [], protocol)
    except (FileError, OSError) as trouble:
        raise HostError(f"The scene {name} cannot be read: {trouble}") from trouble
    return [{part: getattr(score, part) for part in NUMBERS} for score in found]
