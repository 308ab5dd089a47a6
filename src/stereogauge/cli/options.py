"""Options that several commands share, and what they come to."""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereogauge.errors import FileError, SizeError, StereogaugeError
from stereogauge.protocol import Protocol, load_protocol, parse_override

if TYPE_CHECKING:
    from stereogauge.model import Calibration, Dataset, LabelImage, Scene


NUMBER = r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf)"
NAMES = re.compile(rf"(?:@{NUMBER}(?:,{NUMBER}(?=[\s,:&|()-]|$))*|[^\s,])+")
"""Names between commas or spaces; `name@1,2` is one, and so is `bad@1:depth@2,30&planar`."""
OPERATORS = re.compile(r"\s*([&|])\s*|\s+(-)\s+")
"""Operators of regions with the blanks around them."""


class Format(enum.StrEnum):
    """How a table is written to standard output."""

    table = "table"
    json = "json"
    csv = "csv"
    latex = "latex"


class Division(enum.StrEnum):
    """Into what scores are divided."""

    object = "object"


Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics", "-m", help="Metrics, e.g. bad@1 rms:nonocc; repeat or separate by commas. Default: the protocol's."
    ),
]
Regions = Annotated[
    list[str] | None,
    typer.Option(
        "--regions",
        "-r",
        help="Regions, e.g. all,nonocc,'planar&textureless'; repeat or separate by commas. Default: the protocol's.",
    ),
]
ProtocolName = Annotated[
    str, typer.Option("--protocol", "-p", help="A preset (see `stereogauge protocols`) or a TOML file.")
]
Override = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change one choice of the protocol, e.g. invalid=exclude; changes its hash."),
]
OutputFormat = Annotated[Format, typer.Option("--format", "-f", help="How to print the scores.")]
Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of the estimates where their suffix leaves it open; depth-m and depth-mm are depths."),
]
Scale = Annotated[float | None, typer.Option(help="Stored value per pixel of disparity, e.g. 16 for OpenCV's arrays.")]
Offset = Annotated[float | None, typer.Option(help="Added to every decoded estimate, in px.")]
Unknown = Annotated[str | None, typer.Option(help="Stored values that mean that there is no estimate, e.g. 0,-1.")]
Flip = Annotated[
    str | None, typer.Option(help="Turn the estimates back: left-right, up-down, both, or transpose (rows ↔ columns).")
]
Crop = Annotated[
    str | None, typer.Option(help="Column and row, X,Y, from which on padded estimates fit the ground truth.")
]
Calib = Annotated[Path | None, typer.Option(help="Calibration: Middlebury's calib.txt or a KITTI file.")]
Cameras = Annotated[tuple[int, int], typer.Option(help="The two cameras of a KITTI calibration file.")]
Focal = Annotated[float | None, typer.Option(help="Focal length in px.")]
Baseline = Annotated[float | None, typer.Option(help="Baseline in metres.")]
Doffs = Annotated[float | None, typer.Option(help="Disparity offset in px.")]
TruthEncoding = Annotated[
    str | None,
    typer.Option(
        "--gt-encoding", help="Encoding of the ground truth; default: that of the estimates unless they are depths."
    ),
]
TruthScale = Annotated[
    float | None, typer.Option("--gt-scale", help="Scale of the ground truth; default: that of the estimates.")
]
Template = Annotated[str | None, typer.Option(help="Where maps lie in RESULTS, e.g. '{algorithm}/{scene}/out.pfm'.")]
ResultsManifest = Annotated[Path | None, typer.Option(help="A results.toml that lies elsewhere than in RESULTS.")]
SearchRange = Annotated[int | None, typer.Option(help="Disparities to search, where the dataset does not say.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Worker processes; default: one per processor.")]
OutputFolder = Annotated[Path | None, typer.Option("--out", "-o", help="Folder for pictures.")]


def listed(values: list[str] | None) -> list[str] | None:
    """Repeated and comma-separated values as one list; a comma between two numbers after @ belongs to the name."""
    if values is None:
        return None
    return [name for value in values for name in NAMES.findall(OPERATORS.sub(r"\1\2", value))]


def stored_values(text: str | None) -> tuple[float, ...]:
    """The numbers of `--unknown`."""
    try:
        return tuple(float(part) for part in (text or "").replace(",", " ").split())
    except ValueError:
        raise StereogaugeError(f"--unknown takes stored values such as 0,-1; found {text!r}.") from None


def corner(text: str | None) -> tuple[int, ...]:
    """The column and row of `--crop`; nothing where it was not given."""
    if text is None:
        return ()
    found = re.fullmatch(r"\(?\s*(\d+)\s*,\s*(\d+)\s*\)?", text)
    if found is None:
        raise StereogaugeError(f"--crop takes a column and a row, X,Y, for example 8,4; found {text!r}.")
    return int(found[1]), int(found[2])


def chosen_calibration(path: Path | None, cameras: tuple[int, int], **given: float | None) -> Calibration:
    """The calibration of a file, over which single values go."""
    import dataclasses

    from stereogauge.datasets.calibration import read_kitti_calibration, read_middlebury_calibration
    from stereogauge.model import Calibration

    found = Calibration()
    if path is not None:
        kitti = path.is_file() and re.search(rb"^P\w*\d:", path.read_bytes()[:4096], re.MULTILINE) is not None
        found = read_kitti_calibration(path, cameras) if kitti else read_middlebury_calibration(path)
    stated: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return dataclasses.replace(found, **stated)


def make_folder(path: Path | None) -> None:
    """Make the folder of the output now: that nothing can be written there must not be found out after the work."""
    if path is None:
        return
    path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK):
        raise FileError(f"{path}: nothing can be written into this folder; check its permissions.")


def named_files(texts: list[str] | None) -> dict[str, str]:
    """Paths by name from NAME=FILE; a path alone is named after its file."""
    pairs = [text.partition("=") for text in texts or ()]
    return {name if equals else Path(name).stem: path if equals else name for name, equals, path in pairs}


def label_image(text: str) -> LabelImage:
    """A label image with its classes from FILE:glass=7,ground=1+2."""
    from stereogauge.io.files import LabelImage

    path, colon, classes = text.rpartition(":")
    if not colon or re.fullmatch(r"[^=,]+=\d+(\+\d+)*(,[^=,]+=\d+(\+\d+)*)*", classes) is None:
        raise StereogaugeError(f"--labels is written FILE:CLASS=VALUE, for example labels.png:glass=7; found {text!r}.")
    pairs = [pair.split("=") for pair in classes.split(",")]
    return LabelImage(path, {name.strip(): tuple(int(value) for value in values.split("+")) for name, values in pairs})


def check_files(paths: Iterable[str | None]) -> None:
    """Refuse a path that was given and leads nowhere."""
    for path in paths:
        if path is not None and not Path(path).is_file():
            raise FileError(f"{path}: there is no such file.")


def check_images(scene: Scene) -> None:
    """The images of a scene that was put together by hand are as large as its ground truth."""
    images = {"left": scene.left if scene.has("left") else None, "right": scene.right if scene.has("right") else None}
    for part, image in images.items():
        if image is not None and image.shape[:2] != scene.shape:
            raise SizeError(
                f"The {part} image is {image.shape[1]}×{image.shape[0]}, the ground truth of scene {scene.id!r} "
                f"{scene.shape[1]}×{scene.shape[0]}; both must have one size."
            )


def chosen_protocol(
    protocol: Protocol | str,
    overrides: list[str] | None,
    metrics: list[str] | None = None,
    regions: list[str] | None = None,
) -> Protocol:
    """The protocol that the options of a command describe."""
    from stereogauge.metrics.registry import canonical_column

    named = listed(metrics)
    given = {"metrics": None if named is None else [*map(canonical_column, named)], "regions": listed(regions)}
    changes = dict(parse_override(text) for text in overrides or ())
    changes |= {name: value for name, value in given.items() if value is not None}
    return load_protocol(protocol).replace(**changes)


def chosen_scenes(dataset: str, scenes: Sequence[str] | None, **truth: Any) -> Dataset:
    """The named dataset, or only those of its scenes that are named."""
    from stereogauge.datasets import open_dataset

    opened = open_dataset(dataset, **truth)
    return opened.subset(scenes) if scenes else opened


def truth_options(
    dataset: str, gt_encoding: str | None, gt_scale: float | None, encoding: str | None, scale: float | None
) -> dict[str, Any]:
    """How the ground truth of a folder without a manifest is read: as said, else as the estimates where it needs it."""
    given = {"encoding": gt_encoding, "scale": gt_scale}
    layout = found_layout(dataset)
    if layout is None:
        return {name: value for name, value in given.items() if value is not None}
    if gt_encoding is None and gt_scale is None and layout["paths"]["ground_truth"].endswith((".png", ".pgm")):
        given = {"encoding": None if (encoding or "").startswith("depth") else encoding, "scale": scale}
    return {name: value for name, value in given.items() if value is not None}


def found_layout(dataset: str) -> dict[str, Any] | None:
    """The layout that was found in a folder without a manifest; None for any other dataset."""
    from stereogauge.datasets import families
    from stereogauge.datasets.native.manifest import found_layout as layout_of
    from stereogauge.io.remote_path import place

    name, _, root = dataset.partition(":")
    if name != "folder" and name in families():
        return None
    return layout_of(place(root if name == "folder" else dataset))


def tell_layout(dataset: str, opened: Dataset) -> None:
    """Say where ground truth was found in a folder that nobody described, or as which dataset it was taken."""
    from stereogauge.cli.output import say

    layout = found_layout(dataset)
    if layout is None:
        return
    if opened.name != layout["name"]:
        say(f"{dataset}: laid out as {opened.name}, and taken as that")
        return
    say(
        f"{dataset}: ground truth found at {layout['paths']['ground_truth']}, {len(opened)} scene(s); "
        f"`stereogauge datasets init {dataset}` writes this down"
    )
