"""`stereogauge regions`: counts in every format, pictures and arrays, one sentence for every mistake."""

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A card in front of a slanted wall, beside a pole, at full resolution."""
    y, x = np.mgrid[:160, :220]
    truth = (20 + 0.02 * x + 0.01 * y).astype(np.float32)
    truth[50:110, 40:110] = 60
    truth[:, 160:164] = 60
    sg.write_disparity(tmp_path / "disp0GT.pfm", truth)
    sg.write_disparity(tmp_path / "mine.pfm", truth + 0.1 * np.sin(x / 3).astype(np.float32))
    cv2.imwrite(str(tmp_path / "left.png"), np.full((160, 220, 3), 90, np.uint8))
    cv2.imwrite(str(tmp_path / "nonocc.png"), np.full((160, 220), 255, np.uint8))
    drawn = np.zeros((160, 220), np.uint8)
    drawn[60:100, 50:100] = 1
    cv2.imwrite(str(tmp_path / "planes.png"), drawn)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["regions", *map(str, words)])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def counts(out: str) -> dict[str, int | None]:
    return {row["region"]: row["pixels"] for row in json.loads(out)}


def test_json_counts_every_region_and_nothing_else_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mask = folder / "nonocc.png"
    code, out, _ = run(
        capsys,
        folder / "disp0GT.pfm",
        "--resolution",
        "1",
        "--left",
        folder / "left.png",
        "--nonocc",
        mask,
        "-f",
        "json",
    )
    found = counts(out)
    assert code == 0
    assert found["all"] == 160 * 220
    assert found["fine"] == 4 * (160 - 40)
    bands = sum(found[f"disc-{part}"] or 0 for part in ("foreground", "background"))
    assert bands <= (found["disc-edge"] or 0) < bands + (found["disc-jump"] or 0)
    assert sum(found[part] or 0 for part in ("boundary", "interior", "occluded")) == found["all"]
    assert found["fg"] is None


def test_csv_holds_shares_and_reasons(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, folder / "disp0GT.pfm", "-r", "all,textured", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["region"] for row in rows] == ["all", "textured"]
    assert float(rows[0]["share"]) == 100.0
    assert rows[1]["note"] == "the scene has no left"


def test_the_table_has_scenes_across_and_says_the_protocol(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, folder / "disp0GT.pfm", "-r", "all,planar")
    assert code == 0
    assert out.splitlines()[0].split() == ["region", folder.name]
    assert "protocol default" in err


def test_latex_is_a_tabular(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, folder / "disp0GT.pfm", "-r", "all", "-f", "latex")
    assert r"all & 35200 (100.0 \%) \\" in out


def test_out_writes_pictures_and_arrays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = folder / "out"
    words = ["--left", folder / "left.png", "--nonocc", folder / "nonocc.png", "-r", "nonocc,fine", "-o", target]
    words += ["--resolution", "1"]
    code, _, _ = run(capsys, folder / "disp0GT.pfm", *words, "--estimate", f"mine={folder / 'mine.pfm'}")
    assert code == 0
    (scene,) = target.iterdir()
    written = {path.name for path in scene.iterdir()}
    pictures = {"nonocc", "fine", "discontinuities", "extrapolated-background", "extrapolated-foreground"}
    pictures |= {"fine-structures", "extrapolated-structures", "planes", "directions", "normals"}
    pictures |= {"gradient", "direction-change", "thin-runs"}
    assert written == {f"{name}.png" for name in pictures} | {"regions.npz", "geometry.npz"}
    for name in pictures:
        image = cv2.imread(str(scene / f"{name}.png"))
        assert image is not None
        assert image.std() > 1
    with np.load(scene / "regions.npz") as arrays:
        assert arrays["fine"].sum() == 4 * (160 - 40)
    with np.load(scene / "geometry.npz") as arrays:
        assert {"planes", "plane_normals", "extrapolated_foreground", "fine_label"} <= set(arrays.files)


def test_the_layer_of_the_planes_is_called_as_its_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, folder / "disp0GT.pfm", "--resolution", "1", "--out", tmp_path / "sets", "--layers", "planes")
    (scene,) = (tmp_path / "sets").iterdir()
    written = {path.name for path in scene.iterdir()}
    assert "planes.png" in written
    assert "normals.png" not in written


def test_drawn_planes_replace_the_search(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--nonocc", folder / "nonocc.png", "-r", "planar", "-f", "json"]
    _, out, _ = run(capsys, folder / "disp0GT.pfm", *words, "--planes", folder / "planes.png")
    assert counts(out)["planar"] == 40 * 50


def test_compare_takes_the_same_drawn_planes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    masks = ["--mask", f"nonocc={folder / 'nonocc.png'}", "--planes", folder / "planes.png"]
    words = [folder / "disp0GT.pfm", folder / "mine.pfm", *masks, "-m", "p-off", "-f", "json"]
    with pytest.raises(SystemExit) as stopped:
        main(["compare", *map(str, words)])
    (score,) = json.loads(capsys.readouterr().out)["scores"]
    assert stopped.value.code == 0
    assert score["count"] == 40 * 50


def test_a_dataset_is_counted_scene_by_scene(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "motorcycle", "-r", "disc-foreground,disc-background,planar,fine", "-f", "json")
    assert {row["scene"] for row in json.loads(out)} == {"motorcycle"}
    assert all(pixels for pixels in counts(out).values())


def test_sparse_ground_truth_is_a_gap_with_its_coverage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sparse = np.full((160, 220), np.nan, np.float32)
    sparse[::2, ::2] = 20
    sg.write_disparity(folder / "sparse.pfm", sparse)
    code, out, err = run(capsys, folder / "sparse.pfm", "-r", "planar")
    assert code == 0
    assert out.splitlines()[1].split() == ["planar", "–"]
    assert "ground truth covers 25 %" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere"], "neither a known dataset nor a file"),
        (["disp0GT.pfm", "-r", "planr"], "Did you mean 'planar'"),
        (["disp0GT.pfm", "--resolution", "0"], "resolution is a positive number"),
        (["disp0GT.pfm", "--planes", "missing.png"], "missing.png"),
        (["disp0GT.pfm", "--estimate", "missing.pfm"], "missing.pfm: there is no such file"),
        (["synthetic:mixed", "--scenes", "none-such"], "none-such"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_two(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str], sentence: str
) -> None:
    monkeypatch.chdir(folder)
    code, out, err = run(capsys, *words)
    assert code == 2
    assert out == ""
    assert sentence in err
