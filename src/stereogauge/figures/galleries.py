"""Pictures of algorithms on a scene: galleries of all of them, rows of pictures with captions, and files.

A gallery shows the maps from best to worst by one metric: Honauer et al., The HCI Stereo Metrics, 2015, supplement,
figures 7, 8, 11 and 12.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

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

Maps = Mapping[str, tuple[Colours, ...]]


class PictureRow(NamedTuple):
    """Pictures (RGB) side by side under a heading, each with its caption."""

    heading: str
    pictures: tuple[Colours, ...]
    captions: tuple[str, ...]


class PictureRows(PictureFigure, Struct, frozen=True, eq=False):
    """Rows of pictures; `legend` explains the colours."""

    title: str
    caption: str
    rows: tuple[PictureRow, ...]
    legend: tuple[LegendEntry, ...] = ()

    def grid(self) -> list[list[PicturePanel]]:
        """A heading above each row and a caption below each picture."""
        return [
            [
                PicturePanel(picture, "" if place else row.heading, caption)
                for place, (picture, caption) in enumerate(zip(row.pictures, row.captions, strict=True))
            ]
            for row in self.rows
        ]


class GalleryItem(NamedTuple):
    """One algorithm: its rank and score, its ranks by other columns, and its pictures (RGB, all of one size)."""

    algorithm: str
    rank: int
    score: str
    other_ranks: tuple[int | None, ...]
    pictures: tuple[Colours, ...]


class Reference(NamedTuple):
    """What the maps are compared with: as many pictures as an algorithm has."""

    heading: str
    pictures: tuple[Colours, ...]


class Gallery(PictureFigure, Struct, frozen=True, eq=False):
    """The pictures of one scene, best first; `others` names the columns of the other ranks, `rows` the kinds.

    `reference` comes before the algorithms; `legend` explains the colours.
    """

    title: str
    caption: str
    metric: str
    scene: str
    others: tuple[str, ...]
    rows: tuple[str, ...]
    items: tuple[GalleryItem, ...]
    reference: Reference | None = None
    legend: tuple[LegendEntry, ...] = ()

    @property
    def panels(self) -> list[tuple[str, tuple[Colours, ...]]]:
        """Headings and pictures, the reference first, then the algorithms from best to worst."""
        front = [] if self.reference is None else [(self.reference.heading, self.reference.pictures)]
        return front + [(heading(self, item), item.pictures) for item in self.items]

    columns = 5

    def grid(self) -> list[list[PicturePanel]]:
        """Blocks of pictures under their headings, five side by side."""
        panels = self.panels
        return [
            [
                PicturePanel(pictures[kind], "" if kind else text)
                for text, pictures in panels[start : start + self.columns]
            ]
            for start in range(0, len(panels), self.columns)
            for kind in range(len(self.rows))
        ]


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
    pictures: Maps,
    rows: tuple[str, ...] = ("disparity", "metric"),
    others: tuple[str, ...] = (),
    beside: Mapping[str, Mapping[str, float]] | None = None,
    crop: Crop | None = None,
    reference: Reference | None = None,
    legend: Sequence[LegendEntry] = (),
) -> Gallery:
    """Order the algorithms that have pictures by their score in `column` on `scene`; those without a score come last.

    `pictures` holds for each algorithm as many RGB pictures as `rows` has names. `others` are columns whose ranks
    are shown beside the score, as RMS is in the supplement; `beside` adds ranks by further costs of each algorithm, by
    name. `crop` is the part of the image that all pictures show.
    """
    here = cube.select(scenes=[scene], algorithms=[name for name in cube.algorithms if name in pictures])
    if not here.algorithms:
        raise StereogaugeError(f"No pictures of {scene}: none of {', '.join(cube.algorithms)} is among those given.")
    for name in here.algorithms:
        if len(pictures[name]) != len(rows):
            raise StereogaugeError(
                f"{name} has {len(pictures[name])} pictures for the {len(rows)} rows {', '.join(rows)}."
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
    ranks, other_ranks = _ranks(costs[:, index]), [_ranks(one) for one in compared.values()]
    items = tuple(
        GalleryItem(
            algorithm=here.algorithms[row],
            rank=ranks[row],
            score="no score" if np.isnan(scores[row]) else f"{scores[row]:.3g} {unit}".strip(),
            other_ranks=tuple(
                None if np.isnan(values[row]) else own[row]
                for values, own in zip(compared.values(), other_ranks, strict=True)
            ),
            pictures=tuple(pictures[here.algorithms[row]]),
        )
        for row in np.argsort(costs[:, index], kind="stable")
    )
    return Gallery(
        title=f"{scene}: results from best to worst by {shown.label}",
        caption=_caption(here.take(columns=[index, *[other for other in placed if other != index]]), crop),
        metric=shown.label,
        scene=scene,
        others=tuple(compared),
        rows=rows,
        items=items,
        reference=reference,
        legend=tuple(legend),
    )


def _ranks(costs: Values) -> list[int]:
    """Ranks by costs; those that are not known come last."""
    return [int(rank) for rank in final_ranks(np.where(np.isnan(costs), np.inf, costs))]


def _caption(cube: ScoreCube, crop: Crop | None) -> str:
    text = Selection.of(cube).caption()
    if crop is None:
        return text
    return f"{text} · all pictures show {crop.width} × {crop.height} px at x {crop.x}, y {crop.y}"


def heading(gallery: Gallery, item: GalleryItem) -> str:
    """Rank, name and score of an item, then its ranks by the other columns."""
    ranks = zip(gallery.others, item.other_ranks, strict=True)
    others = [f"{name}: no rank" if rank is None else f"{name}: rank {rank}" for name, rank in ranks]
    return "\n".join([f"{item.rank}. {item.algorithm}", f"{gallery.metric} {item.score}", *others])


def write_pictures(folder: Path, maps: Mapping[str, Any], scene: Scene, protocol: Protocol) -> list[Path]:
    """One annotated picture per estimate and distinct metric map, and all disparity maps in one range.

    A picture of a metric has its score, and its rank among the estimates where there are several.
    """
    limits = disparity_limits(scene.gt)
    scene_regions = SceneRegions(scene, protocol)
    columns = {column.declared: column for column in reversed(columns_of(protocol.metrics, protocol.regions))}
    metrics = list(reversed(columns))
    scores = _scores(maps, scene_regions, columns)
    written = [folder / "ground-truth.png"]
    write_png(written[0], render_disparity(scene.gt, limits))
    for name, source in maps.items():
        estimate = load_disparity(source)
        written.append(folder / f"{file_name(name)}.png")
        write_png(written[-1], render_disparity(estimate, limits))
        measurement = Measurement(estimate, scene_regions, metrics=metrics)
        seen: set[str] = set()
        for metric in metrics:
            if not metric.metric.has_picture:
                continue
            try:
                picture = metric.picture(measurement)
            except NotApplicable:
                continue
            if picture.title in seen:
                continue
            seen.add(picture.title)
            written.append(folder / f"{file_name(name)}-{file_name(metric.id)}.png")
            save_picture(written[-1], picture, f"{name} on {scene.id}, {_score(scores, columns[metric], name)}")
    return written


def _scores(
    maps: Mapping[str, Any], scene_regions: SceneRegions, columns: Mapping[BoundMetric, Column]
) -> dict[Column, dict[str, float]]:
    """The score of each estimate by each metric that can be drawn."""
    found: dict[Column, dict[str, float]] = {}
    for name, source in maps.items():
        measurement = Measurement(load_disparity(source), scene_regions, metrics=columns)
        for metric, column in columns.items():
            if metric.metric.has_picture:
                with contextlib.suppress(NotApplicable):
                    found.setdefault(column, {})[name] = metric.value(measurement, column.region)
    return found


def _score(scores: Mapping[Column, Mapping[str, float]], column: Column, name: str) -> str:
    """Score and rank for the reader of a picture."""
    values = scores.get(column, {})
    value = values.get(name, math.nan)
    if math.isnan(value):
        return f"{column.label}: no score"
    unit = column.declared.metric.unit
    text = f"{column.label} {value:.3g} {unit}".strip()
    known = [one for one in values.values() if not math.isnan(one)]
    own, *costs = column_costs((column,), np.array([[value], *([one] for one in known)]))[:, 0].tolist()
    rank = 1 + sum(cost < own for cost in costs)
    return f"{text}, rank {rank} of {len(known)}" if len(known) > 1 else text
