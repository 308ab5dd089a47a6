"""Official layouts of which no sample is at hand, from small files made here."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge import StereogaugeWarning, load_dataset
from stereogauge.errors import DatasetError, FileError
from stereogauge.masks.scene_regions import SceneRegions

Write = Callable[..., Path]


def test_the_2001_and_2003_pairs_as_published_make_the_v2_evaluation(tmp_path: Path, picture: Write) -> None:
    for name, gt in (("venus", 40), ("cones", 40), ("teddy", 40)):
        for stem in ("im2.ppm", "im6.ppm"):
            picture(tmp_path / name / stem, np.full((4, 5, 3), 9, np.uint8))
        for stem in ("disp2.pgm", "disp6.pgm"):
            picture(tmp_path / name / stem, np.full((4, 5), gt, np.uint8))
    for stem in ("scene1.row3.col3.ppm", "scene1.row3.col4.ppm"):
        picture(tmp_path / "tsukuba" / stem, np.full((4, 5, 3), 9, np.uint8))
    picture(tmp_path / "tsukuba" / "truedisp.row3.col3.pgm", np.array([[0, 16, 32, 240, 80]], np.uint8))
    data = load_dataset("middlebury-v2", tmp_path)
    assert data.ids == ("tsukuba", "venus", "teddy", "cones")
    assert [float(scene.gt[0, 1]) for scene in data] == [1.0, 5.0, 10.0, 10.0]
    assert np.isnan(data["tsukuba"].gt[0, 0])
    assert data["venus"].left.shape == (4, 5, 3)
    assert not data["tsukuba"].has("gt_right")
    assert load_dataset("middlebury-2001", tmp_path).ids == ("tsukuba", "venus")
    assert load_dataset("middlebury-2003", tmp_path).ids == ("teddy", "cones")


def test_half_size_2003_scenes_have_scale_2_and_the_further_views_lie_in_quarters(
    tmp_path: Path, picture: Write
) -> None:
    for stem in ("im2", "im6", "im0", "im8", "disp2"):
        picture(tmp_path / "teddyH" / f"{stem}.png", 30)
    scene = load_dataset("middlebury-2003", tmp_path)["teddyH"]
    assert float(scene.gt[0, 0]) == 15.0
    assert scene.resolution == 0.5
    assert scene.views == (-0.5, 1.5)


def test_a_folder_of_several_sizes_says_which_was_taken(tmp_path: Path, picture: Write) -> None:
    for size in ("FullSize", "HalfSize"):
        for name in ("view1", "view5", "disp1", "disp5"):
            picture(tmp_path / size / "Aloe" / f"{name}.png", 60)
    with pytest.warns(StereogaugeWarning, match="FullSize, HalfSize: middlebury-2006:FullSize was taken"):
        assert load_dataset("middlebury-2006", tmp_path).name == "middlebury-2006:FullSize"
    with warnings.catch_warnings():
        warnings.simplefilter("error", StereogaugeWarning)
        assert load_dataset("middlebury-2006:HalfSize", tmp_path).name == "middlebury-2006:HalfSize"


@pytest.mark.parametrize(("size", "divisor"), [("FullSize", 1), ("HalfSize", 2), ("ThirdSize", 3)])
def test_2005_disparities_and_camera_follow_the_size(
    tmp_path: Path, picture: Write, text: Write, size: str, divisor: int
) -> None:
    for stem in ("view0", "view1", "view5", "disp1", "disp5"):
        picture(tmp_path / size / "Art" / f"{stem}.png", 60)
    text(tmp_path / size / "Art" / "dmin.txt", "240\n")
    data = load_dataset(f"middlebury-2005:{size}", tmp_path)
    scene = data["Art"]
    assert data.name == f"middlebury-2005:{size}" == load_dataset("middlebury-2005", tmp_path / size).name
    assert float(scene.gt[0, 0]) == 60 / divisor
    assert scene.calibration.focal == pytest.approx(3740 / divisor)
    assert scene.views == (-0.25,)
    depth = float(scene.calibration.depth(scene.gt)[0, 0])
    assert depth == pytest.approx(3740 * 0.16 / (60 + 240), rel=1e-6)
    text(tmp_path / size / "Art" / "dmin.txt", "nan\n")
    with pytest.raises(FileError, match=r"dmin.txt: .*doffs is a finite number"):
        load_dataset(f"middlebury-2005:{size}", tmp_path)


def test_a_2006_size_that_is_not_there_is_told(tmp_path: Path, picture: Write) -> None:
    picture(tmp_path / "HalfSize" / "Aloe" / "view1.png")
    with pytest.raises(DatasetError, match="FullSize"):
        load_dataset("middlebury-2006:FullSize", tmp_path / "HalfSize")


def test_2014_scenes_lose_the_word_perfect_and_offer_other_right_images(
    tmp_path: Path, picture: Write, disparity: Write, text: Write, calib: str
) -> None:
    folder = tmp_path / "Piano-perfect"
    for stem, value in (("im0", 1), ("im1", 2), ("im1E", 3)):
        picture(folder / f"{stem}.png", value)
    gt = np.full((6, 9), 100, np.float32)
    gt[0, 0] = np.nan
    disparity(folder / "disp0.pfm", gt)
    disparity(folder / "disp1.pfm", 100.0)
    text(folder / "calib.txt", calib)
    scene = load_dataset("middlebury-2014", tmp_path)["Piano"]
    assert scene.right[0, 0] == 2
    assert np.isnan(scene.gt[0, 0])
    assert scene.has("gt_right")
    assert scene.calibration.baseline == pytest.approx(0.193001)
    other = load_dataset("middlebury-2014:E", tmp_path)
    assert other["Piano"].right[0, 0] == 3
    assert other.name == "middlebury-2014:E"
    with pytest.raises(DatasetError, match="im1L"):
        load_dataset("middlebury-2014:L", tmp_path)


def test_a_calibration_of_another_size_is_refused(
    tmp_path: Path, picture: Write, disparity: Write, text: Write, calib: str
) -> None:
    folder = tmp_path / "data" / "artroom1"
    for stem in ("im0.png", "im1.png"):
        picture(folder / stem)
    disparity(folder / "disp0.pfm")
    text(folder / "calib.txt", calib)
    assert load_dataset("middlebury-2021", tmp_path).ids == ("artroom1",)
    text(folder / "calib.txt", calib.replace("width=9", "width=18"))
    with pytest.raises(FileError, match="18 × 6 pixels, but the images have 9 × 6"):
        load_dataset("middlebury-2021", tmp_path)


def test_the_v3_kit_prefers_the_asked_resolution_and_knows_the_test_split(
    tmp_path: Path, picture: Write, disparity: Write
) -> None:
    for folder in ("trainingH", "trainingQ", "testH"):
        for scene in ("Vintage", "Adirondack", "Teddy"):
            for stem in ("im0.png", "im1.png"):
                picture(tmp_path / "MiddEval3" / folder / scene / stem)
            if folder.startswith("training"):
                disparity(tmp_path / "MiddEval3" / folder / scene / "disp0GT.pfm")
    assert load_dataset("middlebury-v3", tmp_path).name == "middlebury-v3:Q"
    assert load_dataset("middlebury-v3:H", tmp_path)["Teddy"].resolution == 0.5
    assert load_dataset("middlebury-v3:H", tmp_path).ids == ("Adirondack", "Teddy", "Vintage")
    assert not load_dataset("middlebury-v3:H", tmp_path, split="test")["Teddy"].has("gt")
    with pytest.raises(DatasetError, match="trainingF/"):
        load_dataset("middlebury-v3:F", tmp_path)
    with pytest.raises(DatasetError, match="'training' or 'test'"):
        load_dataset("middlebury-v3", tmp_path, split="validation")


@pytest.mark.parametrize("together", [True, False])
def test_eth3d_ground_truth_lies_beside_the_images_or_in_its_own_folder(
    tmp_path: Path, picture: Write, disparity: Write, text: Write, calib: str, together: bool
) -> None:
    images = tmp_path / "two_view_training" / "delivery_area_1l"
    truth = images if together else tmp_path / "two_view_training_gt" / "delivery_area_1l"
    for stem in ("im0.png", "im1.png"):
        picture(images / stem)
    text(images / "calib.txt", calib)
    disparity(truth / "disp0GT.pfm", 7.5)
    picture(truth / "mask0nocc.png", np.array([[255] * 9] * 5 + [[128] * 9], np.uint8))
    for root in (tmp_path, tmp_path / "two_view_training"):
        scene = load_dataset("eth3d", root)["delivery_area_1l"]
        assert float(scene.gt[0, 0]) == 7.5
        assert scene.mask("nonocc").sum() == 45
        assert scene.mask("occluded").sum() == 9
        assert scene.calibration.metric


FILES = {"ground_truth": "disp0GT.pfm", "left": "im0.png", "right": "im1.png", "calibration": "calib.txt"}


def test_an_ndisp_that_is_the_width_of_the_image_is_not_a_range(
    tmp_path: Path, picture: Write, disparity: Write, text: Write, calib: str
) -> None:
    folder = tmp_path / "delivery_area_1l"
    for stem in ("im0.png", "im1.png"):
        picture(folder / stem)
    disparity(folder / "disp0GT.pfm", 7.5)
    for ndisp, expected in ((9, None), (8, 8)):
        text(folder / "calib.txt", re.sub(r"ndisp=\d+", f"ndisp={ndisp}", calib))
        assert load_dataset("eth3d", tmp_path)["delivery_area_1l"].calibration.ndisp == expected
        paths = "".join(f'{part} = "{{scene}}/{file}"\n' for part, file in FILES.items())
        text(tmp_path / "stereogauge.toml", f"[paths]\n{paths}")
        assert load_dataset("folder", tmp_path)[0].calibration.ndisp == expected


def _sintel(root: Path, picture: Write) -> None:
    for sequence, frames in (("alley_1", (1, 2)), ("ambush_2", (1,))):
        for frame in frames:
            name = f"{sequence}/frame_{frame:04d}.png"
            for folder, value in (("final_left", 1), ("final_right", 2), ("clean_left", 3), ("clean_right", 4)):
                picture(root / "training" / folder / name, np.full((2, 3, 3), value, np.uint8))
            rgb = np.zeros((2, 3, 3), np.uint8)
            rgb[..., 0], rgb[..., 1] = 5, 32
            picture(root / "training" / "disparities" / name, rgb[..., ::-1])
            picture(root / "training" / "occlusions" / name, np.array([[0, 255, 0], [0, 0, 0]], np.uint8))
            picture(root / "training" / "outofframe" / name, np.array([[255, 0, 0], [0, 0, 0]], np.uint8))


def test_sintel_pixels_that_leave_the_frame_are_unknown(tmp_path: Path, picture: Write) -> None:
    _sintel(tmp_path, picture)
    data = load_dataset("sintel", tmp_path)
    assert data.ids == ("alley_1-frame_0001", "alley_1-frame_0002", "ambush_2-frame_0001")
    scene = data["alley_1-frame_0002"]
    assert np.isnan(scene.gt[0, 0])
    assert float(scene.gt[1, 1]) == 20.5
    assert scene.mask("nonocc").tolist() == [[True, False, True], [True, True, True]]
    assert scene.left[0, 0, 0] == 1
    assert load_dataset("sintel:clean", tmp_path)["ambush_2-frame_0001"].right[0, 0, 0] == 4


def test_sceneflow_sampler_has_maps_of_the_left_view_only(tmp_path: Path, picture: Write, disparity: Write) -> None:
    folder = tmp_path / "Sampler" / "Driving"
    for side in ("left", "right"):
        picture(folder / "RGB_cleanpass" / side / "0400.png", 50 if side == "left" else 60)
    disparity(folder / "disparity" / "0400.pfm", 7.0)
    for root, scene in ((tmp_path, "Driving-0400"), (tmp_path / "Sampler", "Driving-0400"), (folder, "0400")):
        data = load_dataset("sceneflow", root)
        assert data.ids == (scene,)
        assert (data[0].gt[0, 0], data[0].right[0, 0]) == (7.0, 60)


def test_sceneflow_lists_all_three_parts_with_their_cameras(tmp_path: Path, picture: Write, disparity: Write) -> None:
    places = {
        "FlyingThings3D": "TRAIN/A/0000/{}/0006",
        "Driving": "15mm_focallength/scene_forwards/fast/{}/0001",
        "Monkaa": "a_rain_of_stones_x2/{}/0000",
    }
    for part, place in places.items():
        for side in ("left", "right"):
            picture(tmp_path / part / "frames_cleanpass" / f"{place.format(side)}.png", 50 if side == "left" else 60)
            disparity(tmp_path / part / "disparity" / f"{place.format(side)}.pfm", 3.0)
    data = load_dataset("sceneflow", tmp_path)
    assert data.ids == (
        "FlyingThings3D-TRAIN-A-0000-0006",
        "Driving-15mm_focallength-scene_forwards-fast-0001",
        "Monkaa-a_rain_of_stones_x2-0000",
    )
    assert [scene.calibration.focal for scene in data] == [1050.0, 450.0, 1050.0]
    assert all(scene.has("gt_right") and scene.left[0, 0] == 50 and scene.right[0, 0] == 60 for scene in data)
    assert load_dataset("sceneflow", tmp_path / "Monkaa").ids == ("a_rain_of_stones_x2-0000",)
    things = tmp_path / "FlyingThings3D"
    assert load_dataset("sceneflow", things, split="TRAIN").ids == ("TRAIN-A-0000-0006",)
    with pytest.raises(DatasetError, match="looked for"):
        load_dataset("sceneflow", things, split="TEST")


def test_spring_maps_come_to_the_size_of_the_images(tmp_path: Path, picture: Write, text: Write) -> None:
    h5py = pytest.importorskip("h5py", reason="the extra 'io' is not installed")
    sequence = tmp_path / "train" / "0001"
    for number in ("0001", "0002"):
        for side in ("left", "right"):
            picture(sequence / f"frame_{side}" / f"frame_{side}_{number}.png")
        (sequence / "disp1_left").mkdir(exist_ok=True)
        fine = np.arange(12 * 18, dtype=np.float32).reshape(12, 18)
        with h5py.File(sequence / "disp1_left" / f"disp1_left_{number}.dsp5", "w") as file:
            file.create_dataset("disparity", data=fine)
    text(sequence / "cam_data" / "intrinsics.txt", "1400.0 1400.0 960 540\n1500.0 1500.0 960 540\n")
    data = load_dataset("spring", tmp_path)
    assert data.ids == ("0001-0001", "0001-0002")
    scene = data["0001-0002"]
    assert scene.shape == scene.left.shape == (6, 9)
    assert scene.gt.tolist() == fine[::2, ::2].tolist()
    assert (scene.calibration.focal, scene.calibration.baseline) == (1500.0, 0.065)
    text(sequence / "cam_data" / "intrinsics.txt", "none\n")
    with pytest.raises(FileError, match="fx fy cx cy"):
        load_dataset("spring", tmp_path)


PARAMETERS = """[intrinsics]
focal_length_mm = 100
image_resolution_x_px = 512
sensor_size_mm = 35
[extrinsics]
baseline_mm = 50
focus_distance_m = 8
"""


def test_a_light_field_has_views_along_its_centre_row_and_a_converging_camera(
    tmp_path: Path, picture: Write, disparity: Write, text: Write
) -> None:
    folder = tmp_path / "additional" / "table"
    for camera in (36, 39, 40, 41, 44, 31):
        picture(folder / f"input_Cam{camera:03d}.png", camera)
    disparity(folder / "gt_disp_lowres.pfm", np.array([[0.0, -1.5, 2.0]], np.float32))
    text(folder / "parameters.cfg", PARAMETERS)
    scene = load_dataset("hci", tmp_path)["table"]
    assert scene.views == (-4.0, -1.0, 4.0)
    assert scene.view(-4.0)[0, 0] == 36
    depth = scene.calibration.depth(scene.gt)
    assert depth[0, 0] == pytest.approx(8.0)
    assert depth[0, 1] > 8 > depth[0, 2]
    text(folder / "parameters.cfg", "[intrinsics]\nfocal_length_mm = 100\n")
    with pytest.raises(FileError, match="focus_distance_m"):
        load_dataset("hci", tmp_path)


def test_heidelberg_like_folders_need_only_left_right_and_a_map(
    tmp_path: Path, picture: Write, disparity: Write
) -> None:
    picture(tmp_path / "street" / "left.png")
    picture(tmp_path / "street" / "right.png")
    disparity(tmp_path / "street" / "gt.pfm", 4.0)
    assert float(load_dataset("hci", tmp_path)["street"].gt[0, 0]) == 4.0


KITTI_2012 = "".join(
    f"P{i}: 700 0 600 {-700 * 0.54 * shift:.6f} 0 700 180 0 0 0 1 0\n" for i, shift in enumerate((0, 1, 0.1, 1.08))
)
KITTI_2015 = (
    "calib_time: 09-Jan-2012\nP_rect_02: 721.5377 0 609.5593 44.85728 0 721.5377 172.854 0.2163791 0 0 1 0.002745884\n"
    "P_rect_03: 721.5377 0 609.5593 -339.5242 0 721.5377 172.854 2.199936 0 0 1 0.002729905\n"
)


def _kitti(root: Path, picture: Write, disparity: Write, text: Write) -> None:
    training = root / "training"
    for frame in ("000000", "000001"):
        for folder, value in (("image_2", 10), ("image_3", 20)):
            picture(training / folder / f"{frame}_10.png", value)
            picture(training / folder / f"{frame}_11.png", value)
        disparity(training / "disp_occ_0" / f"{frame}_10.png", 5.0, encoding="kitti")
        seen = np.full((6, 9), 5.0, np.float32)
        seen[:, :3] = np.nan
        disparity(training / "disp_noc_0" / f"{frame}_10.png", seen, encoding="kitti")
        picture(training / "obj_map" / f"{frame}_10.png", np.array([[0, 1, 2, 0, 0, 0, 0, 0, 0]] * 6, np.uint8))
        text(training / "calib_cam_to_cam" / f"{frame}.txt", KITTI_2015)


def test_kitti_2015_object_maps_split_foreground_and_background(
    tmp_path: Path, picture: Write, disparity: Write, text: Write
) -> None:
    _kitti(tmp_path, picture, disparity, text)
    data = load_dataset("kitti-2015", tmp_path)
    assert data.ids == ("000000_10", "000001_10")
    scene = data["000001_10"]
    assert scene.mask("fg").sum() == 12
    assert scene.mask("bg").sum() == 42
    assert scene.mask("nonocc").sum() == 36
    assert np.isfinite(scene.gt).all()
    assert scene.calibration.baseline == pytest.approx((44.85728 + 339.5242) / 721.5377)
    assert scene.metadata == {"ground_truth": "occ", "calibration": "calibration file"}


def test_kitti_2012_in_colour_takes_the_colour_cameras(
    tmp_path: Path, picture: Write, disparity: Write, text: Write
) -> None:
    training = tmp_path / "training"
    for folder, value in (("image_0", 1), ("image_1", 2), ("colored_0", 3), ("colored_1", 4)):
        picture(training / folder / "000007_10.png", value)
    disparity(training / "disp_noc" / "000007_10.png", 5.0, encoding="kitti")
    text(training / "calib" / "000007.txt", KITTI_2012)
    grey, colour = load_dataset("kitti-2012", tmp_path), load_dataset("kitti-2012:colour", training)
    assert (grey["000007_10"].left[0, 0], colour["000007_10"].left[0, 0]) == (1, 3)
    assert grey["000007_10"].calibration.baseline == pytest.approx(0.54)
    assert colour["000007_10"].calibration.baseline == pytest.approx(0.54 * 0.98)
    assert (grey.name, colour.name) == ("kitti-2012", "kitti-2012:colour")
    disparity(training / "disp_refl_occ" / "000007_10.png", 5.0, encoding="kitti")
    assert load_dataset("kitti-2012", tmp_path)["000007_10"].mask("reflective").all()
    with pytest.raises(DatasetError, match="with truth occ"):
        load_dataset("kitti-2012", tmp_path, truth="occ")


def test_the_testing_split_has_images_only(tmp_path: Path, picture: Write) -> None:
    for folder in ("image_2", "image_3"):
        picture(tmp_path / "testing" / folder / "000000_10.png")
    scene = load_dataset("kitti-2015", tmp_path, split="testing")["000000_10"]
    assert scene.has("left")
    assert not scene.has("gt")
    assert scene.metadata["ground_truth"] == "none"


def test_listing_two_hundred_frames_reads_no_image(tmp_path: Path, text: Write) -> None:
    for frame in range(200):
        for folder in ("image_2", "image_3", "disp_occ_0", "disp_noc_0", "obj_map"):
            text(tmp_path / "training" / folder / f"{frame:06d}_10.png", "this would fail if it were read")
        text(tmp_path / "training" / "calib_cam_to_cam" / f"{frame:06d}.txt", KITTI_2015)
    data = load_dataset("kitti-2015", tmp_path)
    assert len(data) == 200
    with pytest.raises(FileError):
        _ = data["000199_10"].gt


FOLDERS_NEEDED = (
    *("middlebury-v2", "middlebury-2001", "middlebury-2003", "middlebury-2005", "middlebury-2006", "middlebury-2014"),
    *("middlebury-2021", "middlebury-v3", "kitti-2012", "kitti-2015", "eth3d", "sintel", "sceneflow", "spring", "hci"),
    "folder",
)


@pytest.mark.parametrize("name", FOLDERS_NEEDED)
def test_a_wrong_folder_is_told_in_one_sentence_what_was_looked_for_and_found(
    tmp_path: Path, name: str, text: Any
) -> None:
    for number in range(8):
        text(tmp_path / f"holiday{number}.jpg", "")
    with pytest.raises(DatasetError) as error:
        load_dataset(name, tmp_path)
    sentence = str(error.value)
    assert str(tmp_path) in sentence
    assert "looked for" in sentence
    assert "found holiday0.jpg" in sentence
    assert "and 3 more" in sentence
    assert "\n" not in sentence


def test_a_scene_that_lacks_an_image_is_told_and_not_left_out(tmp_path: Path, picture: Write) -> None:
    for scene in ("Adirondack", "Piano"):
        for stem in ("im0.png", "im1.png"):
            picture(tmp_path / "trainingQ" / scene / stem, 9)
    (tmp_path / "trainingQ" / "Piano" / "im1.png").unlink()
    with pytest.raises(DatasetError, match=r"Piano lacks im1\.png; put it there"):
        load_dataset("middlebury-v3:Q", tmp_path)


def test_the_masks_of_a_light_field_replace_the_search_for_planes_and_fine_structures(tmp_path: Path) -> None:
    folder = tmp_path / "training" / "boxes"
    folder.mkdir(parents=True)
    truth = np.full((120, 160), -1.0, np.float32)
    truth[:, 80:83] = 1.0
    sg.write_disparity(folder / "gt_disp_lowres.pfm", truth)
    drawn = {"planes": np.s_[20:60, 20:60], "fine": np.s_[20:100, 80:83], "smooth_surfaces": np.s_[:, 100:]}
    for name, place in drawn.items():
        mask = np.zeros(truth.shape, np.uint8)
        mask[place] = 1
        times = 10 if name == "fine" else 1
        size = f"{'high' if times > 1 else 'low'}res"
        cv2.imwrite(str(folder / f"mask_{name}_{size}.png"), mask.repeat(times, axis=0).repeat(times, axis=1))
    for camera in ("040", "041"):
        cv2.imwrite(str(folder / f"input_Cam{camera}.png"), np.zeros((*truth.shape, 3), np.uint8))
    scene = load_dataset("hci", tmp_path)["boxes"]
    assert scene.masks == ("planes", "fine", "continuous")
    sets = SceneRegions(scene, sg.load_protocol("default")).geometry
    assert sets.planes_drawn
    assert sets.planar.size == 40 * 40
    assert sets.fine.size == 80 * 3


@pytest.mark.parametrize(
    ("name", "files", "missing"),
    [
        ("eth3d", "{scene}/im0.png {scene}/im1.png {scene}/disp0GT.pfm", "im1.png"),
        ("middlebury-2006", "{scene}/view1.png {scene}/view5.png {scene}/disp1.png", "view5.png"),
        ("hci", "{scene}/input_Cam040.png {scene}/input_Cam041.png {scene}/gt_disp_lowres.pfm", "input_Cam041.png"),
    ],
)
def test_no_scene_is_left_out_because_its_right_image_is_missing(
    tmp_path: Path, picture: Write, disparity: Write, name: str, files: str, missing: str
) -> None:
    for scene in ("first", "second"):
        for file in files.format(scene=scene).split():
            (disparity if file.endswith(".pfm") else picture)(tmp_path / file)
    assert load_dataset(name, tmp_path).ids == ("first", "second")
    (tmp_path / "second" / missing).unlink()
    with pytest.raises(DatasetError, match=f"second lacks {Path(missing).stem}"):
        load_dataset(name, tmp_path)
