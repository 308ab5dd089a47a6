"""Log scores to experiment trackers: MLflow, Weights & Biases, TensorBoard, or anything alike."""

from __future__ import annotations

import importlib
import math
import re
from typing import Any

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.running import Running
from stereogauge.scores.aggregation import aggregated, way
from stereogauge.scores.table import ScoreTable

TRACKERS = ("mlflow", "wandb")


def log_scores(table: ScoreTable | Running, to: Any, *, step: int | None = None, prefix: str = "") -> dict[str, float]:
    """Log the scores of a table, or of `sg.Running`, over its scenes; return them by name, as `SGM/bad_1/nonocc`.

    `to` is "mlflow" (logs to the active run), "wandb" (to the run that `wandb.init` began), a TensorBoard
    `SummaryWriter`, or any object with `add_scalar`, `log_metrics` or `log`. Scores without a value are left out; names
    hold only characters that all trackers take. `prefix` goes before every name, for example `val` or `runs/val`.

    >>> class Tracker:
    ...     def log(self, values, step=None):
    ...         print(step, values)
    >>> table = sg.evaluate((np.array([[1.0, 4.0]]), np.array([[1.0, 2.0]])), metrics=["mae"], regions=["all"])
    >>> _ = sg.log_scores(table, Tracker(), step=3)
    3 {'estimate/mae/all': 1.0}
    """
    values = scalars(table.compute() if isinstance(table, Running) else table, prefix)
    tracker = _tracker(to)
    if hasattr(tracker, "add_scalar"):
        for name, value in values.items():
            tracker.add_scalar(name, value, step)
    elif hasattr(tracker, "log_metrics"):
        tracker.log_metrics(values, step=step)
    elif hasattr(tracker, "log"):
        tracker.log(values, step=step)
    else:
        raise StereogaugeError(
            f"Scores are logged to {', '.join(map(repr, TRACKERS))}, a SummaryWriter, or an object with add_scalar, "
            f"log_metrics or log; found {type(to).__name__}."
        )
    return values


def scalars(table: ScoreTable, prefix: str = "") -> dict[str, float]:
    """One number per algorithm, metric and region, over the scenes by the protocol's own rule."""
    how = table.protocol.aggregation if table.protocol else "mean"
    weights = table.protocol.scene_weights if table.protocol else None
    before = [part for part in prefix.split("/") if part]
    found = {}
    for place, column in enumerate(table.cube.columns):
        part = table.cube.take(columns=[place])
        values = aggregated(part, way(column, how), weights)[:, 0]
        for algorithm, value in zip(part.algorithms, values, strict=True):
            if math.isfinite(value):
                parts = (*before, algorithm, column.metric, column.region)
                found["/".join(map(_safe, parts))] = float(value)
    return found


def _safe(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name)


def _tracker(to: Any) -> Any:
    if not isinstance(to, str):
        return to
    if to not in TRACKERS:
        raise StereogaugeError(f"Unknown tracker {to!r}; known are {', '.join(TRACKERS)}, or give an object.")
    try:
        return importlib.import_module(to)
    except ImportError:
        raise StereogaugeError(f"Logging to {to} needs the package {to}; install it with: pip install {to}.") from None
