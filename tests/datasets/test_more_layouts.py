"""Datasets that people have, from small folders made in their official layouts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from stereogauge import load_dataset, read_disparity
from stereogauge.errors import DatasetError, FileError
from stereogauge.io import content_hash
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
T_103: -0.545 0 0
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
    full = load_dataset("drivingstereo:full", tmp_path)
    assert full.ids == (weather,), "the maps of the training set have half the size"
    assert full[0].gt[3, 4] == 4.0, "full-size maps are divided by 128"


def test_driving_stereo_takes_the_baseline_from_the_translation(tmp_path: Path, picture: Write, text: Write) -> None:
    name = "2018-07-09-16-11-56_2018-07-09-16-13-05-600"
    picture(tmp_path / "train-disparity-map" / "2018-07-09-16-11-56" / f"{name}.png", deep(512))
    matrices = "P_rect_101: 1000 0 500 0 0 1000 200 0 0 0 1 0\nP_rect_103: 1000 0 500 -1089.2 0 1000 200 0 0 0 1 0\n"
    text(tmp_path / "half-image-calib" / "2018-07-09-16-11-56.txt", matrices + "T_103: -0.5446 0 0\n")
    assert load_dataset("drivingstereo", tmp_path)[0].calibration.baseline == pytest.approx(0.5446)
    text(tmp_path / "half-image-calib" / "2018-07-09-16-11-56.txt", matrices)
    calibration = load_dataset("drivingstereo", tmp_path)[0].calibration
    assert (calibration.focal, calibration.baseline) == (1000, None), "no depth rather than one that is twice too large"


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
    camera = {"focal_length_x_px_": 3894.03, "focal_center_x_px_": 937.57, "focal_center_y_px_": 1063.2}
    still = {"translation": [0, 0, 0]}  # of rectified cameras in the vehicle's frame
    cameras = [
        {"key": f"image_raw_stereo_front_{side}_rect", "value": {**camera, "Txf_": shift, "vehicle_SE3_camera_": still}}
        for side, shift in (("left", 0), ("right", -3894.03 * 0.2992))
    ]
    cameras.append({"key": "image_raw_stereo_front_left_rect_refined", "value": camera})
    text(images / "vehicle_calibration_stereo_info.json", json.dumps({"camera_data_": cameras}))
    data = load_dataset("argoverse", tmp_path, split="train")
    scene = data[f"{log}-{stamp}"]
    check(scene, 10.0)
    assert scene.mask("fg").sum() == 18
    assert scene.calibration.focal == 3894.03
    assert scene.calibration.baseline == pytest.approx(0.2992)
    assert scene.calibration.centre == (937.57, 1063.2)
    assert (scene.mask("bg") == ~scene.mask("fg")).all()
    cameras[1]["value"]["Txf_"] = 0  # type: ignore[index]
    text(images / "vehicle_calibration_stereo_info.json", json.dumps({"camera_data_": cameras}))
    with pytest.raises(FileError, match=r"stereo_info.json: .*baseline is a positive number.*found 0"):
        load_dataset("argoverse", tmp_path)
    text(images / "vehicle_calibration_stereo_info.json", "{}")
    with pytest.raises(FileError, match="the calibration of Argoverse"):
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
    with pytest.raises(FileError, match="not a calibration with proj_matL and baselineLR"):
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


def stored_matrices(path: Path, focal: float, baseline: float) -> None:
    """P1 and P2 as `cv2.stereoRectify` gives them, in pixels and millimetres."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    for name, shift in (("P1", 0.0), ("P2", -focal * baseline)):
        stored.write(name, np.array([[focal, 0, 600, shift], [0, focal, 500, 0], [0, 0, 1, 0]]))
    stored.release()


@pytest.mark.parametrize(
    ("names", "scene_id"),
    [
        ("data/{}/000000.png", "dataset_8-keyframe_2-000000"),
        ("{}/000000.png", "dataset_8-keyframe_2-000000"),
        ("{}.png", "dataset_8-keyframe_2"),
    ],
)
def test_scared_as_its_toolkit_rectifies_it(tmp_path: Path, picture: Write, names: str, scene_id: str) -> None:
    keyframe = tmp_path / "dataset_8" / "keyframe_2"
    for what, value in (("left_rectified", 9), ("right_rectified", 9), ("disparity", deep(5120))):
        picture(keyframe / names.format(what), value)
    stored_matrices(keyframe / "stereo_calib.json", 1035.0, 4.14)
    data = load_dataset("scared", tmp_path)
    assert data.ids == (scene_id,)
    scene = data[scene_id]
    check(scene, 40.0)
    assert load_dataset("scared", tmp_path, scale="256")[0].gt[3, 4] == 20.0
    assert np.isnan(scene.gt[0, 0])
    assert scene.calibration.depth(scene.gt)[3, 4] == pytest.approx(1035.0 * 0.00414 / 40)
    (keyframe / "stereo_calib.json").write_text("{}")
    with pytest.raises(FileError, match=r"stereo_calib.json is not a calibration with P1 and P2"):
        load_dataset("scared", tmp_path)


@pytest.mark.parametrize("reference", ["Ground_truth", "Reference"])
def test_serv_ct_reads_its_occlusion_colours(tmp_path: Path, picture: Write, reference: str) -> None:
    experiment = tmp_path / "Experiment_2"
    for folder in ("Left_rectified", "Right_rectified"):
        picture(experiment / folder / "009.png", 9)
    colours = np.full((*SHAPE, 3), 128, np.uint8)
    for row, colour in enumerate(((0, 0, 255), (255, 255, 0), (255, 0, 0), (0, 255, 0))):
        colours[row] = colour
    for modality, value in (("CT", 2560), ("RGB", 5120)):
        picture(experiment / f"{reference}_{modality}" / "Disparity" / "009.png", deep(value))
        picture(experiment / f"{reference}_{modality}" / "OcclusionL" / "009.png", colours[..., ::-1])
    matrix = {"rows": 3, "cols": 4, "data": [800.0, 0, 300, 0, 0, 800, 200, 0, 0, 0, 1, 0]}
    right = {**matrix, "data": [800.0, 0, 300, -800 * 5.0, 0, 800, 200, 0, 0, 0, 1, 0]}
    path = experiment / "Rectified_calibration" / "009.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"P1": matrix, "P2": right}))
    scene = load_dataset("serv-ct", tmp_path)["009"]
    check(scene, 10.0)
    assert load_dataset("serv-ct:RGB", tmp_path)["009"].gt[3, 4] == 20.0
    assert (scene.calibration.focal, scene.calibration.baseline) == (800.0, pytest.approx(0.005))
    assert scene.mask("all").all(axis=1).tolist() == [False, True, True, True, True, True]
    assert scene.mask("nonocc").all(axis=1).tolist() == [False, False, False, False, True, True]
    again = scene_of_text(scene_text(scene), scene.id, scene.dataset)
    assert np.array_equal(again.mask("nonocc"), scene.mask("nonocc"))
    assert content_hash(again.mask_source("all")) == content_hash(scene.mask_source("all"))


def test_foundation_stereo_counts_its_colours_to_255(tmp_path: Path, picture: Write) -> None:
    data = tmp_path / "manipulation_v5_realistic_kitchen_2500_1" / "dataset" / "data"
    for side in ("left", "right"):
        picture(data / side / "rgb" / "0000.jpg", 9)
    colours = np.zeros((*SHAPE, 3), np.uint8)
    colours[...] = (1, 2, 3)
    picture(data / "left" / "disparity" / "0000.png", colours[..., ::-1])
    scene = load_dataset("fsd", tmp_path)[0]
    check(scene, (255 * 255 + 2 * 255 + 3) / 1000)
    with pytest.raises(FileError, match="FoundationStereo's encoding is an 8-bit RGB PNG"):
        read_disparity(picture(tmp_path / "grey.png", 9), encoding="fsd")


def test_apollo_scape_has_whole_pixels_and_objects(tmp_path: Path, picture: Write) -> None:
    folder, name = tmp_path / "stereo_train_001", "171206_034559609"
    truth = np.full(SHAPE, 40, np.uint16)
    truth[5] = 65535
    picture(folder / "disparity" / f"{name}_Camera_5.png", truth)
    for camera in (5, 6):
        picture(folder / f"camera_{camera}" / f"{name}_Camera_{camera}.jpg", 9)
    objects = np.zeros(SHAPE, np.uint16)
    objects[:2] = 65535
    picture(folder / "fg_mask" / f"{name}_Camera_5.png", objects)
    picture(folder / "bg_mask" / f"{name}_Camera_5.png", 65535 - objects)
    scene = load_dataset("apolloscape", tmp_path)[f"stereo_train_001-{name}"]
    check(scene, 40.0)
    assert np.isnan(scene.gt[5]).all()
    assert (scene.mask("fg").sum(), scene.mask("bg").sum()) == (18, 36)
    assert not scene.calibration.metric


@pytest.mark.parametrize(
    "name",
    [
        *("drivingstereo", "argoverse", "vkitti2", "booster", "instereo2k", "fallingthings"),
        *("tartanair", "unrealstereo4k", "crestereo", "layeredflow", "scared", "serv-ct", "fsd", "apolloscape"),
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


def virtual_kitti(root: Path, picture: Write) -> None:
    """One frame of Virtual KITTI 2 at a depth of 10 m."""
    frames = root / "Scene01" / "clone" / "frames"
    for camera in ("Camera_0", "Camera_1"):
        picture(frames / "rgb" / camera / "rgb_00007.jpg", 9)
        picture(frames / "depth" / camera / "depth_00007.png", deep(1000))


def test_folders_may_be_links(tmp_path: Path, picture: Write, text: Write) -> None:
    virtual_kitti(tmp_path / "disk", picture)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "Scene01").symlink_to(tmp_path / "disk" / "Scene01")
    data = load_dataset("vkitti2", tmp_path / "data")
    assert data.ids == ("Scene01-clone-00007",)
    check(data[0], 725.0087 * 0.532725 / 10.0, right=True)
    sequence, name = "2018-07-09-16-11-56", "2018-07-09-16-11-56_2018-07-09-16-13-24-784"
    picture(tmp_path / "driving" / "train-disparity-map" / sequence / f"{name}.png", deep(512))
    text(tmp_path / "disk" / "half-image-calib" / f"{sequence}.txt", PROJECTIONS)
    (tmp_path / "driving" / "calib").symlink_to(tmp_path / "disk")
    assert load_dataset("drivingstereo", tmp_path / "driving")[0].calibration.focal == 1000


def test_suffixes_may_be_written_in_capital_letters(tmp_path: Path, picture: Write) -> None:
    virtual_kitti(tmp_path, picture)
    for path in [*tmp_path.rglob("*.jpg"), *tmp_path.rglob("*.png")]:
        path.rename(path.with_suffix(path.suffix.upper()))
    check(load_dataset("vkitti2", tmp_path)[0], 725.0087 * 0.532725 / 10.0, right=True)


def test_a_dataset_in_a_folder_of_the_one_that_was_named_is_found_for_the_user(tmp_path: Path, picture: Write) -> None:
    picture(tmp_path / "download" / "training" / "disp_occ_0" / "000000_10.png", deep(512))
    (tmp_path / "other").mkdir()
    with pytest.raises(DatasetError, match=r"not laid out as kitti-2015: .*download is laid out so: give that folder"):
        load_dataset("kitti-2015", tmp_path)
    with pytest.raises(DatasetError, match="not laid out") as refused:
        load_dataset("kitti-2015", tmp_path, split="testing")
    assert "laid out so" not in str(refused.value), "that folder has no testing images"


def test_one_folder_of_a_training_set_may_be_named_itself(tmp_path: Path, picture: Write) -> None:
    for side in ("left", "right"):
        picture(tmp_path / "tree" / f"abc_{side}.jpg", 9)
        picture(tmp_path / "tree" / f"abc_{side}.disp.png", deep(1000))
    check(load_dataset("crestereo", tmp_path / "tree")["abc"], 1000 / 32, right=True)
