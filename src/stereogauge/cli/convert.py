"""`stereogauge convert`: disparity maps from one encoding to another."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from stereogauge.cli import options
from stereogauge.cli.output import say, step_bar
from stereogauge.errors import FileError, StereogaugeError
from stereogauge.io.content import suffix_of
from stereogauge.io.encodings import ENCODINGS, encoding_called, is_depth
from stereogauge.io.remote import is_remote

if TYPE_CHECKING:
    from stereogauge.model import Calibration, DisparityMap

READABLE = "; ".join(f"{encoding.id}: {encoding.files}" for encoding in ENCODINGS.values())
WRITABLE = ", ".join(encoding.id for encoding in ENCODINGS.values() if encoding.writer is not None)


def command(
    paths: Annotated[list[str], typer.Argument(metavar="IN... OUT", help="One or more maps, then a file or a folder.")],
    camera: options.CameraOptions,
    files: Annotated[options.Files, options.only(options.Files, "unknown", "flip")],
    source_encoding: Annotated[
        str | None,
        typer.Option("--encoding", help=f"Encoding of the input where its suffix leaves it open. {READABLE}."),
    ] = None,
    scale: Annotated[float | None, "Input, or else output: stored value per pixel of disparity."] = None,
    offset: Annotated[float, "Input: pixels to add after dividing by the scale."] = 0.0,
    mask: Annotated[
        list[str] | None, "Image whose pixels other than 0 mark unknown disparities (as Sintel's masks); repeatable."
    ] = None,
    target_encoding: Annotated[
        str | None, typer.Option("--to", help=f"Encoding of the output where its suffix leaves it open: {WRITABLE}.")
    ] = None,
    target_scale: Annotated[
        float | None, typer.Option("--to-scale", help="Output: value per pixel of disparity.")
    ] = None,
    colours: Annotated[str | None, "Image that gives a point cloud its colours."] = None,
    centre: Annotated[
        tuple[float, float] | None,
        "Principal point X Y in px; default: as the calibration file says, else the image centre.",
    ] = None,
    force: Annotated[bool, "Replace files that exist."] = False,
) -> None:
    """Convert disparity maps between encodings, or into point clouds (OUT.ply).

    Unknown pixels stay unknown; a disparity that the output cannot hold is an error, never a wrapped value.
    """
    if len(paths) < 2:
        raise FileError("Give at least one map to read and, last, the file or folder to write.")
    targets = target_names(paths[:-1], paths[-1], target_encoding)
    if not force:
        _refuse_existing(targets)
    if target_encoding == "middlebury" and target_scale is None:
        target_scale, scale = _output_scale(paths, source_encoding, scale)
    for target in targets:
        if not _is_cloud(target):
            options.check_target(target, target_encoding, target_scale)
    from stereogauge.io.encodings import write_disparity
    from stereogauge.io.files import DisparityFile

    known = camera.calibration()

    def convert(source: str, target: str) -> None:
        disparity = DisparityFile(
            source,
            source_encoding,
            scale,
            offset,
            masks=tuple(mask or ()),
            unknown=options.stored_values(files.unknown),
            calibration=known if is_depth(source_encoding) else None,
            flip=files.flip or "",
        ).read()
        if not is_remote(target):
            Path(target).parent.mkdir(parents=True, exist_ok=True)
        if _is_cloud(target):
            sys.stdout.write(f"{source} → {target}: {write_cloud(target, disparity, known, colours, centre)} points\n")
            return
        write_disparity(target, disparity, encoding=target_encoding, scale=target_scale)
        sys.stdout.write(f"{source} → {target}: {_described(disparity)}\n")

    pairs = list(zip(paths[:-1], targets, strict=True))
    failures = 0
    with step_bar() as show:
        for place, (source, target) in enumerate(pairs):
            show(source, place, len(pairs))
            try:
                convert(source, target)
            except StereogaugeError as error:
                if len(pairs) == 1:
                    raise
                failures += 1
                say(f"stereogauge: {error}")
    if failures:
        say(f"{failures} of {len(pairs)} maps were not converted.")
        raise typer.Exit(2)


def write_cloud(
    target: str,
    disparity: DisparityMap,
    calibration: Calibration,
    colours: str | None,
    centre: tuple[float, float] | None,
) -> int:
    """Write the points of a map as PLY; the number of them."""
    from stereogauge.io.images import read_image
    from stereogauge.io.writing import write_ply

    if not calibration.metric:
        raise FileError(
            f"{target}: a point cloud needs depth; give --calib, or --focal in px and --baseline in metres."
        )
    points = calibration.points(disparity, centre)
    return write_ply(target, points, None if colours is None else read_image(colours))


def _output_scale(paths: list[str], source_encoding: str | None, scale: float | None) -> tuple[float, float | None]:
    """The scale of the output, and that of the input, which needs none where its suffix says all."""
    known = {suffix for encoding in ENCODINGS.values() for suffix in encoding.suffixes}
    if scale is None or source_encoding is not None or any(suffix_of(path) not in known for path in paths[:-1]):
        raise FileError(
            "--to middlebury needs the stored value per pixel of disparity: give --to-scale, for example 4."
        )
    return scale, None


def _is_cloud(target: str) -> bool:
    return suffix_of(target) == ".ply"


def _described(disparity: DisparityMap) -> str:
    import numpy as np

    height, width = disparity.shape
    known = disparity[np.isfinite(disparity)]
    values = f"{known.min():g} to {known.max():g} px" if known.size else "no value at all"
    return f"{width} × {height}, {known.size / disparity.size:.1%} known, {values}"


def target_names(sources: list[str], target: str, encoding: str | None) -> list[str]:
    """Where each source goes: the file that was named, or a file of the same stem in the folder that was named."""
    into_folder = len(sources) > 1 or target.endswith("/") or (not is_remote(target) and Path(target).is_dir())
    if not into_folder:
        return [target]
    if encoding is None:
        raise FileError(f"{target}: a folder does not say the encoding; give --to with one of {WRITABLE}.")
    suffix = (*encoding_called(encoding).suffixes, ".png")[0]
    names = [f"{target.rstrip('/')}/{PurePath(source).stem}{suffix}" for source in sources]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise FileError(
            f"{twice[0]}: several inputs would be written to this file; convert them into separate folders."
        )
    return names


def _refuse_existing(targets: list[str]) -> None:
    from stereogauge.io.writing import exists

    existing = [target for target in targets if exists(target)]
    if existing:
        others = f" (and {len(existing) - 1} more)" if len(existing) > 1 else ""
        raise FileError(f"{existing[0]}: exists already{others}; give --force to replace it.")
