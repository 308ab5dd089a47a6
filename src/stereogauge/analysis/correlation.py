"""How much of one metric another one explains: r² of linear fits over (scene, algorithm) points.

Honauer et al., The HCI Stereo Metrics, 2015, section 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import linregress

from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import Selection

FEWEST_POINTS = 3


@dataclass(frozen=True, eq=False)
class Determination:
    """r² of every pair of columns over all (scene, algorithm) points where both have a score; NaN below three points.

    `points` counts them. 1: one column is a straight function of the other; 0: it tells nothing about it.
    """

    selection: Selection
    columns: tuple[Column, ...]
    r_squared: Values
    points: NDArray[np.int64]

    def to_pandas(self) -> pd.DataFrame:
        """The table, columns on both axes."""
        names = [str(column) for column in self.columns]
        return pd.DataFrame(self.r_squared, index=names, columns=names)


class SceneFit(NamedTuple):
    """The least-squares line y = slope · x + intercept of one scene and its r²; NaN where x or y does not vary."""

    scene: str
    slope: float
    intercept: float
    r_squared: float
    points: int


class Scatter(NamedTuple):
    """Two columns against each other: one point per (scene, algorithm), one fitted line per scene."""

    selection: Selection
    x: Column
    y: Column
    x_values: Values
    y_values: Values
    fits: tuple[SceneFit, ...]
    r_squared: float


def determination(cube: ScoreCube) -> Determination:
    """r² over all pairs of the cube's columns."""
    points = _finite(cube.values).reshape(-1, len(cube.columns))
    correlation = pd.DataFrame(points).corr(min_periods=FEWEST_POINTS).to_numpy(np.float64)
    known = np.isfinite(points).astype(np.int64)
    return Determination(Selection.of(cube), cube.columns, correlation**2, known.T @ known)


def scatter(cube: ScoreCube, x: str, y: str) -> Scatter:
    """Column y against column x with one least-squares line per scene; values have shape (algorithms, scenes)."""
    first, second = cube.column(x), cube.column(y)
    x_values, y_values = _finite(cube.values[:, :, first]), _finite(cube.values[:, :, second])
    fits = tuple(
        SceneFit(scene, *line(x_values[:, index], y_values[:, index])) for index, scene in enumerate(cube.scenes)
    )
    overall = line(x_values.ravel(), y_values.ravel())[2]
    selected = cube.take(columns=[first, second] if first != second else [first])
    return Scatter(Selection.of(selected), cube.columns[first], cube.columns[second], x_values, y_values, fits, overall)


def line(x: Values, y: Values) -> tuple[float, float, float, int]:
    """Slope, intercept, r² and number of points of the least-squares line through the points that have both numbers."""
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if len(x) < FEWEST_POINTS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan, np.nan, np.nan, len(x)
    fit = linregress(x, y)
    return float(fit.slope), float(fit.intercept), float(fit.rvalue) ** 2, len(x)


def _finite(values: Values) -> Values:
    return np.where(np.isfinite(values), values, np.nan)
