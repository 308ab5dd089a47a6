"""Everything that is wrong with results, said at once before anything is computed.

A problem makes the results unfit as they are; a note is worth knowing. Nothing is raised for a bad map: it becomes a
finding, and the others are still checked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from stereogauge.datasets.layout import MAP_SUFFIXES, list_results, map_name
from stereogauge.datasets.plausibility import NOTE, PROBLEM, Finding, map_doubts, scene_doubts
from stereogauge.datasets.results.find import find_results
from stereogauge.errors import FileError, SizeError, StereogaugeError, Unreachable
from stereogauge.io.content import display_name
from stereogauge.io.files import load_disparity, load_numbers
from stereogauge.io.inspection import FileReport, inspect_disparity, map_suspicions
from stereogauge.model import ConfidenceMaps, Dataset, DisparitySource, ResultSet, Scene
from stereogauge.text import shortened

SHOWN = 6

Progress = Callable[[int, int, str], None]


class Validation(Struct, frozen=True):
    """What was looked at and what was found; `ok` when there is no problem (notes do not count)."""

    path: str
    dataset: str
    algorithms: tuple[str, ...]
    maps: int
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not any(finding.severity == PROBLEM for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**msgspec.to_builtins(self), "ok": self.ok}


def validate_results(
    path: str | os.PathLike[str],
    dataset: Dataset,
    *,
    progress: Progress = lambda done, total, what: None,
    **options: Any,
) -> Validation:
    """Check all results in a folder or zip against the ground truth; `options` are those of `find_results`."""
    found = find_results(path, dataset, **options)
    maps = [name for name in found.unrecognised if map_name(name)[1] in MAP_SUFFIXES]
    others = [name for name in found.unrecognised if name not in set(maps)]
    findings = unplaced(maps, others, dataset.name, dataset.ids)
    for result in found.results:
        missing = [scene.id for scene in dataset if scene.has("gt") and scene.id not in result.maps]
        findings += gaps(missing, len(dataset), result.name)
    total, done = sum(len(result.maps) for result in found.results), 0
    for scene in dataset:
        for result in found.results:
            findings += _check_further(result, scene)
            if scene.id not in result.maps:
                continue
            findings += check_map(result.maps[scene.id], scene, result.name)
            done += 1
            progress(done, total, f"{result.name} {scene.id}")
        findings += scene_doubts(scene)
        scene.release()
    if not found.results:
        findings.append(
            Finding(
                "no-results",
                f"No result for a scene of {dataset.name} was recognised; give a path template such as "
                f"'{{algorithm}}/{{scene}}.png'.",
            )
        )
    order = {result.name: index for index, result in enumerate(found.results)}
    findings.sort(key=lambda finding: (finding.severity != PROBLEM, order.get(finding.algorithm, len(order))))
    return Validation(str(path), dataset.name, tuple(order), total, tuple(findings))


def check_map(source: DisparitySource, scene: Scene, algorithm: str = "") -> list[Finding]:
    """What is wrong with one map of one scene: at most one problem, the most basic one.

    A map of another size is read to tell why it has it.
    """
    where = {"algorithm": algorithm, "scene": scene.id, "file": _name(source)}
    try:
        truth = scene.gt if scene.has("gt") else None
    except Unreachable:
        raise
    except StereogaugeError as error:
        return [Finding("bad-ground-truth", str(error), **where)]
    try:
        estimate = load_disparity(source)
    except Unreachable:
        raise
    except StereogaugeError as error:
        return [Finding(_why_unread(error), str(error), **where)]
    alone = map_suspicions(estimate, source)[:1] if truth is None else []
    found = [Finding("suspicious", suspected.sentence, **where) for suspected in alone]
    return found + map_doubts(algorithm, estimate, scene, source, sized=False)


def _check_further(result: ResultSet, scene: Scene) -> list[Finding]:
    """What is wrong with the right map and the confidence maps of one scene."""
    confidence = result.other_confidence or {"": ConfidenceMaps(result.confidence)}
    kinds = {"right map": result.right_maps, **{f"confidence map {name}": one.maps for name, one in confidence.items()}}
    there = {what.strip(): maps[scene.id] for what, maps in kinds.items() if scene.id in maps}
    return [finding for what, source in there.items() for finding in _check_readable(source, scene, result.name, what)]


def _check_readable(source: DisparitySource, scene: Scene, algorithm: str, what: str) -> list[Finding]:
    """Whether a map that accompanies the left one can be read, has the scene's size, and has a value."""
    where = {"algorithm": algorithm, "scene": scene.id, "file": _name(source)}
    try:
        shape = scene.shape if scene.has("gt") or scene.has("left") else None
    except StereogaugeError as error:
        return [Finding("bad-ground-truth", str(error), **where)]
    try:
        values = load_disparity(source, shape) if what == "right map" else load_numbers(source, shape)
    except StereogaugeError as error:
        return [Finding(_why_unread(error), f"The {what}: {error}", **where)]
    return [] if np.isfinite(values).any() else [Finding("no-values", f"The {what} has no value.", **where)]


def _why_unread(error: StereogaugeError) -> str:
    return "wrong-size" if isinstance(error, SizeError) else "unreadable"


def validate_files(
    path: str | os.PathLike[str],
    *,
    progress: Progress = lambda done, total, what: None,
    **decoding: Any,
) -> Validation:
    """Check every map in a folder or zip by itself; `decoding` are the encoding, scale and offset of all of them."""
    files = list_results(path)
    names = [name for name in files.names if map_name(name)[1] in MAP_SUFFIXES]
    findings = []
    for done, name in enumerate(names, start=1):
        findings += inspect_file(files.path(name), **decoding)[1]
        progress(done, len(names), name)
    if not names:
        findings.append(Finding("no-results", f"{path} holds no disparity map ({', '.join(MAP_SUFFIXES)})."))
    return Validation(str(path), "", (), len(names), tuple(findings))


def inspect_file(path: str | os.PathLike[str], **decoding: Any) -> tuple[FileReport | None, list[Finding]]:
    """The report on a single file, None when it cannot be read, and what is wrong with it."""
    name = display_name(path)
    try:
        seen = inspect_disparity(path, **decoding)
    except FileError as error:
        return None, [Finding("unreadable", str(error), file=name)]
    return seen, [Finding("suspicious", sentence, file=name) for sentence in seen.problems]


def unplaced(maps: Sequence[str], others: Sequence[str], dataset: str, scenes: Sequence[str]) -> list[Finding]:
    """What is said of maps that match no scene, and of files that are no results."""
    findings = []
    if maps:
        known = f"scenes are {shortened(scenes, SHOWN)}"
        sentence = f"{len(maps)} map(s) match no scene of {dataset}: {shortened(maps, SHOWN)}; {known}."
        findings.append(Finding("unknown-scene", sentence))
    if others:
        sentence = f"{len(others)} file(s) are not results: {shortened(others, SHOWN)}."
        findings.append(Finding("unrecognised", sentence, NOTE))
    return findings


def gaps(missing: Sequence[str], scenes: int, algorithm: str = "") -> list[Finding]:
    """What is said of scenes without a map."""
    sentence = f"{len(missing)} of {scenes} scenes have no map: {shortened(missing, SHOWN)}."
    return [Finding("missing-scenes", sentence, algorithm=algorithm)] if missing else []


def _name(source: DisparitySource) -> str:
    path = getattr(source, "path", source)
    return display_name(path) if isinstance(path, str | os.PathLike) else "array"
