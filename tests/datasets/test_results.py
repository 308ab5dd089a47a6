"""Result layouts: what is recognised without configuration, what a manifest says, and what is left over."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from stereogauge import Dataset, Scene, StereogaugeError, load_dataset
from stereogauge.datasets.results.find import FoundResults, find_results
from stereogauge.errors import DatasetError, UnknownNameError
from stereogauge.io import DisparityFile, content_hash, load_disparity

Write = Callable[..., Path]


@pytest.fixture
def data() -> Dataset:
    scenes = [Scene(name, gt=np.full((6, 9), 2, np.float32)) for name in ("Teddy", "ArtL", "000000_10")]
    return Dataset("made", scenes)


def _maps(found: FoundResults) -> dict[str, tuple[str, ...]]:
    return {result.name: tuple(result.maps) for result in found.results}


def test_a_middlebury_submission_is_recognised_with_its_run_times(
    tmp_path: Path, data: Dataset, disparity: Write, text: Write
) -> None:
    for scene, seconds in (("Teddy", "1.5\n"), ("ArtL", "0.25")):
        folder = tmp_path / "trainingQ" / scene
        disparity(folder / "disp0MINE.pfm")
        disparity(folder / "disp0MINE_s.pfm")
        disparity(folder / "disp1MINE.pfm")
        disparity(folder / "disp0GT.pfm")
        text(folder / "timeMINE.txt", seconds)
    found = find_results(tmp_path, data)
    assert _maps(found) == {"MINE": ("Teddy", "ArtL"), "MINE_s": ("Teddy", "ArtL")}
    mine = found.results[0]
    assert mine.seconds == {"Teddy": 1.5, "ArtL": 0.25}
    assert tuple(mine.right_maps) == ("Teddy", "ArtL")
    assert found.unrecognised == ["trainingQ/ArtL/disp0GT.pfm", "trainingQ/Teddy/disp0GT.pfm"]


def test_a_run_time_that_is_no_number_is_left_over(
    tmp_path: Path, data: Dataset, disparity: Write, text: Write
) -> None:
    disparity(tmp_path / "Teddy" / "disp0X.pfm")
    text(tmp_path / "Teddy" / "timeX.txt", "fast")
    found = find_results(tmp_path, data)
    assert found.results[0].seconds == {}
    assert found.unrecognised == ["Teddy/timeX.txt"]


@pytest.mark.parametrize("place", ["disp_0", "data", "."])
def test_a_kitti_submission_takes_the_name_of_its_folder(
    tmp_path: Path, data: Dataset, disparity: Write, place: str
) -> None:
    disparity(tmp_path / "SGM" / place / "000000_10.png", 3.0, encoding="kitti")
    disparity(tmp_path / "SGM" / "disp_1" / "000000_10.png", 3.0, encoding="kitti")
    found = find_results(tmp_path / "SGM", data)
    assert _maps(found) == {"SGM": ("000000_10",)}
    assert float(load_disparity(found.results[0].maps["000000_10"])[0, 0]) == 3.0
    assert found.unrecognised == ["disp_1/000000_10.png"]
    assert _maps(find_results(tmp_path, data)) == {"SGM": ("000000_10",)}
    assert _maps(find_results(tmp_path / "SGM" / place, data)) == {"SGM": ("000000_10",)}


def test_folders_of_algorithms_confidence_and_right_views(
    tmp_path: Path, data: Dataset, disparity: Write, text: Write
) -> None:
    disparity(tmp_path / "A" / "teddy.pfm")
    disparity(tmp_path / "A" / "teddy.npy")
    disparity(tmp_path / "A" / "right" / "Teddy.pfm")
    disparity(tmp_path / "A" / "confidence" / "ccnn" / "Teddy.pfm", 0.5)
    disparity(tmp_path / "A" / "confidence" / "lrc" / "Teddy.pfm", 0.5)
    disparity(tmp_path / "B" / "fast" / "left" / "000000.pfm")
    disparity(tmp_path / "B" / "slow" / "ArtL.pfm")
    disparity(tmp_path / "C" / "Dolls.pfm")
    text(tmp_path / "notes.txt", "hello")
    found = find_results(tmp_path, data)
    assert _maps(found) == {"A": ("Teddy",), "B/fast": ("000000_10",), "B/slow": ("ArtL",)}
    first = found.results[0]
    assert (tuple(first.right_maps), tuple(first.confidence)) == (("Teddy",), ("Teddy",))
    assert "ccnn" in str(first.confidence["Teddy"].path)  # type: ignore[union-attr]
    assert list(first.other_confidence) == ["ccnn", "lrc"]
    assert all(set(maps.maps) == {"Teddy"} for maps in first.other_confidence.values())
    assert found.unrecognised == ["A/teddy.npy", "C/Dolls.pfm", "notes.txt"]


def test_a_template_says_where_everything_else_lies(tmp_path: Path, data: Dataset, disparity: Write) -> None:
    disparity(tmp_path / "run1" / "Teddy" / "out.pfm", 1.0)
    disparity(tmp_path / "run2" / "Teddy" / "out.pfm", 2.0)
    found = find_results(tmp_path, data, template="{algorithm}/{scene}/out.pfm")
    assert _maps(found) == {"run1": ("Teddy",), "run2": ("Teddy",)}
    one = find_results(tmp_path / "run1", data, template="{scene}/out.pfm", name="best")
    assert _maps(one) == {"best": ("Teddy",)}
    for template, sentence in (
        ("{algorithm}/out.pfm", "needs {scene}"),
        ("../{scene}.pfm", "must stay below"),
        ("{method}/{scene}.pfm", "allowed are {algorithm}, {scene}"),
    ):
        with pytest.raises(DatasetError) as error:
            find_results(tmp_path, data, template=template)
        assert sentence in str(error.value)
    with pytest.raises(DatasetError, match="is for one algorithm"):
        find_results(tmp_path, data, template="{algorithm}/{scene}/out.pfm", name="best")


MANIFEST = """
scale = 8
description = "all of them"
[algorithms.A]
scale = { Teddy = 4, ArtL = 2 }
offset = -1
colour = "#ff0000"
name = "Alpha"
[confidence]
scale = 255
"""


def test_a_manifest_says_how_values_are_meant_and_the_nearest_one_wins(
    tmp_path: Path, data: Dataset, picture: Write, text: Write
) -> None:
    for name in ("A/Teddy", "A/ArtL", "B/Teddy", "C/Teddy", "A/confidence/Teddy"):
        picture(tmp_path / f"{name}.png", 40)
    text(tmp_path / "results.toml", MANIFEST)
    about = '[about]\nauthors = "C. Author"\n'
    text(tmp_path / "C" / "results.toml", f'encoding = "middlebury"\nscale = 10\nlink = "https://example.org"\n{about}')
    found = find_results(tmp_path, data)
    alpha, b, c = found.results
    assert [result.name for result in found.results] == ["Alpha", "B", "C"]
    values = {name: float(load_disparity(source)[0, 0]) for name, source in alpha.maps.items()}
    assert values == {"Teddy": 9.0, "ArtL": 19.0}
    assert float(load_disparity(b.maps["Teddy"])[0, 0]) == 5.0
    assert float(load_disparity(c.maps["Teddy"])[0, 0]) == 4.0
    assert float(load_disparity(alpha.confidence["Teddy"])[0, 0]) == pytest.approx(40 / 255)
    assert (alpha.colour, alpha.description, b.description, c.link) == (
        "#ff0000",
        "all of them",
        "all of them",
        "https://example.org",
    )
    assert c.about == {"authors": "C. Author"}
    asked = find_results(tmp_path / "C", data, scale=20.0)
    assert float(load_disparity(asked.results[0].maps["Teddy"])[0, 0]) == 2.0
    elsewhere = text(tmp_path.parent / f"{tmp_path.name}.toml", "[algorithms.B]\nscale = 2\n")
    other = find_results(tmp_path, data, manifest=elsewhere)
    assert float(load_disparity(other.results[1].maps["Teddy"])[0, 0]) == 20.0


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("scale", "not valid TOML"),
        ("skale = 3", "Did you mean 'scale'"),
        ("scale = 'big'", "scale must be a number or a table of numbers"),
        ("scale = { Teddy = true }", "scale.Teddy must be a number; found True"),
        ("name = 3", "name must be text; found 3"),
        ("algorithms = 3", "algorithms must be a table of tables"),
        ("[algorithms.A]\nskale = 3", "Did you mean 'algorithms.A.scale'"),
        ("scale = { ArtL = 3 }", "no entry for scene 'Teddy'"),
        ('[algorithms.A]\nname = "B"', "several algorithms called 'B'"),
    ],
)
def test_a_wrong_manifest_gets_its_own_sentence(
    tmp_path: Path, data: Dataset, picture: Write, text: Write, content: str, sentence: str
) -> None:
    picture(tmp_path / "A" / "Teddy.png")
    picture(tmp_path / "B" / "Teddy.png")
    text(tmp_path / "results.toml", content)
    with pytest.raises((DatasetError, UnknownNameError)) as error:
        find_results(tmp_path, data)
    assert sentence in str(error.value)


def test_a_zip_is_read_in_place(tmp_path: Path, data: Dataset, disparity: Write, text: Write) -> None:
    disparity(tmp_path / "Mine" / "Teddy.pfm", 7.0)
    disparity(tmp_path / "Mine" / "000000_10.png", 3.0, encoding="kitti")
    text(tmp_path / "Mine" / "results.toml", 'description = "zipped"')
    archive = tmp_path / "upload.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted((tmp_path / "Mine").iterdir()):
            file.write(path, path.name)
    before = sorted(tmp_path.rglob("*"))
    found = find_results(archive, data)
    assert _maps(found) == {"upload": ("Teddy", "000000_10")}
    upload = pickle.loads(pickle.dumps(dict(found.results[0].maps)))
    assert [float(load_disparity(source)[0, 0]) for source in upload.values()] == [7.0, 3.0]
    assert found.results[0].description == "zipped"
    folder = find_results(tmp_path / "Mine", data).results[0]
    assert content_hash(upload["Teddy"]) == content_hash(folder.maps["Teddy"])
    assert sorted(tmp_path.rglob("*")) == before


def test_a_manifest_in_a_zip_is_refused_by_its_size(tmp_path: Path, data: Dataset) -> None:
    archive = tmp_path / "method.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("results.toml", b" " * (1 << 21))
    with pytest.raises(StereogaugeError, match=r"results\.toml.*has 2097152 bytes; at most 1048576 are read"):
        find_results(archive, data)


def test_a_zip_that_tries_to_escape_and_a_path_that_is_nothing_are_refused(
    tmp_path: Path, data: Dataset, text: Write
) -> None:
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as file:
        file.writestr("../Teddy.pfm", b"")
    with pytest.raises(DatasetError, match="outside the folder"):
        find_results(tmp_path / "evil.zip", data)
    text(tmp_path / "broken.zip", "no zip")
    with pytest.raises(StereogaugeError, match="not a zip"):
        find_results(tmp_path / "broken.zip", data)
    with pytest.raises(DatasetError, match="do not exist"):
        find_results(tmp_path / "nothing", data)
    with pytest.raises(DatasetError, match="neither a folder"):
        find_results(text(tmp_path / "map.png", ""), data)


def test_an_8_bit_result_for_middlebury_v2_has_its_scenes_scale(data_root: Path) -> None:
    data = load_dataset("middlebury-v2", data_root / "middlebury-v2")
    found = find_results(data_root / "middlebury-v2" / "results", data)
    assert len(found.results) == 11
    assert found.unrecognised == []
    patch = next(result for result in found.results if result.name == "PatchMatch-alg117")
    assert {name: source.scale for name, source in patch.maps.items()} == {  # type: ignore[union-attr]
        "tsukuba": 16.0,
        "venus": 8.0,
        "teddy": 4.0,
        "cones": 4.0,
    }
    sixteen_bit = next(result for result in found.results if result.name == "OpenCV-SGBM-HH4")
    assert isinstance(sixteen_bit.maps["teddy"], DisparityFile)
    assert sixteen_bit.maps["teddy"].encoding is None


REAL = {
    "kitti-2012": (
        "kitti2012",
        "[algorithms]\nxiyu = {scale = 1, encoding = 'middlebury'}\nAD-Census = {scale = 1, confidence = {scale "
        "= 65535}}\n"
        "MC-CNN-8bit = {scale = 3.642857142857143}\n",
        {"AD-Census": 3, "MC-CNN-8bit": 1, "SPS-Stereo": 1, "xiyu": 11},
    ),
    "kitti-2015": (
        "kitti2015",
        "[algorithms]\nBM-8bit = {scale = 1}\n"
        + "".join(
            f'"LuoNet-8bit/{s}" = {{scale = 1}}\n' for s in ("1-wta", "2-costagg", "3-sgm", "4-costagg2", "5-post")
        ),
        {
            "BM-8bit": 4,
            "devkit-demo": 1,
            **{f"LuoNet-8bit/{s}": 2 for s in ("1-wta", "2-costagg", "3-sgm", "4-costagg2", "5-post")},
        },
    ),
    "middlebury-v3": (
        "middlebury-2014",
        "[algorithms.SGM-raw-8bit]\nscale = 1\n[algorithms.semidense-8bit.scale]\nAdirondack = 3.1875\nArtL = "
        "3.984375\n"
        "Motorcycle = 3.1875\nMotorcycleE = 3.1875\nPiano = 3.1875\nPianoL = 3.1875\nPipes = 3.1875\nTeddy = "
        "3.984375\n",
        {"SGM-raw-8bit": 1, "semidense-8bit": 8},
    ),
    "middlebury-v2": (
        "middlebury-v2",
        "[algorithms.OpenCV-SGBM-HH4]\nencoding = 'middlebury'\nscale = 16\noffset = -1\n",
        {"OpenCV-SGBM-HH4": 1, "PatchMatch-alg117": 4, **{f"S0{number}": 4 for number in range(1, 10)}},
    ),
}


@pytest.mark.parametrize("name", REAL)
def test_every_real_result_is_expressible_and_close_to_the_ground_truth(
    data_root: Path, tmp_path: Path, text: Write, name: str
) -> None:
    folder, manifest, expected = REAL[name]
    data = load_dataset(name, data_root / folder)
    found = find_results(data_root / folder / "results", data, manifest=text(tmp_path / "results.toml", manifest))
    assert {result.name: len(result.maps) for result in found.results} == expected
    errors = []
    for result in found.results:
        scene, source = next(iter(result.maps.items()))
        errors.append(float(np.nanmedian(np.abs(load_disparity(source) - data[scene].gt))))
    assert np.median(errors) < 1.5
    assert max(errors) < 9.0  # BM-8bit's first frame was run with too small a search range


def test_confidence_of_a_real_result_is_between_0_and_1(data_root: Path, tmp_path: Path, text: Write) -> None:
    folder, manifest, _ = REAL["kitti-2012"]
    data = load_dataset("kitti-2012", data_root / folder)
    found = find_results(data_root / folder / "results", data, manifest=text(tmp_path / "results.toml", manifest))
    confidence = load_disparity(found.results[0].confidence["000020_10"])
    assert 0 < np.nanmin(confidence) < np.nanmax(confidence) <= 1


@pytest.mark.parametrize("below", ["", "left/", "data/disparity/"])
def test_scenes_in_several_folders_each_are_of_one_algorithm(tmp_path: Path, below: str) -> None:
    frames = [("Scene01/clone", "00007"), ("Scene01/clone", "00008"), ("Scene02/fog", "00007")]
    data = Dataset("film", [Scene(f"{place.replace('/', '-')}-{frame}") for place, frame in frames])
    for algorithm in ("A", "B"):
        for value, (place, frame) in enumerate(frames):
            path = tmp_path / algorithm / place / f"{below}{frame}.npy"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, np.full((4, 5), value + 1, np.float32))
    found = find_results(tmp_path, data)
    assert [result.name for result in found.results] == ["A", "B"]
    maps = found.results[0].maps
    assert [float(load_disparity(maps[scene.id])[0, 0]) for scene in data] == [1, 2, 3]
