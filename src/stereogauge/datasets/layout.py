"""How folders and zips are read: what is there, path templates, and the template that fits names without a manifest.

A zip is never unpacked: its files are read in place, through addresses of the form `zip://NAME::ARCHIVE`.
"""

from __future__ import annotations

import functools
import glob
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path, PurePath, PurePosixPath
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from stereogauge.datasets.archives import Limits, member_names
from stereogauge.errors import DatasetError, FileError, StereogaugeError
from stereogauge.io.content import fetch
from stereogauge.io.images import LOSSY, read_png_header
from stereogauge.io.remote import RemotePath, is_in_object_store, local_copy, place
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
MIDDLEBURY_PAPER = (
    "D. Scharstein, H. Hirschmüller, Y. Kitajima, G. Krathwohl, N. Nešić, X. Wang and P. Westling, High-resolution "
    "stereo datasets with subpixel-accurate ground truth, GCPR 2014."
)
"""Of the sets from 2014 on."""
MIDDLEBURY_RESOLUTIONS = {"Q": 0.25, "H": 0.5, "F": 1.0}
"""Their sizes by the letters of the evaluation's version 3."""


ZIP_LIMITS = Limits(entries=200_000, size=64 << 30)
LARGEST_TEXT = 1 << 20


class ResultFiles(Struct, frozen=True, dict=True):
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
        try:
            return bytes(content.data).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise FileError(f"{content.name} is not UTF-8 text.") from None


def list_results(path: str | os.PathLike[str]) -> ResultFiles:
    """The files below a folder or in a zip; hidden ones and links to folders are left out."""
    root = place(path)
    if root.is_dir():
        return ResultFiles(root, root.resolve().name, tuple(sorted(n for n in _below(root) if not is_junk(n))))
    if not root.exists():
        raise DatasetError(f"The results {root} do not exist.")
    if root.suffix.lower() != ".zip":
        raise DatasetError(f"{root} is neither a folder of results nor a .zip of one.")
    archive = local_copy(root, str(root)) if is_in_object_store(root) else root
    names = member_names(archive, ZIP_LIMITS)
    return ResultFiles(root, root.stem, tuple(sorted(name for name in names if not is_junk(name))), zipped=True)


def _below(root: os.PathLike[str]) -> Iterator[str]:
    """Relative names of all files; one path object per folder, since there may be many thousand files."""
    if isinstance(root, RemotePath):
        yield from root.names_below()
        return
    for folder, _, names in os.walk(root):
        relative = Path(folder).relative_to(root).as_posix()
        prefix = "" if relative == "." else f"{relative}/"
        yield from (prefix + name for name in names)


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


def file_at(path: Path) -> Path | None:
    """The file at `path`, whose suffix may be written in capital letters; None where there is none."""
    spellings = (path, path.parent / f"{path.stem}{path.suffix.upper()}")
    return next((spelling for spelling in spellings if spelling.is_file()), None)


def image(folder: Path, stem: str) -> Path | None:
    """The image `stem` in whichever usual format it has."""
    paths = (folder / (stem + suffix) for suffix in IMAGE_SUFFIXES)
    return next((found for path in paths if (found := file_at(path)) is not None), None)


def paths_like(folder: Path, pattern: str) -> list[Path]:
    """The paths below `folder` that fit a pattern of `glob`, by name; folders may be links, as data are often kept."""
    if is_in_object_store(folder):
        return sorted(folder.glob(pattern))
    return sorted(folder / name for name in glob.iglob(pattern, root_dir=folder, recursive=True))


def png_size(path: Path) -> tuple[int, int]:
    """(width, height) of a PNG from its header alone."""
    header = read_png_header(fetch(path))
    return header.width, header.height


def wrong_folder(name: str, folder: Path, wanted: str) -> DatasetError:
    """The error for a folder in which nothing of the layout was found."""
    if not folder.is_dir():
        return DatasetError(f"{folder} is not a folder; {name} needs one, of an unpacked archive, with {wanted}.")
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


def check_template(template: str, origin: str, fields: Iterable[str], needed: str = "") -> None:
    """Refuse a template that leaves its folder, uses a field that does not exist or lacks the one that is needed."""
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
    if needed and needed not in used:
        raise DatasetError(
            f"{origin}: the path template {template!r} needs {{{needed}}}, as in '{{algorithm}}/{{{needed}}}.png'."
        )


SCENE, SITE, ALGORITHM = "{scene}", "{site}", "{algorithm}"
CALIBRATION = re.compile(r"(?i)(?:calib|camera|camchain|intrinsic|stereo_params).*\.(?:txt|ya?ml|xml|json)$")
TRUTH = re.compile(r"(?i)(?<![a-z])(?:gt|ground_?truth|truth)(?![a-z])|disp0?gt|disp_occ|disp_noc")
NO_LEFT_TRUTH = re.compile(
    r"(?i)mask|nocc|disp1|conf|flow|(?<![a-z])(?:right|left|im\d|image|view\d|rgb|colou?r|[lr])(?![a-z])"
)
TRUTH_WORD = r"(?:gt|disp|truth|groundtruth)"
NAMED_STEM = re.compile(rf"(?i)(?P<before>{TRUTH_WORD}[_-])?(?P<scene>.+?)(?P<after>[_-]{TRUTH_WORD})?")
PAIRS = (
    *(("im0", "im1"), ("im2", "im6"), ("left", "right"), ("image_2", "image_3"), ("image_0", "image_1")),
    *(("view1", "view5"), ("cam0", "cam1"), ("L", "R"), ("l", "r")),
)
EDGE = "_-. "
MOST_FILES = 100_000


def results_template(names: Iterable[str], scenes: Mapping[str, str]) -> str:
    """The template with `{scene}`, and `{algorithm}` where files differ in one part, that fits most maps; "" if none.

    `scenes` are the ways in which scenes may be written, in lower case.

    >>> results_template(["teddy/SGM.pfm", "teddy/BM.pfm", "cones/SGM.pfm"], {"teddy": "teddy", "cones": "cones"})
    '{scene}/{algorithm}.pfm'
    >>> results_template(["SGM/teddy/disp.pfm", "BM/teddy/disp.pfm"], {"teddy": "teddy"})
    '{algorithm}/{scene}/disp.pfm'
    """
    maps = [name for name in names if map_name(name)[1] in MAP_SUFFIXES]
    sites = _sites(scenes)
    marked = sorted({found for name in maps if (found := _with_scene(name, scenes) or _in_site(name, sites))})
    groups: dict[tuple[int, str], list[str]] = {}
    for template in marked:
        groups.setdefault((template.count("/"), PurePosixPath(template).suffix), []).append(template)
    candidates = [found for group in groups.values() if (found := _with_algorithm(group))] + marked
    return max(candidates, key=lambda template: (_matches(template, maps, scenes), -len(template)), default="")


def _matches(template: str, names: Sequence[str], scenes: Mapping[str, str]) -> int:
    pattern = template_pattern(template)
    found = [match for name in names if (match := pattern.fullmatch(name))]
    fields = (match.groupdict() for match in found)
    return sum("-".join(filter(None, (one.get("site"), one["scene"]))).lower() in scenes for one in fields)


def _sites(scenes: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The scenes `SITE-SCENE` by site, under what follows it, for every depth at which the name may be split."""
    found: dict[str, dict[str, str]] = {}
    for name, scene in scenes.items():
        for dash in re.finditer("-", name):
            found.setdefault(name[: dash.start()], {})[name[dash.end() :]] = scene
    return found


def _in_site(name: str, sites: Mapping[str, Mapping[str, str]]) -> str:
    """The name with a site's folder and a scene of it replaced; "" where there are none."""
    folders = name.split("/")[:-1]
    for depth, folder in enumerate(folders):
        inner = _with_scene("/".join(name.split("/")[depth + 1 :]), sites.get(folder.lower(), {}))
        if inner:
            return "/".join([*folders[:depth], SITE, inner])
    return ""


def _with_scene(name: str, scenes: Mapping[str, str]) -> str:
    """The name with the scene in it replaced: a folder's name, the file's stem, or a part of the stem."""
    *folders, last = name.split("/")
    stem = map_name(last)[0]
    end = last[len(stem) :]
    for depth in reversed(range(len(folders))):
        if folders[depth].lower() in scenes:
            return "/".join([*folders[:depth], SCENE, *folders[depth + 1 :], last])
    if stem.lower() in scenes:
        return "/".join([*folders, SCENE + end])
    ordered = sorted(scenes, key=len, reverse=True)
    numbered = [scene for scene in ordered if scene.isdigit()]  # may follow a word: frame10
    for some, edge in ((ordered, "[a-z0-9]"), (numbered, "[0-9]")):
        for scene in some:
            found = re.search(rf"(?i)(?<!{edge}){re.escape(scene)}(?!{edge})", stem)
            if found:
                return "/".join([*folders, stem[: found.start()] + SCENE + stem[found.end() :] + end])
    return ""


def _with_algorithm(templates: Sequence[str]) -> str:
    """One template for all, in which the part that differs is the algorithm; "" where they differ otherwise."""
    if len(templates) == 1:
        return templates[0]
    rows = [template.split("/") for template in templates]
    parts = [list(column) for column in zip(*rows, strict=True)]
    differing = [depth for depth, column in enumerate(parts) if len(set(column)) > 1]
    names = [_middles(parts[depth]) for depth in differing]
    if any(names[0][1] != other[1] for other in names):
        return ""
    made = [column[0] for column in parts]
    for depth, ((before, after), _) in zip(differing, names, strict=True):
        made[depth] = f"{before}{ALGORITHM}{after}"
    return "/".join(made)


def _middles(texts: Sequence[str]) -> tuple[tuple[str, str], list[str]]:
    """What all texts begin and end with, up to a separator, a dot or `{scene}`, and what is between."""
    before = _beginning(texts)
    before = before[: max((before.rfind(edge) + 1 for edge in (*EDGE, "}")), default=0)]
    rest = [text[len(before) :] for text in texts]
    after = _beginning([text[::-1] for text in rest])[::-1]
    cuts = [cut for edge in (*EDGE, "{") if (cut := after.find(edge)) >= 0]
    after = after[min(cuts) :] if cuts else ""
    return (before, after), [text[: len(text) - len(after)] for text in rest]


def _beginning(texts: Sequence[str]) -> str:
    """The letters that all texts begin with."""
    same = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in same)


def core_names(ids: Iterable[str]) -> dict[str, str]:
    """Scene ids without what all of them begin and end with, in lower case: `left_01_gt` may be called `01` elsewhere.

    >>> core_names(["left_01_gt", "left_02_gt"])
    {'01': 'left_01_gt', '02': 'left_02_gt'}
    """
    names = list(ids)
    cores = _middles(names)[1] if len(names) > 1 else []
    return {core.lower(): name for core, name in zip(cores, names, strict=False) if core}


def folder_layout(root: Path, names: Sequence[str]) -> dict[str, Any] | None:
    """The manifest of a folder of ground truth, as `stereogauge.toml` would say it; None where nothing fits.

    `names` are its files, relative and with forward slashes. Folders that hold the same things are sites.
    """
    truth = _truth_template(list(names)[:MOST_FILES])
    if truth is None:
        return None
    truth = _with_sites(truth, names)
    matches = [match for name in names if (match := template_pattern(truth).fullmatch(name))]
    scenes = {match.group("scene").lower(): match.group("scene") for match in matches}
    sites = {match.groupdict().get("site") or "" for match in matches}
    paths = {"ground_truth": truth, **_images(names, scenes, sites, truth), **_calibration(names, scenes, sites)}
    return {"name": root.resolve().name, "paths": paths}


def _with_sites(template: str, names: Sequence[str]) -> str:
    """The template with `{site}` in depth of a folder, where other folders hold scenes in the same way."""
    parts = template.split("/")
    best, most = template, sum(template_pattern(template).fullmatch(name) is not None for name in names)
    for depth, part in enumerate(parts[:-1]):
        if "{" in part or TRUTH.search(part):
            continue
        wider = "/".join([*parts[:depth], SITE, *parts[depth + 1 :]])
        pattern = template_pattern(wider)
        found = [match.group("site") for name in names if (match := pattern.fullmatch(name))]
        if len(found) > most and not any(NO_LEFT_TRUTH.search(site) for site in found):
            best, most = wider, len(found)
    return best


def _as_site(template: str, sites: Set[str]) -> str:
    return "/".join(SITE if part in sites and part else part for part in template.split("/"))


def _truth_template(names: Sequence[str]) -> str | None:
    """The template of the left view's ground truth: one that is called so, else the one with most scenes."""
    scenes: dict[str, set[str]] = {}
    for name in names:
        *folders, last = name.split("/")
        stem, suffix = map_name(last)
        if suffix not in MAP_SUFFIXES or suffix in LOSSY:
            continue
        for template, scene in _placings(folders, stem, last[len(stem) :]):
            scenes.setdefault(template, set()).add(scene)
    rank: dict[str, tuple[bool, int, int]] = {}
    for template, found in sorted(scenes.items()):
        literal = template.replace(SCENE, "/")
        if not NO_LEFT_TRUTH.search(literal):
            rank[template] = bool(TRUTH.search(literal)), len(found), -template.count("/")
    return max(rank, key=lambda template: rank[template], default=None)


def _placings(folders: Sequence[str], stem: str, end: str) -> Iterable[tuple[str, str]]:
    """Every way in which a path may hold a scene: a folder, the stem, or the stem without a word of ground truth."""
    for depth, folder in enumerate(folders):
        yield "/".join([*folders[:depth], SCENE, *folders[depth + 1 :], stem + end]), folder
    above = "".join(f"{folder}/" for folder in folders)
    words = NAMED_STEM.fullmatch(stem)
    if words and (words["before"] or words["after"]):
        yield f"{above}{words['before'] or ''}{SCENE}{words['after'] or ''}{end}", words["scene"]
    elif not TRUTH.search(stem):
        yield f"{above}{SCENE}{end}", stem


def _images(names: Sequence[str], scenes: Mapping[str, str], sites: Set[str], truth: str) -> dict[str, str]:
    found = {
        _as_site(template, sites)
        for name in names
        if PurePosixPath(name).suffix.lower() in IMAGE_SUFFIXES and (template := _with_scene(name, scenes))
    } - {truth}
    for left, right in PAIRS:
        token = re.compile(rf"(?<![A-Za-z0-9]){left}(?![A-Za-z0-9])")
        for template in sorted(found):
            other = token.sub(right, template)
            if other != template and other in found:
                return {"left": template, "right": other}
    return {}


def _calibration(names: Sequence[str], scenes: Mapping[str, str], sites: Set[str]) -> dict[str, str]:
    """Calibration files: one per scene, one per site, or one for all."""
    files = [name for name in names if CALIBRATION.search(name)]
    templates = [_as_site(_with_scene(name, scenes) or name, sites) for name in files]
    for field in (SCENE, SITE, ""):
        chosen = [template for template in templates if field in template]
        if chosen:
            return {"calibration": chosen[0]}
    return {}
