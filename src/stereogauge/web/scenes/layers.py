"""Layers of a scene as pictures, pixel for pixel, with the words and numbers that a legend needs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from stereogauge.errors import StereogaugeError
from stereogauge.figures.pictures import (
    COLOUR_MAPS,
    DISPARITY_MAP,
    Colours,
    picture_limits,
    render,
    render_disparity,
)
from stereogauge.metrics.picture import Picture
from stereogauge.scores.cube import metric_of
from stereogauge.web.cache import RecentCache
from stereogauge.web.scenes.gallery import Gallery, Place
from stereogauge.web.selection import UnknownChoiceError

LayerName = Literal["left", "right", "truth", "estimate", "error", "signed", "metric", "region", "confidence"]
LAYERS: tuple[str, ...] = get_args(LayerName)
MOST_PICTURE_BYTES = 256 << 20
ERROR_CLIP = 5.0
"""px at which errors are clipped unless asked otherwise."""
COARSE_BLOCKS = 16
"""Blocks over the longer side of a hidden scene."""
MOSTLY_UNKNOWN = "most pixels without truth or estimate"
OVERLAY_COLOUR = (213, 94, 0)
"""Vermilion: neither the map of disparities nor a photograph's usual colours hide it."""
BAR_STEPS = 17


@dataclass(frozen=True)
class Shown:
    """What picture is wanted."""

    scene: str
    layer: LayerName
    algorithm: str | None = None
    metric: str | None = None
    region: str | None = None
    limit: float | None = None
    density: float | None = None
    protocol: str | None = None


class LegendEntry(BaseModel):
    """A colour and what it stands for."""

    text: str
    colour: str


class LayerInfo(BaseModel):
    """What a layer shows: title, unit, the range of its colour bar, or the entries of its legend."""

    title: str
    unit: str
    width: int
    height: int
    limits: tuple[float, float] | None
    bar: list[str]
    legend: list[LegendEntry]
    note: str


@dataclass(frozen=True)
class Layer:
    """Colours (height, width, 3 or 4) and what is said about them."""

    colours: NDArray[np.uint8]
    info: LayerInfo


def colour_bar(name: str) -> list[str]:
    """A colour map as evenly spaced colours."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps[name](level)) for level in np.linspace(0, 1, BAR_STEPS)]


class LayerPainter:
    """Paints layers and keeps the finished PNG files."""

    def __init__(self, gallery: Gallery) -> None:
        self.gallery = gallery
        self._layers: RecentCache[tuple[bytes, str, LayerInfo]] = RecentCache(
            MOST_PICTURE_BYTES, lambda found: float(len(found[0]))
        )

    def png(self, shown: Shown) -> tuple[bytes, str, LayerInfo]:
        """The file, its entity tag and its legend."""
        return self._layers.get((self.gallery.desk.source.version(), shown), lambda: self._encoded(shown))

    def _encoded(self, shown: Shown) -> tuple[bytes, str, LayerInfo]:
        layer = self.paint(shown)
        colours = layer.colours
        order = cv2.COLOR_RGBA2BGRA if colours.shape[2] == 4 else cv2.COLOR_RGB2BGR
        encoded = cv2.imencode(".png", cv2.cvtColor(colours, order), [cv2.IMWRITE_PNG_COMPRESSION, 3])[1]
        data = np.asarray(encoded).tobytes()
        return data, hashlib.sha256(data).hexdigest()[:24], layer.info

    def paint(self, shown: Shown) -> Layer:
        """The layer's colours."""
        place = self.gallery.place(shown.scene, shown.protocol)
        if shown.layer in ("left", "right"):
            return self._photograph(place, shown.layer)
        if shown.layer == "truth":
            limits = self.gallery.limits(place)
            return _disparity("ground truth", render_disparity(self.gallery.truth(place), limits), limits)
        if shown.layer == "region":
            return self._region(place, _needed(shown.region, "region"))
        algorithm = _needed(shown.algorithm, "algorithm")
        if shown.layer == "estimate":
            limits = self.gallery.limits(place, algorithm)
            estimate = self.gallery.estimate(algorithm, place.name)
            return _disparity(algorithm, render_disparity(estimate, limits), limits)
        if shown.layer == "confidence":
            return self._confidence(place, algorithm, shown)
        if shown.layer == "metric":
            metric = _needed(shown.metric, "metric")
            self.gallery.refuse_hidden(place, f"the picture of {metric} is")
            return _pictured(metric_of(metric).picture(self.gallery.measurement(place, algorithm, metric)))
        return self._error(place, algorithm, shown)

    def _photograph(self, place: Place, side: str) -> Layer:
        image = place.scene.left if side == "left" else place.scene.right
        eight_bit = (image >> 8).astype(np.uint8) if image.dtype == np.uint16 else image.astype(np.uint8)
        colours = np.repeat(eight_bit[..., None], 3, axis=2) if eight_bit.ndim == 2 else eight_bit
        return Layer(np.ascontiguousarray(colours), _info(f"{side} image", colours))

    def _region(self, place: Place, region: str) -> Layer:
        mask = self.gallery.mask(place, region)
        colours = np.zeros((*mask.shape, 4), np.uint8)
        colours[mask] = (*OVERLAY_COLOUR, 140)
        legend = [LegendEntry(text=region, colour="#" + bytes(OVERLAY_COLOUR).hex())]
        return Layer(colours, _info(f"region {region}", colours, legend=legend))

    def _confidence(self, place: Place, algorithm: str, shown: Shown) -> Layer:
        """The map at a density: only its most confident pixels; without a density the confidence itself."""
        maps = self.gallery.confidence(algorithm, place.name)
        metric = shown.metric or next(iter(maps), "")
        if metric not in maps:
            raise UnknownChoiceError(f"confidence map of {algorithm} on {place.name}", metric, maps)
        values = maps[metric]
        if shown.density is None:
            return _pictured(Picture(f"confidence {metric}", values, "sequential", missing=np.isnan(values)))
        limits = self.gallery.limits(place, algorithm)
        kept = most_confident(values, shown.density)
        estimate = np.where(kept, self.gallery.estimate(algorithm, place.name), np.float32(np.nan))
        title = f"{algorithm}, the {100 * shown.density:.0f} % most confident pixels"
        return _disparity(title, render_disparity(estimate, limits), limits)

    def _error(self, place: Place, algorithm: str, shown: Shown) -> Layer:
        if place.hidden:
            return self._coarse(place, algorithm)
        measurement = self.gallery.measurement(place, algorithm)
        difference = measurement.estimate - self.gallery.truth(place)
        limit = shown.limit or ERROR_CLIP
        signed = shown.layer == "signed"
        picture = Picture(
            title=f"signed error, clipped at ±{limit:g} px" if signed else f"absolute error, clipped at {limit:g} px",
            values=difference if signed else np.abs(difference),
            kind="diverging" if signed else "sequential",
            unit="px",
            limits=(-limit if signed else 0.0, limit),
            unknown=~place.regions.known,
            missing=place.regions.known & np.isnan(measurement.estimate),
        )
        return _pictured(picture)

    def _coarse(self, place: Place, algorithm: str) -> Layer:
        """Mean absolute error in large blocks: all that may be seen of a hidden scene.

        Always clipped at the same value: means under many clips would give the distribution of errors in a block.
        """
        measurement = self.gallery.measurement(place, algorithm)
        error = np.minimum(np.abs(measurement.estimate - place.scene.gt), ERROR_CLIP)
        side = -(-max(error.shape) // COARSE_BLOCKS)
        spread = in_even_blocks(error, side)
        title = f"mean error in blocks of about {side} px, clipped at {ERROR_CLIP:g} px"
        unknown = np.isnan(spread)
        layer = _pictured(Picture(title, spread, "sequential", "px", (0.0, ERROR_CLIP), unknown=unknown))
        legend = [LegendEntry(text=MOSTLY_UNKNOWN, colour="#000000")] if unknown.any() else []
        note = "The ground truth of this scene is hidden."
        return Layer(layer.colours, layer.info.model_copy(update={"legend": legend, "note": note}))


def most_confident(values: NDArray[np.float32], density: float) -> NDArray[np.bool_]:
    """The share `density` of the pixels with the largest values; equal values stay or go together."""
    known = values[np.isfinite(values)]
    if not known.size:
        return np.zeros(values.shape, np.bool_)
    least = np.quantile(known, 1 - density, method="inverted_cdf")
    return np.asarray(values >= least, np.bool_)


def block_means(values: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """Means of the finite values in squares of `side` px; NaN where fewer than half of the pixels have one."""
    height, width = values.shape
    padded = np.full((-(-height // side) * side, -(-width // side) * side), np.nan, np.float32)
    padded[:height, :width] = values
    blocks = padded.reshape(padded.shape[0] // side, side, padded.shape[1] // side, side)
    known = np.isfinite(blocks)
    count = known.sum(axis=(1, 3))
    total = np.where(known, blocks, 0.0).sum(axis=(1, 3))
    means = np.full(count.shape, np.nan, np.float32)
    np.divide(total, count, out=means, where=count >= side * side // 2)
    return means


def in_even_blocks(values: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """Each pixel with the mean of its block; blocks of about `side` px, none much smaller than the others.

    NaN where fewer than half of a block's pixels have a value: a mean over a few pixels would tell their values.
    """
    bounds = [np.linspace(0, size, -(-size // side) + 1).round().astype(int) for size in values.shape]
    spread = np.full(values.shape, np.nan, np.float32)
    for top, bottom in pairwise(bounds[0]):
        for left, right in pairwise(bounds[1]):
            block = values[top:bottom, left:right]
            known = np.isfinite(block)
            if 2 * known.sum() >= block.size:
                spread[top:bottom, left:right] = block[known].mean()
    return spread


def _needed(value: str | None, name: str) -> str:
    if value is None:
        raise StereogaugeError(f"This layer needs the parameter {name}.")
    return value


def _disparity(title: str, colours: Colours, limits: tuple[float, float]) -> Layer:
    legend = [LegendEntry(text="no value", colour="hatched")]
    return Layer(colours, _info(title, colours, "px", limits, colour_bar(DISPARITY_MAP), legend))


def _pictured(picture: Picture) -> Layer:
    colours = render(picture)
    legend = [LegendEntry(text=text, colour=colour) for text, colour in picture.legend.values()]
    if picture.missing is not None and picture.missing.any():
        legend.append(LegendEntry(text="no estimate", colour="hatched"))
    if picture.unknown is not None and picture.unknown.any():
        legend.append(LegendEntry(text="no ground truth", colour="#000000"))
    if picture.kind not in COLOUR_MAPS:
        return Layer(colours, _info(picture.title, colours, picture.unit, legend=legend))
    bar = colour_bar(COLOUR_MAPS[picture.kind])
    return Layer(colours, _info(picture.title, colours, picture.unit, picture_limits(picture), bar, legend))


def _info(
    title: str,
    colours: NDArray[np.uint8],
    unit: str = "",
    limits: tuple[float, float] | None = None,
    bar: list[str] | None = None,
    legend: list[LegendEntry] | None = None,
) -> LayerInfo:
    return LayerInfo(
        title=title,
        unit=unit,
        width=colours.shape[1],
        height=colours.shape[0],
        limits=limits,
        bar=bar or [],
        legend=legend or [],
        note="",
    )
