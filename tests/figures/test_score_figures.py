"""Figures of rankings, analyses and galleries: what they show, and that the drawn charts show all of it."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

import stereogauge as sg
from stereogauge.figures import analysis, ranking
from stereogauge.figures.chart import PAGE, Chart
from stereogauge.figures.galleries import gallery_data, most_different_crop
from stereogauge.figures.palette import algorithm_styles
from stereogauge.ranking import Column, ScoreCube, Selection
from stereogauge.ranking.bootstrap import bootstrap
from stereogauge.ranking.relations import determination, double_counting, score_histogram
from stereogauge.ranking.significance import friedman
from stereogauge.ranking.stability import agreement, by_metric

NAMES = ("Anna", "Bert", "Cleo", "Dora")
REGIONS = ("disc", "nonocc", "all", "boundary", "interior", "occluded")


def scores() -> ScoreCube:
    """Four algorithms on three scenes: bad@1 on nested regions and a partition, then sze, rms and d-fat."""
    random = np.random.default_rng(4)
    boundary, interior, occluded = (random.integers(1, 40, (4, 3)) * np.array([[1], [2], [3], [4]]) for _ in range(3))
    errors = np.stack(
        [boundary, boundary + interior, boundary + interior + occluded, boundary, interior, occluded], axis=2
    )
    others = random.random((4, 3, 3)) + np.arange(4)[:, None, None] / 3
    values = np.concatenate([errors / 10.0, others], axis=2)
    columns = [Column("bad@1", region) for region in REGIONS]
    columns += [Column("sze", "all"), Column("rms", "all"), Column("d-fat", "disc-background")]
    sums = np.concatenate([errors.astype(float), others], axis=2)
    return ScoreCube(NAMES, ("tsukuba", "venus", "teddy"), tuple(columns), values, sums, protocol="0123456789abcdef")


CUBE = scores()
STYLES = algorithm_styles(NAMES)


def all_data() -> Iterator[tuple[str, Any]]:
    bad = CUBE.select(metrics=["bad@1"], regions=["nonocc", "all"])
    pictures = {name: (np.full((6, 8, 3), 40 * place, np.uint8),) for place, name in enumerate(NAMES)}
    yield "bars", ranking.stacked_bars_data(sg.rank(CUBE, "weighted"), "Test")
    yield "z-bars", ranking.stacked_bars_data(sg.rank(CUBE, "weighted", normalisation="z-score"))
    yield "radar-rank", ranking.radar_data(CUBE, styles=STYLES)
    yield "radar-score", ranking.radar_data(CUBE, by="score", styles=STYLES)
    yield "critical", ranking.critical_difference_data(friedman(bad), STYLES)
    yield "map", ranking.rank_map_data(bad)
    yield "layers", ranking.layers_data(sg.rank(bad), STYLES)
    yield "intervals", ranking.intervals_data(bootstrap(bad, draws=20), STYLES)
    yield "alike", ranking.alike_data(sg.rank(CUBE, "extended"), STYLES)
    yield "determination", analysis.determination_data(determination(CUBE))
    yield "agreement", analysis.agreement_data(agreement(by_metric(CUBE)), Selection.of(CUBE))
    yield "scatter", analysis.scatter_matrix_data(CUBE, ["bad@1:all", "rms"], ["sze", "d-fat"], STYLES)
    yield (
        "histograms",
        analysis.histograms_data([score_histogram(CUBE, name, ("Bert",)) for name in ("rms", "sze")], STYLES),
    )
    yield "counted", analysis.counted_errors_data(*double_counting(CUBE))
    yield "slopes", analysis.slopes_data(by_metric(CUBE), {"sze": ["Anna"]}, "first", STYLES)
    yield "gallery", gallery_data(CUBE, "teddy", "d-fat", pictures, ("disparity",), ("rms",))


ALL = dict(all_data())
NAMELESS = {"determination", "agreement", "histograms"}


CHARTS = {name: data for name, data in ALL.items() if isinstance(data, Chart)}


@functools.cache
def drawn(name: str) -> str:
    """A chart as SVG."""
    return CHARTS[name].encoded("svg").decode()


def words(svg: str) -> str:
    """Every text of a drawn chart."""
    return " ".join(re.findall(r">([^<>]+)</t(?:ext|span)>", svg))


@pytest.mark.parametrize("name", CHARTS)
class TestEveryChart:
    def test_it_is_valid_vega_lite(self, name: str) -> None:
        altair = pytest.importorskip("altair")
        altair.Chart.from_dict(CHARTS[name].page_spec())

    def test_the_drawn_chart_names_all_algorithms_and_the_selection(self, name: str) -> None:
        shown = words(drawn(name))
        for algorithm in () if name in NAMELESS else NAMES:
            assert algorithm in shown
        assert "4 algorithms" in shown
        assert "protocol" in shown

    def test_the_declaration_of_a_page_holds_the_data_and_leaves_title_and_style_to_the_page(self, name: str) -> None:
        declared = json.dumps(CHARTS[name].page_spec())
        for algorithm in () if name in NAMELESS else NAMES:
            assert algorithm in declared
        assert "4 algorithms" not in declared
        assert "config" not in CHARTS[name].page_spec()

    def test_it_fits_a_page(self, name: str) -> None:
        found = re.search(r'<svg[^>]* width="([\d.]+)" height="([\d.]+)"', drawn(name))
        assert found is not None
        assert float(found[1]) <= PAGE
        assert float(found[2]) < 1050

    def test_its_rows_are_a_csv_file(self, name: str, tmp_path: Path) -> None:
        frame = pd.read_csv(CHARTS[name].save(tmp_path / "rows.csv"))
        assert len(frame) == len(CHARTS[name].rows)
        assert set(CHARTS[name].rows[0]) == set(frame.columns)


def test_the_bars_of_alike_algorithms_lie_inside_the_axis() -> None:
    for name in ("alike", "critical"):
        bars, points = CHARTS[name].page_spec()["layer"][:2]
        low, high = points["encoding"]["x"]["scale"]["domain"]
        places = [one["x"] for one in bars["data"]["values"]] + CHARTS[name].column("value")
        assert all(low < place < high for place in places)


def test_beside_long_names_no_number_and_no_entry_of_a_legend_is_cut_off() -> None:
    named = replace(CUBE, algorithms=tuple(f"{name} with a wide window, filled" for name in NAMES))
    for algorithms in (CUBE, named):
        bars = ranking.stacked_bars_data(sg.rank(algorithms, "weighted"))
        for chart in (bars, analysis.counted_errors_data(*double_counting(algorithms))):
            pixels = cv2.imdecode(np.frombuffer(chart.encoded("png"), np.uint8), cv2.IMREAD_COLOR)
            assert (pixels[:, -2:] == 255).all(), chart.title


def test_a_scatter_plot_explains_colours_and_shapes() -> None:
    assert set(CUBE.algorithms) <= set(words(drawn("scatter")).split())


def test_a_scatter_plot_colours_what_is_marked_or_a_few_of_many() -> None:
    def coloured(cube: ScoreCube, *marked: str) -> list[str]:
        data = analysis.scatter_matrix_data(cube, ["rms"], ["sze"], marked=marked)
        return data.page_spec()["layer"][-1]["encoding"]["color"]["scale"]["domain"]

    assert coloured(CUBE) == list(CUBE.algorithms)
    assert coloured(CUBE, NAMES[1]) == [NAMES[1]]
    values = np.arange(20.0, 0, -1)[:, None, None] * np.ones((20, 3, 2))
    many = ScoreCube(
        tuple(f"n{at}" for at in range(20)), ("a", "b", "c"), (Column("rms", "all"), Column("sze", "all")), values
    )
    assert coloured(many) == ["n19", "n18", "n17"]  # the best by the horizontal column


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<"), ("pdf", b"%PDF")])
@pytest.mark.parametrize("name", ["alike", "gallery"])
def test_figures_are_files_and_the_same_data_give_the_same_picture(
    tmp_path: Path, name: str, kind: str, start: bytes
) -> None:
    path = ALL[name].save(tmp_path / "new" / f"figure.{kind}")
    assert path.read_bytes().startswith(start)
    if kind != "pdf":  # whose identifiers are random
        assert path.read_bytes() == replace(ALL[name]).encoded(kind), "drawn again"


def test_pages_share_one_script_and_hold_their_chart(tmp_path: Path) -> None:
    first = CHARTS["alike"].save(tmp_path / "alike.html")
    CHARTS["bars"].save(tmp_path / "bars.html")
    assert {path.name for path in tmp_path.iterdir()} == {"alike.html", "bars.html", "vega.js"}
    assert "Dora" in first.read_text()


def test_text_of_users_cannot_end_the_script_of_a_page(tmp_path: Path) -> None:
    cube = replace(CUBE, algorithms=("</script><b>", *NAMES[1:]))
    page = ranking.alike_data(sg.rank(cube, "extended")).save(tmp_path / "page.html").read_text()
    assert "</script><b>" not in page


@pytest.mark.parametrize(
    "name", ["S", "truth, edges fattened", "a network with many stages and a name that goes on and on"]
)
def test_no_name_of_a_critical_difference_diagram_is_cut_off(name: str) -> None:
    chosen = CUBE.select(metrics=["bad@1"], regions=["nonocc", "all"])
    cube = replace(chosen, algorithms=tuple(f"{name} {old}" for old in NAMES))
    drawn = ranking.critical_difference_data(friedman(cube)).encoded("svg").decode()
    assert all(f"{name} {old}" in words(drawn) for old in NAMES)
    size = re.search(r'<svg[^>]* width="([\d.]+)"', drawn)
    assert size is not None
    assert float(size[1]) <= PAGE


def test_another_format_is_refused(tmp_path: Path) -> None:
    for name in ("alike", "gallery"):
        with pytest.raises(sg.StereogaugeError, match="png, svg, pdf"):
            ALL[name].save(tmp_path / "alike.bmp")


def test_declaring_a_figure_needs_no_drawing_library() -> None:
    code = (
        "import sys, importlib, pkgutil, stereogauge.figures as figures;"
        "[importlib.import_module(f'{figures.__name__}.{one.name}') for one in pkgutil.iter_modules(figures.__path__)];"
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'vl_convert')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_drawing_pictures_and_charts_needs_no_matplotlib() -> None:
    code = (
        "import sys, numpy; from stereogauge.figures.pictures import PictureFigure, picture_row;"
        "from stereogauge.figures.chart import Chart, layer, layered, quantity;"
        "PictureFigure('', '', [picture_row('', [numpy.zeros((4, 4, 3), 'uint8')], [''])]).encoded('png');"
        "Chart('', '', ({'x': 1},), layered(layer('point', {'x': quantity('x')}))).encoded('png');"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestWhatTheyShow:
    def test_bars_are_shortest_first_and_their_segments_add_up(self) -> None:
        found = sg.rank(CUBE, "weighted")
        rows = pd.DataFrame(ranking.stacked_bars_data(found).rows)
        totals = rows.groupby("algorithm", sort=False)["value"].sum()
        assert totals.is_monotonic_increasing
        assert totals.tolist() == pytest.approx(found.value)

    def test_the_radar_puts_the_best_nearest_to_the_centre(self) -> None:
        rows = pd.DataFrame(ranking.radar_data(CUBE).rows)
        assert rows.groupby("axis")["radius"].min().tolist() == [0.25] * len(CUBE.columns)
        assert rows["label"].str.startswith("rank ").all()
        assert np.hypot(rows["x"], rows["y"]).tolist() == pytest.approx(rows["radius"].tolist())
        scores = pd.DataFrame(ranking.radar_data(CUBE, by="score").rows)
        assert scores.loc[scores["axis"] == "rms:all", "label"].str.contains("px").all()

    def test_the_rings_of_a_radar_are_ranks(self) -> None:
        data = ranking.radar_data(CUBE)
        rings = data.view["layer"][-1]["data"]["values"]
        assert [ring["text"] for ring in rings] == [f"{rank}" for rank in range(1, len(NAMES) + 1)]
        radii = [np.hypot(ring["x"], ring["y"]) * len(NAMES) for ring in rings]
        assert radii == pytest.approx([int(ring["text"]) for ring in rings])
        assert not any(data.column("beyond"))

    def test_a_radar_marks_what_lies_beyond_its_rim_and_names_what_has_no_axis(self) -> None:
        values = CUBE.values.copy()
        place = CUBE.column("d-fat")
        values[0, :, place] = 1e3
        far = ranking.radar_data(replace(CUBE, values=values), by="score")
        beyond = [(row["algorithm"], row["axis"]) for row in far.rows if row["beyond"]]
        assert (CUBE.algorithms[0], "d-fat") in beyond
        assert max(np.hypot(far.column("x"), far.column("y"))) == pytest.approx(1.25)
        assert "beyond 1.25" in far.caption
        assert far.encoded("png")[:4] == b"\x89PNG"
        values[:, :, place] = np.nan
        assert "no axis, for lack of scores: d-fat" in ranking.radar_data(replace(CUBE, values=values)).caption

    def test_a_gap_interrupts_the_line_of_a_radar(self) -> None:
        points = [
            ranking.RadarPoint(name, axis, None if (name, axis) == ("Anna", "b") else 0.5, "")
            for name in NAMES
            for axis in "abc"
        ]
        rows = ranking.radar("", "", points, "rank", STYLES).page_spec()["data"]["values"]
        assert [row["x"] is None for row in rows if row["algorithm"] == "Anna"] == [False, True, False]

    def test_a_radar_needs_three_axes(self) -> None:
        with pytest.raises(sg.StereogaugeError, match="three columns"):
            ranking.radar_data(CUBE, ["rms", "sze"])

    def test_parallel_coordinates_put_the_best_on_top(self) -> None:
        values = [[1.0, 5.0], [2.0, 7.0], [3.0, None]]
        chart = ranking.parallel("", {"mae": "lower", "psnr": "higher"}, NAMES[:3], values, values, STYLES)
        heights = {(row["algorithm"], row["column"]): row["height"] for row in chart.rows}
        assert [heights[name, "mae"] for name in NAMES[:3]] == [1, 0.5, 0]
        assert (heights["Anna", "psnr"], heights["Bert", "psnr"]) == (0, 1)
        assert np.isnan(heights["Cleo", "psnr"])

    def test_layers_join_only_neighbours_in_the_order(self) -> None:
        chain = ScoreCube(NAMES, ("s",), (Column("rms", "all"),), np.arange(4.0)[:, None, None])
        data = ranking.layers_data(sg.rank(chain))
        lines = pd.DataFrame(data.view["layer"][0]["data"]["values"]).groupby("edge")["algorithm"]
        assert [tuple(ends) for _, ends in lines] == [("Anna", "Bert"), ("Bert", "Cleo"), ("Cleo", "Dora")]
        assert data.column("group") == [1, 2, 3, 4]
        assert data.column("dominated_by") == ["none", "Anna", "Bert", "Cleo"]

    def test_bars_of_alike_algorithms_are_maximal_runs(self) -> None:
        columns = (Column("rms", "all"), Column("sze", "all"))
        chain = ScoreCube(NAMES, ("s",), columns, np.repeat(np.arange(4.0)[:, None, None], 2, axis=2))
        bars = ranking.alike_data(sg.rank(chain, "extended", tau=5)).view["layer"][0]["data"]["values"]
        assert [(bar["from"], bar["to"]) for bar in bars] == [("Anna", "Cleo"), ("Bert", "Dora")]

    def test_each_model_has_its_figure(self) -> None:
        titles = {"a-star": "A* groups", "extended": "Extended Middlebury model", "weighted": "Weighted combination"}
        for model, title in titles.items():
            assert ranking.model_figure_data(sg.rank(CUBE, model)).title.startswith(title)
        single = sg.rank(CUBE, "middlebury", ["bad@1"])
        assert ranking.model_figure_data(single).title == "Rank by column, model middlebury"

    def test_a_figure_of_another_model_is_refused(self) -> None:
        single = sg.rank(CUBE, "middlebury", ["bad@1"])
        for make in (ranking.stacked_bars_data, ranking.layers_data, ranking.alike_data):
            with pytest.raises(sg.StereogaugeError, match="middlebury"):
                make(single)

    def test_scatter_lines_end_at_the_scenes_first_and_last_point(self) -> None:
        data = analysis.scatter_matrix_data(CUBE, ["rms"], ["sze"])
        rule = data.view["layer"][0]
        line, *_ = rule["data"]["values"]
        first = [row["x"] for row in data.rows if row["scene"] == CUBE.scenes[0]]
        assert (line["scene"], line["x"], line["x2"]) == (CUBE.scenes[0], min(first), max(first))
        assert all(0 <= one["fit"] <= 1 for one in rule["data"]["values"])
        assert rule["encoding"]["x"]["title"] == "rms:all [px]"

    def test_a_scatter_line_does_not_reach_for_a_point_that_is_not_shown(self) -> None:
        values = np.array([[1, 1], [2, 2.5], [3, 2.9], [9, np.nan]])[:, None, :]
        cube = ScoreCube(NAMES, ("s",), (Column("rms", "all"), Column("sze", "all")), values)
        (line,) = analysis.scatter_matrix_data(cube, ["rms"], ["sze"]).view["layer"][0]["data"]["values"]
        assert (line["x"], line["x2"]) == (1, 3)

    def test_bars_to_both_sides_are_not_said_to_be_better_when_shorter(self) -> None:
        assert "shorter is better" in words(drawn("bars"))
        assert "lower is better" in words(drawn("z-bars"))

    def test_a_gallery_goes_from_best_to_worst_with_places_by_other_columns(self) -> None:
        data = ALL["gallery"]
        by_score = CUBE.values[:, 2, CUBE.column("d-fat")]
        ranked = [f"{rank}. {NAMES[place]}" for rank, place in enumerate(np.argsort(by_score), 1)]
        assert [heading.splitlines()[0] for heading, _ in data.cards] == ranked

    def test_an_algorithm_without_a_score_comes_last(self) -> None:
        values = CUBE.values.copy()
        values[0, 2, CUBE.column("d-fat")] = np.nan
        cube = ScoreCube(CUBE.algorithms, CUBE.scenes, CUBE.columns, values)
        pictures = {name: (np.zeros((4, 4, 3), np.uint8),) for name in NAMES}
        heading, _ = gallery_data(cube, "teddy", "d-fat", pictures, ("disparity",)).cards[-1]
        assert heading.splitlines()[:2] == ["4. Anna", "d-fat no score"]

    def test_a_gallery_names_its_crop_and_ranks_by_further_costs(self) -> None:
        pictures = {name: (np.zeros((4, 4, 3), np.uint8),) for name in NAMES}
        own = {"rms on disc-background": {"Anna": 3.0, "Bert": 1.0, "Cleo": np.nan, "Dora": 2.0}}
        crop = most_different_crop([np.eye(40), np.zeros((40, 40))], 0.5)
        data = gallery_data(CUBE, "teddy", "d-fat", pictures, ("disparity",), ("rms",), own, crop)
        headings = [heading.splitlines() for heading, _ in data.cards]
        assert all(lines[2].startswith("rms:all: rank ") for lines in headings)
        assert {lines[0][3:]: lines[3] for lines in headings} == {
            "Anna": "rms on disc-background: rank 3",
            "Bert": "rms on disc-background: rank 1",
            "Cleo": "rms on disc-background: no rank",
            "Dora": "rms on disc-background: rank 2",
        }
        assert "all pictures show 20 × 20 px" in data.caption

    def test_the_crop_is_where_the_algorithms_differ_most(self) -> None:
        first, second = np.zeros((60, 90)), np.full((60, 90), np.nan)
        first[40:50, 5:15] = second[10:12, 80:82] = 1.0
        crop = most_different_crop([first, second], 0.3)
        assert first[crop.inside].sum() == first.sum()
        assert most_different_crop([first, second], 1.0) == (0, 0, 90, 60)

    def test_a_gallery_refuses_a_lacking_picture(self) -> None:
        with pytest.raises(sg.StereogaugeError, match="1 pictures for the 2 rows"):
            gallery_data(CUBE, "teddy", "d-fat", {"Anna": (np.zeros((4, 4, 3), np.uint8),)}, ("disparity", "d-fat"))
