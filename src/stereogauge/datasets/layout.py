"""How folders are read: what is there, in which order, and the error for a folder with another layout."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from types import MappingProxyType

from stereogauge.errors import DatasetError, StereogaugeError
from stereogauge.io.content import fetch
from stereogauge.io.images import read_png_header
from stereogauge.loading import read_toml
from stereogauge.paths import is_project
from stereogauge.text import shortened

IMAGE_SUFFIXES = (".png", ".ppm", ".pgm", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp")
MAP_SUFFIXES = (
    *(".pfm", ".png", ".pgm", ".npy", ".npz", ".tif", ".tiff", ".exr", ".dsp5", ".mat"),
    *(".jpg", ".jpeg", ".bmp"),
)
JUNK = frozenset({"__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r", "@eadir"})
SHOWN_ENTRIES = 5
MIDDLEBURY_TERMS = (
    "Middlebury grants permission to use and publish all images and disparity maps, with the request to cite the "
    "papers."
)


def has_manifest(folder: Path, name: str) -> bool:
    """Whether a folder is described by a manifest of this name."""
    path = folder / name
    try:
        return path.is_file() and not is_project(read_toml(path, "a manifest"))
    except StereogaugeError:
        return True  # reading it says what is wrong


def map_name(name: str | PurePath) -> tuple[str, str]:
    """Stem and suffix of a map's file, without .gz.

    >>> map_name("sgm/teddy.pfm.gz"), map_name("sgm/teddy.pfm")
    (('teddy', '.pfm'), ('teddy', '.pfm'))
    """
    last = os.path.basename(name)
    stem, suffix = os.path.splitext(last[:-3] if last.lower().endswith(".gz") and len(last) > 3 else last)
    return stem, suffix.lower()


def is_junk(name: str) -> bool:
    """Whether a file, or a folder on the way to it, is hidden or was left there by an operating system.

    >>> [is_junk(name) for name in ("._a.pfm", "__MACOSX/a.pfm", "sgm/Thumbs.db", "sgm/a.pfm")]
    [True, True, True, False]
    """
    return any((part.startswith(".") and part != ".") or part.lower() in JUNK for part in name.split("/"))


def entries(folder: Path) -> list[Path]:
    """What lies in `folder`, by name, without hidden files and what operating systems leave there."""
    try:
        return sorted(entry for entry in folder.iterdir() if not is_junk(entry.name))
    except OSError as error:
        raise DatasetError(f"The folder {folder} cannot be listed: {error.strerror}.") from None


def subfolders(folder: Path) -> list[Path]:
    """The folders in `folder`, by name; none when there is no such folder."""
    return [entry for entry in entries(folder) if entry.is_dir()] if folder.is_dir() else []


def image(folder: Path, stem: str) -> Path | None:
    """The image `stem` in whichever usual format it has."""
    return next((path for suffix in IMAGE_SUFFIXES if (path := folder / (stem + suffix)).is_file()), None)


def png_size(path: Path) -> tuple[int, int]:
    """(width, height) of a PNG from its header alone."""
    header = read_png_header(fetch(path))
    return header.width, header.height


def wrong_folder(name: str, folder: Path, wanted: str) -> DatasetError:
    """The error for a folder in which nothing of the layout was found."""
    if not folder.is_dir():
        return DatasetError(f"{folder} is not a folder; {name} needs one with {wanted}.")
    found = shortened((entry.name + "/" * entry.is_dir() for entry in entries(folder)), SHOWN_ENTRIES)
    return DatasetError(f"{folder} is not laid out as {name}: looked for {wanted}; found {found or 'nothing'}.")


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
