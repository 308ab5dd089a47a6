"""The public data in its native layouts, against what its documentation says."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from stereogauge import load_dataset

FOLDERS = [
    ("middlebury-v2", "middlebury-v2", ("tsukuba", "venus", "teddy", "cones")),
    ("middlebury-2001", "middlebury-2001", ("bull",)),
    ("middlebury-2006", "middlebury-2006", ("Cloth3", "Reindeer")),
    (
        "middlebury-v3",
        "middlebury-2014",
        ("Adirondack", "ArtL", "Motorcycle", "MotorcycleE", "Piano", "PianoL", "Pipes", "Teddy"),
    ),
    ("kitti-2015", "kitti2015", ("000000_10", "000001_10", "000002_10", "000003_10", "000006_10")),
    ("sceneflow", "sceneflow", ("A-0032-0006",)),
    ("sintel", "sintel", ("frame",)),
    ("hci", "hci-4dlf", ("antinous",)),
]


@pytest.mark.parametrize(("name", "folder", "ids"), FOLDERS)
def test_every_folder_loads_by_one_name_with_parts_of_one_size(
    data_root: Path, name: str, folder: str, ids: tuple[str, ...]
) -> None:
    data = load_dataset(name, data_root / folder)
    assert data.ids == ids
    for scene in data:
        assert np.isfinite(scene.gt).mean() > 0.1
        for part in ("left", "right", "gt_right"):
            if scene.has(part):
                assert getattr(scene, part).shape[:2] == scene.shape
        for mask in scene.masks:
            assert scene.mask(mask).shape == scene.shape
        assert pickle.loads(pickle.dumps(scene)).shape == scene.shape
        scene.release()


@pytest.mark.parametrize(
    ("scene", "scale", "low", "high", "shares", "border"),
    [
        ("tsukuba", 16, 5, 14, (77.3, 79.3, 14.3), 18),
        ("venus", 8, 3, 19.75, (88.7, 90.4, 6.3), 10),
        ("teddy", 4, 12.5, 52.75, (87.5, 98.0, 24.0), 0),
        ("cones", 4, 5.5, 55, (85.3, 96.8, 28.0), 0),
    ],
)
def test_middlebury_v2_has_the_published_ranges_and_official_masks(
    data_root: Path, scene: str, scale: float, low: float, high: float, shares: tuple[float, ...], border: int
) -> None:
    found = load_dataset("middlebury-v2", data_root / "middlebury-v2")[scene]
    assert (np.nanmin(found.gt), np.nanmax(found.gt)) == (low, high)
    assert found.masks == ("nonocc", "all", "disc")
    for mask, share in zip(found.masks, shares, strict=True):
        assert 100 * found.mask(mask).mean() == pytest.approx(share, abs=0.05)
    assert (found.border, found.metadata["scale"]) == (border, scale)
    assert found.has("gt_right") == (scene != "tsukuba")


def test_the_quarter_size_kit_has_its_calibration_in_metres(data_root: Path) -> None:
    data = load_dataset("middlebury-v3:Q", data_root / "middlebury-2014")
    pipes = data["Pipes"]
    assert (pipes.calibration.focal, pipes.calibration.doffs, pipes.calibration.ndisp) == (989.886, 19.331, 75)
    assert pipes.calibration.baseline == pytest.approx(0.236922)
    assert (data.name, data.version, pipes.resolution) == ("middlebury-v3:Q", "Q", 0.25)
    assert np.isnan(pipes.gt).mean() == pytest.approx(0.0352, abs=5e-5)
    assert pipes.mask("nonocc").mean() == pytest.approx(0.79, abs=5e-4)
    assert not (pipes.mask("nonocc") & pipes.mask("occluded")).any()
    assert [scene.id for scene in data if scene.has("gt_right")] == ["Motorcycle"]


def test_a_kitti_frame_takes_all_pixels_where_they_are_given_and_says_so(data_root: Path) -> None:
    data = load_dataset("kitti-2012", data_root / "kitti2012")
    assert len(data) == 20
    assert [scene.id for scene in data if scene.metadata["ground_truth"] == "occ"] == ["000000_10"]
    first = data["000000_10"]
    assert np.isfinite(first.gt).sum() > first.mask("nonocc").sum()
    assert first.calibration.focal == 707.0912
    assert first.calibration.baseline == pytest.approx(0.53715, abs=5e-6)
    assert "size" in first.metadata["calibration"]
    visible = load_dataset("kitti-2012", data_root / "kitti2012", truth="noc")
    assert len(visible) == 20
    assert np.array_equal(np.isfinite(visible["000000_10"].gt), first.mask("nonocc"))
    assert load_dataset("kitti-2012", data_root / "kitti2012", truth="occ").ids == ("000000_10",)


def test_kitti_2015_frames_without_images_are_there(data_root: Path) -> None:
    data = load_dataset("kitti-2015", data_root / "kitti2015")
    assert not data["000002_10"].has("left")
    assert data["000002_10"].calibration.baseline == pytest.approx(0.5327, abs=5e-5)


def test_light_field_disparities_keep_their_sign(data_root: Path) -> None:
    scene = load_dataset("hci", data_root / "hci-4dlf")["antinous"]
    assert np.nanmin(scene.gt) == pytest.approx(-3.13, abs=0.01)
    assert np.nanmax(scene.gt) == pytest.approx(2.69, abs=0.01)


def test_the_sintel_window_is_a_mask(data_root: Path) -> None:
    mask = load_dataset("sintel", data_root / "sintel")["frame"].mask("roi")
    rows, columns = np.nonzero(mask)
    assert (columns.min(), rows.min(), np.ptp(columns) + 1, np.ptp(rows) + 1) == (166, 7, 851, 422)


def test_the_sceneflow_sample_tells_occluded_pixels(data_root: Path) -> None:
    scene = load_dataset("sceneflow", data_root / "sceneflow")["A-0032-0006"]
    assert np.array_equal(scene.mask("occluded"), ~scene.mask("nonocc"))
    assert scene.left.shape == (540, 960, 3)
    assert (scene.calibration.focal, scene.calibration.baseline) == (1050.0, 1.0)


def test_a_folder_given_the_wrong_name_is_told_the_right_one(data_root: Path) -> None:
    with pytest.raises(Exception, match=r"looked for .*disp0\.pfm.*found results/, trainingQ/.*middlebury-v3"):
        load_dataset("middlebury-2014", data_root / "middlebury-2014")


def test_the_built_in_motorcycle_needs_no_folder() -> None:
    scene = load_dataset("motorcycle")["motorcycle"]
    assert scene.shape == (500, 741) == scene.left.shape[:2] == scene.right.shape[:2]
    assert np.isnan(scene.gt).sum() == 27226
    assert np.nanmax(scene.gt) == pytest.approx(59.909, abs=1e-3)
    assert scene.calibration.focal == 994.978
    assert scene.resolution == 0.25
    nearest = float(scene.calibration.depth(np.array([[59.909]], np.float32))[0, 0])
    assert nearest == pytest.approx(994.978 * 0.193001 / (59.909 + 31.086), rel=1e-5)
