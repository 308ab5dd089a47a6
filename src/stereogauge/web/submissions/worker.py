"""What is done with an upload, in a process of its own: what hangs or takes too much memory is stopped from outside.

Nothing of an upload is decoded anywhere else. Maps that are in order are written anew, as PFM, and these files of our
own are what is evaluated and what the site shows later.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from stereogauge.datasets.archives import Limits, unpack
from stereogauge.datasets.results.find import find_results
from stereogauge.datasets.validation import Finding, validate_results
from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.evaluate import evaluate
from stereogauge.io.disparity import write_disparity
from stereogauge.io.files import content_hash, load_disparity, load_numbers
from stereogauge.model import Dataset, DisparityMap, ResultSet, Scene
from stereogauge.protocol import Protocol
from stereogauge.store.sources import source_text
from stereogauge.web.submissions.sentences import without_paths

Report = Callable[[str, int, str, Any], None]
CHECKING = "Checking the maps"
HIDDEN_SENTENCE = (
    "This map does not look like a disparity map of the left view ({kind}); check its sign, scale and view."
)
BY_VALUES = (
    "unreadable",
    "wrong-size",
    "no-values",
    "lossy",
    "unknown-scene",
    "unrecognised",
    "missing-scenes",
    "no-results",
)
"""Kinds of findings that say nothing about the ground truth's values."""
BYTES_PER_PIXEL = 64
"""What all maps of a scene may unpack to: eight of them with 8 bytes per pixel."""
SPARE_BYTES = 16 << 20
"""What an upload may unpack to beside its maps: texts, headers."""
FAULTS_OF_THE_HOST = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)
)


@dataclass(frozen=True)
class Work:
    """One submission to look at: which attempt, where it lies, what it is called, and what to measure it against."""

    job: str
    attempt: int
    folder: str
    name: str
    dataset: Dataset
    protocol: Protocol
    columns: tuple[str, ...]
    hidden: frozenset[str]
    most_entries: int
    largest_unpacked: int


class SubmissionError(StereogaugeError):
    """A submission that cannot be evaluated, with a sentence for its owner."""


class HostError(StereogaugeError):
    """Something of the host's that keeps every submission from being evaluated, such as a full disk."""


def process(work: Work, report: Report) -> None:
    """Unpack, validate, and evaluate what is valid; `report(job, attempt, kind, value)` follows it."""
    folder = Path(work.folder)
    step = CHECKING

    def send(kind: str, value: Any) -> None:
        report(work.job, work.attempt, kind, value)

    try:
        result = _validated(work, folder, send)
        if result is not None:
            step = "The evaluation"
            _evaluate(work, result, send)
    except StereogaugeError as problem:
        _check_host(problem)
        if step != CHECKING:
            raise
        sentence = without_paths(str(problem), folder)
        send("invalid", [{"severity": "problem", "sentence": sentence, "scene": ""}])
    except OSError as problem:
        _check_host(problem)
        raise
    except MemoryError:
        raise SubmissionError(f"{step} needed more memory than a submission may use.") from None


def _check_host(problem: BaseException | None) -> None:
    """Raise a `HostError` where a problem began with an error of the host's system."""
    while problem is not None:
        if isinstance(problem, HostError):
            raise problem
        if isinstance(problem, OSError) and problem.errno in FAULTS_OF_THE_HOST:
            raise HostError(f"The host's disk or system fails: {problem.strerror}.") from None
        problem = problem.__cause__


def _validated(work: Work, folder: Path, send: Callable[[str, Any], None]) -> ResultSet | None:
    """The upload's maps, written anew; None, after saying why, where they are not in order."""
    send("state", ("validating", 0.0, "unpacking"))
    unpacked, maps = folder / "unpacked", folder / "maps"
    for left in (folder / "unpacking", unpacked, folder / "writing", maps):
        shutil.rmtree(left, ignore_errors=True)
    pixels = _pixels(work.dataset)
    room = min(work.largest_unpacked, BYTES_PER_PIXEL * pixels + SPARE_BYTES)
    unpack(folder / "upload.zip", folder / "unpacking", Limits(entries=work.most_entries, size=room))
    (folder / "unpacking").rename(unpacked)

    def follow(done: int, total: int, what: str) -> None:
        send("state", ("validating", done / max(1, total), "checking the maps"))

    found = validate_results(unpacked, work.dataset, progress=follow, submitted=True)
    for finding in found.findings:
        if finding.kind == "bad-ground-truth":
            raise HostError(f"The ground truth of {finding.scene} cannot be read: {finding.sentence}")
    findings = [_finding_entry(finding, work, folder) for finding in found.findings]
    if len(found.algorithms) > 1:
        sentence = f"The zip holds {len(found.algorithms)} algorithms; a submission is one, with one map per scene."
        findings.insert(0, {"severity": "problem", "sentence": sentence, "scene": ""})
    if not found.ok or len(found.algorithms) != 1:
        send("invalid", findings)
        return None
    send("findings", findings)
    result = _written_anew(work, unpacked, folder / "writing", maps)
    shutil.rmtree(unpacked, ignore_errors=True)
    return result


def _pixels(dataset: Dataset) -> int:
    total = 0
    for scene in dataset:
        try:
            height, width = scene.shape
        except StereogaugeError as problem:
            raise HostError(f"The scene {scene.id} cannot be read: {problem}") from problem
        total += height * width
        scene.release()
    return total


def _finding_entry(finding: Finding, work: Work, folder: Path) -> dict[str, str]:
    """A finding as its submitter may read it: without paths of the server and without numbers of a hidden truth."""
    sentence = without_paths(finding.sentence, folder)
    if finding.scene in work.hidden and finding.kind not in BY_VALUES:
        sentence = HIDDEN_SENTENCE.format(kind=finding.kind)
    return {"severity": finding.severity, "sentence": sentence, "scene": finding.scene}


def _written_anew(work: Work, unpacked: Path, writing: Path, target: Path) -> ResultSet:
    """The maps as PFM below `target`: SCENE.pfm, right/SCENE.pfm and confidence/MEASURE/SCENE.pfm, higher = surer."""
    found = find_results(unpacked, work.dataset, name=work.name)
    result = found.results[0]
    lefts: dict[str, Path] = {}
    rights: dict[str, Path] = {}
    confidence: dict[str, Path] = {}

    def keep(values: DisparityMap, scene: Scene, *folders: str) -> Path:
        own = Path(f"{scene.id}.pfm")
        name = own.parent.joinpath(*folders, own.name)
        (writing / name).parent.mkdir(parents=True, exist_ok=True)
        write_disparity(writing / name, values)
        return target / name

    for scene in work.dataset:
        if scene.id not in result.maps:
            continue
        shape = scene.shape
        lefts[scene.id] = keep(load_disparity(result.maps[scene.id], shape), scene)
        if scene.id in result.right_maps:
            values = load_disparity(result.right_maps[scene.id], shape)
            rights[scene.id] = keep(values, scene, "right")
        for (name, measure), source in found.confidence.get(work.name, {}).items():
            if name == scene.id:
                values = load_numbers(source, shape)
                surer = -values if result.confidence_better == "lower" else values
                place = keep(surer, scene, "confidence", *([measure.replace("/", " ")] if measure else []))
                if source == result.confidence.get(scene.id):
                    confidence[scene.id] = place
        scene.release()
    writing.rename(target)
    better: Literal["higher"] | None = None if result.confidence_better is None else "higher"
    return replace(result, maps=lefts, right_maps=rights, confidence=confidence, confidence_better=better)


def _evaluate(work: Work, result: ResultSet, send: Callable[[str, Any], None]) -> None:
    scores: list[dict[str, Any]] = []
    total = len(work.dataset)
    for done, scene in enumerate(work.dataset):
        send("state", ("evaluating", done / total, f"{done} of {total} scenes"))
        if scene.id not in result.maps:
            continue
        own = replace(result, maps={scene.id: result.maps[scene.id]})
        scores += [asdict(score) for score in evaluate(own, scene, work.columns, [], work.protocol)]
        scene.release()
    maps = [
        {
            "dataset": work.dataset.name,
            "scene": scene_id,
            "algorithm": work.name,
            "content": content_hash(source),
            "source": source_text(source),
            "right_source": source_text(result.right_maps.get(scene_id)),
        }
        for scene_id, source in result.maps.items()
    ]
    send("result", {"maps": maps, "scores": scores})
