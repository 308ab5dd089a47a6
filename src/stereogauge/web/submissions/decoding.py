"""Reading an upload: a zip of PFM and 16-bit PNG maps.

Nothing of an upload is decoded anywhere else. These functions run in a process with limits of time and memory that
can open no file but the upload; they know of the scenes no more than names and sizes, and answer with plain values and
pixels.
"""

from __future__ import annotations

import codecs
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Any, Literal

import msgspec
import numpy as np
import numpy.ma  # here and by `lookup`: a process that opens no files cannot import what is first needed later
from msgspec import Meta

from stereogauge.datasets.archives import BROKEN, Limits, member_names, safe_name
from stereogauge.datasets.layout import is_junk
from stereogauge.datasets.plausibility import Finding
from stereogauge.datasets.results.find import Recognised, recognise, scene_names
from stereogauge.datasets.results.manifest import FILENAMES, ResultDecoding, ResultManifest, of_map
from stereogauge.datasets.validation import gaps, unplaced
from stereogauge.errors import DatasetError, FileError, StereogaugeError
from stereogauge.io import pfm
from stereogauge.io.content import Decoding, FileContent
from stereogauge.io.images import decode_png, read_png_header
from stereogauge.io.png import read_kitti
from stereogauge.loading import convert, parse_toml
from stereogauge.model import ConfidenceKind, DisparityMap
from stereogauge.text import shortened

codecs.lookup("cp437")
NAME = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9 ._()+-]{1,80}")
"""What an algorithm or a confidence measure may be called: ASCII letters, digits, space and -_.()+."""
SUFFIXES = (".pfm", ".png")
READ_KINDS = "a submission holds PFM (.pfm) and 16-bit grey PNG (.png) maps"
LARGEST_TEXT = 1 << 16
SPARE_BYTES = 1 << 16
"""What a map's file may have beside its pixels."""
MOST_LISTED = 10_000
LONGEST_SENTENCE, LONGEST_SHOWN = 4000, 80
Shape = tuple[int, int]


class ListedMap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A map in an upload: left (`map`), right, or a confidence measure; `negated` where lower is more confident."""

    scene: str
    kind: Literal["map", "right", "confidence"]
    file: Annotated[str, Meta(max_length=2000)]
    measure: Annotated[str, Meta(max_length=80)] = ""
    negated: bool = False

    @property
    def path(self) -> Path:
        """Where the server writes it: SCENE.pfm, right/SCENE.pfm or confidence/MEASURE/SCENE.pfm."""
        own = Path(f"{self.scene}.pfm")
        folders = {"map": (), "right": ("right",), "confidence": ("confidence", self.measure)}[self.kind]
        return own.parent.joinpath(*folders, own.name)


class Listing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the decoding process says about an upload; nothing else is taken from it but pixels.

    `kind` is that of the confidence, `directed` whether the upload declares which is better.
    """

    findings: Annotated[list[Finding], Meta(max_length=MOST_LISTED)]
    maps: Annotated[list[ListedMap], Meta(max_length=MOST_LISTED)] = []
    seconds: dict[str, float] = {}
    kind: ConfidenceKind = "order"
    directed: bool = False

    def __post_init__(self) -> None:
        if any(len(finding.sentence) > LONGEST_SENTENCE for finding in self.findings):
            raise ValueError("a finding is too long")

    def of(self, scene: str) -> list[ListedMap]:
        """The maps of a scene with names that a file may have."""
        return [one for one in self.maps if one.scene == scene and (not one.measure or NAME.fullmatch(one.measure))]


def check_archive(archive: Path, limits: Limits) -> str:
    """Why an upload is refused before anything of it is unpacked; "" where it is a plain zip of plain files."""
    try:
        if not zipfile.is_zipfile(archive):
            return "The upload is not a zip file, or it was cut off."
        return "" if member_names(archive, limits) else "The zip holds no files."
    except StereogaugeError as refusal:
        return str(refusal).replace(str(archive), "The zip")


class _Upload:
    """The zip that this process reads."""

    file: IO[bytes]
    zip: zipfile.ZipFile
    members: Mapping[str, zipfile.ZipInfo]


def list_upload(file: IO[bytes], dataset: str, scenes: Mapping[str, Shape]) -> Any:
    """The maps of an upload by name and what is wrong with it as a whole: a `Listing` as plain values.

    The file, whose directory was checked, stays open for `read_map`.
    """
    try:
        _Upload.file, _Upload.zip = file, zipfile.ZipFile(file)
        infos = sorted(_Upload.zip.infolist(), key=lambda info: info.filename)
        _Upload.members = {safe_name(info.filename, "The zip"): info for info in infos if not info.is_dir()}
        listing = _listing(dataset, scenes)
    except (StereogaugeError, zipfile.BadZipFile) as refusal:
        listing = Listing([Finding("", str(refusal)[:LONGEST_SENTENCE])])
    return msgspec.to_builtins(listing)


def _listing(dataset: str, scenes: Mapping[str, Shape]) -> Listing:
    spellings = scene_names(scenes)
    names = [name for name in _Upload.members if not is_junk(name)]
    manifests = [name for name in names if PurePosixPath(name).name in FILENAMES]
    files = {name: recognise(name, spellings) for name in names if name not in manifests}
    known = [file for file in files.values() if file is not None]
    maps = [file for file in known if file.kind != "time"]
    times = {file.scene: _seconds(file.name) for file in known if file.kind == "time"}
    stated = _manifest(manifests).confidence
    measures = {file.name: file.part or "confidence" for file in maps if file.kind == "confidence"}
    first = min(measures.values(), default="")
    return Listing(
        findings=[*_faults(dataset, scenes, maps), *_further(dataset, scenes, files)],
        maps=[
            _listed(file, of_map(stated.better, measures.get(file.name, ""))) for file in maps if _readable(file.name)
        ],
        seconds={scene: value for scene, value in times.items() if value is not None},
        kind=of_map(stated.kind, first) or "order",
        directed=of_map(stated.better, first) is not None,
    )


def _listed(file: Recognised, better: str | None) -> ListedMap:
    negated = file.kind == "confidence" and better == "lower"
    kind: Any = file.kind  # map, right or confidence: run times are no maps
    return ListedMap(file.scene, kind, file.name, file.part, negated)


def _faults(dataset: str, scenes: Mapping[str, Shape], maps: list[Recognised]) -> Iterable[Finding]:
    """What is wrong with the names of the maps."""
    for one in maps:
        if not _readable(one.name):
            sentence = f"{one.name}: {READ_KINDS}; `stereogauge convert` writes them."
            yield Finding("", sentence, scene=one.scene)
        elif one.kind == "confidence" and one.part and not NAME.fullmatch(one.part):
            sentence = f"{one.name}: a measure's name has letters, digits, space and -_.()+."
            yield Finding("", sentence, scene=one.scene)
    places = {(one.algorithm, one.kind, one.part, one.scene): one.name for one in maps}
    if len(places) < len(maps):
        twice = next(one for one in maps if one.name not in places.values())
        yield Finding("", f"{twice.name}: there is another map of this kind and scene.", scene=twice.scene)
    algorithms = {one.algorithm for one in maps}
    if len(algorithms) > 1:
        sentence = f"The zip holds {len(algorithms)} algorithms; a submission is one, one map per scene."
        yield Finding("", sentence)
    if not maps:
        sentence = f"No result for a scene of {dataset} was recognised; name maps SCENE.pfm or SCENE.png."
        yield Finding("", sentence)
        return
    present = {one.scene for one in maps if one.kind == "map"}
    yield from gaps([scene for scene in scenes if scene not in present], len(scenes))


def _further(dataset: str, scenes: Mapping[str, Shape], files: Mapping[str, Recognised | None]) -> list[Finding]:
    """What is said of files that belong to no scene."""
    rest = [name for name, known in files.items() if known is None]
    maps = [name[:LONGEST_SHOWN] for name in rest if _readable(name)]
    others = [name[:LONGEST_SHOWN] for name in rest if not _readable(name)]
    return unplaced(maps, others, dataset, list(scenes))


def _readable(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in SUFFIXES


def _manifest(names: list[str]) -> ResultManifest:
    """What `results.toml` says; of how values are stored it may say nothing."""
    if not names:
        return ResultManifest()
    if len(names) > 1:
        raise DatasetError(f"The zip holds {len(names)} manifests ({shortened(names)}); a submission has one at most.")
    text = _data(names[0], LARGEST_TEXT).decode("utf-8", "replace")
    stated = parse_toml(text, names[0], DatasetError)
    found: ResultManifest = convert(stated, ResultManifest, names[0], DatasetError)
    if found.decoding != ResultDecoding() or found.template or found.algorithms or found.confidence.decoding.given:
        raise DatasetError(
            f"{names[0]}: {READ_KINDS} of the scene's size, PNG as disparity × 256; the manifest of a submission does "
            "not say how values are stored, only [confidence] better and kind."
        )
    return found


def _seconds(name: str) -> float | None:
    try:
        value = float(_data(name, LARGEST_TEXT))
    except (ValueError, FileError):
        return None
    return value if 0 <= value < float("inf") else None


def read_map(name: str, kind: str, shape: Shape, negated: bool = False) -> bytes | str:
    """The map in the file `name` as float32 (rows from the top, NaN = unknown), or why it cannot be read.

    A PNG holds disparity × 256, 0 = unknown; as a confidence map it holds 65535 × the confidence.
    """
    what = "" if kind == "map" else "The right map: " if kind == "right" else "The confidence map: "
    try:
        data = _data(name, 4 * shape[0] * shape[1] + SPARE_BYTES)
        content = FileContent(name, memoryview(data), PurePosixPath(name).suffix.lower(), shape)
        values = _decoded(content, kind)
    except (StereogaugeError, zipfile.BadZipFile) as refusal:
        return f"{what}{refusal}"
    if kind != "map" and not np.isfinite(values).any():
        return f"{what}{name} has no value."
    return np.ascontiguousarray(-values if negated else values, "<f4").tobytes()


def _decoded(content: FileContent, kind: str) -> DisparityMap:
    if content.suffix == ".pfm":
        return pfm.read(content, Decoding())
    if kind != "confidence":
        return read_kitti(content, Decoding())
    header = read_png_header(content)
    if header.bit_depth != 16 or header.channels != 1:
        raise content.error(f"a confidence map is a 16-bit grey PNG, this one is {header.description}.")
    return (decode_png(content) / np.float32(65535)).astype(np.float32)


def _data(name: str, largest: int) -> bytes:
    info = _Upload.members[name]
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileError(f"{name}: only stored and deflated files are read; zip it without another compression.")
    if info.file_size > largest:
        raise FileError(f"{name} has {info.file_size} bytes; at most {largest} are read.")
    try:
        with _Upload.zip.open(info) as file:
            return file.read(largest + 1)
    except BROKEN as damage:
        raise FileError(f"{name}: The zip is damaged ({str(damage)[:100] or type(damage).__name__}).") from None
