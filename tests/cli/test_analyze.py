"""`stereogauge analyze` and `stereogauge report` on one small store."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.ranking import Column, ScoreCube

REGIONS = ("disc", "nonocc", "all", "boundary", "interior", "occluded")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parts = np.random.default_rng(2).integers(2, 9, (3, 4, 3)) * np.array([1, 2, 3])[:, None, None]
    boundary, interior, occluded = np.moveaxis(parts, 2, 0)
    errors = np.stack([boundary, boundary + interior, parts.sum(axis=2), boundary, interior, occluded], axis=2).astype(
        float
    )
    values = np.concatenate([errors, errors[:, :, :1] / 7], axis=2)
    columns = [Column("bad@1", region) for region in REGIONS] + [Column("rms", "all")]
    cube = ScoreCube(
        ("SGM", "BM", "GC"),
        ("tsukuba", "venus", "teddy", "cones"),
        tuple(columns),
        values,
        sums=values,
        counts=np.full(values.shape, 100.0),
        missing=np.zeros(values.shape),
        protocol="0123456789ab",
        datasets=("made",) * 4,
    )
    path = tmp_path_factory.mktemp("store") / "scores.sqlite"
    with sg.open_store(path) as opened:
        opened.write(sg.ScoreTable(cube.scores()))
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main([*map(str, words)])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def test_json_holds_every_analysis_that_the_scores_allow(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "analyze", store, "-f", "json")
    document = json.loads(out)
    assert code == 0
    assert {"determination", "orders", "ranges", "double-counting", "nemenyi", "pairs"} <= set(document)
    assert document["double-counting"]["rows"][0][0] == "SGM"
    assert "subsets: The experiment with rms" in err


def test_an_analysis_asked_for_by_name_fails_loudly(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "analyze", store, "subsets")
    assert (code, out) == (2, "")
    assert "rms:disc-background" in err


def test_an_unknown_analysis_is_refused_with_the_known_ones(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "analyze", store, "corelation")
    assert code == 2
    assert "Did you mean 'correlation'?" in err


def test_a_chosen_pair_has_wilcoxons_test_and_a_note_on_the_others(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "analyze", store, "significance", "--algorithms", "SGM,GC", "-f", "json")
    document = json.loads(out)
    assert code == 0
    assert set(document) == {"pairs", "beats"}
    assert document["pairs"]["rows"][0][:3] == ["SGM", "GC", "SGM"]
    assert any("three algorithms" in note for note in document["beats"]["notes"])


def test_one_scene_is_one_block_and_has_no_friedman_test(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "analyze", store, "significance", "--scenes", "teddy", "-f", "json")
    assert code == 0
    found = json.loads(out)
    assert set(found) == {"pairs"}
    assert any("two independent scenes; found 3 and 1" in note for note in found["pairs"]["notes"])


def test_significance_of_one_algorithm_is_refused(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "analyze", store, "significance", "--algorithms", "SGM", "--scenes", "teddy")
    assert (code, out) == (2, "")
    assert "three algorithms" in err


def test_orders_by_measure_region_and_model_are_compared(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "analyze", store, "orders", "-f", "json")
    document = json.loads(out)
    assert set(document) == {"orders", "agreement", "agreement-regions", "agreement-models"}
    assert document["agreement"]["rows"][0][:2] == ["bad@1", "rms"]
    assert ["disc", "nonocc"] in [row[:2] for row in document["agreement-regions"]["rows"]]
    assert ["extended", "a-star"] in [row[:2] for row in document["agreement-models"]["rows"]]


def test_one_measure_still_has_regions_and_models_to_compare(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "analyze", store, "orders", "--metrics", "bad@1", "-f", "json")
    assert set(json.loads(out)) == {"agreement-regions", "agreement-models"}


@pytest.mark.parametrize(
    ("form", "words"), [("table", "r² of linear fits"), ("csv", "column,bad@1:disc"), ("latex", r"\toprule")]
)
def test_other_formats(store: Path, capsys: pytest.CaptureFixture[str], form: str, words: str) -> None:
    assert words in run(capsys, "analyze", store, "correlation", "-f", form)[1]


def test_figures_are_written_in_three_formats_and_their_rows_as_csv(
    store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run(capsys, "analyze", store, "double-counting", "--out", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"double-counting.{kind}" for kind in ("csv", "pdf", "png", "svg")
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--metric", "bad@3"], "Did you mean 'bad@1'?"),
        (["--mark", "SGN"], "Did you mean 'SGM'?"),
        (["--alpha", "3"], "between 0 and 1"),
    ],
)
def test_a_mistaken_option_is_no_analysis_left_out(
    store: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    code, out, err = run(capsys, "analyze", store, *words)
    assert (code, out) == (2, "")
    assert sentence in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [(["--formats", "bmp"], "png, svg, pdf"), (["--profile", "balanse"], "Did you mean 'balanced'?")],
)
def test_a_report_checks_its_options_before_it_computes(
    store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], sentence: str
) -> None:
    code, _, err = run(capsys, "report", store, "--out", tmp_path / "report", *words)
    assert code == 2
    assert err.count("\n") == 1
    assert sentence in err
    assert not (tmp_path / "report").exists()


def test_rank_checks_the_figure_before_it_prints(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "rank", store, "--figure", "ranks.bmp")
    assert (code, out) == (2, "")
    assert "png, svg, pdf" in err


def test_double_counting_says_which_regions_it_lacks(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "analyze", store, "double-counting", "--regions", "disc,nonocc,all")
    assert code == 2
    assert "have no boundary, interior, occluded: evaluate with --regions disc,nonocc,all,boundary" in err
