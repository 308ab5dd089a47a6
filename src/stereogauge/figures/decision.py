"""Figures of an answer and its explanation: differences, error curves, and pictures of where two algorithms differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stereogauge.decision.explain import Explanation
from stereogauge.decision.pixels import Contrast, PixelAgreement
from stereogauge.figures import chart as vl
from stereogauge.figures.chart import Chart, Row
from stereogauge.figures.palette import INK, OKABE_ITO, Styles, complete
from stereogauge.figures.pictures import (
    Colours,
    LegendEntry,
    PictureFigure,
    disparity_limits,
    image_colours,
    narrowed,
    picture_row,
    render,
    render_disparity,
)
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import clip_limit, heat
from stereogauge.model import Mask, Scene
from stereogauge.protocol import Protocol, load_protocol

GREY = 0.35  # how much of the colour is left of pixels that do not count
FIRST, SECOND = OKABE_ITO[0], OKABE_ITO[1]
MOST_CROPS, LEAST_ROWS = 4, 160
GLANCE = 240  # px: width of a map at a glance


def difference_bars_data(found: Explanation) -> Chart:
    """What the difference of two scores is made of: amounts by metric, by scene and by region, each summing to it.

    Rows: by, name, amount (negative amounts favour the first algorithm), favours.
    """
    terms = sorted(found.terms, key=lambda reason: reason.amount)
    regions = [piece for piece in found.regions if piece.amount or piece.attributed]
    groups = {"metric": [(reason.words, reason.amount) for reason in terms]}
    if len(found.scenes) > 1:
        scenes = sorted(found.scenes, key=lambda piece: piece.amount)
        groups["scene"] = [(piece.name, piece.amount) for piece in scenes]
    groups["region"] = [(piece.name, piece.amount) for piece in regions]
    sides = {f"favours {found.first}": FIRST, f"favours {found.second}": SECOND}
    rows: list[Row] = [
        {"by": by, "name": name, "amount": float(amount), "favours": list(sides)[amount > 0]}
        for by, pieces in groups.items()
        for name, amount in pieces
    ]
    axis = "adds to the difference of the weighted scores"
    amounts = [0.0, *(row["amount"] for row in rows)]
    limits = {"domain": [min(amounts), max(amounts)]}
    views = []
    for by, pieces in groups.items():
        last = by == list(groups)[-1]
        bars = {
            "x": vl.quantity("amount", axis if last else None, scale=limits, axis={"labels": last}),
            "y": vl.names("name", [name for name, _ in pieces]),
            "color": vl.scaled("favours", sides, vl.PAGE),
            "tooltip": vl.hover(("name", by), ("amount", "adds", "+.4f"), "favours"),
        }
        drawn = vl.layer("bar", bars, where=vl.equal("by", by))
        size = {"width": 0.5 * vl.PAGE, "height": vl.ROW * len(pieces)}
        views.append({**size, "title": vl.heading(f"by {by}"), "layer": [drawn]})
    return Chart(
        f"{found.first} against {found.second}: what their difference of {found.difference:+.3f} is made of",
        f"{found.purpose}. Every group of bars sums to the difference; bars to the left favour {found.first}.",
        rows,
        {"vconcat": views, "resolve": {"scale": {"color": "shared"}}, "spacing": 8},
    )


def error_curves_data(found: PixelAgreement, styles: Styles | None = None) -> Chart:
    """The curves of bad@δ over δ, in per cent. Rows: algorithm, threshold, bad."""
    region = found.column.partition(":")[2] or "all"
    marks = complete(styles, found.algorithms)
    rows = [
        row
        for name, curve in zip(found.algorithms, found.curves, strict=True)
        for row in vl.tidy(
            algorithm=name, threshold=found.thresholds, bad=100 * np.asarray(curve), place=range(len(curve))
        )
    ]
    ticks = [tick for tick in (0.125, 0.25, 0.5, 1, 2, 4, 8, 16) if found.thresholds[0] <= tick <= found.thresholds[-1]]
    channels = vl.algorithm_marks(marks, 1.4 * vl.COLUMN)
    logarithmic = {"type": "log", "base": 2, "nice": False}
    axis = {"values": ticks, "format": "~g"}
    place = {
        "x": vl.quantity("threshold", "threshold δ, px", scale=logarithmic, axis=axis),
        "y": vl.quantity("bad", "bad@δ, %"),
        "tooltip": vl.hover("algorithm", ("threshold", "threshold δ, px", ".2f"), ("bad", "bad@δ, %", ".1f")),
    }  # fmt: skip
    view = vl.layered(
        vl.layer("line", {**place, "color": channels["color"]}),
        vl.layer("point", {**place, **channels}, where="datum.place % 8 === 0", size=26),
        vl.layer("point", place, opacity=0, size=70),
        width=1.4 * vl.COLUMN,
        height=230,
    )
    return Chart(
        "Without a threshold: share of pixels with an error above δ",
        f"Mean over {len(found.scenes)} scenes, region {region}; missing estimates count as wrong.",
        rows,
        view,
        "algorithm",
    )


def profile_line_data(found: Contrast) -> Chart | None:
    """Disparities along part of a row where the maps differ by a shift that no crop shows; None where they do not.

    Rows: of (truth or algorithm), x, disparity.
    """
    line = found.line
    if line is None:
        return None
    colours = {"ground truth": INK, found.first: FIRST, found.second: SECOND}
    rows = [
        row
        for name, values in zip(colours, (line.truth, line.first, line.second), strict=True)
        for row in vl.tidy(of=name, x=range(line.left, line.left + len(values)), disparity=values)
    ]
    encoding = {
        "x": vl.quantity("x", "column, px", scale={"zero": False, "nice": False}, axis={"format": "d"}),
        "y": vl.quantity("disparity", "disparity, px", scale={"zero": False}),
        "color": vl.scaled("of", colours, 1.4 * vl.COLUMN),
        "tooltip": vl.hover("of", ("x", "column, px", "d"), ("disparity", "disparity, px", ".2f")),
    }
    return Chart(
        f"{found.scene.id}, row {line.row}: {found.first} and {found.second} differ by {found.shift:+.2f} px",
        "Where the ground truth varies least. A shift as small as this shows in no crop.",
        rows,
        vl.layered(vl.layer("line", encoding), width=1.4 * vl.COLUMN, height=180),
        "of",
    )


def contrast_rows_data(found: Sequence[Contrast]) -> PictureFigure:
    """The four-colour map and the map of |e_A| − |e_B| of each scene."""
    rows = [
        picture_row(
            one.text, (render(one.verdict), render(one.gain)), ("who is right", "|e| of the first − of the second")
        )
        for one in found
    ]
    first, second = found[0].first, found[0].second
    legend = tuple(LegendEntry(*entry) for entry in found[0].verdict.legend.values())
    caption = (
        f"Right: {found[0].column}. In the second picture blue is where {first} is nearer the truth, red where "
        f"{second} is. Pixels that do not count show the image."
    )
    return PictureFigure(f"{first} against {second}, pixel by pixel", caption, rows, legend)


def crop_rows_data(found: Sequence[Contrast]) -> PictureFigure:
    """The crops that differ most over all scenes: image, truth, both maps, both errors."""
    crops = sorted(
        ((one, crop) for one in found for crop in one.crops),
        key=lambda pair: -abs(pair[1].gain) * pair[0].counted.sum(),
    )[:MOST_CROPS]
    first, second = found[0].first, found[0].second
    titles = ("left image", "ground truth", first, second, f"error, {first}", f"error, {second}")
    rows = []
    for one, crop in crops:
        right, wrong = (first, second) if crop.gain > 0 else (second, first)
        heading = (
            f"{one.scene.id} at {crop.left}, {crop.top}: {right} is right where {wrong} is wrong. Wrong here: {first} "
            f"{100 * crop.first_wrong:.0f} %, {second} {100 * crop.second_wrong:.0f} %"
        )
        pictures = _panels(one)
        kept = titles if one.scene.has("left") else titles[1:]
        rows.append(picture_row(heading, [_magnified(one[crop.window]) for one in pictures], kept))
    caption = f"Ranked by what they add to the difference in {found[0].column}; pixels that it does not count are grey."
    return PictureFigure(f"Where {first} and {second} differ most", caption, rows)


def _panels(found: Contrast) -> list[Colours]:
    """Left image where there is one, truth, both maps and both errors, whole and greyed where pixels do not count."""
    limits = disparity_limits(found.scene.gt)
    shown = [image_colours(found.scene.left)] if found.scene.has("left") else []
    maps = [render_disparity(values, limits) for values in (found.scene.gt, *found.estimates)]
    regions = SceneRegions(found.scene, load_protocol(None))
    errors = []
    for estimate in found.estimates:
        measurement = Measurement(estimate, regions)
        errors.append(render(heat(measurement, None, "", np.abs(measurement.error), "px", clip_limit(measurement))))
    return [*shown, *maps, *(greyed(picture, found.counted) for picture in errors)]


def greyed(picture: Colours, counted: Mask) -> Colours:
    """The picture with faint grey where pixels do not count."""
    faint = (GREY * picture.mean(axis=2, keepdims=True) + (1 - GREY) * 235).astype(np.uint8)
    return np.where(counted[..., None], picture, faint)


def _magnified(picture: Colours) -> Colours:
    """A crop enlarged by whole pixels to at least `LEAST_ROWS` rows."""
    factor = max(1, -(-LEAST_ROWS // max(1, picture.shape[0])))
    return np.asarray(np.kron(picture, np.ones((factor, factor, 1), np.uint8)), np.uint8)


def glance_rows_data(
    scenes: Mapping[str, Scene],
    maps: Mapping[str, Mapping[str, NDArray[np.float32]]],
    captions: Mapping[str, Mapping[str, str]],
    protocol: Protocol | None = None,
) -> PictureFigure:
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
            pictures.append(narrowed(render(picture), GLANCE))
            texts.append(f"{name}: {captions[algorithm][name]}" if captions[algorithm][name] else name)
        rows.append(picture_row(algorithm, pictures, texts))
    low, high = min(limits), max(limits)
    span = f"{low:g} px" if low == high else f"{low:g} to {high:g} px by image width"
    caption = f"Error from 0 (dark) to {span} (bright); hatched: no estimate; black: no ground truth."
    return PictureFigure("Every scene at a glance", caption, rows)
