"""Everything that is wrong with results, said at once before anything is computed.

A problem makes the results unfit as they are; a note is worth knowing. Nothing is raised for a bad map: it becomes a
finding, and the others are still checked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stereogauge.datasets.layout import MAP_SUFFIXES, map_name
from stereogauge.datasets.plausibility import calibration_doubt, lossy_doubt, suspicion
from stereogauge.datasets.results.files import list_results
from stereogauge.datasets.results.find import FoundResults, find_results
from stereogauge.errors import FileError, SizeError, StereogaugeError, Unreachable
from stereogauge.io.content import display_name
from stereogauge.io.disparity import FileReport, inspect_disparity, report
from stereogauge.io.files import load_disparity, load_numbers
from stereogauge.model import Dataset, DisparityMap, DisparitySource, ResultSet, Scene

PROBLEM, NOTE = "problem", "note"
QUESTIONS = ("one-value", "offset")
"""Findings that a map without any mistake may have: a matcher may find one disparity too often, or be biased."""
SHOWN = 6
CUT = "A map that is sent has the size of its scene; cut it before, instead of giving crop."

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Finding:
    """One sentence about a map, about an algorithm (no scene), or about files that belong to none."""

    kind: str
    sentence: str
    severity: str = PROBLEM
    algorithm: str = ""
    scene: str = ""
    file: str = ""


@dataclass(frozen=True)
class Validation:
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
        return {
            "path": self.path,
            "dataset": self.dataset,
            "ok": self.ok,
            "algorithms": list(self.algorithms),
            "maps": self.maps,
            "findings": [vars(finding) for finding in self.findings],
        }


def validate_results(
    path: str | os.PathLike[str],
    dataset: Dataset,
    *,
    progress: Progress = lambda done, total, what: None,
    submitted: bool = False,
    **options: Any,
) -> Validation:
    """Check all results in a folder or zip against the ground truth; `options` are those of `find_results`.

    Of `submitted` results, which come from a third party, no map of another size than its scene is decoded, and the
    dataset itself is not judged.
    """
    found = find_results(path, dataset, **options)
    findings = _unplaced(found, dataset)
    for result in found.results:
        findings += _gaps(result, dataset)
    total, done = sum(len(result.maps) for result in found.results), 0
    for scene in dataset:
        for result in found.results:
            findings += _check_further(found, result, scene, submitted)
            if scene.id not in result.maps:
                continue
            findings += check_map(result.maps[scene.id], scene, result.name, submitted=submitted)
            done += 1
            progress(done, total, f"{result.name} {scene.id}")
        findings += [] if submitted else _calibration_findings(scene)
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


def check_map(source: DisparitySource, scene: Scene, algorithm: str = "", *, submitted: bool = False) -> list[Finding]:
    """What is wrong with one map of one scene: at most one problem, the most basic one.

    A map of another size is read to tell why it has it; a `submitted` one is not, since its size may be meant to do
    harm.
    """
    where = {"algorithm": algorithm, "scene": scene.id, "file": _name(source)}
    try:
        truth = scene.gt if scene.has("gt") else None
    except Unreachable:
        raise
    except StereogaugeError as error:
        return [Finding("bad-ground-truth", str(error), **where)]
    if submitted and _is_cut(source):
        return [Finding("wrong-size", CUT, **where)]
    try:
        shape = None if truth is None or not submitted else (truth.shape[0], truth.shape[1])
        estimate = load_disparity(source, shape)
    except SizeError as error:
        sentence = str(error) if truth is None or error.found is None else _sizes(error.found, truth)
        return [Finding("wrong-size", sentence, **where)]
    except Unreachable:
        raise
    except StereogaugeError as error:
        return [Finding("unreadable", str(error), **where)]
    lossy = lossy_doubt(source)
    notes = [] if lossy is None else [Finding(*lossy, severity=NOTE, **where)]
    if truth is None:
        problems = report(estimate, where["file"], "").problems
        return [Finding("suspicious", problem, **where) for problem in problems[:1]] + notes
    suspected = suspicion(estimate, truth, scene.calibration, source)
    if suspected is None:
        return notes
    return [Finding(*suspected, severity=NOTE if suspected.kind in QUESTIONS else PROBLEM, **where), *notes]


def _calibration_findings(scene: Scene) -> list[Finding]:
    try:
        doubt = calibration_doubt(scene.calibration, scene.gt) if scene.has("gt") else None
    except StereogaugeError:
        return []  # an unreadable ground truth is a finding of its maps
    return [] if doubt is None else [Finding(*doubt, scene=scene.id)]


def _check_further(found: FoundResults, result: ResultSet, scene: Scene, submitted: bool) -> list[Finding]:
    """What is wrong with the right map and the confidence maps of one scene."""
    maps: dict[str, DisparitySource] = {}
    if scene.id in result.right_maps:
        maps["right map"] = result.right_maps[scene.id]
    for (name, measure), source in found.confidence.get(result.name, {}).items():
        if name == scene.id:
            maps[f"confidence map {measure}".strip()] = source
    if submitted:
        maps = {what: source for what, source in maps.items() if not _is_cut(source)}  # the left maps are reported
    return [finding for what, source in maps.items() for finding in _check_readable(source, scene, result.name, what)]


def _check_readable(source: DisparitySource, scene: Scene, algorithm: str, what: str) -> list[Finding]:
    """Whether a map that accompanies the left one can be read, has the scene's size, and has a value."""
    where = {"algorithm": algorithm, "scene": scene.id, "file": _name(source)}
    try:
        shape = scene.shape if scene.has("gt") or scene.has("left") else None
    except StereogaugeError as error:
        return [Finding("bad-ground-truth", str(error), **where)]
    try:
        values = load_disparity(source, shape) if what == "right map" else load_numbers(source, shape)
    except SizeError as error:
        return [Finding("wrong-size", f"The {what}: {error}", **where)]
    except StereogaugeError as error:
        return [Finding("unreadable", f"The {what}: {error}", **where)]
    return [] if np.isfinite(values).any() else [Finding("no-values", f"The {what} has no value.", **where)]


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


def _unplaced(found: FoundResults, dataset: Dataset) -> list[Finding]:
    maps = [name for name in found.unrecognised if map_name(name)[1] in MAP_SUFFIXES]
    others = [name for name in found.unrecognised if name not in set(maps)]
    findings = []
    if maps:
        sentence = (
            f"{len(maps)} map(s) match no scene of {dataset.name} and are left out: {_some(maps)}; scenes are "
            f"{_some(dataset.ids)}."
        )
        findings.append(Finding("unknown-scene", sentence))
    if others:
        findings.append(Finding("unrecognised", f"{len(others)} file(s) are not results: {_some(others)}.", NOTE))
    return findings


def _gaps(result: ResultSet, dataset: Dataset) -> list[Finding]:
    missing = [scene.id for scene in dataset if scene.has("gt") and scene.id not in result.maps]
    if not missing:
        return []
    sentence = f"{len(missing)} of {len(dataset)} scenes have no map: {_some(missing)}."
    return [Finding("missing-scenes", sentence, algorithm=result.name)]


def _some(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _sizes(found: tuple[int, int], truth: DisparityMap) -> str:
    (width, height), (known_height, known_width) = found, truth.shape
    return f"The map has {width} × {height} pixels, the ground truth {known_width} × {known_height}."


def _is_cut(source: DisparitySource) -> bool:
    """Whether a part is cut out of a file, whose size may then be any."""
    return bool(getattr(source, "crop", ()))


def _name(source: DisparitySource) -> str:
    path = getattr(source, "path", source)
    return display_name(path) if isinstance(path, str | os.PathLike) else "array"


def as_rows(validation: Validation) -> list[Mapping[str, str]]:
    """The findings as rows of a table."""
    return [
        {
            "algorithm": finding.algorithm or "–",
            "scene": finding.scene or "–",
            "finding": finding.kind,
            "what": finding.sentence,
            "severity": finding.severity,
        }
        for finding in validation.findings
    ]
