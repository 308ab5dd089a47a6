"""How folders are read: what is there, in which order, and the error for a folder with another layout."""

from __future__ import annotations

import functools
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from types import MappingProxyType

from stereogauge.errors import DatasetError
from stereogauge.io.content import fetch
from stereogauge.io.png_file import read_header
from stereogauge.paths import is_project

IMAGE_SUFFIXES = (".png", ".ppm", ".pgm", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp")
MAP_SUFFIXES = (
    ".pfm",
    ".png",
    ".pgm",
    ".npy",
    ".npz",
    ".tif",
    ".tiff",
    ".exr",
    ".dsp5",
    ".mat",
    ".jpg",
    ".jpeg",
    ".bmp",
)
SHOWN_ENTRIES = 5
MIDDLEBURY_TERMS = (
    "Middlebury grants permission to use and publish all images and disparity maps, with the request to cite the "
    "papers."
)


def has_manifest(folder: Path, name: str) -> bool:
    """Whether a folder is described by a manifest of this name."""
    try:
        return not is_project(tomllib.loads((folder / name).read_text(encoding="utf-8")))
    except OSError:
        return False
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return True  # reading it says what is wrong


def map_name(name: str | PurePath) -> tuple[str, str]:
    """Stem and suffix of a map's file, without .gz.

    >>> map_name("sgm/teddy.pfm.gz"), map_name("sgm/teddy.pfm")
    (('teddy', '.pfm'), ('teddy', '.pfm'))
    """
    last = name.rpartition("/")[2] if isinstance(name, str) and os.sep == "/" else os.path.basename(name)
    return _stem_and_suffix(last)


@functools.lru_cache(4096)
def _stem_and_suffix(last: str) -> tuple[str, str]:
    """Those of a file's name; every algorithm has the same names of scenes."""
    stem, suffix = os.path.splitext(last[:-3] if last.lower().endswith(".gz") and len(last) > 3 else last)
    return stem, suffix.lower()


def entries(folder: Path) -> list[Path]:
    """What lies in `folder`, by name, without hidden files."""
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise DatasetError(f"The folder {folder} cannot be listed: {error.strerror}.") from None


def subfolders(folder: Path) -> list[Path]:
    """The folders in `folder`, by name; none when there is no such folder."""
    return [entry for entry in entries(folder) if entry.is_dir()] if folder.is_dir() else []


def first_file(folder: Path, *names: str) -> Path | None:
    """The first of `names` that is a file in `folder`."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def image(folder: Path, stem: str) -> Path | None:
    """The image `stem` in whichever usual format it has."""
    return first_file(folder, *(stem + suffix for suffix in IMAGE_SUFFIXES))


def png_size(path: Path) -> tuple[int, int]:
    """(width, height) of a PNG from its header alone."""
    header = read_header(fetch(path))
    return header.width, header.height


def wrong_folder(name: str, folder: Path, wanted: str) -> DatasetError:
    """The error for a folder in which nothing of the layout was found."""
    if not folder.is_dir():
        return DatasetError(f"{folder} is not a folder; {name} needs one with {wanted}.")
    found = [entry.name + "/" * entry.is_dir() for entry in entries(folder)]
    shown = ", ".join(found[:SHOWN_ENTRIES]) or "nothing"
    more = f" and {len(found) - SHOWN_ENTRIES} more" if len(found) > SHOWN_ENTRIES else ""
    return DatasetError(f"{folder} is not laid out as {name}: looked for {wanted}; found {shown}{more}.")


def in_order(names: Iterable[str], official: Sequence[str]) -> list[str]:
    """`names` in the dataset's own order; those that it does not list follow by name."""
    order = {name.lower(): index for index, name in enumerate(official)}
    return sorted(names, key=lambda name: (order.get(name.lower(), len(order)), name))


_FIELD = re.compile(r"\{(\w+)\}|\{(\w+)\*\*\}/")


def template_pattern(template: str, given: Mapping[str, str] = MappingProxyType({})) -> re.Pattern[str]:
    """The regular expression of a path template.

    `{field}` matches within one part of the path, `{field**}/` any number of folders, also none. A field that occurs
    twice has the same value both times; one in `given` has that value.

    >>> template_pattern("{place**}/{scene}.pfm").fullmatch("a/b/teddy.pfm").groupdict()
    {'place': 'a/b', 'scene': 'teddy'}
    """
    seen: set[str] = set()
    pattern, end = "", 0
    for found in _FIELD.finditer(template):
        pattern += re.escape(template[end : found.start()])
        end = found.end()
        name, folders = found[1] or found[2], found[2] is not None
        if name in given:
            pattern += re.escape(given[name] + "/" * folders)
        elif name in seen:
            pattern += f"(?P={name})" + "/" * folders
        else:
            pattern += f"(?:(?P<{name}>.+?)/)?" if folders else f"(?P<{name}>[^/]+?)"
        seen.add(name)
    return re.compile(pattern + re.escape(template[end:]))


def check_template(template: str, origin: str, fields: Iterable[str]) -> None:
    """Refuse a template that leaves its folder or uses a field that does not exist."""
    parts = template.replace("\\", "/").split("/")
    if template.startswith(("/", "\\")) or ".." in parts or re.match(r"^[A-Za-z]:", template):
        raise DatasetError(
            f"{origin}: the path template {template!r} must stay below its folder (no absolute path, no '..')."
        )
    allowed = set(fields)
    used = set(re.findall(r"\{([^}]*)\}", template))
    if used - allowed:
        wrong, right = sorted(used - allowed)[0], ", ".join("{" + field + "}" for field in sorted(allowed))
        raise DatasetError(f"{origin}: the path template {template!r} uses {{{wrong}}}; allowed are {right}.")
