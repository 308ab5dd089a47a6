"""Layers of a scene as pictures, pixel for pixel, with the texts and numbers of their legends."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from stereogauge.errors import NotApplicable, StereogaugeError
from stereogauge.figures.geometry import SET_LAYERS
from stereogauge.figures.pictures import (
    COLOUR_MAPS,
    MISSING,
    Crop,
    LegendEntry,
    PictureFigure,
    PicturePanel,
    colour_table,
    image_colours,
    legend_entries,
    picture_crops,
    picture_limits,
    render,
    render_disparity,
)
from stereogauge.masks.expression import parse_region
from stereogauge.metrics.picture import Picture
from stereogauge.model import DisparityMap
from stereogauge.scores.column import metric_of
from stereogauge.web.cache import RecentCache
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.hiding import coarse
from stereogauge.web.responses import Plain, plain
from stereogauge.web.scenes.contrasts import contrasted, hardness
from stereogauge.web.scenes.reader import SceneQuery, SceneReader, SceneView

LayerName = Literal[
    "left",
    "right",
    "truth",
    "estimate",
    "error",
    "signed",
    "metric",
    "region",
    "set",
    "confidence",
    "contrast",
    "closer",
    "hard",
]
MOST_PICTURE_BYTES = 128 << 20
MOST_VALUES = 4_000_000
ERROR_CLIP = 5.0
"""px; the default at which errors are clipped."""
COARSE_BLOCKS = 16
"""Blocks over the longer side of a hidden scene."""
MOSTLY_UNKNOWN = "most pixels lack ground truth or estimate"
OVERLAY_COLOUR = (213, 94, 0)
"""Vermilion: neither the map of disparities nor a photograph's usual colours hide it."""
BAR_STEPS = 17
OF_REGION = ("error", "signed", "metric")
"""Layers that grey the pixels outside of a region."""
NOT_COUNTED = (198, 201, 204)
HATCHED = "hatched"
"""The colour of what has no estimate."""
PHOTOGRAPHS = ("left", "right")
UNFILTERED = (19, 8)
"""`IMWRITE_PNG_FILTER` and its value for none (OpenCV before 4.12 does not name them): pictures with few colours are
smaller without filters, and written in half the time.
"""


class LayerOptions(BaseModel, frozen=True):
    """What a request says of a layer."""

    algorithm: str | None = Field(None, description="Whose map.")
    metric: str | None = Field(None, description="For the layer `metric`.")
    region: str | None = Field(None, description="For the layers `region` and `set`; greys other pixels of errors.")
    limit: float | None = Field(None, alias="range", gt=0, le=1e6, description="Where errors are clipped, in px.")
    density: float | None = Field(
        None, ge=0, le=1, description="For the layer `confidence`: the share of pixels to keep."
    )
    crop: str | None = Field(
        None, pattern=r"^\d{1,6},\d{1,6},\d{1,6}$", description="Only the square x,y,side, in pixels."
    )
    other: str | None = Field(None, description="The second algorithm, for `contrast` and `closer`.")
    width: int | None = Field(None, ge=8, le=4096, description="Width of the picture, for previews.")


class LayerQuery(LayerOptions, frozen=True):
    """The layer of a scene to draw."""

    scene: SceneQuery
    layer: LayerName


class Layer(Struct, frozen=True):
    """Colours (height, width, 3 or 4), what their legend says, and the numbers behind them, which a photograph has not.

    `scale` is a picture with the colour scale, where there is one. A metric's picture has the score of the pixels that
    it shows, and crops, each with its number of pixels, where these are a small set.
    """

    title: str
    colours: NDArray[np.uint8]
    values: NDArray[Any] | None = None
    unit: str = ""
    legend: Sequence[LegendEntry] = ()
    scale: Picture | None = None
    note: str = ""
    score: float | None = None
    crops: Sequence[tuple[Crop, int]] = ()

    def about(self) -> Plain:
        """The legend: title, unit, and the range of the colour bar or the entries for the colours."""
        height, width = self.colours.shape[:2]
        table = None if self.scale is None else colour_table(self.scale.kind)
        places = np.linspace(0, 255, BAR_STEPS).round().astype(int)
        return plain(
            self,
            ("title", "unit", "note", "score"),
            width=width,
            height=height,
            limits=None if self.scale is None else picture_limits(self.scale),
            bar=[] if table is None else ["#" + bytes(table[place]).hex() for place in places],
            legend=[{"text": one.text, "colour": HATCHED if one.hatched else one.colour} for one in self.legend],
            crops=[{**crop._asdict(), "pixels": pixels} for crop, pixels in self.crops],
        )


class LayerPainter:
    """Draws layers and keeps the finished PNG files."""

    def __init__(self, scenes: SceneReader) -> None:
        self.scenes = scenes
        self._layers: RecentCache[tuple[bytes, str, Plain]] = RecentCache(MOST_PICTURE_BYTES)

    def png(self, query: LayerQuery) -> tuple[bytes, str, Plain]:
        """The file, its entity tag and its legend."""
        return self._layers.get((self.scenes.source.version(), query), lambda: self._encoded(query))

    def _encoded(self, query: LayerQuery) -> tuple[bytes, str, Plain]:
        import cv2

        layer = self.paint(query)
        colours = cut(layer.colours, query.crop, query.width)
        order = cv2.COLOR_RGBA2BGRA if colours.shape[2] == 4 else cv2.COLOR_RGB2BGR
        options = [cv2.IMWRITE_PNG_COMPRESSION, 2, *(() if query.layer in PHOTOGRAPHS else UNFILTERED)]
        encoded = cv2.imencode(".png", cv2.cvtColor(colours, order), options)[1]
        data = np.asarray(encoded).tobytes()
        return data, hashlib.sha256(data).hexdigest()[:24], layer.about()

    def svg(self, query: LayerQuery, title: str, caption: str) -> str:
        """The layer under a title, with its colour bar or legend and a caption."""
        layer = self.paint(query)
        panel = PicturePanel(on_white(cut(layer.colours, query.crop, query.width)))
        return PictureFigure(title, caption, [[panel]], layer.legend, scale=layer.scale).svg()

    def csv(self, query: LayerQuery) -> str:
        """The numbers behind a layer, one line per row of pixels; empty where there is none."""
        view = self.scenes.view(query.scene)
        self.scenes.refuse_hidden(view, "the numbers of its maps are")
        values = self.paint(query).values
        if values is None or values.ndim != 2:  # rows and columns; finished colours have a third
            raise StereogaugeError("A photograph has no numbers to save; save it as PNG.")
        if query.crop is not None:
            values = cropped(values, query.crop)
        if values.size > MOST_VALUES:
            raise StereogaugeError(f"A file of numbers has at most {MOST_VALUES} of them; found {values.size}.")
        return "".join(
            ",".join("" if value != value else f"{value:.6g}" for value in row) + "\n"  # NaN
            for row in values.astype(np.float64).tolist()
        )

    def paint(self, query: LayerQuery) -> Layer:
        """The layer's colours; errors outside of a named region are greyed."""
        view = self.scenes.view(query.scene)
        layer = self._painted(view, query)
        if query.layer not in OF_REGION or query.region is None or view.hidden:
            return layer
        return greyed(layer, ~self.scenes.mask(view, query.region), query.region)

    def _painted(self, view: SceneView, query: LayerQuery) -> Layer:
        if query.layer in PHOTOGRAPHS:
            return self._photograph(view, query.layer)
        if query.layer == "truth":
            limits = self.scenes.limits(view)
            return _disparity("ground truth", self.scenes.truth(view), limits)
        if query.layer == "region":
            return self._region(view, _needed(query.region, "region"))
        if query.layer == "hard":
            return _pictured(hardness(self.scenes, view, _needed(query.metric, "metric")))
        if query.layer == "set":
            return self._set(view, _needed(query.region, "region"))
        algorithm = _needed(query.algorithm, "algorithm")
        if query.layer in ("contrast", "closer"):
            other, column = _needed(query.other, "other"), _needed(query.metric, "metric")
            found = contrasted(self.scenes, view, algorithm, other, column)
            return _pictured(found.verdict if query.layer == "contrast" else found.gain)
        if query.layer == "estimate":
            limits = self.scenes.limits(view, algorithm)
            return _disparity(algorithm, self.scenes.shown(algorithm, view), limits)
        if query.layer == "confidence":
            return self._confidence(view, algorithm, query)
        if query.layer == "metric":
            return self._metric(view, algorithm, _needed(query.metric, "metric"), query.region)
        return self._error(view, algorithm, query)

    def _metric(self, view: SceneView, algorithm: str, metric: str, region: str | None) -> Layer:
        """A metric's picture with its score: on its own pixels, the named region, or all."""
        self.scenes.refuse_hidden(view, f"the picture of {metric} is")
        bound, measurement = metric_of(metric), self.scenes.measurement(view, algorithm, metric)
        picture = bound.picture(measurement)
        try:
            score = bound.value(measurement, bound.metric.region or region or "all")
        except NotApplicable:
            score = math.nan
        return replace(_pictured(picture), score=score if math.isfinite(score) else None, crops=picture_crops(picture))

    def _photograph(self, view: SceneView, side: str) -> Layer:
        image = view.scene.left if side == "left" else view.scene.right
        return Layer(f"{side} image", np.ascontiguousarray(image_colours(image)))

    def _region(self, view: SceneView, region: str) -> Layer:
        mask = self.scenes.mask(view, region)
        colours = np.zeros((*mask.shape, 4), np.uint8)
        colours[mask] = (*OVERLAY_COLOUR, 140)
        words = parse_region(region, view.scene.masks).words
        legend = [LegendEntry(f"{region}: {words}", "#" + bytes(OVERLAY_COLOUR).hex())]
        return Layer(f"region {region}", colours, mask, legend=legend)

    def _set(self, view: SceneView, name: str) -> Layer:
        """A geometry set of the scene, or a step on the way to it."""
        self.scenes.refuse_hidden(view, "its sets are")
        if name not in SET_LAYERS:
            raise UnknownChoiceError("set", name, SET_LAYERS)
        picture = SET_LAYERS[name](view.regions)
        if picture is None:
            raise StereogaugeError(f"{view.name} has no {name}.")
        return _pictured(picture)

    def _confidence(self, view: SceneView, algorithm: str, query: LayerQuery) -> Layer:
        """The map at a density: only its most confident pixels; without a density the confidence itself."""
        maps = self.scenes.confidence(algorithm, view)
        metric = query.metric or next(iter(maps), "")
        if metric not in maps:
            raise UnknownChoiceError(f"confidence map of {algorithm} on {view.name}", metric, maps)
        values = coarse(maps[metric]) if view.hidden else maps[metric]
        if query.density is None:
            stored = self.scenes.maps(algorithm, view).confidence[metric]
            better = stored.direction or "higher"
            shown = values if better == "lower" else -values
            return _pictured(
                Picture(f"confidence {metric}, {better} = sure", shown, "sequential", missing=np.isnan(values))
            )
        limits = self.scenes.limits(view, algorithm)
        kept = most_confident(-values, query.density)
        estimate = np.where(kept, self.scenes.shown(algorithm, view), np.float32(np.nan))
        title = f"{algorithm}, the {100 * query.density:.0f} % most confident pixels"
        return _disparity(title, estimate, limits)

    def _error(self, view: SceneView, algorithm: str, query: LayerQuery) -> Layer:
        if view.hidden and "blocks" in self.scenes.hidden.shows:
            return self._coarse(view, algorithm)
        self.scenes.refuse_hidden(view, "where errors lie is")
        measurement = self.scenes.measurement(view, algorithm)
        difference = measurement.estimate - self.scenes.truth(view)
        limit = query.limit or ERROR_CLIP
        signed = query.layer == "signed"
        picture = Picture(
            title=f"signed error, clipped at ±{limit:g} px" if signed else f"absolute error, clipped at {limit:g} px",
            values=difference if signed else np.abs(difference),
            kind="diverging" if signed else "sequential",
            unit="px",
            limits=(-limit if signed else 0.0, limit),
            unknown=~view.regions.known,
            missing=view.regions.known & np.isnan(measurement.estimate),
        )
        return _pictured(picture)

    def _coarse(self, view: SceneView, algorithm: str) -> Layer:
        """Mean absolute error in large blocks: the only picture of errors on a hidden scene.

        Always clipped at the same value: means under many clips would give the distribution of errors in a block.
        """
        measurement = self.scenes.measurement(view, algorithm)
        error = np.minimum(np.abs(measurement.estimate - view.scene.gt), ERROR_CLIP)
        side = -(-max(error.shape) // COARSE_BLOCKS)
        spread = in_even_blocks(error, side)
        title = f"mean error in blocks of about {side} px, clipped at {ERROR_CLIP:g} px"
        unknown = np.isnan(spread)
        layer = _pictured(Picture(title, spread, "sequential", "px", (0.0, ERROR_CLIP), unknown=unknown))
        legend = [LegendEntry(MOSTLY_UNKNOWN, "#000000")] if unknown.any() else []
        return replace(layer, legend=legend, note="The ground truth of this scene is hidden.", values=None)


def cut(colours: NDArray[np.uint8], crop: str | None, width: int | None) -> NDArray[np.uint8]:
    """The square (x, y, side) of a picture, scaled to a width; enlarged pixels stay pixels."""
    import cv2

    if crop is not None:
        colours = cropped(colours, crop)
    if width is None or width == colours.shape[1]:
        return np.ascontiguousarray(colours)
    height = max(1, round(colours.shape[0] * width / colours.shape[1]))
    kind = cv2.INTER_AREA if width < colours.shape[1] else cv2.INTER_NEAREST
    return np.asarray(cv2.resize(np.ascontiguousarray(colours), (width, height), interpolation=kind), np.uint8)


def cropped(values: NDArray[Any], crop: str) -> NDArray[Any]:
    """The square (x, y, side) of a map."""
    x, y, side = map(int, crop.split(","))
    square = values[max(0, y) : y + side, max(0, x) : x + side]
    if not square.size:
        raise StereogaugeError(f"The crop {crop} lies outside of the picture.")
    return square


def greyed(layer: Layer, outside: NDArray[np.bool_], region: str) -> Layer:
    """A layer with the pixels that a region does not count in one light grey, and a legend that says so."""
    if not outside.any():
        return layer
    colours = layer.colours.copy()
    colours[outside, :3] = NOT_COUNTED
    entry = LegendEntry(f"outside {region}: not counted", "#" + bytes(NOT_COUNTED).hex())
    values = layer.values
    if values is not None and values.ndim == 2:
        values = np.where(outside, np.nan, values)
    return replace(layer, colours=colours, legend=[*layer.legend, entry], values=values)


def most_confident(values: NDArray[np.float32], density: float) -> NDArray[np.bool_]:
    """The share `density` of the pixels with the largest values; equal values stay or go together."""
    known = values[np.isfinite(values)]
    if not known.size:
        return np.zeros(values.shape, np.bool_)
    least = np.quantile(known, 1 - density, method="inverted_cdf")
    return np.asarray(values >= least, np.bool_)


def in_even_blocks(values: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """Each pixel with the mean of its block; blocks of about `side` px, none much smaller than the others.

    NaN where fewer than half of a block's pixels have a value: a mean over a few pixels would reveal their values.
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


def on_white(colours: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Colours with transparency (height, width, 4) as seen on white paper; others as they are."""
    if colours.shape[2] == 3:
        return colours
    share = colours[..., 3:] / 255
    return np.asarray(colours[..., :3] * share + 255 * (1 - share), np.uint8)


def _disparity(title: str, values: DisparityMap, limits: tuple[float, float]) -> Layer:
    scale = Picture(title, values, "disparity", "px", limits)
    legend = [MISSING._replace(text="no value")]
    return Layer(title, render_disparity(values, limits), values, "px", legend, scale)


def _pictured(picture: Picture) -> Layer:
    scale = picture if picture.kind in COLOUR_MAPS else None
    return Layer(picture.title, render(picture), picture.values, picture.unit, legend_entries(picture), scale)
