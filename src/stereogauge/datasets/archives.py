"""Unpacking zip and tar files that may be hostile.

Every entry is checked before the first byte is written and again while writing: no absolute path, no `..`, no link, no
device, no password, not more entries or bytes than allowed, and never more bytes than the entry declared. An archive is
unpacked beside its target and moved there when all of it is good, so that a refused one leaves nothing behind.
"""

from __future__ import annotations

import functools
import gzip
import lzma
import os
import shutil
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from msgspec import Struct

from stereogauge.errors import DatasetError, FileError

_CHUNK = 1 << 20
_END, _END_SIZE, _LONGEST_COMMENT = b"PK\x05\x06", 22, 65535
_LOCATOR, _LOCATOR_SIZE = b"PK\x06\x07", 20
_END64, _END64_SIZE = b"PK\x06\x06", 56
BYTES_PER_ENTRY = 600
"""An upper bound for the mean size of an entry in a zip's directory: a sensible name and a few dates."""
BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, struct.error, EOFError,
    NotImplementedError, ValueError, RuntimeError, IndexError, OverflowError,
)  # fmt: skip
# RuntimeError: zipfile's answer to a password or an impossible header; ValueError: tarfile's to nonsense numbers;
# IndexError: zipfile's to an entry without a name.


class Limits(Struct, frozen=True):
    """How much an archive may unpack to, and how many letters the name of an entry may have."""

    entries: int = 500_000
    size: int = 400 << 30
    name: int = 1000


class _Entry(Struct, frozen=True):
    """A file in an archive: its name, declared size, and how to read it."""

    name: str
    size: int
    open: Callable[[], IO[bytes]]


def safe_name(name: str, archive: Path | str) -> str:
    """`name` with forward slashes, or an error when it would leave the folder it is unpacked into."""
    posix = name.replace("\\", "/")
    path = PurePosixPath(posix)
    drive = len(posix) > 1 and posix[1] == ":"
    if path.is_absolute() or drive or ".." in path.parts or "\0" in name or not path.parts:
        raise DatasetError(f"{archive} is refused: its entry {name[:80]!r} would be written outside the folder.")
    return path.as_posix()


def unpack(
    archive: Path, target: Path, limits: Limits | None = None, progress: Callable[[int, int], None] | None = None
) -> list[Path]:
    """Unpack `archive` into the folder `target` and return the files written; `progress(done, total)` counts bytes."""
    limits = limits or Limits()
    target.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=target))
    try:
        names = _write_all(archive, staging, limits, progress or (lambda done, total: None))
        for name in names:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(staging / name, target / name)
        return [target / name for name in names]
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def member_names(archive: Path, limits: Limits | None = None) -> list[str]:
    """The names of the files in `archive`, checked as for unpacking."""
    with _entries(archive, limits or Limits()) as found:
        return [entry.name for entry in found]


def _write_all(archive: Path, folder: Path, limits: Limits, progress: Callable[[int, int], None]) -> list[str]:
    try:
        with _entries(archive, limits) as found:
            entries = list(found)
            total, done = sum(entry.size for entry in entries), 0
            free = shutil.disk_usage(folder).free
            if total > free:
                raise DatasetError(
                    f"{archive} unpacks to {total:,} bytes, but only {free:,} are free in {folder.parent}."
                )
            for entry in entries:
                for written in _write(entry, folder / entry.name, archive):
                    done += written
                    progress(done, total)
            return [entry.name for entry in entries]
    except OSError as error:
        raise FileError(f"{archive} cannot be unpacked: {error.strerror or error}.") from error


def _checked(entries: Iterator[_Entry], archive: Path, limits: Limits) -> Iterator[_Entry]:
    total = 0
    seen: set[str] = set()
    for count, entry in enumerate(entries, start=1):
        total += entry.size
        if count > limits.entries or total > limits.size:
            raise DatasetError(
                f"{archive} is refused: it unpacks to more than {limits.entries:,} files or {limits.size:,} bytes."
            )
        if len(entry.name) > limits.name:
            raise DatasetError(f"{archive} is refused: the name of an entry has more than {limits.name} letters.")
        name = safe_name(entry.name, archive)
        if name in seen:
            raise DatasetError(f"{archive} is refused: it holds {name!r} twice.")
        seen.add(name)
        yield _Entry(name, entry.size, entry.open)


def _write(entry: _Entry, path: Path, archive: Path) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with entry.open() as source, path.open("xb") as out:
        while chunk := source.read(_CHUNK):
            written += len(chunk)
            if written > entry.size:
                raise DatasetError(
                    f"{archive} is refused: its entry {entry.name!r} holds more than the {entry.size:,} bytes it "
                    f"declares."
                )
            out.write(chunk)
            yield len(chunk)
    if written != entry.size:
        raise FileError(f"{archive} is damaged: its entry {entry.name!r} holds {written:,} of {entry.size:,} bytes.")


def _check_directory(archive: Path, limits: Limits) -> None:
    """Refuse a directory larger than the allowed entries need, before zipfile reads all of it into memory.

    Its size is in the last record of the file, or in a record of the larger format (zip64) that precedes it; both
    are looked at, whichever a reader would believe.
    """
    size = archive.stat().st_size
    start = max(0, size - _END_SIZE - _LONGEST_COMMENT - _LOCATOR_SIZE - _END64_SIZE)
    with archive.open("rb") as file:
        file.seek(start)
        tail = file.read()
        end = tail.rfind(_END)
        if end < 0 or len(tail) - end < _END_SIZE:
            raise zipfile.BadZipFile("its end is missing")
        entries, length = struct.unpack_from("<HL", tail, end + 10)
        locator = end - _LOCATOR_SIZE
        larger = locator >= 0 and tail[locator : locator + 4] == _LOCATOR
        places = [start + locator - _END64_SIZE, *struct.unpack_from("<Q", tail, locator + 8)] if larger else []
        found = [record for place in places if (record := _larger_record(file, place, size)) is not None]
    if found:  # the older record then holds marks in place of numbers
        entries, length = (0 if entries == 0xFFFF else entries), (0 if length == 0xFFFFFFFF else length)
    found.append((entries, length))
    if any(entries > limits.entries or length > limits.entries * BYTES_PER_ENTRY for entries, length in found):
        raise DatasetError(f"{archive} is refused: it holds more than {limits.entries:,} files.")


def _larger_record(file: IO[bytes], place: int, size: int) -> tuple[int, int] | None:
    """The number of entries and the bytes of the directory in a zip64 record at `place`, if there is one."""
    file.seek(min(max(0, place), size))
    record = file.read(_END64_SIZE)
    if len(record) < _END64_SIZE or not record.startswith(_END64):
        return None
    entries, length = struct.unpack_from("<QQ", record, 32)
    return entries, length


@contextmanager
def _entries(archive: Path, limits: Limits) -> Iterator[Iterator[_Entry]]:
    """The files in an archive, each checked when it is reached; damage found while they are used is one sentence."""
    try:
        if zipfile.is_zipfile(archive):
            _check_directory(archive, limits)
            with zipfile.ZipFile(archive) as opened:
                yield _checked(_zip_entries(opened, archive), archive, limits)
        else:
            with tarfile.open(archive) as opened_tar:
                yield _checked(_tar_entries(opened_tar, archive), archive, limits)
    except MemoryError:
        raise DatasetError(f"{archive} is refused: its directory does not fit into memory.") from None
    except BROKEN as error:
        raise FileError(f"{archive} is damaged or not a zip or tar file: {error}.") from None


def _not_plain(archive: Path, name: str) -> DatasetError:
    return DatasetError(
        f"{archive} is refused: its entry {name[:80]!r} is a link or device, only plain files are unpacked."
    )


def _zip_entries(opened: zipfile.ZipFile, archive: Path) -> Iterator[_Entry]:
    for info in opened.infolist():
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.is_dir():
            safe_name(info.filename, archive)
            continue
        if kind not in (0, stat.S_IFREG):
            raise _not_plain(archive, info.filename)
        if info.flag_bits & 0x1:
            raise DatasetError(f"{archive} is refused: its entry {info.filename[:80]!r} is encrypted.")
        if not 0 <= info.header_offset < opened.start_dir:
            raise zipfile.BadZipFile(f"the directory places {info.filename[:80]!r} outside of the file")
        yield _Entry(info.filename, info.file_size, functools.partial(opened.open, info))


def _tar_entries(opened: tarfile.TarFile, archive: Path) -> Iterator[_Entry]:
    for member in opened:
        if member.isdir():
            continue
        if not member.isreg():
            raise _not_plain(archive, member.name)
        # Only of what is no file it is None.
        extract: Callable[[tarfile.TarInfo], Any] = opened.extractfile
        yield _Entry(member.name, member.size, functools.partial(extract, member))
    _check_end(opened)


def _check_end(opened: tarfile.TarFile) -> None:
    """A tar ends with a block of zeros and its compression with a check sum; tarfile accepts a truncated one."""
    if opened.fileobj is None:
        raise tarfile.TarError("it is closed")
    opened.fileobj.seek(opened.offset)
    if opened.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.TarError("its end is missing")
    while opened.fileobj.read(_CHUNK):
        continue
