"""Options that several commands share, declared once as groups, and what they come to."""

from __future__ import annotations

import enum
import functools
import inspect
import os
import re
import typing
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from stereogauge.errors import FileError, SizeError, StereogaugeError
from stereogauge.loading import Declaration, convert, entry, entry_types, is_table, options_of
from stereogauge.protocol import Protocol, load_protocol, parse_override
from stereogauge.scores.scope import Names

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


class Listing(enum.StrEnum):
    """How a listing is written to standard output."""

    table = "table"
    json = "json"


ListingFormat = Annotated[Listing, typer.Option("--format", "-f", help="A table to read, or JSON.")]


class Division(enum.StrEnum):
    """Into what scores are divided."""

    object = "object"


LETTERS = {
    "algorithms": "-a",
    "dataset": "-d",
    "form": "-f",
    "jobs": "-j",
    "metrics": "-m",
    "out": "-o",
    "protocol": "-p",
    "regions": "-r",
    "store": "-s",
}
"""The option of each letter, the same in every command."""
SPELLINGS = {"form": "format", "override": "set"}
"""Options whose parameter has another name."""
LISTS = "repeat or separate by commas"
SCENES, FILES, MEASURES, OUTPUT = "What to compare", "How files are read", "What to measure", "Output"
PANELS = {"Scope": "Which scores", "Camera": SCENES, "Files": FILES, "Measured": MEASURES}
"""Headings of groups in the help."""


class Files(Declaration, frozen=True):
    """How files are read."""

    encoding: Annotated[
        str | None, entry("Encoding of the estimates where their suffix leaves it open; depth-m, depth-mm are depths.")
    ] = None
    scale: Annotated[float | None, entry("Stored value per pixel of disparity, e.g. 16 for OpenCV's arrays.")] = None
    offset: Annotated[float | None, entry("Added to every decoded estimate, in px.")] = None
    unknown: Annotated[str | None, entry("Stored values that mean that there is no estimate, e.g. 0,-1.")] = None
    flip: Annotated[
        str | None, entry("Turn the estimates back: left-right, up-down, both, or transpose (rows ↔ columns).")
    ] = None
    crop: Annotated[str | None, entry("Column and row, X,Y, from which on padded estimates fit the ground truth.")] = (
        None
    )
    gt_encoding: Annotated[
        str | None, entry("Encoding of the ground truth; default: that of the estimates unless they are depths.")
    ] = None
    gt_scale: Annotated[float | None, entry("Scale of the ground truth; default: that of the estimates.")] = None
    template: Annotated[str | None, entry("Where maps lie in a folder, e.g. '{algorithm}/{scene}/out.pfm'.")] = None
    manifest: Annotated[Path | None, entry("A results.toml that lies elsewhere than in RESULTS.")] = None
    resize: Annotated[bool, entry("Bring estimates to the scene's size; disparities scale with the width.")] = False

    @property
    def decoding(self) -> dict[str, Any]:
        """What `find_results` takes."""
        return {
            "template": self.template,
            "encoding": self.encoding,
            "scale": self.scale,
            "offset": self.offset,
            "flip": self.flip,
            "unknown": stored_values(self.unknown),
            "crop": corner(self.crop),
        }

    def truth(self, dataset: str) -> dict[str, Any]:
        """How the ground truth of a folder is read: as stated, else as the estimates where it needs it."""
        return truth_options(dataset, self.gt_encoding, self.gt_scale, self.encoding, self.scale)


class Camera(Declaration, frozen=True):
    """The camera."""

    calib: Annotated[Path | None, entry("Calibration: Middlebury's calib.txt or a KITTI file.")] = None
    cameras: Annotated[tuple[int, int], entry("The two cameras of a KITTI calibration file.")] = (0, 1)
    focal: Annotated[float | None, entry("Focal length in px.")] = None
    baseline: Annotated[float | None, entry("Baseline in metres.")] = None
    doffs: Annotated[float | None, entry("Disparity offset in px.")] = None

    def calibration(self, **given: float | None) -> Calibration:
        """The calibration of the file, over which single values go."""
        stated = {"focal": self.focal, "baseline": self.baseline, "doffs": self.doffs, **given}
        return chosen_calibration(self.calib, self.cameras, **stated)


class Measured(Declaration, frozen=True):
    """What to measure."""

    metrics: Annotated[
        list[str] | None, entry(f"Metrics, e.g. bad@1 rms:nonocc; {LISTS}. Default: the protocol's.")
    ] = None
    regions: Annotated[
        list[str] | None, entry(f"Regions, e.g. all,nonocc,'planar&textureless'; {LISTS}. Default: the protocol's.")
    ] = None
    protocol: Annotated[str, entry("A preset (see `stereogauge protocols`) or a TOML file.")] = "default"
    override: Annotated[
        list[str] | None, entry("Change one choice of the protocol, e.g. invalid=exclude; changes its hash.")
    ] = None

    @property
    def choice(self) -> Protocol:
        """The protocol with what the options change."""
        return chosen_protocol(self.protocol, self.override, self.metrics, self.regions)


OutputFormat = Annotated[Format, typer.Option("--format", "-f", help="How to print.", rich_help_panel=OUTPUT)]
Scenes = Annotated[list[str] | None, typer.Option(help=f"Only these scenes; {LISTS}.")]
SearchRange = Annotated[int | None, typer.Option(help="Disparities to search, where the dataset does not say.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Worker processes; default: one per processor.")]
Cluster = Annotated[
    str | None, typer.Option(help="A Dask scheduler, tcp://host:8786; 'auto' takes Dask's configuration.")
]
StorePlace = Annotated[str, typer.Option("--store", "-s", help="SQLite file or postgresql+psycopg://user@host/name.")]
OutputFolder = Annotated[Path | None, typer.Option("--out", "-o", help="Folder for pictures.", rich_help_panel=OUTPUT)]


def without(*names: str) -> frozenset[str]:
    """A marker for a group without some of its options: `Annotated[Scope, without("metrics")]`."""
    return frozenset(names)


def only(group: Any, *names: str) -> frozenset[str]:
    """A marker for a group with only some of its options."""
    return frozenset(entry_types(group)) - frozenset(names)


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every parameter that is a declaration replaced by one option per entry.

    Options, help and limits come from the declaration, whose options share a heading in the help.
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind, *marks = typing.get_args(parameter.annotation) or (parameter.annotation,)
        if not is_table(kind):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        left_out = frozenset[str]().union(*(mark for mark in marks if isinstance(mark, frozenset)))
        own = [_option(kind, name) for name in entry_types(kind) if name not in left_out]
        groups[parameter.name] = kind, [one.name for one in own]
        parameters += own

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, (kind, entries) in groups.items():
            given[name] = convert({one: given.pop(one) for one in entries}, kind, "The options")
        command(**given)

    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _choices(kind: Any) -> tuple[str, ...]:
    """The words that an option takes, where it takes no others; the declaration refuses the rest in one sentence."""
    return typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ()


def _option(group: Any, name: str) -> inspect.Parameter:
    """The option of one entry of a declaration."""
    annotated = entry_types(group)[name]
    kind, meta = typing.get_args(annotated)[:2]
    several, choices = kind == Names, [one for part in options_of(kind) for one in _choices(part)]
    spelling = SPELLINGS.get(name, name).replace("_", "-")
    flag = f"--{spelling}/--no-{spelling}" if kind is bool else f"--{spelling}"
    option = typer.Option(
        *filter(None, (flag, LETTERS.get(name))),
        help=f"{meta.description.rstrip('.')}; {LISTS}." if several else meta.description,
        min=meta.ge,
        max=meta.le,
        metavar="NAMES" if several else "|".join(choices) or None,
        rich_help_panel=PANELS.get(group.__name__),
    )
    default = next(field.default for field in msgspec.structs.fields(group) if field.name == name)
    annotated_as: Any = Annotated
    shown = list[str] | None if several else (str if default else str | None) if choices else kind
    annotation = annotated_as[shown, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def listed(values: Sequence[str] | None) -> list[str] | None:
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
    """Make the output folder before the work, so that an unwritable one is reported at once."""
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
    """Refuse images of a scene that have another size than its ground truth."""
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


def print_layout(dataset: str, opened: Dataset) -> None:
    """Print where ground truth was found in a folder without a manifest, or which dataset it was recognised as."""
    from stereogauge.cli.output import say

    layout = found_layout(dataset)
    if layout is None:
        return
    if opened.name != layout["name"]:
        say(f"{dataset}: recognised as {opened.name}")
        return
    say(
        f"{dataset}: ground truth found at {layout['paths']['ground_truth']}, {len(opened)} scene(s); "
        f"`stereogauge datasets init {dataset}` writes this down"
    )


def check_target(target: str, encoding: str | None, scale: float | None) -> None:
    """Refuse a name that does not say its encoding, before any work is done."""
    from stereogauge.io.content import Decoding, suffix_of
    from stereogauge.io.encodings import ENCODINGS, encoding_called, encoding_to_write

    writable = ", ".join(one.id for one in ENCODINGS.values() if one.writer is not None)
    if encoding is not None:
        if encoding_called(encoding).writer is None:
            raise FileError(
                f"{target}: the encoding {encoding} can be read but not written; give --to, one of {writable}."
            )
        if encoding == "middlebury" and scale is None:
            raise FileError(
                f"{target}: --to middlebury needs the stored value per pixel: give --to-scale, for example 4."
            )
        return
    if suffix_of(target) == ".png" and scale is None:
        raise FileError(
            f"{target}: a PNG can hold several encodings; give --to kitti, or --to middlebury and --to-scale, for "
            "example 4."
        )
    encoding_to_write(suffix_of(target), target, Decoding(scale))
