"""The layout of a folder without a manifest: the path template that fits the names of its files."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path, PurePosixPath
from typing import Any

from stereogauge.datasets.layout import IMAGE_SUFFIXES, MAP_SUFFIXES, map_name, template_pattern
from stereogauge.io.images import LOSSY

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
    """The scenes `SITE-SCENE` by site, under what follows it, for every place at which the name may be split."""
    found: dict[str, dict[str, str]] = {}
    for name, scene in scenes.items():
        for dash in re.finditer("-", name):
            found.setdefault(name[: dash.start()], {})[name[dash.end() :]] = scene
    return found


def _in_site(name: str, sites: Mapping[str, Mapping[str, str]]) -> str:
    """The name with a site's folder and a scene of it replaced; "" where there are none."""
    folders = name.split("/")[:-1]
    for place, folder in enumerate(folders):
        inner = _with_scene("/".join(name.split("/")[place + 1 :]), sites.get(folder.lower(), {}))
        if inner:
            return "/".join([*folders[:place], SITE, inner])
    return ""


def _with_scene(name: str, scenes: Mapping[str, str]) -> str:
    """The name with the scene in it replaced: a folder's name, the file's stem, or a part of the stem."""
    *folders, last = name.split("/")
    stem = map_name(last)[0]
    end = last[len(stem) :]
    for place in reversed(range(len(folders))):
        if folders[place].lower() in scenes:
            return "/".join([*folders[:place], SCENE, *folders[place + 1 :], last])
    if stem.lower() in scenes:
        return "/".join([*folders, SCENE + end])
    for scene in sorted(scenes, key=len, reverse=True):
        found = re.search(rf"(?i)(?<![a-z0-9]){re.escape(scene)}(?![a-z0-9])", stem)
        if found:
            return "/".join([*folders, stem[: found.start()] + SCENE + stem[found.end() :] + end])
    return ""


def _with_algorithm(templates: Sequence[str]) -> str:
    """One template for all, in which the part that differs is the algorithm; "" where they differ otherwise."""
    if len(templates) == 1:
        return templates[0]
    rows = [template.split("/") for template in templates]
    parts = [list(column) for column in zip(*rows, strict=True)]
    differing = [place for place, column in enumerate(parts) if len(set(column)) > 1]
    names = [_middles(parts[place]) for place in differing]
    if any(names[0][1] != other[1] for other in names):
        return ""
    made = [column[0] for column in parts]
    for place, ((before, after), _) in zip(differing, names, strict=True):
        made[place] = f"{before}{ALGORITHM}{after}"
    return "/".join(made)


def _middles(texts: Sequence[str]) -> tuple[tuple[str, str], list[str]]:
    """What all texts begin and end with, up to a separator, a dot or `{scene}`, and what is between."""
    before = _beginning(texts)
    before = before[: max((before.rfind(edge) + 1 for edge in (*EDGE, "}")), default=0)]
    rest = [text[len(before) :] for text in texts]
    after = _beginning([text[::-1] for text in rest])[::-1]
    places = [place for edge in (*EDGE, "{") if (place := after.find(edge)) >= 0]
    after = after[min(places) :] if places else ""
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
    """The template with `{site}` in place of a folder, where other folders hold scenes in the same way."""
    parts = template.split("/")
    best, most = template, sum(template_pattern(template).fullmatch(name) is not None for name in names)
    for place, part in enumerate(parts[:-1]):
        if "{" in part or TRUTH.search(part):
            continue
        wider = "/".join([*parts[:place], SITE, *parts[place + 1 :]])
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
        if map_name(name)[1] not in MAP_SUFFIXES or map_name(name)[1] in LOSSY:
            continue
        *folders, last = name.split("/")
        stem = map_name(last)[0]
        for template, scene in _placings(folders, stem, last[len(stem) :]):
            scenes.setdefault(template, set()).add(scene)
    usable = {template: found for template, found in scenes.items() if not NO_LEFT_TRUTH.search(_literal(template))}
    if not usable:
        return None
    rank = {
        template: (bool(TRUTH.search(_literal(template))), len(found), -template.count("/"))
        for template, found in usable.items()
    }
    return max(sorted(usable), key=lambda template: rank[template])


def _placings(folders: Sequence[str], stem: str, end: str) -> Iterable[tuple[str, str]]:
    """Every way in which a path may hold a scene: a folder, the stem, or the stem without a word of ground truth."""
    for place, folder in enumerate(folders):
        yield "/".join([*folders[:place], SCENE, *folders[place + 1 :], stem + end]), folder
    above = "".join(f"{folder}/" for folder in folders)
    words = NAMED_STEM.fullmatch(stem)
    if words and (words["before"] or words["after"]):
        yield f"{above}{words['before'] or ''}{SCENE}{words['after'] or ''}{end}", words["scene"]
    elif not TRUTH.search(stem):
        yield f"{above}{SCENE}{end}", stem


def _literal(template: str) -> str:
    return template.replace(SCENE, "/")


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
