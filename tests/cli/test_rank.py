"""`stereogauge rank`, `analyze` and `report` on one small store."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.ranking import Column, ScoreCube
from stereogauge.scores.score import Score
from stereogauge.tables.ranking_tables import LEADERBOARD, LeaderboardColumn
from stereogauge.tables.table import Heading, number

REGIONS = ("disc", "nonocc", "all", "boundary", "interior", "occluded")
COMPLETE = "Block matching,Graph cuts,SGM"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four algorithms on three scenes; one of them has a gap."""
    parts = np.random.default_rng(2).integers(2, 9, (4, 3, 3)) * np.array([1, 2, 3, 4])[:, None, None]
    boundary, interior, occluded = np.moveaxis(parts, 2, 0)
    errors = np.stack([boundary, boundary + interior, parts.sum(axis=2), boundary, interior, occluded], axis=2).astype(
        float
    )
    values = np.concatenate([errors, errors[:, :, :1] / 7, 9 - errors[:, :, :1] / 9], axis=2)
    values[3, 1, 6] = np.nan
    columns = [Column("bad@1", region) for region in REGIONS] + [Column("rms", "all"), Column("sze", "all")]
    cube = ScoreCube(
        ("SGM", "Block matching", "Graph cuts", "Gappy"),
        ("tsukuba", "venus", "teddy"),
        tuple(columns),
        values,
        sums=np.concatenate([errors, values[:, :, 6:]], axis=2),
        counts=np.full(values.shape, 100.0),
        missing=np.zeros(values.shape),
        protocol="0123456789ab",
        datasets=("made",) * 3,
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


class TestRank:
    @pytest.mark.parametrize("form", ["table", "csv", "json", "latex"])
    def test_a_column_of_the_leaderboard_is_declared_once_for_every_format(
        self, store: Path, form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        behind = LeaderboardColumn(
            "behind", lambda _: Heading("behind the first"), lambda ranking, place: number(float(place))
        )
        monkeypatch.setattr("stereogauge.tables.ranking_tables.LEADERBOARD", (*LEADERBOARD, behind))
        code, out, _ = run(capsys, "rank", store, "--algorithms", COMPLETE, "-f", form)
        assert code == 0
        assert "behind the first" in out
        if form == "json":
            assert [row["behind the first"] for row in json.loads(out)["ranking"]] == [0, 1, 2]

    def test_json_is_one_document_with_the_selection_and_what_was_left_out(
        self, store: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        strict = ("--missing", "drop-algorithm")
        code, out, err = run(capsys, "rank", store, "--model", "extended", *strict, "--format", "json")
        document = json.loads(out)
        assert code == 0
        assert [row["algorithm"] for row in document["ranking"]] == ["SGM", "Block matching", "Graph cuts"]
        assert document["selection"]["dropped"][0]["name"] == "Gappy"
        assert "Left out: algorithm Gappy (no score for venus rms:all)." in err

    def test_scenes_regions_measures_and_algorithms_are_selected(
        self, store: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ("--scenes", "venus,teddy", "--regions", "all", "--metrics", "bad@1.0", "--algorithms", "Gappy,SGM")
        _, out, err = run(capsys, "rank", store, "--model", "middlebury", *words, "-f", "json")
        selection = json.loads(out)["selection"]
        assert selection["scenes"] == ["venus", "teddy"]
        assert selection["columns"] == ["bad@1:all"]
        assert selection["algorithms"] == ["Gappy", "SGM"]
        assert "left out" not in err

    def test_csv_reads_back(self, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
        _, out, _ = run(capsys, "rank", store, "-m", "rms", "-f", "csv", "--missing", "worst")
        rows = list(csv.DictReader(io.StringIO(out)))
        assert rows[0]["algorithm"] == "SGM"
        assert {row["algorithm"] for row in rows} == {"SGM", "Block matching", "Graph cuts", "Gappy"}

    def test_latex_and_table(self, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert r"\toprule" in run(capsys, "rank", store, "-f", "latex")[1]
        _, out, err = run(capsys, "rank", store, "--model", "middlebury", "-m", "bad@1", "--bootstrap", "50")
        assert "average rank" in out
        assert "rank, 95 %" in out
        assert "4 algorithms · scenes: tsukuba, venus, teddy" in err

    def test_weights_and_profiles(self, store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        _, out, _ = run(capsys, "rank", store, "--model", "weighted", "--weight", "sze=1", "-f", "json")
        assert json.loads(out)["ranking"][0]["algorithm"] == "Gappy"
        profile = tmp_path / "mine.toml"
        profile.write_text('[weights]\n"bad@1:all" = 1\n', encoding="utf-8")
        _, out, _ = run(capsys, "rank", store, "--model", "weighted", "--profile", profile, "-f", "json")
        assert json.loads(out)["ranking"][0]["algorithm"] == "SGM"

    def test_the_bootstrap_is_part_of_the_json(self, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
        _, out, _ = run(capsys, "rank", store, "--bootstrap", "20", "--seed", "3", "-f", "json")
        found = json.loads(out)["bootstrap"]
        assert (found["draws"], found["seed"], len(found["intervals"])) == (20, 3, 4)

    def test_a_figure_is_written(self, store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        run(capsys, "rank", store, "--figure", tmp_path / "groups.svg")
        assert (tmp_path / "groups.svg").read_bytes().startswith(b"<svg")

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (("--model", "borda"), "Unknown model 'borda'"),
            (("--scenes", "tedy"), "Did you mean 'teddy'?"),
            (("--metrics", "mae"), "Unknown metric of these scores 'mae'"),
            (("--model", "middlebury"), "takes one metric"),
            (("--model", "weighted", "--weight", "rms"), "METRIC=NUMBER"),
            (("--missing", "ignore"), "drop-column"),
            (("--tau", "3"), "option of the model 'a-star'"),
        ],
    )
    def test_a_mistake_is_one_sentence(
        self, store: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
    ) -> None:
        code, out, err = run(capsys, "rank", store, *words)
        assert (code, out) == (2, "")
        assert sentence in err
        assert len(err.splitlines()) == 1

    def test_a_store_that_does_not_exist_is_not_made(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        assert run(capsys, "rank", tmp_path / "none.sqlite")[0] == 2
        assert not list(tmp_path.iterdir())

    def test_an_empty_store_says_how_to_fill_it(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        sg.open_store(tmp_path / "empty.sqlite").close()
        code, _, err = run(capsys, "rank", tmp_path / "empty.sqlite")
        assert code == 2
        assert "stereogauge" in err


def test_orders_of_several_datasets_are_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.sqlite"
    with sg.open_store(path) as opened:
        for dataset, worse in (("one", "B"), ("two", "A")):
            scores = [
                Score(
                    dataset, scene, name, "bad@1", "all", 10.0 + 5 * (name == worse) + 9 * (name == "C"), 1, 100, 0, "p"
                )
                for scene in ("s", "t")
                for name in "ABC"
            ]
            opened.write(sg.ScoreTable(scores))
    code, out, _ = run(capsys, "rank", path, "--across", "--model", "middlebury", "-f", "json")
    rows = json.loads(out)
    assert code == 0
    assert {row["algorithm"]: row["rank"] for row in rows} == {"A": 1, "B": 1, "C": 3}
    assert rows[2]["rank on one"] == rows[2]["rank on two"] == 3


def test_reading_scores_and_declarations_starts_without_compiler_images_and_statistics(store: Path) -> None:
    """These imports take longer than the commands themselves."""
    program = (
        "import contextlib, io, sys\nfrom stereogauge.cli import main\n"
        "for words in (['metrics'], ['report', '--help'], ['rank', sys.argv[1]], ['table', sys.argv[1]]):\n"
        "    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown: main(words)\n"
        "    assert shown.getvalue()\n"
        "heavy = {'cv2', 'pandas', 'matplotlib', 'scipy.stats'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program, str(store)], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
