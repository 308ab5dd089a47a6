"""Downloading one large file over HTTP: resumed after interruptions, checked for size and hash.

Bytes go to `NAME.part`, with the server's validator in `NAME.part.tag`; the file gets its name only when it is whole. A
resumed request says `If-Range`, so a file that changed on the server is fetched anew, and a server that ignores `Range`
is noticed.
"""

from __future__ import annotations

import hashlib
import http.client
import re
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import IO

from stereogauge.errors import DatasetError

Progress = Callable[[int, int | None], None]
_CHUNK = 1 << 18
_RETRIED = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError)


@dataclass(frozen=True)
class Downloaded:
    """A whole file; `verified` says whether its hash was known beforehand and agreed."""

    path: Path
    size: int
    sha256: str
    verified: bool


class _SameOrSaferRedirect(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but never from https to anything else."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise DatasetError(
                f"{req.full_url} redirects to the unprotected address {newurl}; the download was stopped."
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """HTTP and HTTPS only: no ftp, no local files, whatever a redirect says."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _SameOrSaferRedirect(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


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
) -> Downloaded:
    """Fetch `url` into `path`; gives up after `attempts` tries in a row that brought nothing new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    idle = 0
    while True:
        before = _length(part)
        problem = _try(url, part, size, progress, timeout)
        if problem is None:
            break
        idle = 0 if _length(part) > before else idle + 1
        if idle >= attempts:
            raise DatasetError(
                f"{url} could not be downloaded: {problem}; what arrived is kept in {part} and continued next time."
            )
        time.sleep(pause * 2**idle)
    digest = file_hash(part)
    if sha256 is not None and digest != sha256:
        _forget(part)
        raise DatasetError(
            f"{url} is not the published file: its SHA-256 is {digest}, expected {sha256}; it was deleted."
        )
    part.replace(path)
    _forget(part)
    return Downloaded(path, path.stat().st_size, digest, sha256 is not None)


def file_hash(path: Path) -> str:
    """SHA-256 of a file, as hexadecimal text."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _tag(part: Path) -> Path:
    return part.with_name(part.name + ".tag")


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _tag(part).unlink(missing_ok=True)


def _try(url: str, part: Path, size: int | None, progress: Progress, timeout: float) -> str | None:
    """One request; None when the file is whole, else why it is not. Errors that trying again cannot mend are raised."""
    start = _length(part)
    request = urllib.request.Request(url, headers={"User-Agent": "stereogauge", "Accept-Encoding": "identity"})
    if start:
        request.add_header("Range", f"bytes={start}-")
        if _tag(part).exists():
            request.add_header("If-Range", _tag(part).read_text(encoding="utf-8"))
    try:
        with _opener().open(request, timeout=timeout) as response:
            return _receive(response, url, part, start, size, progress)
    except urllib.error.HTTPError as error:
        return _refused(error, url, part, start)
    except _RETRIED as error:
        return str(getattr(error, "reason", None) or error) or type(error).__name__


def _refused(error: urllib.error.HTTPError, url: str, part: Path, start: int) -> str | None:
    with error:
        if error.code == 416 and start:
            whole = re.fullmatch(r"bytes \*/(\d+)", error.headers.get("Content-Range", ""))
            if whole and int(whole.group(1)) == start:
                return None
            _forget(part)
            return "the server refused to continue, so it starts again"
        if error.code >= 500 or error.code in (408, 429):
            return f"the server answered {error.code}"
        if error.code in (301, 302, 303, 307, 308):
            raise DatasetError(f"{url} could not be downloaded: its redirect leads nowhere or in a circle.")
        raise DatasetError(f"{url} could not be downloaded: the server answered {error.code} {error.reason}.")


def _receive(
    response: http.client.HTTPResponse, url: str, part: Path, start: int, size: int | None, progress: Progress
) -> str | None:
    if response.status == 206:
        start, total = _continued(response.headers, url, start)
    else:
        start, total = 0, _declared(response.headers)
    if size is not None and total is not None and total != size:
        raise DatasetError(f"{url} is not the published file: the server offers {total:,} bytes, expected {size:,}.")
    expected = total if total is not None else size
    free = shutil.disk_usage(part.parent).free
    if expected is not None and expected - start > free:
        raise DatasetError(f"{url} has {expected:,} bytes, but only {free:,} are free in {part.parent}.")
    _remember(response.headers, part)
    done = start
    with part.open("ab" if start else "wb") as out:
        while chunk := response.read(_CHUNK):
            done += len(chunk)
            if expected is not None and done > expected:
                raise DatasetError(
                    f"{url} is not the published file: more than the expected {expected:,} bytes arrived."
                )
            out.write(chunk)
            progress(done, expected)
    if expected is not None and done < expected:
        return f"the connection broke off after {done:,} of {expected:,} bytes"
    return None


def _declared(headers: Message) -> int | None:
    length = headers.get("Content-Length", "")
    return int(length) if length.isdigit() else None


def _continued(headers: Message, url: str, start: int) -> tuple[int, int | None]:
    found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", headers.get("Content-Range", ""))
    if found is None or int(found.group(1)) != start:
        raise DatasetError(
            f"{url} could not be continued at byte {start:,}: the server answered {headers.get('Content-Range')!r}."
        )
    return start, None if found.group(3) == "*" else int(found.group(3))


def _remember(headers: Message, part: Path) -> None:
    """Keep a strong validator for `If-Range`."""
    tag = headers.get("ETag", "")
    if tag and not tag.startswith("W/"):
        _tag(part).write_text(tag, encoding="utf-8")
        return
    _tag(part).unlink(missing_ok=True)
