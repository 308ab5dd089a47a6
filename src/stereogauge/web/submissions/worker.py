"""What is done with an upload, in a process of its own: what hangs or takes too much memory is stopped from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from stereogauge.datasets.archives import Limits, unpack
from stereogauge.datasets.results.find import find_results
from stereogauge.datasets.validation import validate_results
from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.evaluate import evaluate
from stereogauge.io.files import content_hash
from stereogauge.model import Dataset
from stereogauge.protocol import Protocol
from stereogauge.store.sources import source_text
from stereogauge.web.submissions.uploads import without_paths

Report = Callable[[str, Any], None]
CHECKING = "Checking the maps"
HIDDEN_SENTENCE = (
    "This map does not look like a disparity map of the left view ({kind}); check its sign, scale and view."
)
BY_VALUES = ("unreadable", "wrong-size", "no-values", "unknown-scene", "unrecognised", "missing-scenes", "no-results")
"""Kinds of findings that say nothing about the ground truth's values."""


@dataclass(frozen=True)
class Work:
    """One submission to look at: where it lies, what it is called, and what to measure it against."""

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


def process(work: Work, report: Report) -> None:
    """Unpack, validate, and evaluate what is valid; `report(kind, value)` follows it."""
    folder = Path(work.folder)
    step = CHECKING
    try:
        if _valid(work, folder, report):
            step = "The evaluation"
            _evaluate(work, folder, report)
    except StereogaugeError as problem:
        sentence = without_paths(str(problem), folder)
        if step != CHECKING:
            raise SubmissionError(sentence) from None
        report("invalid", [{"severity": "problem", "sentence": sentence, "scene": ""}])
    except MemoryError:
        raise SubmissionError(f"{step} needed more memory than a submission may use.") from None
    except Exception as problem:
        raise SubmissionError(f"{step} failed ({type(problem).__name__}); the host can say more.") from None


def _valid(work: Work, folder: Path, report: Report) -> bool:
    maps = folder / "maps"
    report("state", ("validating", 0.0, "unpacking"))
    if not maps.is_dir():
        unpack(folder / "upload.zip", maps, Limits(entries=work.most_entries, size=work.largest_unpacked))

    def follow(done: int, total: int, what: str) -> None:
        report("state", ("validating", done / max(1, total), "checking the maps"))

    found = validate_results(maps, work.dataset, progress=follow)
    findings = [_finding_entry(finding, work, folder) for finding in found.findings]
    if len(found.algorithms) > 1:
        sentence = f"The zip holds {len(found.algorithms)} algorithms; a submission is one, with one map per scene."
        findings.insert(0, {"severity": "problem", "sentence": sentence, "scene": ""})
    ok = found.ok and len(found.algorithms) == 1
    report("findings" if ok else "invalid", findings)
    return ok


def _finding_entry(finding: Any, work: Work, folder: Path) -> dict[str, str]:
    """A finding as its submitter may read it: without paths of the server and without numbers of a hidden truth."""
    sentence = without_paths(finding.sentence, folder)
    if finding.kind == "bad-ground-truth":
        sentence = "The ground truth of this scene cannot be read; please tell the host."
    elif finding.scene in work.hidden and finding.kind not in BY_VALUES:
        sentence = HIDDEN_SENTENCE.format(kind=finding.kind)
    return {"severity": finding.severity, "sentence": sentence, "scene": finding.scene}


def _evaluate(work: Work, folder: Path, report: Report) -> None:
    result = find_results(folder / "maps", work.dataset, name=work.name).results[0]
    scores: list[dict[str, Any]] = []
    total = len(work.dataset)
    for done, scene in enumerate(work.dataset):
        report("state", ("evaluating", done / total, f"{done} of {total} scenes"))
        own = replace(result, maps={scene.id: result.maps[scene.id]})
        scores += [asdict(score) for score in evaluate(own, scene, work.columns, [], work.protocol)]
        scene.release()
    report(
        "maps",
        [
            {
                "dataset": work.dataset.name,
                "scene": scene,
                "algorithm": work.name,
                "content": content_hash(source),
                "source": source_text(source),
                "right_source": source_text(result.right_maps.get(scene)),
            }
            for scene, source in result.maps.items()
        ],
    )
    report("scores", scores)
