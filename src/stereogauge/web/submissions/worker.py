"""The second half of the work on an upload: take over the maps that were written anew, judge and evaluate them.

It knows the ground truth, and decodes nothing but PFM files of the scenes' sizes, which the first half (`decoding`)
wrote. That half may have been taken over by an upload: what it says is checked by `Decoded`, and its files are copied
without following a link.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from stereogauge.datasets.plausibility import suspicion
from stereogauge.datasets.validation import QUESTIONS
from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.evaluate import evaluate
from stereogauge.io import pfm
from stereogauge.io.content import Decoding as StoredAs
from stereogauge.io.content import FileContent
from stereogauge.io.disparity import write_disparity
from stereogauge.io.files import DisparityFile, content_hash, load_disparity
from stereogauge.model import ConfidenceKind, Dataset, ResultSet, Scene
from stereogauge.protocol import Protocol
from stereogauge.store.sources import source_text
from stereogauge.web.submissions.decoding import DECODED, HostError, Report, SubmissionError, check_host

HIDDEN_SENTENCE = (
    "This map does not look like a disparity map of the left view ({kind}); check its sign, scale and view."
)
NO_MAP = "The file {file} is not one that decoding writes."
LARGEST_HEADER = 100
MOST_MAPS = 100_000


class FoundMap(BaseModel):
    """A map that was written anew, in the file SCENE.pfm, right/SCENE.pfm or confidence/MEASURE/SCENE.pfm.

    `scale` and `offset` are those of the upload's own file, for sentences about it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scene: str
    kind: Literal["left", "right", "confidence", "other"]
    file: str = Field(max_length=2000)
    scale: float | None = None
    offset: float | None = None


class FoundFault(BaseModel):
    """A sentence for the submitter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    severity: Literal["problem", "note"]
    sentence: str = Field(max_length=4000)
    scene: str


class Decoded(BaseModel):
    """What decoding says about an upload; it may have been taken over, so nothing else is taken from it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ok: bool
    findings: list[FoundFault] = Field(max_length=MOST_MAPS)
    maps: list[FoundMap] = Field(default=[], max_length=MOST_MAPS)
    seconds: dict[str, float] = {}
    better: Literal["higher"] | None = None
    kind: ConfidenceKind = "order"


@dataclass(frozen=True)
class Work:
    """One submission to judge: which attempt, what it is called, and what to measure it against.

    `owner` is the user who wrote the maps.
    """

    job: str
    attempt: int
    name: str
    dataset: Dataset
    protocol: Protocol
    columns: tuple[str, ...]
    hidden: frozenset[str]
    owner: int


def judge(folder: str, work: Work, decoded: Decoded, report: Report) -> None:
    """Take over, judge and evaluate the maps; `report(job, attempt, kind, value)` follows it."""

    def send(kind: str, value: Any) -> None:
        report(work.job, work.attempt, kind, value)

    try:
        result, findings = _taken_over(work, decoded, Path(folder))
        if any(finding["severity"] == "problem" for finding in findings):
            send("invalid", findings)
            return
        send("findings", findings)
        _evaluate(work, result, send)
    except StereogaugeError as problem:
        check_host(problem)
        raise
    except OSError as problem:
        check_host(problem)
        raise
    except MemoryError:
        raise SubmissionError("The evaluation needed more memory than a submission may use.") from None


def _taken_over(work: Work, decoded: Decoded, folder: Path) -> tuple[ResultSet, list[dict[str, str]]]:
    """The maps, written by ourselves below `maps`, and what is suspicious beside what decoding found."""
    target = folder / "maps"
    shutil.rmtree(target, ignore_errors=True)
    findings = [finding.model_dump() for finding in decoded.findings]
    places: dict[str, dict[str, Any]] = {kind: {} for kind in ("left", "right", "confidence", "other")}
    for scene in work.dataset:
        for one in decoded.maps:
            if one.scene != scene.id:
                continue
            values = pfm.read(_content(folder / DECODED, one.file, scene, work.owner), StoredAs())
            place = target / _relative(one.file)
            place.parent.mkdir(parents=True, exist_ok=True)
            write_disparity(place, values)
            deviations = one.kind == "confidence" and decoded.kind == "sigma"  # as they are: lower = surer
            places[one.kind][scene.id] = -values if deviations else place
            if one.kind == "left" and scene.has("gt"):
                findings += _doubts(one, values, scene, scene.id in work.hidden)
        scene.release()
    shutil.rmtree(folder / DECODED, ignore_errors=True)
    result = ResultSet(
        work.name,
        places["left"],
        right_maps=places["right"],
        confidence=places["confidence"],
        confidence_better="lower" if decoded.kind == "sigma" else decoded.better,
        confidence_kind=decoded.kind,
        seconds=decoded.seconds,
    )
    return result, findings


def _relative(file: str) -> PurePosixPath:
    name = PurePosixPath(file)
    if name.is_absolute() or ".." in name.parts or name.suffix != ".pfm" or "\0" in file:
        raise SubmissionError(NO_MAP.format(file=repr(file[:80])))
    return name


def _content(root: Path, file: str, scene: Scene, owner: int) -> FileContent:
    """The bytes of a file that decoding wrote; a link, or a file of somebody else or of another size, is refused."""
    height, width = scene.shape
    largest = 4 * height * width + LARGEST_HEADER
    handle = _opened(root, _relative(file))
    with open(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != owner or status.st_size > largest:
            raise SubmissionError(NO_MAP.format(file=repr(file[:80])))
        data = stream.read(largest)
    return FileContent(file, memoryview(data), ".pfm", (height, width))


def _opened(root: Path, file: PurePosixPath) -> int:
    """A file below `root`, opened step by step, so that no link leads elsewhere."""
    try:
        if os.open not in os.supports_dir_fd:  # such a system has no other user for decoding either
            return os.open(root / file, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        plain = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(root, plain | os.O_DIRECTORY)
        for part in file.parts:
            above = handle
            try:
                handle = os.open(part, plain, dir_fd=above)
            finally:
                os.close(above)
        return handle
    except OSError as problem:
        if problem.errno not in (errno.ELOOP, errno.ENOTDIR, errno.ENOENT):
            check_host(problem)
        raise SubmissionError(NO_MAP.format(file=repr(str(file)[:80]))) from None


def _doubts(one: FoundMap, estimate: Any, scene: Scene, hidden: bool) -> list[dict[str, str]]:
    """What a map looks like against the ground truth, without numbers where that is hidden."""
    try:
        truth = scene.gt
    except StereogaugeError as problem:
        raise HostError(f"The ground truth of {scene.id} cannot be read: {problem}") from problem
    source = DisparityFile(one.file, scale=one.scale, offset=one.offset or 0.0)
    found = suspicion(estimate, truth, scene.calibration, source)
    if found is None:
        return []
    sentence = HIDDEN_SENTENCE.format(kind=found.kind) if hidden else found.sentence
    severity = "note" if found.kind in QUESTIONS else "problem"
    return [{"severity": severity, "sentence": sentence, "scene": scene.id}]


def _evaluate(work: Work, result: ResultSet, send: Callable[[str, Any], None]) -> None:
    scores: list[dict[str, Any]] = []
    total = len(work.dataset)
    for done, scene in enumerate(work.dataset):
        send("state", ("evaluating", done / total, f"{done} of {total} scenes"))
        if scene.id not in result.maps:
            continue
        own = ResultSet(**{**vars(result), "maps": {scene.id: load_disparity(result.maps[scene.id])}})
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
