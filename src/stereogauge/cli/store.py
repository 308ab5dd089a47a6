"""`stereogauge store`: look into a store, check, copy, export, import, merge, delete."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stereogauge import store as stores
from stereogauge.cli.options import ListingFormat
from stereogauge.cli.output import print_json, print_repeated, print_tables, say
from stereogauge.errors import StereogaugeError
from stereogauge.metrics.registry import canonical_column
from stereogauge.store.engine import Database
from stereogauge.tables.table import table

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)

StoreArgument = Annotated[str, typer.Argument(metavar="STORE", help="SQLite file or database URL.")]
Dataset = Annotated[str | None, typer.Option(help="Only this dataset.")]
ProtocolName = Annotated[str | None, typer.Option("--protocol", "-p", help="Only this protocol, by name or hash.")]


@app.command()
def info(store: StoreArgument, form: ListingFormat = "table") -> None:
    """Show what a store holds: datasets, algorithms, protocols, runs, failures."""
    with stores.open_store(store, read_only=True) as opened:
        kinds = ("datasets", "algorithms", "protocols", "runs", "failures")
        document: dict[str, Any] = {"store": opened.name, "counts": dict(opened.counts())}
        document |= {kind: getattr(opened, kind)() for kind in kinds}
        document["repeated_scenes"] = opened.repeated_scenes()
        print_repeated(opened)
    if form == "json":
        print_json(document)
        return
    counts = document["counts"]
    sys.stdout.write(
        f"{document['store']}: {counts['scores']} scores in {counts['cells']} cells, {counts['algorithms']} algorithms,"
        f" {counts['scenes']} scenes of {counts['datasets']} datasets, {counts['failures']} failures\n"
    )
    for kind, columns in (
        ("datasets", ("name", "version", "root", "scenes")),
        ("algorithms", ("name", "description", "seconds", "tags")),
        ("protocols", ("name", "hash", "scoring_hash")),
        ("failures", ("dataset", "scene", "algorithm", "reason")),
    ):
        if document[kind]:
            rows = [[_text(getattr(row, column)) for column in columns] for row in document[kind]]
            print_tables([table(kind, kind, columns, rows)])


def _text(value: Any) -> str:
    if isinstance(value, tuple | list):
        return str(len(value))
    if isinstance(value, dict):
        return "; ".join(f"{name}: {', '.join(texts)}" for name, texts in value.items())
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


@app.command("export")
def export_scores(
    store: StoreArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .csv or .parquet file.")],
    dataset: Dataset = None,
    protocol: ProtocolName = None,
) -> None:
    """Write scores in long form, one a row, with all their digits."""
    with stores.open_store(store, read_only=True) as opened:
        write = opened.export_parquet if _is_parquet(out) else opened.export_csv
        say(f"{write(out, dataset=dataset, protocol=protocol)} scores → {out}")


@app.command("import")
def import_scores(
    store: StoreArgument,
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv or .parquet file of `store export`.")],
) -> None:
    """Import scores in long form; the same columns of a cell are replaced."""
    with stores.open_store(store) as opened:
        read = opened.import_parquet if _is_parquet(source) else opened.import_csv
        say(f"{read(source)} scores → {opened.name}")


def _is_parquet(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise StereogaugeError(f"{path}: the suffix must be .csv or .parquet; found {suffix or 'none'!r}.")
    return suffix == ".parquet"


@app.command()
def check(store: StoreArgument) -> None:
    """Verify that every score is as it was written: the file itself, and a check sum per algorithm and scene."""
    with stores.open_store(store, read_only=True) as opened:
        found = opened.check()
        for sentence in found:
            sys.stdout.write(f"{sentence}\n")
        if found:
            raise typer.Exit(1)
        say(f"{opened.counts()['cells']} cells of {opened.name} are as they were written")


@app.command()
def merge(
    store: StoreArgument,
    others: Annotated[list[str], typer.Argument(metavar="OTHER", help="Stores to merge; they are not changed.")],
) -> None:
    """Merge other stores into this one; where both have a cell from different files, the later one is kept."""
    with stores.open_store(store) as opened:
        for other in others:
            with stores.open_store(other, read_only=True) as source:
                say(f"{opened.merge(source)} cells of {source.name} → {opened.name}")


@app.command()
def backup(
    store: StoreArgument,
    target: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the copy.")],
    data: Annotated[
        Path | None, typer.Option(help="Folder of submissions; default: STORE-submissions, if it exists.")
    ] = None,
) -> None:
    """Copy a store, and the submissions to it, while a server uses them.

    The store is copied first: what is published meanwhile is private again in the copy.
    """
    import shutil

    if target.exists():
        raise StereogaugeError(f"{target} exists; give a new folder for each copy, for example backup-2026-11-18.")
    with stores.open_store(store, read_only=True) as opened:
        folder = data or Path(f"{opened.name.removesuffix('.sqlite')}-submissions")
        target.mkdir(mode=0o700, parents=True)
        opened.backup(target / Path(opened.name).name)
    queue = folder / "submissions.sqlite"
    if queue.is_file():
        copied = target / folder.name
        copied.mkdir(mode=0o700)
        database = Database(queue, read_only=True, timeout=30.0)
        database.backup(copied / queue.name)
        database.close()
        for place in sorted(path for path in folder.iterdir() if path.is_dir()):
            shutil.copytree(place, copied / place.name, ignore=shutil.ignore_patterns(".*"))
    elif data is not None:
        raise StereogaugeError(f"{queue} does not exist; {data} is not a folder of submissions.")
    say(f"{store} → {target}")


@app.command()
def upgrade(store: StoreArgument) -> None:
    """Bring a store that an older version wrote up to date; nothing is lost."""
    with stores.open_store(store) as opened:
        say(f"{opened.name} is up to date")


@app.command()
def delete(
    store: StoreArgument,
    algorithms: Annotated[list[str] | None, typer.Argument(metavar="ALGORITHM", help="Algorithms to remove.")] = None,
    scenes: Annotated[
        list[str] | None, typer.Option(help="A scene to remove, SCENE or DATASET/SCENE; repeatable.")
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option(help="Scores to remove, METRIC:REGION or METRIC for all regions; repeatable.")
    ] = None,
) -> None:
    """Remove algorithms, scenes or columns with everything that belongs to them."""
    if not (algorithms or scenes or columns):
        raise StereogaugeError("Nothing to remove: name algorithms, or give --scenes or --columns.")
    with stores.open_store(store) as opened:
        for name in algorithms or ():
            opened.delete_algorithm(name)
        opened.delete_scenes(scenes or [])
        opened.delete_columns([canonical_column(name) for name in columns or ()])
        say(f"removed {', '.join([*(algorithms or ()), *(scenes or ()), *(columns or ())])} from {opened.name}")
