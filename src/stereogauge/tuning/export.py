"""Results of a tuning as text: parameters as TOML, everything as JSON, trials as a table."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from string import Formatter
from typing import TYPE_CHECKING, Any

from stereogauge.matching.declaration import Value

if TYPE_CHECKING:
    import pandas as pd

    from stereogauge.tuning.improvement import Improvement
    from stereogauge.tuning.result import Fold, Trial, TuningResult


def value_text(value: Value) -> str:
    """A parameter's value as the command line writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def matcher_text(matcher: str, parameters: Mapping[str, Value]) -> str:
    """`opencv-sgbm:block=3,p1=20`; for an outside program its template with the parameters filled in."""
    if matcher.startswith("cmd:"):
        return _filled_template(matcher, parameters)
    identifier = matcher.partition(":")[0]
    pairs = ",".join(f"{name}={value_text(value)}" for name, value in parameters.items())
    return f"{identifier}:{pairs}" if pairs else identifier


def _filled_template(template: str, parameters: Mapping[str, Value]) -> str:
    parts = []
    for before, name, form, _ in Formatter().parse(template):
        parts.append(before.replace("{", "{{").replace("}", "}}"))
        if name is not None and name in parameters:
            parts.append(format(parameters[name], form) if form else value_text(parameters[name]))
        elif name is not None:
            parts.append(f"{{{name}}}")
    return "".join(parts)


def algorithm_name(result: TuningResult) -> str:
    """What tables call the tuned matcher."""
    judged = result.definition.judge or result.definition.wishes[0]
    matcher = result.definition.matcher
    short = matcher.split()[0] if matcher.startswith("cmd:") else matcher.partition(":")[0]
    return f"{short} tuned for {judged.name}"


def parameters_toml(result: TuningResult) -> str:
    """`name`, `matcher` (text for --matcher) and a table of the parameters, with the facts of the tuning."""
    import tomli_w

    definition = result.definition
    facts: dict[str, Any] = {
        "study": result.name,
        "dataset": definition.dataset,
        "scenes": list(definition.scenes),
        "objectives": [wished.name for wished in definition.wishes],
        "sampler": definition.sampler,
        "seed": definition.seed,
        "trials": len(result.complete),
    }
    shown = result.held_out or result.seen
    where = "held_out" if result.held_out else "seen"
    for found in shown[:1]:
        numbers = {"default": found.default, "tuned": found.tuned, "low": found.low, "high": found.high}
        facts[where] = {"goal": found.goal} | {key: v for key, v in numbers.items() if math.isfinite(v)}
    content = {
        "name": algorithm_name(result),
        "matcher": result.matcher,
        "parameters": result.parameters,
        "tuning": facts,
    }
    return tomli_w.dumps(content)


def plain_result(result: TuningResult) -> dict[str, Any]:
    """The whole result as plain values."""
    definition = result.definition
    best, baseline = result.best, result.baseline
    return {
        "name": result.name,
        "matcher": definition.matcher,
        "dataset": definition.dataset,
        "scenes": list(definition.scenes),
        "groups": [[definition.scenes[place] for place in group] for group in result.groups],
        "columns": list(definition.columns),
        "objectives": [
            {"name": goal.wish.name, "unit": goal.wish.unit, "direction": goal.wish.direction, "terms": goal.scales}
            for goal in result.goals[: len(definition.wishes)]
        ],
        "judge": None if definition.judge is None else definition.judge.name,
        "sampler": definition.sampler,
        "seed": definition.seed,
        "prune": definition.prune,
        "protocol": definition.protocol,
        "space": dict(definition.space),
        "states": _counted_states(result.trials),
        "baseline": None if baseline is None else baseline.number,
        "best": None if best is None else best.number,
        "parameters": None if best is None else result.parameters,
        "matcher_text": None if best is None else result.matcher,
        "toml": None if best is None else result.to_toml(),
        "trials": [plain_trial(trial) for trial in result.trials],
        "front": [trial.number for trial in result.front],
        "importance": {name: dict(shares) for name, shares in result.importance.items()},
        "seen": [plain_improvement(found) for found in result.seen],
        "held_out": [plain_improvement(found) for found in result.held_out],
        "folds": [_plain_fold(fold) for fold in result.folds],
    }


def plain_trial(trial: Trial) -> dict[str, Any]:
    """A trial as plain values."""
    return {
        "number": trial.number,
        "place": trial.place,
        "state": trial.state,
        "parameters": dict(trial.parameters),
        "values": None if trial.values is None else list(trial.values),
        "seconds": trial.seconds,
        "failure": trial.failure,
        "scores": {scene: list(values) for scene, values in trial.scores.items()},
    }


def plain_improvement(found: Improvement) -> dict[str, Any]:
    """An improvement as plain values, with the number of scenes that were compared and that became better."""
    return {**dataclasses.asdict(found), "better": found.better, "compared": found.compared}


def _plain_fold(fold: Fold) -> dict[str, Any]:
    return {
        "held_out": list(fold.held_out),
        "states": _counted_states(fold.trials),
        "best": None if fold.best is None else plain_trial(fold.best),
    }


def _counted_states(trials: tuple[Trial, ...]) -> dict[str, int]:
    counts = dict.fromkeys(("complete", "pruned", "failed", "running", "waiting"), 0)
    for trial in trials:
        counts[trial.state] += 1
    return counts


def without_nan(value: Any) -> Any:
    """The same with None for every number that JSON cannot hold."""
    if isinstance(value, Mapping):
        return {key: without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(result: TuningResult) -> str:
    """The whole result as one JSON document."""
    return json.dumps(without_nan(plain_result(result)), indent=1, allow_nan=False)


def trial_table(result: TuningResult) -> pd.DataFrame:
    """One row a trial."""
    import pandas as pd

    names = [wished.name for wished in result.definition.wishes]
    rows = [
        {
            "trial": trial.number,
            "state": trial.state,
            **dict(zip(names, trial.values or [math.nan] * len(names), strict=True)),
            "seconds": trial.seconds,
            **trial.parameters,
            "failure": trial.failure,
        }
        for trial in result.trials
    ]
    return pd.DataFrame(rows)
