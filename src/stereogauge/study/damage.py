"""Damages: named, controlled corruptions of a true disparity map, each with a strength.

A damage is a pure function of the ground truth, a strength and a random generator. Strength 0 returns the truth. With
the same seed, what a damage of a share of the pixels strikes contains what a smaller share strikes.
Packages add their own through the entry-point group `stereogauge.damages`.

The first damages may occur anywhere: noise, blur, quantisation, gaps, streaks, blobs, guesses. The others belong to one
kind of geometry each (edges, planes, thin structures), and each is what one geometry metric is named after. Each
changes only its zone, so that the response of a metric is a response to this damage alone. The last are the same
without zones (`fatten`, `thin`, `noise`, `offset`, `facets`, beside `blur`): they show what else moves a metric.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.kernels.edges import fill_rows
from stereogauge.masks.geometry.edges import thin_structures
from stereogauge.masks.scene_regions import FINE, SceneRegions
from stereogauge.model import DisparityMap, Mask, Scene
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.registry import Registry


def disc(radius: float) -> NDArray[np.uint8]:
    """A round structuring element; the radius in px need not be whole."""
    reach = int(np.floor(radius))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    return np.asarray(np.hypot(x, y) <= radius + 1e-9, dtype=np.uint8)


def grown(mask: Mask, radius: float) -> Mask:
    """`mask` and everything within `radius` px of it."""
    import cv2

    return np.asarray(cv2.dilate(mask.astype(np.uint8), disc(radius)) > 0)


class GroundTruth(Struct, frozen=True, dict=True):
    """A scene's ground truth with its structures.

    `disparity` has no gaps (rows filled by the smaller neighbour). `planes` and `fine` number planar surfaces and thin
    structures from 1, 0 = none; `thin` are thin structures with those parts that are not evaluated. `jumps` are depth
    discontinuities. `reach` (px) is the width of the bands in which
    edges are assessed, `step` (px) the smallest jump that counts as an edge.
    """

    disparity: DisparityMap
    planes: NDArray[np.int32]
    fine: NDArray[np.int32]
    thin: Mask
    jumps: Mask
    reach: float
    step: float

    @functools.cached_property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest true disparity."""
        return float(self.disparity.min()), float(self.disparity.max())

    @functools.cached_property
    def around_fine(self) -> Mask:
        """Thin structures and their surroundings."""
        return grown(self.fine > 0, self.reach)

    @functools.cached_property
    def edge_zone(self) -> Mask:
        """Within reach of a depth discontinuity, away from thin structures."""
        return grown(self.jumps, self.reach) & ~grown(self.fine > 0, 2.0 * self.reach)

    @functools.cached_property
    def plane_zone(self) -> Mask:
        """Planes out of reach of edges and thin structures."""
        return (self.planes > 0) & ~grown(self.jumps, self.reach + 2.0) & ~self.around_fine

    @functools.cached_property
    def behind_fine(self) -> DisparityMap:
        """The truth as if thin structures were not there: their pixels take the smaller neighbour on their row."""
        background: DisparityMap = fill_rows(np.where(self.thin, np.float32(np.nan), self.disparity))
        return background


def ground_truth_of(scene: Scene, protocol: Protocol | str | None = None) -> GroundTruth:
    """The ground truth of a scene; the protocol's geometry parameters define its structures."""
    chosen = load_protocol(protocol)
    scene_regions = SceneRegions(scene, chosen)
    sets = scene_regions.geometry
    scaled = chosen.geometry.at(scene.resolution)
    disparity, known = fill_rows(scene.gt), np.isfinite(scene.gt)
    drawn = scene_regions.own_mask(FINE) if FINE in scene.masks else None
    thin = thin_structures(disparity, known, scene.resolution, chosen.geometry) if drawn is None else drawn
    return GroundTruth(
        disparity=disparity,
        planes=sets.label_image(sets.planar, sets.planar_label),
        fine=sets.label_image(sets.fine, sets.fine_label),
        thin=thin,
        jumps=sets.mask(sets.discontinuity),
        reach=float(scaled.band_length),
        step=2.0 * scaled.discontinuity_gradient,
    )


ENTRY_POINTS = "stereogauge.damages"
DamageFunction = Callable[[GroundTruth, float, np.random.Generator], DisparityMap]
BLUR: Mapping[str, Any] = {
    "unit": "σ / reach",
    "strengths": (0.05, 0.1, 0.2, 0.4, 0.8),
    "reference": 0.4,
    "limit": 10.0,
    "per_reach": True,
}


def everywhere(truth: GroundTruth) -> Mask:
    """The zone of a damage that may touch any pixel."""
    return np.ones(truth.disparity.shape, np.bool_)


Function = TypeVar("Function", bound=Callable[..., Any])


class GradedDamage(Generic[Function], Struct, frozen=True):
    """What damages of maps and of images declare.

    `strengths` are the default steps of a study, `reference` the one that metrics are compared at, `limit` the largest
    that makes sense; `metric` is the geometry metric that is named after the damage, "" where none is.
    """

    id: str
    name: str
    unit: str
    strengths: tuple[float, ...]
    reference: float
    limit: float
    compute: Function
    text: str = ""
    metric: str = ""

    @property
    def description(self) -> str:
        """The text, or the function's docstring."""
        return self.text or (self.compute.__doc__ or "").strip()

    def check(self, strength: float) -> None:
        """Refuse a strength that makes no sense."""
        if not 0.0 <= strength <= self.limit:
            raise StereogaugeError(
                f"Damage {self.id!r} takes a strength from 0 to {self.limit:g} {self.unit}; found {strength:g}."
            )


class Damage(GradedDamage[DamageFunction], Struct, frozen=True):
    """A declared damage of a map.

    `zone(truth)` are the pixels that it may touch. A damage with `per_reach` takes its strength in units of the ground
    truth's reach, so that scenes of any size are damaged alike.
    """

    zone: Callable[[GroundTruth], Mask] = everywhere
    per_reach: bool = False

    def apply(self, truth: GroundTruth, strength: float, seed: int = 0) -> DisparityMap:
        """The damaged map; the same seed gives the same map."""
        self.check(strength)
        if strength == 0.0:
            return truth.disparity.copy()
        scaled = strength * truth.reach if self.per_reach else strength
        damaged = self.compute(truth, scaled, np.random.default_rng(seed)).astype(np.float32)
        return np.where(self.zone(truth), damaged, truth.disparity)


def damage(identifier: str, name: str, **declaration: Any) -> Callable[[DamageFunction], Damage]:
    """Declare the decorated function as a damage; `Damage` explains the keywords."""
    return lambda function: Damage(identifier, name, compute=function, **declaration)


def unconfined(kind: Damage, identifier: str, name: str, text: str) -> Damage:
    """The damage `kind` without its zone, as another one: real matchers do not keep to zones."""
    return replace(kind, id=identifier, name=name, text=text, zone=everywhere, metric="")


@functools.cache
def damages() -> Mapping[str, Damage]:
    """Every damage by id: ours, then those of installed packages."""
    return Registry("damage", Damage, "stereogauge.study", ENTRY_POINTS)


def damage_called(name: str) -> Damage:
    """The damage with that id."""
    known = damages()
    if name not in known:
        raise unknown_name("damage", name, known)
    return known[name]


SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
SMALL_MAGNITUDE = 2.0  # px: beyond the usual threshold of 1, and barely visible
LARGE_SHARE = 0.75  # of the scene's disparity range
BLOB_REACHES = 1.0
STREAK_REACHES = 8.0

_share = functools.partial(damage, unit="share", strengths=SHARES, reference=0.1, limit=1.0)


def _speckled(truth: GroundTruth, share: float, magnitude: float, random: np.random.Generator) -> DisparityMap:
    shape = truth.disparity.shape
    struck = random.random(shape) < share
    sign = np.where(random.random(shape) < 0.5, np.float32(-magnitude), np.float32(magnitude))
    return np.where(struck, truth.disparity + sign, truth.disparity)


@_share("salt-pepper-small", "salt and pepper, small")
def salt_pepper_small(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """A share of the pixels is off by ±2 px."""
    return _speckled(truth, strength, SMALL_MAGNITUDE, random)


@_share("salt-pepper-large", "salt and pepper, large")
def salt_pepper_large(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """A share of the pixels is off by ± three quarters of the disparity range."""
    low, high = truth.limits
    return _speckled(truth, strength, max(LARGE_SHARE * (high - low), 2 * SMALL_MAGNITUDE), random)


@damage("blur", "blur", **BLUR)
def blur(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """The whole map is smoothed by a Gaussian."""
    import cv2

    return np.asarray(cv2.GaussianBlur(truth.disparity, (0, 0), strength), dtype=np.float32)


@damage("staircase", "staircase", unit="px", strengths=(0.25, 0.5, 1, 2, 4), reference=1.0, limit=1000.0)
def staircase(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Disparities are rounded to multiples of the strength."""
    step = np.float32(strength)
    return np.asarray(np.rint(truth.disparity / step) * step, dtype=np.float32)


@_share("holes", "holes")
def holes(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Round gaps without an estimate cover a share of the map."""
    return np.where(_blobs(truth, strength, random) > 0, np.float32(np.nan), truth.disparity)


@_share("blobs", "outlier blobs")
def blobs(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Round spots, each with one wrong disparity drawn from the scene's range, cover a share of the map."""
    labels = _blobs(truth, strength, random)
    values = random.uniform(*truth.limits, int(labels.max()) + 1).astype(np.float32)
    return np.where(labels > 0, values[labels], truth.disparity)


def _blobs(truth: GroundTruth, share: float, random: np.random.Generator) -> np.ndarray:
    """Numbered discs that cover about `share` of the image: n discs of area a leave exp(−n·a/A) of it free."""
    import cv2

    height, width = truth.disparity.shape
    labels = np.zeros((height, width), np.int32)
    radius = max(2.0, BLOB_REACHES * truth.reach)
    free = max(1.0 - share, 1e-3)
    count = max(1, round(-np.log(free) * height * width / (np.pi * radius**2)))
    centres = random.uniform((0, 0), (width, height), (count, 2))
    for number, (x, y) in enumerate(centres, start=1):
        cv2.circle(labels, (int(x), int(y)), round(radius), number, cv2.FILLED)
    return labels


@_share("streaks", "streaks")
def streaks(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Horizontal runs repeat the disparity of their first pixel, as scan-line methods do, over a share of the map."""
    height, width = truth.disparity.shape
    length = max(4, round(STREAK_REACHES * truth.reach))
    damaged = truth.disparity.copy()
    free = max(1.0 - strength, 1e-3)
    count = max(1, round(-np.log(free) * height * width / length))
    for y, x in random.integers((0, -length), (height, width), (count, 2)).tolist():
        first = max(x, 0)
        damaged[y, first : x + length] = truth.disparity[y, first]
    return damaged


@_share("guesses", "random re-estimation")
def guesses(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """A share of the pixels gets a new disparity, drawn evenly from the scene's range."""
    shape = truth.disparity.shape
    drawn = random.uniform(*truth.limits, shape).astype(np.float32)
    return np.where(random.random(shape) < strength, drawn, truth.disparity)


REACHES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
OFFSETS = (0.02, 0.05, 0.1, 0.2, 0.4)
LOST = (0.05, 0.1, 0.2, 0.3, 0.5)
FACET_REACHES = 1.5
PORE_REACHES = 1.0
SLOT_BITS = 16
CUT = 2.0  # px along the structure: the least that separates 8-connected parts at any angle

_edges = functools.partial(
    damage, unit="reach", strengths=REACHES, reference=0.6, limit=3.0, zone=attrgetter("edge_zone"), per_reach=True
)
_planes = functools.partial(
    damage, unit="reach", strengths=OFFSETS, reference=0.1, limit=1000.0, zone=attrgetter("plane_zone"), per_reach=True
)
_lost = functools.partial(
    damage, unit="share", strengths=LOST, reference=0.2, limit=0.9, zone=lambda truth: truth.fine > 0
)


def _partly(
    truth: GroundTruth, radius: float, random: np.random.Generator, filtered: Callable[[int], Any]
) -> NDArray[np.float32]:
    """A filter whose radius in px is fractional: some tiles get the next whole radius, the others the one below."""
    height, width = truth.disparity.shape
    side = max(4, round(2.0 * truth.reach))
    whole = int(radius)
    tiles = random.random((height // side + 1, width // side + 1)) < radius - whole
    more = tiles.repeat(side, axis=0).repeat(side, axis=1)[:height, :width]
    wider, narrower = (np.asarray(filtered(radius), np.float32) for radius in (whole + 1, whole))
    return np.where(more, wider, narrower)


@_edges("fatten-foreground", "fattened foreground", metric="d-fat")
def fatten_foreground(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Foreground objects grow over their background; slanted surfaces stay as they are."""
    import cv2

    larger = _partly(truth, strength, random, lambda radius: cv2.dilate(truth.disparity, disc(radius)))
    return np.where(larger - truth.disparity > truth.step, larger, truth.disparity)


@_edges("thin-foreground", "thinned foreground", metric="d-thin")
def thin_foreground(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Background grows over the rims of foreground objects; slanted surfaces stay as they are."""
    import cv2

    smaller = _partly(truth, strength, random, lambda radius: cv2.erode(truth.disparity, disc(radius)))
    return np.where(truth.disparity - smaller > truth.step, smaller, truth.disparity)


@damage("fuzzy-edges", "fuzzy edges", metric="d-fuz-rel", **BLUR, zone=attrgetter("edge_zone"))
def fuzzy_edges(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Depth discontinuities are smoothed by a Gaussian; the rest of the map stays as it is."""
    import cv2

    return np.asarray(cv2.GaussianBlur(truth.disparity, (0, 0), strength), np.float32)


@_planes("bumps", "bumps on planes", metric="p-bump")
def bumps(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Planes have independent Gaussian noise of that standard deviation."""
    return truth.disparity + random.normal(0.0, strength, truth.disparity.shape).astype(np.float32)


@_planes("plane-offset", "shifted planes", metric="p-off")
def plane_offset(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Each plane moves nearer or farther by that much, as a whole."""
    signs = random.choice([-1.0, 1.0], int(truth.planes.max()) + 1).astype(np.float32)
    return np.asarray(truth.disparity + np.float32(strength) * signs[truth.planes])


@damage(
    "plane-tilt",
    "tilted facets",
    metric="p-mis",
    unit="px/px",
    strengths=(0.05, 0.1, 0.2, 0.4, 0.8),
    reference=0.2,
    limit=100.0,
    zone=attrgetter("plane_zone"),
)
def plane_tilt(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Planes break into square facets, each turned about its own centre by that slope in a random direction."""
    height, width = truth.disparity.shape
    side = max(6, round(FACET_REACHES * truth.reach))
    y, x = np.mgrid[:height, :width]
    direction = random.uniform(0.0, 2.0 * np.pi, (height // side + 1, width // side + 1))[y // side, x // side]
    from_centre_x, from_centre_y = x % side - 0.5 * (side - 1), y % side - 0.5 * (side - 1)
    relief = strength * (np.cos(direction) * from_centre_x + np.sin(direction) * from_centre_y)
    return np.asarray(truth.disparity + relief.astype(np.float32))


@_lost("pores", "pores in thin structures", metric="f-por")
def pores(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Round holes, a few and large, show the background through thin structures until that share of them is lost."""
    import cv2

    pixels = np.flatnonzero(truth.fine)
    lost = np.zeros(truth.disparity.shape, np.uint8)
    radius = max(2, round(PORE_REACHES * truth.reach))
    for centre in random.permutation(pixels):
        if lost.ravel()[pixels].mean() >= strength:
            break
        y, x = divmod(int(centre), truth.disparity.shape[1])
        cv2.circle(lost, (x, y), radius, 1, cv2.FILLED)
    return np.where(lost > 0, truth.behind_fine, truth.disparity)


@_lost("cuts", "cut thin structures", metric="f-frag")
def cuts(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Thin structures are cut across, again and again, until that share of them is lost to the background.

    Cuts lie evenly along a structure, and more of them lie between those of a smaller share.
    """
    lost = np.zeros(truth.disparity.shape, np.bool_)
    for pixels, along in _axes(truth):
        slots = np.floor((along - along.min()) / CUT).astype(np.int64) + random.integers(2**SLOT_BITS)
        lost.ravel()[pixels[_even_order(slots) < strength]] = True
    return np.where(lost, truth.behind_fine, truth.disparity)


def _even_order(slots: NDArray[np.int64]) -> NDArray[np.float64]:
    """The place from 0 to 1 of each number, its bits reversed: of any share of the places the numbers lie evenly."""
    places = np.zeros(slots.shape)
    for bit in range(SLOT_BITS):
        places += (slots >> bit & 1) * 0.5 ** (bit + 1)
    return places


def _axes(truth: GroundTruth) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Per thin structure, its flat pixel positions and their coordinate in px along its longest direction."""
    width = truth.disparity.shape[1]
    labels = truth.fine.ravel()
    found = []
    for number in range(1, int(labels.max()) + 1):
        pixels = np.flatnonzero(labels == number)
        if pixels.size == 0:
            continue
        points = np.stack([pixels % width, pixels // width], axis=1).astype(np.float64)
        points -= points.mean(axis=0)
        _, vectors = np.linalg.eigh(points.T @ points)
        found.append((pixels, points @ vectors[:, -1]))
    return found


@_edges("fatten-fine", "fattened thin structures", metric="f-fat", zone=attrgetter("around_fine"), limit=1.0)
def fatten_fine(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Thin structures grow sideways over their background."""
    import cv2

    structures = np.where(truth.fine > 0, truth.disparity, np.float32(-1e9))
    larger = _partly(truth, strength, random, lambda radius: cv2.dilate(structures, disc(radius)))
    return np.where(larger > truth.disparity, larger, truth.disparity)


@_edges("thin-fine", "thinned thin structures", metric="f-thin", zone=lambda truth: truth.fine > 0, limit=1.0)
def thin_fine(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
    """Thin structures lose their sides to the background; what is narrower goes."""
    import cv2

    inside = (truth.fine > 0).astype(np.float32)
    left = _partly(truth, strength, random, lambda radius: cv2.erode(inside, np.ones((1, 2 * radius + 1), np.uint8)))
    return np.where(left == 0, truth.behind_fine, truth.disparity)


fatten = unconfined(fatten_foreground, "fatten", "fattened, everywhere", "All foreground grows, thin structures too.")
thin = unconfined(thin_foreground, "thin", "thinned, everywhere", "All foreground shrinks, thin structures too.")
noise = unconfined(bumps, "noise", "noise, everywhere", "All pixels have independent Gaussian noise.")
offset = unconfined(
    plane_offset, "offset", "shifted, everywhere", "Each plane, and what lies on none, moves nearer or farther."
)
facets = unconfined(
    plane_tilt, "facets", "tilted facets, everywhere", "The whole map breaks into tilted square facets."
)
