"""Datasets that people have, from small folders made in their official layouts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from stereogauge.datasets import load_dataset
from stereogauge.errors import DatasetError, FileError
from stereogauge.io import read_disparity
from stereogauge.store.sources import scene_of_text, scene_text

Write = Callable[..., Path]
SHAPE = (6, 9)


def deep(value: int) -> np.ndarray:
    """A 16-bit image with an unknown first pixel."""
    image = np.full(SHAPE, value, np.uint16)
    image[0, 0] = 0
    return image


def saved(path: Path, value: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, np.full(SHAPE, value, np.float32))
    return path


def check(scene, value: float, *, right: bool = False) -> None:
    """The scene is whole, its truth has this value, and the store can make it again."""
    assert scene.left.shape[:2] == scene.right.shape[:2] == scene.gt.shape
    assert scene.gt[3, 4] == pytest.approx(value, rel=1e-6)
    assert scene.has("gt_right") == right
    again = scene_of_text(scene_text(scene), scene.id, scene.dataset)
    assert np.array_equal(again.gt, scene.gt, equal_nan=True)


PROJECTIONS = """P_rect_101: 1000 0 400 0 0 1000 200 0 0 0 1 0
P_rect_103: 1000 0 400 -545 0 1000 200 0 0 0 1 0
"""


def test_driving_stereo_in_all_its_folders(tmp_path: Path, picture: Write, text: Write) -> None:
    sequence, name = "2018-07-09-16-11-56", "2018-07-09-16-11-56_2018-07-09-16-13-24-784"
    weather = "2018-10-19-09-30-39_2018-10-19-09-31-36-438"
    for what, suffix, value in (
        ("left-image", "jpg", 9),
        ("right-image", "jpg", 9),
        ("disparity-map", "png", deep(512)),
    ):
        picture(tmp_path / f"train-{what}" / sequence / f"{name}.{suffix}", value)
        picture(tmp_path / "sunny" / f"{what}-half-size" / f"{weather}.{suffix}", value)
        picture(tmp_path / "sunny" / f"{what}-full-size" / f"{weather}.{suffix}", value)
    text(tmp_path / "calib" / "half-image-calib" / f"{sequence}.txt", PROJECTIONS)
    data = load_dataset("drivingstereo", tmp_path)
    assert set(data.ids) == {name, weather}
    check(data[name], 2.0)
    assert np.isnan(data[name].gt[0, 0])
    assert (data[name].calibration.focal, data[name].calibration.baseline) == (1000, 0.545)
    assert data[weather].metadata == {"weather": "sunny"}
    assert load_dataset("drivingstereo:full", tmp_path).ids[0] == weather
    full = load_dataset("drivingstereo:full", tmp_path)[0]
    assert full.gt[3, 4] == 4.0, "full-size maps are divided by 128"


def test_driving_stereo_takes_the_baseline_from_the_translation(tmp_path: Path, picture: Write, text: Write) -> None:
    name = "2018-07-09-16-11-56_2018-07-09-16-13-05-600"
    picture(tmp_path / "train-disparity-map" / "2018-07-09-16-11-56" / f"{name}.png", deep(512))
    matrices = "P_rect_101: 1000 0 500 0 0 1000 200 0 0 0 1 0\nP_rect_103: 1000 0 500 -1089.2 0 1000 200 0 0 0 1 0\n"
    text(tmp_path / "half-image-calib" / "2018-07-09-16-11-56.txt", matrices + "T_103: -0.5446 0 0\n")
    assert load_dataset("drivingstereo", tmp_path)[0].calibration.baseline == pytest.approx(0.5446)


def test_argoverse_with_its_objects(tmp_path: Path, picture: Write, text: Write) -> None:
    log, stamp = "273c1883-673a-36bf-b124-88311b1a80be", "315978408595816448"
    maps = tmp_path / "disparity_maps_v1.1" / "train" / log
    images = tmp_path / "rectified_stereo_images_v1.1" / "train" / log
    picture(maps / "stereo_front_left_rect_disparity" / f"stereo_front_left_rect_disparity_{stamp}.png", deep(2560))
    objects = np.zeros(SHAPE, np.uint16)
    objects[2:4] = 2560
    picture(
        maps / "stereo_front_left_rect_objects_disparity" / f"stereo_front_left_rect_objects_disparity_{stamp}.png",
        objects,
    )
    for side in ("left", "right"):
        picture(images / f"stereo_front_{side}_rect" / f"stereo_front_{side}_rect_{stamp}.jpg", 9)
    cameras = [
        {
            "key": f"image_raw_stereo_front_{side}_rect",
            "value": {"focal_length_x_px_": 3666.5, "vehicle_SE3_camera_": {"translation": [1.6, y, 1.3]}},
        }
        for side, y in (("left", 0.15), ("right", -0.15))
    ]
    text(images / "vehicle_calibration_stereo_info.json", json.dumps({"camera_data_": cameras}))
    data = load_dataset("argoverse", tmp_path, split="train")
    scene = data[f"{log}-{stamp}"]
    check(scene, 10.0)
    assert scene.mask("fg").sum() == 18
    assert scene.calibration.focal == 3666.5
    assert scene.calibration.baseline == pytest.approx(0.3)
    assert (scene.mask("bg") == ~scene.mask("fg")).all()
    for camera in cameras:
        camera["value"]["vehicle_SE3_camera_"]["translation"] = [0.0, 0.0, 0.0]  # type: ignore[index]
    text(images / "vehicle_calibration_stereo_info.json", json.dumps({"camera_data_": cameras}))
    with pytest.raises(FileError, match=r"stereo_info.json: .*baseline is a positive number.*found 0"):
        load_dataset("argoverse", tmp_path)
    cameras[1]["value"]["projection"] = [3666.5, 0, 1200, -3666.5 * 0.2992, 0, 3666.5, 1000, 0, 0, 0, 1, 0]  # type: ignore[index]
    text(images / "vehicle_calibration_stereo_info.json", json.dumps({"camera_data_": cameras}))
    assert load_dataset("argoverse", tmp_path)[0].calibration.baseline == pytest.approx(0.2992)
    text(images / "vehicle_calibration_stereo_info.json", "{}")
    with pytest.raises(FileError, match="not a calibration of Argoverse"):
        load_dataset("argoverse", tmp_path)


def test_argoverse_pairs_images_by_the_nearest_time(tmp_path: Path, picture: Write) -> None:
    maps, images = (
        tmp_path / name / "train" / "log" for name in ("disparity_maps_v1.1", "rectified_stereo_images_v1.1")
    )
    picture(maps / "stereo_front_left_rect_disparity" / "disparity_1000.png", deep(2560))
    picture(maps / "stereo_front_left_rect_objects_disparity" / "disparity_1000.png", deep(2560))
    picture(images / "stereo_front_left_rect" / "stereo_front_left_rect_1000.jpg", 9)
    for stamp, value in (("0800", 1), ("1010", 200), ("1400", 3)):
        picture(images / "stereo_front_right_rect" / f"stereo_front_right_rect_{stamp}.jpg", value)
    scene = load_dataset("argoverse", tmp_path)["log-1000"]
    assert scene.right[0, 0].max() > 150
    assert scene.mask("fg").any()


def test_virtual_kitti_gives_disparity_from_centimetres(tmp_path: Path, picture: Write) -> None:
    frames = tmp_path / "Scene01" / "clone" / "frames"
    depth = deep(1000)
    depth[1, 1] = 65535
    for camera in ("Camera_0", "Camera_1"):
        picture(frames / "rgb" / camera / "rgb_00007.jpg", 9)
        picture(frames / "depth" / camera / "depth_00007.png", depth)
    scene = load_dataset("vkitti2", tmp_path)["Scene01-clone-00007"]
    check(scene, 725.0087 * 0.532725 / 10.0, right=True)
    assert np.isnan(scene.gt[0, 0])
    assert np.isnan(scene.gt[1, 1]), "the sky"
    assert scene.calibration.depth(scene.gt)[3, 4] == pytest.approx(10.0, rel=1e-6)


def test_booster_has_a_scene_per_light_with_materials(tmp_path: Path, picture: Write) -> None:
    folder = tmp_path / "train" / "balanced" / "Bathroom"
    for camera in ("camera_00", "camera_02"):
        for light in ("im0", "im1"):
            picture(folder / camera / f"{light}.png", 9)
    saved(folder / "disp_00.npy", 33.0)
    saved(folder / "disp_02.npy", 33.0)
    picture(folder / "mask_00.png", 255)
    classes = np.zeros(SHAPE, np.uint8)
    classes[:2] = 3
    picture(folder / "mask_cat.png", classes)
    stored = cv2.FileStorage(str(folder / "calib_00-02.xml"), cv2.FILE_STORAGE_WRITE)
    stored.write("proj_matL", np.array([[5000.0, 0, 2000, 0], [0, 5000, 1500, 0], [0, 0, 1, 0]]))
    stored.write("baselineLR", 80.0)
    stored.release()
    for root in (tmp_path, tmp_path / "train", folder.parent):
        data = load_dataset("booster", root)
        assert data.ids == ("Bathroom-im0", "Bathroom-im1")
    check(data["Bathroom-im1"], 33.0, right=True)
    scene = data["Bathroom-im0"]
    assert (scene.mask("nonocc").sum(), scene.mask("class-3").sum(), scene.mask("class-0").sum()) == (54, 18, 36)
    assert (scene.calibration.focal, scene.calibration.baseline) == (5000, 0.08)
    (folder / "calib_00-02.xml").write_text("<nothing/>")
    with pytest.raises(FileError, match="no proj_matL or baselineLR"):
        load_dataset("booster", tmp_path)


def test_in_stereo_counts_hundredths(tmp_path: Path, picture: Write) -> None:
    for folder in (tmp_path / "train" / "part1" / "000001", tmp_path / "test" / "000002"):
        for name, value in (("left", 9), ("right", 9), ("left_disp", deep(4250)), ("right_disp", deep(4250))):
            picture(folder / f"{name}.png", value)
    data = load_dataset("instereo2k", tmp_path)
    assert data.ids == ("test-000002", "train-part1-000001")
    check(data["train-part1-000001"], 42.5, right=True)
    assert load_dataset("instereo2k", tmp_path, split="test").ids == ("test-000002",)


def test_falling_things_take_the_camera_of_their_folder(tmp_path: Path, picture: Write, text: Write) -> None:
    for folder in (tmp_path / "single" / "002_master_chef_can_16k" / "kitchen_0", tmp_path / "mixed" / "kitchen_0"):
        for side in ("left", "right"):
            picture(folder / f"000000.{side}.jpg", 9)
            picture(folder / f"000000.{side}.depth.png", deep(10_000))
        settings = {"camera_settings": [{"intrinsic_settings": {"fx": 768.2}}]}
        text(folder / "_camera_settings.json", json.dumps(settings))
    data = load_dataset("fallingthings", tmp_path)
    assert data.ids == ("mixed-kitchen_0-000000", "single-002_master_chef_can_16k-kitchen_0-000000")
    check(data["mixed-kitchen_0-000000"], 460920 / 10_000, right=True)
    (tmp_path / "mixed" / "kitchen_0" / "_camera_settings.json").unlink()
    with pytest.raises(FileError, match="the camera of this folder is needed"):
        load_dataset("fallingthings", tmp_path)


def test_tartan_air_gives_disparity_from_metres(tmp_path: Path, picture: Write) -> None:
    place = tmp_path / "abandonedfactory" / "Easy" / "P000"
    for side in ("left", "right"):
        picture(place / f"image_{side}" / f"000012_{side}.png", 9)
        saved(place / f"depth_{side}" / f"000012_{side}_depth.npy", 8.0)
    scene = load_dataset("tartanair", tmp_path)["abandonedfactory-Easy-P000-000012"]
    check(scene, 10.0, right=True)
    assert scene.calibration.depth(scene.gt)[0, 0] == pytest.approx(8.0)


def test_unreal_stereo_and_cre_stereo(tmp_path: Path, picture: Write) -> None:
    for view in "01":
        picture(tmp_path / "u" / "00003" / f"Image{view}" / "00010.png", 9)
        saved(tmp_path / "u" / "00003" / f"Disp{view}" / "00010.npy", 150.5)
    check(load_dataset("unrealstereo4k", tmp_path / "u")["00003-00010"], 150.5, right=True)
    for side in ("left", "right"):
        picture(tmp_path / "c" / "tree" / f"abc_{side}.jpg", 9)
        picture(tmp_path / "c" / "tree" / f"abc_{side}.disp.png", deep(1000))
    check(load_dataset("crestereo", tmp_path / "c")["tree-abc"], 1000 / 32, right=True)


def test_layeredflow_is_read_from_converted_files(tmp_path: Path, picture: Write) -> None:
    for scene in ("2", "10"):
        folder = tmp_path / "val" / scene
        for name in ("0_0.png", "0_1.png", "3_0.png", "3_1.png"):
            picture(folder / name, 9)
        for layer, value in (("first", 3.25), ("last", 1.0)):
            saved(folder / f"0_{layer}.npy", value)
            picture(folder / f"0_{layer}_material.png", 2 if layer == "first" else 1)
    data, behind = load_dataset("layeredflow", tmp_path), load_dataset("layeredflow:last", tmp_path)
    assert set(data.ids) == {"2-0", "10-0"}
    assert (data["2-0"].gt[0, 0], behind["2-0"].gt[0, 0]) == (3.25, 1.0)
    assert data["2-0"].mask("label:transparent").all()
    assert behind["2-0"].mask("label:diffuse").all()


@pytest.mark.parametrize(
    "name",
    [
        *("drivingstereo", "argoverse", "vkitti2", "booster", "instereo2k", "fallingthings"),
        *("tartanair", "unrealstereo4k", "crestereo", "layeredflow"),
    ],
)
def test_another_folder_is_named_with_what_was_looked_for(tmp_path: Path, picture: Write, name: str) -> None:
    picture(tmp_path / "holiday" / "beach.png")
    with pytest.raises(DatasetError, match=rf"is not laid out as {name}: looked for .*; found holiday/"):
        load_dataset(name, tmp_path)


def test_stored_depth_needs_its_scale(tmp_path: Path) -> None:
    saved(tmp_path / "depth.npy", 4.0)
    assert read_disparity(tmp_path / "depth.npy", encoding="inverse", scale=80)[0, 0] == 20
    with pytest.raises(FileError, match="needs the scale"):
        read_disparity(tmp_path / "depth.npy", encoding="inverse")
