"""Figures of pictures: galleries of all algorithms on one scene, and rows of pictures with captions.

A gallery shows the maps from best to worst by one metric: Honauer et al., The HCI Stereo Metrics, 2015, supplement,
figures 7, 8, 11 and 12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from stereogauge.errors import StereogaugeError
from stereogauge.figures.pictures import Colours, Crop, LegendEntry, PictureFigure, PicturePanel
from stereogauge.metrics.costs import Costs
from stereogauge.ranking.ranks import final_ranks
from stereogauge.scores.aggregation import oriented
from stereogauge.scores.cube import ScoreCube
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
    order = np.argsort(costs[:, index], kind="stable")
    ranks = final_ranks(np.where(np.isnan(costs), np.inf, costs).T).T
    placed = [here.column(other) for other in others]
    further = {name: _ranked(values, here.algorithms) for name, values in (beside or {}).items()}
    items = tuple(
        GalleryItem(
            algorithm=here.algorithms[row],
            rank=int(ranks[row, index]),
            score="no score" if np.isnan(scores[row]) else f"{scores[row]:.3g} {unit}".strip(),
            other_ranks=(
                *(None if np.isnan(costs[row, other]) else int(ranks[row, other]) for other in placed),
                *(found[here.algorithms[row]] for found in further.values()),
            ),
            pictures=tuple(pictures[here.algorithms[row]]),
        )
        for row in order
    )
    return Gallery(
        title=f"{scene}: results from best to worst by {shown.label}",
        caption=_caption(here.take(columns=[index, *[other for other in placed if other != index]]), crop),
        metric=shown.label,
        scene=scene,
        others=(*(here.columns[other].label for other in placed), *further),
        rows=rows,
        items=items,
        reference=reference,
        legend=tuple(legend),
    )


def _ranked(costs: Mapping[str, float], algorithms: tuple[str, ...]) -> dict[str, int | None]:
    values = np.array([costs.get(name, np.nan) for name in algorithms])
    ranks = final_ranks(np.where(np.isnan(values), np.inf, values)[None])[0]
    return {
        name: None if np.isnan(value) else int(rank)
        for name, value, rank in zip(algorithms, values, ranks, strict=True)
    }


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
