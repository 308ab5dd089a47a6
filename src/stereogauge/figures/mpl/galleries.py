"""Matplotlib renderer of galleries."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from stereogauge.figures.data.galleries import Gallery
from stereogauge.figures.mpl.figure import PAGE_WIDTH, SMALL, figure_of, fitting_columns, new_figure
from stereogauge.figures.pictures import legend_patch

SIDE_BY_SIDE = 5


@figure_of.register
def gallery(data: Gallery) -> Figure:
    """Blocks of pictures under their headings, five side by side: the reference, then the algorithms, best first."""
    panels = data.panels
    columns = min(SIDE_BY_SIDE, len(panels))
    blocks, kinds = math.ceil(len(panels) / columns), len(data.rows)
    height, width = data.items[0].pictures[0].shape[:2]
    tall = PAGE_WIDTH / SIDE_BY_SIDE * height / width
    lines = 2 + len(data.others)
    across = PAGE_WIDTH * columns / SIDE_BY_SIDE if columns > 2 else PAGE_WIDTH / 2
    legend = [legend_patch(entry) for entry in data.legend]
    figure = new_figure(
        across,
        blocks * (kinds * tall + lines * SMALL * 1.3 / 72 + 0.06),
        data.title,
        data.caption,
        legend,
        fitting_columns(legend, across),
        padding=0.01,
    )
    grid = figure.subplots(blocks * kinds, columns, squeeze=False)
    for axes in grid.ravel():
        axes.set_axis_off()
    for index, (heading, pictures) in enumerate(panels):
        block, column = divmod(index, columns)
        for kind, picture in enumerate(pictures):
            axes = grid[block * kinds + kind, column]
            axes.imshow(picture, interpolation="antialiased")
            if kind == 0:
                axes.set_title(heading, fontsize=SMALL, loc="left", pad=2)
    return figure
