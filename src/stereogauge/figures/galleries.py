"""Pictures of algorithms on a scene: galleries of all of them, rows of pictures with captions, and files.

A gallery shows the maps from best to worst by one metric: Honauer et al., The HCI Stereo Metrics, 2015, supplement,
figures 7, 8, 11 and 12.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.errors import NotApplicable, StereogaugeError
from stereogauge.figures.pictures import (
    Colours,
    Crop,
    LegendEntry,
    PictureFigure,
    PicturePanel,
    disparity_limits,
    file_name,
    render_disparity,
    save_picture,
    write_png,
)
from stereogauge.io.files import load_disparity
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.costs import Costs
from stereogauge.metrics.declaration import BoundMetric
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import Scene
from stereogauge.protocol import Protocol
from stereogauge.ranking.ranks import final_ranks
from stereogauge.scores.aggregation import column_costs, oriented
from stereogauge.scores.column import Column, columns_of
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import Selection

Card = tuple[str, tuple[Colours, ...]]
"""A heading, and the pictures below it."""
ABREAST = 5


class Gallery(PictureFigure, frozen=True, eq=False, kw_only=True):
    """The pictures of one scene as cards, each a heading with its pictures: the reference first, then the algorithms
    from best to worst. `kinds` says what the pictures of a card show.
    """

    cards: tuple[Card, ...]
    kinds: tuple[str, ...]


def most_different_crop(costs: Sequence[Costs], share: float) -> Crop:
    """The part of the image, `share` of its width and height, in which the algorithms' costs differ most.

    Differences are standard deviations over the algorithms; a pixel that the metric does not count costs nothing. Where
    nothing differs it is the part with most pixels that the metric counts, and of equal ones the middle.

    >>> first, second = np.zeros((50, 100)), np.zeros((50, 100))
    >>> second[30:, 70:] = 1.0
    >>> most_different_crop([first, second], 0.4)
    Crop(x=60, y=30, width=40, height=20)
    """
    stacked = np.stack([np.nan_to_num(one) for one in costs])
    spread = stacked.std(axis=0)
    if not spread.any():
        spread = np.isfinite(costs).any(axis=0).astype(np.float64)
    height, width = spread.shape
    tall, wide = max(1, round(share * height)), max(1, round(share * width))
    sums = np.pad(spread.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    windows = sums[tall:, wide:] - sums[:-tall, wide:] - sums[tall:, :-wide] + sums[:-tall, :-wide]
    best = np.argwhere(windows >= windows.max() * (1 - 1e-9))
    y, x = best[np.abs(best - best.mean(axis=0)).sum(axis=1).argmin()]
    return Crop(int(x), int(y), wide, tall)


def gallery_data(
    cube: ScoreCube,
    scene: str,
    column: str,
    pictures: Mapping[str, tuple[Colours, ...]],
    kinds: tuple[str, ...] = ("disparity", "metric"),
    others: tuple[str, ...] = (),
    beside: Mapping[str, Mapping[str, float]] | None = None,
    crop: Crop | None = None,
    reference: Card | None = None,
    legend: Sequence[LegendEntry] = (),
) -> Gallery:
    """Order the algorithms that have pictures by their score in `column` on `scene`; those without a score come last.

    `pictures` holds for each algorithm as many RGB pictures as `kinds` has names. `others` are columns whose ranks
    are shown beside the score, as RMS is in the supplement; `beside` adds ranks by further costs of each algorithm, by
    name. `crop` is the part of the image that all pictures show, `reference` what the maps are compared with.
    """
    here = cube.select(scenes=[scene], algorithms=[name for name in cube.algorithms if name in pictures])
    if not here.algorithms:
        raise StereogaugeError(f"No pictures of {scene}: none of {', '.join(cube.algorithms)} is among those given.")
    for name in here.algorithms:
        if len(pictures[name]) != len(kinds):
            raise StereogaugeError(
                f"{name} has {len(pictures[name])} pictures for the {len(kinds)} rows {', '.join(kinds)}."
            )
    index = here.column(column)
    shown, scores = here.columns[index], here.values[:, 0, index]
    unit = shown.unit(here.depth_unit)
    costs = oriented(here)[:, 0, :]
    placed = [here.column(other) for other in others]
    compared = {here.columns[other].label: costs[:, other] for other in placed}
    compared |= {
        name: np.array([values.get(algorithm, np.nan) for algorithm in here.algorithms])
        for name, values in (beside or {}).items()
    }
    ranks = _ranks(costs[:, index])
    others_ranks = {name: _ranks(one) for name, one in compared.items()}
    cards = [] if reference is None else [reference]
    for row in np.argsort(costs[:, index], kind="stable").tolist():
        name = here.algorithms[row]
        score = "no score" if np.isnan(scores[row]) else f"{scores[row]:.3g} {unit}".strip()
        ranked = [
            f"{other}: no rank" if np.isnan(compared[other][row]) else f"{other}: rank {own[row]}"
            for other, own in others_ranks.items()
        ]
        heading = "\n".join([f"{ranks[row]}. {name}", f"{shown.label} {score}", *ranked])
        cards.append((heading, tuple(pictures[name])))
    caption = Selection.of(here.take(columns=list(dict.fromkeys([index, *placed])))).caption()
    if crop is not None:
        caption += f" · all pictures show {crop.width} × {crop.height} px at x {crop.x}, y {crop.y}"
    return Gallery(
        f"{scene}: results from best to worst by {shown.label}",
        caption,
        [
            [PicturePanel(own[kind], "" if kind else heading) for heading, own in cards[start : start + ABREAST]]
            for start in range(0, len(cards), ABREAST)
            for kind in range(len(kinds))
        ],
        tuple(legend),
        ABREAST,
        cards=tuple(cards),
        kinds=kinds,
    )


def _ranks(costs: Values) -> list[int]:
    """Ranks by costs; those that are not known come last."""
    return [int(rank) for rank in final_ranks(np.where(np.isnan(costs), np.inf, costs))]


def write_pictures(folder: Path, maps: Mapping[str, Any], scene: Scene, protocol: Protocol) -> list[Path]:
    """One annotated picture per estimate and distinct metric map, and all disparity maps in one range.

    A picture of a metric has its score, and its rank among the estimates where there are several.
    """
    limits = disparity_limits(scene.gt)
    scene_regions = SceneRegions(scene, protocol)
    columns: dict[BoundMetric, Column] = {}
    for column in columns_of(protocol.metrics, protocol.regions):
        if column.declared.metric.has_picture:
            columns.setdefault(column.declared, column)
    scores: dict[Column, dict[str, float]] = {column: {} for column in columns.values()}
    for name, source in maps.items():
        measurement = Measurement(load_disparity(source), scene_regions, metrics=columns)
        for metric, column in columns.items():
            with contextlib.suppress(NotApplicable):
                scores[column][name] = metric.value(measurement, column.region)
    written = [folder / "ground-truth.png"]
    write_png(written[0], render_disparity(scene.gt, limits))
    for name, source in maps.items():
        estimate = load_disparity(source)
        written.append(folder / f"{file_name(name)}.png")
        write_png(written[-1], render_disparity(estimate, limits))
        measurement = Measurement(estimate, scene_regions, metrics=columns)
        seen: set[str] = set()
        for metric, column in columns.items():
            try:
                picture = metric.picture(measurement)
            except NotApplicable:
                continue
            if picture.title in seen:
                continue
            seen.add(picture.title)
            written.append(folder / f"{file_name(name)}-{file_name(metric.id)}.png")
            save_picture(written[-1], picture, f"{name} on {scene.id}, {_score(column, scores[column], name)}")
    return written


def _score(column: Column, values: Mapping[str, float], name: str) -> str:
    """Score and rank for the reader of a picture."""
    value = values.get(name, math.nan)
    if math.isnan(value):
        return f"{column.label}: no score"
    unit = column.declared.metric.unit
    text = f"{column.label} {value:.3g} {unit}".strip()
    known = [one for one in values.values() if not math.isnan(one)]
    own, *costs = column_costs((column,), np.array([[value], *([one] for one in known)]))[:, 0].tolist()
    rank = 1 + sum(cost < own for cost in costs)
    return f"{text}, rank {rank} of {len(known)}" if len(known) > 1 else text
