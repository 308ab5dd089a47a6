"""What public benchmarks want to be sent: names, encodings, views, run times and the layout of the archive.

A benchmark is one declaration. Everything is checked before anything is written: which scenes are missing, sizes,
values that the encoding cannot hold, missing right views and run times.
"""

from __future__ import annotations

import contextlib
import io
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from stereogauge.datasets.declaration import family_of, load_dataset
from stereogauge.datasets.layout import MIDDLEBURY_RESOLUTIONS
from stereogauge.datasets.native.middlebury import TRAINING_ORDER
from stereogauge.datasets.plausibility import NOTE, PROBLEM, Finding
from stereogauge.datasets.results.find import find_results
from stereogauge.datasets.validation import SHOWN
from stereogauge.errors import DatasetError, FileError, StereogaugeError
from stereogauge.io import pfm
from stereogauge.io.content import Decoding
from stereogauge.io.encodings import Writer
from stereogauge.io.files import load_disparity
from stereogauge.io.png import encode_16_bits, encode_kitti
from stereogauge.model import Dataset, DisparityMap, DisparitySource, ResultSet, Scene
from stereogauge.text import shortened

KITTI_SIZES = {(370, 1224), (370, 1226), (374, 1238), (375, 1242), (376, 1241)}


def _dsp5(disparity: DisparityMap, decoding: Decoding, name: str) -> bytes:
    """Spring's HDF5 file with the dataset `disparity`."""
    import h5py

    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file.create_dataset("disparity", data=disparity, compression="gzip", compression_opts=5)
    return content.getvalue()


class Benchmark(Struct, frozen=True):
    """What one benchmark requires.

    `scenes` are the ids of its test scenes by part of the dataset; without them the dataset's folder is needed. `map`,
    `right` and `time` are templates of names in the archive, with {scene}, {method}, {split}, {variant} and {sparse},
    which is `sparse` for a method whose maps have gaps; `runtime` is the text of a file of run times, and `scale` what
    `encode` stores per pixel where it has no scale of its own. `sizes` are those that maps may have where the images
    are not given. `widths` are those of some scenes in px, and `variants` those of the dataset by the multiple of these
    widths that they have. `then` says what to do with the archive.
    """

    id: str
    map: str
    encode: Writer
    then: str
    scenes: Mapping[str, tuple[str, ...]] = {}
    right: str = ""
    time: str = ""
    runtime: str = "{seconds:.6g}\n"
    sparse: str = ""
    scale: float | None = None
    sizes: frozenset[tuple[int, int]] = frozenset()
    widths: Mapping[str, int] = {}
    variants: Mapping[int, str] = {}

    def names(self, scene: str, **fields: str) -> dict[str, str]:
        """The names of the files of one scene in the archive, by kind."""
        sequence, _, frame = scene.rpartition("-")
        filled = {"scene": scene, "sequence": sequence, "frame": frame, **fields}
        kinds = {"map": self.map, "right": self.right, "time": self.time}
        return {kind: template.format(**filled) for kind, template in kinds.items() if template}

    def variant_of(self, scene: str, disparity: DisparityMap) -> str:
        """The variant of the dataset that the width of a map shows; "" where it shows none.

        The name of the scene may have a prefix.
        """
        width = self.widths.get(scene.rpartition("_")[2], 0)
        near = (name for times, name in self.variants.items() if abs(disparity.shape[1] - times * width) <= times)
        return next(near, "") if width else ""


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"{number:06}_10" for number in range(count))


_MIDDLEBURY_TEST = (
    *("Australia", "AustraliaP", "Bicycle2", "Classroom2", "Classroom2E", "Computer", "Crusade", "CrusadeP", "Djembe"),
    *("DjembeL", "Hoops", "Livingroom", "Newkuba", "Plants", "Staircase"),
)


def _views(**places: str) -> tuple[str, ...]:
    return tuple(f"{place}_{view}" for place, views in places.items() for view in views.split())


_SIX, _FOUR = "1l 1s 2l 2s 3l 3s", "1l 1s 2l 2s"
_ETH3D_TRAINING = _views(
    delivery_area=_SIX, electro=_SIX, facade="1s", forest="1s 2s", playground=_SIX, terrace="1s 2s", terrains=_FOUR
)
_ETH3D_TEST = _views(lakeside="1l 1s", sand_box="1l 1s", storage_room=_SIX, storage_room_2=_FOUR, tunnel=_SIX)
_QUARTER_WIDTHS = {
    **dict.fromkeys(("Motorcycle", "MotorcycleE"), 741),
    **dict.fromkeys(("Piano", "PianoL"), 707),
    "Adirondack": 718,
    "ArtL": 347,
    "Pipes": 735,
    "Teddy": 450,
}
BENCHMARKS = {
    benchmark.id: benchmark
    for benchmark in (
        *(
            Benchmark(
                id=f"kitti-{year}",
                map=name,
                encode=encode_kitti,
                scenes={"testing": _numbered(count)},
                sizes=frozenset(KITTI_SIZES),
                then=f"upload it at https://www.cvlibs.net/datasets/kitti/user_submit.php (stereo {year})",
            )
            for year, name, count in ((2012, "{scene}.png", 195), (2015, "disp_0/{scene}.png", 200))
        ),
        Benchmark(
            id="middlebury-v3",
            map="{split}{variant}/{scene}/disp0{method}{sparse}.pfm",
            encode=pfm.encode,
            scenes={"training": TRAINING_ORDER, "test": _MIDDLEBURY_TEST},
            time="{split}{variant}/{scene}/time{method}.txt",
            sparse="_s",
            widths=_QUARTER_WIDTHS,
            variants={round(4 * size): letter for letter, size in MIDDLEBURY_RESOLUTIONS.items()},
            then="upload it at https://vision.middlebury.edu/stereo/submit3/",
        ),
        Benchmark(
            id="eth3d",
            map="low_res_two_view/{scene}.pfm",
            encode=pfm.encode,
            scenes={"training": _ETH3D_TRAINING, "test": _ETH3D_TEST},
            time="low_res_two_view/{scene}.txt",
            runtime="runtime {seconds:.6g}\n",
            then="upload it at https://www.eth3d.net (low-res two-view)",
        ),
        Benchmark(
            id="spring",
            map="test/{sequence}/disp1_left/disp1_left_{frame}.dsp5",
            right="test/{sequence}/disp1_right/disp1_right_{frame}.dsp5",
            encode=_dsp5,
            then=(
                "unpack it, run the benchmark's disp1_subsampling in the folder test/, and upload the HDF5 file that "
                "it writes at https://spring-benchmark.org (its random positions are not public)"
            ),
        ),
        Benchmark(
            id="booster",
            map="{variant}/{sequence}/{frame}.png",
            encode=encode_16_bits,
            scale=64.0,
            then="upload it at https://cvlab-unibo.github.io/booster-web",
        ),
    )
}
ROBUST_VISION, ROBUST_SUFFIX = "robust-vision", "_RVC"
ROBUST_PARTS = {"Kitti2015_": "kitti-2015", "Middlebury2014_": "middlebury-v3", "ETH3D2017_": "eth3d"}
"""The benchmarks of the Robust Vision Challenge, by the prefix of their scenes in its development kit."""


class Packed(Struct, frozen=True):
    """What was checked and, without a problem, written."""

    findings: tuple[Finding, ...]
    files: tuple[str, ...] = ()
    maps: int = 0
    advice: str = ""

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not any(finding.severity == PROBLEM for finding in self.findings)


def pack(
    name: str,
    results: str | os.PathLike[str],
    out: Path,
    *,
    method: str = "",
    data: Path | None = None,
    seconds: float | None = None,
    variant: str = "",
    prefix: str = "",
    suffix: str = "",
    **options: Any,
) -> Packed:
    """Check the results of one algorithm for a benchmark and write the archive for submission.

    `data` is the folder of the dataset, for sizes and, where the scenes are not known, their names; `seconds` a run
    time for scenes without their own; `variant` that of the dataset, by default that of the maps (Middlebury: F, H or
    Q); `prefix` what names of scenes begin with in the results; `suffix` what the method's name ends with; `options`
    are those of `find_results`. Nothing is written where something is wrong.
    """
    benchmark = BENCHMARKS[name]
    family, _ = family_of(name)
    variant = variant or _variant_of_maps(benchmark, results, prefix, options)
    variant = variant or family.default or next(iter(family.variants), "")
    places = _places(benchmark, variant, data)
    known = Dataset(name, [Scene(f"{prefix}{scene.id}", left=scene.source("left")) for _, scene in places])
    result, strange = _results(results, known, options)
    # Dense maps and maps with gaps are results of their own.
    gaps = benchmark.sparse and any(not np.isfinite(values).all() for _, values in _readable(result.maps))
    sparse = benchmark.sparse if gaps else ""
    fields = {"method": (method or result.name).removesuffix(suffix) + suffix, "variant": variant, "sparse": sparse}
    work = [(split, scene, known[f"{prefix}{scene.id}"]) for split, scene in places]
    problems = list(_missing(benchmark, work, result, seconds, [file for file in strange if prefix in file]))
    part = out.with_name(f".{out.name}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for split, scene, own in work:
                places_in_archive = benchmark.names(scene.id, split=split, **fields)
                problems += _add_scene(archive, benchmark, result, own, variant, places_in_archive)
                if benchmark.time and (taken := result.seconds.get(own.id, seconds)) is not None:
                    archive.writestr(places_in_archive["time"], benchmark.runtime.format(seconds=taken))
            files = tuple(archive.namelist())
        packed = Packed(tuple(problems), files, len(result.maps), benchmark.then)
        if packed.ok:
            part.replace(out)
        return packed if packed.ok else replace(packed, files=())
    except OSError as problem:
        raise FileError(f"{out} cannot be written: {problem.strerror}; check the folder.") from None
    finally:
        part.unlink(missing_ok=True)


def pack_robust_vision(results: Path, out: Path, *, method: str = "", **options: Any) -> dict[str, Packed]:
    """One archive per benchmark of the Robust Vision Challenge in the folder `out`; the method's name ends with _RVC.

    Scenes are called as in the challenge's development kit, with the prefix of their benchmark. Nothing is written
    unless all are complete.
    """
    out.mkdir(parents=True, exist_ok=True)
    own = {"method": method, "suffix": ROBUST_SUFFIX, **options}
    made = {
        name: pack(name, results, out / f"{name}.zip", prefix=prefix, **own) for prefix, name in ROBUST_PARTS.items()
    }
    if all(one.ok for one in made.values()):
        return made
    for name in made:
        (out / f"{name}.zip").unlink(missing_ok=True)
    return {name: replace(one, files=()) for name, one in made.items()}


def _results(
    results: str | os.PathLike[str], known: Dataset, options: Mapping[str, Any]
) -> tuple[ResultSet, list[str]]:
    """The results of the one algorithm, and the files that belong to none of its scenes."""
    found = find_results(results, known, **options)
    if len(found.results) > 1:
        several = ", ".join(result.name for result in found.results)
        raise DatasetError(f"{results} must hold the results of one algorithm on {known.name}; found {several}.")
    return (found.results[0] if found.results else ResultSet(Path(results).stem, {})), found.unrecognised


def _variant_of_maps(
    benchmark: Benchmark, results: str | os.PathLike[str], prefix: str, options: Mapping[str, Any]
) -> str:
    """The variant of the dataset that the first map of a known width shows; "" where none does."""
    known = Dataset(benchmark.id, [Scene(f"{prefix}{scene}") for scene in benchmark.widths])
    maps = _results(results, known, options)[0].maps if benchmark.widths and not options.get("crop") else {}
    return next(filter(None, (benchmark.variant_of(scene, values) for scene, values in _readable(maps))), "")


def _readable(maps: Mapping[str, DisparitySource]) -> Iterator[tuple[str, DisparityMap]]:
    """The maps that can be read, by scene; what is wrong with others is reported when they are packed."""
    for scene, file in maps.items():
        with contextlib.suppress(StereogaugeError):
            yield scene, load_disparity(file)


def _places(benchmark: Benchmark, variant: str, data: Path | None) -> list[tuple[str, Scene]]:
    """The scenes of a benchmark with the part of the dataset that they belong to; images are known with its folder."""
    listed = [(split, Scene(name)) for split, names in benchmark.scenes.items() for name in names]
    if data is None:
        if not listed:
            raise DatasetError(
                f"The test scenes of {benchmark.id} are read from its folder; give it as --data (with its test images)."
            )
        return listed
    called = f"{benchmark.id}:{variant}" if variant else benchmark.id
    there = {
        (split, scene.id): scene
        for split in (benchmark.scenes or ("test",))
        for scene in load_dataset(called, data, split=split)
    }
    if not listed:
        return [(split, scene) for (split, _), scene in there.items()]
    return [(split, there.get((split, scene.id), scene)) for split, scene in listed]


def _missing(
    benchmark: Benchmark,
    work: list[tuple[str, Scene, Scene]],
    result: ResultSet,
    seconds: float | None,
    strange: Sequence[str],
) -> Iterator[Finding]:
    """What the benchmark requires and is missing, and files that it does not accept."""
    kinds: dict[str, tuple[str, Mapping[str, object]]] = {"missing-scenes": ("map", result.maps)}
    if benchmark.right:
        kinds["missing-right"] = ("map of the right view", result.right_maps)
    if benchmark.time and seconds is None:
        kinds["missing-times"] = ("run time (give --seconds, or a file of times per scene)", result.seconds)
    for kind, (what, there) in kinds.items():
        absent = [scene.id for _, scene, own in work if own.id not in there]
        if absent:
            yield Finding(kind, f"{len(absent)} of {len(work)} scenes have no {what}: {shortened(absent, SHOWN)}.")
    if strange:
        yield Finding("unrecognised", f"{len(strange)} file(s) are not sent: {shortened(strange, SHOWN)}.", NOTE)


def _add_scene(
    archive: zipfile.ZipFile,
    benchmark: Benchmark,
    result: ResultSet,
    scene: Scene,
    variant: str,
    names: Mapping[str, str],
) -> Iterator[Finding]:
    """Put the maps of one scene into the archive, or tell what is wrong with them."""
    for kind, maps in (("map", result.maps), ("right", result.right_maps)):
        if kind not in names or scene.id not in maps:
            continue
        try:
            shape = scene.shape if scene.has("left") else None
            disparity = load_disparity(maps[scene.id], shape)
            if benchmark.sizes and shape is None and disparity.shape not in benchmark.sizes:
                height, width = disparity.shape
                raise FileError(f"The map has {width} × {height} pixels, which no image of {benchmark.id} has.")
            if (shown := benchmark.variant_of(scene.id, disparity)) not in ("", variant):
                raise FileError(f"The map has the size of {benchmark.id}:{shown}, not of {benchmark.id}:{variant}.")
            if not np.isfinite(disparity).any():
                raise FileError("The map has no value.")
            archive.writestr(names[kind], benchmark.encode(disparity, Decoding(benchmark.scale), names[kind]))
        except StereogaugeError as problem:
            yield Finding("unfit", str(problem), scene=scene.id)
        finally:
            scene.release()
