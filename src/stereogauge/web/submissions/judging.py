"""Judging and scoring the maps of a submission, in a process that knows the ground truth.

It reads only files that the server wrote itself, and answers about the one scene that it was given: findings,
or numbers. What they belong to is added by the server.
"""

from __future__ import annotations

from msgspec.structs import replace

from stereogauge.confidence_measures.files import ConfidenceSource
from stereogauge.datasets.plausibility import Finding
from stereogauge.datasets.validation import check_map
from stereogauge.errors import FileError, StereogaugeError
from stereogauge.evaluation.evaluate import SceneEstimate, evaluate_cell
from stereogauge.io.files import load_disparity
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.model import DisparitySource, ResultSet, Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.column import VersionedColumn
from stereogauge.scores.score import Score

HIDDEN_SENTENCE = (
    "This map does not look like a disparity map of the left view ({kind}); check its sign, scale and view."
)
HOSTS_FAULTS = ("bad-ground-truth", "unreadable", "wrong-size")
"""Findings about files that the server wrote, or that are its own."""


class HostError(StereogaugeError):
    """A problem of the host that prevents every evaluation, such as a full disk."""

    @classmethod
    def unreadable(cls, scene: Scene, why: object) -> HostError:
        """The error for a scene whose files, or those that the server wrote for it, cannot be read."""
        return cls(f"The scene {scene.id} cannot be read: {why}")


def doubts(estimate: DisparitySource, scene: Scene, hidden: bool) -> list[Finding]:
    """What the left map looks like against the ground truth, without numbers where that is hidden."""
    found = check_map(estimate, scene) if scene.has("gt") else []
    for one in found:
        if one.kind in HOSTS_FAULTS:
            raise HostError.unreadable(scene, one.sentence)
    if not hidden:
        return found
    return [replace(one, kind=f"{one.kind}, hidden", sentence=HIDDEN_SENTENCE.format(kind=one.kind)) for one in found]


def scores(result: ResultSet, scene: Scene, protocol: Protocol, columns: tuple[VersionedColumn, ...]) -> list[Score]:
    """The scores of a submission on a scene; its confidence maps were written as higher = surer."""
    try:
        wanted = [column.column for column in columns]
        cell, source = SceneEstimate.of(result, scene, wanted), result.confidence.get(scene.id)
        if source is not None and result.confidence_kind == "sigma":
            cell = replace(cell, confidence=ConfidenceSource(-load_disparity(source), "lower", "sigma"))
        return evaluate_cell(cell, SceneRegions(scene, protocol), wanted)
    except (FileError, OSError) as trouble:
        raise HostError.unreadable(scene, trouble) from trouble
