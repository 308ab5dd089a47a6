"""Scores at the end of `evaluate` and from a store: the protocol's aggregation, real units, and small kindnesses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.matching.run import processor_name
from stereogauge.web.scores.reader import ScoreReader
from stereogauge.web.scores.tables import table_answer
from stereogauge.web.selection import SelectionQuery
from stereogauge.web.source import StoreSource

SHAPE = (24, 60)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


@pytest.fixture
def kitti(tmp_path: Path) -> Path:
    """Two frames with very different numbers of pixels, so that pooling and averaging differ."""
    random = np.random.default_rng(3)
    for part in ("disp_occ_0", "disp_noc_0", "obj_map", "image_2", "image_3"):
        (tmp_path / "kitti" / "training" / part).mkdir(parents=True)
    (tmp_path / "results" / "mine").mkdir(parents=True)
    for frame, known in (("000000_10", 0.9), ("000001_10", 0.1)):
        truth = random.uniform(10, 50, SHAPE)
        seen = random.random(SHAPE) < known
        stored = np.where(seen, np.rint(truth * 256), 0).astype(np.uint16)
        for part in ("disp_occ_0", "disp_noc_0"):
            cv2.imwrite(str(tmp_path / "kitti" / "training" / part / f"{frame}.png"), stored)
        for part in ("image_2", "image_3", "obj_map"):
            cv2.imwrite(str(tmp_path / "kitti" / "training" / part / f"{frame}.png"), np.zeros(SHAPE, np.uint8))
        wrong = random.random(SHAPE) < (0.1 if known > 0.5 else 0.8)
        estimate = np.rint((truth + np.where(wrong, 9, 0.5)) * 256).astype(np.uint16)
        cv2.imwrite(str(tmp_path / "results" / "mine" / f"{frame}.png"), estimate)
    return tmp_path


def by_hand(root: Path) -> float:
    """Outliers beyond 3 px and 5 % over all pixels of all frames, as KITTI's site prints it."""
    outliers = pixels = 0
    for path in sorted((root / "kitti" / "training" / "disp_occ_0").iterdir()):
        truth = cv2.imread(str(path), cv2.IMREAD_UNCHANGED) / 256
        estimate = cv2.imread(str(root / "results" / "mine" / path.name), cv2.IMREAD_UNCHANGED) / 256
        error = np.abs(truth - estimate)[truth > 0]
        outliers += int(((error > 3) & (error > 0.05 * truth[truth > 0])).sum())
        pixels += error.size
    return 100 * outliers / pixels


def test_d1_of_kitti_is_pooled_as_its_site_prints_it(kitti: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--protocol", "kitti-2015", "--store", kitti / "s.sqlite", "--jobs", 1, "--format", "csv")
    code, out, err = run(capsys, "evaluate", f"kitti-2015:{kitti / 'kitti'}", kitti / "results" / "mine", *words)
    assert code == 0, err
    ended = next(csv.DictReader(io.StringIO(out)))
    code, out, _ = run(capsys, "table", kitti / "s.sqlite", "--format", "csv")
    stored = next(csv.DictReader(io.StringIO(out)))
    assert ended == stored
    value = next(float(text) for name, text in ended.items() if name.startswith("d1:all"))
    assert value == pytest.approx(by_hand(kitti))


def test_the_depth_error_has_the_unit_that_it_is_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = np.tile(np.linspace(5, 30, 60, dtype=np.float32), (40, 1))
    sg.write_disparity(tmp_path / "gt.pfm", truth)
    sg.write_disparity(tmp_path / "mine.pfm", truth + 1)
    words = ("compare", tmp_path / "gt.pfm", tmp_path / "mine.pfm", "-m", "sze", "-r", "all")
    assert "1/px" in run(capsys, *words)[1]
    metric = run(capsys, *words, "--focal", "500", "--baseline", "0.1")[1]
    assert "1/px" not in metric
    assert " m" in metric


def test_the_catalogue_begins_with_what_everybody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "metrics", "--format", "csv")[1]
    assert [row["id"] for row in csv.DictReader(io.StringIO(out))][:3] == ["bad@THRESHOLD", "rms", "mae"]
    assert "mae" in run(capsys, "metrics", "epe")[1]


def test_missing_maps_are_named_and_two_protocols_are_told_apart(
    kitti: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (kitti / "results" / "mine" / "000001_10.png").unlink()
    data, store = f"kitti-2015:{kitti / 'kitti'}", kitti / "s.sqlite"
    words = ("evaluate", data, kitti / "results" / "mine", "--store", store, "--jobs", 1, "-m", "mae", "-r", "all")
    assert "1 without a map (000001_10 of mine)" in run(capsys, *words)[2]
    assert run(capsys, *words, "--set", "invalid=exclude")[0] == 0
    code, _, err = run(capsys, "table", store)
    assert code == 2
    assert "set protocol to one of them: " in err


def test_a_mean_says_of_how_many_scenes_it_is(kitti: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One algorithm without a map of a scene: evaluating and the table afterwards say the same."""
    (kitti / "results" / "mine" / "000001_10.png").unlink()
    data, store = f"kitti-2015:{kitti / 'kitti'}", kitti / "s.sqlite"
    words = ("evaluate", data, kitti / "results" / "mine", "--store", store, "--jobs", 1, "-m", "mae", "-r", "all")
    for out in (run(capsys, *words)[1], run(capsys, "table", store)[1]):
        assert "1 of 2 scenes" in " ".join(out.split()), out


def test_one_algorithm_alone_is_not_bold_in_latex(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sg.write_disparity(tmp_path / "gt.pfm", np.arange(12.0).reshape(3, 4) + 5)
    sg.write_disparity(tmp_path / "mine.pfm", np.arange(12.0).reshape(3, 4) + 6)
    out = run(
        capsys, *("compare", tmp_path / "gt.pfm", tmp_path / "mine.pfm", "-m", "mae", "-r", "all", "-f", "latex")
    )[1]
    assert "textbf" not in out


def test_kitti_2015_stays_pooled_beside_kitti_2012(kitti: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = kitti / "s.sqlite"
    for protocol in ("kitti-2012", "kitti-2015"):
        run(
            capsys,
            "evaluate",
            f"kitti-2015:{kitti / 'kitti'}",
            kitti / "results",
            "--protocol",
            protocol,
            "--store",
            store,
        )
    for choice in (("--protocol", "kitti-2015"), ("--protocol", "kitti-2015", "--dataset", "kitti-2015")):
        _, out, _ = run(capsys, "table", store, *choice, "--format", "csv")
        rows = list(csv.reader(io.StringIO(out)))
        place = next(index for index, head in enumerate(rows[0]) if head.startswith("d1:all"))
        assert float(rows[-1][place]) == pytest.approx(by_hand(kitti), rel=1e-9)
        assert not any(head.startswith("bad@") for head in rows[0])


def test_a_table_says_who_lacks_which_scenes(kitti: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (kitti / "results" / "part").mkdir()
    (kitti / "results" / "part" / "000000_10.png").write_bytes(
        (kitti / "results" / "mine" / "000000_10.png").read_bytes()
    )
    words = ("evaluate", f"kitti-2015:{kitti / 'kitti'}", kitti / "results", "--protocol", "kitti-2015")
    _, out, _ = run(capsys, *words, "--store", kitti / "s.sqlite")
    told = " ".join(out.split())
    assert "Without a score on some scenes, and so without one over all of them: part: 000001_10." in told


def test_the_depth_error_from_a_store_has_its_unit_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = np.tile(np.linspace(5, 30, 60, dtype=np.float32), (40, 1))
    calibration = sg.Calibration(focal=500, baseline=0.1)
    plain, calibrated = sg.Scene("plain", gt=truth), sg.Scene("calibrated", gt=truth, calibration=calibration)
    units = {"1/px": [plain], "m": [calibrated], "m on some scenes, 1/px on others": [plain, calibrated]}
    for number, (unit, scenes) in enumerate(units.items()):
        table = sg.evaluate({"mine": {scene.id: truth + 1 for scene in scenes}}, scenes, ["sze", "rms"], ["all"])
        with sg.open_store(tmp_path / f"{number}.sqlite") as store:
            store.write(table)
        code, out, err = run(capsys, "table", tmp_path / f"{number}.sqlite", "--format", "csv")
        assert code == 0, err
        assert out.splitlines()[0].startswith(
            f'algorithm,"sze:all [{unit}]"' if "," in unit else f"algorithm,sze:all [{unit}]"
        )


def test_scene_by_scene_is_one_table_in_csv(kitti: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = kitti / "s.sqlite"
    words = ("-m", "bad@3,mae", "-r", "all", "--store", store, "--jobs", 1)
    assert run(capsys, "evaluate", f"kitti-2015:{kitti / 'kitti'}", kitti / "results", *words)[0] == 0
    _, out, _ = run(capsys, "table", store, "--by", "scene", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["scene"], row["algorithm"]) for row in rows] == [("000000_10", "mine"), ("000001_10", "mine")]
    assert 0 < float(rows[0]["bad@3:all [%]"]) < float(rows[1]["bad@3:all [%]"])
    # With --need sure there are two tables per scene, and none takes the place of another.
    _, out, _ = run(capsys, "table", store, "--by", "scene", "--need", "sure", "-m", "mae", "-f", "json")
    assert {"scores-000000_10", "scores-000001_10", "coverage-000000_10", "coverage-000001_10"} <= set(json.loads(out))


def test_run_times_come_with_size_threads_and_processor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = np.random.default_rng(0).integers(0, 255, (24, 60), dtype=np.uint8)
    for name in ("left", "right"):
        (tmp_path / "pair" / name).mkdir(parents=True)
        cv2.imwrite(str(tmp_path / "pair" / name / "a.png"), pair)
    (tmp_path / "pair" / "gt").mkdir()
    sg.write_disparity(tmp_path / "pair" / "gt" / "a.pfm", np.ones((24, 60), np.float32))
    words = ("--matcher", "opencv-bm:block=5", "--ndisp", 16, "-m", "seconds,mae", "-r", "all", "--jobs", 1)
    store = tmp_path / "s.sqlite"
    code, out, _ = run(capsys, "evaluate", tmp_path / "pair", *words, "--maps", tmp_path / "maps", "--store", store)
    assert code == 0
    for shown in (out, run(capsys, "table", store)[1]):
        text = " ".join(shown.split())
        assert "Run times at 60×24 px, 16 disparities, " in text
        assert f"on {' '.join(processor_name().split())}." in text
    assert "Run times" not in run(capsys, "table", store, "-m", "mae")[1]
    match = sg.match(pair, pair, matcher="opencv-bm", ndisp=16, block=5)
    scores = sg.evaluate({"BM": match}, sg.Scene("a", gt=np.ones((24, 60), np.float32)), ["seconds", "cpu-seconds"])
    assert scores.value("cpu-seconds") >= 0
    assert "Run times at 60×24 px" in scores._repr_html_()


def test_every_pixel_means_the_filled_maps_of_the_named_data_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two data sets were evaluated with filled holes, each under a protocol of its own, and one without filling."""
    truth = np.tile(np.linspace(5, 30, 60, dtype=np.float32), (40, 1))
    for name, changed in (("first", "invalid=fill"), ("second", "invalid=fill"), ("third", "invalid=exclude")):
        for folder, values in ((tmp_path / name, truth), (tmp_path / "mine" / name, truth + len(name))):
            folder.mkdir(parents=True)
            sg.write_disparity(folder / "a.pfm", values)
        words = ("--store", tmp_path / "s.sqlite", "-m", "mae:all", "--set", changed, "--set", f"name={name}")
        words = (*words, "--set", f"border={2 * len(name)}", "--jobs", 1)
        code, _, err = run(capsys, "evaluate", tmp_path / name, tmp_path / "mine" / name, *words)
        assert code == 0, err
    for name in ("first", "second"):
        words = ("--dataset", name, "--need", "every-pixel", "--format", "csv")
        code, out, err = run(capsys, "table", tmp_path / "s.sqlite", *words)
        assert code == 0, err
        row = next(csv.DictReader(io.StringIO(out)))
        assert [float(text) for key, text in row.items() if key.startswith("mae:all")] == [pytest.approx(len(name))]
    code, _, err = run(capsys, "table", tmp_path / "s.sqlite", "--dataset", "third", "--need", "every-pixel")
    assert code == 2
    assert "of third of maps whose holes were filled" in err


def test_every_format_says_of_how_many_scenes_a_mean_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One algorithm has maps of two of three scenes."""
    truth = np.tile(np.linspace(5, 30, 60, dtype=np.float32), (40, 1))
    for folder, scenes in (("truth", "abc"), ("mine", "ab")):
        (tmp_path / folder).mkdir()
        for name in scenes:
            sg.write_disparity(tmp_path / folder / f"{name}.pfm", truth + (folder == "mine"))
    maps = (tmp_path / "truth", tmp_path / "mine", "-m", "mae:all")
    said = "Mean of 2 of 3 scenes; the others have no score."
    assert said in run(capsys, "compare", *maps)[1]
    assert said in run(capsys, "evaluate", *maps, "--store", tmp_path / "s.sqlite", "--jobs", 1)[1]
    for form, place in (("table", 1), ("json", 1), ("csv", 2), ("latex", 2)):
        assert said in run(capsys, "table", tmp_path / "s.sqlite", "--format", form)[place]
    with sg.open_store(tmp_path / "s.sqlite", read_only=True) as store:
        answer = table_answer(ScoreReader(StoreSource(store)), SelectionQuery(), None)
    assert (len(answer["scenes"]), answer["requested"]) == (2, 3)


def test_an_algorithm_alone_has_the_same_mean_whatever_else_is_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two algorithms, of which one has maps of two of three scenes."""
    truth = np.tile(np.linspace(5, 30, 60, dtype=np.float32), (40, 1))
    for folder, scenes in (("truth", "abc"), ("mine", "ab"), ("other", "abc")):
        (tmp_path / folder).mkdir()
        for name in scenes:
            sg.write_disparity(tmp_path / folder / f"{name}.pfm", truth + (folder != "truth"))
    words = ("-m", "mae:all", "--store", tmp_path / "s.sqlite", "--jobs", 1)
    for folder in ("mine", "other"):
        assert run(capsys, "evaluate", tmp_path / "truth", tmp_path / folder, *words)[0] == 0
    alone = run(capsys, "table", tmp_path / "s.sqlite", "-a", "mine")[1]
    assert "1.00" in alone
    assert "Mean of 2 of 3 scenes" in alone
    both = run(capsys, "table", tmp_path / "s.sqlite")[1]
    assert "Without a score on some scenes, and so without one over all of them: mine: c." in both


def test_the_store_says_that_scenes_are_copies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The truth of the copy is another format, with other bits in its NaN."""
    truth = np.tile(np.linspace(5, 30, 60, dtype=np.float32), (40, 1))
    for name in ("first", "second", "mine"):
        (tmp_path / name).mkdir()
    truth[:3] = np.nan
    sg.write_disparity(tmp_path / "first" / "a.pfm", truth)
    np.save(tmp_path / "second" / "a.npy", np.where(np.isnan(truth), -np.float64("nan"), truth))
    sg.write_disparity(tmp_path / "mine" / "a.pfm", truth + 1)
    words = (tmp_path / "mine", "-m", "mae:all", "--store", tmp_path / "s.sqlite", "--jobs", 1)
    assert "same ground truth" not in run(capsys, "evaluate", tmp_path / "first", *words)[2]
    said = "the same ground truth is in several scenes (first/a and second/a); each group counts as one scene"
    assert said in run(capsys, "evaluate", tmp_path / "second", *words)[2]
    assert said in run(capsys, "store", "info", tmp_path / "s.sqlite")[2]
    with sg.open_store(tmp_path / "s.sqlite", read_only=True) as store:
        assert len(set(store.cube().unit_of)) == 1
