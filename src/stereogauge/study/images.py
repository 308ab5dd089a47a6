"""Damage of input images: how much worse the maps of a matcher become when its images do, as curves.

These are the radiometric and geometric challenges that Haeusler and Klette and the authors of the HCI metrics ask for.
A damage changes both views of a pair by a strength, the matcher runs on the damaged pair, and its map is measured with
the scene's ground truth. Strength 0 is the unchanged pair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.datasets.declaration import search_range
from stereogauge.errors import NotApplicable, one_of
from stereogauge.kernels.edges import fill_rows
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.matching.run import match
from stereogauge.model import DisparityMap, Scene
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.scores.column import columns_of
from stereogauge.study.damage import GradedDamage
from stereogauge.study.run import Progress, Study, responses_of

IMAGE_METRICS = ("bad@2", "mae", "density")
FOG_LIGHT = 220.0
STREAK_LIGHT = 200.0
Pixels = NDArray[np.float64]
Pair = tuple[Pixels, ...]
"""The left and the right view."""
Function = Callable[[Scene, Pair, float, np.random.Generator], Pair]


class ImageDamage(GradedDamage[Function], Struct, frozen=True):
    """A declared damage of a pair."""

    def apply(self, scene: Scene, strength: float, seed: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """The damaged pair, 8 bits per value; the same seed gives the same pair."""
        self.check(strength)
        pair: Pair = (_as_levels(scene.left), _as_levels(scene.right))
        if strength > 0:
            pair = self.compute(scene, pair, strength, np.random.default_rng(seed))
        left, right = (np.clip(np.rint(image), 0, 255).astype(np.uint8) for image in pair)
        return left, right


def _as_levels(image: NDArray[np.generic]) -> Pixels:
    """An image in levels from 0 to 255."""
    return image.astype(np.float64) / (257.0 if image.dtype == np.uint16 else 1.0)


IMAGE_DAMAGES: dict[str, ImageDamage] = {}


def _damage(
    identifier: str, name: str, unit: str, strengths: tuple[float, ...], reference: float, limit: float
) -> Callable[[Function], Function]:
    def declare(function: Function) -> Function:
        IMAGE_DAMAGES[identifier] = ImageDamage(identifier, name, unit, strengths, reference, limit, function)
        return function

    return declare


def image_damage_called(name: str) -> ImageDamage:
    """The image damage with that id."""
    return IMAGE_DAMAGES[one_of("image damage", name, IMAGE_DAMAGES)]


@_damage("noise", "sensor noise", "σ in levels", (2, 5, 10, 20, 40), 10, 255)
def noise(scene: Scene, pair: Pair, strength: float, random: np.random.Generator) -> Pair:
    """Gaussian noise in both views, independent of each other."""
    return tuple(image + random.normal(0, strength, image.shape) for image in pair)


@_damage("exposure", "under-exposure", "stops", (0.5, 1, 2, 3, 4), 2, 8)
def exposure(scene: Scene, pair: Pair, strength: float, random: np.random.Generator) -> Pair:
    """Both views darker by a number of stops, rounded to whole levels, and brightened again: fewer levels remain."""
    factor = 2.0**strength
    return tuple(np.rint(image / factor) * factor for image in pair)


@_damage("gain", "gain between the views", "share", (0.05, 0.1, 0.2, 0.4), 0.2, 3)
def gain(scene: Scene, pair: Pair, strength: float, random: np.random.Generator) -> Pair:
    """The right view brighter by a share, cut off at white."""
    return pair[0], pair[1] * (1.0 + strength)


@_damage("blur", "defocus", "σ in px", (0.5, 1, 2, 4), 2, 50)
def blur(scene: Scene, pair: Pair, strength: float, random: np.random.Generator) -> Pair:
    """Both views smoothed by a Gaussian."""
    import cv2

    return tuple(np.asarray(cv2.GaussianBlur(image, (0, 0), strength), np.float64) for image in pair)


@_damage("fog", "fog", "optical thickness at the median depth", (0.25, 0.5, 1, 2, 3), 1, 20)
def fog(scene: Scene, pair: Pair, strength: float, random: np.random.Generator) -> Pair:
    """Fog that grows with depth: I·t + 220·(1 − t) with t = exp(−strength · Z / median Z), Z by the ground truth."""
    doffs = scene.calibration.doffs
    maps = _dense(scene.gt), _dense(scene.gt_right) if scene.has("gt_right") else _dense(right_view(scene.gt))
    nearness = [np.maximum(one.astype(np.float64) + doffs, 0.1) for one in maps]
    median = np.median(1 / nearness[0])
    fogged = []
    for image, near in zip(pair, nearness, strict=True):
        clear = np.exp(-strength / near / median)
        clear = clear[..., np.newaxis] if image.ndim == 3 else clear
        fogged.append(image * clear + FOG_LIGHT * (1 - clear))
    return tuple(fogged)


@_damage("jpeg", "JPEG compression", "100 − quality", (20, 50, 70, 85, 95), 70, 99)
def jpeg(scene: Scene, pair: Pair, strength: float, random: np.random.Generator) -> Pair:
    """Both views compressed as JPEG files."""
    import cv2

    quality = [cv2.IMWRITE_JPEG_QUALITY, round(100 - strength)]
    coded = [cv2.imencode(".jpg", np.clip(np.rint(image), 0, 255).astype(np.uint8), quality)[1] for image in pair]
    return tuple(np.asarray(cv2.imdecode(one, cv2.IMREAD_UNCHANGED), np.float64) for one in coded)


@_damage("rain", "rain streaks", "streaks per 1000 px", (0.1, 0.2, 0.5, 1, 2), 0.5, 50)
def rain(scene: Scene, pair: Pair, strength: float, random: np.random.Generator) -> Pair:
    """Bright slanted streaks at random places, other ones in each view."""
    import cv2

    rained = []
    for image in pair:
        height, width = image.shape[:2]
        streaks = np.zeros((height, width), np.uint8)
        length = max(height // 20, 3)
        for _ in range(round(strength * height * width / 1000)):
            x, y = int(random.integers(width)), int(random.integers(height))
            cv2.line(streaks, (x, y), (x + length // 4, y + length), int(random.integers(80, 200)), 1, cv2.LINE_AA)
        share = streaks.astype(np.float64) / 255
        share = share[..., np.newaxis] if image.ndim == 3 else share
        rained.append(image * (1 - share) + STREAK_LIGHT * share)
    return tuple(rained)


@_damage("rectification", "rectification error", "px", (0.1, 0.2, 0.3, 0.5, 1), 0.5, 20)
def rectification(scene: Scene, pair: Pair, strength: float, random: np.random.Generator) -> Pair:
    """The right view shifted down by parts of a pixel, as by an error of calibration."""
    import cv2

    height, width = pair[1].shape[:2]
    shift = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, strength]])
    moved = cv2.warpAffine(pair[1], shift, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return pair[0], np.asarray(moved, np.float64)


def right_view(truth: DisparityMap) -> DisparityMap:
    """The ground truth moved to the right view: each pixel goes to x − d, and the nearest one stays.

    >>> right_view(np.array([[1, 1, 1, 3, 1]], np.float32))
    array([[ 3.,  1., nan,  1., nan]], dtype=float32)
    """
    moved = np.full(truth.shape, np.nan, np.float32)
    rows, columns = np.nonzero(np.isfinite(truth))
    values = truth[rows, columns]
    targets = columns - np.rint(values).astype(np.int64)
    inside = (targets >= 0) & (targets < truth.shape[1])
    order = np.argsort(values[inside], kind="stable")  # what is nearer is written later
    moved[rows[inside][order], targets[inside][order]] = values[inside][order]
    return moved


def _dense(truth: DisparityMap) -> DisparityMap:
    filled = np.array(truth, np.float32)
    fill_rows(filled)
    return np.where(np.isnan(filled), np.float32(np.nanmedian(filled)), filled)


def run_image_study(
    scene: Scene,
    matcher: str,
    metrics: Sequence[str] = IMAGE_METRICS,
    *,
    damage_ids: Sequence[str] | None = None,
    strengths: Mapping[str, Sequence[float]] | None = None,
    regions: Sequence[str] = ("nonocc",),
    protocol: Protocol | str | None = None,
    ndisp: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Study:
    """Damage a scene's images, run the matcher on each damaged pair and measure its maps.

    `ndisp` is the search range, by default that of the scene or its dataset, else by the ground truth. `strengths`
    replaces a damage's own steps, by id. The value at strength 0 is that of the matcher on the images as they are; a
    response is how much worse a value is than that. The same seed gives the same study of a matcher without chance.
    """
    for part in ("gt", "left", "right"):
        if not scene.has(part):
            raise NotApplicable(
                f"A study of images needs both images and ground truth; scene {scene.id!r} lacks {part}."
            )
    chosen = load_protocol(protocol)
    known = [image_damage_called(name) for name in damage_ids or IMAGE_DAMAGES]
    wanted = columns_of(metrics, regions)
    scene_regions = SceneRegions(scene, chosen)
    reach = search_range(scene, ndisp, by_truth=True)

    def made(kind: ImageDamage, strength: float) -> DisparityMap:
        return match(*kind.apply(scene, strength, seed), matcher, ndisp=reach).disparity

    clean = made(known[0], 0.0)
    responses = responses_of(known, strengths, made, clean, scene_regions, wanted, progress)
    return Study(f"{scene.id}, {matcher}", responses, chosen.scoring_hash, of_images=True)
