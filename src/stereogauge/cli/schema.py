"""`stereogauge schema`: the JSON Schema of what a command prints with --format json."""

from __future__ import annotations

from typing import Annotated

import typer

from stereogauge.cli.output import print_json
from stereogauge.cli.schemas import SCHEMAS, schema_of


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="COMMAND", help="A command, e.g. compare; without it they are listed.")
    ] = None,
) -> None:
    """The JSON Schema of what a command prints with --format json."""
    if name is None:
        print_json(sorted(SCHEMAS))
    else:
        print_json(schema_of(name))
