"""`stereogauge compare`: every format, pictures, and one sentence for every mistake."""

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
from stereogauge.io import files
from stereogauge.metrics import declaration, registry
from stereogauge.metrics.measurement import Measurement


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    truth = np.tile(np.linspace(5, 30, 60, dtype=np.float32), (40, 1))
    estimate = truth + 1.5
    estimate[:, :6] = np.nan
    sg.write_disparity(tmp_path / "disp0GT.pfm", truth)
    sg.write_disparity(tmp_path / "mine.pfm", estimate)
    sg.write_disparity(tmp_path / "other.pfm", truth + 0.25)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["compare", *map(str, words)])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def test_json_is_one_document_and_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, folder / "disp0GT.pfm", folder / "mine.pfm", "-m", "bad@1,mae", "-r", "all", "-f", "json"
    )
    document = json.loads(out)
    assert code == 0
    values = {(s["algorithm"], s["metric"]): s["value"] for s in document["scores"]}
    assert values == {("mine", "bad@1"): 100.0, ("mine", "mae"): pytest.approx(1.5)}


def test_every_map_is_read_once(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    read = files.read_disparity

    def counted(path: Path, **options: object) -> np.ndarray:
        reads.append(Path(path).name)
        return read(path, **options)

    monkeypatch.setattr(files, "read_disparity", counted)
    paths = [folder / "disp0GT.pfm", folder / "mine.pfm", folder / "other.pfm"]
    code, *_ = run(capsys, *paths, "-m", "bad@1,mae", "-r", "all", "--out", folder / "pictures")
    assert code == 0
    assert sorted(reads) == ["disp0GT.pfm", "mine.pfm", "other.pfm"]


def test_a_metric_may_have_several_parameters(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @declaration.map_metric(
        id="between",
        name="share of errors between two bounds",
        formula="",
        unit="%",
        source="this test",
        missing="counted",
        pooled=lambda hits, count: 100 * hits / count,
        parameters=(declaration.Parameter("low"), declaration.Parameter("high")),
    )
    def between(measurement: Measurement, region: str, low: float, high: float) -> declaration.Statistic:
        error = np.abs(measurement.estimate - measurement.scene.gt)
        hits = int(((error > low) & (error < high)).sum())
        return declaration.Statistic(sum=hits, count=error.size, missing=0)

    known = {**registry.metrics(), "between": between}
    monkeypatch.setattr(registry, "metrics", lambda: known)
    paths = [folder / "disp0GT.pfm", folder / "other.pfm"]
    _, out, _ = run(capsys, *paths, "-m", "between@0.1,0.5,mae,between@1,2:all", "-r", "all", "-f", "csv")
    rows = {row["metric"]: float(row["value"]) for row in csv.DictReader(io.StringIO(out))}
    assert rows == {"between@0.1,0.5": 100.0, "mae": pytest.approx(0.25), "between@1,2": 0.0}


def test_csv_and_latex(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [folder / "disp0GT.pfm", folder / "mine.pfm", folder / "other.pfm"]
    _, out, _ = run(capsys, *paths, "-m", "mae", "-r", "all", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["algorithm"] for row in rows] == ["mine", "other"]
    assert float(rows[1]["value"]) == pytest.approx(0.25)
    _, out, _ = run(capsys, *paths, "-m", "mae", "-r", "all", "-f", "latex")
    assert r"other & \textbf{0.250} \\" in out


def test_the_table_names_the_protocol_and_what_could_not_be_measured(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, folder / "disp0GT.pfm", folder / "mine.pfm", "-m", "mae,z-mae", "-r", "all")
    assert code == 0
    assert "1.50" in out
    assert "protocol default" in err
    assert "z-mae needs a calibration" in err


def test_a_mask_is_measured_beside_the_protocols_regions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mask = np.zeros((40, 60), np.uint8)
    mask[:, 30:] = 255
    cv2.imwrite(str(folder / "half.png"), mask)
    words = [folder / "disp0GT.pfm", folder / "mine.pfm", "--mask", folder / "half.png", "-m", "density", "-f", "json"]
    _, out, _ = run(capsys, *words)
    counts = {score["region"]: score["count"] for score in json.loads(out)["scores"]}
    assert counts["half"] == 1200
    assert list(counts) == ["all", "nonocc", "half"]


def test_the_right_ground_truth_is_decoded_as_the_left_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("gt.png", "gt-right.png", "mine.png"):
        sg.write_disparity(folder / name, np.full((40, 60), 6.0), encoding="middlebury", scale=8)
    words = ["--encoding", "middlebury", "--scale", "8", "--set", "region_rules.rule=bidirectional", "-m", "bad@1"]
    code, out, _ = run(
        *(capsys, folder / "gt.png", folder / "mine.png", "--gt-right", folder / "gt-right.png"),
        *(*words, "-r", "nonocc", "-f", "json"),
    )
    assert code == 0
    assert json.loads(out)["scores"][0]["count"] == 40 * 54


@pytest.mark.parametrize("scale", [1, 1.5])
def test_no_scale_is_advised_that_would_change_the_ground_truth_too(
    folder: Path, capsys: pytest.CaptureFixture[str], scale: float
) -> None:
    truth = sg.read_disparity(folder / "disp0GT.pfm")
    cv2.imwrite(str(folder / "gt.png"), np.rint(truth * 1.5).astype(np.uint8))
    pair = (folder / "gt.png", folder / "other.pfm")
    if scale == 1:
        cv2.imwrite(str(folder / "other.png"), np.rint(truth).astype(np.uint8))
        pair = (folder / "gt.png", folder / "other.png")
    _, _, told = run(capsys, *pair, "-m", "mae", "-r", "all", "--scale", scale)
    assert "both were read with one --scale: give the scale of the ground truth with --gt-scale" in told
    assert "set scale" not in told
    _, _, told = run(capsys, *pair, "-m", "mae", "-r", "all", "--scale", 1, "--gt-scale", 1.5)
    assert "--gt-scale" not in told


def test_calibration_masks_and_overrides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["cam0=[1000 0 30; 0 1000 20; 0 0 1]", "cam1=[1000 0 32; 0 1000 20; 0 0 1]", "doffs=2", "baseline=100"]
    (folder / "calib.txt").write_text("\n".join([*lines, "width=60", "height=40", "ndisp=32", ""]))
    mask = np.zeros((40, 60), np.uint8)
    mask[:, 30:] = 255
    cv2.imwrite(str(folder / "right.png"), mask)
    given = ["--calib", folder / "calib.txt", "--mask", f"half={folder / 'right.png'}", "--set", "invalid=exclude"]
    wanted = ["-m", "z-mae,bad@1", "-r", "half", "-f", "json"]
    code, out, _ = run(capsys, folder / "disp0GT.pfm", folder / "mine.pfm", *given, *wanted)
    assert code == 0
    document = json.loads(out)
    assert document["protocol"]["invalid"] == "exclude"
    assert [s["count"] for s in document["scores"]] == [1200, 1200]
    assert document["scores"][0]["value"] > 0


def test_pictures_are_written_for_every_metric(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "pictures"
    code, _, err = run(
        capsys, folder / "disp0GT.pfm", folder / "mine.pfm", "-m", "bad@1,rms,bias", "-r", "all", "--out", out
    )
    assert code == 0
    names = sorted(path.name for path in out.iterdir())
    assert names == ["ground-truth.png", "mine-bad@1.png", "mine-bias.png", "mine-rms.png", "mine.png"]
    assert "5 pictures" in err
    exact = cv2.imread(str(out / "mine.png"))
    assert exact.shape == (40, 60, 3)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["{}/mine.pfm", "{}/disp0GT.pfm"], "looks like a ground truth but was given as an estimate"),
        (["{}/disp0GT.pfm", "{}/small.pfm"], "The map has 30 × 20 pixels, the ground truth 60 × 40"),
        (["{}/disp0GT.pfm", "{}/eight.png"], "8-bit PNG does not say how its values become disparities"),
        (["{}/disp0GT.pfm", "{}/none.pfm"], "none.pfm"),
        (["{}/disp0GT.pfm", "{}/mine.pfm", "-m", "bat@1"], "Unknown metric 'bat'"),
        (["{}/disp0GT.pfm", "{}/mine.pfm", "-p", "kitti"], "Unknown protocol 'kitti'"),
        (
            ["{}/disp0GT.pfm", "{}/mine.pfm", "--set", "invalid=no"],
            "invalid must be 'count', 'exclude' or 'fill'",
        ),
        (["{}/disp0GT.pfm", "{}/mine.pfm", "--mask", "nonocc={}/small-mask.png"], "both must have one size"),
        (["{}/disp0GT.pfm", "{}/mine.pfm", "--mask", "{}/none.png"], "none.png: there is no such file"),
        (["{}/disp0GT.pfm", "{}/mine.pfm", "--left", "{}/none.png"], "none.png: there is no such file"),
        (["{}/disp0GT.pfm", "{}/mine.pfm", "--left", "{}/small-mask.png"], "left image is 30×20, the ground truth"),
        (["{}/disp0GT.pfm", "{}/mine.pfm", "--calib", "{}/disp0GT.pfm"], "calib"),
    ],
)
def test_every_mistake_gets_its_own_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    sg.write_disparity(folder / "small.pfm", np.ones((20, 30), np.float32))
    cv2.imwrite(str(folder / "eight.png"), np.full((40, 60), 40, np.uint8))
    cv2.imwrite(str(folder / "small-mask.png"), np.full((20, 30), 255, np.uint8))
    code, out, err = run(capsys, *(word.format(folder) for word in words))
    assert code == 2
    assert sentence in err
    assert err.startswith("stereogauge: ")
    assert err.count("\n") == 1
    assert out == ""


def test_a_kitti_file_read_with_an_8_bit_scale_is_measured_and_doubted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = sg.read_disparity(folder / "disp0GT.pfm")
    cv2.imwrite(str(folder / "sixteen.png"), np.rint(truth * 256).astype(np.uint16))
    files = (folder / "disp0GT.pfm", folder / "sixteen.png")
    code, _, err = run(capsys, *files, "--encoding", "middlebury", "--scale", "4", "-m", "mae", "-r", "all")
    assert code == 0
    assert "sixteen: The disparities are about 64 times too large" in err


def test_a_swapped_pair_can_be_insisted_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, *_ = run(capsys, folder / "mine.pfm", folder / "disp0GT.pfm", "--as-given", "-m", "mae", "-r", "all")
    assert code == 0


def test_an_estimate_without_any_value_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sg.write_disparity(folder / "empty.pfm", np.full((40, 60), np.nan, np.float32))
    code, out, err = run(capsys, folder / "disp0GT.pfm", folder / "empty.pfm", "-m", "bad@1,mae", "-r", "all")
    assert code == 0
    assert "100" in out
    assert "empty: no estimate in region 'all' (mae:all)" in err


def test_estimates_of_one_name_are_told_apart_by_their_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("first", "second"):
        (folder / name).mkdir()
        sg.write_disparity(folder / name / "disp.pfm", np.ones((40, 60), np.float32))
    files = [folder / "disp0GT.pfm", folder / "first/disp.pfm", folder / "second/disp.pfm"]
    _, out, _ = run(capsys, *files, "-m", "mae", "-r", "all", "-f", "csv")
    assert [row["algorithm"] for row in csv.DictReader(io.StringIO(out))] == ["first/disp", "second/disp"]


def test_classes_of_a_label_image_are_regions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = np.zeros((40, 60), np.uint8)
    labels[:, 30:] = 7
    cv2.imwrite(str(folder / "labels.png"), labels)
    files_ = [folder / "disp0GT.pfm", folder / "mine.pfm"]
    wanted = ["-m", "mae", "-r", "label:glass,all - label:rest", "-f", "json"]
    code, out, _ = run(capsys, *files_, "--labels", f"{folder / 'labels.png'}:glass=7,rest=0+2", *wanted)
    assert code == 0
    found = {score["region"]: (score["value"], score["count"]) for score in json.loads(out)["scores"]}
    assert found == {"label:glass": (1.5, 1200), "all-label:rest": (1.5, 1200)}
    code, _, err = run(capsys, *files_, "--labels", folder / "labels.png")
    assert code == 2
    assert "FILE:CLASS=VALUE" in err


def test_scores_by_object_have_a_row_and_a_place_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = np.tile(np.linspace(8, 10, 160, dtype=np.float32), (120, 1))
    truth[30:70, 40:90] = 28.0
    sg.write_disparity(folder / "disp0GT.pfm", truth)
    sg.write_disparity(folder / "mine.pfm", truth + 0.5)
    files_ = [folder / "disp0GT.pfm", folder / "mine.pfm", "--resolution", 0.25, "--by", "object"]
    code, out, _ = run(capsys, *files_)
    assert code == 0
    assert "Planes" in out
    assert "object@1" in out
    code, out, _ = run(capsys, *files_, "-m", "p-off", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["region"].partition("@")[0] for row in rows} == {"planar&plane"}
    box = next(row for row in rows if int(row["pixels"]) < 3000)
    assert 40 <= int(box["x"]) < 50
    assert float(box["value"]) == pytest.approx(0.5, abs=0.05)
