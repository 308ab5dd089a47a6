"""Finding the results of algorithms on a dataset in a folder or zip, each file by its name alone.

Recognised without configuration: Middlebury v3 submissions (`SCENE/disp0ALG.pfm`, `timeALG.txt`), KITTI's
(`disp_0/000000_10.png`, `data/…`), Spring's (`0003/disp1_left/disp1_left_0001.dsp5`), and one folder per algorithm with
one file per scene (`ALG/SCENE.png`, as ETH3D's with run times in `SCENE.txt`), also several such folders. Anything else
needs a path template.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from msgspec.structs import replace

from stereogauge.datasets.layout import (
    MAP_SUFFIXES,
    ResultFiles,
    check_template,
    core_names,
    list_results,
    map_name,
    results_template,
    template_pattern,
)
from stereogauge.datasets.results.manifest import (
    FILENAMES,
    ResultDecoding,
    ResultManifest,
    manifest_of,
    of_map,
    read_manifest,
    read_manifests,
    values_of_scene,
)
from stereogauge.errors import DatasetError, FileError, SizeError
from stereogauge.io.content import GZIP, fetch, suffix_of
from stereogauge.io.encodings import fixes_encoding, is_depth, keeps_encoding
from stereogauge.io.files import DisparityFile
from stereogauge.io.images import PNG_SIGNATURE, read_png_header
from stereogauge.model import ConfidenceMaps, Dataset, ResultSet, Scene
from stereogauge.tags import as_tags

CONFIDENCE = "confidence"
"""The folder of confidence maps, and what the only one of an algorithm is called when its own folder has no name."""
SCALE_OF_SCENE = frozenset({"middlebury-v2"})
"""Datasets whose rules say that an 8-bit result has the scale of its scene's ground truth."""


class FoundResults(NamedTuple):
    """The algorithms by name, and the files (relative names) that are part of none of them.

    `template` is the one that was found; it is empty where the layout is a known one or was given. `fixed` says that
    the formats of all maps fix their encoding, so that a stated scale was meant for them.
    """

    results: list[ResultSet]
    unrecognised: list[str]
    template: str = ""
    fixed: bool = False


def load_results(path: str | os.PathLike[str], dataset: Dataset, **options: Any) -> list[ResultSet]:
    """The results of algorithms on a dataset in a folder or zip, as `sg.evaluate` takes them.

    `options` are `template`, `encoding`, `scale`, `offset`, `unknown`, `flip`, `crop`, `name` and `manifest`: where
    maps lie and how they are read, as on the command line. Maps are read when they are measured.

    >>> data = sg.load_dataset("synthetic:planes", size=(48, 64), scenes=2)
    >>> Path("runs/flat").mkdir(parents=True)
    >>> for scene in data:
    ...     sg.write_disparity(f"runs/flat/{scene.id}.pfm", scene.gt + 1)
    >>> results = sg.load_results("runs", data)
    >>> [result.name for result in results], round(sg.evaluate(results, data, ["mae"], ["all"]).value("mae"), 3)
    (['flat'], 1.0)
    """
    found = find_results(path, dataset, **options)
    if not found.results:
        raise DatasetError(
            f"{path} holds no maps for the scenes of {dataset.name} ({', '.join(dataset.ids[:4])}, …); say where they "
            "lie with template, for example '{algorithm}/{scene}.pfm'."
        )
    return found.results


def find_results(
    path: str | os.PathLike[str],
    dataset: Dataset,
    *,
    template: str | None = None,
    encoding: str | None = None,
    scale: float | Mapping[str, float] | None = None,
    offset: float | Mapping[str, float] | None = None,
    unknown: Sequence[float] = (),
    flip: str | None = None,
    crop: Sequence[int] = (),
    name: str | None = None,
    manifest: str | os.PathLike[str] | None = None,
) -> FoundResults:
    """The results for `dataset` in the folder or zip `path`; nothing is read but names, manifests and run times.

    The layouts that are known need no `template`; of others the template that fits the names is found. `encoding`,
    `scale` and `offset` (the latter two also by scene) say how values become disparities, `unknown` which stored values
    mean none, `flip` and `crop` (column, row) how a map is turned and where a padded one begins; all
    go before what a `results.toml` says. `name` renames the algorithm when there is exactly one. `manifest` is a
    `results.toml` that lies elsewhere, for results that cannot be written to; it replaces the one in the results
    folder.
    """
    files = list_results(path)
    manifests = read_manifests(files)
    if manifest is not None:
        manifests[""] = read_manifest(Path(manifest))
    template = template or manifests.get("", ResultManifest()).template
    if template:
        check_template(template, str(files.root), FIELDS, "scene")
    names = [name for name in files.names if name.rpartition("/")[2] not in FILENAMES]
    recognised = _recognise_all(names, scene_names(dataset.ids), template)
    found_template = ""
    if not template and not any(file.kind == "map" for file in recognised):
        rest = sorted({*names} - {file.name for file in recognised})
        for scenes in (scene_names(dataset.ids), core_names(dataset.ids)):
            if found_template := results_template(rest, scenes):
                recognised = _recognise_all(names, scenes, found_template)
                break
    groups = _by_algorithm(recognised)
    requested = ResultDecoding(encoding, scale, offset, tuple(unknown), flip, tuple(crop))
    first = {name: files.path(min(file.name for file in found if file.kind == "map")) for name, found in groups.items()}
    meant = meant_for(requested, first)
    results: list[ResultSet] = []
    used: set[str] = set()
    for algorithm, found in sorted(groups.items()):
        own = manifest_of(algorithm, manifests)
        if len(groups) == 1 and not own.name and "" in manifests:
            own = replace(own, name=manifests[""].name)
        result = _result_set(own.name or algorithm or _title(files), found, files, dataset, own, meant[algorithm])
        results.append(result)
        used |= {file.name for file in found if file.kind != "time" or file.scene in result.seconds}
    values_stated = requested.given and not is_depth(encoding)
    all_fixed = values_stated and all(map(fixes_encoding, first.values()))
    unused = sorted(name for name in names if name not in used)
    return FoundResults(_renamed(results, name, files), unused, found_template, all_fixed)


def _by_algorithm(recognised: Iterable[Recognised]) -> dict[str, list[Recognised]]:
    """The files of each algorithm with a map: of several of one kind for a scene, the one of the preferred suffix."""
    groups: dict[str, dict[tuple[str, ...], Recognised]] = {}
    for file in sorted(recognised, key=_preference):
        groups.setdefault(file.algorithm, {}).setdefault((file.kind, file.part, file.scene), file)
    listed = {name: list(found.values()) for name, found in groups.items()}
    return {name: found for name, found in listed.items() if any(file.kind == "map" for file in found)}


def meant_for(stated: ResultDecoding, maps: Mapping[str, str | os.PathLike[str]]) -> dict[str, ResultDecoding]:
    """What was stated of the maps of several algorithms, by algorithm; `maps` holds one map of each.

    A stated scale is not meant for a format that fixes its encoding, such as PFM, where other maps need it.
    """
    fixed = {name for name, path in maps.items() if stated.given and fixes_encoding(path)}
    for_all = len(fixed) == len(maps) or is_depth(stated.encoding)
    bare = replace(stated, encoding=None, scale=None, offset=None)
    return {name: stated if for_all or name not in fixed else bare for name in maps}


def _renamed(results: list[ResultSet], name: str | None, files: ResultFiles) -> list[ResultSet]:
    if name is not None:
        if len(results) != 1:
            raise DatasetError(f"The name {name!r} is for one algorithm, but {files.root} holds {len(results)}.")
        return [replace(results[0], name=name)]
    names = [result.name for result in results]
    twice = sorted({found for found in names if names.count(found) > 1})
    if twice:
        raise DatasetError(
            f"{files.root} holds several algorithms called {twice[0]!r}; give them other names in results.toml."
        )
    return results


def _recognise_all(names: Iterable[str], scenes: Mapping[str, str], template: str) -> list[Recognised]:
    found = (recognise_by(template, name, scenes) if template else recognise(name, scenes) for name in names)
    return [file for file in found if file is not None]


def _result_set(
    title: str,
    found: Iterable[Recognised],
    files: ResultFiles,
    dataset: Dataset,
    manifest: ResultManifest,
    requested: ResultDecoding,
) -> ResultSet:
    chosen: dict[tuple[str, str], dict[str, str]] = {}
    for file in found:
        chosen.setdefault((file.kind, file.part), {})[file.scene] = file.name

    def maps(kind: str, how: ResultDecoding, part: str = "") -> dict[str, DisparityFile]:
        names = chosen.get((kind, part), {})
        there = [(scene, files.path(names[scene.id])) for scene in dataset if scene.id in names]
        nothing_said = how == ResultDecoding() and dataset.name not in SCALE_OF_SCENE
        if nothing_said or (kind == "confidence" and not how.given):
            return {scene.id: DisparityFile(path) for scene, path in there}
        return {scene.id: map_file(path, scene, dataset, how, title) for scene, path in there}

    decoding = requested.over(manifest.decoding)
    confidence = {
        part or CONFIDENCE: ConfidenceMaps(
            maps("confidence", manifest.confidence.decoding, part),
            of_map(manifest.confidence.better, part or CONFIDENCE),
            of_map(manifest.confidence.kind, part or CONFIDENCE) or "order",
        )
        for part in sorted(part for kind, part in chosen if kind == "confidence")
    }
    first = next(iter(confidence.values()), ConfidenceMaps({}))
    times = {scene: _seconds(files, name) for scene, name in chosen.get(("time", ""), {}).items()}
    return ResultSet(
        name=title,
        maps=maps("map", decoding),
        right_maps=maps("right", decoding),
        confidence=first.maps,
        confidence_better=first.better,
        confidence_kind=first.kind,
        other_confidence=confidence if len(confidence) > 1 else {},
        seconds={scene: value for scene, value in times.items() if value is not None},
        description=manifest.description,
        link=manifest.link,
        colour=manifest.colour,
        about=manifest.about,
        tags=as_tags(manifest.tags, title),
    )


def _title(files: ResultFiles) -> str:
    """The name of the results folder; of `xiyu/data` it is `xiyu`."""
    if files.title.lower() in LEFT_FOLDERS and not files.zipped:
        return files.root.resolve().parent.name
    return files.title


def _preference(file: Recognised) -> tuple[str, int, str]:
    suffix = os.path.splitext(file.name)[1].lower()
    return file.part, MAP_SUFFIXES.index(suffix) if suffix in MAP_SUFFIXES else 0, file.name


def _seconds(files: ResultFiles, name: str) -> float | None:
    try:
        return run_seconds(files.text(name))
    except FileError:
        return None


def run_seconds(text: str) -> float | None:
    """The run time in a text, in ETH3D's after the word `runtime`; None where it holds none."""
    try:
        value = float(text.removeprefix("runtime"))
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def map_file(
    path: str | os.PathLike[str], scene: Scene, dataset: Dataset, how: ResultDecoding, owner: str = ""
) -> DisparityFile:
    """The map `path` of a scene; without anything said, by the rule of the dataset, else as the file itself says."""
    own = scene.metadata.get("scale") if dataset.name in SCALE_OF_SCENE else None
    values = values_of_scene(how, scene.id, owner or "The results")
    if keeps_encoding(path, how.encoding):
        values["encoding"] = None
    if own is not None and not how.given and _is_8_bit_png(path, scene):
        values |= {"encoding": "middlebury", "scale": float(own)}
    return DisparityFile(
        path,
        **values,
        unknown=tuple(how.unknown) if isinstance(how.unknown, Sequence) else (how.unknown,),
        calibration=scene.calibration if is_depth(values["encoding"]) else None,
        flip=how.flip or "",
        crop=(*map(int, how.crop), *scene.shape[::-1]) if how.crop else (),
    )


def _is_8_bit_png(path: str | os.PathLike[str], scene: Scene) -> bool:
    """Whether the header says so; a file without a readable one gets its error when it is read as a map."""
    try:
        # Of a compressed file no more is unpacked than a map of the scene can have.
        content = fetch(path, scene.shape if suffix_of(path) == GZIP else None)
        return content.starts_with(PNG_SIGNATURE) and read_png_header(content).bit_depth == 8
    except (FileError, SizeError):
        return False


# Folders that only hold what their parent is about, then those with something else than the left view's disparity.
LEFT_FOLDERS = {
    *("disp_0", "disp1_left", "low_res_two_view", "data", "left", "disparity", "disparities", "disp", "results"),
    *("training", "trainingq", "trainingh", "trainingf", "testq", "testh", "testf"),
}
RIGHT_FOLDERS, OTHER_FOLDERS = {"right", "disp1_right"}, {"disp_1", "flow"}
SUBMITTED = {"disp0": ("map", ".pfm"), "disp1": ("right", ".pfm"), "time": ("time", ".txt")}
"""What Middlebury's files hold by how their names begin, and their suffixes."""
TIMES = ".txt"
FIELDS = ("algorithm", "site", "scene")


class Recognised(NamedTuple):
    """`kind`: map, right, confidence or time; `algorithm`: "" for the folder itself; `part` tells confidences apart."""

    name: str
    algorithm: str
    scene: str
    kind: str = "map"
    part: str = ""


def scene_names(ids: Iterable[str]) -> Mapping[str, str]:
    """How scenes may be written in file names, in lower case: their ids, and KITTI's frames also without `_10`."""
    known: dict[str, str] = {}
    for scene in ids:
        known.setdefault(scene.lower(), scene)
        known.setdefault(scene.lower().removesuffix("_10"), scene)
    return known


def recognise(name: str, scenes: Mapping[str, str]) -> Recognised | None:
    """What the file `name` is, or None."""
    return _submission(name, scenes) or _one_file_a_scene(name, scenes)


def _submission(name: str, scenes: Mapping[str, str]) -> Recognised | None:
    """Middlebury v3: disp0ALG.pfm, disp1ALG.pfm (right view), timeALG.txt; without ALG the folder above names it."""
    above, _, own = name.rpartition("/")[0].rpartition("/")
    scene = scenes.get(own.lower())
    if scene is None:
        scene, above = _with_site(above, own, scenes)
    if scene is None:
        return None
    path = PurePosixPath(name)
    found = re.fullmatch(r"(disp0|disp1|time)(?!GT$)(.*)", path.stem)
    if found is None or SUBMITTED[found[1]][1] != path.suffix.lower():
        return None
    return Recognised(name, found[2] or _naming(_parts(above)), scene, SUBMITTED[found[1]][0])


def _one_file_a_scene(name: str, scenes: Mapping[str, str]) -> Recognised | None:
    (stem, suffix), folder = map_name(name), name.rpartition("/")[0]
    scene = scenes.get(stem.lower())
    if scene is None and folder:
        repeated = folder.rpartition("/")[2] + "_"  # Spring's files begin with the name of their folder
        known = (_with_site(folder, own, scenes) for own in (stem, stem.removeprefix(repeated)))
        scene, folder = next((found for found in known if found[0] is not None), (None, folder))
    meaning = _meaning(folder) if scene is not None and suffix in (*MAP_SUFFIXES, TIMES) else None
    if scene is None or meaning is None or (suffix == TIMES and meaning[1] != "map"):
        return None
    algorithm, kind, part = meaning
    return Recognised(name, algorithm, scene, "time" if suffix == TIMES else kind, part)


def _with_site(folder: str, own: str, scenes: Mapping[str, str]) -> tuple[str | None, str]:
    """The scene `SITE-OWN`, and its folder without the site's: scenes of several sites lie in a folder each, or in
    several, as those of `SITE-PART-OWN` in SITE/PART/.
    """
    parts = _parts(folder)
    end = len(parts)
    while end > 0 and parts[end - 1].lower() in LEFT_FOLDERS | RIGHT_FOLDERS:
        end -= 1
    for site in reversed(range(end)):
        scene = scenes.get("-".join([*parts[site:end], own]).lower())
        if scene is not None:
            return scene, "/".join((*parts[:site], *parts[end:]))
    return None, ""


@functools.lru_cache(1024)
def _meaning(folder: str) -> tuple[str, str, str] | None:
    """Algorithm, kind and part of the maps in a folder; None where they are something else. Many files share one."""
    parts = _parts(folder)
    lower = [part.lower() for part in parts]
    if not OTHER_FOLDERS.isdisjoint(lower):
        return None
    if CONFIDENCE in lower:
        at = lower.index(CONFIDENCE)
        return _naming(parts[:at]), CONFIDENCE, "/".join(parts[at + 1 :])
    return _naming(parts), "map" if RIGHT_FOLDERS.isdisjoint(lower) else "right", ""


def _parts(folder: str) -> list[str]:
    return [part for part in folder.split("/") if part not in ("", ".")]


def _naming(folders: Sequence[str]) -> str:
    return "/".join(folder for folder in folders if folder.lower() not in LEFT_FOLDERS | RIGHT_FOLDERS)


def recognise_by(template: str, name: str, scenes: Mapping[str, str]) -> Recognised | None:
    """What the file `name` is under a path template such as `{algorithm}/{scene}/disparity.pfm`.

    Without `{algorithm}` the folders that the template begins with name it, as in the layouts that are known.
    """
    found = template_pattern(template).fullmatch(name)
    fields = found.groupdict() if found is not None else {}
    scene = scenes.get("-".join(filter(None, (fields.get("site"), fields.get("scene")))).lower())
    if scene is None:
        return None
    folders = _parts(template.partition("{")[0].rpartition("/")[0])
    return Recognised(name, fields.get("algorithm") or _naming(folders), scene)
