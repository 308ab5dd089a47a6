"""`stereogauge filter`: keep the most confident disparities of a map, fill the rest, and measure the gain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from stereogauge.cli import options
from stereogauge.cli.output import print_rows, say
from stereogauge.confidence_measures.files import read_confidence
from stereogauge.confidence_measures.filtering import FILLS, gains
from stereogauge.confidence_measures.filtering import filter as filtered
from stereogauge.datasets.results.manifest import manifest_beside, of_map
from stereogauge.errors import FileError, check_one_size, unknown_name
from stereogauge.io.encodings import write_disparity
from stereogauge.io.files import DisparityFile, load_mask
from stereogauge.io.images import read_pixels
from stereogauge.model import Better


def command(
    disparity: Annotated[str, typer.Argument(metavar="DISPARITY", help="The disparity map to filter.")],
    confidence: Annotated[
        str,
        typer.Argument(
            metavar="CONFIDENCE",
            help="Its confidence map, FILE:lower or FILE:higher; or as the results.toml beside it says.",
        ),
    ],
    files: Annotated[options.Files, options.only(options.Files, "encoding", "scale", *options.GROUND_TRUTH)],
    density: Annotated[list[float] | None, "Keep this share of the pixels, 0 … 1; repeatable."] = None,
    threshold: Annotated[list[float] | None, "Keep confidence values up to this; repeatable."] = None,
    fill: Annotated[str, f"What removed pixels become: {', '.join([*FILLS][:-1])} or {[*FILLS][-1]}."] = "none",
    classes: Annotated[Path | None, "Classes of the left-right check, as `match --classes` writes them."] = None,
    gt: Annotated[str | None, "Ground truth: print what the filter gains."] = None,
    bad: Annotated[float, typer.Option(help="A pixel is bad where its error exceeds this many px.", min=0)] = 3.0,
    mask: Annotated[str | None, "Image of the pixels that count, white = belongs."] = None,
    out: Annotated[Path | None, "File for the map of the last step."] = None,
    form: options.OutputFormat = options.Format.table,
) -> None:
    """Keep the most confident disparities, fill the rest by a rule, and evaluate again.

    With --gt one table shows density and bad pixels as given, after each cut, and after filling; --out writes the map.
    """
    if fill not in FILLS:
        raise unknown_name("fill rule", fill, FILLS)
    if not density and not threshold:
        raise FileError("A filter needs a cut: --density 0.9 or --threshold VALUE.")
    if gt is None and out is None:
        raise FileError("Say what to do with the result: --out FILE writes it, --gt FILE shows what it gains.")
    path, better = _directed(confidence)
    estimate = DisparityFile(disparity, files.encoding, files.scale).read()
    order = read_confidence(path, higher_is_better=False)  # in the numbers of the file, in which thresholds are meant
    check_one_size(path, order.shape, disparity, estimate.shape)
    common: dict[str, Any] = {
        "fill": fill,
        "classes": None if classes is None else read_pixels(classes),
        "higher_is_better": better == "higher",
    }
    if gt is not None:
        truth = DisparityFile(gt, **files.truth_decoding(gt)).read()
        inside = None if mask is None else load_mask(mask)
        cuts: dict[str, Any] = {"densities": density or (), "thresholds": threshold or ()}
        print_rows(gains(estimate, order, truth, **cuts, bad=bad, mask=inside, **common), form)
    if out is not None:
        cut: dict[str, Any] = {"threshold": threshold[-1]} if threshold else {"density": (density or [1.0])[-1]}
        options.make_folder(out.parent)
        write_disparity(out, filtered(estimate, order, **cut, **common))
        say(f"{out} written")


def _directed(text: str) -> tuple[str, Better]:
    """The file and its direction, stated behind it or by the results.toml beside or above it."""

    directions: tuple[Better, ...] = ("lower", "higher")
    for direction in directions:
        if text.endswith(f":{direction}"):
            return text.removesuffix(f":{direction}"), direction
    file = Path(text)
    choice = manifest_beside(file.absolute().parent).confidence.better
    stated = of_map(choice, file.stem) or of_map(choice, file.parent.name)
    if stated is None:
        raise FileError(f"{text} does not say whether lower or higher is better; write {text}:lower or {text}:higher.")
    return text, stated
