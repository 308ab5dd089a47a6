"""Requirements instead of weights: what an application asks of a camera and a matcher, as TOML.

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

`[camera]` and `[distances]` are needed, the others are optional; every number is positive.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stereogauge.errors import FileError, StereogaugeError

PRECISION = 0.25
"""px: what sub-pixel matching reaches on well-textured surfaces, unless `camera.precision` states another."""
KEYS: Mapping[str, Mapping[str, bool]] = {
    "camera": {"focal": True, "baseline": True, "width": True, "height": True, "precision": False},
    "distances": {"near": True, "far": True},
    "tolerance": {"depth": True, "at": False, "wrong": False},
    "object": {"size": True, "at": False, "lost": False},
    "time": {"seconds": True},
    "completeness": {"share": True},
}
"""The tables of a file with their keys, and whether a key is needed."""
NEEDED = ("camera", "distances")
SHARES = {"wrong", "lost", "share"}


@dataclass(frozen=True)
class Camera:
    """A rectified stereo camera: focal length in px, baseline in m, image size, and precision of matching in px.

    Depth is Z = f·B / d. A step δ of disparity at depth Z is a step of depth Z(d − δ) − Z = Z²·δ / (f·B − Z·δ).

    >>> camera = Camera(focal=1000, baseline=0.1, width=1280, height=960)
    >>> round(camera.depth_step(4.0), 4), round(camera.reach(0.0404), 2)
    (0.0404, 4.0)
    """

    focal: float
    baseline: float
    width: float
    height: float
    precision: float = PRECISION

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


@dataclass(frozen=True)
class Requirements:
    """What an application asks for; None where it does not ask. Lengths in m, shares between 0 and 1."""

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


def load_requirements(source: Requirements | Mapping[str, Any] | str | Path) -> Requirements:
    """The requirements of a TOML file, of a mapping with the same tables, or as they are."""
    if isinstance(source, Requirements):
        return source
    if isinstance(source, Mapping):
        return parse_requirements(dict(source), "requirements", "The requirements")
    path = Path(source)
    if not path.is_file():
        raise FileError(f"No requirements at {path}; give the path of a TOML file with [camera] and [distances].")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise FileError(f"{path} is not TOML: {problem}.") from None
    return parse_requirements(content, path.stem, str(path))


def parse_requirements(content: dict[str, Any], identifier: str, owner: str) -> Requirements:
    """The requirements that the tables state; `owner` names them in errors."""
    name = str(content.pop("name", identifier))
    numbers = _numbers(content, owner)
    camera = Camera(**{key: numbers["camera", key] for key in KEYS["camera"] if ("camera", key) in numbers})
    near, far = numbers["distances", "near"], numbers["distances", "far"]
    if near >= far:
        raise StereogaugeError(
            f"{owner}: [distances] near must be smaller than far; found near = {near:g} m and far = {far:g} m."
        )
    for table in ("tolerance", "object"):
        at = numbers.get((table, "at"), far)
        if not near <= at <= far:
            raise StereogaugeError(
                f"{owner}: [{table}] at must lie within the distances {near:g} to {far:g} m; found {at:g} m."
            )
    if camera.disparity(near) >= camera.width:
        raise StereogaugeError(
            f"{owner}: at {near:g} m the disparity of this camera is {camera.disparity(near):.0f} px, which is no "
            f"less than the image width of {camera.width:g} px; state a larger near distance or a shorter baseline."
        )
    return Requirements(
        name=name,
        camera=camera,
        near=near,
        far=far,
        tolerance=numbers.get(("tolerance", "depth")),
        tolerance_at=numbers.get(("tolerance", "at"), far),
        wrong=numbers.get(("tolerance", "wrong"), 0.05),
        object_size=numbers.get(("object", "size")),
        object_at=numbers.get(("object", "at"), far),
        lost=numbers.get(("object", "lost"), 0.1),
        seconds=numbers.get(("time", "seconds")),
        completeness=numbers.get(("completeness", "share")),
    )


def _numbers(content: Mapping[str, Any], owner: str) -> dict[tuple[str, str], float]:
    """Every number by table and key, checked."""
    for table in content:
        if table not in KEYS:
            raise StereogaugeError(f"{owner} has no table [{table}]; known are {_tables()}.")
    for table in NEEDED:
        if table not in content:
            keys = ", ".join(key for key, needed in KEYS[table].items() if needed)
            raise StereogaugeError(f"{owner} needs a table [{table}] with {keys}.")
    found: dict[tuple[str, str], float] = {}
    for table, entries in content.items():
        if not isinstance(entries, Mapping):
            raise StereogaugeError(f"{owner}: [{table}] is a table with {', '.join(KEYS[table])}; found {entries!r}.")
        for key, value in entries.items():
            if key not in KEYS[table]:
                raise StereogaugeError(f"{owner}: [{table}] has no key {key!r}; known are {', '.join(KEYS[table])}.")
            found[table, key] = _number(value, f"{owner}: [{table}] {key}", share=key in SHARES)
        for key, needed in KEYS[table].items():
            if needed and key not in entries:
                raise StereogaugeError(f"{owner}: [{table}] needs {key}, a positive number.")
    return found


def _number(value: Any, what: str, *, share: bool) -> float:
    good = not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value)
    if share and not (good and 0 <= value <= 1):
        raise StereogaugeError(f"{what} must be a share between 0 and 1, for example 0.05; found {value!r}.")
    if not share and not (good and value > 0):
        raise StereogaugeError(f"{what} must be a positive number; found {value!r}.")
    return float(value)


def _tables() -> str:
    return ", ".join(f"[{name}]" for name in KEYS)
