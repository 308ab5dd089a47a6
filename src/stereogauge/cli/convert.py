"""`stereogauge convert`: disparity maps from one encoding to another."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path, PurePath
from typing import Annotated

import numpy as np
import typer

from stereogauge.cli import options
from stereogauge.cli.output import say, step_bar
from stereogauge.errors import FileError, StereogaugeError
from stereogauge.io.content import suffix_of
from stereogauge.io.encodings import ENCODINGS, encoding_called, is_depth, write_disparity
from stereogauge.io.files import DisparityFile
from stereogauge.io.images import read_image
from stereogauge.io.remote import is_remote
from stereogauge.io.writing import exists, write_ply

READABLE = "; ".join(f"{encoding.id}: {encoding.files}" for encoding in ENCODINGS.values())
CLOUD = ".ply"
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
    existing = [] if force else [target for target in targets if exists(target)]
    if existing:
        others = f" (and {len(existing) - 1} more)" if len(existing) > 1 else ""
        raise FileError(f"{existing[0]}: exists already{others}; give --force to replace it.")
    if target_encoding == "middlebury" and target_scale is None:
        # The one scale is that of the output, where the suffixes of the inputs say all of theirs.
        suffixes = {suffix for encoding in ENCODINGS.values() for suffix in encoding.suffixes}
        if scale is None or source_encoding is not None or any(suffix_of(path) not in suffixes for path in paths[:-1]):
            raise FileError(
                "--to middlebury needs the stored value per pixel of disparity: give --to-scale, for example 4."
            )
        target_scale, scale = scale, None
    for target in targets:
        if suffix_of(target) != CLOUD:
            options.check_target(target, target_encoding, target_scale)
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
        if suffix_of(target) == CLOUD:
            if not known.metric:
                raise FileError(
                    f"{target}: a point cloud needs depth; give --calib, or --focal in px and --baseline in metres."
                )
            points = known.points(disparity, centre)
            done = f"{write_ply(target, points, None if colours is None else read_image(colours))} points"
        else:
            write_disparity(target, disparity, encoding=target_encoding, scale=target_scale)
            values = disparity[np.isfinite(disparity)]
            spread = f"{values.min():g} to {values.max():g} px" if values.size else "no value at all"
            done = f"{disparity.shape[1]} × {disparity.shape[0]}, {values.size / disparity.size:.1%} known, {spread}"
        sys.stdout.write(f"{source} → {target}: {done}\n")

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
