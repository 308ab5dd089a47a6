"""What the figures of a tuning show, as plain values. `mpl_tuning` and `plotly_tuning` draw them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stereogauge.errors import StereogaugeError
from stereogauge.scores.cube import Values

if TYPE_CHECKING:
    from stereogauge.tuning.result import Trial, TuningResult


class TuningHistory(NamedTuple):
    """The value of each complete trial by its place, the best so far, the default parameters' value; places that were
    ended early or failed.
    """

    title: str
    caption: str
    axis: str
    places: Values
    values: Values
    best: Values
    baseline: float
    pruned: Values
    failed: Values


class SlicePanel(NamedTuple):
    """Values against one parameter; `positions` are its numbers, or places in `choices` where it has no numbers."""

    parameter: str
    choices: tuple[str, ...]
    logarithmic: bool
    positions: Values
    default: float
    best: float


class TuningSlices(NamedTuple):
    """One panel a parameter, all with the same trials; `places` tells early trials from late ones."""

    title: str
    caption: str
    axis: str
    values: Values
    places: Values
    baseline: float
    best: float
    panels: tuple[SlicePanel, ...]


class ParameterImportance(NamedTuple):
    """The share of each parameter (rows) for each objective (columns), most important first."""

    title: str
    caption: str
    parameters: tuple[str, ...]
    objectives: tuple[str, ...]
    shares: Values


class TradeOff(NamedTuple):
    """Two objectives of all complete trials; `front` marks those that none dominates (over all objectives)."""

    title: str
    caption: str
    x_axis: str
    y_axis: str
    x: Values
    y: Values
    front: tuple[bool, ...]
    labels: tuple[str, ...]
    baseline: tuple[float, float]
    best: tuple[float, float]


class SceneGains(NamedTuple):
    """Default against tuned value on each scene alone, then over all; `held_out` says how the scenes were treated."""

    title: str
    caption: str
    axis: str
    scenes: tuple[str, ...]
    default: Values
    tuned: Values
    held_out: bool


def history_data(result: TuningResult, objective: int = 0) -> TuningHistory:
    """How the search on all scenes went."""
    complete = _complete(result)
    values = _values(complete, objective)
    wished = result.definition.wishes[objective]
    best = np.maximum.accumulate(values) if wished.direction == "maximize" else np.minimum.accumulate(values)
    return TuningHistory(
        title=f"History of {_matcher(result)}: {wished.name}",
        caption=caption(result),
        axis=_axis(result, objective),
        places=_places(complete),
        values=values,
        best=best,
        baseline=values[0] if complete[0].place == 0 else math.nan,
        pruned=_places([trial for trial in result.trials if trial.state == "pruned"]),
        failed=_places([trial for trial in result.trials if trial.state == "failed"]),
    )


def slices_data(result: TuningResult, objective: int = 0) -> TuningSlices:
    """The value of every complete trial against each of its parameters."""
    complete = _complete(result)
    values = _values(complete, objective)
    best = _required(result.best)
    panels = []
    for name, declared in result.definition.space["parameters"].items():
        choices = _choices(declared)
        panels.append(
            SlicePanel(
                parameter=name,
                choices=choices,
                logarithmic=bool(declared.get("logarithmic", False)) and not choices,
                positions=np.array([_position(trial.parameters[name], choices) for trial in complete]),
                default=_position(declared["default"], choices),
                best=_position(best.parameters[name], choices),
            )
        )
    return TuningSlices(
        title=f"{result.definition.wishes[objective].name} against each parameter of {_matcher(result)}",
        caption=caption(result),
        axis=_axis(result, objective),
        values=values,
        places=_places(complete),
        baseline=values[0] if complete[0].place == 0 else math.nan,
        best=float((best.values or ())[objective]),
        panels=tuple(panels),
    )


def importance_data(result: TuningResult) -> ParameterImportance:
    """How much each parameter decides, by PED-ANOVA over the complete trials."""
    if not result.importance:
        raise StereogaugeError(
            f"The study {result.name!r} has {len(result.complete)} complete trials, too few to say which parameter "
            "matters; run more."
        )
    objectives = tuple(result.importance)
    names = list(next(iter(result.importance.values())))
    shares = np.array([[result.importance[goal].get(name, 0.0) for goal in objectives] for name in names])
    order = np.argsort(-shares.mean(axis=1), kind="stable")
    return ParameterImportance(
        title=f"Importance of the parameters of {_matcher(result)}",
        caption=f"PED-ANOVA over {len(result.complete)} complete trials. {caption(result)}",
        parameters=tuple(names[place] for place in order),
        objectives=objectives,
        shares=shares[order],
    )


def trade_off_data(result: TuningResult, x: int = 0, y: int = 1) -> TradeOff:
    """Two objectives against each other, with the front."""
    if len(result.definition.wishes) < 2:
        raise StereogaugeError(f"The study {result.name!r} has one objective; a front needs two.")
    complete, best = _complete(result), _required(result.best)
    baseline = next((trial for trial in complete if trial.place == 0), complete[0])
    return TradeOff(
        title=f"Trade-off of {_matcher(result)}",
        caption=caption(result),
        x_axis=_axis(result, x),
        y_axis=_axis(result, y),
        x=_values(complete, x),
        y=_values(complete, y),
        front=tuple(trial.number in result.front_numbers for trial in complete),
        labels=tuple(f"trial {trial.number}: {_parameters(trial)}" for trial in complete),
        baseline=(float((baseline.values or ())[x]), float((baseline.values or ())[y])),
        best=(float((best.values or ())[x]), float((best.values or ())[y])),
    )


def gains_data(result: TuningResult, goal: int = 0) -> SceneGains:
    """Default against tuned on every scene: held out where there are folds."""
    held = bool(result.held_out)
    found = (result.held_out or result.seen)[goal]
    how = "scenes held out" if held else "the scenes that were searched on"
    interval = (
        ""
        if math.isnan(found.low)
        else f"; {found.level:.0%} interval {found.low:+.3g} to {found.high:+.3g} (bootstrap over scenes)"
    )
    return SceneGains(
        title=f"Default and tuned {_matcher(result)} on {how}: {found.goal}",
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
    several = len(result.definition.wishes) > 1
    for place, wished in enumerate(result.definition.wishes):
        ending = f"-{wished.name.replace(':', '-').replace('@', '')}" if several else ""
        found[f"history{ending}"] = history_data(result, place)
        found[f"slices{ending}"] = slices_data(result, place)
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


def _matcher(result: TuningResult) -> str:
    text = result.definition.matcher
    return text.split()[0] if text.startswith("cmd:") else text.partition(":")[0]


def _axis(result: TuningResult, objective: int) -> str:
    wished = result.definition.wishes[objective]
    return f"{wished.name} [{wished.unit}]" if wished.unit else wished.name


def _complete(result: TuningResult) -> list[Trial]:
    if not result.complete:
        raise StereogaugeError(f"The study {result.name!r} has no complete trial yet; there is nothing to draw.")
    return list(result.complete)


def _required(trial: Trial | None) -> Trial:
    if trial is None:
        raise StereogaugeError("The study has no complete trial yet; there is nothing to draw.")
    return trial


def _values(trials: list[Trial], objective: int) -> Values:
    return np.array([(trial.values or ())[objective] for trial in trials], np.float64)


def _places(trials: list[Trial]) -> Values:
    return np.array([trial.place for trial in trials], np.float64)


def _choices(declared: dict[str, Any]) -> tuple[str, ...]:
    if declared["kind"] == "bool":
        return ("false", "true")
    return tuple(str(choice) for choice in declared.get("choices", ()))


def _position(value: Any, choices: tuple[str, ...]) -> float:
    return float(choices.index(str(value).lower() if isinstance(value, bool) else str(value))) if choices else value


def _parameters(trial: Trial) -> str:
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in trial.parameters.items()
    )
