"""The first half of the work on an upload: unpack it, check that every map can be read, and write the maps anew as PFM.

Nothing of an upload is decoded anywhere else. A file may take over the process that decodes it, so this half knows of
the scenes no more than their names and sizes, works in one folder, and runs as a user without rights where it can. What
it says and writes is checked again by the second half (`worker`), which reads nothing but these PFM files.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.datasets.archives import Limits, unpack
from stereogauge.datasets.results.find import FoundResults, find_results
from stereogauge.datasets.validation import Finding, validate_results
from stereogauge.errors import StereogaugeError
from stereogauge.io.disparity import write_disparity
from stereogauge.io.files import load_disparity, load_numbers
from stereogauge.model import Calibration, Dataset, DisparityMap, Scene
from stereogauge.web.submissions.sentences import without_paths

Report = Callable[[str, int, str, Any], None]
DECODED = "decoded"
"""The folder of the maps that were written anew."""
LEFTOVERS = ("unpacking", "unpacked", "writing", DECODED)
BYTES_PER_PIXEL = 64
"""What all maps of a scene may unpack to: eight of them with 8 bytes per pixel."""
SPARE_BYTES = 16 << 20
"""What an upload may unpack to beside its maps: texts, headers."""
FAULTS_OF_THE_HOST = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)
)


class SubmissionError(StereogaugeError):
    """A submission that cannot be evaluated, with a sentence for its owner."""


class HostError(StereogaugeError):
    """Something of the host's that keeps every submission from being evaluated, such as a full disk."""


@dataclass(frozen=True)
class Outline:
    """What decoding needs to know of a scene."""

    scene: str
    shape: tuple[int, int]
    has_truth: bool
    calibration: Calibration
    scale: float | None

    @staticmethod
    def of(scene: Scene) -> Outline:
        """That of a scene; one that cannot be read is the host's trouble."""
        try:
            shape = scene.shape
        except StereogaugeError as problem:
            raise HostError(f"The scene {scene.id} cannot be read: {problem}") from problem
        scene.release()
        return Outline(scene.id, shape, scene.has("gt"), scene.calibration, scene.metadata.get("scale"))

    def blank(self, dataset: str) -> Scene:
        """A scene of this size whose ground truth is unknown everywhere."""
        metadata = {} if self.scale is None else {"scale": self.scale}
        unknown = np.broadcast_to(np.float32(np.nan), self.shape) if self.has_truth else None
        black = np.broadcast_to(np.uint8(0), self.shape)
        about = {"calibration": self.calibration, "dataset": dataset, "metadata": metadata}
        return Scene(self.scene, gt=unknown, left=black, **about)  # type: ignore[arg-type]  # each of its own type


@dataclass(frozen=True)
class Upload:
    """One upload to decode: whose and which attempt, what it is called, and what its maps must fit."""

    job: str
    attempt: int
    name: str
    dataset: str
    outlines: tuple[Outline, ...]
    most_entries: int
    largest_unpacked: int


def check_host(problem: BaseException | None) -> None:
    """Raise a `HostError` where a problem began with an error of the host's system."""
    while problem is not None:
        if isinstance(problem, HostError):
            raise problem
        if isinstance(problem, OSError) and problem.errno in FAULTS_OF_THE_HOST:
            raise HostError(f"The host's disk or system fails: {problem.strerror}.") from None
        problem = problem.__cause__


def decode(folder: str, upload: Upload, report: Report) -> dict[str, Any]:
    """Write the maps of `upload.zip` anew below `decoded`; returns what was found, as plain values for `Decoded`."""
    place = Path(folder)

    def send(progress: float, message: str) -> None:
        report(upload.job, upload.attempt, "state", ("validating", progress, message))

    try:
        return _decoded(place, upload, send)
    except StereogaugeError as problem:
        check_host(problem)
        return _refused([_problem(without_paths(str(problem), place))])
    except OSError as problem:
        check_host(problem)
        raise
    except MemoryError:
        raise SubmissionError("Checking the maps needed more memory than a submission may use.") from None


def _problem(sentence: str) -> dict[str, str]:
    return {"severity": "problem", "sentence": sentence, "scene": ""}


def _refused(findings: list[dict[str, str]]) -> dict[str, Any]:
    return {"ok": False, "findings": findings}


def _decoded(folder: Path, upload: Upload, send: Callable[[float, str], None]) -> dict[str, Any]:
    send(0.0, "unpacking")
    for left in LEFTOVERS:
        shutil.rmtree(folder / left, ignore_errors=True)
    pixels = sum(outline.shape[0] * outline.shape[1] for outline in upload.outlines)
    room = min(upload.largest_unpacked, BYTES_PER_PIXEL * pixels + SPARE_BYTES)
    unpack(folder / "upload.zip", folder / "unpacking", Limits(entries=upload.most_entries, size=room))
    unpacked = folder / "unpacked"
    (folder / "unpacking").rename(unpacked)

    def follow(done: int, total: int, what: str) -> None:
        send(done / max(1, total), "checking the maps")

    dataset = Dataset(upload.dataset, [outline.blank(upload.dataset) for outline in upload.outlines])
    found = validate_results(unpacked, dataset, progress=follow, submitted=True)
    findings = [_finding(finding, folder) for finding in found.findings]
    if len(found.algorithms) > 1:
        many = f"The zip holds {len(found.algorithms)} algorithms; a submission is one, with one map per scene."
        findings.insert(0, _problem(many))
    if not found.ok or len(found.algorithms) != 1:
        return _refused(findings)
    written = _written(find_results(unpacked, dataset, name=upload.name), upload.name, dataset, folder / "writing")
    (folder / "writing").rename(folder / DECODED)
    shutil.rmtree(unpacked, ignore_errors=True)
    return {"ok": True, "findings": findings, **written}


def _finding(finding: Finding, folder: Path) -> dict[str, str]:
    sentence = without_paths(finding.sentence, folder)
    return {"severity": finding.severity, "sentence": sentence, "scene": finding.scene}


def _written(found: FoundResults, name: str, dataset: Dataset, writing: Path) -> dict[str, Any]:
    """Write SCENE.pfm, right/SCENE.pfm and confidence/MEASURE/SCENE.pfm, higher = surer; says where each map is."""
    result = found.results[0]
    maps: list[dict[str, Any]] = []

    def keep(values: DisparityMap, scene: Scene, kind: str, *folders: str, **about: Any) -> None:
        own = Path(f"{scene.id}.pfm")
        file = own.parent.joinpath(*folders, own.name)
        (writing / file).parent.mkdir(parents=True, exist_ok=True)
        write_disparity(writing / file, values)
        maps.append({"scene": scene.id, "kind": kind, "file": file.as_posix(), **about})

    for scene in dataset:
        source = result.maps.get(scene.id)
        if source is None:
            continue
        how = {"scale": getattr(source, "scale", None), "offset": getattr(source, "offset", 0.0)}
        keep(load_disparity(source, scene.shape), scene, "left", **how)
        if scene.id in result.right_maps:
            keep(load_disparity(result.right_maps[scene.id], scene.shape), scene, "right", "right")
        for (owner, measure), beside in found.confidence.get(name, {}).items():
            if owner == scene.id:
                values = load_numbers(beside, scene.shape)
                surer = -values if result.confidence_better == "lower" else values
                kind = "confidence" if beside == result.confidence.get(scene.id) else "other"
                keep(surer, scene, kind, "confidence", *([measure.replace("/", " ")] if measure else []))
        scene.release()
    return {
        "maps": maps,
        "seconds": dict(result.seconds),
        "better": None if result.confidence_better is None else "higher",
        "kind": result.confidence_kind,
    }
