"""The result of a tuning as tables and sentences for a terminal."""

from __future__ import annotations

import math

from rich.table import Table

from stereogauge.matching.text import value_text
from stereogauge.tuning.improvement import Improvement
from stereogauge.tuning.result import TuningResult, counted_states


def gain_table(result: TuningResult) -> Table:
    """Default against tuned per objective, on held-out scenes where there are folds, and on the scenes searched on."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("goal")
    table.add_column("scenes")
    for head in ("default", "tuned", "better by", "95 % interval", "scenes better"):
        table.add_column(head, justify="right")
    for where, found in (("held out", result.held_out), ("searched on", result.seen)):
        for one in found:
            interval = "" if math.isnan(one.low) else f"{one.low:+.4g} … {one.high:+.4g}"
            gain = f"{one.difference:+.4g} ({one.percent:+.1f} %)"
            better = f"{one.better} of {one.compared}"
            table.add_row(one.goal, where, f"{one.default:.4g}", f"{one.tuned:.4g}", gain, interval, better)
    return table


def parameter_table(result: TuningResult) -> Table:
    """Each searched parameter: default, tuned, its importance, and what the folds chose."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("parameter")
    for head in ("default", "tuned", "importance", "in the folds"):
        table.add_column(head, justify="right")
    shares = next(iter(result.importance.values()), {})
    best = result.best
    for name, declared in result.definition.space["parameters"].items():
        folds = ", ".join(value_text(fold.best.parameters[name]) for fold in result.folds if fold.best is not None)
        share = f"{shares[name]:.0%}" if name in shares else ""
        tuned = "" if best is None else value_text(best.parameters[name])
        table.add_row(name, value_text(declared["default"]), tuned, share, folds)
    return table


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
