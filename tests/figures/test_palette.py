"""One colour and marker for each algorithm, everywhere the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from tests.figures.vision import VISION, ciede2000, nearest

from stereogauge.figures.palette import OKABE_ITO, algorithm_styles, complete, segment_colours


def test_styles_do_not_depend_on_the_order_of_names() -> None:
    assert algorithm_styles(["b", "A", "c"]) == algorithm_styles(["c", "b", "A", "A"])


def test_the_first_colours_are_those_of_okabe_and_ito() -> None:
    assert [style.colour for style in algorithm_styles("abcdefg").values()] == list(OKABE_ITO)


def test_three_hundred_algorithms_stay_distinct() -> None:
    styles = algorithm_styles(str(number) for number in range(300)).values()
    assert len({(style.colour, style.marker) for style in styles}) == 300


def test_no_colour_vanishes_on_white() -> None:
    """Relative luminance of at most 0.5, that is a contrast of 1.9 to white; markers add to it."""
    for style in algorithm_styles(str(number) for number in range(300)).values():
        red, green, blue = (part**2.2 for part in to_rgb(style.colour))
        assert 0.2126 * red + 0.7152 * green + 0.0722 * blue <= 0.5


def test_given_styles_are_kept_for_a_subset() -> None:
    whole = algorithm_styles(["a", "b", "c"])
    assert complete(whole, ["c"]) == {"c": whole["c"]}


def test_all_segments_of_a_bar_differ() -> None:
    colours = segment_colours(str(number) for number in range(30))
    assert len(set(colours.values())) == 30


def test_first_colours_are_far_apart_for_the_common_colour_blindness() -> None:
    """Distances in RGB after Viénot's projection for deuteranopia."""

    def seen(colour: str) -> tuple[float, float, float]:
        red, green, blue = (part**2.2 for part in to_rgb(colour))
        mixed = 0.29275 * red + 0.70725 * green
        return mixed, mixed, -0.02234 * red + 0.02234 * green + blue

    for first, second in itertools.combinations(OKABE_ITO[:5], 2):
        assert sum((a - b) ** 2 for a, b in zip(seen(first), seen(second), strict=True)) > 0.004


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_differences_are_those_of_the_published_examples(
    first: tuple[float, ...], second: tuple[float, ...], difference: float
) -> None:
    """Pairs 1, 17, 30 and 34 of Sharma, Wu & Dalal 2005, table 1."""
    assert ciede2000(np.array([first]), np.array([second]))[0] == pytest.approx(difference, abs=1e-4)


@pytest.mark.parametrize("vision", VISION)
def test_algorithms_that_share_a_marker_differ_in_colour_for_everybody(vision: str) -> None:
    """A CIEDE2000 of at least 12; the page's colours on dark paper are held to the same in a browser."""
    styles = algorithm_styles(f"{number:02d}" for number in range(60)).values()
    assert nearest([(style.colour, style.marker) for style in styles], vision) >= 12
