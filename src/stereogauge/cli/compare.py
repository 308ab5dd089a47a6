"""`stereogauge compare`: one ground truth, one or more estimates."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stereogauge.cli import options
from stereogauge.cli.output import (
    doubt_lines,
    notes,
    print_basis,
    print_scores,
    progress,
    say,
    shortened,
    working,
)
from stereogauge.errors import FileError, StereogaugeError

if TYPE_CHECKING:
    from stereogauge.io.files import DisparityFile
    from stereogauge.masks.geometry.objects import SceneObject
    from stereogauge.model import Dataset, DisparityMap, ResultSet, Scene
    from stereogauge.protocol import Protocol
    from stereogauge.scores.score import Score

Of = functools.partial(typer.Option, rich_help_panel=options.SCENES)
TRUTH_NAME = re.compile(r"(?i)(?:^|[^a-z])(?:gt|ground_?truth|truth)(?:[^a-z]|$)|disp\d?gt|disp_(?:occ|noc)")


def command(
    truth: Annotated[
        str, typer.Argument(metavar="GT", help="Ground truth of the left view: a file, or a folder of scenes.")
    ],
    estimates: Annotated[
        list[str],
        typer.Argument(metavar="EST", help="Estimated maps of the left view: files or folders, PATH or NAME=PATH."),
    ],
    camera: options.Camera,
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
            "Measured beside the protocol's regions unless --regions says which."
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
        options.Division | None,
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
    from stereogauge.evaluation.evaluate import evaluate
    from stereogauge.evaluation.fingerprints import estimated_hash, inputs_hash
    from stereogauge.evaluation.progress import TimeLeft, usual_seconds
    from stereogauge.io.encodings import is_depth
    from stereogauge.io.files import DisparityFile
    from stereogauge.model import Scene
    from stereogauge.scores.column import columns_of
    from stereogauge.stages import READING

    chosen, metrics, regions = measured.choice, measured.metrics, measured.regions
    encoding, scale = files.encoding, files.scale
    division: Literal["object"] | None = None if by is None else "object"
    how: dict[str, Any] = {"resize": files.resize, "common": common, "by": division}
    if Path(truth).is_dir() or _is_dataset(truth):
        _refuse_for_folders(
            left=left,
            right=right,
            gt_right=gt_right,
            calib=camera.calib,
            focal=camera.focal,
            out=out,
            baseline=camera.baseline,
            doffs=camera.doffs,
            mask=mask,
            labels=labels,
            planes=planes,
            border=border,
        )
        known = files.truth(truth)
        _compare_folders(truth, estimates, chosen, files.decoding, known, form, how, chosen_metrics=metrics is not None)
        return
    if not as_given:
        _check_order(truth, estimates)
    named = _named(estimates)
    calibration = camera.calibration(ndisp=ndisp)
    own_gt = files.gt_encoding is not None or files.gt_scale is not None
    gt_encoding, gt_scale = files.gt_encoding, files.gt_scale
    # Where some file needs --scale to be read at all, it is not meant for the files that do without.
    for_all = own_gt or not any(map(_open, (truth, *named.values())))
    if _open(truth) and not own_gt:
        gt_encoding, gt_scale = (None if is_depth(encoding) else encoding), scale

    def ground_truth(path: str) -> DisparityFile:
        known = calibration if is_depth(gt_encoding) else None
        return DisparityFile(path, gt_encoding, gt_scale, calibration=known)

    masks = options.named_files(mask)
    if regions is None:
        chosen = chosen.replace(regions=list(dict.fromkeys([*chosen.regions, *masks])))
    scene = Scene(
        Path(truth).parent.name or Path(truth).stem,
        gt=ground_truth(truth),
        left=left,
        right=right,
        gt_right=gt_right if gt_right is None or not _open(gt_right) else ground_truth(gt_right),
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
    window = (*options.corner(files.crop), *scene.shape[::-1]) if files.crop else ()
    sources = {
        name: DisparityFile(
            path,
            encoding if _open(path) or is_depth(encoding) else None,
            scale if _open(path) or is_depth(encoding) or for_all else None,
            files.offset or 0.0,
            unknown=options.stored_values(files.unknown),
            calibration=calibration if is_depth(encoding) else None,
            flip=files.flip or "",
            crop=window,
        )
        for name, path in named.items()
    }
    wanted = None if metrics is None else chosen.metrics
    ahead = TimeLeft()
    # Read once: scores, doubts and pictures are all made of these.
    with working(f"measuring {', '.join(sources)}", ahead):
        with ahead(READING):
            maps = {name: file.read() for name, file in sources.items()}
        pixels = max(values.size for values in maps.values())
        ahead.expect(usual_seconds(columns_of(chosen.metrics, chosen.regions), list(sources), pixels))
        table = evaluate(maps, scene, wanted, protocol=chosen, stage=ahead, **how)
        table.inputs = inputs_hash([scene], [estimated_hash(maps.values())] if common else [])
        doubts = _suspicions(maps, sources, scene)
    chosen = table.protocol or chosen
    print_scores(table, form)
    if common:
        share = _common_share(maps, scene)
        say(f"measured on the {share:.1%} of the known pixels that all {len(maps)} maps estimate")
    if form is options.Format.table:
        print_basis(chosen, table.inputs, [scene])
    for note in [*notes(table), *doubts]:
        say(f"note: {note}")
    if out is not None:
        from stereogauge.figures.picture_files import write_pictures

        with working("drawing"):
            written = write_pictures(out, maps, scene, chosen)
        say(f"{len(written)} pictures in {out}")


def _common_share(maps: Mapping[str, DisparityMap], scene: Scene) -> float:
    import numpy as np

    known = np.isfinite(scene.gt)
    estimated = np.logical_and.reduce([np.isfinite(values) for values in maps.values()])
    return float((known & estimated).sum() / max(1, known.sum()))


def _is_dataset(text: str) -> bool:
    """Whether a dataset is meant, NAME or NAME:ROOT, rather than a file."""
    from stereogauge.datasets import families

    return not Path(text).exists() and text.partition(":")[0] in families()


def _open(path: str) -> bool:
    """Whether the file's suffix leaves its encoding open, so that --encoding and --scale concern it."""
    from stereogauge.datasets.layout import map_name
    from stereogauge.io.images import BY_PILLOW

    return map_name(path)[1] in (".png", ".pgm", *BY_PILLOW)


def _named(texts: list[str]) -> dict[str, str]:
    """Estimates by name: NAME=FILE, or a path whose end distinguishes it from the others."""
    from stereogauge.evaluation.evaluate import distinct_names

    pairs = [
        (name, path) if equals and not Path(text).exists() else ("", text)
        for text in texts
        for name, equals, path in [text.partition("=")]
    ]
    ends = iter(distinct_names([path for name, path in pairs if not name]))
    names = [name or next(ends) for name, _ in pairs]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise FileError(f"Two estimates are called {twice[0]!r}; give each a name of its own, NAME=FILE.")
    return dict(zip(names, (path for _, path in pairs), strict=True))


def _check_order(truth: str, estimates: list[str]) -> None:
    """Refuse an estimate that is called ground truth where the ground truth is not: they were most likely swapped."""
    swapped = [
        path
        for path in _named(estimates).values()
        if TRUTH_NAME.search(Path(path).stem) or TRUTH_NAME.search(Path(path).parent.name)
    ]
    if swapped and not TRUTH_NAME.search(Path(truth).stem) and not TRUTH_NAME.search(Path(truth).parent.name):
        raise FileError(
            f"{swapped[0]} looks like a ground truth but was given as an estimate of {truth}; the order is GT EST…: "
            "swap them, or add --as-given if this is intended."
        )


def _suspicions(maps: Mapping[str, DisparityMap], files: Mapping[str, DisparityFile], scene: Scene) -> list[str]:
    """What makes an estimate look as if it had been read wrongly, and what is odd about the calibration."""
    from stereogauge.datasets.plausibility import calibration_doubt, lossy_doubt, suspicion

    doubts = [("calibration", calibration_doubt(scene.calibration, scene.gt))]
    for name, estimate in maps.items():
        doubts.append((name, lossy_doubt(files[name])))
        if estimate.shape == scene.shape:
            doubts.append((name, suspicion(estimate, scene.gt, scene.calibration, files[name])))
    return [f"{name}: {doubt.sentence}" for name, doubt in doubts if doubt is not None]


def _refuse_for_folders(**given: Any) -> None:
    """Say where the facts of single scenes go when folders are compared."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value not in (None, [], 0)]
    if named:
        raise StereogaugeError(
            f"{', '.join(named)} describes one scene, and a folder holds several; write it into the folder's manifest "
            "(`stereogauge datasets init FOLDER` makes one)."
        )


def _compare_folders(
    truth: str,
    estimates: Sequence[str],
    protocol: Protocol,
    reading: dict[str, Any],
    truth_reading: dict[str, Any],
    form: options.Format,
    how: dict[str, Any],
    *,
    chosen_metrics: bool,
) -> None:
    """Print the scores over all scenes; `how` goes to `evaluate`, `chosen_metrics`: they are no defaults."""
    from stereogauge.evaluation.evaluate import evaluate
    from stereogauge.evaluation.fingerprints import estimated_hash, inputs_hash
    from stereogauge.evaluation.worker import Doubt, doubts_of_map
    from stereogauge.io.files import load_disparity
    from stereogauge.scores.table import ScoreTable
    from stereogauge.tags import TagBook

    dataset = options.chosen_scenes(truth, None, **truth_reading)
    options.print_layout(truth, dataset)
    dataset = dataset.subset(protocol.selected(dataset.ids))
    results = _results(estimates, dataset, reading)
    compared = [scene for scene in dataset if any(scene.id in result.maps for result in results)]
    shown = progress("scenes")
    shown.start(len(compared), 0)
    scores: list[Score] = []
    sizes: dict[tuple[str, str], float] = {}
    objects: dict[tuple[str, str, str], SceneObject] = {}
    used = protocol
    doubts: list[Doubt] = []
    shared: list[str] = []
    for scene in compared:
        maps = {result.name: result.maps[scene.id] for result in results if scene.id in result.maps}
        read = {name: load_disparity(source) for name, source in maps.items()}
        part = evaluate(
            [replace(result, maps={scene.id: read[result.name]} if result.name in read else {}) for result in results],
            scene,
            protocol.metrics if chosen_metrics else None,
            protocol=protocol,
            **how,
        )
        scores += list(part)
        shared += [estimated_hash(read.values())] if how["common"] else []
        sizes |= part.sizes or {}
        objects |= part.objects
        used = part.protocol or protocol
        for name, source in maps.items():
            doubts += doubts_of_map(name, source, read[name], scene)
        scene.release()
        shown.advance(1, 0)
    shown.finish()
    tags = TagBook(
        {result.name: result.tags for result in results}, {(scene.dataset, scene.id): scene.tags for scene in compared}
    )
    calibrated = {(scene.dataset, scene.id): scene.calibration.metric for scene in compared}
    table = ScoreTable(scores, used, sizes, tags, objects, inputs_hash(compared, shared), calibrated)
    print_scores(table, form)
    if form is options.Format.table:
        print_basis(used, table.inputs, compared)
    for note in [*notes(table), *doubt_lines(doubts)]:
        say(f"note: {note}")


def _results(estimates: Sequence[str], dataset: Dataset, reading: dict[str, Any]) -> list[ResultSet]:
    from stereogauge.datasets.results.find import find_results

    found: list[ResultSet] = []
    for text in estimates:
        name, equals, path = text.partition("=")
        named = bool(equals) and not Path(text).exists()
        there = find_results(path if named else text, dataset, **reading)
        results, unrecognised = there.results, there.unrecognised
        if there.template:
            say(f"{path if named else text}: maps found at {there.template} (--template)")
        if not results:
            raise StereogaugeError(
                f"{text} holds no maps for the scenes of {dataset.name} ({shortened(dataset.ids)}); say where they lie "
                "with --template, e.g. '{algorithm}/{scene}.pfm'."
            )
        if unrecognised:
            say(f"{text}: {len(unrecognised)} file(s) belong to no scene: {shortened(unrecognised)}")
        found += [replace(results[0], name=name)] if named and len(results) == 1 else results
    names = [result.name for result in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise StereogaugeError(f"Several folders hold an algorithm called {twice[0]!r}; name them, NAME=FOLDER.")
    return found
