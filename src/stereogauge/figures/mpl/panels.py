"""Matplotlib renderer of pictures in rows and columns."""

from __future__ import annotations

from matplotlib.figure import Figure

from stereogauge.figures.data.panels import PicturePanels
from stereogauge.figures.mpl.figure import PAGE_WIDTH, SMALL, figure_of, new_figure
from stereogauge.figures.palette import INK


@figure_of.register
def picture_panels(data: PicturePanels) -> Figure:
    """One row of pictures under the other, each row as high as its pictures need."""
    columns = len(data.headings)
    across = PAGE_WIDTH / columns
    heights = [across * row.pictures[0].shape[0] / row.pictures[0].shape[1] + SMALL * 1.5 / 72 for row in data.rows]
    figure = new_figure(PAGE_WIDTH, sum(heights), data.title, data.caption, padding=0.01)
    grid = figure.subplots(len(data.rows), columns, squeeze=False, height_ratios=heights)
    for axes_row, row in zip(grid, data.rows, strict=True):
        for axes, heading, picture in zip(axes_row, data.headings, row.pictures, strict=True):
            axes.set_axis_off()
            axes.imshow(picture, interpolation="antialiased")
            axes.set_title(f"{row.label}: {heading}", fontsize=SMALL, color=INK, loc="left", pad=2)
    return figure
