"""`stereogauge validate`: everything that is wrong with a map, a results folder or a zip, before anything is
computed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stereogauge.cli import options
from stereogauge.cli.options import ListingFormat
from stereogauge.cli.output import print_findings, print_json, say, step_bar
from stereogauge.datasets import validation
from stereogauge.datasets.declaration import open_dataset
from stereogauge.datasets.layout import map_name
from stereogauge.datasets.results.find import map_file, scene_names
from stereogauge.datasets.results.manifest import ResultDecoding
from stereogauge.datasets.validation import Validation, check_map
from stereogauge.errors import DatasetError
from stereogauge.io.encodings import ENCODINGS
from stereogauge.io.inspection import FileReport
from stereogauge.io.remote import place
from stereogauge.model import Dataset

FOUND = 1


def command(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A disparity map, a folder of results, or a .zip of one; also s3://…")
    ],
    files: Annotated[options.Files, options.without("gt_encoding", "gt_scale", "gt_unknown", "resize")],
    dataset: Annotated[str | None, "What the results are for: NAME, NAME:ROOT or NAME:VARIANT:ROOT."] = None,
    scene: Annotated[str | None, "The scene that a single map is of."] = None,
    form: ListingFormat = "table",
) -> None:
    """Check a map, a results folder or a zip: missing scenes, wrong sizes, signs, scales, swapped views, damaged files.

    Exit code 0: nothing to fix; 1: something was found; 2: the input itself is wrong.
    """
    given = place(path)
    if not given.exists():
        raise DatasetError(f"{path} does not exist; give a disparity map, a folder of results or a .zip.")
    single = given.is_file() and given.suffix.lower() != ".zip"
    seen: FileReport | None = None
    plain: dict[str, Any] = {key: files.decoding[key] for key in ("encoding", "scale", "unknown")}
    plain["offset"] = files.offset or 0.0
    if single and dataset is None:
        seen, findings = validation.inspect_file(given, **plain)
        result = Validation(str(given), "", (), 1, tuple(findings))
    elif single:
        result = _single_map(given, open_dataset(dataset or ""), scene, files)
    else:
        with step_bar() as show:

            def progress(done: int, total: int, what: str) -> None:
                show(what, done, total)

            if dataset is None:
                result = validation.validate_files(given, progress=progress, **plain)
            else:
                result = validation.validate_results(given, open_dataset(dataset), progress=progress, **files.reading)
    _print(result, form, seen)
    raise typer.Exit(0 if result.ok else FOUND)


def _single_map(path: Path, data: Dataset, scene: str | None, files: options.Files) -> Validation:
    chosen = scene or scene_names(data.ids).get(map_name(path)[0].lower())
    if chosen is None:
        raise DatasetError(f"{path} does not say its scene; give --scene, one of {', '.join(data.ids[:8])}.")
    stated = {key: value for key, value in files.decoding.items() if key != "template"}
    file = map_file(path, data[chosen], data, ResultDecoding(**stated))
    return Validation(str(path), data.name, (), 1, tuple(check_map(file, data[chosen])))


def _print(result: Validation, form: str, seen: FileReport | None = None) -> None:
    if form == "json":
        print_json(result.to_dict() | ({} if seen is None else {"report": seen}))
        return
    if seen is not None:
        # What counts as a value, and whether 0 does, is a question of the encoding.
        meaning = f"{seen.encoding} ({ENCODINGS[seen.encoding].description})"
        size = f"{seen.width} × {seen.height} pixels, {seen.valid_share:.1%} of them with a value"
        spread = "" if seen.minimum is None else f", {seen.minimum:.4g} … {seen.maximum:.4g} px"
        sys.stdout.write(f"{seen.name}: {meaning}, {size}{spread}\n")
    print_findings("algorithm", [(finding.algorithm, finding) for finding in result.findings])
    problems = sum(finding.severity == "problem" for finding in result.findings)
    algorithms = f" of {len(result.algorithms)} algorithm(s)" if result.algorithms else ""
    say(f"{result.maps} map(s){algorithms} checked: " + (f"{problems} problem(s)." if problems else "nothing to fix."))
