"""The figures of a tuning: its trials as the plain values that `stereogauge.figures` draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stereogauge.errors import StereogaugeError
from stereogauge.figures.data import tuning as shown
from stereogauge.scores.cube import Values
from stereogauge.tuning.result import Trial, TuningResult


def history_data(result: TuningResult, objective: int = 0) -> shown.TuningHistory:
    """The course of the search on all scenes."""
    complete = _complete(result)
    values = _values(complete, objective)
    searched = result.definition.objectives[objective]
    best = np.maximum.accumulate(values) if searched.direction == "maximize" else np.minimum.accumulate(values)
    return shown.TuningHistory(
        title=f"History of {result.definition.matcher_name}: {searched.name}",
        caption=caption(result),
        axis=searched.axis,
        positions=_positions(complete),
        values=values,
        best=best,
        baseline=values[0] if complete[0].position == 0 else math.nan,
        pruned=_positions([trial for trial in result.trials if trial.state == "pruned"]),
        failed=_positions([trial for trial in result.trials if trial.state == "failed"]),
    )


def slices_data(result: TuningResult, objective: int = 0) -> shown.TuningSlices:
    """The value of every complete trial against each of its parameters."""
    complete = _complete(result)
    values = _values(complete, objective)
    best, searched = _best(result), result.definition.objectives[objective]
    panels = []
    for name, declared in result.definition.space["parameters"].items():
        choices = _choices(declared)
        panels.append(
            shown.SlicePanel(
                parameter=name,
                choices=choices,
                logarithmic=bool(declared.get("logarithmic", False)) and not choices,
                coordinates=np.array([_coordinate(trial.parameters[name], choices) for trial in complete]),
                default=_coordinate(declared["default"], choices),
                best=_coordinate(best.parameters[name], choices),
            )
        )
    return shown.TuningSlices(
        title=f"{searched.name} against each parameter of {result.definition.matcher_name}",
        caption=f"Darker points are earlier trials. {caption(result)}",
        axis=searched.axis,
        values=values,
        positions=_positions(complete),
        baseline=values[0] if complete[0].position == 0 else math.nan,
        best=float((best.values or ())[objective]),
        panels=tuple(panels),
    )


def importance_data(result: TuningResult) -> shown.ParameterImportance:
    """How much each parameter matters, by PED-ANOVA over the complete trials."""
    if not result.importance:
        raise StereogaugeError(
            f"The study {result.name!r} has {len(result.complete)} complete trials, too few to say which parameter "
            "matters; run more."
        )
    objectives = tuple(result.importance)
    names = list(next(iter(result.importance.values())))
    shares = np.array([[result.importance[goal].get(name, 0.0) for goal in objectives] for name in names])
    order = np.argsort(-shares.mean(axis=1), kind="stable")
    return shown.ParameterImportance(
        title=f"Importance of the parameters of {result.definition.matcher_name}",
        caption=f"PED-ANOVA over {len(result.complete)} complete trials. {caption(result)}",
        parameters=tuple(names[index] for index in order),
        objectives=objectives,
        shares=shares[order],
    )


def trade_off_data(result: TuningResult, x: int = 0, y: int = 1) -> shown.TradeOff:
    """Two objectives against each other, with the front."""
    if len(result.definition.objectives) < 2:
        raise StereogaugeError(f"The study {result.name!r} has one objective; a front needs two.")
    complete, best = _complete(result), _best(result)
    front = {trial.number for trial in result.front}
    baseline = next((trial for trial in complete if trial.position == 0), complete[0])
    return shown.TradeOff(
        title=f"Trade-off of {result.definition.matcher_name}",
        caption=caption(result),
        x_axis=result.definition.objectives[x].axis,
        y_axis=result.definition.objectives[y].axis,
        x=_values(complete, x),
        y=_values(complete, y),
        front=tuple(trial.number in front for trial in complete),
        labels=tuple(f"trial {trial.number}: {_parameters(trial)}" for trial in complete),
        baseline=(float((baseline.values or ())[x]), float((baseline.values or ())[y])),
        best=(float((best.values or ())[x]), float((best.values or ())[y])),
    )


def gains_data(result: TuningResult, goal: int = 0) -> shown.SceneGains:
    """Default against tuned on every scene: held out where there are folds."""
    held = bool(result.held_out)
    found = (result.held_out or result.seen)[goal]
    how = "scenes held out" if held else "the scenes that were searched on"
    interval = (
        ""
        if math.isnan(found.low)
        else f"; {found.level:.0%} interval {found.low:+.3g} to {found.high:+.3g} (bootstrap over scenes)"
    )
    return shown.SceneGains(
        title=f"Default and tuned {result.definition.matcher_name} on {how}: {found.goal}",
        caption=f"Better by {found.difference:.3g} ({found.percent:.1f} %){interval}. {caption(result)}",
        axis=f"{found.goal} [{found.unit}]" if found.unit else found.goal,
        scenes=(*found.scenes, "all scenes"),
        default=np.array([*found.scene_default, found.default]),
        tuned=np.array([*found.scene_tuned, found.tuned]),
        held_out=held,
    )


def figures_of(result: TuningResult) -> dict[str, Any]:
    """Every figure that a result has the trials for, by a name for its file."""
    found: dict[str, Any] = {"gains": gains_data(result)}
    several = len(result.definition.objectives) > 1
    for index, objective in enumerate(result.definition.objectives):
        ending = f"-{objective.name.replace(':', '-').replace('@', '')}" if several else ""
        found[f"history{ending}"] = history_data(result, index)
        found[f"slices{ending}"] = slices_data(result, index)
    if result.importance:
        found["importance"] = importance_data(result)
    if several:
        found["front"] = trade_off_data(result)
    return found


def caption(result: TuningResult) -> str:
    """What the trials were run on."""
    definition = result.definition
    trials = f"{len(result.trials)} trials ({definition.sampler}, seed {definition.seed})"
    return f"{trials} on {len(definition.scenes)} scenes of {definition.dataset or 'no named dataset'}."


def _complete(result: TuningResult) -> list[Trial]:
    if not result.complete:
        raise StereogaugeError(f"The study {result.name!r} has no complete trial yet; there is nothing to draw.")
    return list(result.complete)


def _best(result: TuningResult) -> Trial:
    return result.best or _complete(result)[0]


def _values(trials: list[Trial], objective: int) -> Values:
    return np.array([(trial.values or ())[objective] for trial in trials], np.float64)


def _positions(trials: list[Trial]) -> Values:
    return np.array([trial.position for trial in trials], np.float64)


def _choices(declared: dict[str, Any]) -> tuple[str, ...]:
    if declared["kind"] == "bool":
        return ("false", "true")
    return tuple(str(choice) for choice in declared.get("choices", ()))


def _coordinate(value: Any, choices: tuple[str, ...]) -> float:
    return float(choices.index(str(value).lower() if isinstance(value, bool) else str(value))) if choices else value


def _parameters(trial: Trial) -> str:
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in trial.parameters.items()
    )
