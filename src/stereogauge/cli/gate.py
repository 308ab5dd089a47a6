"""`stereogauge gate`: fail when an algorithm got worse than it was in a baseline store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from stereogauge.cli import options, selected
from stereogauge.cli.output import print_tables, say
from stereogauge.errors import StereogaugeError
from stereogauge.scores.scope import Scope

FINDING = 1


def command(
    store: selected.StoreAddress,
    scope: Annotated[Scope, options.only(Scope, "dataset", "protocol", "scenes")],
    baseline: Annotated[str, typer.Option("--baseline", "-b", metavar="STORE", help="The store to compare with.")],
    largest: Annotated[
        list[str] | None,
        typer.Option(
            "--max", metavar="LIMIT", help="bad@1:nonocc=+0.1, =+5% of the old score, or =12 (a value); repeatable."
        ),
    ] = None,
    algorithm: Annotated[
        list[str] | None, typer.Option(help="Only this one, or NEW=OLD where its name has changed; repeatable.")
    ] = None,
    per_scene: Annotated[bool, typer.Option("--per-scene", help="Check every scene on its own, too.")] = False,
    significant: Annotated[
        bool,
        typer.Option("--significant", help="Accept a rise that a test cannot distinguish from chance."),
    ] = False,
    alpha: selected.Alpha = 0.05,
    junit: Annotated[Path | None, typer.Option(help="Write the checks as JUnit XML.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every check, not only what got worse.")] = False,
    form: options.OutputFormat = options.Format.table,
) -> None:
    """Compare the scores of a store with a baseline, and exit with code 1 when a limit is not kept.

    Both stores must hold scores under the same protocol; scenes that only one of them has are left out.
    """
    from stereogauge.decision.gate import gate, parse_limit
    from stereogauge.protocol import Protocol
    from stereogauge.tables.decision_tables import gate_table

    if not largest:
        raise StereogaugeError("A gate needs at least one limit, for example --max bad@1:nonocc=+0.1.")
    limits = [parse_limit(text) for text in largest]
    with selected.opened(baseline, scope) as (opened, old):
        read = opened.protocol(old.protocol, old.columns) or Protocol()
    with selected.opened(store, replace(scope, protocol=scope.protocol or old.protocol)) as (_, new):
        pass
    found = gate(
        new, old, limits, names=_names(algorithm, new.algorithms, old.algorithms), per_scene=per_scene,
        significant=significant, alpha=alpha, how="mean" if read.aggregation == "weighted" else read.aggregation,
    )  # fmt: skip
    if junit is not None:
        junit.parent.mkdir(parents=True, exist_ok=True)
        junit.write_text(found.junit(), encoding="utf-8")
    if form is not options.Format.table or everything or any(not check.kept for check in found.checks):
        print_tables([gate_table(found, everything=everything or form is options.Format.json)], form)
    say(found.sentence)
    if not found.passed:
        raise typer.Exit(FINDING)


def _names(given: list[str] | None, new: tuple[str, ...], old: tuple[str, ...]) -> dict[str, str] | None:
    """Pairs of names, checked against both stores; None for all that they have in common."""
    from stereogauge.errors import unknown_name

    if not given:
        return None
    pairs = {}
    for text in given:
        name, equals, before = text.partition("=")
        pairs[name.strip()] = before.strip() if equals else name.strip()
    for name, before in pairs.items():
        if name not in new:
            raise unknown_name("algorithm of this store", name, new)
        if before not in old:
            raise unknown_name("algorithm of the baseline", before, old)
    return pairs
