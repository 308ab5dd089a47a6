"""`stereogauge protocols`: the presets, or the whole text of one."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from stereogauge.cli import options
from stereogauge.cli.output import print_rows


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A preset or a TOML file, to see all of its choices.")
    ] = None,
    override: Annotated[
        list[str] | None, typer.Option("--set", help="Change one choice, e.g. invalid=exclude; changes the hash.")
    ] = None,
) -> None:
    """The shipped protocols, or one in full as TOML."""
    from stereogauge.protocol import load_protocol, preset_names

    if name is not None:
        protocol = options.chosen_protocol(name, override)
        sys.stdout.write(f"# hash {protocol.hash}, scoring {protocol.scoring_hash}\n{protocol.to_toml()}")
        return
    presets = {preset: load_protocol(preset) for preset in preset_names()}
    print_rows([{"protocol": key, "hash": one.hash, "what it is": one.description} for key, one in presets.items()])
