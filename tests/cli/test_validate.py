"""`stereogauge validate`: exit codes, tables and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main


def _run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    output = capsys.readouterr()
    return int(stop.value.code or 0), output.out, output.err


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder dataset `data` of two scenes, and results of it."""
    truth = np.tile(np.linspace(5, 25, 30, dtype=np.float32), (20, 1))
    for folder in ("data", "Good", "Bad"):
        (tmp_path / folder).mkdir()
    for scene in ("a", "b"):
        sg.write_disparity(tmp_path / "data" / f"{scene}.pfm", truth)
        sg.write_disparity(tmp_path / "Good" / f"{scene}.pfm", truth + 0.25)
        sg.write_disparity(tmp_path / "Bad" / f"{scene}.pfm", -truth)
    (tmp_path / "data" / "stereogauge.toml").write_text('name = "made"\n[paths]\nground_truth = "{scene}.pfm"\n')
    return tmp_path


def test_good_results_end_with_0(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    code, out, err = _run(capsys, "validate", results / "Good", "--dataset", f"folder:{results / 'data'}")
    assert (code, out) == (0, "")
    assert "2 map(s) of 1 algorithm(s) checked: nothing to fix" in err


def test_findings_end_with_1_as_table_and_as_one_json_document(
    capsys: pytest.CaptureFixture[str], results: Path
) -> None:
    words = ("validate", results / "Bad", "-d", f"folder:{results / 'data'}")
    code, out, err = _run(capsys, *words)
    assert code == 1
    assert out.count("negated") == 2
    assert "2 problem(s)" in err
    code, out, err = _run(capsys, *words, "--format", "json")
    document = json.loads(out)
    assert (code, document["ok"], err) == (1, False, "")
    assert [finding["scene"] for finding in document["findings"]] == ["a", "b"]


def test_bad_input_ends_with_2(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    for words in (
        ("validate", results / "nothing"),
        ("validate", results / "Good", "-d", "folder"),
        ("validate", results / "Good", "-d", "nothing"),
        ("validate", results / "Good", "-d", f"folder:{results / 'data'}", "--template", "{x}"),
        ("validate", results / "data" / "stereogauge.toml", "-d", f"folder:{results / 'data'}"),
    ):
        code, out, err = _run(capsys, *words)
        assert (code, out) == (2, "")
        assert err.startswith("stereogauge: ")


def test_a_single_map_is_described(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    code, out, _ = _run(capsys, "validate", results / "Good" / "a.pfm")
    assert code == 0
    assert "pfm (value; ±inf and NaN = unknown), 30 × 20 pixels, 100.0% of them with a value, 5.25 … 25.25 px" in out
    code, out, _ = _run(capsys, "validate", results / "Bad" / "a.pfm", "--format", "json")
    assert code == 1
    assert json.loads(out)["report"]["maximum"] == -5.0


def test_a_single_map_of_a_scene_is_held_against_its_ground_truth(
    capsys: pytest.CaptureFixture[str], results: Path
) -> None:
    dataset = ("-d", f"folder:{results / 'data'}")
    assert _run(capsys, "validate", results / "Good" / "a.pfm", *dataset)[0] == 0
    code, out, _ = _run(capsys, "validate", results / "Bad" / "a.pfm", *dataset, "--scene", "b")
    assert code == 1
    assert "negated" in out


def test_a_folder_without_dataset_is_checked_file_by_file(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    code, out, _ = _run(capsys, "validate", results / "Bad")
    assert code == 1
    assert out.count("suspicious") == 2


def test_a_truncated_file_is_a_finding(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    path = results / "Good" / "a.pfm"
    path.write_bytes(path.read_bytes()[:100])
    code, out, _ = _run(capsys, "validate", path)
    assert code == 1
    assert "unreadable" in out


def test_options_and_manifests_say_how_values_are_meant(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    (results / "Whole").mkdir()
    truth = np.tile(np.linspace(5, 25, 30, dtype=np.float32), (20, 1))
    for scene in ("a", "b"):
        sg.write_disparity(results / "Whole" / f"{scene}.png", truth, encoding="middlebury", scale=4)
    words = ("validate", results / "Whole", "-d", f"folder:{results / 'data'}")
    assert _run(capsys, *words)[0] == 1
    assert _run(capsys, *words, "--scale", "4")[0] == 0
    assert _run(capsys, *words, "--scale", "1")[0] == 1
    (results / "results.toml").write_text("scale = 4\n")
    assert _run(capsys, *words, "--manifest", results / "results.toml")[0] == 0
