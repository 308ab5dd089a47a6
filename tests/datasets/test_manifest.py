"""Any folder as a dataset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from stereogauge import load_dataset
from stereogauge.errors import DatasetError, FileError, UnknownNameError

Write = Callable[..., Path]

MANIFEST = """
name = "garden"
version = "2"
[paths]
ground_truth = "gt/{scene}_disp.png"
left = "images/{scene}_L.png"
right = "images/{scene}_R.png"
calibration = "calib/{scene}.txt"
[paths.masks]
nonocc = "masks/{scene}.png"
[ground_truth]
encoding = "middlebury"
scale = { rose = 8, tulip = 4 }
[calibration]
ndisp = 32
[scenes]
order = ["tulip", "rose"]
resolution = 0.5
border = 3
"""


@pytest.fixture
def garden(tmp_path: Path, picture: Write, text: Write, calib: str) -> Path:
    for scene in ("rose", "tulip"):
        picture(tmp_path / "gt" / f"{scene}_disp.png", 40)
        picture(tmp_path / "images" / f"{scene}_L.png", 1)
        picture(tmp_path / "images" / f"{scene}_R.png", 2)
        text(tmp_path / "calib" / f"{scene}.txt", calib)
    picture(tmp_path / "masks" / "rose.png", np.array([[255, 128, 0]], np.uint8))
    text(tmp_path / "stereogauge.toml", MANIFEST)
    return tmp_path


def test_templates_scales_masks_and_calibration_come_from_the_manifest(garden: Path) -> None:
    data = load_dataset("folder", garden)
    assert (data.name, data.version, data.ids) == ("garden", "2", ("tulip", "rose"))
    assert [float(scene.gt[0, 0]) for scene in data] == [10.0, 5.0]
    rose = data["rose"]
    assert rose.mask("nonocc").tolist() == [[True, False, False]]
    assert data["tulip"].masks == ()
    assert (rose.left[0, 0], rose.right[0, 0]) == (1, 2)
    assert (rose.calibration.ndisp, rose.calibration.focal) == (32, 3997.684)
    assert (rose.resolution, rose.border) == (0.5, 3)
    assert load_dataset("folder", garden / "stereogauge.toml").ids == data.ids


def test_classes_of_a_label_image_are_regions(garden: Path, picture: Write, text: Write) -> None:
    picture(garden / "classes" / "rose.png", np.array([[7, 1, 2]], np.uint8))
    labelled = MANIFEST.replace("[paths.masks]", 'labels = "classes/{scene}.png"\n[paths.masks]')
    text(garden / "stereogauge.toml", labelled + "[labels]\nglass = 7\nground = [1, 2]\n")
    rose, tulip = load_dataset("folder", garden)["rose"], load_dataset("folder", garden)["tulip"]
    assert rose.masks == ("nonocc", "label:glass", "label:ground")
    assert tulip.masks == ()
    assert rose.mask("label:glass").tolist() == [[True, False, False]]
    assert rose.mask("label:ground").tolist() == [[False, True, True]]


def test_a_template_without_scene_is_a_dataset_of_one(tmp_path: Path, disparity: Write, text: Write) -> None:
    disparity(tmp_path / "truth.pfm", 3.0)
    text(tmp_path / "stereogauge.toml", '[paths]\nground_truth = "truth.pfm"\n')
    data = load_dataset("folder", tmp_path)
    assert data.ids == (tmp_path.name,)
    assert data.name == tmp_path.name


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("name = ", "not valid TOML"),
        ("", "needs a template ground_truth or left"),
        ("[path]\nleft = 'a'\n", "Did you mean 'paths'"),
        ("[paths]\nlefft = 'a'\n", "Did you mean 'paths.left'"),
        ("paths = 3\n", "paths must be a table with ground_truth"),
        ("[paths]\nleft = '{scene}.png'\nlabels = '{scene}_c.png'\n", "found only the path"),
        ("[paths]\nleft = '{scene}.png'\n[labels]\nglass = 7\n", "found only the table"),
        (
            "[paths]\nleft = '{scene}.png'\nlabels = '{scene}_c.png'\n[labels]\nglass = 'seven'\n",
            "labels.glass must be a whole number or a list of whole numbers",
        ),
        ("[paths]\nleft = 7\n", "paths.left must be text; found 7"),
        ("[paths]\nleft = '../{scene}.png'\n", "must stay below"),
        ("[paths]\nleft = '/etc/{scene}'\n", "must stay below"),
        ("[paths]\nleft = 'C:/{scene}'\n", "must stay below"),
        ("[paths]\nleft = '{frame}.png'\n", "allowed are {scene}"),
        ("[paths]\nmasks = 'm.png'\nleft = 'gt/{scene}_disp.png'\n", "paths.masks must be a table of texts"),
        ("[paths]\nleft = 'none/{scene}.png'\n", "looked for none/{scene}.png (any scene)"),
        ("[paths]\nleft = 'gt/{scene}_disp.png'\n[scenes]\norder = ['lily']\n", "(lily)"),
        (
            "[paths]\nground_truth = 'gt/{scene}_disp.png'\n[ground_truth]\nscale = {rose = 3}\n",
            "no entry for scene 'tulip'",
        ),
        (
            "[paths]\nground_truth = 'gt/{scene}_disp.png'\n[ground_truth]\nscale = 'big'\n",
            "ground_truth.scale must be a number or a table",
        ),
    ],
)
def test_a_wrong_manifest_gets_its_own_sentence(garden: Path, text: Write, content: str, sentence: str) -> None:
    text(garden / "stereogauge.toml", content)
    with pytest.raises((DatasetError, UnknownNameError)) as error:
        load_dataset("folder", garden)
    assert sentence in str(error.value)


@pytest.mark.parametrize("entry", ["baseline = 0", "focal = -1.0", "doffs = nan", "ndisp = 0"])
def test_a_calibration_that_cannot_be_names_its_manifest(garden: Path, entry: str) -> None:
    path = garden / "stereogauge.toml"
    kept = path.read_text().partition("[calibration]")[0]
    path.write_text(f"{kept}[calibration]\n{entry}\n")
    with pytest.raises(FileError, match=rf"{path}.*{entry.partition(' ')[0]} is a"):
        load_dataset("folder", garden)
