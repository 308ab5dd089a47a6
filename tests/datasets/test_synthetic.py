"""Synthetic scenes: their ground truth is checked by means that the renderer does not use."""

from __future__ import annotations

import pickle
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

import stereogauge as sg
from stereogauge import Scene, StereogaugeError, load_dataset
from stereogauge.cli import main
from stereogauge.datasets import families
from stereogauge.datasets.synthetic import load_synthetic, save_middlebury_layout
from stereogauge.datasets.synthetic.scene import NEAR, PRESETS, SyntheticScene
from stereogauge.datasets.synthetic.world import IDEAL, ImageModel, Renderer, Texture, World, patch, strip
from stereogauge.errors import DatasetError

SIZE = (240, 320)


def scene(preset: str, size: tuple[int, int] = SIZE, seed: int = 0, **options: object) -> SyntheticScene:
    found = load_synthetic(preset, size=size, seed=seed, **options)[f"{preset}-{seed}"]  # type: ignore[arg-type]
    assert isinstance(found, SyntheticScene)
    return found


def sampled(image: NDArray[np.generic], columns: NDArray[np.floating], interpolation: int) -> NDArray[np.float32]:
    rows = np.broadcast_to(np.arange(image.shape[0], dtype=np.float32)[:, None], image.shape[:2])
    remapped = cv2.remap(image.astype(np.float32), columns.astype(np.float32), rows.copy(), interpolation)
    return np.asarray(remapped, dtype=np.float32)


def right_columns(disparity: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.arange(disparity.shape[1])[None, :] - disparity.astype(np.float64)


def same_surface_neighbours(found: SyntheticScene) -> NDArray[np.bool_]:
    """Left pixels whose two neighbours in the right map lie on the surface that the left pixel shows."""
    right = found.renderer.view(1.0).surface
    left = found.renderer.view(0.0).surface
    columns = np.clip(np.floor(right_columns(found.gt)).astype(int), 0, right.shape[1] - 2)
    rows = np.arange(right.shape[0])[:, None]
    return (right[rows, columns] == left) & (right[rows, columns + 1] == left)


@pytest.mark.parametrize("preset", PRESETS)
def test_warping_the_right_image_by_the_left_map_gives_the_left_image(preset: str) -> None:
    found = scene(preset, images=IDEAL)
    warped = sampled(found.right, right_columns(found.gt), cv2.INTER_LINEAR)
    visible = found.mask("nonocc") & ~found.mask("reflective")
    assert np.abs(warped - found.left)[visible].mean() < 1.0


@pytest.mark.parametrize("preset", PRESETS)
def test_both_maps_agree_to_a_thousandth_of_a_pixel_where_both_views_see_the_surface(preset: str) -> None:
    found = scene(preset)
    columns = right_columns(found.gt)
    low = np.clip(np.floor(columns).astype(int), 0, SIZE[1] - 2)
    share = columns - low
    rows = np.arange(SIZE[0])[:, None]
    other = (1 - share) * found.gt_right[rows, low] + share * found.gt_right[rows, low + 1]
    seen = found.mask("visible") & same_surface_neighbours(found) & (columns >= 0)
    assert seen.mean() > 0.75
    assert np.abs(other - found.gt)[seen].max() < 1e-3


@pytest.mark.parametrize("preset", PRESETS)
def test_the_occlusion_mask_is_the_bidirectional_rule(preset: str) -> None:
    found = scene(preset)
    height, width = found.shape
    expected = np.zeros(found.shape, bool)
    for y in range(height):
        target = np.arange(width) - np.floor(found.gt[y] + 0.5).astype(int)
        inside = (target >= 0) & (target < width)
        expected[y, inside] = np.abs(found.gt[y] - found.gt_right[y, np.clip(target, 0, width - 1)])[inside] <= 1
    assert np.array_equal(found.mask("nonocc"), expected)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_exact_occlusion_differs_from_the_rule_only_where_the_target_touches_another_surface(preset: str) -> None:
    found = scene(preset)
    differs = found.mask("nonocc") != found.mask("visible")
    surface = found.renderer.view(1.0).surface.astype(np.float32)
    window = np.ones((3, 5), np.uint8)
    several = cv2.dilate(surface, window) != cv2.erode(surface, window)
    columns = right_columns(found.gt)
    target = np.clip(np.rint(columns).astype(int), 0, found.shape[1] - 1)
    border = (columns < 0.5) | (columns > found.shape[1] - 1.5)
    assert not (differs & ~several[np.arange(found.shape[0])[:, None], target] & ~border).any()
    assert differs.mean() < 0.03


def test_a_single_slanted_plane_has_the_disparity_of_its_equation() -> None:
    """Plane Z = 4 + X/2: with x = f X/Z, Z = 4/(1 − x/(2f)), so d = fB/Z = fB (1 − x/(2f))/4 is linear in x."""
    yaw = -np.degrees(np.arctan(0.5))
    world = World((patch(np.array([0.0, 0.0, 4.0]), Texture(), yaw=float(yaw)),))
    renderer = Renderer(world, (41, 101))
    left, right = renderer.view(0.0), renderer.view(1.0)
    x = np.arange(101) - 50.0
    focal, baseline = 1.25 * 101, 0.16
    expected = focal * baseline / 4 * (1 - x / (2 * focal))
    assert renderer.disparity(left) == pytest.approx(np.broadcast_to(expected, (41, 101)), rel=1e-6)
    x_left = (x + focal * baseline / 4) / (1 + baseline / 8)
    assert renderer.disparity(right)[7] == pytest.approx(focal * baseline / 4 * (1 - x_left / (2 * focal)), rel=1e-6)


def test_a_wire_is_as_wide_as_asked_and_stands_before_its_background() -> None:
    wall = patch(np.array([0.0, 0.0, 8.0]), Texture())
    wire = strip(np.array([0.1, -5.0, 4.0]), np.array([0.1, 5.0, 4.0]), 0.12, Texture())
    renderer = Renderer(World((wall, wire)), (40, 160))
    surface = renderer.view(0.0).surface
    width_in_pixels = 0.12 * renderer.focal / 4
    assert np.abs((surface == 1).sum(axis=1) - width_in_pixels).max() <= 1
    assert set(np.unique(surface)) == {0, 1}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_world() -> None:
    first, again, other = scene("noisy"), scene("noisy"), scene("noisy", seed=1)
    assert np.array_equal(first.left, again.left)
    assert np.array_equal(first.right, again.right)
    assert np.array_equal(first.gt, again.gt)
    assert not np.array_equal(first.gt, other.gt)


def test_a_pickled_scene_is_small_and_renders_the_same() -> None:
    found = scene("mixed")
    gt = found.gt.copy()
    stored = pickle.dumps(found)
    assert len(stored) < 50_000
    assert np.array_equal(pickle.loads(stored).gt, gt)


def test_the_same_world_at_twice_the_size_has_twice_the_disparities() -> None:
    small, large = scene("planes", (120, 160)), scene("planes", (240, 320))
    ratio = large.gt[::2, ::2] / small.gt
    assert np.median(ratio) == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize("preset", PRESETS)
def test_labels_cover_the_image_and_disparities_stay_in_range(preset: str) -> None:
    found = scene(preset)
    assert found.objects.min() >= 1
    assert (found.planes > 0).sum() == found.mask("planar").sum()
    assert np.isfinite(found.gt).all()
    assert found.gt.min() > 0
    assert found.gt.max() < (found.calibration.ndisp or 0) <= NEAR * SIZE[1] + 2


def test_special_areas_exist_where_the_preset_promises_them() -> None:
    assert scene("weak-texture").mask("plain").mean() > 0.02
    assert scene("weak-texture").mask("repetitive").mean() > 0.02
    assert scene("reflections").mask("reflective").mean() > 0.05
    assert scene("thin").mask("thin").mean() > 0.02
    assert not scene("planes").mask("reflective").any()


def test_a_textureless_panel_is_flat_and_a_mirror_breaks_constancy() -> None:
    weak = scene("weak-texture")
    for plane in np.unique(weak.planes[weak.mask("plain")]):
        assert weak.left[weak.planes == plane].std(axis=0).max() == 0
    mirror = scene("reflections")
    error = np.abs(sampled(mirror.right, right_columns(mirror.gt), cv2.INTER_LINEAR) - mirror.left).mean(axis=2)
    visible = mirror.mask("nonocc")
    assert error[visible & mirror.mask("reflective")].mean() > 10 * error[visible & ~mirror.mask("reflective")].mean()


def test_exposure_darkens_only_the_right_image_and_noise_has_the_asked_strength() -> None:
    radiance = np.full((200, 200, 3), 127.5, np.float32)
    model = ImageModel(gain_right=0.5, noise=3.0)
    left, right = model.take(radiance, 0.0, 5), model.take(radiance, 1.0, 5)
    assert left.mean() == pytest.approx(127.5, abs=0.5)
    assert right.mean() == pytest.approx(63.75, abs=0.5)
    assert left.std() == pytest.approx(3.0, rel=0.05)
    assert not np.array_equal(left, right)


def test_a_further_view_is_the_world_from_there() -> None:
    found = scene("boxes", views=(0.5,))
    half = np.arange(SIZE[1])[None, :] - 0.5 * found.gt
    warped = sampled(found.view(0.5), half, cv2.INTER_LINEAR)
    assert np.abs(warped - found.left)[found.mask("nonocc")].mean() < 1.0


def test_saved_scenes_read_back_exactly(tmp_path: Path) -> None:
    found = scene("thin")
    folder = save_middlebury_layout(load_synthetic("thin", size=SIZE), tmp_path) / "trainingQ" / "thin-0"
    assert np.array_equal(sg.read_disparity(folder / "disp0GT.pfm"), found.gt)
    assert np.array_equal(sg.read_disparity(folder / "disp1GT.pfm"), found.gt_right)
    assert np.array_equal(cv2.imread(str(folder / "im0.png"))[..., ::-1], found.left)
    assert np.array_equal(cv2.imread(str(folder / "mask0nocc.png"), 0) == 255, found.mask("nonocc"))
    assert np.array_equal(cv2.imread(str(folder / "objects.png"), cv2.IMREAD_UNCHANGED), found.objects)
    assert f"ndisp={found.calibration.ndisp}" in (folder / "calib.txt").read_text()


def test_every_preset_is_described_and_all_gives_one_of_each() -> None:
    assert set(families()["synthetic"].variants) == {*PRESETS, "all"}
    assert load_synthetic("all", size=(64, 96)).ids == tuple(f"{name}-0" for name in PRESETS)


def test_impossible_requests_are_refused_with_a_sentence() -> None:
    with pytest.raises(StereogaugeError, match=r"mixd.*Did you mean 'mixed'"):
        load_synthetic("mixd")
    with pytest.raises(DatasetError, match=r"from 32 to 20000; found \(8, 640\)"):
        load_synthetic("mixed", size=(8, 640))
    with pytest.raises(DatasetError, match="found 0 and 0"):
        load_synthetic("mixed", scenes=0)


def test_the_dataset_is_found_by_name_with_its_options() -> None:
    data = load_dataset("synthetic:boxes", size="96x64", seed=2, scenes=2)
    assert data.ids == ("boxes-2", "boxes-3")
    assert data["boxes-3"].gt.shape == (64, 96)
    with pytest.raises(StereogaugeError, match="variant of dataset synthetic 'box'"):
        load_dataset("synthetic:box")
    with pytest.raises(DatasetError, match="found '96'"):
        load_dataset("synthetic:boxes", size="96")


def test_saved_scenes_load_as_middlebury_scenes(tmp_path: Path) -> None:
    found = scene("mixed")
    save_middlebury_layout([found], tmp_path)
    loaded = load_dataset("middlebury-v3:Q", tmp_path)["mixed-0"]
    assert np.array_equal(loaded.gt, found.gt)
    assert np.array_equal(loaded.left, found.left)
    assert np.array_equal(loaded.mask("nonocc"), found.mask("nonocc"))
    assert loaded.calibration.focal == found.calibration.focal
    assert loaded.calibration.baseline == pytest.approx(found.calibration.baseline)


def test_only_synthetic_scenes_are_saved(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="'other' is one of"):
        save_middlebury_layout([Scene("other", gt=np.ones((4, 4)))], tmp_path)


def test_a_matcher_can_be_evaluated_on_rendered_scenes(tmp_path: Path) -> None:
    """Masks and views have content that can be hashed, as images have."""
    words = ["evaluate", "synthetic:planes", "--matcher", "opencv-bm", "--metrics", "bad@1", "--jobs", "1"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--scenes", "planes-0", "--store", str(tmp_path / "s.sqlite"), "--maps", str(tmp_path / "maps")])
    assert ended.value.code == 0
