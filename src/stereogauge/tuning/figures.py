"""Charts of a tuning: its history, values against parameters, importance, the trade-off, and the gain per scene."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.errors import StereogaugeError
from stereogauge.figures import chart as vl
from stereogauge.figures.chart import Chart, Row, Spec
from stereogauge.figures.palette import INK, MARKERS, MUTED, OKABE_ITO
from stereogauge.text import counted
from stereogauge.tuning.result import Trial, TuningResult

TRIAL, TUNED, DEFAULT = OKABE_ITO[4], OKABE_ITO[1], OKABE_ITO[0]
STATES = {"complete": "complete trial", "pruned": "ended early", "failed": "failed"}


def history_data(result: TuningResult, objective: int = 0) -> Chart:
    """The course of the search on all scenes: the value of each complete trial, the best so far, and the default's.

    Rows: trial (its position), state, value, best. Trials that were ended early or failed have no value.
    """
    _complete(result)
    searched = result.definition.objectives[objective]
    choose = max if searched.direction == "maximize" else min
    rows: list[Row] = []
    best: float | None = None
    for trial in sorted((one for one in result.trials if one.state in STATES), key=lambda one: one.position):
        value = _value(trial, objective) if trial.state == "complete" else None
        if value is not None:
            best = value if best is None else choose(best, value)
        rows.append({"trial": trial.position, "state": STATES[trial.state], "value": value, "best": best})
    baseline = None if result.baseline is None else _value(result.baseline, objective)
    x = vl.quantity("trial", "trial", axis={"tickMinStep": 1})
    y = vl.quantity("value", searched.axis, scale={"zero": False})
    ended = {"ended early": (MUTED, "stroke"), "failed": (INK, MARKERS["x"])}
    found = {state: look for state, look in ended.items() if any(row["state"] == state for row in rows)}
    kinds = {"complete trial": TRIAL, "best so far": TUNED, "default parameters": DEFAULT}
    kinds |= {state: shade for state, (shade, _) in found.items()}
    tooltip = vl.hover("trial", ("value", searched.axis, ".4g"))
    stairs = {"x": x, "y": {**y, "field": "best"}}
    points = {"x": x, "y": y, "tooltip": tooltip}
    drawn = [
        _named("line", stairs, "best so far", kinds, where="isValid(datum.best)", interpolate="step-after"),
        _named("point", points, "complete trial", kinds, where="isValid(datum.value)", size=26),
    ]
    if baseline is not None:
        level = {"y": vl.quantity("value", searched.axis)}
        drawn.append(_named("rule", level, "default parameters", kinds, data=[{"value": baseline}], strokeDash=[6, 4]))
    foot = {"x": x, "y": {"value": "height"}, "tooltip": vl.hover("trial", "state")}
    for state, (_, shape) in found.items():
        look: Spec = {"angle": 90, "filled": False, "strokeWidth": 2} if shape == "stroke" else {}
        drawn.append(_named("point", foot, state, kinds, where=vl.equal("state", state), shape=shape, size=30, **look))
    return Chart(
        f"History of {result.definition.matcher_name}: {searched.name}",
        caption(result),
        rows,
        vl.layered(*drawn, width=vl.PAGE, height=190),
    )


def slices_data(result: TuningResult, objective: int = 0) -> Chart:
    """The value of every complete trial against each of its parameters; darker points are earlier trials.

    Rows: parameter, trial, setting, value.
    """
    complete, best = _complete(result), _best(result)
    searched = result.definition.objectives[objective]
    declared = result.definition.space["parameters"]
    rows = [
        {
            "parameter": name,
            "trial": trial.position,
            "setting": _setting(trial.parameters[name], _choices(facts)),
            "value": _value(trial, objective),
        }
        for name, facts in declared.items()
        for trial in complete
    ]
    across = min(vl.ABREAST, len(declared))
    width = vl.panel_width(across, vl.PAGE)
    baseline = math.nan if result.baseline is None else _value(result.baseline, objective)
    y_scale = vl.around(row["value"] for row in rows)
    separate = {"color": "independent", "shape": "independent"}
    views = []
    for place, (name, facts) in enumerate(declared.items()):
        choices = _choices(facts)
        x: Spec = (
            vl.names("setting", choices, name, axis={"labelAngle": 0})
            if choices
            else vl.quantity("setting", name, scale={"zero": False})
        )
        if facts.get("logarithmic", False) and not choices:
            x["scale"] = {"type": "log"}
        y = vl.quantity("value", searched.axis if place % across == 0 else None, scale=y_scale)
        shade = vl.quantity("trial", scale={"scheme": "cividis"}, legend=None)
        tooltip = vl.hover("trial", ("setting", name), ("value", searched.axis, ".4g"))
        points = {"x": x, "y": y, "color": shade, "tooltip": tooltip}
        ends = {
            "default parameters": (facts["default"], baseline),
            "recommended": (best.parameters[name], _value(best, objective)),
        }
        marks = [
            {"kind": kind, "setting": _setting(setting, choices), "value": value}
            for kind, (setting, value) in ends.items()
        ]
        settings = _settings({"x": x, "y": y}, marks)
        if place:
            settings["encoding"]["color"]["legend"] = settings["encoding"]["shape"]["legend"] = None
        drawn = [vl.layer("point", points, where=vl.equal("parameter", name), size=22), settings]
        views.append({**vl.layered(*drawn, width=width, height=125), "resolve": {"scale": separate}})
    view = vl.panels(views, across)
    if "concat" in view:
        view["resolve"] = {"scale": {"y": "shared"}}
    title = f"{searched.name} against each parameter of {result.definition.matcher_name}"
    return Chart(title, f"Darker points are earlier trials. {caption(result)}", rows, view)


def importance_data(result: TuningResult) -> Chart:
    """How much each parameter matters, by PED-ANOVA over the complete trials, most important first.

    Rows: parameter, objective, share.
    """
    if not result.importance:
        raise StereogaugeError(
            f"The study {result.name!r} has {len(result.complete)} complete trials, too few to say which parameter "
            "matters; run more."
        )
    objectives = tuple(result.importance)
    parameters = list(next(iter(result.importance.values())))
    shares = {name: [result.importance[goal].get(name, 0.0) for goal in objectives] for name in parameters}
    order = sorted(parameters, key=lambda name: -np.mean(shares[name]))
    rows = [row for name in order for row in vl.tidy(parameter=name, objective=objectives, share=shares[name])]
    several = len(objectives) > 1
    colours = vl.scaled("objective", dict(zip(objectives, OKABE_ITO, strict=False)))
    place = {"y": vl.names("parameter", order), "yOffset": vl.names("objective", objectives)}
    axis = vl.quantity("share", "share of the importance", axis={"format": ".0%"})
    bars: Spec = {**place, "x": axis, "color": colours if several else {**colours, "legend": None}}
    bars["tooltip"] = vl.hover("parameter", "objective", ("share", "share", ".1%"))
    view = vl.layered(
        vl.layer("bar", bars),
        vl.layer("text", {**place, "x": axis, "text": vl.quantity("share", format=".0%")}, align="left", dx=3),
        height=1.4 * vl.ROW * len(order) * len(objectives) ** 0.5,
    )
    return Chart(
        f"Importance of the parameters of {result.definition.matcher_name}",
        f"PED-ANOVA over {len(result.complete)} complete trials. {caption(result)}",
        rows,
        view,
        "objective",
    )


def trade_off_data(result: TuningResult) -> Chart:
    """The first two objectives of all complete trials; those trials that no other one dominates are joined.

    Rows: trial, x, y, front, parameters.
    """
    if len(result.definition.objectives) < 2:
        raise StereogaugeError(f"The study {result.name!r} has one objective; a front needs two.")
    complete, best = _complete(result), _best(result)
    front = {trial.number for trial in result.front}
    baseline = result.baseline or complete[0]
    rows = [
        {
            "trial": trial.number,
            "x": _value(trial, 0),
            "y": _value(trial, 1),
            "front": trial.number in front,
            "parameters": _parameters(trial),
        }
        for trial in complete
    ]
    axes = [one.axis for one in result.definition.objectives[:2]]
    scale = {"zero": False, "padding": 8}
    place = {"x": vl.quantity("x", axes[0], scale=scale), "y": vl.quantity("y", axes[1], scale=scale)}
    tooltip = vl.hover("trial", "parameters", ("x", axes[0], ".4g"), ("y", axes[1], ".4g"))
    kinds = {"dominated trial": MUTED, "front": TRIAL, **SETTING_COLOURS}
    ends = {"default parameters": baseline, "recommended": best}
    marks = [{"kind": kind, "x": _value(trial, 0), "y": _value(trial, 1)} for kind, trial in ends.items()]
    points = {**place, "tooltip": tooltip}
    view = vl.layered(
        _named("point", points, "dominated trial", kinds, where="!datum.front", size=18),
        _named("line", place, "front", kinds, where="datum.front", strokeWidth=1),
        _named("point", points, "front", kinds, where="datum.front", size=40),
        _settings(place, marks, kinds),
        width=1.4 * vl.COLUMN,
        height=270,
        zoom="zoom",
    )
    return Chart(f"Trade-off of {result.definition.matcher_name}", caption(result), rows, view)


def gains_data(result: TuningResult) -> Chart:
    """Default against tuned on each scene alone, then over all; on held-out scenes where there are folds.

    Rows: scene, kind (default parameters or tuned), value.
    """
    found = (result.held_out or result.seen)[0]
    how = "scenes held out" if result.held_out else "the scenes that were searched on"
    interval = (
        ""
        if math.isnan(found.low)
        else f"; {found.level:.0%} interval {found.low:+.3g} to {found.high:+.3g} (bootstrap over scenes)"
    )
    lacking = [scene for scene, value in zip(found.scenes, found.scene_default, strict=True) if math.isnan(value)]
    without = f" No score on {', '.join(lacking)}." if lacking else ""
    scenes = [*found.scenes, "all scenes"]
    values = {
        "default parameters": [*found.scene_default, found.default],
        "tuned": [*found.scene_tuned, found.tuned],
    }
    rows: list[Row] = [
        {"scene": scene, "kind": kind, "value": float(own[place])}
        for place, scene in enumerate(scenes)
        for kind, own in values.items()
    ]
    axis = f"{found.goal} [{found.unit}]" if found.unit else found.goal
    scale = vl.around(row["value"] for row in rows)
    place = {"x": vl.quantity("value", axis, scale=scale), "y": vl.names("scene", scenes)}
    tooltip = vl.hover("scene", "kind", ("value", axis, ".4g"))
    above = [{"scene": "all scenes"}]
    view = vl.layered(
        vl.layer("line", {**place, "detail": {"field": "scene"}}, color=MUTED),
        _settings({**place, "tooltip": tooltip}, where="isValid(datum.value)"),
        vl.layer("rule", {"y": {**place["y"], "bandPosition": 0}}, above, color=MUTED, strokeWidth=0.6),
        width=1.4 * vl.COLUMN,
        height=1.2 * vl.ROW * len(scenes),
    )  # fmt: skip
    return Chart(
        f"Default and tuned {result.definition.matcher_name} on {how}: {found.goal}",
        f"Better by {found.difference:.3g} ({found.percent:.1f} %){interval}.{without} {caption(result)}",
        rows,
        view,
    )


def figures_of(result: TuningResult) -> dict[str, Chart]:
    """Every figure that a result has the trials for, by a name for its file."""
    found = {"gains": gains_data(result)}
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
    return f"{trials} on {counted(len(definition.scenes), 'scene')} of {definition.dataset or 'no named dataset'}."


def _complete(result: TuningResult) -> list[Trial]:
    if not result.complete:
        raise StereogaugeError(f"The study {result.name!r} has no complete trial yet; there is nothing to draw.")
    return list(result.complete)


def _best(result: TuningResult) -> Trial:
    return result.best or _complete(result)[0]


def _value(trial: Trial, objective: int) -> float:
    return float((trial.values or ())[objective])


def _choices(declared: dict[str, Any]) -> tuple[str, ...]:
    if declared["kind"] == "bool":
        return ("false", "true")
    return tuple(str(choice) for choice in declared.get("choices", ()))


def _setting(value: Any, choices: tuple[str, ...]) -> Any:
    """A parameter's value on its axis: the text of a choice, or the number."""
    if not choices:
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parameters(trial: Trial) -> str:
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in trial.parameters.items()
    )


SETTING_COLOURS = {"default parameters": DEFAULT, "recommended": TUNED}
SETTING_SHAPES = {"default parameters": MARKERS["diamond"], "recommended": MARKERS["star"], "tuned": MARKERS["star"]}


def _named(kind: str, encoding: Spec, text: str, kinds: dict[str, str], **style: Any) -> Spec:
    """A layer with one entry in the legend."""
    colour = {"datum": text, "type": "nominal", "scale": {"domain": list(kinds), "range": list(kinds.values())}}
    return vl.layer(kind, {**encoding, "color": {**colour, "title": None}}, **style)


def _settings(
    place: Spec, marks: Sequence[Row] | None = None, kinds: dict[str, str] | None = None, where: str = ""
) -> Spec:
    """The default parameters as a diamond and the tuned ones as a star, from the field `kind`."""
    colours = kinds or (SETTING_COLOURS if marks else {"default parameters": DEFAULT, "tuned": TUNED})
    shapes = {kind: SETTING_SHAPES.get(kind, MARKERS["circle"]) for kind in colours}
    encoding = {**place, "color": vl.scaled("kind", colours), "shape": vl.scaled("kind", shapes)}
    return vl.layer("point", encoding, marks, where=where, size=70)


def write_result(result: TuningResult, folder: Path) -> list[Path]:
    """Write best.toml, trials.csv, result.json and each figure as PNG, SVG, CSV and HTML; the written files.

    The pages share one vega.js beside them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"trials.csv": result.to_csv(), "result.json": result.to_json() + "\n"}
    if result.best is not None:
        texts["best.toml"] = result.to_toml()
    written = []
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        written.append(folder / name)
    for name, data in figures_of(result).items():
        written += [data.save(folder / f"{name}.{kind}") for kind in ("png", "svg", "csv", "html")]
    return written
