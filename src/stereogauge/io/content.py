"""What every reader gets: the bytes of a file, the name that errors call it, and the options of the caller.

A local file is mapped into memory, so nothing is allocated before a reader has checked the header against the size
of the file. A file of an object store (`s3://`) is copied into a cache first; every other address (`http://`,
`memory://`, `zip://`, …) is read through fsspec.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
import io
import itertools
import mmap
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from msgspec import Struct

from stereogauge.disparity import Calibration, DisparityMap, is_finite_number
from stereogauge.errors import FileError, MissingDependency, SizeError, one_line
from stereogauge.io.remote import STEP, check_size, is_in_object_store, is_remote, local_copy, remote_pieces

LARGEST_PIXEL_COUNT = 2**28
LARGEST_FILE = 16 * LARGEST_PIXEL_COUNT
LARGEST_DEFLATE_RATIO = 1032
"""Deflate cannot expand a byte to more than this many."""
LARGEST_OTHER_RATIO = 64
"""The largest expansion accepted from compressions other than deflate, whose output cannot be measured beforehand."""
LARGEST_PIXEL, LARGEST_HEADER = 16, 1 << 20
"""Bytes of a pixel in any kind of file, and of everything else in it: what is inflated where the size is known."""
GZIP = ".gz"
SMALL_STEP = 1 << 16
COPIES_TRIED = 3


class FileContent(Struct, frozen=True):
    """The bytes of a file, the name that errors call it, its suffix, and the (height, width) that it must have, if any.

    Every reader calls `check_dimensions` before it decodes, so that a map of another size costs nothing.
    """

    name: str
    data: memoryview
    suffix: str
    shape: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.data.nbytes

    def starts_with(self, magic: bytes) -> bool:
        """Whether the first bytes are `magic`."""
        return bytes(self.data[: len(magic)]) == magic

    def error(self, sentence: str) -> FileError:
        """The error that says `sentence` about this file; characters that cannot be printed become question marks."""
        printable = "".join(letter if letter.isprintable() else "?" for letter in sentence)
        return FileError(f"{self.name}: {printable}")

    def wrong_kind(self, expected: str) -> FileError:
        """The error for a file that is not `expected`, with what its first bytes look like instead."""
        head = bytes(self.data[:24])
        other = f"starts with the bytes {head[:4].hex(' ')}" if any(head) else "starts with zeros"
        seen = next((f"looks like {kind}" for magic, kind in SIGNATURES if head.startswith(magic)), other)
        return self.error(f"not {expected}; it {seen}.")

    def check_dimensions(self, width: int, height: int) -> None:
        """Raise an error for a size below 1 pixel, above the largest that is read, or other than the expected one."""
        if width < 1 or height < 1:
            raise self.error(f"the header says {width} × {height} pixels; both must be at least 1.")
        if width * height > LARGEST_PIXEL_COUNT:
            raise self.error(f"the header says {width} × {height} pixels; at most {LARGEST_PIXEL_COUNT} are read.")
        if self.shape is not None and (height, width) != self.shape:
            raise SizeError(f"{self.name}: it has {width} × {height} pixels, not {self.shape[1]} × {self.shape[0]}.")

    def check_length(self, needed: int, width: int, height: int) -> None:
        """Raise an error unless the file has as many bytes as its pixels need; one more may end it."""
        sentence = f"{width} × {height} pixels need {needed} bytes, the file has {self.size}"
        if self.size < needed:
            raise self.error(f"truncated: {sentence}.")
        if self.size > needed + 1:
            raise self.error(f"{sentence}: the header is wrong.")


class Decoding(Struct, frozen=True):
    """What turns a stored value v into a disparity: d = v / scale + offset; stored values in `unknown` mean none.

    `calibration` is for files of depths.
    """

    scale: float | None = None
    offset: float = 0.0
    unknown: tuple[float, ...] = ()
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        if self.scale is not None and not (is_finite_number(self.scale) and self.scale != 0):
            raise FileError(f"The scale {self.scale!r} is not possible; it must be a number other than 0, e.g. 4.")
        if not is_finite_number(self.offset):
            raise FileError(f"The offset {self.offset!r} is not possible; it must be a finite number of pixels.")

    @property
    def is_given(self) -> bool:
        """Whether the caller gave a scale or an offset."""
        return self.scale is not None or self.offset != 0

    def disparities(self, stored: DisparityMap) -> DisparityMap:
        """The disparities of stored values that are not whole numbers."""
        values = stored
        if self.unknown:
            values = np.where(np.isin(values, np.array(self.unknown, np.float32)), np.float32(np.nan), values)
        return (values / np.float32(self.scale or 1) + np.float32(self.offset)) if self.is_given else values


TIFF_SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"Pf", "a PFM map"),
    (b"PF", "a colour PFM"),
    (b"P5", "a binary PGM image"),
    (b"P6", "a binary PPM image"),
    (b"P2", "a text PGM image"),
    (b"P3", "a text PPM image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x93NUMPY", "a NumPy array (.npy)"),
    (b"PK\x03\x04", "a zip archive (.npz is one)"),
    *((magic, "a TIFF image") for magic in TIFF_SIGNATURES),
    (b"\x76\x2f\x31\x01", "an OpenEXR image"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"GIF8", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"version https://git-lfs", "a Git LFS pointer whose real content was never fetched"),
    (b"<", "a text page (HTML or XML)"),
)


def display_name(path: str | os.PathLike[str]) -> str:
    """The path as errors show it: printable, on one line, without the credentials or query of a URL."""
    name = os.fsdecode(path)
    if is_remote(name):
        name = re.sub(r"//[^/@]*@", "//", name).split("?")[0]
    return name if name.isprintable() else repr(name)


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The suffix in lower case, with its dot."""
    name = os.fsdecode(path)
    # In a chained address (zip://map.pfm::results.zip) the first part is the file itself.
    own = name.split("::")[0].split("?")[0] if is_remote(name) else name.replace(os.sep, "/")
    return PurePosixPath(own).suffix.lower()


def inner_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix without a .gz that follows it.

    >>> inner_suffix("teddy.pfm.gz"), inner_suffix("teddy.pfm")
    ('.pfm', '.pfm')
    """
    suffix = suffix_of(path)
    return suffix_of(os.fsdecode(path).split("::")[0][: -len(GZIP)]) if suffix == GZIP else suffix


def fetch(
    path: str | os.PathLike[str], shape: tuple[int, int] | None = None, largest: int = LARGEST_FILE
) -> FileContent:
    """The content of a local file or of a URL; every failure is a `FileError` that names it.

    Readers refuse another size than `shape`, (height, width). A file of more than `largest` bytes is refused, and so is
    a .gz file, which is unpacked, that holds more than these or than a map of that size.
    """
    name, in_place = display_name(path), _is_in_place(path)
    data = memoryview(b"".join(_pieces(path, name, largest))) if in_place else _map_local(path, name, largest)
    if data.nbytes == 0:
        raise FileError(f"{name}: the file is empty.")
    if suffix_of(path) == GZIP:
        data = gunzipped(data, name, min(largest, largest_content(shape)))
    return FileContent(name, data, inner_suffix(path), shape)


def largest_content(shape: tuple[int, int] | None) -> int:
    """The most bytes that a file with a map of this size may unpack to; of any file where the size is not known."""
    return LARGEST_FILE if shape is None else LARGEST_HEADER + LARGEST_PIXEL * shape[0] * shape[1]


def _is_in_place(path: str | os.PathLike[str]) -> bool:
    """Whether a file is read where it is, through fsspec, rather than as a file or copy on this machine."""
    return is_remote(path) and not is_in_object_store(path)


def _pieces(path: str | os.PathLike[str], name: str, largest: int = LARGEST_FILE) -> Iterator[bytes]:
    member, chained, carrier = os.fspath(path).rpartition("::")
    if chained and is_in_object_store(carrier):
        carrier = local_copy(carrier, display_name(carrier)).as_posix()
    return remote_pieces(f"{member}{chained}{carrier}", name, largest)


def _map_local(path: str | os.PathLike[str], name: str, largest: int = LARGEST_FILE) -> memoryview:
    """The bytes of a file of this machine, or of the copy of one of an object store."""
    if is_in_object_store(path):
        for _ in range(COPIES_TRIED):
            with contextlib.suppress(FileNotFoundError):  # another process made room
                return _mapped(local_copy(path, name, largest), name, largest)
    try:
        return _mapped(path, name, largest)
    except FileNotFoundError:
        raise FileError(f"{name}: there is no such file.") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{name}: cannot be opened ({one_line(getattr(error, 'strerror', None) or error)}).") from error


def _mapped(path: str | os.PathLike[str], name: str, largest: int) -> memoryview:
    # Checked before opening, because opening a pipe waits for a writer.
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise FileError(f"{name}: this is a folder; a file is needed.")
    if not stat.S_ISREG(status.st_mode):
        raise FileError(f"{name}: this is not a regular file.")
    check_size(status.st_size, name, largest)
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def stream(path: str | os.PathLike[str]) -> Iterator[memoryview | bytes]:
    """The content in pieces of a megabyte, for callers that need not keep it in memory."""
    name = display_name(path)
    if _is_in_place(path):
        yield from _pieces(path, name)
        return
    data = _map_local(path, name)
    for start in range(0, len(data), STEP):
        yield data[start : start + STEP]


def require(package: str, name: str, kind: str) -> Any:
    """The module `package` of the extra `io`; its absence is an error that names the file and its kind."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingDependency(package, "io", f"{name}: {kind}") from error


def require_installed(package: str, name: str, kind: str) -> None:
    """Raise the same error where `package` is missing, without importing it: another process will."""
    if importlib.util.find_spec(package) is None:
        raise MissingDependency(package, "io", f"{name}: {kind}")


def gunzipped(data: memoryview, name: str, limit: int) -> memoryview:
    """The content of a gzip file; an error that names it where it is damaged or holds more than `limit` bytes."""
    pieces, total = [], 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while piece := file.read(STEP):
                total += len(piece)
                if total > limit:
                    raise FileError(f"{name}: the gzip file holds more than the {limit} bytes that it may have.")
                pieces.append(piece)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{name}: the gzip file is truncated or damaged ({error}).") from error
    return memoryview(b"".join(pieces))


def inflate(parts: Iterable[memoryview], expected: int) -> bytearray | None:
    """The `expected` bytes that a zlib stream, given in parts, holds; None when it is broken or holds fewer or more.

    Memory grows with what really comes out, not with what a header promised.
    """
    stream, produced = zlib.decompressobj(), bytearray()
    try:
        for piece in _inflated(stream, parts):
            produced += piece
            if len(produced) > expected:
                return None
    except zlib.error:
        return None
    return produced if stream.eof and len(produced) == expected else None


def inflates_beyond(data: memoryview, limit: int) -> bool:
    """Whether a zlib stream holds more than `limit` bytes; what comes out is counted and not kept."""
    return any(total > limit for total in itertools.accumulate(map(len, _inflated(zlib.decompressobj(), [data]))))


def _inflated(stream: Any, parts: Iterable[memoryview]) -> Iterator[bytes]:
    """What a zlib stream holds, by and by; a `zlib.error` where it is broken.

    The parts are cut into small pieces, because zlib copies what it has not consumed at each step.
    """
    for part in parts:
        for start in range(0, len(part), SMALL_STEP):
            pending: bytes | memoryview = part[start : start + SMALL_STEP]
            while len(pending) and not stream.eof:
                yield stream.decompress(pending, STEP)
                pending = stream.unconsumed_tail
