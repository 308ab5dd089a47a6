"""Archives for public benchmarks: complete and right, or not written at all."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

import stereogauge as sg
from stereogauge import StereogaugeError, read_disparity, write_disparity
from stereogauge.cli import application
from stereogauge.datasets.results.find import find_results
from stereogauge.datasets.submission import BENCHMARKS, pack, pack_robust_vision

KITTI = np.full((375, 1242), 20.25, np.float32)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first frames of KITTI stand for all of them; their number is checked by itself."""
    for name in ("kitti-2012", "kitti-2015"):
        assert len(BENCHMARKS[name].scenes["testing"]) == {"kitti-2012": 195, "kitti-2015": 200}[name]
        part = {"testing": BENCHMARKS[name].scenes["testing"][:4]}
        monkeypatch.setitem(BENCHMARKS, name, replace(BENCHMARKS[name], scenes=part))


def kitti_results(folder: Path, count: int = 4) -> Path:
    folder.mkdir(parents=True)
    write_disparity(folder / "000000_10.png", KITTI, encoding="kitti")
    content = (folder / "000000_10.png").read_bytes()
    for number in range(1, count):
        (folder / f"{number:06}_10.png").write_bytes(content)
    return folder


def test_kitti_2015_has_its_maps_in_disp_0(tmp_path: Path) -> None:
    made = pack("kitti-2015", kitti_results(tmp_path / "mine"), tmp_path / "submit.zip")
    assert made.ok, made.findings
    with zipfile.ZipFile(tmp_path / "submit.zip") as archive:
        names = archive.namelist()
        assert (len(names), names[0], names[-1]) == (4, "disp_0/000000_10.png", "disp_0/000003_10.png")
        (tmp_path / "one.png").write_bytes(archive.read(names[2]))
    assert read_disparity(tmp_path / "one.png", encoding="kitti")[3, 3] == 20.25


def test_kitti_2012_has_its_maps_without_a_folder(tmp_path: Path) -> None:
    made = pack("kitti-2012", kitti_results(tmp_path / "mine"), tmp_path / "submit.zip")
    assert made.files == tuple(f"{number:06}_10.png" for number in range(4))


def test_what_is_missing_or_too_small_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    folder = kitti_results(tmp_path / "mine", 2)
    write_disparity(folder / "000001_10.png", KITTI[:300], encoding="kitti")
    made = pack("kitti-2015", folder, tmp_path / "submit.zip")
    assert not made.ok
    said = {finding.kind: finding.sentence for finding in made.findings}
    assert said["missing-scenes"] == "2 of 4 scenes have no map: 000002_10, 000003_10."
    assert "1242 × 300 pixels, which no image of kitti-2015 has" in said["unfit"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine"]


def test_a_disparity_that_the_encoding_cannot_hold_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for number in range(4):
        write_disparity(folder / f"{number:06}_10.npy", np.full((370, 1226), 300.0 if number == 3 else 9.0, np.float32))
    made = pack("kitti-2012", folder, tmp_path / "submit.zip")
    assert [finding.scene for finding in made.findings] == ["000003_10"]


def middlebury_results(folder: Path, *, gaps: bool = False) -> Path:
    disparity = np.full((8, 10), 30.5, np.float32)
    if gaps:
        disparity[0, 0] = np.nan
    folder.mkdir(parents=True, exist_ok=True)
    for names in BENCHMARKS["middlebury-v3"].scenes.values():
        for name in names:
            write_disparity(folder / f"{name}.pfm", disparity)
    return folder


def test_middlebury_needs_run_times_and_names_sparse_maps(tmp_path: Path) -> None:
    folder = middlebury_results(tmp_path / "Mine", gaps=True)
    refused = pack("middlebury-v3", folder, tmp_path / "submit.zip", variant="H")
    assert [finding.kind for finding in refused.findings] == ["missing-times"]
    made = pack("middlebury-v3", folder, tmp_path / "submit.zip", variant="H", seconds=1.5)
    assert made.ok
    with zipfile.ZipFile(tmp_path / "submit.zip") as archive:
        assert "trainingH/Adirondack/disp0Mine_s.pfm" in archive.namelist()
        assert archive.read("testH/Staircase/timeMine.txt") == b"1.5\n"
        assert len(archive.namelist()) == 60
        (tmp_path / "one.pfm").write_bytes(archive.read("testH/Plants/disp0Mine_s.pfm"))
    assert np.isnan(read_disparity(tmp_path / "one.pfm")[0, 0])


def test_one_map_with_a_gap_makes_all_middlebury_maps_a_sparse_result(tmp_path: Path) -> None:
    folder = middlebury_results(tmp_path / "Mine")
    gap = np.full((8, 10), 3.5, np.float32)
    gap[2, 3] = np.nan
    write_disparity(folder / "Teddy.pfm", gap)
    made = pack("middlebury-v3", folder, tmp_path / "submit.zip", variant="H", seconds=1.5)
    maps = [name for name in made.files if name.endswith(".pfm")]
    assert len(maps) == 30
    assert all(name.endswith("/disp0Mine_s.pfm") for name in maps)


@pytest.mark.parametrize(("times", "variant"), [(1, "Q"), (2, "H"), (4, "F")])
def test_middlebury_maps_say_their_size(tmp_path: Path, times: int, variant: str) -> None:
    folder = middlebury_results(tmp_path / "Mine")
    write_disparity(folder / "ArtL.pfm", np.full((8, 347 * times + times // 3), 9.0, np.float32))
    made = pack("middlebury-v3", folder, tmp_path / "submit.zip", seconds=1.5)
    assert f"training{variant}/ArtL/disp0Mine.pfm" in made.files
    other = "H" if variant != "H" else "Q"
    refused = pack("middlebury-v3", folder, tmp_path / "other.zip", seconds=1.5, variant=other)
    assert [(finding.scene, finding.sentence) for finding in refused.findings] == [
        ("ArtL", f"The map has the size of middlebury-v3:{variant}, not of middlebury-v3:{other}.")
    ]


def test_eth3d_states_run_times_in_its_own_words(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in (name for names in BENCHMARKS["eth3d"].scenes.values() for name in names):
        write_disparity(folder / f"{name}.pfm", np.full((8, 10), 3.5, np.float32))
    made = pack("eth3d", folder, tmp_path / "submit.zip", seconds=0.25)
    assert len(made.files) == 2 * 47
    with zipfile.ZipFile(tmp_path / "submit.zip") as archive:
        assert archive.read("low_res_two_view/tunnel_3s.txt") == b"runtime 0.25\n"


def test_run_times_in_the_form_of_eth3d_are_found_beside_the_maps(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in (name for names in BENCHMARKS["eth3d"].scenes.values() for name in names):
        write_disparity(folder / f"{name}.pfm", np.full((8, 10), 3.5, np.float32))
        (folder / f"{name}.txt").write_text("runtime 0.5\n")
    made = pack("eth3d", folder, tmp_path / "submit.zip")
    assert made.ok
    again = pack("eth3d", tmp_path / "submit.zip", tmp_path / "again.zip")
    assert again.files == made.files, "an archive for submission is a folder of results too"
    (folder / "forest_1s.txt").write_text("a street in the morning\n")
    refused = pack("eth3d", folder, tmp_path / "third.zip")
    assert [finding.kind for finding in refused.findings] == ["missing-times", "unrecognised"]
    (folder / "calib").mkdir()
    (folder / "calib" / "forest_1s.txt").write_text("0.5")
    data = sg.Dataset("eth3d", [sg.Scene("forest_1s")])
    assert [result.name for result in find_results(folder, data).results] == ["mine"]


@pytest.fixture
def spring(tmp_path: Path) -> Path:
    import cv2

    for side in ("left", "right"):
        for number in (1, 2):
            path = tmp_path / "spring" / "test" / "0003" / f"frame_{side}" / f"frame_{side}_{number:04}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(path), np.full((6, 8, 3), 90, np.uint8))
    return tmp_path / "spring"


@pytest.mark.parametrize("name", ["{side}/0003-{number:04}.pfm", "0003/disp1_{side}/disp1_{side}_{number:04}.pfm"])
def test_spring_wants_both_views_as_hdf5(tmp_path: Path, spring: Path, name: str) -> None:
    import h5py

    results = tmp_path / "mine"
    for side in ("left", "right"):
        for number in (1, 2):
            path = results / name.format(side=side, number=number)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_disparity(path, np.full((6, 8), 4.0 + number, np.float32))
    with pytest.raises(StereogaugeError, match="give it as --data"):
        pack("spring", results, tmp_path / "submit.zip")
    made = pack("spring", results, tmp_path / "submit.zip", data=spring)
    assert made.ok, made.findings
    with zipfile.ZipFile(tmp_path / "submit.zip") as archive:
        names = archive.namelist()
        assert "test/0003/disp1_right/disp1_right_0002.dsp5" in names
        with h5py.File(io.BytesIO(archive.read("test/0003/disp1_left/disp1_left_0002.dsp5"))) as file:
            assert file["disparity"][0, 0] == 6.0
    (results / name.format(side="right", number=2)).unlink()
    lacking = pack("spring", results, tmp_path / "other.zip", data=spring)
    assert [finding.kind for finding in lacking.findings] == ["missing-right"]


def test_booster_has_16_bits_with_64_steps_per_pixel(tmp_path: Path) -> None:
    import cv2

    for camera in ("camera_00", "camera_02"):
        path = tmp_path / "booster" / "test" / "balanced" / "Bathroom" / camera / "im0.png"
        path.parent.mkdir(parents=True)
        cv2.imwrite(str(path), np.full((6, 8, 3), 90, np.uint8))
    results = tmp_path / "mine"
    results.mkdir()
    disparity = np.full((6, 8), 900.5, np.float32)
    disparity[1, :2] = 0, np.nan
    write_disparity(results / "Bathroom-im0.npy", disparity)
    made = pack("booster", results, tmp_path / "submit.zip", data=tmp_path / "booster")
    assert made.files == ("balanced/Bathroom/im0.png",)
    with zipfile.ZipFile(tmp_path / "submit.zip") as archive:
        stored = cv2.imdecode(np.frombuffer(archive.read(made.files[0]), np.uint8), cv2.IMREAD_UNCHANGED)
    assert (stored.dtype, int(stored[0, 0])) == (np.uint16, 57632)
    assert stored[1, :2].tolist() == [1, 0], "a stored 0 means that there is no estimate"
    assert [scene.id for scene in sg.load_dataset("booster", tmp_path / "booster", split="test")] == ["Bathroom-im0"]


def test_robust_vision_writes_all_three_or_none(tmp_path: Path) -> None:
    results = tmp_path / "results"
    parts = {"Middlebury2014_": ("middlebury-v3", (8, 10)), "ETH3D2017_": ("eth3d", (8, 10))}
    for prefix, (name, size) in {**parts, "Kitti2015_": ("kitti-2015", (375, 1242))}.items():
        for split, scenes in BENCHMARKS[name].scenes.items():
            for scene in scenes:
                folder = results / split / f"{prefix}{scene}"
                folder.mkdir(parents=True)
                write_disparity(folder / "disp0Mine.pfm", np.full(size, 3.5, np.float32))
                (folder / "timeMine.txt").write_text("0.75")
    made = pack_robust_vision(results, tmp_path / "out")
    assert [(name, one.ok, one.findings) for name, one in made.items()] == [
        (name, True, ()) for name in ("kitti-2015", "middlebury-v3", "eth3d")
    ]
    assert "trainingQ/Adirondack/disp0Mine_RVC.pfm" in made["middlebury-v3"].files
    shutil.rmtree(results / "testing" / "Kitti2015_000001_10")
    made = pack_robust_vision(results, tmp_path / "other")
    assert [name for name, one in made.items() if one.ok] == ["middlebury-v3", "eth3d"]
    assert list((tmp_path / "other").iterdir()) == []


def test_the_command_says_what_is_wrong_and_what_to_do_next(tmp_path: Path) -> None:
    run = CliRunner()
    command = ["pack", "kitti-2015", str(kitti_results(tmp_path / "mine", 3)), "--out", str(tmp_path / "a.zip")]
    app = application("pack", {})
    failed = run.invoke(app, [*command, "--format", "json"])
    assert failed.exit_code == 1
    assert json.loads(failed.stdout)["kitti-2015"]["findings"][0]["kind"] == "missing-scenes"
    (tmp_path / "mine" / "000003_10.png").write_bytes((tmp_path / "mine" / "000000_10.png").read_bytes())
    worked = run.invoke(app, command)
    assert worked.exit_code == 0
    assert "4 files; upload it at" in worked.stderr
