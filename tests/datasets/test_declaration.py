"""Names, variants, options and third-party datasets."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import stereogauge as sg
from stereogauge import Dataset, Scene, load_dataset
from stereogauge.datasets import DatasetFamily, families, open_dataset
from stereogauge.datasets.declaration import ENTRY_POINTS, PACKAGE
from stereogauge.errors import DatasetError, UnknownNameError
from stereogauge.registry import Registry


def test_every_family_says_all_that_a_user_needs() -> None:
    for family in families().values():
        for text in (family.name, family.layout, family.terms, family.citation, family.obtain):
            assert text
            assert "\n" not in text
        for archives in family.archives.values():
            assert archives
            for archive in archives:
                assert archive.url.startswith(("https://", "http://"))
                assert not archive.target.startswith("/")
        assert set(family.archives) <= {"", *family.variants}


def test_an_unknown_name_variant_or_option_gets_the_nearest_suggested(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'kitti-2015'"):
        load_dataset("kitti-215", tmp_path)
    with pytest.raises(UnknownNameError, match="variant of dataset middlebury-v3 'X'; known are: F, H, Q"):
        load_dataset("middlebury-v3:X", tmp_path)
    with pytest.raises(UnknownNameError, match=r"option of dataset kitti-2015 'thruth'.*'truth'"):
        load_dataset("kitti-2015", tmp_path, thruth="occ")


def test_a_missing_folder_is_told_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"needs the folder.*fetch middlebury-v2"):
        load_dataset("middlebury-v2")
    with pytest.raises(DatasetError, match="does not exist"):
        load_dataset("middlebury-v2", tmp_path / "nowhere")


def test_one_text_names_dataset_variant_and_root(
    tmp_path: Path, picture: Callable[..., Path], disparity: Callable[..., Path]
) -> None:
    for stem in ("im0.png", "im1.png"):
        picture(tmp_path / "trainingH" / "Teddy" / stem)
    disparity(tmp_path / "trainingH" / "Teddy" / "disp0GT.pfm")
    assert open_dataset(f"middlebury-v3:{tmp_path}").name == "middlebury-v3:H"
    assert open_dataset(f"middlebury-v3:H:{tmp_path}").name == "middlebury-v3:H"
    assert open_dataset("motorcycle").ids == ("motorcycle",)
    with pytest.raises(DatasetError, match="needs the folder"):
        open_dataset("middlebury-v3:H")
    with pytest.raises(UnknownNameError, match="Unknown dataset"):
        open_dataset("nothing:/tmp")


def test_an_installed_package_adds_its_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = DatasetFamily(
        **dict.fromkeys(("name", "layout", "terms", "citation", "obtain"), "x"),
        id="mine",
        load=lambda root, variant: Dataset("mine", [Scene("only")]),
        needs_root=False,
    )

    class Entry:
        name = module = "mine"

        def load(self) -> DatasetFamily:
            return mine

    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [Entry()])
    families.cache_clear()
    try:
        assert load_dataset("mine").ids == ("only",)
    finally:
        families.cache_clear()


def test_the_documentation_names_every_dataset() -> None:
    page = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
    for name in families():
        assert f"`{name}`" in page


@pytest.mark.parametrize("scenes", [[], [Scene("anything", gt="nowhere.pfm")]])
def test_a_dataset_that_accepts_any_folder_does_not_take_over_the_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenes: list[Scene]
) -> None:
    greedy = DatasetFamily("any", "Any", "any", "free", "none", "ask", lambda root, variant: Dataset("any", scenes))
    broken = DatasetFamily("oops", "Oops", "any", "free", "none", "ask", lambda root, variant: 1 / 0)
    known = Registry("dataset", DatasetFamily, PACKAGE, ENTRY_POINTS)
    known.add(greedy)
    known.add(broken)
    monkeypatch.setattr("stereogauge.datasets.declaration.families", lambda: known)
    with pytest.raises(DatasetError) as told:
        load_dataset("middlebury-v2", tmp_path)
    assert "It looks like" not in str(told.value)

    (tmp_path / "truths").mkdir()
    sg.write_disparity(tmp_path / "truths" / "tree.pfm", np.ones((3, 4), np.float32))
    arrays = [Scene("x", gt=np.ones((3, 4), np.float32))]
    known.add(replace(greedy, load=lambda root, variant: Dataset("any", arrays)))
    assert [scene.id for scene in open_dataset(str(tmp_path / "truths"))] == ["tree"]


def test_scenes_are_taken_by_position_or_slice_as_from_a_list() -> None:
    data = load_dataset("synthetic:planes", size=(48, 64), scenes=3)
    assert [data[place].id for place in (0, -1, np.int64(1))] == ["planes-0", "planes-2", "planes-1"]
    assert (data[1:].ids, data[1:].name) == (("planes-1", "planes-2"), data.name)
    with pytest.raises(IndexError, match="no scene at position 3, only 3 in all"):
        data[3]
