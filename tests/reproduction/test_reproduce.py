"""Reproduction of the papers: what must agree does, and every item of every paper has a status and a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stereogauge as sg
from stereogauge.reproduction.declaration import Recorder, ReproducedNumber, Status
from stereogauge.reproduction.run import PAPERS, Reproduction, csv_text, markdown, reproduce, shown


@pytest.fixture(scope="module")
def sigma_z(data_root: Path) -> Reproduction:
    return reproduce(data_root, ["sigma-z-error"])


@pytest.fixture(scope="module")
def methodology(data_root: Path) -> Reproduction:
    return reproduce(data_root, ["evaluation-methodology"])


def rows(redone: Reproduction, item: str, what: str = "") -> list[ReproducedNumber]:
    return [row for row in redone.rows if row.item == item and what in row.what]


def test_a_number_is_reproduced_only_if_it_rounds_to_the_printed_one() -> None:
    record = Recorder("paper", "table")
    record.printed("near", 16.4742, 16.474, 3)
    record.printed("far", 16.4752, 16.474, 3, "another renderer")
    near, far = record.rows
    assert near.status is Status.REPRODUCED
    assert far.status is Status.SAME_EXPERIMENT
    assert far.reason == "another renderer"
    assert far.difference == pytest.approx(0.0012)


def test_a_difference_needs_two_numbers() -> None:
    record = Recorder("paper", "figure")
    record.other_data("text", "holds", "yes", "other data")
    record.unchecked("nothing", None, "a drawing")
    assert [row.difference for row in record.rows] == [None, None]


def test_sigma_z_tables_1_and_2_are_reproduced(sigma_z: Reproduction) -> None:
    assert [row.status for row in rows(sigma_z, "table 1", "MAPE")] == [Status.REPRODUCED] * 4
    assert [row.status for row in rows(sigma_z, "table 2", "Inaccurate SZE")] == [Status.REPRODUCED] * 3
    assert [row.status for row in rows(sigma_z, "table 2", "Ground-truth SZE")] == [Status.REPRODUCED] * 3


def test_the_rendered_views_differ_and_say_why(sigma_z: Reproduction) -> None:
    views = rows(sigma_z, "table 1", "of the view")
    assert len(views) == 16
    assert [sum(window in row.what for row in views) for window in ("7 × 7 uniform", "11 × 11 Gaussian")] == [4, 4]
    assert {row.status for row in views} == {Status.SAME_EXPERIMENT}
    assert all("rendering" in row.reason for row in views)


def test_all_sixty_percentages_and_twelve_masks_agree(methodology: Reproduction) -> None:
    percentages = rows(methodology, "test-bed")
    assert len(percentages) == 60
    assert {row.status for row in percentages} == {Status.ELSEWHERE}
    masks = rows(methodology, "figure 4", "official mask")
    assert len(masks) == 12
    assert [row.ours for row in masks] == [0] * 12


def test_the_inconsistent_entry_of_table_1_is_found(methodology: Reproduction) -> None:
    wrong = [row for row in rows(methodology, "table 1") if row.status is Status.UNCHECKABLE and row.ours is not None]
    assert [(row.what, row.ours, row.theirs) for row in wrong] == [("AdaptingBP: occluded = all − nonocc", 167, 197)]


@pytest.mark.slow
def test_every_item_of_five_papers_has_rows_with_status_and_reason(data_root: Path) -> None:
    redone = reproduce(data_root)
    assert set(PAPERS) == {row.paper for row in redone.rows}
    for one in redone.items:
        assert one.rows, one.item
    for row in redone.rows:
        assert row.reason or row.status in (Status.REPRODUCED, Status.ARITHMETIC, Status.OWN), row
        assert row.ours is not None or row.status is Status.UNCHECKABLE, row
    median = next(str(row.ours).split()[0] for row in redone.rows if row.what.startswith("s / Γ"))
    assert float(median) == pytest.approx(0.5, abs=0.15)


def test_json_csv_and_markdown_hold_every_row(sigma_z: Reproduction) -> None:
    document = json.loads(sigma_z.to_json())
    keys = {"paper", "item", "what", "status", "ours", "theirs", "difference", "reason"}
    assert all(set(row) == keys for row in document["rows"])
    assert len(document["rows"]) == len(sigma_z.rows) == csv_text(sigma_z).count("\n") - 1
    page = markdown(sigma_z)
    assert "### Table 1: Ground truth − 1 px on four scenes" in page
    assert "16.4742" in page


def test_numbers_are_shown_with_up_to_four_decimals() -> None:
    texts = [shown(value) for value in (0.5, 16.474241, 1.0, 218.9046304, 0, None, "yes")]
    assert texts == ["0.5", "16.4742", "1", "218.9046", "0", "–", "yes"]


def test_unknown_papers_items_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(sg.StereogaugeError, match="Did you mean 'sigma-z-error'"):
        reproduce(tmp_path, ["sigma-z"])
    with pytest.raises(sg.StereogaugeError, match="item of sigma-z-error 'table 9'"):
        reproduce(tmp_path, ["sigma-z-error"], ["table 9"])
    with pytest.raises(sg.StereogaugeError, match="middlebury-v2 does not exist"):
        reproduce(tmp_path, ["sigma-z-error"], ["table 1"])


def test_the_page_in_the_docs_says_what_is_found_now(sigma_z: Reproduction, methodology: Reproduction) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text(encoding="utf-8")
    lines = {line for line in page.splitlines() if line.startswith("| ")}
    for redone in (sigma_z, methodology):
        found = {line for line in markdown(redone).splitlines() if line.startswith("| ")}
        assert found <= lines, sorted(found - lines)
