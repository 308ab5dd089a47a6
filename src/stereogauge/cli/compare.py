"""`stereogauge compare`: one ground truth, one or more estimates."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from msgspec.structs import replace

from stereogauge.cli import options
from stereogauge.cli.output import counting, print_basis, print_reading, print_scores, say, working
from stereogauge.cli.running import chosen_scenes, found_results, print_layout
from stereogauge.datasets import families
from stereogauge.datasets.plausibility import Finding, doubt_lines
from stereogauge.datasets.results.find import map_file, meant_for
from stereogauge.datasets.results.manifest import ResultDecoding
from stereogauge.errors import FileError, StereogaugeError
from stereogauge.evaluation.evaluate import distinct_names, evaluate_with_doubts
from stereogauge.evaluation.fingerprints import inputs_hash
from stereogauge.evaluation.progress import TimeLeft, usual_seconds
from stereogauge.io.encodings import is_depth
from stereogauge.io.files import DisparityFile, as_file
from stereogauge.model import Calibration, Dataset, DisparityMap, ResultSet, Scene
from stereogauge.scores.column import columns_of
from stereogauge.scores.table import ScoreTable
from stereogauge.text import shortened

Of = functools.partial(typer.Option, rich_help_panel=options.SCENES)
ONE_SCALE = (
    "The map and the ground truth are in different units, and both were read with one --scale: give the scale of the "
    "ground truth with --gt-scale, and that of the estimates with --scale."
)
TRUTH_NAME = re.compile(r"(?i)(?:^|[^a-z])(?:gt|ground_?truth|truth)(?:[^a-z]|$)|disp\d?gt|disp_(?:occ|noc)")


def command(
    truth: Annotated[
        str, typer.Argument(metavar="GT", help="Ground truth of the left view: a file, or a folder of scenes.")
    ],
    estimates: Annotated[
        list[str],
        typer.Argument(metavar="EST", help="Estimated maps of the left view: files or folders, PATH or NAME=PATH."),
    ],
    camera: options.CameraOptions,
    files: Annotated[options.Files, options.without("manifest")],
    measured: options.Measured,
    left: Annotated[str | None, Of(help="Left image, for regions by texture and for pictures.")] = None,
    right: Annotated[str | None, Of(help="Right image.")] = None,
    gt_right: Annotated[str | None, Of(help="Ground truth of the right view, for occlusions.")] = None,
    ndisp: Annotated[int | None, Of(help="Number of disparities.")] = None,
    mask: Annotated[
        list[str] | None,
        Of(
            help="A region from an image, NAME=FILE, white = belongs; nonocc=… replaces the occlusion rule. "
            "Measured in addition to the protocol's regions unless --regions says which."
        ),
    ] = None,
    labels: Annotated[
        str | None,
        Of(help="A label image and its classes, FILE:glass=7,ground=1+2; each is a region, label:glass."),
    ] = None,
    planes: Annotated[
        str | None, Of(help="Label image of planar regions (0 = none) for p-*, also on sparse ground truth.")
    ] = None,
    border: Annotated[int, Of(help="Margin of the dataset's own evaluation in px, e.g. 18 for Tsukuba.")] = 0,
    resolution: Annotated[
        float | None, Of(help="Size relative to full resolution, e.g. 0.25; by default the image width / 3000.")
    ] = None,
    as_given: Annotated[bool, Of(help="Do not check whether ground truth and estimate were swapped.")] = False,
    common: Annotated[
        bool,
        typer.Option(
            help="Measure all estimates on the pixels that every one of them estimates.",
            rich_help_panel=options.MEASURES,
        ),
    ] = False,
    by: Annotated[
        Literal["object"] | None,
        typer.Option(
            help="One row per plane, fine structure and foreground object instead of one per region.",
            rich_help_panel=options.MEASURES,
        ),
    ] = None,
    form: options.OutputFormat = options.Format.table,
    out: options.OutputFolder = None,
) -> None:
    """Compare one or more estimates with one ground truth, or folders of them with a folder of ground truth.

    Prints scores under one protocol; --out writes the picture behind each metric. Every choice that a number depends on
    is in the protocol, whose hash is printed with the table.
    """
    chosen = measured.choice
    ahead = TimeLeft()
    shown: AbstractContextManager[Callable[[str], None]]
    single = not (Path(truth).is_dir() or _is_dataset(truth))
    if single:
        named = _named(estimates)
        if not as_given:
            _check_order(truth, named)
        masks = options.named_files(mask)
        if measured.regions is None:
            chosen = chosen.replace(regions=list(dict.fromkeys([*chosen.regions, *masks])))
        calibration = camera.calibration(ndisp=ndisp)
        scene = Scene(
            Path(truth).parent.name or Path(truth).stem,
            gt=_truth_file(truth, files, calibration),
            left=left,
            right=right,
            gt_right=gt_right if gt_right is None else _truth_file(gt_right, files, calibration),
            calibration=calibration,
            masks=masks,
            labels=None if labels is None else options.label_image(labels),
            border=border,
            resolution=resolution,
            metadata={} if planes is None else {"planes": planes},
        )
        # What was named must be there and fit, even where no metric of this call looks at it.
        options.check_files((left, right, gt_right, planes))
        for name in scene.masks:
            scene.mask(name)
        options.check_images(scene)
        camera.check_size(scene)
        results = _single_results(named, scene, files)
        scenes = known = [scene]
        columns = columns_of(chosen.metrics, chosen.regions)
        ahead.expect(usual_seconds(columns, list(named), scene.shape[0] * scene.shape[1]))
        shown = working(f"measuring {', '.join(named)}", ahead)
    else:
        _refuse_for_folders(
            left=left, right=right, gt_right=gt_right, calib=camera.calib, focal=camera.focal, out=out,
            baseline=camera.baseline, doffs=camera.doffs, mask=mask, labels=labels, planes=planes, border=border,
        )  # fmt: skip
        dataset = chosen_scenes(truth, None, files)
        print_layout(truth, dataset)
        dataset = dataset.subset(chosen.selected(dataset.ids, dataset.name))
        results = _results(estimates, dataset, files.decoding)
        known = list(dataset)
        scenes = [scene for scene in known if any(scene.id in result.maps for result in results)]
        shown = counting(len(scenes), "scene")
    last: dict[str, DisparityMap] = {}
    shares: list[float] = []

    with shown as advance:

        def finished(scene: Scene, maps: Mapping[str, DisparityMap]) -> None:
            shares.append(_common_share(maps, scene) if common else 1.0)
            if single:
                last.update(maps)
            else:
                scene.release()
                advance(scene.id)

        found = evaluate_with_doubts(
            results,
            scenes,
            None if measured.metrics is None else chosen.metrics,
            protocol=chosen,
            resize=files.resize,
            common=common,
            by=by,
            stage=ahead,
            done=finished,
        )
        table = found.table
        table.inputs, table.known_scenes = inputs_hash(scenes, found.common), len(known)
    used = table.protocol or chosen
    print_scores(table, form)
    if common and shares:
        share = sum(shares) / len(shares)
        say(f"measured on the {share:.1%} of the known pixels that all {len(results)} maps estimate")
    print_reading(scenes, results)
    if form is options.Format.table:
        print_basis(used, table.inputs, scenes)
    if border and used.border != "dataset" and used.region_rules.rule != "middlebury-v2":
        say(f"note: --border {border} has no effect under the protocol {used.name}; add --set border={border}")
    for note in [*_notes(table), *doubt_lines(_of_one_scale(found.doubts, scenes, files), scenes=len(scenes))]:
        say(f"note: {note}")
    if out is not None:
        from stereogauge.figures.galleries import write_pictures

        with working("drawing"):
            written = write_pictures(out, last, scenes[0], used)
        say(f"{len(written)} pictures in {out}")


def _notes(table: ScoreTable) -> list[str]:
    """Every distinct remark on a score, with the algorithms and columns that it concerns."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for score in table:
        if score.note:
            algorithms, columns = found.setdefault(score.note, ([], []))
            algorithms.append(score.algorithm)
            columns.append(f"{score.metric}:{score.region}")
    return [f"{shortened(a)}: {note.rstrip('.')} ({shortened(c)})" for note, (a, c) in found.items()]


def _of_one_scale(doubts: Sequence[Finding], scenes: Sequence[Scene], files: options.Files) -> list[Finding]:
    """The doubts; where ground truth took the scale of the estimates, another scale would change both alike."""
    truths = {scene.id: as_file(scene.source("gt")) for scene in scenes}
    lent = {name for name, file in truths.items() if file is not None and files.lends_scale(file.path)}
    return [
        replace(one, sentence=ONE_SCALE) if one.kind == "wrong-scale" and one.scene in lent else one for one in doubts
    ]


def _truth_file(path: str, files: options.Files, calibration: Calibration) -> DisparityFile:
    how = files.truth_decoding(path)
    return DisparityFile(path, **how, calibration=calibration if is_depth(how.get("encoding")) else None)


def _single_results(named: Mapping[str, str], scene: Scene, files: options.Files) -> list[ResultSet]:
    """One result set per file; a scale is not meant for files whose format fixes it where others need one."""
    stated = ResultDecoding(**{key: value for key, value in files.decoding.items() if key != "template"})
    data = Dataset(scene.dataset, [scene])
    return [
        ResultSet(name, {scene.id: map_file(named[name], scene, data, how)})
        for name, how in meant_for(stated, named).items()
    ]


def _common_share(maps: Mapping[str, DisparityMap], scene: Scene) -> float:
    known = np.isfinite(scene.gt)
    estimated = np.logical_and.reduce([np.isfinite(values) for values in maps.values()])
    return float((known & estimated).sum() / max(1, known.sum()))


def _is_dataset(text: str) -> bool:
    """Whether a dataset is meant, NAME or NAME:ROOT, rather than a file."""
    return not Path(text).exists() and text.partition(":")[0] in families()


def _split(text: str) -> tuple[str, str]:
    """Name and path of NAME=PATH; no name where there is none."""
    name, equals, path = text.partition("=")
    return (name, path) if equals and not Path(text).exists() else ("", text)


def _named(texts: list[str]) -> dict[str, str]:
    """Estimates by name: NAME=FILE, or a path whose end distinguishes it from the others."""
    pairs = [_split(text) for text in texts]
    ends = iter(distinct_names([path for name, path in pairs if not name]))
    names = [name or next(ends) for name, _ in pairs]
    _refuse_twice(names, "Two estimates are called {name!r}; give each a name of its own, NAME=FILE.")
    return dict(zip(names, (path for _, path in pairs), strict=True))


def _refuse_twice(names: Sequence[str], sentence: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise StereogaugeError(sentence.format(name=name))


def _check_order(truth: str, named: Mapping[str, str]) -> None:
    """Refuse an estimate that is called ground truth where the ground truth is not: they were most likely swapped."""

    def is_truth(path: str) -> bool:
        return any(TRUTH_NAME.search(name) for name in (Path(path).stem, Path(path).parent.name))

    swapped = next(filter(is_truth, named.values()), None)
    if swapped is not None and not is_truth(truth):
        raise FileError(
            f"{swapped} looks like a ground truth but was given as an estimate of {truth}; the order is GT EST…: "
            "swap them, or add --as-given if this is intended."
        )


def _refuse_for_folders(**given: Any) -> None:
    """Say where the facts of single scenes go when folders are compared."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value not in (None, [], 0)]
    if named:
        raise StereogaugeError(
            f"{', '.join(named)} describes one scene, and a folder holds several; write it into the folder's manifest "
            "(`stereogauge datasets init FOLDER` makes one)."
        )


def _results(estimates: Sequence[str], dataset: Dataset, reading: dict[str, Any]) -> list[ResultSet]:
    found: list[ResultSet] = []
    names, paths = zip(*map(_split, estimates), strict=True)
    for name, results in zip(names, found_results(paths, dataset, reading), strict=True):
        found += [replace(results[0], name=name)] if name and len(results) == 1 else results
    _refuse_twice(
        [one.name for one in found], "Several folders hold an algorithm called {name!r}; name them, NAME=FOLDER."
    )
    return found
