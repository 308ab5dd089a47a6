"""Getting a dataset: its official archives downloaded, checked and unpacked, with a record kept beside them.

Pooch checks the hash and puts a whole file in its place. Bytes arrive in `NAME.part`, with the server's validator in
`NAME.part.tag`: an interrupted download continues there. A resumed request says `If-Range`, so a file that changed on
the server is fetched again, and a server that ignores `Range` is noticed.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from stereogauge.datasets.archives import safe_name, unpack
from stereogauge.datasets.declaration import Archive, DatasetFamily, family_of
from stereogauge.errors import DatasetError, one_line
from stereogauge.io.writing import write_bytes

RECORD = "stereogauge-fetched.json"
_DOWNLOADS = ".downloads"
_CHUNK = 1 << 18
_HEADERS = {"User-Agent": "stereogauge", "Accept-Encoding": "identity"}

Progress = Callable[[int, int | None], None]
NamedProgress = Callable[[str, int, int | None], None]


class Fetched(Struct, frozen=True):
    """One official file that is now in place; `verified` is false where no hash is published to compare with."""

    url: str
    size: int
    sha256: str
    verified: bool
    already: bool = False


def official_archives(name: str) -> tuple[DatasetFamily, tuple[Archive, ...]]:
    """The archives of dataset `name`, or an error that says how to get it by hand."""
    family, variant = family_of(name)
    if not family.archives:
        raise DatasetError(f"{family.name} cannot be fetched automatically: {family.obtain}")
    chosen = variant or next(iter(family.archives))
    if chosen not in family.archives:
        raise DatasetError(
            f"{family.name} has no archives of variant {chosen!r}; there are: {', '.join(family.archives)}."
        )
    return family, family.archives[chosen]


def fetch(
    name: str,
    out: Path,
    *,
    progress: NamedProgress = lambda what, done, total: None,
    keep_archives: bool = False,
) -> list[Fetched]:
    """Download and unpack the official archives of `name` into `out`, without those of an earlier call."""
    _, archives = official_archives(name)
    out.mkdir(parents=True, exist_ok=True)
    record = _read_record(out)
    done: list[Fetched] = []
    for archive in archives:
        known = record.get(archive.url)
        if known is not None and archive.sha256 in (None, known.sha256):
            done.append(Fetched(known.url, known.size, known.sha256, known.verified, already=True))
            continue
        path = out / _DOWNLOADS / archive.filename
        received = functools.partial(progress, f"downloading {archive.filename}")
        file = download(archive.url, path, size=archive.size, sha256=archive.sha256, progress=received)
        _put_in_place(archive, path, out, progress)
        if not keep_archives:
            path.unlink(missing_ok=True)
        record[archive.url] = file
        write_bytes(out / RECORD, msgspec.json.format(msgspec.json.encode([*record.values()]), indent=1))
        done.append(file)
    with contextlib.suppress(OSError):  # not there, or not empty
        (out / _DOWNLOADS).rmdir()
    return done


def _put_in_place(archive: Archive, path: Path, out: Path, progress: NamedProgress) -> None:
    if archive.unpack:
        target = out / safe_name(archive.target, path) if archive.target else out
        unpack(path, target, progress=functools.partial(progress, f"unpacking {archive.filename}"))
        return
    target = out / safe_name(archive.target or archive.filename, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    path.replace(target)


def _read_record(out: Path) -> dict[str, Fetched]:
    path = out / RECORD
    if not path.exists():
        return {}
    try:
        return {entry.url: entry for entry in msgspec.json.decode(path.read_bytes(), type=list[Fetched])}
    except msgspec.DecodeError:
        raise DatasetError(f"{path} is damaged; delete it to fetch the dataset again.") from None


def download(
    url: str,
    path: Path,
    *,
    size: int | None = None,
    sha256: str | None = None,
    progress: Progress = lambda done, total: None,
    attempts: int = 5,
    pause: float = 1.0,
    timeout: float = 60.0,
) -> Fetched:
    """Fetch `url` into `path`; gives up after `attempts` tries in a row that brought nothing new."""
    import pooch

    pooch.get_logger().setLevel(logging.WARNING)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    source = _ResumedDownload(path.with_name(path.name + ".part"), size, progress, attempts, pause, timeout)
    known = None if sha256 is None else f"sha256:{sha256}"
    try:
        pooch.retrieve(url, known, fname=path.name, path=path.parent, downloader=source)
    except ValueError as problem:  # Pooch has deleted the file
        raise DatasetError(
            f"{url} is not the published file: its SHA-256 is not the expected {sha256}; it was deleted."
        ) from problem
    return Fetched(url, path.stat().st_size, pooch.file_hash(path), sha256 is not None)


class _ResumedDownload(Struct, frozen=True):
    """Pooch's downloader: continues a partial file, tries again, and stops at what was published or fits the disk."""

    part: Path
    size: int | None
    progress: Progress
    attempts: int
    pause: float
    timeout: float

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        idle, before = 0, self._length
        while problem := self._try(url):
            idle = 0 if self._length > before else idle + 1
            before = self._length
            if idle >= self.attempts:
                raise DatasetError(
                    f"{url} could not be downloaded: {problem}; what arrived is kept in {self.part} and continued "
                    "next time."
                )
            time.sleep(self.pause * 2**idle)
        shutil.move(self.part, output_file)
        self._tag.unlink(missing_ok=True)

    @property
    def _length(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    @property
    def _tag(self) -> Path:
        return self.part.with_name(self.part.name + ".tag")

    def _try(self, url: str) -> str:
        """One request; "" when the file is whole, else why it is not. What trying again cannot fix is raised."""
        import requests

        start, headers = self._length, dict(_HEADERS)
        if start:
            headers["Range"] = f"bytes={start}-"
            if self._tag.exists():
                headers["If-Range"] = self._tag.read_text(encoding="utf-8")
        try:
            with requests.get(url, headers=headers, stream=True, timeout=self.timeout) as response:
                for place in (*(hop.url for hop in response.history[1:]), response.url):
                    if url.startswith("https:") and not place.startswith("https:"):
                        raise DatasetError(
                            f"{url} redirects to the unprotected address {place}; the download was stopped."
                        )
                return self._receive(response, url, start)
        except (requests.ConnectionError, requests.Timeout) as error:
            return one_line(error) or type(error).__name__
        except (requests.RequestException, OSError) as error:
            raise DatasetError(f"{url} could not be downloaded: {one_line(error)}.") from error

    def _receive(self, response: Any, url: str, start: int) -> str:
        if response.status_code >= 400:
            return self._refused(response, url, start)
        if response.status_code == 206:
            rest = response.headers.get("Content-Range", "")
            found = re.fullmatch(rf"bytes {start}-\d+/(\d+|\*)", rest)
            if found is None:
                raise DatasetError(f"{url} could not be continued at byte {start:,}: the server answered {rest!r}.")
            length = found[1]
        else:
            start, length = 0, response.headers.get("Content-Length", "")
        total = int(length) if length.isdigit() else None
        expected = self._expected(url, total, start)
        tag = response.headers.get("ETag", "")
        self._tag.unlink(missing_ok=True)
        if tag and not tag.startswith("W/"):  # a strong validator, for If-Range
            self._tag.write_text(tag, encoding="utf-8")
        done = start
        with self.part.open("ab" if start else "wb") as out:
            for chunk in _pieces(response):
                done += len(chunk)
                if expected is not None and done > expected:
                    raise DatasetError(
                        f"{url} is not the published file: more than the expected {expected:,} bytes arrived."
                    )
                out.write(chunk)
                self.progress(done, expected)
        if expected is not None and done < expected:
            return f"the connection broke off after {done:,} of {expected:,} bytes"
        return ""

    def _refused(self, response: Any, url: str, start: int) -> str:
        status = response.status_code
        if status == 416 and start:
            if response.headers.get("Content-Range") == f"bytes */{start}":
                return ""  # all of it has arrived
            self.part.unlink()
            self._tag.unlink(missing_ok=True)
            return "the server refused to continue, so it starts again"
        if status >= 500 or status in (408, 429):
            return f"the server answered {status}"
        raise DatasetError(f"{url} could not be downloaded: the server answered {status} {response.reason}.")

    def _expected(self, url: str, total: int | None, start: int) -> int | None:
        """The size of the file; an error where it is not the published one or does not fit on the disk."""
        if self.size is not None and total is not None and total != self.size:
            raise DatasetError(
                f"{url} is not the published file: the server offers {total:,} bytes, expected {self.size:,}."
            )
        expected = total if total is not None else self.size
        free = shutil.disk_usage(self.part.parent).free
        if expected is not None and expected - start > free:
            raise DatasetError(f"{url} has {expected:,} bytes, but only {free:,} are free in {self.part.parent}.")
        return expected


def _pieces(response: Any) -> Iterator[bytes]:
    """The body as it was sent, until its end or until the connection breaks."""
    import urllib3

    with contextlib.suppress(urllib3.exceptions.HTTPError):
        yield from response.raw.stream(_CHUNK, decode_content=False)
