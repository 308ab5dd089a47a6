"""`stereogauge protocols`: the presets, or the whole text of one."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from stereogauge.cli import options
from stereogauge.cli.output import print_table


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A preset or a TOML file, to see all of its choices.")
    ] = None,
    override: options.Override = None,
) -> None:
    """The shipped protocols, or one in full as TOML."""
    from stereogauge.protocol import load_protocol, preset_names

    if name is not None:
        protocol = options.chosen_protocol(name, override)
        sys.stdout.write(f"# hash {protocol.hash}, scoring {protocol.scoring_hash}\n{protocol.to_toml()}")
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("protocol", "hash", "what it is"):
        table.add_column(heading)
    for preset in preset_names():
        protocol = load_protocol(preset)
        table.add_row(preset, protocol.hash, protocol.description)
    print_table(table)
