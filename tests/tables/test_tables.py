"""Tables say the same in HTML, LaTeX, CSV and JSON, and mark what is best."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest

import stereogauge as sg
from stereogauge.ranking import Column, ScoreCube
from stereogauge.ranking.bootstrap import bootstrap
from stereogauge.ranking.significance import PairTest, different_from_best, friedman, mark_note
from stereogauge.scores.aggregation import aggregated
from stereogauge.tables.formats import csv_table, csv_tables, html_table, latex_table, latex_text, markdown_table
from stereogauge.tables.ranking_tables import beats_table, pairs_table, ranking_table
from stereogauge.tables.score_table import emphases, score_table, score_tables
from stereogauge.tables.table import Cell, Heading, number, table

NAN = float("nan")


def cube(values: object, columns: tuple[str, ...] = ("bad@1:all",)) -> ScoreCube:
    array = np.array(values, np.float64)
    names = tuple("ABCDEFGH"[: array.shape[0]])
    parts = tuple(Column(*column.split(":")) for column in columns)
    return ScoreCube(names, tuple(f"scene{place}" for place in range(array.shape[1])), parts, array)


SMALL = table(
    "small",
    "50 % of A & B",
    ["algorithm", Heading("bad_1", unit="%")],
    [
        ["A<b>", Cell(1.0, emphasis="best")],
        ["B_2", Cell(2.0, emphasis="second", mark="†")],
        ["C", number(NAN)],
    ],
    ["† differs"],
)


class TestFormats:
    def test_html_escapes_and_emphasises(self) -> None:
        page = html_table(SMALL)
        assert "A&lt;b&gt;" in page
        assert "<b>1.00</b>" in page
        assert "<u>2.00</u><sup>†</sup>" in page
        assert 'data-value="2.0"' in page

    def test_latex_is_booktabs_with_best_bold_and_second_underlined(self) -> None:
        source = latex_table(SMALL)
        assert r"\caption{50 \% of A \& B}" in source
        assert r"A\textless{}b\textgreater{} & \textbf{1.00} \\" in source
        assert r"B\_2 & \underline{2.00}$^\dagger$ \\" in source
        assert [line for line in source.splitlines() if line.endswith("rule")] == [
            r"\toprule",
            r"\midrule",
            r"\bottomrule",
        ]

    def test_a_wide_table_is_shrunk_to_the_line(self) -> None:
        wide = table("wide", "wide", [f"c{n}" for n in range(12)], [["x"] * 12])
        assert r"\resizebox{\linewidth}{!}{%" in latex_table(wide)
        assert "resizebox" not in latex_table(SMALL)

    def test_csv_keeps_full_precision_and_leaves_gaps_empty(self) -> None:
        rows = list(csv.reader(io.StringIO(csv_table(SMALL))))
        assert rows == [["algorithm", "bad_1 [%]"], ["A<b>", "1.0"], ["B_2", "2.0"], ["C", ""]]

    def test_several_tables_are_one_in_csv(self) -> None:
        half = Cell(4.0, coverage=0.5)
        other = table("weights", "Weights", ["metric", "algorithm"], [["rms", "D"]])
        partly = table("partly", "P", ["algorithm", Heading("bad_1", unit="%")], [["E", half]])
        frame = pd.read_csv(io.StringIO(csv_tables([SMALL, other, partly])))
        assert list(frame.columns) == ["table", "algorithm", "bad_1 [%]", "metric", "coverage of bad_1"]
        assert frame["table"].tolist() == [SMALL.name] * 3 + ["weights", "partly"]
        assert frame["algorithm"].tolist() == ["A<b>", "B_2", "C", "D", "E"]
        assert frame["bad_1 [%]"].tolist()[:2] == [1.0, 2.0]
        assert frame.loc[4, ["bad_1 [%]", "coverage of bad_1"]].tolist() == [4.0, 0.5]
        assert csv_tables([SMALL]) == csv_table(SMALL)

    def test_columns_of_one_heading_are_all_written(self) -> None:
        twice = table("t", "t", ["x", "x"], [["1", "2"]])
        rows = list(csv.reader(io.StringIO(csv_tables([twice, SMALL]))))
        assert rows[:2] == [["table", "x", "x", "algorithm", "bad_1 [%]"], ["t", "1", "2", "", ""]]

    def test_markdown_has_a_line_per_row(self) -> None:
        assert markdown_table(SMALL).splitlines()[2:] == ["| A&lt;b> | **1.00** |", "| B_2 | _2.00_† |", "| C | – |"]

    def test_a_name_that_a_spreadsheet_would_compute_is_quoted(self) -> None:
        assert csv_table(table("t", "t", ["algorithm"], [["=1+1"]])) == "algorithm\n'=1+1\n"
        assert csv_table(table("t", "t", ["=1+1"], [["x"]])) == "'=1+1\nx\n"

    def test_json_holds_numbers_and_null(self) -> None:
        assert SMALL.to_dict()["rows"] == [["A<b>", 1.0], ["B_2", 2.0], ["C", None]]

    def test_numbers_have_three_significant_digits(self) -> None:
        shown = [number(value).shown for value in (0.0, 0.012345, 1.5, 9.996, 123.4, 12345.6, 1e-6, np.inf)]
        assert shown == ["0.00", "0.0123", "1.50", "10.0", "123", "12346", "1.00e-6", "∞"]

    @pytest.mark.parametrize(
        ("plain", "written"), [("a_b", r"a\_b"), ("100 %", r"100 \%"), ("x²", "x$^2$"), ("\\", r"\textbackslash{}")]
    )
    def test_latex_letters_are_written_out(self, plain: str, written: str) -> None:
        assert latex_text(plain) == written


class TestScores:
    def test_equal_bests_share_and_gaps_get_nothing(self) -> None:
        assert emphases(np.array([2.0, 1.0, 1.0, NAN, 3.0])) == ["second", "best", "best", "", ""]

    def test_a_gap_is_never_averaged_away(self) -> None:
        """Scene 1 is empty for everybody and does not count; B lacks scene 2 and has no mean."""
        means = aggregated(cube([[[1.0], [NAN], [3.0]], [[1.0], [NAN], [NAN]]]))
        assert means[0, 0] == 2.0
        assert np.isnan(means[1, 0])

    def test_where_higher_is_better_the_highest_is_best(self) -> None:
        found = score_table(cube([[[20.0]], [[30.0]]], ("psnr:all",)))
        assert [row[1].emphasis for row in found.rows] == ["second", "best"]
        assert found.header[1].remark == "higher is better"

    def test_few_scenes_allow_no_marks_and_the_note_says_so(self) -> None:
        found = score_table(cube(np.arange(3.0)[:, None, None] * np.ones((1, 4, 1))), marks=different_from_best)
        assert not any(cell.mark for row in found.rows for cell in row)
        assert "cannot fall below p = 0.125" in mark_note(4, 0.05)

    def test_ten_scenes_mark_who_differs_from_the_best(self) -> None:
        random = np.random.default_rng(0)
        values = random.random((3, 10, 1)) + np.array([0, 0, 5])[:, None, None]
        found = score_table(cube(values), marks=different_from_best)
        assert [bool(row[1].mark) for row in found.rows] == [False, False, True]

    def test_rows_follow_the_order_given(self) -> None:
        assert [row[0].shown for row in score_table(cube([[[1.0]], [[2.0]]]), order=["B", "A"]).rows] == ["B", "A"]

    def test_many_columns_are_split_between_metrics(self) -> None:
        columns = tuple(f"bad@{t}:{r}" for t in (1, 2, 4) for r in ("all", "nonocc", "disc", "interior"))
        parts = score_tables(cube(np.ones((2, 2, 12)), columns))
        assert [part.name for part in parts] == ["scores-1", "scores-2"]
        assert [len(part.header) for part in parts] == [9, 5]


class TestRankings:
    values = np.random.default_rng(1).random((4, 6, 1)) + np.arange(4)[:, None, None]

    def test_places_intervals_and_those_not_told_apart(self) -> None:
        ranking = sg.rank(cube(self.values), "middlebury")
        test = friedman(cube(self.values))
        found = ranking_table(ranking, bootstrap(cube(self.values), draws=50), test)
        assert [head.name for head in found.header[:5]] == [
            "algorithm",
            "rank",
            "average rank",
            "rank, 95 %",
            "first in",
        ]
        assert not found.rows[0][0].mark
        assert found.rows[1][0].mark == ("†" if test.nemenyi[0, 1] >= 0.05 else "")
        assert not found.rows[3][0].mark

    def test_what_was_left_out_stands_below_once_a_reason(self) -> None:
        gaps = self.values.copy()
        gaps[1:3, 0] = NAN
        notes = ranking_table(sg.rank(cube(gaps), "middlebury", missing="drop-algorithm")).notes
        assert notes == ("Left out: algorithm B, C (no score for scene0 bad@1:all).",)

    def test_whole_numbers_are_shown_as_such(self) -> None:
        assert ranking_table(sg.rank(cube(self.values), "a-star")).rows[0][2].shown == "0"

    def test_nobody_beats_themselves(self) -> None:
        found = beats_table(bootstrap(cube(self.values), draws=50))
        assert [row[place + 1].shown for place, row in enumerate(found.rows)] == [""] * 4


def test_pairs_are_bold_below_the_chosen_level() -> None:
    pair = PairTest("A", "B", 12, "A", -1.0, 0.9, 0.02, 0.03)
    for alpha, emphasis in ((0.05, "best"), (0.01, "")):
        shown = pairs_table([pair], "bad@1", alpha)
        assert shown.rows[0][-1].emphasis == emphasis
        assert shown.notes == (f"p below {alpha:g} bold.",)
