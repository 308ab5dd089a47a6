"""Galleries: the maps of all algorithms on one scene, from best to worst by one metric.

Honauer et al., The HCI Stereo Metrics, 2015, supplement, figures 7, 8, 11 and 12.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.ranking.costs import oriented
from stereogauge.ranking.ranks import final_ranks
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.selection import Selection

Colours = NDArray[np.uint8]
Maps = Mapping[str, tuple[Colours, ...]]


class GalleryItem(NamedTuple):
    """One algorithm: its rank and score, its ranks by other columns, and its pictures (RGB, all of one size)."""

    algorithm: str
    rank: int
    score: str
    other_ranks: tuple[int | None, ...]
    pictures: tuple[Colours, ...]


class Gallery(NamedTuple):
    """The pictures of one scene, best first; `others` names the columns of the other ranks, `rows` the kinds."""

    title: str
    caption: str
    metric: str
    scene: str
    others: tuple[str, ...]
    rows: tuple[str, ...]
    items: tuple[GalleryItem, ...]


def gallery_data(
    cube: ScoreCube,
    scene: str,
    column: str,
    pictures: Maps,
    rows: tuple[str, ...] = ("disparity", "metric"),
    others: tuple[str, ...] = (),
) -> Gallery:
    """Order the algorithms that have pictures by their score in `column` on `scene`; those without a score come last.

    `pictures` holds for each algorithm as many RGB pictures as `rows` has names. `others` are columns whose ranks
    stand beside the score, as RMS does in the supplement.
    """
    here = cube.select(scenes=[scene], algorithms=[name for name in cube.algorithms if name in pictures])
    if not here.algorithms:
        raise StereogaugeError(
            f"No pictures of {scene}: none of {', '.join(cube.algorithms)} is among those handed over."
        )
    for name in here.algorithms:
        if len(pictures[name]) != len(rows):
            raise StereogaugeError(
                f"{name} has {len(pictures[name])} pictures for the {len(rows)} rows {', '.join(rows)}."
            )
    index = here.column(column)
    shown, scores = here.columns[index], here.values[:, 0, index]
    unit = shown.declared.metric.unit
    costs = oriented(here)[:, 0, :]
    order = np.argsort(costs[:, index], kind="stable")
    ranks = final_ranks(np.where(np.isnan(costs), np.inf, costs).T).T
    beside = [here.column(other) for other in others]
    items = tuple(
        GalleryItem(
            algorithm=here.algorithms[row],
            rank=int(ranks[row, index]),
            score="no score" if np.isnan(scores[row]) else f"{scores[row]:.3g} {unit}".strip(),
            other_ranks=tuple(None if np.isnan(costs[row, other]) else int(ranks[row, other]) for other in beside),
            pictures=tuple(pictures[here.algorithms[row]]),
        )
        for row in order
    )
    return Gallery(
        title=f"{scene}: results from best to worst by {shown.label}",
        caption=Selection.of(here.take(columns=[index, *[other for other in beside if other != index]])).caption(),
        metric=shown.label,
        scene=scene,
        others=tuple(here.columns[other].label for other in beside),
        rows=rows,
        items=items,
    )


def heading(gallery: Gallery, item: GalleryItem) -> str:
    """Rank, name and score of an item, then its ranks by the other columns."""
    others = [
        f"{name}: {'–' if rank is None else rank}." for name, rank in zip(gallery.others, item.other_ranks, strict=True)
    ]
    return "\n".join([f"{item.rank}. {item.algorithm}", f"{gallery.metric} {item.score}", *others])
