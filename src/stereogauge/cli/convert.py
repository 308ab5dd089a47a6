"""`stereogauge convert`: disparity maps from one encoding to another."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Annotated

import typer

from stereogauge.cli.output import console, say
from stereogauge.errors import FileError, StereogaugeError
from stereogauge.io.content import is_remote
from stereogauge.io.encodings import ENCODINGS, encoding_called

READABLE = "; ".join(f"{encoding.id}: {encoding.files}" for encoding in ENCODINGS.values())
WRITABLE = ", ".join(encoding.id for encoding in ENCODINGS.values() if encoding.writer is not None)


@dataclass(frozen=True)
class Conversion:
    """One file to read and one to write, with how."""

    source: str
    target: str
    source_encoding: str | None
    source_scale: float | None
    source_offset: float
    masks: tuple[str, ...]
    target_encoding: str | None
    target_scale: float | None


def command(
    paths: Annotated[list[str], typer.Argument(metavar="IN... OUT", help="One or more maps, then a file or a folder.")],
    source_encoding: Annotated[
        str | None, typer.Option("--from", help=f"Encoding of the input where its suffix leaves it open. {READABLE}.")
    ] = None,
    scale: Annotated[float | None, typer.Option(help="Input: stored value per pixel of disparity.")] = None,
    offset: Annotated[float, typer.Option(help="Input: pixels to add after dividing by the scale.")] = 0.0,
    mask: Annotated[
        list[str] | None,
        typer.Option(help="Image whose pixels other than 0 mark unknown disparities (as Sintel's masks); repeatable."),
    ] = None,
    target_encoding: Annotated[
        str | None, typer.Option("--to", help=f"Encoding of the output where its suffix leaves it open: {WRITABLE}.")
    ] = None,
    target_scale: Annotated[
        float | None, typer.Option("--to-scale", help="Output: value per pixel of disparity.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Convert disparity maps between encodings.

    Unknown pixels stay unknown; a disparity that the output cannot hold is an error, never a wrapped value.
    """
    if len(paths) < 2:
        raise FileError("Give at least one map to read and, last, the file or folder to write.")
    targets = target_names(paths[:-1], paths[-1], target_encoding)
    conversions = [
        Conversion(source, target, source_encoding, scale, offset, tuple(mask or ()), target_encoding, target_scale)
        for source, target in zip(paths[:-1], targets, strict=True)
    ]
    if not force:
        _refuse_existing(targets)
    if len(conversions) == 1:
        sys.stdout.write(convert(conversions[0]) + "\n")
        return
    failures = 0
    for conversion in _with_progress(conversions):
        try:
            sys.stdout.write(convert(conversion) + "\n")
        except StereogaugeError as error:
            failures += 1
            say(f"stereogauge: {error}")
    if failures:
        say(f"{failures} of {len(conversions)} maps were not converted.")
        raise typer.Exit(2)


def convert(conversion: Conversion) -> str:
    """Do it, and say in a line what was done."""
    import numpy as np

    from stereogauge.io.disparity import read_disparity, write_disparity

    disparity = read_disparity(
        conversion.source,
        encoding=conversion.source_encoding,
        scale=conversion.source_scale,
        offset=conversion.source_offset,
        masks=conversion.masks,
    )
    if not is_remote(conversion.target):
        Path(conversion.target).parent.mkdir(parents=True, exist_ok=True)
    write_disparity(conversion.target, disparity, encoding=conversion.target_encoding, scale=conversion.target_scale)
    height, width = disparity.shape
    known = disparity[np.isfinite(disparity)]
    values = f"{known.min():g} to {known.max():g} px" if known.size else "no value at all"
    share = known.size / disparity.size
    return f"{conversion.source} → {conversion.target}: {width} × {height}, {share:.1%} known, {values}"


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
    from stereogauge.io.replace import exists

    existing = [target for target in targets if exists(target)]
    if existing:
        others = f" (and {len(existing) - 1} more)" if len(existing) > 1 else ""
        raise FileError(f"{existing[0]}: exists already{others}; give --force to replace it.")


def _with_progress(conversions: list[Conversion]) -> Iterator[Conversion]:
    """A bar with the time left on a terminal; nothing elsewhere, where the printed lines are progress enough."""
    if not sys.stderr.isatty():
        yield from conversions
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("converting"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(errors=True), redirect_stdout=sys.stdout.isatty()) as progress:
        yield from progress.track(conversions)
