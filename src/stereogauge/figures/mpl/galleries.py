"""Matplotlib renderer of galleries."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from stereogauge.figures.data.galleries import Gallery, heading
from stereogauge.figures.mpl.figure import PAGE_WIDTH, SMALL, figure_of, new_figure

SIDE_BY_SIDE = 5


@figure_of.register
def gallery(data: Gallery) -> Figure:
    """Blocks of pictures under their headings, five algorithms side by side, best first."""
    columns = min(SIDE_BY_SIDE, len(data.items))
    blocks, kinds = math.ceil(len(data.items) / columns), len(data.rows)
    height, width = data.items[0].pictures[0].shape[:2]
    tall = PAGE_WIDTH / SIDE_BY_SIDE * height / width
    lines = 2 + len(data.others)
    figure = new_figure(
        PAGE_WIDTH * columns / SIDE_BY_SIDE if columns > 2 else PAGE_WIDTH / 2,
        blocks * (kinds * tall + lines * SMALL * 1.3 / 72 + 0.06),
        data.title,
        data.caption,
        padding=0.01,
    )
    grid = figure.subplots(blocks * kinds, columns, squeeze=False)
    for axes in grid.ravel():
        axes.set_axis_off()
    for index, item in enumerate(data.items):
        block, column = divmod(index, columns)
        for kind, picture in enumerate(item.pictures):
            axes = grid[block * kinds + kind, column]
            axes.imshow(picture, interpolation="antialiased")
            if kind == 0:
                axes.set_title(heading(data, item), fontsize=SMALL, loc="left", pad=2)
    return figure
