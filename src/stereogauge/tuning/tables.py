"""The result of a tuning as tables and sentences."""

from __future__ import annotations

import math

from stereogauge.matching.run import value_text
from stereogauge.tables.table import Cell, Table, number, share, table, words
from stereogauge.tuning.objectives import Improvement
from stereogauge.tuning.result import TuningResult, counted_states

DIGITS = 4


def gain_table(result: TuningResult) -> Table:
    """Default against tuned per objective, on held-out scenes where there are folds, and on the scenes searched on."""
    header = ("goal", "scenes", "default", "tuned", "better by", "95 % interval", "scenes better")
    rows = [
        [
            words(one.goal),
            words(where),
            number(one.default, DIGITS),
            number(one.tuned, DIGITS),
            Cell(one.difference, f"{one.difference:+.4g} ({one.percent:+.1f} %)"),
            Cell() if math.isnan(one.low) else words(f"{one.low:+.4g} … {one.high:+.4g}"),
            words(f"{one.better} of {one.compared}"),
        ]
        for where, found in (("held out", result.held_out), ("searched on", result.seen))
        for one in found
    ]
    return table("gains", "", header, rows)


def parameter_table(result: TuningResult) -> Table:
    """Each searched parameter: default, tuned, its importance, and the choices of the folds."""
    shares = next(iter(result.importance.values()), {})
    rows = [
        [
            words(name),
            words(value_text(declared["default"])),
            Cell() if result.best is None else words(value_text(result.best.parameters[name])),
            share(shares[name]) if name in shares else Cell(),
            words(", ".join(value_text(fold.best.parameters[name]) for fold in result.folds if fold.best is not None)),
        ]
        for name, declared in result.definition.space["parameters"].items()
    ]
    return table("parameters", "", ("parameter", "default", "tuned", "importance", "in the folds"), rows)


def state_words(result: TuningResult) -> str:
    """How many trials are in which state."""
    return ", ".join(f"{count} {state}" for state, count in counted_states(result.trials).items() if count)


def gain_words(result: TuningResult) -> list[str]:
    """How the gain is to be read, where it could be taken for more than it is."""
    if not result.held_out:
        return ["no scene was held out: the gain is on the scenes that were searched on, and flatters the tuning"]
    return [_verdict(found) for found in result.held_out[:1]]


def _verdict(found: Improvement) -> str:
    if math.isnan(found.low):
        return "all scenes share one ground truth, so there is no interval"
    if found.low > 0:
        return f"better on held-out scenes: the interval of the gain in {found.goal} lies above 0"
    if found.high < 0:
        return f"worse on held-out scenes than the defaults in {found.goal}: the search has over-fitted; do not use it"
    return f"no clear gain on held-out scenes in {found.goal}: the interval includes 0; try more trials or scenes"
