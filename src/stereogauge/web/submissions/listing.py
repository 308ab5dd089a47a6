"""What an upload holds, by the names of its files alone: the maps that are read, and what is wrong with names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from stereogauge.datasets.layout import is_junk
from stereogauge.datasets.plausibility import Finding
from stereogauge.datasets.results.find import Recognised, recognise, scene_names
from stereogauge.datasets.results.manifest import FILENAMES
from stereogauge.datasets.validation import gaps, unplaced
from stereogauge.model import Dataset
from stereogauge.text import shortened
from stereogauge.web.submissions.decoding import READ_KINDS

NAME = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9 ._()+-]{1,80}")
"""What an algorithm or a confidence measure may be called: ASCII letters, digits, space and -_.()+."""
SUFFIXES = (".pfm", ".png")
LONGEST_SHOWN = 80


class Listing(Struct, frozen=True):
    """The maps that can be read, in the order of the scenes, the files of run times, and the manifest, if any."""

    maps: list[Recognised]
    times: list[Recognised]
    manifest: str | None
    findings: list[Finding]


def list_maps(names: Sequence[str], dataset: Dataset) -> Listing:
    """What files with these names are to a dataset."""
    spellings = scene_names(dataset.ids)
    manifests = [name for name in names if PurePosixPath(name).name in FILENAMES]
    files = {name: recognise(name, spellings) for name in sorted(names) if name not in manifests and not is_junk(name)}
    known = [file for file in files.values() if file is not None]
    maps = [file for scene in dataset.ids for file in known if file.scene == scene and file.kind != "time"]
    rest = [name[:LONGEST_SHOWN] for name, file in files.items() if file is None]
    unread = [name for name in rest if not _is_readable(name)]
    findings = unplaced([name for name in rest if name not in unread], unread, dataset.name, dataset.ids)
    if len(manifests) > 1:
        sentence = f"The zip holds {len(manifests)} manifests ({shortened(manifests)}); a submission has one at most."
        findings.append(Finding("", sentence))
    return Listing(
        maps=[file for file in maps if not any(_faults(file))],
        times=[file for file in known if file.kind == "time"],
        manifest=manifests[0] if manifests else None,
        findings=[*(fault for file in maps for fault in _faults(file)), *_disorder(maps, dataset), *findings],
    )


def map_path(file: Recognised) -> Path:
    """Where the server writes a map: SCENE.pfm, right/SCENE.pfm or confidence/MEASURE/SCENE.pfm."""
    folders = {"map": (), "right": ("right",), "confidence": ("confidence", file.part)}[file.kind]
    return Path(*folders, f"{file.scene}.pfm")


def _is_readable(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in SUFFIXES


def _faults(file: Recognised) -> Iterator[Finding]:
    """What is wrong with the name of a map."""
    if not _is_readable(file.name):
        yield Finding("", f"{file.name}: {READ_KINDS}; `stereogauge convert` writes them.", scene=file.scene)
    elif file.kind == "confidence" and file.part and not NAME.fullmatch(file.part):
        sentence = f"{file.name}: a measure's name has letters, digits, space and -_.()+."
        yield Finding("", sentence, scene=file.scene)


def _disorder(maps: Sequence[Recognised], dataset: Dataset) -> Iterator[Finding]:
    """What is wrong with the maps together."""
    if not maps:
        sentence = f"No result for a scene of {dataset.name} was recognised; name maps SCENE.pfm or SCENE.png."
        yield Finding("", sentence)
        return
    places = {(one.algorithm, one.kind, one.part, one.scene): one.name for one in maps}
    for twice in [one for one in maps if one.name not in places.values()][:1]:
        yield Finding("", f"{twice.name}: there is another map of this kind and scene.", scene=twice.scene)
    algorithms = {one.algorithm for one in maps}
    if len(algorithms) > 1:
        yield Finding("", f"The zip holds {len(algorithms)} algorithms; a submission is one, one map per scene.")
    present = {one.scene for one in maps if one.kind == "map"}
    yield from gaps([scene for scene in dataset.ids if scene not in present], len(dataset))
