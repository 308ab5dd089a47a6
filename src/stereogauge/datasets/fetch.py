"""Getting a dataset: its official archives downloaded, checked and unpacked, with a record kept beside them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from stereogauge.datasets.archives import Limits, safe_name, unpack
from stereogauge.datasets.declaration import Archive, DatasetFamily, family_of
from stereogauge.datasets.download import Downloaded, download
from stereogauge.errors import DatasetError

RECORD = "stereogauge-fetched.json"
_DOWNLOADS = ".downloads"

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Fetched:
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
    progress: Progress = lambda what, done, total: None,
    keep_archives: bool = False,
    limits: Limits | None = None,
    pause: float = 1.0,
    attempts: int = 5,
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
        file = download(
            archive.url,
            out / _DOWNLOADS / archive.filename,
            size=archive.size,
            sha256=archive.sha256,
            progress=functools.partial(progress, f"downloading {archive.filename}"),
            pause=pause,
            attempts=attempts,
        )
        _place(archive, file, out, limits, progress)
        if not keep_archives:
            file.path.unlink(missing_ok=True)
        record[archive.url] = Fetched(archive.url, file.size, file.sha256, file.verified)
        _write_record(out, record)
        done.append(record[archive.url])
    _remove_empty(out / _DOWNLOADS)
    return done


def _place(archive: Archive, file: Downloaded, out: Path, limits: Limits | None, progress: Progress) -> None:
    if archive.unpack:
        target = out / safe_name(archive.target, file.path) if archive.target else out
        unpack(file.path, target, limits, functools.partial(progress, f"unpacking {archive.filename}"))
        return
    target = out / safe_name(archive.target or archive.filename, file.path)
    target.parent.mkdir(parents=True, exist_ok=True)
    file.path.replace(target)


def _read_record(out: Path) -> dict[str, Fetched]:
    path = out / RECORD
    if not path.exists():
        return {}
    try:
        return {entry["url"]: Fetched(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))}
    except (ValueError, TypeError, KeyError):
        raise DatasetError(f"{path} is damaged; delete it to fetch the dataset again.") from None


def _write_record(out: Path, record: dict[str, Fetched]) -> None:
    text = json.dumps([asdict(entry) for entry in record.values()], indent=1)
    partial = out / (RECORD + ".part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(out / RECORD)


def _remove_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
