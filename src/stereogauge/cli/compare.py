"""`stereogauge compare`: one ground truth, one or more estimates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stereogauge.cli import options
from stereogauge.cli.output import announce_compilation, notes, print_scores, say, working
from stereogauge.errors import FileError

if TYPE_CHECKING:
    from stereogauge.model import Calibration, DisparityMap, Scene

TRUTH_NAME = re.compile(r"(?i)(?:^|[^a-z])(?:gt|ground_?truth|truth)(?:[^a-z]|$)|disp\d?gt|disp_(?:occ|noc)")


def command(
    truth: Annotated[str, typer.Argument(metavar="GT", help="Ground truth of the left view.")],
    estimates: Annotated[list[str], typer.Argument(metavar="EST", help="Estimated disparity maps of the left view.")],
    encoding: options.Encoding = None,
    scale: options.Scale = None,
    offset: Annotated[float, typer.Option(help="Added to every decoded estimate, in px.")] = 0.0,
    gt_encoding: Annotated[
        str | None, typer.Option(help="Encoding of the ground truth; default: that of the estimates.")
    ] = None,
    gt_scale: Annotated[
        float | None, typer.Option(help="Scale of the ground truth; default: that of the estimates.")
    ] = None,
    left: Annotated[str | None, typer.Option(help="Left image, for regions by texture and for pictures.")] = None,
    right: Annotated[str | None, typer.Option(help="Right image.")] = None,
    gt_right: Annotated[str | None, typer.Option(help="Ground truth of the right view, for occlusions.")] = None,
    calib: Annotated[Path | None, typer.Option(help="Calibration: Middlebury's calib.txt or a KITTI file.")] = None,
    cameras: Annotated[tuple[int, int], typer.Option(help="The two cameras of a KITTI calibration file.")] = (0, 1),
    focal: Annotated[float | None, typer.Option(help="Focal length in px.")] = None,
    baseline: Annotated[float | None, typer.Option(help="Baseline in metres.")] = None,
    doffs: Annotated[float | None, typer.Option(help="Disparity offset in px.")] = None,
    ndisp: Annotated[int | None, typer.Option(help="Number of disparities.")] = None,
    mask: Annotated[
        list[str] | None,
        typer.Option(
            help="A region from an image, NAME=FILE, white = belongs; nonocc=… replaces the occlusion rule. "
            "Measured beside the protocol's regions unless --regions says which."
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="A label image and its classes, FILE:glass=7,ground=1+2; each is a region, label:glass, for --regions."
        ),
    ] = None,
    planes: Annotated[
        str | None, typer.Option(help="Label image of planar regions (0 = none) for p-*, also on sparse ground truth.")
    ] = None,
    border: Annotated[int, typer.Option(help="Margin of the dataset's own evaluation in px, e.g. 18 for Tsukuba.")] = 0,
    resolution: Annotated[
        float | None,
        typer.Option(help="Size relative to full resolution, e.g. 0.25; by default the image width / 3000."),
    ] = None,
    metrics: options.Metrics = None,
    regions: options.Regions = None,
    protocol: options.ProtocolName = "default",
    override: options.Override = None,
    resize: Annotated[
        bool, typer.Option(help="Bring estimates to the scene's size; disparities scale with the width.")
    ] = False,
    common: Annotated[
        bool, typer.Option(help="Measure all estimates on the pixels that every one of them estimates.")
    ] = False,
    by: Annotated[
        options.Division | None,
        typer.Option(help="One row per plane, fine structure and foreground object instead of one per region."),
    ] = None,
    form: options.OutputFormat = options.Format.table,
    out: options.OutputFolder = None,
    as_given: Annotated[bool, typer.Option(help="Do not ask whether ground truth and estimate were swapped.")] = False,
) -> None:
    """Hold one or more estimates against one ground truth.

    Prints scores under one protocol; --out writes the picture behind each metric. Every choice that a number depends on
    is in the protocol, whose hash is printed with the table.
    """
    from stereogauge.evaluation.estimates import distinct_names
    from stereogauge.evaluation.evaluate import evaluate
    from stereogauge.io.files import DisparityFile
    from stereogauge.model import Scene

    if not as_given:
        _check_order(truth, estimates)
    announce_compilation()
    chosen = options.chosen_protocol(protocol, override, metrics, regions)
    if _open(truth) and gt_encoding is None and gt_scale is None:
        gt_encoding, gt_scale = encoding, scale
    masks = options.named_files(mask)
    if regions is None:
        chosen = chosen.replace(regions=list(dict.fromkeys([*chosen.regions, *masks])))
    scene = Scene(
        Path(truth).parent.name or Path(truth).stem,
        gt=DisparityFile(truth, encoding=gt_encoding, scale=gt_scale),
        left=left,
        right=right,
        gt_right=gt_right
        if gt_right is None or not _open(gt_right)
        else DisparityFile(gt_right, gt_encoding, gt_scale),
        calibration=_calibration(calib, cameras, focal, baseline, doffs, ndisp),
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
    names = distinct_names(estimates)
    # Read once: scores, doubts and pictures are all made of these.
    division: Literal["object"] | None = None if by is None else "object"
    with working(f"measuring {', '.join(names)}"):
        maps = {
            name: (DisparityFile(path, encoding, scale, offset) if _open(path) else DisparityFile(path)).read()
            for name, path in zip(names, estimates, strict=True)
        }
        table = evaluate(
            maps, scene, options.listed(metrics), protocol=chosen, resize=resize, common=common, by=division
        )
        doubts = _suspicions(maps, scene)
    chosen = table.protocol or chosen
    print_scores(table, form)
    if common:
        share = _common_share(maps, scene)
        say(f"measured on the {share:.1%} of the known pixels that all {len(maps)} maps estimate")
    if form is options.Format.table:
        say(f"protocol {chosen.name} {chosen.hash}, scoring {chosen.scoring_hash}")
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


def _open(path: str) -> bool:
    """Whether the file's suffix leaves its encoding open, so that --encoding and --scale concern it."""
    return Path(path).suffix.lower() in (".png", ".pgm")


def _check_order(truth: str, estimates: list[str]) -> None:
    """An estimate that is called ground truth, held against something that is not, was most likely swapped with it."""
    swapped = [
        path for path in estimates if TRUTH_NAME.search(Path(path).stem) or TRUTH_NAME.search(Path(path).parent.name)
    ]
    if swapped and not TRUTH_NAME.search(Path(truth).stem) and not TRUTH_NAME.search(Path(truth).parent.name):
        raise FileError(
            f"{swapped[0]} looks like a ground truth but was given as an estimate of {truth}; the order is GT EST…: "
            "swap them, or add --as-given if it is meant so."
        )


def _calibration(
    path: Path | None,
    cameras: tuple[int, int],
    focal: float | None,
    baseline: float | None,
    doffs: float | None,
    ndisp: int | None,
) -> Calibration:
    import dataclasses

    from stereogauge.datasets.calibration import read_kitti_calibration, read_middlebury_calibration
    from stereogauge.model import Calibration

    found = Calibration()
    if path is not None:
        kitti = path.is_file() and re.search(rb"^P\w*\d:", path.read_bytes()[:4096], re.MULTILINE) is not None
        found = read_kitti_calibration(path, cameras) if kitti else read_middlebury_calibration(path)
    given = {"focal": focal, "baseline": baseline, "doffs": doffs, "ndisp": ndisp}
    stated: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return dataclasses.replace(found, **stated)


def _suspicions(maps: Mapping[str, DisparityMap], scene: Scene) -> list[str]:
    """What makes an estimate look as if it had been read wrongly: reversed sign, wrong scale, the other view."""
    from stereogauge.datasets.plausibility import suspicion

    fitting = {name: estimate for name, estimate in maps.items() if estimate.shape == scene.shape}
    doubts = {name: suspicion(estimate, scene.gt) for name, estimate in fitting.items()}
    return [f"{name}: {doubt[1]}" for name, doubt in doubts.items() if doubt is not None]
