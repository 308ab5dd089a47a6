"""What the figures of an answer and its explanation show, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.decision.explain import Explanation
from stereogauge.decision.pixels import Contrast, PixelAgreement
from stereogauge.figures.palette import Style, Styles, complete
from stereogauge.figures.pictures import disparity_limits, render, render_disparity
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import clip_limit, heat
from stereogauge.model import Mask, Scene
from stereogauge.opencv import cv2
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.scores.cube import Values

Colours = NDArray[np.uint8]
GREY = 0.35  # how much of the colour is left of pixels that do not count


class DifferenceBars(NamedTuple):
    """Amounts that sum to the difference of two scores, in groups: by metric, by scene, by region.

    `groups` pairs a heading with its names and amounts; negative amounts speak for `first`.
    """

    title: str
    caption: str
    first: str
    second: str
    groups: tuple[tuple[str, tuple[str, ...], tuple[float, ...]], ...]


class ErrorCurves(NamedTuple):
    """Share of pixels with an error above δ, in per cent, over δ; shape of `bad` (algorithms, thresholds)."""

    title: str
    caption: str
    algorithms: tuple[str, ...]
    thresholds: Values
    bad: Values
    styles: dict[str, Style]


class PictureRow(NamedTuple):
    """Pictures (RGB) side by side under a heading, each with its caption."""

    heading: str
    pictures: tuple[Colours, ...]
    captions: tuple[str, ...]


class PictureRows(NamedTuple):
    """Rows of pictures; `legend` names the colours."""

    title: str
    caption: str
    rows: tuple[PictureRow, ...]
    legend: tuple[tuple[str, str], ...] = ()


def difference_bars_data(found: Explanation) -> DifferenceBars:
    """The three divisions of a difference."""
    terms = sorted(found.terms, key=lambda reason: reason.amount)
    regions = [piece for piece in found.regions if piece.amount or piece.attributed]
    groups = [
        ("metric", tuple(reason.words for reason in terms), tuple(reason.amount for reason in terms)),
        ("region", tuple(p.name for p in regions), tuple(p.amount for p in regions)),
    ]
    if len(found.scenes) > 1:
        scenes = sorted(found.scenes, key=lambda piece: piece.amount)
        groups.insert(1, ("scene", tuple(p.name for p in scenes), tuple(p.amount for p in scenes)))
    return DifferenceBars(
        f"{found.first} against {found.second}: what their difference of {found.difference:+.3f} is made of",
        f"{found.purpose}. Every group of bars sums to the difference; bars to the left speak for {found.first}.",
        found.first,
        found.second,
        tuple(groups),
    )


def error_curves_data(found: PixelAgreement, styles: Styles | None = None) -> ErrorCurves:
    """The curves of bad@δ over δ."""
    region = found.column.partition(":")[2] or "all"
    return ErrorCurves(
        "Without a threshold: share of pixels with an error above δ",
        f"Mean over {len(found.scenes)} scenes, region {region}; missing estimates count as wrong.",
        found.algorithms,
        found.thresholds,
        100 * found.curves,
        complete(styles, found.algorithms),
    )


def contrast_rows_data(found: Sequence[Contrast]) -> PictureRows:
    """The four-colour map and the map of |e_A| − |e_B| of each scene."""
    rows = [
        PictureRow(
            one.text, (render(one.verdict), render(one.gain)), ("who is right", "|e| of the first − of the second")
        )
        for one in found
    ]
    first, second = found[0].first, found[0].second
    legend = tuple(found[0].verdict.legend.values())
    caption = (
        f"Right: {found[0].column}. In the second picture blue is where {first} is nearer the truth, red where "
        f"{second} is. Pixels that do not count show the image."
    )
    return PictureRows(f"{first} against {second}, pixel by pixel", caption, tuple(rows), legend)


def crop_rows_data(found: Sequence[Contrast], most: int = 4) -> PictureRows:
    """The crops that differ most over all scenes: image, truth, both maps, both errors."""
    crops = sorted(
        ((one, crop) for one in found for crop in one.crops), key=lambda pair: -abs(pair[1].gain) * _size(pair[0])
    )[:most]
    first, second = found[0].first, found[0].second
    names = ("left image", "ground truth", first, second, f"error, {first}", f"error, {second}")
    rows = []
    for one, crop in crops:
        right, wrong = (first, second) if crop.gain > 0 else (second, first)
        heading = (
            f"{one.scene.id} at {crop.left}, {crop.top}: {right} is right where {wrong} is wrong. Wrong here: {first} "
            f"{100 * crop.first_wrong:.0f} %, {second} {100 * crop.second_wrong:.0f} %"
        )
        pictures = _panels(one)
        kept = names if one.scene.has("left") else names[1:]
        rows.append(PictureRow(heading, tuple(_magnified(p[crop.window]) for p in pictures), kept))
    caption = f"Ranked by what they add to the difference in {found[0].column}; pixels that it does not count are grey."
    return PictureRows(f"Where {first} and {second} differ most", caption, tuple(rows))


def _size(found: Contrast) -> int:
    return int(found.counted.sum())


def _panels(found: Contrast) -> list[Colours]:
    """Left image where there is one, truth, both maps and both errors, whole and greyed where pixels do not count."""
    limits = disparity_limits(found.scene.gt)
    shown = [_rgb(found.scene)] if found.scene.has("left") else []
    maps = [render_disparity(values, limits) for values in (found.scene.gt, *found.estimates)]
    regions = SceneRegions(found.scene, load_protocol(None))
    errors = []
    for estimate in found.estimates:
        measurement = Measurement(estimate, regions)
        errors.append(render(heat(measurement, None, "", np.abs(measurement.error), "px", clip_limit(measurement))))
    return [*shown, *maps, *(greyed(picture, found.counted) for picture in errors)]


def _rgb(scene: Scene) -> Colours:
    image = np.asarray(scene.left)
    plain = image if image.dtype == np.uint8 else np.clip(image / (257.0 if image.dtype == np.uint16 else 1), 0, 255)
    return np.asarray(np.repeat(plain[..., None], 3, axis=2) if plain.ndim == 2 else plain, np.uint8)


def greyed(picture: Colours, counted: Mask) -> Colours:
    """The picture with faint grey where pixels do not count."""
    faint = (GREY * picture.mean(axis=2, keepdims=True) + (1 - GREY) * 235).astype(np.uint8)
    return np.where(counted[..., None], picture, faint)


def _magnified(picture: Colours, least: int = 160) -> Colours:
    """A crop enlarged by whole pixels to at least so many."""
    factor = max(1, -(-least // max(1, picture.shape[0])))
    return np.asarray(np.kron(picture, np.ones((factor, factor, 1), np.uint8)), np.uint8)


def glance_rows_data(
    scenes: Mapping[str, Scene],
    maps: Mapping[str, Mapping[str, NDArray[np.float32]]],
    captions: Mapping[str, Mapping[str, str]],
    protocol: Protocol | None = None,
    width: int = 240,
) -> PictureRows:
    """Every scene at a glance: the error of each algorithm on each scene, with its score below."""
    regions = {name: SceneRegions(scene, load_protocol(protocol)) for name, scene in scenes.items()}
    limits: list[float] = []
    rows = []
    for algorithm, own in maps.items():
        pictures, texts = [], []
        for name in scenes:
            measurement = Measurement(own[name], regions[name])
            limits.append(clip_limit(measurement))
            picture = heat(measurement, None, "", np.abs(measurement.error), "px", limits[-1])
            pictures.append(_narrowed(render(picture), width))
            texts.append(f"{name}: {captions[algorithm][name]}" if captions[algorithm][name] else name)
        rows.append(PictureRow(algorithm, tuple(pictures), tuple(texts)))
    low, high = min(limits), max(limits)
    span = f"{low:g} px" if low == high else f"{low:g} to {high:g} px by image width"
    caption = f"Error from 0 (dark) to {span} (bright); hatched: no estimate; black: no ground truth."
    return PictureRows("Every scene at a glance", caption, tuple(rows))


def _narrowed(picture: Colours, width: int) -> Colours:
    height = max(1, round(picture.shape[0] * width / picture.shape[1]))
    return np.asarray(cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
