"""Reading an upload: a zip of PFM and 16-bit PNG maps.

Nothing of an upload is decoded anywhere else. These functions run in a process with limits of time and memory that
can open no file but the upload; they know of the scenes no more than sizes, and answer with pixels, texts and numbers.
"""

from __future__ import annotations

import codecs
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import IO, Any

import msgspec
import numpy as np
import numpy.ma  # here and by `lookup`: a process that opens no files cannot import what is first needed later

from stereogauge.datasets.archives import BROKEN, safe_name
from stereogauge.datasets.results.find import run_seconds
from stereogauge.datasets.results.manifest import ConfidenceEntries, ResultDecoding, ResultManifest
from stereogauge.errors import DatasetError, FileError, StereogaugeError
from stereogauge.io import pfm
from stereogauge.io.content import Decoding, FileContent
from stereogauge.io.images import decode_png, read_png_header
from stereogauge.io.png import read_kitti
from stereogauge.loading import convert, parse_toml
from stereogauge.model import Better, ConfidenceKind, DisparityMap

codecs.lookup("cp437")
READ_KINDS = "a submission holds PFM (.pfm) and 16-bit grey PNG (.png) maps"
LARGEST_TEXT = 1 << 16
SPARE_BYTES = 1 << 16
"""What a map's file may have beside its pixels."""
Shape = tuple[int, int]
_members: dict[str, tuple[zipfile.ZipFile, zipfile.ZipInfo]] = {}
"""The files of the zip that this process reads, by name."""


class Stated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the texts of an upload say: run times by file, and of the confidence maps the kind and which is better."""

    seconds: dict[str, float] = {}
    kind: ConfidenceKind | Mapping[str, ConfidenceKind] | None = None
    better: Better | Mapping[str, Better] | None = None


def read_texts(file: IO[bytes], manifest: str | None, times: list[str]) -> Any:
    """What the manifest and the files of run times say: `Stated` as plain values, or a sentence on what is wrong.

    The zip, whose directory was checked, stays open for `read_map`.
    """
    try:
        opened = zipfile.ZipFile(file)
        _members.clear()
        _members.update({safe_name(info.filename, "The zip"): (opened, info) for info in opened.infolist()})
        stated = ConfidenceEntries() if manifest is None else _confidence(manifest)
    except (StereogaugeError, zipfile.BadZipFile) as refusal:
        return str(refusal)
    seconds = {name: value for name in times if (value := _seconds(name)) is not None}
    return msgspec.to_builtins(Stated(seconds, stated.kind, stated.better))


def _confidence(name: str) -> ConfidenceEntries:
    """What `results.toml` says of confidence maps; of how values are stored it may say nothing."""
    stated = parse_toml(_data(name, LARGEST_TEXT).decode("utf-8", "replace"), name, DatasetError)
    found: ResultManifest = convert(stated, ResultManifest, name, DatasetError)
    if found.decoding != ResultDecoding() or found.template or found.algorithms or found.confidence.decoding.given:
        raise DatasetError(
            f"{name}: {READ_KINDS} of the scene's size, PNG as disparity × 256; the manifest of a submission does "
            "not say how values are stored, only [confidence] better and kind."
        )
    return found.confidence


def _seconds(name: str) -> float | None:
    try:
        return run_seconds(_data(name, LARGEST_TEXT).decode("utf-8", "replace"))
    except FileError:
        return None


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
    opened, info = _members[name]
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileError(f"{name}: only stored and deflated files are read; zip it without another compression.")
    if info.file_size > largest:
        raise FileError(f"{name} has {info.file_size} bytes; at most {largest} are read.")
    try:
        with opened.open(info) as file:
            return file.read(largest + 1)
    except BROKEN as damage:
        raise FileError(f"{name}: The zip is damaged ({str(damage)[:100] or type(damage).__name__}).") from None
