"""`stereogauge datasets`: what is known, how a folder must look, and fetching what may be fetched."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stereogauge.cli.options import ListingFormat
from stereogauge.cli.output import print_entry, print_json, say, step_bar
from stereogauge.datasets import families, family_of
from stereogauge.datasets.declaration import MANIFEST, DatasetFamily
from stereogauge.datasets.download import fetch as fetch_archives
from stereogauge.datasets.download import official_archives
from stereogauge.datasets.layout import folder_layout, list_results, wrong_folder
from stereogauge.errors import DatasetError
from stereogauge.text import json_value

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback()
def listing(context: typer.Context, form: ListingFormat = "table") -> None:
    """List the known datasets with how to get them; see also `show NAME` and `fetch NAME`."""
    if context.invoked_subcommand is not None:
        return

    rows = [_declaration(family) for _, family in sorted(families().items())]
    if form == "json":
        print_json(rows)
        return
    for row in rows:
        variants = f" ({', '.join(row['variants'])})" if row["variants"] else ""
        print_entry(row["id"], [row["name"] + variants, row["obtain"]], indent=17)


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A dataset's id.")],
    form: ListingFormat = "table",
) -> None:
    """Print how the dataset's folder must look, its variants and options, terms and citation."""
    row = _declaration(family_of(name)[0])
    if form == "json":
        print_json(row)
        return
    for key, value in row.items():
        if value:
            lines = [f"{inner}: {text}" for inner, text in value.items()] if isinstance(value, dict) else [str(value)]
            print_entry(key, lines, indent=10)


@app.command()
def init(
    root: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder with ground truth, images, …")],
    encoding: Annotated[str | None, typer.Option(help="Encoding of the ground truth, e.g. kitti, depth-m.")] = None,
    scale: Annotated[float | None, typer.Option(help="Stored value per pixel of the ground truth, e.g. 4.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a manifest that exists.")] = False,
) -> None:
    """Write the manifest of a folder of your own, stereogauge.toml, as far as its file names allow."""
    import tomli_w

    path = root / MANIFEST
    if path.exists() and not force:
        raise DatasetError(f"{path} exists already; give --force to replace it.")
    layout = folder_layout(root, list_results(root).names)
    if layout is None:
        raise wrong_folder("a dataset", root, "maps such as SCENE.pfm, gt/SCENE.png or SCENE/disp0GT.pfm")
    truth = {key: value for key, value in (("encoding", encoding), ("scale", scale)) if value is not None}
    path.write_text(tomli_w.dumps({**layout, **({"ground_truth": truth} if truth else {})}), encoding="utf-8")
    sys.stdout.write(path.read_text(encoding="utf-8"))
    say(f"{path} written; read it, and add what it cannot know (scale, calibration, masks)")


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A dataset's id, or ID:VARIANT.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to put it into.")],
    keep: Annotated[bool, typer.Option("--keep-archives", help="Keep the archives after unpacking.")] = False,
) -> None:
    """Download, check and unpack the official archives where their terms allow it; run again to continue."""
    family, archives = official_archives(name)
    say(f"{family.name}: {len(archives)} file(s). Terms: {family.terms}")
    with step_bar(lines=True) as show:

        def progress(what: str, done: int, total: int | None) -> None:
            show(f"{what} ({'size unknown' if total is None else f'{total:,} bytes'})", done, total)

        done = fetch_archives(name, out, progress=progress, keep_archives=keep)
    for file in done:
        how = "was there already" if file.already else "verified" if file.verified else "no hash is published"
        say(f"{file.url}: {file.size:,} bytes, SHA-256 {file.sha256} ({how})")
    say(f"Please cite: {family.citation}")
    sys.stdout.write(f"{out}\n")


def _declaration(family: DatasetFamily) -> dict[str, Any]:
    names = ("id", "name", "layout", "variants", "options", "obtain", "fetchable", "terms", "citation", "homepage")
    return {
        name: ("yes" if family.archives else "") if name == "fetchable" else json_value(getattr(family, name))
        for name in names
    }
