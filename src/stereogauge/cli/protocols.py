"""`stereogauge protocols`: the presets, or the whole text of one."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import msgspec
import typer

from stereogauge.cli import options
from stereogauge.cli.options import ListingFormat
from stereogauge.cli.output import print_json, print_rows
from stereogauge.protocol import Protocol, load_protocol, preset_names


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A preset or a TOML file, to see all of its choices.")
    ] = None,
    override: Annotated[list[str] | None, "Change one choice, e.g. invalid=exclude; changes the hash."] = None,
    form: ListingFormat = "table",
) -> None:
    """List the shipped protocols, or show one in full as TOML."""
    if name is not None:
        protocol = options.chosen_protocol(name, override)
        if form == "json":
            print_json(_document(protocol))
        else:
            sys.stdout.write(f"# hash {protocol.hash}, scoring {protocol.scoring_hash}\n{protocol.to_toml()}")
        return
    presets = [load_protocol(preset) for preset in preset_names()]
    if form == "json":
        print_json([_document(preset) for preset in presets])
        return
    print_rows(
        [
            {"protocol": one.name, "gives the numbers of": one.source, "what it is": one.description, "hash": one.hash}
            for one in presets
        ]
    )


def _document(protocol: Protocol) -> dict[str, Any]:
    return {**msgspec.to_builtins(protocol), "hash": protocol.hash, "scoring_hash": protocol.scoring_hash}
