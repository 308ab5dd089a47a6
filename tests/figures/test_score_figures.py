"""Figures of rankings, analyses and galleries: what they show, and that both renderers show all of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from stereogauge.errors import StereogaugeError
from stereogauge.figures import mpl, plotly
from stereogauge.figures.data import analysis, ranking
from stereogauge.figures.data.galleries import gallery_data, heading, most_different_crop
from stereogauge.figures.palette import algorithm_styles
from stereogauge.ranking import Column, ScoreCube, Selection, rank
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
    yield "bars", ranking.stacked_bars_data(rank(CUBE, "weighted"), "Test")
    yield "z-bars", ranking.stacked_bars_data(rank(CUBE, "weighted", normalisation="z-score"))
    yield "radar-rank", ranking.radar_data(CUBE, styles=STYLES)
    yield "radar-score", ranking.radar_data(CUBE, by="score", styles=STYLES)
    yield "critical", ranking.critical_difference_data(friedman(bad), STYLES)
    yield "map", ranking.rank_map_data(bad)
    yield "layers", ranking.layers_data(rank(bad), STYLES)
    yield "intervals", ranking.intervals_data(bootstrap(bad, draws=20), STYLES)
    yield "alike", ranking.alike_data(rank(CUBE, "extended"), STYLES)
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


def words(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(Text) if isinstance(text, Text))


@pytest.mark.parametrize("name", ALL)
class TestEveryFigure:
    def test_the_drawn_figure_names_everybody_and_the_selection(self, name: str) -> None:
        shown = words(mpl.draw(ALL[name]))
        for algorithm in () if name in NAMELESS else NAMES:
            assert algorithm in shown
        assert "4 algorithms" in shown.replace("\n", " ")
        assert "protocol" in shown

    def test_the_interactive_figure_names_everybody_and_the_selection(self, name: str) -> None:
        document = plotly.draw(ALL[name]).to_json()
        for algorithm in () if name in NAMELESS else NAMES:
            assert algorithm in document
        assert "4 algorithms" in document

    def test_it_fits_a_column_or_a_page(self, name: str) -> None:
        width, height = mpl.draw(ALL[name]).get_size_inches()
        assert width <= mpl.figure.PAGE_WIDTH + 1e-9
        assert height < 11


def test_the_bars_of_alike_algorithms_lie_inside_the_axis() -> None:
    for name in ("alike", "critical"):
        figure = plotly.draw(ALL[name])
        low, high = figure.layout.xaxis.range
        assert all(low < x < high for trace in figure.data for x in trace.x)


def test_the_interactive_scatter_explains_colours_and_shapes() -> None:
    explained = {trace.name for trace in plotly.draw(ALL["scatter"]).data if trace.showlegend is not False}
    assert {*CUBE.scenes, *CUBE.algorithms} <= explained


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_figures_are_files_and_the_same_data_give_the_same_bytes(tmp_path: Path, kind: str, start: bytes) -> None:
    path = mpl.save(mpl.draw(ALL["alike"]), tmp_path / "new" / f"alike.{kind}")
    assert path.read_bytes().startswith(start)
    if kind != "svg":
        assert path.read_bytes() == mpl.encoded(mpl.draw(ALL["alike"]), kind)


@pytest.mark.parametrize(
    "name", ["S", "truth, edges fattened", "a network with many stages and a name that goes on and on"]
)
def test_no_name_of_a_critical_difference_diagram_is_cut_off(name: str) -> None:
    chosen = CUBE.select(metrics=["bad@1"], regions=["nonocc", "all"])
    cube = replace(chosen, algorithms=tuple(f"{name} {old}" for old in NAMES))
    figure = mpl.draw(ranking.critical_difference_data(friedman(cube)))
    figure.canvas.draw()
    for text in [*figure.texts, *figure.axes[0].texts]:
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1, text.get_text()


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StereogaugeError, match="png, svg, pdf"):
        mpl.save(mpl.draw(ALL["alike"]), tmp_path / "alike.bmp")


def test_data_without_a_renderer_are_refused() -> None:
    with pytest.raises(StereogaugeError, match="No Matplotlib renderer for dict"):
        mpl.draw({})
    with pytest.raises(StereogaugeError, match="No Plotly renderer for dict"):
        plotly.draw({})


def test_the_data_of_figures_need_no_drawing_library() -> None:
    code = (
        "import sys, importlib, pkgutil, stereogauge.figures.data as data;"
        "[importlib.import_module(f'{data.__name__}.{module.name}') for module in pkgutil.iter_modules(data.__path__)];"
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'plotly')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_drawing_needs_no_pyplot() -> None:
    code = (
        "import sys, stereogauge.figures.mpl.ranking, stereogauge.figures.mpl.analysis, "
        "stereogauge.figures.mpl.galleries;"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestWhatTheyShow:
    def test_bars_stand_shortest_first_and_their_segments_add_up(self) -> None:
        found = rank(CUBE, "weighted")
        data = ranking.stacked_bars_data(found)
        assert np.all(np.diff(data.segments.sum(axis=1)) >= 0)
        assert data.segments.sum(axis=1) == pytest.approx(found.value)

    def test_the_radar_puts_the_best_nearest_to_the_centre(self) -> None:
        data = ranking.radar_data(CUBE)
        assert data.radii.min(axis=0).tolist() == [0.25] * len(CUBE.columns)
        assert data.labels[0][0].startswith("rank ")
        assert "px" in ranking.radar_data(CUBE, by="score").labels[0][data.axes.index("rms:all")]

    def test_the_rings_of_a_radar_are_ranks(self) -> None:
        data = ranking.radar_data(CUBE)
        count = len(data.algorithms)
        assert data.rings[-1] == (1.0, f"{count}")
        assert all(radius * count == pytest.approx(int(text)) for radius, text in data.rings)
        assert not data.clipped.any()

    def test_a_radar_marks_what_lies_beyond_its_rim_and_names_what_has_no_axis(self) -> None:
        values = CUBE.values.copy()
        place = CUBE.column("d-fat")
        values[0, :, place] = 1e3
        far = ranking.radar_data(replace(CUBE, values=values), by="score")
        axis = far.axes.index("d-fat")
        assert far.clipped[far.algorithms.index(CUBE.algorithms[0]), axis]
        assert far.radii.max() == far.furthest == 1.25
        assert "beyond 1.25" in far.caption
        assert mpl.encoded(mpl.draw(far), "png")[:4] == b"\x89PNG"
        values[:, :, place] = np.nan
        assert "no axis, for want of scores: d-fat" in ranking.radar_data(replace(CUBE, values=values)).caption

    def test_a_radar_needs_three_axes(self) -> None:
        with pytest.raises(StereogaugeError, match="three columns"):
            ranking.radar_data(CUBE, ["rms", "sze"])

    def test_layers_join_only_neighbours_in_the_order(self) -> None:
        chain = ScoreCube(NAMES, ("s",), (Column("rms", "all"),), np.arange(4.0)[:, None, None])
        data = ranking.layers_data(rank(chain))
        assert data.edges == ((0, 1), (1, 2), (2, 3))
        assert data.positions[:, 1].tolist() == [-1, -2, -3, -4]

    def test_bars_of_alike_algorithms_are_maximal_runs(self) -> None:
        columns = (Column("rms", "all"), Column("sze", "all"))
        chain = ScoreCube(NAMES, ("s",), columns, np.repeat(np.arange(4.0)[:, None, None], 2, axis=2))
        assert ranking.alike_data(rank(chain, "extended", tau=5)).bars == ((0, 2), (1, 3))

    def test_each_model_has_its_figure(self) -> None:
        kinds = {
            model: type(ranking.model_figure_data(rank(CUBE, model))) for model in ("a-star", "extended", "weighted")
        }
        assert kinds == {"a-star": ranking.Layers, "extended": ranking.Alike, "weighted": ranking.StackedBars}
        single = rank(CUBE, "middlebury", ["bad@1"])
        assert isinstance(ranking.model_figure_data(single), ranking.RankMap)

    def test_a_figure_of_another_model_is_refused(self) -> None:
        single = rank(CUBE, "middlebury", ["bad@1"])
        for make in (ranking.stacked_bars_data, ranking.layers_data, ranking.alike_data):
            with pytest.raises(StereogaugeError, match="middlebury"):
                make(single)

    def test_scatter_lines_end_at_the_scenes_first_and_last_point(self) -> None:
        panel = analysis.scatter_matrix_data(CUBE, ["rms"], ["sze"]).panels[0]
        assert panel.lines[0][0] == panel.x[:, 0].min()
        assert panel.lines[0][2] == panel.x[:, 0].max()
        assert np.all((panel.opacity >= 0) & (panel.opacity <= 1))
        assert panel.x_label == "rms:all [px]"

    def test_a_scatter_line_does_not_reach_for_a_point_that_is_not_shown(self) -> None:
        values = np.array([[1, 1], [2, 2.5], [3, 2.9], [9, np.nan]])[:, None, :]
        cube = ScoreCube(NAMES, ("s",), (Column("rms", "all"), Column("sze", "all")), values)
        (line,) = analysis.scatter_matrix_data(cube, ["rms"], ["sze"]).panels[0].lines
        assert (line[0], line[2]) == (1, 3)

    def test_bars_to_both_sides_are_not_said_to_be_better_when_shorter(self) -> None:
        assert "shorter" in ranking.stacked_bars_data(rank(CUBE, "weighted")).axis
        assert "lower" in ranking.stacked_bars_data(rank(CUBE, "weighted", normalisation="z-score")).axis

    def test_a_gallery_stands_from_best_to_worst_with_places_by_other_columns(self) -> None:
        data = ALL["gallery"]
        by_score = CUBE.values[:, 2, CUBE.column("d-fat")]
        assert [item.algorithm for item in data.items] == [NAMES[place] for place in np.argsort(by_score)]
        assert [item.rank for item in data.items] == [1, 2, 3, 4]
        assert heading(data, data.items[0]).splitlines()[0] == f"1. {data.items[0].algorithm}"

    def test_an_algorithm_without_a_score_comes_last(self) -> None:
        values = CUBE.values.copy()
        values[0, 2, CUBE.column("d-fat")] = np.nan
        cube = ScoreCube(CUBE.algorithms, CUBE.scenes, CUBE.columns, values)
        pictures = {name: (np.zeros((4, 4, 3), np.uint8),) for name in NAMES}
        last = gallery_data(cube, "teddy", "d-fat", pictures, ("disparity",)).items[-1]
        assert (last.algorithm, last.score) == ("Anna", "no score")

    def test_a_gallery_names_its_crop_and_ranks_by_further_costs(self) -> None:
        pictures = {name: (np.zeros((4, 4, 3), np.uint8),) for name in NAMES}
        own = {"rms on disc-background": {"Anna": 3.0, "Bert": 1.0, "Cleo": np.nan, "Dora": 2.0}}
        crop = most_different_crop([np.eye(40), np.zeros((40, 40))], 0.5)
        data = gallery_data(CUBE, "teddy", "d-fat", pictures, ("disparity",), ("rms",), own, crop)
        assert data.others == ("rms:all", "rms on disc-background")
        assert {item.algorithm: item.other_ranks[1] for item in data.items} == {
            "Anna": 3, "Bert": 1, "Cleo": None, "Dora": 2
        }  # fmt: skip
        assert "all pictures show 20 × 20 px" in data.caption

    def test_the_crop_is_where_the_algorithms_differ_most(self) -> None:
        first, second = np.zeros((60, 90)), np.full((60, 90), np.nan)
        first[40:50, 5:15] = second[10:12, 80:82] = 1.0
        crop = most_different_crop([first, second], 0.3)
        assert first[crop.inside].sum() == first.sum()
        assert most_different_crop([first, second], 1.0) == (0, 0, 90, 60)

    def test_a_gallery_refuses_a_lacking_picture(self) -> None:
        with pytest.raises(StereogaugeError, match="1 pictures for the 2 rows"):
            gallery_data(CUBE, "teddy", "d-fat", {"Anna": (np.zeros((4, 4, 3), np.uint8),)}, ("disparity", "d-fat"))
