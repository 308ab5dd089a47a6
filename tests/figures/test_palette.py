"""One colour and marker for each algorithm, everywhere the same."""

from __future__ import annotations

import itertools

from matplotlib.colors import to_rgb

from stereogauge.figures.palette import OKABE_ITO, algorithm_styles, complete, segment_styles


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


def test_segments_differ_by_hatching_once_colours_repeat() -> None:
    styles = segment_styles(str(number) for number in range(12))
    assert len(set(styles.values())) == 12


def test_first_colours_are_far_apart_for_the_common_colour_blindness() -> None:
    """Distances in RGB after Viénot's projection for deuteranopia."""

    def seen(colour: str) -> tuple[float, float, float]:
        red, green, blue = (part**2.2 for part in to_rgb(colour))
        mixed = 0.29275 * red + 0.70725 * green
        return mixed, mixed, -0.02234 * red + 0.02234 * green + blue

    for first, second in itertools.combinations(OKABE_ITO[:5], 2):
        assert sum((a - b) ** 2 for a, b in zip(seen(first), seen(second), strict=True)) > 0.004
