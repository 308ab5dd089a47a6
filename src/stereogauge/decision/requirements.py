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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.decision.words import Claim, phrases, sentences, with_unit
from stereogauge.errors import FileError, StereogaugeError
from stereogauge.loading import Declaration, convert, load, number
from stereogauge.metrics.run_time import image_size, sizes_in_words
from stereogauge.protocol import Protocol
from stereogauge.ranking.bootstrap import resample_scenes
from stereogauge.scores.aggregation import aggregated, scene_shares
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.scope import DRAWS
from stereogauge.text import json_value, json_values

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


class Requirements(Declaration, frozen=True):
    """What an application requires; what is absent is not required."""

    camera: Camera
    distances: Distances
    name: str = ""
    tolerance: Tolerance | None = None
    object: SmallestObject | None = None
    time: Time | None = None
    completeness: Completeness | None = None


UNNAMED = "these requirements"
"""What requirements without a name or a file are called: "For these requirements, take A"."""


def load_requirements(source: Requirements | Mapping[str, Any] | str | Path) -> Requirements:
    """The requirements of a TOML file, of a mapping with the same tables, or as they are."""
    if isinstance(source, Requirements):
        return source
    if isinstance(source, Mapping):
        return _checked(convert(source, Requirements, "The requirements"), UNNAMED, "The requirements")
    path = Path(source)
    if not path.is_file():
        raise FileError(f"No requirements at {path}; give the path of a TOML file with [camera] and [distances].")
    return _checked(load(path, Requirements, "requirements"), path.stem, str(path))


def _checked(stated: Requirements, identifier: str, owner: str) -> Requirements:
    """Requirements checked against each other, with a name and with every distance; `owner` names them in errors."""
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
    if tolerance is not None:
        tolerance = replace(tolerance, at=_within(tolerance.at, stated.distances, f"{owner}: tolerance.at"))
    if smallest is not None:
        smallest = replace(smallest, at=_within(smallest.at, stated.distances, f"{owner}: object.at"))
    return replace(stated, name=stated.name or identifier, tolerance=tolerance, object=smallest)


def _within(at: float | None, distances: Distances, what: str) -> float:
    """The distance that was stated, else the farthest."""
    if at is not None and not distances.near <= at <= distances.far:
        raise StereogaugeError(
            f"{what} must lie within the distances {distances.near:g} to {distances.far:g} m; found {at:g} m."
        )
    return distances.far if at is None else at


SURE = 0.95
"""Share of the draws of scenes in which a winner must meet the requirements."""
FEWEST_SCENES = 2
"""The fewest scenes that a winner needs."""
WHOLE_SETS = ("bad", "mae", "mse", "rms", "bias", "density")
"""Metrics of which the set is the whole region, so that their coverage is that of the region."""
DEPTH, LOST, TIME, EMPTY = "bad-z", "f-missing", "seconds", "invalid"
"""The metrics that requirements are read from."""


class Requirement(Struct, frozen=True):
    """A limit on a column: no more than `limit`, in the column's own unit.

    `claim` says how the requirement became this column; `settings` are choices of the protocol under which the column
    must be measured (`--set`), "" where any protocol will do.
    """

    column: str
    limit: float
    unit: str
    claim: Claim
    settings: str = ""

    @property
    def words(self) -> str:
        """What is limited."""
        return phrases(self.claim)[0]

    @property
    def arithmetic(self) -> str:
        """How the requirement became this column."""
        return phrases(self.claim)[1]

    @property
    def limit_text(self) -> str:
        """The limit with its unit."""
        return with_unit(self.limit, self.unit)


class Fulfilment(Struct, frozen=True, eq=False):
    """Values of every algorithm in the column of every requirement, means over the scenes; NaN where not measured.

    `holds` (draws, algorithms) is, for draws of as many scenes, who meets every measured requirement. `camera` are
    claims about what the camera allows, whatever the algorithm; `scenes` is the number of independent scenes.
    """

    name: str
    requirements: tuple[Requirement, ...]
    algorithms: tuple[str, ...]
    values: Values
    holds: NDArray[np.bool_]
    camera: tuple[Claim, ...]
    scenes: int

    @property
    def geometry(self) -> tuple[str, ...]:
        """What the camera allows, in sentences."""
        return sentences(self.camera)

    @property
    def out_of_reach(self) -> Claim | None:
        """Why no algorithm can keep the depth tolerance; None where one can."""
        return next((claim for claim in self.camera if claim.kind == "camera-out-of-reach"), None)

    @property
    def reachable(self) -> bool:
        """Whether the depth tolerance can be kept at all."""
        return self.out_of_reach is None

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Which requirements at least one algorithm was measured by."""
        return np.asarray(~np.isnan(self.values).all(axis=0), np.bool_)

    @property
    def margins(self) -> Values:
        """1 − value / limit: 0.2 is a fifth below the limit, negative ones miss it; for a limit of 0, −value."""
        limits = np.array([one.limit for one in self.requirements])
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

    def meets(self, algorithm: int) -> bool | None:
        """Whether an algorithm keeps every limit; None where it keeps the measured ones and others are not measured."""
        pairs = zip(self.values[algorithm].tolist(), self.requirements, strict=True)
        if any(value > one.limit for value, one in pairs):
            return False
        return None if np.isnan(self.values[algorithm]).any() else True

    @property
    def fulfilling(self) -> tuple[str, ...]:
        """Who keeps every measured limit, the largest margin first."""
        margins = self.smallest_margin
        kept = [place for place in np.argsort(-margins, kind="stable") if margins[place] >= 0]
        return tuple(self.algorithms[place] for place in kept)

    def failures(self, algorithm: str) -> tuple[Claim, ...]:
        """What an algorithm misses, or was not measured by."""
        place = self.algorithms.index(algorithm)
        return tuple(
            Claim(
                "unmeasured-requirement" if math.isnan(value) else "misses",
                (algorithm,),
                {} if math.isnan(value) else {"value": float(value), "limit": one.limit},
                {"words": one.words, "unit": one.unit, "column": one.column},
            )
            for one, value in zip(self.requirements, self.values[place], strict=True)
            if not value <= one.limit
        )

    @property
    def lacking(self) -> tuple[Requirement, ...]:
        """The requirements that no algorithm was measured by."""
        return tuple(one for one, known in zip(self.requirements, self.measured, strict=True) if not known)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Who meets the requirements, without an order by weights; the headline first."""
        purpose = {"purpose": self.name}
        lacking = tuple(one.words for one in self.lacking)
        if self.out_of_reach is not None:
            return (Claim("out-of-reach", numbers=self.out_of_reach.numbers, texts=purpose),)
        if not self.requirements:
            return (Claim("nothing-required", texts=purpose),)
        if not self.measured.any():
            return (Claim("requirements-unmeasured", lacking, texts=purpose),)
        rest = (Claim("not-checked", lacking),) if lacking else ()
        meeting = self.fulfilling
        margins = dict(zip(self.algorithms, self.smallest_margin.tolist(), strict=True))
        if not meeting:
            nearest = min(self.algorithms, key=lambda name: (len(self.failures(name)), -margins[name]))
            missed = (claim for claim in self.failures(nearest) if claim.kind == "misses")
            return (Claim("none-meets", (nearest,), texts=purpose), *missed, *rest)
        margin = {"margin": margins[meeting[0]], "lacking": float(len(lacking))}
        if len(meeting) > 1:
            return (Claim("several-meet", meeting, margin, purpose), *rest)
        certainty = {"certainty": float(self.certainty[self.algorithms.index(meeting[0])])}
        numbers = {**margin, "scenes": float(self.scenes), "alone": float(len(self.algorithms) == 1)}
        enough = self.scenes >= FEWEST_SCENES
        sure = enough and certainty["certainty"] >= SURE
        if sure and not lacking:
            return (Claim("take-required", meeting, numbers | certainty, purpose),)
        return (Claim("meets", meeting, numbers | (certainty if enough and not sure else {}), purpose), *rest)

    @property
    def winner(self) -> str | None:
        """The only one that meets every requirement, where all are measured and the scenes support it."""
        verdict = self.claims[0]
        return verdict.names[0] if verdict.kind == "take-required" else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        stated = ("column", "words", "limit", "unit", "arithmetic", "settings")
        return json_values(
            self,
            ("name", "fulfilling", "geometry", "reachable"),
            requirements=[
                json_values(one, stated, measured=known)
                for one, known in zip(self.requirements, self.measured.tolist(), strict=True)
            ],
            algorithms=[
                {
                    "algorithm": name,
                    "meets_all": self.meets(place),
                    "values": json_value(self.values[place]),
                    "margins": json_value(self.margins[place]),
                    "certainty": float(self.certainty[place]),
                    "fails": list(sentences(self.failures(name))),
                }
                for place, name in enumerate(self.algorithms)
            ],
        )


def required_columns(
    wanted: Requirements,
    protocol: Protocol | None = None,
    size: float = 1.0,
    timed: Sequence[tuple[int, int]] = (),
) -> list[Requirement]:
    """The columns that the requirements become.

    `size` is that of the scenes relative to full resolution, `timed` are the image sizes that run times are scaled
    from; without them run times count as they were measured.
    """
    camera, tolerance = wanted.camera, wanted.tolerance
    found = []
    if tolerance is not None and tolerance.at is not None:
        near, at, depth = wanted.distances.near, tolerance.at, tolerance.depth
        step = camera.disparity(at) - camera.disparity(at + depth)
        numbers = {"near": near, "at": at, "tolerance": depth, "wrong": tolerance.wrong, "step": step}
        column = f"{DEPTH}@{depth:g}:depth@{near:g},{at:g}"
        found.append(Requirement(column, 100 * tolerance.wrong, "%", Claim("tolerance", numbers=numbers)))
    if wanted.object is not None:
        found.append(_lost_objects(camera, wanted.object, protocol, size))
    if wanted.time is not None:
        numbers = {"seconds": wanted.time.seconds, "width": camera.width, "height": camera.height}
        claim = Claim("run-time", numbers=numbers)
        if timed:
            claim = Claim("scaled-run-time", numbers=numbers, texts={"measured": sizes_in_words(timed)})
        found.append(Requirement(f"{TIME}:scene", wanted.time.seconds, "s", claim))
    if wanted.completeness is not None:
        share = wanted.completeness.share
        found.append(Requirement(f"{EMPTY}:all", 100 * (1 - share), "%", Claim("coverage", numbers={"share": share})))
    return found


def _lost_objects(camera: Camera, smallest: SmallestObject, protocol: Protocol | None, size: float) -> Requirement:
    """Fine structures at most as wide as the pixels that the smallest object covers."""
    assert smallest.at is not None
    pixels = camera.pixels(smallest.size, smallest.at)
    allowed = max(1, math.ceil(pixels))
    measured = None if protocol is None else protocol.geometry.at(size).fine_width
    settings = "" if measured == allowed else f"geometry.fine_width={allowed / size:.4g}"
    if settings and protocol is not None and allowed < protocol.geometry.fine_width_floor:
        settings += f" --set geometry.fine_width_floor={allowed}"
    numbers = {"size": smallest.size, "at": smallest.at, "focal": camera.focal, "pixels": pixels, "allowed": allowed}
    return Requirement(LOST, smallest.lost, "", Claim("smallest-object", numbers=numbers), settings)


def camera_limits(wanted: Requirements) -> tuple[Claim, ...]:
    """What the geometry of the camera allows."""
    camera, far = wanted.camera, wanted.distances.far
    step, focal_baseline = camera.depth_step(far), camera.focal * camera.baseline
    numbers = {"precision": camera.precision, "far": far, "step": step, "focal_baseline": focal_baseline}
    claims = [Claim("depth-step", numbers=numbers)]
    tolerance, smallest = wanted.tolerance, wanted.object
    if tolerance is not None and tolerance.at is not None:
        at, depth = tolerance.at, tolerance.depth
        reach = {"tolerance": depth, "at": at, "reach": camera.reach(depth), "precision": camera.precision}
        if camera.depth_step(at) <= depth * (1 + 1e-9):
            claims.append(Claim("within-reach", numbers=reach))
        else:
            needed = camera.baseline_for(at, depth)
            claims.append(Claim("camera-out-of-reach", numbers={**reach, "baseline": needed}))
    if smallest is not None and smallest.at is not None and camera.pixels(smallest.size, smallest.at) < 1:
        size = {"size": smallest.size, "at": smallest.at, "fills": camera.focal * smallest.size}
        claims.append(Claim("below-a-pixel", numbers=size))
    return tuple(claims)


def fulfilment(
    cube: ScoreCube, wanted: Requirements, protocol: Protocol | None = None, *, draws: int = DRAWS, seed: int = 0
) -> Fulfilment:
    """Check the scores of a cube against requirements."""
    sizes = [size for size in cube.sizes if not math.isnan(size)]
    timed = _timed_sizes(cube)
    required = tuple(required_columns(wanted, protocol, float(np.median(sizes)) if sizes else 1.0, timed))
    cube = _at_camera(cube, wanted.camera, timed)
    columns = {str(column): place for place, column in enumerate(cube.columns)}
    columns |= {c.metric: place for place, c in enumerate(cube.columns) if c.declared.metric.region is not None}
    columns |= {f"{TIME}:scene": place for place, c in enumerate(cube.columns) if c.metric == TIME}
    counting = _counting_column(cube)
    means, counted = aggregated(cube), scene_shares(cube)
    values = np.full((len(cube.algorithms), len(required)), np.nan)
    scene_values = np.full((len(cube.scenes), len(cube.algorithms), len(required)), np.nan)
    shares = np.ones((len(cube.scenes), len(required)))
    for k, one in enumerate(required):
        if one.settings:
            continue
        if one.column in columns:
            values[:, k] = means[:, columns[one.column]]
            scene_values[:, :, k] = cube.values[:, :, columns[one.column]].T
            shares[:, k] = counted[:, columns[one.column]]
        elif one.column == f"{EMPTY}:all" and counting is not None:
            scene_values[:, :, k] = 100 * (1 - cube.coverage[:, :, counting]).T
            values[:, k] = 100 * (1 - cube.coverage_over_scenes[:, counting])
    units = cube.unit_of
    count = len(np.unique(units))
    times = resample_scenes(count, draws, seed)[:, units]
    holds = np.ones((draws, len(cube.algorithms)), bool)
    for k, one in enumerate(required):
        known = ~np.isnan(scene_values[:, :, k])
        if known.any():
            drawn = times * shares[:, k]
            number = drawn @ known
            with np.errstate(invalid="ignore"):
                mean = drawn @ np.nan_to_num(scene_values[:, :, k]) / number
            holds &= ((number == 0) | (mean <= one.limit)) & ~np.isnan(values[:, k])
    return Fulfilment(wanted.name, required, cube.algorithms, values, holds, camera_limits(wanted), count)


def _timed_sizes(cube: ScoreCube) -> tuple[tuple[int, int], ...]:
    """The image size of every scene, from the notes of its run times; none at all where that of one is not stated."""
    known = {scene: size for (_, scene), note in cube.runs.items() if (size := image_size(note)) is not None}
    return tuple(known[scene] for scene in cube.scenes) if known.keys() >= set(cube.scenes) else ()


def _at_camera(cube: ScoreCube, camera: Camera, timed: Sequence[tuple[int, int]]) -> ScoreCube:
    """The cube with run times scaled from the images that they were measured on to those of the camera."""
    if not timed:
        return cube
    scale = camera.width * camera.height / np.array([width * height for width, height in timed], np.float64)
    of_time = np.array([column.metric == TIME for column in cube.columns], bool)
    return replace(cube, values=np.where(of_time, cube.values * scale[:, None], cube.values))


def _counting_column(cube: ScoreCube) -> int | None:
    """A column that counts the pixels of the region "all", with those that have no value."""
    support = np.nansum(cube.support, axis=(0, 1))
    found = (
        place
        for place, column in enumerate(cube.columns)
        if column.region == "all" and column.declared.metric.id in WHOLE_SETS and support[place] > 0
    )
    return next(found, None)


def completeness_of(cube: ScoreCube) -> dict[str, float]:
    """Share of the pixels that have a value, by algorithm; NaN where that is not known.

    Of the pixels of the largest set: it best shows where an algorithm has values.
    """
    support = np.nansum(cube.support, axis=(0, 1))
    shown = [k for k, c in enumerate(cube.columns) if c.declared.metric.counts == "pixels" and support[k] > 0]
    if not shown:
        return dict.fromkeys(cube.algorithms, math.nan)
    widest = cube.take(columns=[max(shown, key=lambda place: support[place])])
    return dict(zip(cube.algorithms, widest.coverage_over_scenes[:, 0].tolist(), strict=True))
