"""What the figures of a tuning show, as plain values. `stereogauge.tuning.figures` makes them from a result."""

from __future__ import annotations

from typing import NamedTuple

from stereogauge.scores.cube import Values


class TuningHistory(NamedTuple):
    """The value of each complete trial by its position, the best so far and the default parameters' value; positions of
    trials that were ended early or failed.
    """

    title: str
    caption: str
    axis: str
    positions: Values
    values: Values
    best: Values
    baseline: float
    pruned: Values
    failed: Values


class SlicePanel(NamedTuple):
    """Values against one parameter; `coordinates` are its numbers, or indices into `choices` where it has none."""

    parameter: str
    choices: tuple[str, ...]
    logarithmic: bool
    coordinates: Values
    default: float
    best: float


class TuningSlices(NamedTuple):
    """One panel per parameter, all with the same trials; `positions` tell early trials from late ones."""

    title: str
    caption: str
    axis: str
    values: Values
    positions: Values
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
