"""`stereogauge answer`, `explain` and `gate`, from a store to a decision."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.evaluation.run import make_plan, run_plan
from stereogauge.scores.cube import ScoreCube

SCENES = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with six small scenes, the maps of three algorithms as files."""
    root = tmp_path_factory.mktemp("decision")
    random = np.random.default_rng(3)
    scenes, maps = [], {"good": {}, "fair": {}, "poor": {}}
    for k in range(SCENES):
        truth = np.full((60, 80), 10, np.float32)
        truth[20:40, 30:60] = 24 + k
        sg.write_disparity(root / f"gt{k}.pfm", truth)
        camera = sg.Calibration(focal=500, baseline=0.1)
        scenes.append(sg.Scene(f"s{k}", gt=root / f"gt{k}.pfm", dataset="made", resolution=0.25, calibration=camera))
        for name, share in (("good", 0.05), ("fair", 0.2), ("poor", 0.5)):
            wrong = random.random(truth.shape) < share + 0.01 * k
            path = root / name / f"s{k}.pfm"
            path.parent.mkdir(exist_ok=True)
            sg.write_disparity(path, np.where(wrong, truth + 6, truth).astype(np.float32))
            maps[name][f"s{k}"] = path
    results = [sg.ResultSet(name, own, seconds=dict.fromkeys(own, 0.5)) for name, own in maps.items()]
    protocol = sg.load_protocol("default").replace(
        metrics=["bad@1", "bad@4", "rms", "seconds"], regions=["all", "nonocc"]
    )
    with sg.open_store(root / "scores.sqlite") as store:
        run_plan(make_plan(store, sg.Dataset("made", scenes), results, protocol), store)
    return root


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return int(stopped.value.code or 0)


def test_every_csv_is_one_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(folder / "scores.sqlite")

    def frame(*words: str) -> pd.DataFrame:
        assert run(*words, "--format", "csv") == 0
        return pd.read_csv(io.StringIO(capsys.readouterr().out))

    answer = frame("answer", store, "--weight", "bad@1=1,rms=1")
    places, weights = answer[answer["table"] == "answer"], answer[answer["table"] == "answer-weights"]
    assert places["algorithm"].tolist() == ["good", "fair", "poor"]
    assert places["rank"].tolist() == [1, 2, 3]
    assert weights["weight"].tolist() == [0.5, 0.5]
    expected = sg.answer(_scores(store), weights={"bad@1": 1, "rms": 1}).to_pandas()
    assert places["weighted score"].tolist() == expected["score"].tolist()
    why = frame("explain", store, "good", "poor", "--weight", "bad@1=1,rms=1", "--no-maps")
    sums = why.groupby("table")["adds to the difference"].sum()
    assert set(sums.index) == {"why-terms", "why-scenes", "why-regions"}
    assert sums.tolist() == pytest.approx([sums.iloc[0]] * 3)
    assert frame("answer", store, "--profiles")["measured"].between(0, 1).all()
    assert {"table", "column"} < set(frame("analyze", store, "correlation", "histograms").columns)
    sure = frame("table", store, "--need", "sure", "--metrics", "rms")
    assert {"scores", "coverage"} <= set(sure["table"])


def _scores(store: str) -> ScoreCube:
    with sg.open_store(store) as opened:
        return opened.cube()


def test_an_answer_in_words_json_and_html(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(folder / "scores.sqlite")
    assert run("answer", store, "--weight", "bad@1=1,rms=1") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("With these weights, take good.")
    assert "What is not known:" in printed
    assert run("answer", store, "--weight", "bad@1=1,rms=1", "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["winner"] == "good"
    assert run("answer", store, "--weight", "bad@1=1", "--format", "html") == 0
    page = capsys.readouterr().out
    assert page.startswith("<!DOCTYPE html>")
    assert "take good" in page


def test_profiles_say_what_is_measured_of_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("answer", str(folder / "scores.sqlite"), "--profiles") == 0
    told = capsys.readouterr()
    assert "30 % of its weight is measured; not measured: d-fat" in told.out
    assert "to measure all of driver-assistance: stereogauge evaluate made:FOLDER RESULTS --store" in told.err


def test_a_profile_that_is_partly_measured_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("answer", str(folder / "scores.sqlite"), "--profile", "driver-assistance") == 0
    printed = capsys.readouterr().out
    assert "too little is measured for a choice" in printed
    assert "--metrics d-fat,d-thin" in printed


def test_requirements_from_a_file(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "requirements.toml"
    path.write_text(
        'name = "Robot"\n[camera]\nfocal = 500\nbaseline = 0.1\nwidth = 640\nheight = 480\n'
        "[distances]\nnear = 1\nfar = 6\n[time]\nseconds = 1\n[completeness]\nshare = 0.99\n",
        encoding="utf-8",
    )
    store = str(folder / "scores.sqlite")
    assert run("answer", store, "--requirements", str(path), "--weight", "bad@1=1") == 0
    printed = capsys.readouterr().out
    assert "meet every requirement" in printed
    assert "take good" in printed
    assert "What your camera allows:" in printed
    path.write_text("[camera]\nfocal = 500\n", encoding="utf-8")
    assert run("answer", store, "--requirements", str(path)) == 2
    problem = capsys.readouterr().err
    assert "needs distances, a table with near, far" in problem
    assert problem.count("\n") == 1


def test_an_explanation_with_pictures(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store, out = str(folder / "scores.sqlite"), tmp_path / "why"
    assert run("explain", store, "good", "poor", "--weight", "bad@1=1,rms=1", "--out", str(out)) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("With these weights, good is better than poor")
    names = {path.name for path in out.iterdir()}
    assert {"difference.png", "crops.png"} <= names
    assert len([name for name in names if name.endswith("who-is-right.png")]) == 3
    assert run("explain", store, "good", "poor", "--weight", "bad@1=1", "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert sum(piece["amount"] for piece in document["regions"]) == pytest.approx(document["difference"])
    assert document["undivided"] == []


def test_the_store_alone_says_what_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(folder / "scores.sqlite")
    assert run("explain", store, "good", "poor", "--weight", "bad@1=1", "--no-maps") == 0
    told = capsys.readouterr()
    assert "Not attributed to regions: bad@1 (not stored on the parts of the scenes)." in " ".join(told.out.split())
    assert "to divide the rest by region: stereogauge evaluate made:FOLDER" in told.err


def test_everybody_without_a_pair(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("explain", str(folder / "scores.sqlite"), "--out", str(tmp_path)) == 0
    assert "complement each other best" in capsys.readouterr().out
    assert (tmp_path / "error-curves.png").is_file()
    assert (tmp_path / "s0-hardness.png").is_file()
    assert run("explain", str(folder / "scores.sqlite"), "good") == 2


def test_meta_algorithms_as_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("table", str(folder / "scores.sqlite"), "--meta", "-m", "bad@1", "-r", "all", "--format", "csv") == 0
    rows = {
        line.rpartition(",")[0]: float(line.rpartition(",")[2]) for line in capsys.readouterr().out.splitlines()[1:]
    }
    assert rows["best of all (uses the truth)"] < rows["good"] < rows["poor"]
    assert "median of all" in rows


def test_a_gate_passes_and_fails(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store, junit = str(folder / "scores.sqlite"), tmp_path / "gate.xml"
    assert run("gate", store, "--baseline", store, "--max", "bad@1:all=+0.1") == 0
    assert "Nothing got worse than allowed" in capsys.readouterr().err
    limits = ("--max", "bad@1:all=+0.1", "--max", "rms=+5%", "--junit", str(junit), "--significant")
    assert run("gate", store, "--baseline", store, "--algorithm", "poor=good", *limits) == 1
    told = capsys.readouterr()
    assert "What got worse" in told.out
    assert "3 of 3 checks failed: poor by bad@1:all, poor by rms:all and poor by rms:nonocc." in told.err
    assert ElementTree.parse(junit).getroot()[0].get("failures") == "3"
    assert run("gate", store, "--baseline", store) == 2
    assert run("gate", store, "--baseline", store, "--max", "bad@1:all=+0.1", "--algorithm", "worse=good") == 2


def test_a_gate_says_what_its_stores_do_not_share(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    store, limit = str(folder / "scores.sqlite"), ("--max", "bad@1:all=+0.1")
    other, empty = tmp_path / "other.sqlite", tmp_path / "empty.sqlite"
    empty.touch()
    truth = str(folder / "gt0.pfm")
    scene = sg.Scene("s0", gt=truth, dataset="made")
    results = [sg.ResultSet("good", {"s0": str(folder / "good" / "s0.pfm")})]
    protocol = sg.load_protocol("default").replace(metrics=["bad@1"], regions=["all"], invalid="exclude")
    with sg.open_store(other) as opened:
        run_plan(make_plan(opened, sg.Dataset("made", [scene]), results, protocol), opened)
    assert run("gate", str(other), "--baseline", store, *limit) == 2
    assert "holds no scores under the protocol of the baseline, default (scoring " in capsys.readouterr().err
    assert run("gate", store, "--baseline", str(empty), *limit) == 2
    assert f"{empty} holds no scores; fill it with `stereogauge evaluate`." in capsys.readouterr().err
