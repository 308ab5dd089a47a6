"""Files at addresses that fsspec knows (`s3://`, `http://`, `memory://`, …): what is there, and their bytes.

Credentials and the server's address come from the environment, as boto reads them (`AWS_ACCESS_KEY_ID`,
`AWS_ENDPOINT_URL`, …). Every failure is one sentence; an object store that does not answer is `Unreachable`, so that a
run ends instead of failing on each of its maps.

Files of object stores are copied into a cache: bounded in size, safe for several processes, each copy of one state of
one file. `STEREOGAUGE_CACHE` names the folder of all caches, `STEREOGAUGE_CACHE_GB` the most that copies may take.

`RemotePath` has the methods of `pathlib.Path` that datasets and results are found with. The root of a dataset or of
results is listed once; every question about what lies below it is answered from that listing. A file keeps the size and
mark that it had in the listing, also in other processes, so that all of them read the same content or say that it
changed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from msgspec import Struct

from stereogauge.errors import FileError, MissingDependency, StereogaugeError, Unreachable, cause, one_line
from stereogauge.paths import cache_folder

STEP = 1 << 20
"""Bytes that are read at once."""
OBJECT_STORES = ("s3", "s3a", "gs", "gcs", "abfs", "az")
"""Schemes whose files are copied into the cache; others are read in place."""
SCHEME_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "http": "aiohttp", "https": "aiohttp"}
MARKS = ("ETag", "etag", "LastModified", "mtime", "updated")
NO_ANSWER = (
    *("EndpointConnectionError", "ConnectionClosedError", "ConnectTimeoutError", "ReadTimeoutError"),
    *("ClientConnectorError", "ClientConnectorDNSError", "ClientOSError", "ServerDisconnectedError"),
    *("HTTPClientError", "FSTimeoutError"),
)
"""Errors of botocore and aiohttp, which need not be installed, that mean: no server answers."""
NO_CREDENTIALS = ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound")

DEFAULT_GIGABYTES = 20.0
GIGABYTE = 10**9
KEPT_SHARE = 0.9
"""The part of the limit that is left when old copies are removed, so that it is not done for every file."""
LOOK_SHARE = 1 / 16
"""The part of the limit that a process adds before it counts again what all processes have added."""
ABANDONED = 3600.0
"""Seconds after which an unfinished download belongs to a process that was killed."""


class Entry(NamedTuple):
    """The size of a file in bytes, and a mark (ETag or time) that changes with its content; "" where there is none."""

    size: int
    mark: str

    @property
    def stamp(self) -> str:
        """Size and mark as text, "" where a change could not be noticed."""
        return f"{self.size}:{self.mark}" if self.mark else ""


def remote_file_system(url: str, name: str) -> tuple[Any, str]:
    """The fsspec file system of a URL and the path within it."""
    from fsspec.core import url_to_fs

    scheme = url.partition("://")[0]
    # A cached listing would hide that a file was changed.
    options = {"use_listings_cache": False} if scheme in ("s3", "s3a") else {}
    try:
        file_system, path = url_to_fs(url, **options)
    except ImportError as error:
        if scheme not in SCHEME_PACKAGES:
            raise FileError(f"{name}: cannot be fetched ({one_line(error)}).") from error
        raise MissingDependency(SCHEME_PACKAGES[scheme], "cluster", f"{name}: {scheme}:// addresses") from error
    except ValueError as error:
        raise FileError(f"{name}: cannot be fetched ({one_line(error)}).") from error
    return file_system, path


@contextlib.contextmanager
def translated_errors(url: str, name: str, done: str = "fetched") -> Iterator[None]:
    """Turn whatever a file system raises into one sentence; `done` is what could not be done with the file."""
    try:
        yield
    except StereogaugeError:
        raise
    except FileNotFoundError as error:
        what = "bucket" if type(error.__cause__).__name__ == "NoSuchBucket" else "file"
        raise FileError(f"{name}: there is no such {what}.") from None
    except PermissionError as error:
        raise FileError(
            f"{name}: access is denied ({one_line(error)}); may AWS_ACCESS_KEY_ID or the profile in use read it?"
        ) from error
    except Exception as error:  # each file system has its own kinds of failure, with no base class in common
        kind = type(error).__name__
        if kind in NO_CREDENTIALS:
            raise FileError(
                f"{name}: no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
            ) from error
        if kind in NO_ANSWER or isinstance(error, ConnectionError | TimeoutError):
            server = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or "this address"
            raise Unreachable(
                f"{name}: no server answers at {server} ({kind}); start it, or correct AWS_ENDPOINT_URL, and run "
                "the same command again."
            ) from None
        raise FileError(f"{name}: cannot be {done} ({kind}: {one_line(error).replace(url, name)}).") from error


def entry_of(url: str, name: str) -> Entry:
    """Size and mark of the file at a URL, as the server says them now."""
    file_system, path = remote_file_system(url, name)
    with translated_errors(url, name):
        information = file_system.info(path)
    if information.get("type") == "directory":
        raise FileError(f"{name}: this is a folder; a file is needed.")
    return _entry(information)


def _entry(information: Mapping[str, Any]) -> Entry:
    mark = next((str(information[key]) for key in MARKS if information.get(key)), "")
    return Entry(int(information.get("size") or 0), mark.strip('"'))


def entries_below(url: str, name: str) -> dict[str, Entry]:
    """Every file below a URL by its name relative to it; the file itself is called "".

    Names that no file of a folder could have (`..`, empty parts, control characters) are left out.
    """
    file_system, path = remote_file_system(url, name)
    with translated_errors(url, name, "listed"):
        found = file_system.find(path, detail=True)
    top = str(path).rstrip("/")
    below = {full.removeprefix(top).removeprefix("/"): information for full, information in found.items()}
    return {key: _entry(information) for key, information in below.items() if key == "" or _is_plain(key)}


def _is_plain(name: str) -> bool:
    return name.isprintable() and "\\" not in name and all(part not in ("", ".", "..") for part in name.split("/"))


def remote_pieces(url: str, name: str, largest: int) -> Iterator[bytes]:
    """The content at a URL in pieces of a megabyte; more than `largest` bytes are refused."""
    check_size(entry_of(url, name).size, name, largest)
    file_system, path = remote_file_system(url, name)
    received = 0
    with translated_errors(url, name), file_system.open(path, "rb") as file:
        while piece := file.read(STEP):
            received += len(piece)
            check_size(received, name, largest)
            yield piece


def check_size(size: int, name: str, largest: int) -> None:
    """Raise an error for a file above the largest that is read."""
    if size > largest:
        raise FileError(f"{name}: the file has {size} bytes; at most {largest} are read.")


def download(url: str, name: str, entry: Entry, target: Path) -> None:
    """Write the file that has this size and mark to `target`; any other content is an error."""
    file_system, path = remote_file_system(url, name)
    with translated_errors(url, name):
        file_system.get_file(path, str(target))
    now = entry_of(url, name)
    if now != entry or target.stat().st_size != entry.size:
        raise FileError(
            f"{name}: the file changed during the run (it had {entry.size} bytes and the mark {entry.mark}, now "
            f"{now.size} and {now.mark}); run the same command again."
        )


class FileCache:
    """Copies below `folder` that take at most `limit` bytes; those that were not used for longest are removed."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self._added = limit  # unknown what is there: the first copy counts

    def get(self, key: str, size: int, name: str, write: Callable[[Path], None]) -> Path:
        """The copy for `key`; where it is absent or not `size` bytes long, `write` makes it.

        The file's name is a hash of `key`, which nothing in an address can lead out of the folder. A copy appears whole
        or not at all; two processes that want it at the same time both make it, and the later one wins.
        """
        hashed = hashlib.sha256(key.encode()).hexdigest()
        path = self.folder / hashed[:2] / hashed
        with contextlib.suppress(OSError):
            if path.stat().st_size == size:
                os.utime(path)
                return path
        temporary = path.with_name(f"{hashed}.{uuid.uuid4().hex}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                write(temporary)
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as problem:
            raise FileError(
                f"{name}: the copy cannot be kept in {self.folder} ({cause(problem)}); make room, or name another "
                "folder with STEREOGAUGE_CACHE."
            ) from problem
        self._added += size
        if self._added > LOOK_SHARE * self.limit:
            self._added = 0
            self._make_room(path, size)
        return path

    def _make_room(self, newest: Path, size_of_newest: int) -> None:
        """Remove what was not used for longest until the limit is kept; the newest copy stays in any case."""
        copies: list[tuple[float, int, Path]] = []
        for path in self.folder.glob("??/*"):
            with contextlib.suppress(OSError):  # another process may have removed it
                status = path.stat()
                if path.suffix == ".tmp":
                    if time.time() - status.st_mtime > ABANDONED:
                        path.unlink()
                elif path != newest:
                    copies.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in copies) + size_of_newest
        if total <= self.limit:
            return
        for _, size, path in sorted(copies):
            if total <= KEPT_SHARE * self.limit:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size


@functools.cache
def file_cache() -> FileCache:
    """The cache of this process."""
    given = os.environ.get("STEREOGAUGE_CACHE_GB", "")
    try:
        gigabytes = float(given or DEFAULT_GIGABYTES)
    except ValueError:
        gigabytes = 0.0
    if not gigabytes > 0:
        raise FileError(f"STEREOGAUGE_CACHE_GB is a positive number of gigabytes, e.g. 20; found {given!r}.")
    return FileCache(cache_folder("remote"), int(min(gigabytes, 1e9) * GIGABYTE))


class FileListing(Struct, frozen=True, dict=True):
    """All files below `url` by their names relative to it."""

    url: str
    files: Mapping[str, Entry]

    @functools.cached_property
    def folders(self) -> Mapping[str, frozenset[str]]:
        """The names in every folder that some file lies in; the root is called ""."""
        found: dict[str, set[str]] = {}
        for file in filter(None, self.files):
            parts = file.split("/")
            for depth in range(len(parts)):
                found.setdefault("/".join(parts[:depth]), set()).add("/".join(parts[: depth + 1]))
        return {folder: frozenset(names) for folder, names in found.items()}

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """All files and folders, by name."""
        return tuple(sorted({*self.files, *self.folders} - {""}))


@functools.total_ordering
class RemotePath(Struct, frozen=True, eq=False):
    """A place in an object store; `entry` is that of a file, `listing` what its root holds (not sent to workers).

    >>> path = RemotePath("s3://bucket/scenes") / "teddy" / "disp0.pfm"
    >>> str(path), path.stem, path.parent.name
    ('s3://bucket/scenes/teddy/disp0.pfm', 'disp0', 'teddy')
    """

    url: str
    entry: Entry | None = None
    listing: FileListing | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and (self.url, self.entry) == (other.url, other.entry)

    def __hash__(self) -> int:
        return hash((self.url, self.entry))

    def __reduce__(self) -> tuple[Any, ...]:
        return RemotePath, (self.url, self.entry)

    def __str__(self) -> str:
        return self.url

    def __fspath__(self) -> str:
        return self.url

    def __lt__(self, other: RemotePath) -> bool:
        return self.url.split("/") < other.url.split("/")

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
        return PurePosixPath(self.url)

    @property
    def _name(self) -> str | None:
        """The name below the listing's root; None where that is not known."""
        return None if self.listing is None else self.url[len(self.listing.url) + 1 :]

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
        folder = self.url.rpartition("/")[0]
        return self if folder.endswith("/") else self._at(folder)

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

    def absolute(self) -> RemotePath:
        """The place itself; an address is complete."""
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

    def stat(self) -> SimpleNamespace:
        """What `Path.stat` says, as far as an object store knows it: the size of the file."""
        if self.entry is None:
            raise FileNotFoundError(2, "No such file", self.url)
        return SimpleNamespace(st_size=self.entry.size)

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

    def names_below(self) -> Iterator[str]:
        """The relative names of all files below this folder."""
        return (name for name in self._below() if (self / name).is_file())

    def _below(self) -> Iterator[str]:
        own = f"{self._name}/" if self._name else ""
        names = () if self.listing is None else self.listing.names
        return (name.removeprefix(own) for name in names if name.startswith(own))

    def read_text(self, encoding: str = "utf-8") -> str:
        """The content of a file that the listing has, as text."""
        self.stat()
        return local_copy(self, self.url).read_text(encoding)


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is an address for fsspec rather than a file of this machine."""
    return isinstance(path, RemotePath) or (isinstance(path, str) and "://" in path)


def is_in_object_store(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is an address whose files are copied into the cache."""
    return is_remote(path) and os.fspath(path).partition("://")[0] in OBJECT_STORES


def place(path: str | os.PathLike[str]) -> Path:
    """The folder or file that a user named: of this machine, or of an object store, which is listed now."""
    if isinstance(path, RemotePath):
        return cast(Path, path)
    if not is_in_object_store(path):
        return Path(path).expanduser()
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
