"""The files of a results folder or of a zip, by their names relative to it.

A zip is never unpacked: its files are read in place, through addresses of the form `zip://NAME::ARCHIVE`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stereogauge.datasets.archives import Limits, member_names
from stereogauge.errors import DatasetError, FileError
from stereogauge.io.content import fetch
from stereogauge.io.remote_path import RemotePath, is_in_object_store, local_copy, place

ZIP_LIMITS = Limits(entries=200_000, size=64 << 30)
LARGEST_TEXT = 1 << 20


@dataclass(frozen=True)
class ResultFiles:
    """`names` are relative, with forward slashes, sorted; `title` is what the folder or zip is called."""

    root: Path
    title: str
    names: tuple[str, ...]
    zipped: bool = False

    def path(self, name: str) -> str | Path:
        """Where `name` can be read; text rather than a `Path` where that is possible, since there may be many files."""
        if self.zipped:
            return f"zip://{name}::{self.root.resolve().as_posix()}"
        return self.root / name if self._folder is None else self._folder + name

    @functools.cached_property
    def _folder(self) -> str | None:
        """The folder, to put before a name; None in an object store, whose paths know the sizes of their files."""
        return None if is_in_object_store(self.root) else os.path.join(self.root, "")

    def text(self, name: str) -> str:
        """The content of a small text file."""
        content = fetch(self.path(name), largest=LARGEST_TEXT)
        if content.size > LARGEST_TEXT:
            raise FileError(
                f"{content.name} has {content.size} bytes; a text beside results has at most {LARGEST_TEXT}."
            )
        try:
            return bytes(content.data).decode("utf-8")
        except UnicodeDecodeError:
            raise FileError(f"{content.name} is not UTF-8 text.") from None


def list_results(path: str | os.PathLike[str]) -> ResultFiles:
    """The files below a folder or in a zip; hidden ones and links to folders are left out."""
    root = place(path)
    if root.is_dir():
        return ResultFiles(root, root.resolve().name, tuple(sorted(n for n in _below(root) if not _hidden(n))))
    if not root.exists():
        raise DatasetError(f"The results {root} do not exist.")
    if root.suffix.lower() != ".zip":
        raise DatasetError(f"{root} is neither a folder of results nor a .zip of one.")
    archive = local_copy(root, str(root)) if is_in_object_store(root) else root
    names = member_names(archive, ZIP_LIMITS)
    return ResultFiles(root, root.stem, tuple(sorted(name for name in names if not _hidden(name))), zipped=True)


def _below(root: os.PathLike[str]) -> Iterator[str]:
    """Relative names of all files; one path object per folder, since there may be many thousand files."""
    if isinstance(root, RemotePath):
        yield from root.names_below()
        return
    for folder, _, names in os.walk(root):
        relative = Path(folder).relative_to(root).as_posix()
        prefix = "" if relative == "." else f"{relative}/"
        yield from (prefix + name for name in names)


def _hidden(name: str) -> bool:
    inside = f"/{name}/"
    return "/." in inside or "/__MACOSX/" in inside
