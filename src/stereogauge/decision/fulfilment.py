"""Requirements held against scores: who meets all of them, with which margin, and what the camera itself allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.decision.requirements import Requirements
from stereogauge.decision.words import percent
from stereogauge.protocol import Protocol
from stereogauge.scores.aggregation import aggregated
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.plain import json_value
from stereogauge.text import number_text

DEPTH, LOST, TIME, EMPTY = "bad-z", "f-missing", "seconds", "invalid"
"""The metrics that requirements are read from."""


@dataclass(frozen=True)
class Requirement:
    """A limit on a column: no more than `limit`, in the column's own unit.

    `arithmetic` says how the requirement became this column; `settings` are choices of the protocol under which the
    column must be measured (`--set`), "" where any protocol will do.
    """

    column: str
    words: str
    limit: float
    unit: str
    arithmetic: str
    settings: str = ""

    @property
    def limit_text(self) -> str:
        """The limit with its unit."""
        return self.value_text(self.limit)

    def value_text(self, value: float) -> str:
        """A value of this column with its unit."""
        return f"{number_text(float(value))} {self.unit}".strip()


@dataclass(frozen=True, eq=False)
class Fulfilment:
    """Values of every algorithm in the column of every requirement, means over the scenes; NaN where not measured.

    `holds` (draws, algorithms) tells, for draws of as many scenes, who meets every measured requirement. `geometry`
    says in sentences what the camera allows, whatever the algorithm.
    """

    name: str
    requirements: tuple[Requirement, ...]
    algorithms: tuple[str, ...]
    values: Values
    holds: NDArray[np.bool_]
    geometry: tuple[str, ...]
    reachable: bool

    @property
    def limits(self) -> Values:
        """The limits, in the order of the requirements."""
        return np.array([one.limit for one in self.requirements])

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Which requirements at least one algorithm was measured by."""
        return np.asarray(~np.isnan(self.values).all(axis=0), np.bool_)

    @property
    def margins(self) -> Values:
        """1 − value / limit: 0.2 is a fifth below the limit, negative ones miss it; for a limit of 0, −value."""
        limits = self.limits
        safe = np.where(limits > 0, limits, 1.0)
        return np.where(limits > 0, 1 - self.values / safe, -self.values)

    @property
    def smallest_margin(self) -> Values:
        """The smallest margin of each algorithm over the measured requirements; −inf where one has no value."""
        if not self.measured.any():
            return np.full(len(self.algorithms), -np.inf)
        return np.asarray(np.nan_to_num(self.margins[:, self.measured], nan=-np.inf).min(axis=1), np.float64)

    @property
    def certainty(self) -> Values:
        """Share of the draws of scenes in which each algorithm meets every measured requirement."""
        return np.asarray(self.holds.mean(axis=0), np.float64)

    def met(self, algorithm: int, requirement: int) -> bool:
        """Whether an algorithm keeps the limit."""
        return bool(self.values[algorithm, requirement] <= self.requirements[requirement].limit)

    def meets(self, algorithm: int) -> bool | None:
        """Whether an algorithm keeps every limit; None where it keeps the measured ones and others are not measured."""
        known = [k for k in range(len(self.requirements)) if not math.isnan(self.values[algorithm, k])]
        if not all(self.met(algorithm, k) for k in known):
            return False
        return True if len(known) == len(self.requirements) else None

    @property
    def fulfilling(self) -> tuple[str, ...]:
        """Who keeps every measured limit, the largest margin first."""
        margins = self.smallest_margin
        kept = [place for place in np.argsort(-margins, kind="stable") if margins[place] >= 0]
        return tuple(self.algorithms[place] for place in kept)

    def failures(self, algorithm: str) -> tuple[str, ...]:
        """What an algorithm misses, in words."""
        place = self.algorithms.index(algorithm)
        return tuple(
            f"{one.words} is {one.value_text(self.values[place, k])} where {one.limit_text} is allowed"
            if not math.isnan(self.values[place, k])
            else f"{one.words} is not measured"
            for k, one in enumerate(self.requirements)
            if not self.met(place, k)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "requirements": [
                {"column": one.column, "words": one.words, "limit": one.limit, "unit": one.unit,
                 "arithmetic": one.arithmetic, "settings": one.settings, "measured": bool(self.measured[k])}
                for k, one in enumerate(self.requirements)
            ],
            "algorithms": [
                {"algorithm": name, "meets_all": self.meets(place), "values": json_value(self.values[place]),
                 "margins": json_value(self.margins[place]), "certainty": float(self.certainty[place]),
                 "fails": list(self.failures(name))}
                for place, name in enumerate(self.algorithms)
            ],
            "fulfilling": list(self.fulfilling),
            "geometry": list(self.geometry),
            "reachable": self.reachable,
        }  # fmt: skip


def required_columns(wanted: Requirements, protocol: Protocol | None = None, size: float = 1.0) -> list[Requirement]:
    """The columns that the requirements become; `size` is that of the scenes relative to full resolution."""
    camera = wanted.camera
    found = []
    if wanted.tolerance is not None:
        region = f"depth@{wanted.near:g},{wanted.tolerance_at:g}"
        step = camera.disparity(wanted.tolerance_at) - camera.disparity(wanted.tolerance_at + wanted.tolerance)
        found.append(
            Requirement(
                f"{DEPTH}@{wanted.tolerance:g}:{region}",
                f"share of depths off by more than {wanted.tolerance:g} m",
                100 * wanted.wrong,
                "%",
                f"from {wanted.near:g} to {wanted.tolerance_at:g} m at most {percent(wanted.wrong)} of the pixels may "
                f"be off by more than {wanted.tolerance:g} m, which is {step:.2g} px of this camera's disparity at "
                f"{wanted.tolerance_at:g} m",
            )
        )
    if wanted.object_size is not None:
        found.append(_lost_objects(wanted, protocol, size))
    if wanted.seconds is not None:
        found.append(
            Requirement(f"{TIME}:scene", "run time", wanted.seconds, "s", f"at most {wanted.seconds:g} s per pair")
        )
    if wanted.completeness is not None:
        text = f"at least {percent(wanted.completeness)} of the pixels have a value"
        found.append(
            Requirement(f"{EMPTY}:all", "share of pixels without a value", 100 * (1 - wanted.completeness), "%", text)
        )
    return found


def _lost_objects(wanted: Requirements, protocol: Protocol | None, size: float) -> Requirement:
    """Fine structures at most as wide as the pixels that the smallest object covers."""
    assert wanted.object_size is not None
    pixels = wanted.camera.pixels(wanted.object_size, wanted.object_at)
    allowed = max(1, math.ceil(pixels))
    measured = None if protocol is None else protocol.geometry.at(size).fine_width
    settings = "" if measured == allowed else f"geometry.fine_width={allowed / size:.4g}"
    if settings and protocol is not None and allowed < protocol.geometry.fine_width_floor:
        settings += f" --set geometry.fine_width_floor={allowed}"
    return Requirement(
        LOST,
        "share of fine structures lost",
        wanted.lost,
        "",
        f"an object of {wanted.object_size:g} m covers {wanted.camera.focal:g}·{wanted.object_size:g}/"
        f"{wanted.object_at:g} = {pixels:.2g} px at {wanted.object_at:g} m, so structures at most {allowed} px wide "
        "count",
        settings,
    )


def camera_limits(wanted: Requirements) -> tuple[tuple[str, ...], bool]:
    """What the geometry allows, in sentences, and whether the depth tolerance can be reached at all."""
    camera = wanted.camera
    step = camera.depth_step(wanted.far)
    size = "no longer measurable" if math.isinf(step) else f"{number_text(step)} m"
    lines = [
        f"One step of {camera.precision:g} px of disparity at {wanted.far:g} m is {size} of depth "
        f"(Z²·δ / (f·B − Z·δ), with f·B = {camera.focal * camera.baseline:.4g} px·m)."
    ]
    reachable = True
    if wanted.tolerance is not None:
        at, tolerance = wanted.tolerance_at, wanted.tolerance
        reach, reachable = camera.reach(tolerance), camera.depth_step(at) <= tolerance * (1 + 1e-9)
        if reachable:
            lines.append(f"{tolerance:g} m can be kept up to {reach:.3g} m.")
        else:
            needed = camera.baseline_for(at, tolerance)
            lines.append(
                f"No algorithm can keep {tolerance:g} m at {at:g} m with this camera: a precision of "
                f"{camera.precision:g} px does up to {reach:.3g} m. A baseline of {needed:.3g} m would reach it."
            )
    if wanted.object_size is not None:
        pixels = camera.pixels(wanted.object_size, wanted.object_at)
        if pixels < 1:
            lines.append(
                f"An object of {wanted.object_size:g} m covers less than a pixel at {wanted.object_at:g} m, so no "
                f"algorithm can see it there; from {camera.focal * wanted.object_size:.3g} m on it does not fill one."
            )
    return tuple(lines), reachable


def fulfilment(
    cube: ScoreCube, wanted: Requirements, protocol: Protocol | None = None, *, draws: int = 2000, seed: int = 0
) -> Fulfilment:
    """Hold the scores of a cube against requirements."""
    sizes = [size for size in cube.sizes if not math.isnan(size)]
    required = tuple(required_columns(wanted, protocol, float(np.median(sizes)) if sizes else 1.0))
    columns = {str(column): place for place, column in enumerate(cube.columns)}
    columns |= {c.metric: place for place, c in enumerate(cube.columns) if c.declared.metric.region is not None}
    columns |= {f"{c.metric}:scene": place for place, c in enumerate(cube.columns) if c.metric == TIME}
    means = aggregated(cube)
    values = np.full((len(cube.algorithms), len(required)), np.nan)
    scene_values = np.full((len(cube.scenes), len(cube.algorithms), len(required)), np.nan)
    for k, one in enumerate(required):
        if one.settings:
            continue
        if one.column in columns:
            values[:, k] = means[:, columns[one.column]]
            scene_values[:, :, k] = cube.values[:, :, columns[one.column]].T
        elif one.column.startswith(EMPTY):
            scene_values[:, :, k] = 100 * (1 - scene_completeness(cube)).T
            values[:, k] = 100 * (1 - completeness_of(cube))
    geometry, reachable = camera_limits(wanted)
    holds = _held(scene_values, values, np.array([one.limit for one in required]), draws, seed)
    return Fulfilment(wanted.name, required, cube.algorithms, values, holds, geometry, reachable)


def _held(scene_values: Values, values: Values, limits: Values, draws: int, seed: int) -> NDArray[np.bool_]:
    """Who keeps every measured limit on draws of as many scenes, with replacement; shape (draws, algorithms)."""
    count, algorithms, required = scene_values.shape
    counts = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=draws)
    held = np.ones((draws, algorithms), bool)
    for k in range(required):
        known = ~np.isnan(scene_values[:, :, k])
        if not known.any():
            continue
        total = counts @ np.nan_to_num(scene_values[:, :, k])
        number = counts @ known
        with np.errstate(invalid="ignore"):
            mean = total / number
        kept = np.where(number > 0, mean <= limits[k], True)
        held &= kept & ~np.isnan(values[:, k])
    return held


def _widest_column(cube: ScoreCube) -> int | None:
    """The column that counts most pixels, and so tells best where an algorithm has values."""
    support = np.nansum(cube.support, axis=(0, 1))
    shown = [k for k, c in enumerate(cube.columns) if c.declared.metric.counts == "pixels" and support[k] > 0]
    return max(shown, key=lambda k: support[k]) if shown else None


def completeness_of(cube: ScoreCube) -> Values:
    """Share of the pixels that have a value, per algorithm; NaN where that is not known."""
    place = _widest_column(cube)
    return np.full(len(cube.algorithms), np.nan) if place is None else cube.coverage_over_scenes[:, place]


def scene_completeness(cube: ScoreCube) -> Values:
    """The same on each scene, shape (algorithms, scenes)."""
    place = _widest_column(cube)
    shape = (len(cube.algorithms), len(cube.scenes))
    return np.full(shape, np.nan) if place is None else cube.coverage[:, :, place]
