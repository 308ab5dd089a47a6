"""Options that several commands share, declared once as groups, and what they come to."""

from __future__ import annotations

import enum
import functools
import inspect
import os
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from stereogauge.errors import FileError, SizeError, StereogaugeError, check_one_size
from stereogauge.io.content import Decoding, suffix_of
from stereogauge.io.encodings import ENCODINGS, encoding_called, encoding_to_write, is_depth, leaves_scale_open
from stereogauge.io.files import LabelImage
from stereogauge.loading import Declaration, convert, entry, entry_types, is_table, options_of
from stereogauge.metrics.registry import canonical_column
from stereogauge.model import Calibration, Scene
from stereogauge.protocol import Protocol, load_protocol, parse_override
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.scope import ONLY_SURE, Names, Scope
from stereogauge.tags import PREFIX
from stereogauge.text import NUMBER_PATTERN

if TYPE_CHECKING:
    from stereogauge.store import Store

NAMES = re.compile(rf"(?:@{NUMBER_PATTERN}(?:,{NUMBER_PATTERN}(?=[\s,:&|()-]|$))*|[^\s,])+")
"""Names between commas or spaces; `name@1,2` is one, and so is `bad@1:depth@2,30&planar`."""
OPERATORS = re.compile(r"\s*([&|])\s*|\s+(-)\s+")
"""Operators of regions with the blanks around them."""


class Format(enum.StrEnum):
    """How a table is written to standard output."""

    table = "table"
    json = "json"
    csv = "csv"
    latex = "latex"


ListingFormat = Annotated[Literal["table", "json"], typer.Option("--format", "-f", help="A table to read, or JSON.")]


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
GROUND_TRUTH = ("gt_encoding", "gt_scale", "gt_unknown")
"""The entries of `Files` that mean the ground truth."""
LISTS = "repeat or separate by commas"
SCENES, FILES, MEASURES, OUTPUT = "What to compare", "How files are read", "What to measure", "Output"
PANELS = {"Scope": "Which scores", "CameraOptions": SCENES, "Files": FILES, "Measured": MEASURES}
HEADINGS = ("Arguments", *PANELS.values(), "Options", OUTPUT)
"""Headings of groups in the help, in this order."""


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
    gt_encoding: Annotated[str | None, entry("Encoding of the ground truth, where its format leaves it open.")] = None
    gt_scale: Annotated[
        float | None, entry("Scale of the ground truth; default for 8-bit images: that of the estimates.")
    ] = None
    gt_unknown: Annotated[
        str | None, entry("Stored values of the ground truth that mean that it is unknown, e.g. 0,-1.")
    ] = None
    template: Annotated[str | None, entry("Where maps lie in a folder, e.g. '{algorithm}/{scene}/out.pfm'.")] = None
    manifest: Annotated[Path | None, entry("A results.toml that lies elsewhere than in RESULTS.")] = None
    resize: Annotated[bool, entry("Bring estimates to the scene's size; disparities scale with the width.")] = False

    @property
    def decoding(self) -> dict[str, Any]:
        """How maps become disparities, and where they lie in a folder."""
        plain = {name: getattr(self, name) for name in ("template", "encoding", "scale", "offset", "flip")}
        return {**plain, "unknown": stored_values(self.unknown), "crop": corner(self.crop)}

    @property
    def reading(self) -> dict[str, Any]:
        """What `find_results` takes, with a manifest that lies elsewhere."""
        return {**self.decoding, "manifest": self.manifest}

    def lends_scale(self, path: str | os.PathLike[str]) -> bool:
        """Whether a ground truth that states no scale takes that of the estimates."""
        return self.scale is not None and self.gt_scale is None and self.gt_encoding is None and leaves_scale_open(path)

    def truth_decoding(self, path: str | os.PathLike[str] | None) -> dict[str, Any]:
        """How the ground truth is read: as `--gt-…` says; a file that cannot be read without a scale, as the estimates.

        Nothing is set where nothing was stated.
        """
        given: dict[str, Any] = {"encoding": self.gt_encoding, "scale": self.gt_scale}
        if given == {"encoding": None, "scale": None} and path is not None and leaves_scale_open(path):
            given = {"encoding": None if is_depth(self.encoding) else self.encoding, "scale": self.scale}
        given["unknown"] = stored_values(self.gt_unknown, "--gt-unknown")
        return {name: value for name, value in given.items() if value not in (None, ())}


class CameraOptions(Declaration, frozen=True):
    """The camera."""

    calib: Annotated[
        Path | None, entry("Calibration: Middlebury, KITTI, OpenCV YAML or XML, ROS camera_info, Kalibr, JSON.")
    ] = None
    cameras: Annotated[tuple[int, int], entry("The two cameras of a KITTI calibration file.")] = (0, 1)
    focal: Annotated[float | None, entry("Focal length in px.")] = None
    baseline: Annotated[float | None, entry("Baseline in metres.")] = None
    doffs: Annotated[float | None, entry("Disparity offset in px.")] = None

    def calibration(self, **given: float | None) -> Calibration:
        """The calibration of the file, over which single values go."""
        stated: dict[str, Any] = {"focal": self.focal, "baseline": self.baseline, "doffs": self.doffs, **given}
        stated = {name: value for name, value in stated.items() if value is not None}
        if "focal" in stated:
            stated["size"] = None  # in pixels of the maps
        if self.calib is None:
            return Calibration(**stated)
        from stereogauge.datasets.calibration import read_calibration

        return msgspec.structs.replace(read_calibration(self.calib, self.cameras), **stated)

    def check_size(self, scene: Scene) -> None:
        """Raise an error, which names the file, where the calibration is for images of another size."""
        try:
            scene.calibration.check_size(scene.shape)
        except SizeError as problem:
            raise SizeError(f"{self.calib}: {problem}") from None


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

    Options, help and limits come from the declaration, whose options share a heading in the help. A parameter that is
    annotated with a text, `Annotated[str, "What it is."]`, is one option with this help.
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind, *marks = typing.get_args(parameter.annotation) or (parameter.annotation,)
        if is_table(kind):
            left_out = frozenset[str]().union(*(mark for mark in marks if isinstance(mark, frozenset)))
            own = [_option(kind, name) for name in entry_types(kind) if name not in left_out]
            groups[parameter.name] = kind, [one.name for one in own]
            parameters += own
        else:
            annotation = parameter.annotation
            if marks and isinstance(marks[0], str):
                annotation = _annotated(kind, typer.Option(*_spellings(parameter.name, kind), help=marks[0]))
            parameters.append(parameter.replace(annotation=annotation, kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, (kind, entries) in groups.items():
            given[name] = convert({one: given.pop(one) for one in entries}, kind, "The options")
        command(**given)

    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _option(group: Any, name: str) -> inspect.Parameter:
    """The option of one entry of a declaration."""
    annotated = entry_types(group)[name]
    kind, meta = typing.get_args(annotated)[:2]
    several, literals = kind == Names, [one for one in options_of(kind) if typing.get_origin(one) is typing.Literal]
    # The words that an option takes, where it takes no others; the declaration refuses the rest in one sentence.
    choices = [word for literal in literals for word in typing.get_args(literal)]
    flag, *letter = _spellings(name, kind)
    option = typer.Option(
        *(f"{flag}/--no-{flag[2:]}" if kind is bool else flag, *letter),
        help=f"{meta.description.rstrip('.')}; {LISTS}." if several else meta.description,
        min=meta.ge,
        max=meta.le,
        metavar="NAMES" if several else "|".join(choices) or None,
        rich_help_panel=PANELS.get(group.__name__),
    )
    default = next(field.default for field in msgspec.structs.fields(group) if field.name == name)
    shown = list[str] | None if several else (str if default else str | None) if choices else kind
    annotation = _annotated(shown, option)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _spellings(name: str, kind: Any) -> list[str]:
    """The option of a parameter, and its letter where it has one; a letter is never a switch."""
    letter = None if kind is bool else LETTERS.get(name)
    return ["--" + SPELLINGS.get(name, name).replace("_", "-"), *([letter] if letter else [])]


def _annotated(kind: Any, option: Any) -> Any:
    annotated: Any = Annotated
    return annotated[kind, option]


def listed(values: Sequence[str] | None) -> list[str] | None:
    """Repeated and comma-separated values as one list; a comma between two numbers after @ belongs to the name."""
    if values is None:
        return None
    return [name for value in values for name in NAMES.findall(OPERATORS.sub(r"\1\2", value))]


def stored_values(text: str | None, option: str = "--unknown") -> tuple[float, ...]:
    """The numbers of `--unknown`."""
    try:
        return tuple(float(part) for part in (text or "").replace(",", " ").split())
    except ValueError:
        raise StereogaugeError(f"{option} takes stored values such as 0,-1; found {text!r}.") from None


def corner(text: str | None) -> tuple[int, ...]:
    """The column and row of `--crop`; nothing where it was not given."""
    if text is None:
        return ()
    found = re.fullmatch(r"\(?\s*(\d+)\s*,\s*(\d+)\s*\)?", text)
    if found is None:
        raise StereogaugeError(f"--crop takes a column and a row, X,Y, for example 8,4; found {text!r}.")
    return int(found[1]), int(found[2])


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
    path, colon, classes = text.rpartition(":")
    if not colon or re.fullmatch(r"[^=,]+=\d+(\+\d+)*(,[^=,]+=\d+(\+\d+)*)*", classes) is None:
        raise StereogaugeError(f"--labels is written FILE:CLASS=VALUE, for example labels.png:glass=7; found {text!r}.")
    pairs = [pair.split("=") for pair in classes.split(",")]
    return LabelImage(path, {name.strip(): tuple(int(value) for value in values.split("+")) for name, values in pairs})


def check_files(paths: Iterable[str | None]) -> None:
    """Refuse a given path that does not exist."""
    for path in paths:
        if path is not None and not Path(path).is_file():
            raise FileError(f"{path}: there is no such file.")


def check_images(scene: Scene) -> None:
    """Refuse images of a scene that have another size than its ground truth."""
    images = {"left": scene.left if scene.has("left") else None, "right": scene.right if scene.has("right") else None}
    for part, image in images.items():
        if image is not None:
            truth = f"the ground truth of scene {scene.id!r}"
            check_one_size(f"The {part} image", image.shape[:2], truth, scene.shape)


def chosen_protocol(
    protocol: Protocol | str,
    overrides: list[str] | None,
    metrics: list[str] | None = None,
    regions: list[str] | None = None,
) -> Protocol:
    """The protocol that the options of a command describe."""
    named = listed(metrics)
    given = {"metrics": None if named is None else [*map(canonical_column, named)], "regions": listed(regions)}
    changes = dict(parse_override(text) for text in overrides or ())
    changes |= {name: value for name, value in given.items() if value is not None}
    return load_protocol(protocol).replace(**changes)


def check_target(target: str, encoding: str | None, scale: float | None) -> None:
    """Refuse a name that does not say its encoding, before any work is done."""
    writable = ", ".join(one.id for one in ENCODINGS.values() if one.writer is not None)
    if encoding is not None and encoding_called(encoding).writer is None:
        raise FileError(f"{target}: the encoding {encoding} can be read but not written; give --to, one of {writable}.")
    if encoding == "middlebury" and scale is None:
        raise FileError(f"{target}: --to middlebury needs the stored value per pixel: give --to-scale, for example 4.")
    if encoding is None and suffix_of(target) == ".png" and scale is None:
        raise FileError(
            f"{target}: a PNG can hold several encodings; give --to kitti, or --to middlebury and --to-scale, for "
            "example 4."
        )
    if encoding is None:
        encoding_to_write(suffix_of(target), target, Decoding(scale))


StoreAddress = Annotated[str, typer.Argument(metavar="STORE", help="SQLite file or database URL, from `evaluate`.")]
Profile = Annotated[str | None, typer.Option(help="A shipped profile or the path of a TOML file.")]
Weight = Annotated[list[str] | None, typer.Option(help="METRIC=NUMBER instead of a profile; repeatable.")]
Alpha = Annotated[float, typer.Option(help="Level of significance of tests over scenes.")]
Tolerance = Annotated[
    float, typer.Option(help="Share of the leader's score by which another must be better to matter.")
]


@contextmanager
def selected_scores(address: str, scope: Scope) -> Iterator[tuple[Store, ScoreCube]]:
    """The store and the scores that the scope of a command selects from it."""
    from stereogauge.decision.source import needed_cube
    from stereogauge.store import open_store

    tagged = any(text.startswith(PREFIX) for text in scope.scenes or ())
    with open_store(address, read_only=True) as store:
        cube = needed_cube(store, scope.need, dataset=scope.dataset, protocol=scope.protocol)
        if not (cube.algorithms and cube.columns):
            raise StereogaugeError(f"{store.name} holds no scores; fill it with `stereogauge evaluate`.")
        yield (
            store,
            cube.read_by(None, scope.aggregation).select(
                scenes=names(scope.scenes) if tagged else listed(scope.scenes),
                regions=listed(scope.regions),
                metrics=listed(scope.metrics),
                algorithms=names(scope.algorithms),
            ),
        )


def ordering_coverage(scope: Scope) -> float:
    """The coverage that a score needs to enter an order; refuses to order scores at different densities."""
    if scope.need == ONLY_SURE:
        raise StereogaugeError(
            "Scores at different densities make no order, since leaving pixels out would win it; `stereogauge table "
            "--need sure` and `report --need sure` show them with their coverage and order them at equal density, and "
            "`stereogauge compare --common` measures maps on the pixels that all of them estimate."
        )
    return scope.coverage


def names(values: Sequence[str] | None) -> list[str] | None:
    """Repeated and comma-separated names as one list; unlike that of a metric, a name may hold blanks."""
    if values is None:
        return None
    return [part.strip() for value in values for part in value.split(",") if part.strip()]
