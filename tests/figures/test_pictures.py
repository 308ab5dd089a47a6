"""Pictures: colours say what the legend says, pixel for pixel."""

from __future__ import annotations

import html
import re
from pathlib import Path

import cv2
import numpy as np
import pytest

from stereogauge.figures.pictures import (
    PictureFigure,
    PicturePanel,
    colour_table,
    file_name,
    picture_figure,
    render,
    render_disparity,
    save_picture,
    write_png,
)
from stereogauge.metrics.picture import Picture

VALUES = np.linspace(-1, 4, 60, dtype=np.float32).reshape(6, 10)


def heat(**changes: object) -> Picture:
    given = {"title": "t", "values": VALUES, "kind": "sequential", "unit": "px", "limits": (0.0, 3.0), **changes}
    return Picture(**given)  # type: ignore[arg-type]


def test_values_beyond_the_limits_take_the_end_colours() -> None:
    colours = render(heat())
    assert (colours[0, 0] == colours[VALUES <= 0][-1]).all()
    assert (colours[-1, -1] == render(heat(values=np.full((1, 1), 3.0, np.float32)))[0, 0]).all()


def test_no_ground_truth_is_black_and_no_estimate_is_hatched() -> None:
    unknown, missing = np.zeros((6, 10), bool), np.zeros((6, 10), bool)
    unknown[0], missing[3:] = True, True
    colours = render(heat(unknown=unknown, missing=missing))
    assert (colours[0] == 0).all()
    assert len(np.unique(colours[3:].reshape(-1, 3), axis=0)) == 2
    assert (colours[1:3] != 0).any()


def test_zero_is_white_in_a_signed_picture() -> None:
    colours = render(heat(values=np.array([[-2.0, 0.0, 2.0]]), kind="diverging", limits=(-2.0, 2.0)))[0].astype(int)
    assert colours[1].min() > 240
    assert colours[0][2] > colours[0][0]  # negative is blue
    assert colours[2][0] > colours[2][2]  # positive is red


def test_labels_take_their_legend_colours_and_gaps_show_the_image() -> None:
    picture = Picture("t", np.array([[0, 1, 7]]), "labels", legend={0: ("a", "#0072b2"), 1: ("b", "#e69f00")})
    assert render(picture)[0].tolist() == [[0, 114, 178], [230, 159, 0], [255, 255, 255]]


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_annotated_pictures_are_written_in_every_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "folder" / f"p{suffix}"
    save_picture(path, heat(unknown=VALUES < -0.5), "a subtitle")
    assert path.stat().st_size > 1000


def test_an_annotated_picture_has_title_unit_and_legend() -> None:
    drawn = picture_figure(heat(title="a < b", unknown=VALUES < -0.5), "on a scene\nof mine").encoded("svg").decode()
    texts = [html.unescape(text) for text in re.findall(r"<text [^>]*>([^<]*)</text>", drawn)]
    assert texts == [
        "a < b",
        "on a scene",
        "of mine",
        "0.00",
        "0.750",
        "1.50",
        "2.25",
        "≥ 3.00",
        "px",
        "no ground truth",
    ]


def test_a_figure_of_pictures_keeps_the_colours_of_its_pictures() -> None:
    shades = [(0, 114, 178), (230, 159, 0), (0, 0, 0), (213, 94, 0)]
    panels = [[PicturePanel(np.full((40, 60, 3), shade, np.uint8), "above", "below") for shade in shades]]
    content = np.frombuffer(PictureFigure("title", "caption", panels).encoded("png"), np.uint8)
    drawn = cv2.imdecode(content, cv2.IMREAD_COLOR)[..., ::-1]
    width = drawn.shape[1] / len(shades)
    for place, shade in enumerate(shades):
        part = drawn[:, round(place * width) : round((place + 1) * width)]
        assert (part == shade).all(axis=2).mean() > 0.4


def test_colour_scales_are_those_that_matplotlib_publishes() -> None:
    colormaps = pytest.importorskip("matplotlib").colormaps
    for kind, name in {
        "sequential": "plasma",
        "diverging": "RdBu_r",
        "cyclic": "twilight",
        "disparity": "viridis",
    }.items():
        published = (colormaps[name](np.linspace(0, 1, 256))[:, :3] * 255).round()
        assert np.array_equal(colour_table(kind), published)


def test_a_map_is_drawn_pixel_for_pixel(tmp_path: Path) -> None:
    disparity = np.array([[1, 2], [np.nan, 4]], np.float32)
    colours = render_disparity(disparity, (1, 4))
    write_png(tmp_path / "map.png", colours)
    assert np.array_equal(cv2.imread(str(tmp_path / "map.png"))[..., ::-1], colours)


def test_names_from_users_become_safe_file_names() -> None:
    assert file_name("../../etc/passwd") == "etc-passwd"
    assert file_name("a/b: c*?") == "a-b-c"
    assert file_name("…") == "unnamed"
