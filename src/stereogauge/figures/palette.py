"""One colour and one marker for each algorithm, the same in every figure, table and page.

The first seven colours are those of Okabe and Ito, which the common kinds of colour blindness keep apart (without
their yellow, which is invisible on white). The next 53 were picked one after the other from a grid of hues,
lightnesses and saturations, each as far as possible from the colours that share its marker, for normal vision and for
each kind of dichromacy, on white and on dark paper: two of the first 60 algorithms with the same marker differ by a
CIEDE2000 of at least 12 for every kind of vision. Later ones are spaced by the golden angle with alternating
lightness, so that colour and marker together stay distinct for 300 algorithms.
"""

from __future__ import annotations

import colorsys
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
PICKED = (
    "#673181", "#5e5008", "#a8243a", "#a0bd0f", "#305050", "#c6ac9f", "#a64cff", "#166916", "#8f8656", "#9f9fc6",
    "#ff6666", "#8fbcb5", "#cc0088", "#007f80", "#7f5e4c", "#00cc44", "#603946", "#993300", "#2b4bee", "#7070a9",
    "#996600", "#ff66ff", "#ff9966", "#99b27f", "#6d931f", "#5a8cf2", "#b95946", "#0095b2", "#434a70", "#737373",
    "#ceb37e", "#405030", "#9f6075", "#636f2a", "#16694e", "#00ccaa", "#c69fac", "#9fb2c6", "#ff9933", "#bda428",
    "#6bc78a", "#943857", "#9311d4", "#24a8a8", "#b281e4", "#8771f4", "#503fa6", "#436170", "#d59c90", "#7c42f0",
    "#90a7d5", "#a5a50d", "#e481a2",
)  # fmt: skip
MARKERS = {
    "circle": "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z",
    "square": "M-.9,-.9L.9,-.9L.9,.9L-.9,.9Z",
    "triangle-up": "M0,-1.2L1.1,.8L-1.1,.8Z",
    "diamond": "M0,-1.25L1.25,0L0,1.25L-1.25,0Z",
    "triangle-down": "M0,1.2L1.1,-.8L-1.1,-.8Z",
    "cross": "M-.4,-1.1L.4,-1.1L.4,-.4L1.1,-.4L1.1,.4L.4,.4L.4,1.1L-.4,1.1L-.4,.4L-1.1,.4L-1.1,-.4L-.4,-.4Z",
    "x": "M-1.1,-.7L-.7,-1.1L0,-.4L.7,-1.1L1.1,-.7L.4,0L1.1,.7L.7,1.1L0,.4L-.7,1.1L-1.1,.7L-.4,0Z",
    "star": "M0,-1.3L.35,-.4L1.25,-.4L.55,.2L.8,1.1L0,.55L-.8,1.1L-.55,.2L-1.25,-.4L-.35,-.4Z",
    "triangle-left": "M-1.2,0L.8,1.1L.8,-1.1Z",
    "triangle-right": "M1.2,0L-.8,1.1L-.8,-1.1Z",
    "pentagon": "M0,-1.2L1.15,-.35L.7,1L-.7,1L-1.15,-.35Z",
}
"""The marker shapes as SVG paths about the origin, with a radius of about 1."""
GOLDEN_ANGLE = (3 - math.sqrt(5)) / 2
INK, MUTED, FAINT = "#1a1a1a", "#6b6b6b", "#dddddd"
GREY = "#888888"


class Style(NamedTuple):
    """A colour (#rrggbb) and the name of a marker."""

    colour: str
    marker: str

    @property
    def shape(self) -> str:
        """The marker as an SVG path about the origin."""
        return MARKERS[self.marker]


Styles = Mapping[str, Style]


def colour(index: int) -> str:
    """The colour at an index of the palette."""
    if index < len(OKABE_ITO):
        return OKABE_ITO[index]
    later = index - len(OKABE_ITO)
    if later < len(PICKED):
        return PICKED[later]
    lightness = (0.28, 0.37, 0.45)[later % 3]
    red, green, blue = colorsys.hls_to_rgb((0.11 + later * GOLDEN_ANGLE) % 1.0, lightness, 0.6)
    return "#" + "".join(f"{round(255 * part):02x}" for part in (red, green, blue))


def algorithm_styles(names: Iterable[str]) -> dict[str, Style]:
    """The style of each name.

    It depends on the set of names and not on their order: pass all names that a report shows.
    """
    ordered = sorted(set(names), key=lambda name: (name.casefold(), name))
    markers = tuple(MARKERS)
    return {name: Style(colour(index), markers[index % len(markers)]) for index, name in enumerate(ordered)}


def segment_colours(texts: Iterable[str]) -> dict[str, str]:
    """A colour for each segment of a stacked bar, in the given order; without black, which hides the text on it."""
    black = OKABE_ITO.index("#000000")
    return {text: colour(index + (index >= black)) for index, text in enumerate(texts)}


def complete(styles: Styles | None, names: Iterable[str]) -> dict[str, Style]:
    """The given styles of these names, or new ones for exactly these names."""
    names = tuple(names)
    return {name: styles[name] for name in names} if styles is not None else algorithm_styles(names)
