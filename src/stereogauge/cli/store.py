"""`stereogauge store`: look into a store, check, export, import, merge, delete."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from stereogauge.cli.options import Listing, ListingFormat
from stereogauge.cli.output import print_json, print_tables, say
from stereogauge.errors import StereogaugeError

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)

StoreArgument = Annotated[str, typer.Argument(metavar="STORE", help="SQLite file or database URL.")]
Dataset = Annotated[str | None, typer.Option(help="Only this dataset.")]
ProtocolName = Annotated[str | None, typer.Option("--protocol", "-p", help="Only this protocol, by name or hash.")]


@app.command()
def info(
    store: StoreArgument,
    form: ListingFormat = Listing.table,
) -> None:
    """What a store holds: datasets, algorithms, protocols, runs, failures."""
    from stereogauge.store import open_store
    from stereogauge.tables.table import table, words

    with open_store(store, read_only=True) as opened:
        document = _document(opened)
    if form is Listing.json:
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
            rows = [[words(_text(row[column])) for column in columns] for row in document[kind]]
            print_tables([table(kind, kind, columns, rows)])


def _document(opened: Any) -> dict[str, Any]:
    kinds = ("datasets", "algorithms", "protocols", "runs", "failures")
    lists = {kind: [asdict(entry) for entry in getattr(opened, kind)()] for kind in kinds}
    return {"store": opened.name, "counts": dict(opened.counts()), **lists}


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
    from stereogauge.store import open_store

    with open_store(store, read_only=True) as opened:
        write = opened.export_parquet if _is_parquet(out) else opened.export_csv
        say(f"{write(out, dataset=dataset, protocol=protocol)} scores → {out}")


@app.command("import")
def import_scores(
    store: StoreArgument,
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv or .parquet file of `store export`.")],
) -> None:
    """Take in scores in long form; the same columns of a cell are replaced."""
    from stereogauge.store import open_store

    with open_store(store) as opened:
        read = opened.import_parquet if _is_parquet(source) else opened.import_csv
        say(f"{read(source)} scores → {opened.name}")


@app.command()
def check(store: StoreArgument) -> None:
    """Verify that every score is as it was written: the file itself, and a check sum per algorithm and scene."""
    from stereogauge.store import open_store

    with open_store(store, read_only=True) as opened:
        found = opened.check()
        for sentence in found:
            sys.stdout.write(f"{sentence}\n")
        if found:
            raise typer.Exit(1)
        say(f"{opened.counts()['cells']} cells of {opened.name} are as they were written")


def _is_parquet(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise StereogaugeError(f"{path}: the suffix must be .csv or .parquet; found {suffix or 'none'!r}.")
    return suffix == ".parquet"


@app.command()
def merge(
    store: StoreArgument,
    others: Annotated[list[str], typer.Argument(metavar="OTHER", help="Stores to take in; they stay as they are.")],
) -> None:
    """Take other stores into this one; where both have a cell from different files, the later one stays."""
    from stereogauge.store import open_store

    with open_store(store) as opened:
        for other in others:
            with open_store(other, read_only=True) as source:
                say(f"{opened.merge(source)} cells of {source.name} → {opened.name}")


@app.command()
def upgrade(store: StoreArgument) -> None:
    """Bring a store that an older version wrote up to date; nothing is lost."""
    from stereogauge.store import open_store

    with open_store(store) as opened:
        say(f"{opened.name} is up to date")


@app.command()
def delete(
    store: StoreArgument,
    algorithms: Annotated[list[str], typer.Argument(metavar="ALGORITHM", help="Algorithms to remove.")],
) -> None:
    """Remove algorithms with everything that belongs to them."""
    from stereogauge.store import open_store

    with open_store(store) as opened:
        for name in algorithms:
            opened.delete_algorithm(name)
            say(f"removed {name} from {opened.name}")
