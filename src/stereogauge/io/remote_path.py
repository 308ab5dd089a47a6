"""Folders and files of an object store with the methods of `pathlib.Path` that datasets and results are found with.

The root of a dataset or of results is listed once; every question about what lies below it is answered from that
listing. A file keeps the size and mark that it had in the listing, also in other processes, so that all of
them read the same content or say that it changed.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

from stereogauge.errors import FileError
from stereogauge.io.remote import Entry, check_size, download, entries_below, entry_of, file_cache

OBJECT_STORES = ("s3", "s3a", "gs", "gcs", "abfs", "az")
"""Schemes whose files are copied into the cache; others are read in place."""


class FileStatus(NamedTuple):
    """What `Path.stat` says, as far as an object store knows it."""

    st_size: int


@dataclass(frozen=True)
class FileListing:
    """All files below `url` by their names relative to it."""

    url: str
    files: Mapping[str, Entry]

    @functools.cached_property
    def folders(self) -> Mapping[str, frozenset[str]]:
        """The names in every folder that some file lies in; the root is called ""."""
        found: dict[str, set[str]] = {}
        for name in filter(None, self.files):
            while name not in found.get(name.rpartition("/")[0], ()):
                folder = name.rpartition("/")[0]
                found.setdefault(folder, set()).add(name)
                if not folder:
                    break
                name = folder
        return {folder: frozenset(names) for folder, names in found.items()}

    def below(self, folder: str) -> Iterator[str]:
        """Files and folders at any depth below a folder."""
        for name in sorted(self.folders.get(folder, ())):
            yield name
            yield from self.below(name)


@functools.total_ordering
@dataclass(frozen=True)
class RemotePath(os.PathLike[str]):
    """A place in an object store; `entry` is that of a file, `listing` what its root holds (not sent to workers).

    >>> path = RemotePath("s3://bucket/scenes") / "teddy" / "disp0.pfm"
    >>> str(path), path.stem, path.parent.name
    ('s3://bucket/scenes/teddy/disp0.pfm', 'disp0', 'teddy')
    """

    url: str
    entry: Entry | None = None
    listing: FileListing | None = field(default=None, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return RemotePath, (self.url, self.entry)

    def __str__(self) -> str:
        return self.url

    def __fspath__(self) -> str:
        return self.url

    def __lt__(self, other: RemotePath) -> bool:
        return self.parts < other.parts

    def __truediv__(self, name: str | os.PathLike[str]) -> RemotePath:
        added = [part for part in os.fspath(name).split("/") if part not in ("", ".")]
        if ".." in added:
            raise FileError(f"{self.url}/{os.fspath(name)}: a path in an object store has no '..'.")
        return self._at("/".join([self.url.rstrip("/"), *added]))

    def _at(self, url: str) -> RemotePath:
        listing = self.listing
        if listing is None or not (url == listing.url or url.startswith(listing.url + "/")):
            return RemotePath(url)
        return RemotePath(url, listing.files.get(url[len(listing.url) + 1 :]), listing)

    @property
    def _pure(self) -> PurePosixPath:
        return PurePosixPath("/" + self.url.partition("://")[2])

    @property
    def _name(self) -> str | None:
        """The name below the listing's root; None where that is not known."""
        return None if self.listing is None else self.url[len(self.listing.url) + 1 :]

    @property
    def parts(self) -> tuple[str, ...]:
        """The scheme with the bucket, then the parts of the key."""
        _, bucket, *key = self._pure.parts
        return (f"{self.url.partition('://')[0]}://{bucket}", *key)

    @property
    def name(self) -> str:
        """The last part."""
        return self._pure.name

    @property
    def stem(self) -> str:
        """The last part without its suffix."""
        return self._pure.stem

    @property
    def suffix(self) -> str:
        """The suffix with its dot."""
        return self._pure.suffix

    @property
    def parent(self) -> RemotePath:
        """The folder that it lies in; that of a bucket is the bucket."""
        return self._at("/".join(self.parts[:-1])) if len(self.parts) > 1 else self

    @property
    def parents(self) -> tuple[RemotePath, ...]:
        """The folder that it lies in, the one around that, … up to the bucket."""
        return tuple(self._at("/".join(self.parts[:count])) for count in range(len(self.parts) - 1, 0, -1))

    def with_name(self, name: str) -> RemotePath:
        """The neighbour of this name."""
        return self.parent / name

    def relative_to(self, other: RemotePath) -> PurePosixPath:
        """The path from a folder above."""
        return self._pure.relative_to(other._pure)

    def as_posix(self) -> str:
        """The address."""
        return self.url

    def resolve(self) -> RemotePath:
        """The place itself; an object store has no links."""
        return self

    def is_file(self) -> bool:
        """Whether the listing has a file here."""
        return self.entry is not None

    def is_dir(self) -> bool:
        """Whether the listing has files below."""
        return self.listing is not None and self._name in self.listing.folders

    def exists(self) -> bool:
        """Whether the listing has a file here or below."""
        return self.is_file() or self.is_dir()

    def stat(self) -> FileStatus:
        """The size of the file."""
        if self.entry is None:
            raise FileNotFoundError(2, "No such file", self.url)
        return FileStatus(self.entry.size)

    def iterdir(self) -> Iterator[RemotePath]:
        """What lies directly in this folder."""
        if not self.is_dir() or self.listing is None:
            raise NotADirectoryError(20, "Not a folder", self.url)
        return (self / name.rpartition("/")[2] for name in sorted(self.listing.folders[self._name or ""]))

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """Files and folders below this one whose relative path fits the pattern."""
        from fsspec.utils import glob_translate

        fits = re.compile(glob_translate(pattern)).match
        return (self / name for name in self._below() if fits(name))

    def rglob(self, pattern: str) -> Iterator[RemotePath]:
        """Those that fit at any depth."""
        return self.glob(f"**/{pattern}")

    def names_below(self) -> Iterator[str]:
        """The relative names of all files below this folder."""
        return (name for name in self._below() if (self / name).is_file())

    def _below(self) -> Iterator[str]:
        if self.listing is None or self._name is None:
            return iter(())
        start = len(self._name) + 1 if self._name else 0
        return (name[start:] for name in self.listing.below(self._name))

    def read_bytes(self) -> bytes:
        """The content of a file that the listing has."""
        self.stat()
        return local_copy(self, self.url).read_bytes()

    def read_text(self, encoding: str = "utf-8") -> str:
        """The content as text."""
        return self.read_bytes().decode(encoding)


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is an address for fsspec rather than a file of this machine."""
    return isinstance(path, RemotePath) or (isinstance(path, str) and "://" in path)


def is_in_object_store(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is an address whose files are copied into the cache."""
    return is_remote(path) and os.fspath(path).partition("://")[0] in OBJECT_STORES


def place(path: str | os.PathLike[str]) -> Path:
    """The folder or file that a user named: of this machine, or of an object store, which is listed now."""
    if isinstance(path, RemotePath) or not is_in_object_store(path):
        return cast(Path, path) if isinstance(path, RemotePath) else Path(path).expanduser()
    url = os.fspath(path).rstrip("/")
    files = entries_below(url, url)
    # A `RemotePath` has the methods of `Path` that datasets use.
    return cast(Path, RemotePath(url, files.get(""), FileListing(url, files)))


def current_entry(path: str | os.PathLike[str], name: str) -> Entry:
    """Size and mark of a file: those of its listing, else what the server says now."""
    known = path.entry if isinstance(path, RemotePath) else None
    return known or entry_of(os.fspath(path), name)


def local_copy(path: str | os.PathLike[str], name: str, largest: int | None = None) -> Path:
    """A file of this machine with the content of a file of an object store, of at most `largest` bytes."""
    url, entry = os.fspath(path), current_entry(path, name)
    check_size(entry.size, name, entry.size if largest is None else largest)
    key = "\n".join([url, str(entry.size), entry.mark])
    return file_cache().get(key, entry.size, name, lambda target: download(url, name, entry, target))
