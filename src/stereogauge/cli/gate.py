"""`stereogauge gate`: fail when an algorithm got worse than it was in a baseline store."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from msgspec.structs import replace

from stereogauge.cli import options
from stereogauge.cli.output import print_tables, say
from stereogauge.decision.gate import gate, parse_limit
from stereogauge.errors import StereogaugeError, UnknownNameError, unknown_name
from stereogauge.protocol import Protocol
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.scope import Scope
from stereogauge.store import Store
from stereogauge.tables.decision_tables import gate_table
from stereogauge.tables.formats import markdown_table

FINDING = 1
SUMMARY = "GITHUB_STEP_SUMMARY"


def command(
    store: options.StoreAddress,
    scope: Annotated[Scope, options.only(Scope, "dataset", "protocol", "scenes")],
    baseline: Annotated[str, typer.Option("--baseline", "-b", metavar="STORE", help="The store to compare with.")],
    largest: Annotated[
        list[str] | None,
        typer.Option(
            "--max", metavar="LIMIT", help="bad@1:nonocc=+0.1, =+5% of the old score, or =12 (a value); repeatable."
        ),
    ] = None,
    algorithm: Annotated[list[str] | None, "Only this one, or NEW=OLD where its name has changed; repeatable."] = None,
    per_scene: Annotated[bool, "Check every scene on its own, too."] = False,
    significant: Annotated[bool, "Accept a rise that a test cannot distinguish from chance."] = False,
    alpha: options.Alpha = 0.05,
    junit: Annotated[Path | None, "Write the checks as JUnit XML."] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every check, not only what got worse.")] = False,
    allow_missing: Annotated[
        bool,
        typer.Option(
            "--allow-missing", help="Pass although algorithms, scenes or maps of the baseline are missing or changed."
        ),
    ] = False,
    form: Annotated[
        Literal["table", "json", "csv", "latex", "github"], "How to print; github: annotations and a step summary."
    ] = "table",
) -> None:
    """Compare the scores of a store with a baseline, and exit with code 1 when a limit is exceeded.

    Both stores must hold scores under the same protocol. Algorithms and scenes that only the baseline has, maps that
    could not be read and scenes with other ground truth fail, too.
    """
    if not largest:
        raise StereogaugeError("A gate needs at least one limit, for example --max bad@1:nonocc=+0.1.")
    limits = [parse_limit(text) for text in largest]
    with options.selected_scores(baseline, scope) as (opened, old):
        read = opened.protocol(old.protocol, old.columns) or Protocol()
    try:
        with options.selected_scores(store, replace(scope, protocol=scope.protocol or old.protocol)) as (opened, new):
            failures = _failures(opened, new)
    except UnknownNameError as problem:
        if scope.protocol is not None or old.protocol not in str(problem):
            raise
        raise StereogaugeError(
            f"{store} holds no scores under the protocol of the baseline, {read.name} (scoring {old.protocol}); a gate "
            "compares scores under one protocol: evaluate both stores with it."
        ) from None
    found = gate(
        new, old, limits, names=_names(algorithm, new.algorithms, old.algorithms), per_scene=per_scene,
        failures=failures, allow_missing=allow_missing, significant=significant, alpha=alpha,
        how="mean" if read.aggregation == "weighted" else read.aggregation,
    )  # fmt: skip
    if junit is not None:
        junit.parent.mkdir(parents=True, exist_ok=True)
        junit.write_text(found.junit(), encoding="utf-8")
    if form == "github":
        sys.stdout.write(found.annotations())
        summary = os.environ.get(SUMMARY)
        if summary:
            with open(summary, "a", encoding="utf-8") as file:
                checks = markdown_table(gate_table(found, everything=True))
                file.write(f"### Stereogauge gate\n\n{found.sentence}\n\n{checks}")
    elif form != "table" or everything or any(not check.kept for check in found.checks):
        print_tables([gate_table(found, everything=everything or form == "json")], options.Format(form))
    say(found.sentence)
    if not found.passed:
        raise typer.Exit(FINDING)


def _failures(store: Store, cube: ScoreCube) -> dict[tuple[str, str], str]:
    """The reasons for maps that could not be measured, by algorithm and scene of a cube."""
    named = dict(zip(cube.scene_keys, cube.scenes, strict=True))
    return {
        (one.algorithm, named.get((one.dataset, one.scene), one.scene)): one.reason
        for one in store.failures()
        if one.protocol == cube.protocol and one.dataset in cube.datasets
    }


def _names(given: list[str] | None, new: tuple[str, ...], old: tuple[str, ...]) -> dict[str, str] | None:
    """Pairs of names, checked against both stores; None for all that they have in common."""
    if not given:
        return None
    parts = [[part.strip() for part in text.partition("=")] for text in given]
    pairs = {name: before if equals else name for name, equals, before in parts}
    for name, before in pairs.items():
        if name not in new:
            raise unknown_name("algorithm of this store", name, new)
        if before not in old:
            raise unknown_name("algorithm of the baseline", before, old)
    return pairs
