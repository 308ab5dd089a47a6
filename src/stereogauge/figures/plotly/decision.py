"""Plotly renderers of the figures of an answer and its explanation."""

from __future__ import annotations

import plotly.graph_objects as go

from stereogauge.figures.data import decision as shown
from stereogauge.figures.palette import INK, OKABE_ITO
from stereogauge.figures.plotly.figure import ROW, figure_of, new_figure


@figure_of.register
def difference_bars(data: shown.DifferenceBars) -> go.Figure:
    """One panel per division; bars to the left speak for the first algorithm."""
    counts = [len(names) for _, names, _ in data.groups]
    figure = new_figure(data.title, data.caption)
    figure.set_subplots(
        len(counts),
        1,
        shared_xaxes=True,
        row_heights=[count + 1.0 for count in counts],
        subplot_titles=[f"by {heading}" for heading, _, _ in data.groups],
        vertical_spacing=0.25 / (len(counts) + 1),
    )
    explained: set[str] = set()
    for row, (heading, names, amounts) in enumerate(data.groups, start=1):
        for who, colour, pattern, ahead in (
            (data.first, OKABE_ITO[0], "", True),
            (data.second, OKABE_ITO[1], "/", False),
        ):
            chosen = [(name, amount) for name, amount in zip(names, amounts, strict=True) if (amount <= 0) is ahead]
            if not chosen:
                continue
            figure.add_bar(
                y=[name for name, _ in chosen],
                x=[amount for _, amount in chosen],
                orientation="h",
                name=f"speaks for {who}",
                legendgroup=who,
                showlegend=who not in explained,
                marker={"color": colour, "pattern": {"shape": pattern}},
                hovertemplate=f"{heading} %{{y}}: %{{x:+.4f}}<extra></extra>",
                row=row,
                col=1,
            )
            explained.add(who)
        figure.update_yaxes(
            categoryorder="array", categoryarray=list(names), autorange="reversed", type="category", row=row, col=1
        )
    figure.update_xaxes(zeroline=True, zerolinecolor=INK)
    figure.update_xaxes(title="adds to the difference of the weighted scores", row=len(counts), col=1)
    figure.update_layout(height=190 + (ROW + 4) * sum(counts) + 60 * len(counts), barmode="relative")
    figure.update_layout(legend={"orientation": "h", "y": -0.12})
    return figure


@figure_of.register
def error_curves(data: shown.ErrorCurves) -> go.Figure:
    """One line per algorithm, thresholds on a logarithmic axis."""
    figure = new_figure(data.title, data.caption, 480)
    for place, name in enumerate(data.algorithms):
        figure.add_scatter(
            x=data.thresholds,
            y=data.bad[place],
            name=name,
            mode="lines",
            line={"color": data.styles[name].colour},
            hovertemplate="bad@%{x:.2f}: %{y:.1f} %",
        )
    ticks = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16]
    figure.update_xaxes(type="log", title="threshold δ, px", tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])
    figure.update_yaxes(title="bad@δ, %", rangemode="tozero")
    return figure
