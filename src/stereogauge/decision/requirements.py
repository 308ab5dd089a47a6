"""Requirements instead of weights: what an application requires of a camera and a matcher, as TOML.

    name = "Warehouse robot"
    [camera]
    focal = 1400        # px
    baseline = 0.12     # m
    width = 1280        # px
    height = 960        # px
    [distances]
    near = 0.5          # m
    far = 6             # m
    [tolerance]
    depth = 0.1         # m: larger errors are wrong
    at = 4              # m: holds up to this distance; default: far
    wrong = 0.05        # share of the pixels that may be wrong
    [object]
    size = 0.02         # m: width of the smallest object that must be seen
    at = 3              # m; default: far
    lost = 0.1          # share of such objects that may be lost
    [time]
    seconds = 0.5       # largest run time per pair
    [completeness]
    share = 0.9         # least share of the pixels with a value

`[camera]` and `[distances]` are required, the others are optional; every number is positive.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from stereogauge.errors import FileError, StereogaugeError
from stereogauge.loading import Declaration, convert, load, number

PRECISION = 0.25
"""px: what sub-pixel matching reaches on well-textured surfaces, unless `camera.precision` states another."""


class Camera(Declaration, frozen=True):
    """A rectified stereo camera: focal length in px, baseline in m, image size, and precision of matching in px.

    Depth is Z = f·B / d. A step δ of disparity at depth Z is a step of depth Z(d − δ) − Z = Z²·δ / (f·B − Z·δ).

    >>> camera = Camera(focal=1000, baseline=0.1, width=1280, height=960)
    >>> round(camera.depth_step(4.0), 4), round(camera.reach(0.0404), 2)
    (0.0404, 4.0)
    """

    focal: Annotated[float, number("focal length", "px", above=0)]
    baseline: Annotated[float, number("distance of the two cameras", "m", above=0)]
    width: Annotated[float, number("width of the image", "px", above=0)]
    height: Annotated[float, number("height of the image", "px", above=0)]
    precision: Annotated[float, number("precision of matching", "px", above=0)] = PRECISION

    def disparity(self, depth: float) -> float:
        """Disparity in px of a point at this depth: f·B / Z."""
        return self.focal * self.baseline / depth

    def depth_step(self, depth: float) -> float:
        """The depth in m that one step of the precision amounts to at this depth; infinite beyond f·B / δ."""
        left = self.focal * self.baseline - depth * self.precision
        return depth**2 * self.precision / left if left > 0 else math.inf

    def reach(self, tolerance: float) -> float:
        """The farthest depth at which one step is no more than the tolerance t.

        Z²·δ = t·(f·B − Z·δ), so Z = (√(t²·δ² + 4·t·δ·f·B) − t·δ) / (2·δ).
        """
        step = tolerance * self.precision
        root = math.sqrt(step**2 + 4 * step * self.focal * self.baseline)
        return (root - step) / (2 * self.precision)

    def baseline_for(self, depth: float, tolerance: float) -> float:
        """The baseline at which one step at this depth is the tolerance: B = Z·δ·(Z + t) / (f·t)."""
        return depth * self.precision * (depth + tolerance) / (self.focal * tolerance)

    def pixels(self, size: float, depth: float) -> float:
        """Width in px of an object of this width in m at this depth: f·w / Z."""
        return self.focal * size / depth


class Distances(Declaration, frozen=True):
    """Table `[distances]`."""

    near: Annotated[float, number("nearest distance", "m", above=0)]
    far: Annotated[float, number("farthest distance", "m", above=0)]


class Tolerance(Declaration, frozen=True):
    """Table `[tolerance]`."""

    depth: Annotated[float, number("largest acceptable depth error", "m", above=0)]
    at: Annotated[float, number("distance up to which it holds", "m", above=0)] | None = None
    wrong: Annotated[float, number("share of the pixels that may be wrong", least=0, most=1)] = 0.05


class SmallestObject(Declaration, frozen=True):
    """Table `[object]`."""

    size: Annotated[float, number("width of the smallest object that must be seen", "m", above=0)]
    at: Annotated[float, number("its distance", "m", above=0)] | None = None
    lost: Annotated[float, number("share of such objects that may be lost", least=0, most=1)] = 0.1


class Time(Declaration, frozen=True):
    """Table `[time]`."""

    seconds: Annotated[float, number("largest run time per pair", "s", above=0)]


class Completeness(Declaration, frozen=True):
    """Table `[completeness]`."""

    share: Annotated[float, number("least share of the pixels with a value", least=0, most=1)]


class RequirementsFile(Declaration, frozen=True):
    """The tables of a requirements file; what is absent is not required."""

    camera: Camera
    distances: Distances
    name: str = ""
    tolerance: Tolerance | None = None
    object: SmallestObject | None = None
    time: Time | None = None
    completeness: Completeness | None = None


@dataclass(frozen=True)
class Requirements:
    """What an application requires; None where it does not. Lengths in m, shares between 0 and 1."""

    name: str
    camera: Camera
    near: float
    far: float
    tolerance: float | None = None
    tolerance_at: float = 0.0
    wrong: float = 0.05
    object_size: float | None = None
    object_at: float = 0.0
    lost: float = 0.1
    seconds: float | None = None
    completeness: float | None = None


UNNAMED = "these requirements"
"""What requirements without a name or a file are called: "For these requirements, take A"."""


def load_requirements(source: Requirements | Mapping[str, Any] | str | Path) -> Requirements:
    """The requirements of a TOML file, of a mapping with the same tables, or as they are."""
    if isinstance(source, Requirements):
        return source
    if isinstance(source, Mapping):
        return _requirements(convert(source, RequirementsFile, "The requirements"), UNNAMED, "The requirements")
    path = Path(source)
    if not path.is_file():
        raise FileError(f"No requirements at {path}; give the path of a TOML file with [camera] and [distances].")
    return _requirements(load(path, RequirementsFile, "requirements"), path.stem, str(path))


def _requirements(stated: RequirementsFile, identifier: str, owner: str) -> Requirements:
    """The requirements that a file states, checked against each other; `owner` names them in errors."""
    camera, near, far = stated.camera, stated.distances.near, stated.distances.far
    if near >= far:
        raise StereogaugeError(
            f"{owner}: distances.near must be smaller than far; found near = {near:g} m and far = {far:g} m."
        )
    if camera.disparity(near) >= camera.width:
        raise StereogaugeError(
            f"{owner}: at {near:g} m the disparity of this camera is {camera.disparity(near):.0f} px, which is no "
            f"less than the image width of {camera.width:g} px; state a larger near distance or a shorter baseline."
        )
    tolerance, smallest = stated.tolerance, stated.object
    found = Requirements(
        stated.name or identifier,
        camera,
        near,
        far,
        tolerance_at=far,
        object_at=far,
        seconds=None if stated.time is None else stated.time.seconds,
        completeness=None if stated.completeness is None else stated.completeness.share,
    )
    if tolerance is not None:
        at = _within(tolerance.at, stated.distances, f"{owner}: tolerance.at")
        found = replace(found, tolerance=tolerance.depth, tolerance_at=at, wrong=tolerance.wrong)
    if smallest is not None:
        at = _within(smallest.at, stated.distances, f"{owner}: object.at")
        found = replace(found, object_size=smallest.size, object_at=at, lost=smallest.lost)
    return found


def _within(at: float | None, distances: Distances, what: str) -> float:
    """The distance that was stated, else the farthest."""
    if at is not None and not distances.near <= at <= distances.far:
        raise StereogaugeError(
            f"{what} must lie within the distances {distances.near:g} to {distances.far:g} m; found {at:g} m."
        )
    return distances.far if at is None else at
