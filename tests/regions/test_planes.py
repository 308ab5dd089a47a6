"""Planes that are planes: whole walls, nothing curved, tolerant of quantised ground truth."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.datasets.synthetic.scene import PRESETS, SyntheticScene
from stereogauge.kernels.edges import fill_rows
from stereogauge.masks.geometry.plane_search import find_planes
from stereogauge.masks.geometry.planes import Planes, angle_between, value_step
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.protocol import GeometryParameters

HEIGHT, WIDTH = 300, 400
Y, X = np.mgrid[:HEIGHT, :WIDTH].astype(np.float64)
REAL = {
    "middlebury-v3": ("middlebury-2014", ("Adirondack", "Motorcycle", "Piano", "Pipes"), 1.0),
    "middlebury-v3 ": ("middlebury-2014", ("ArtL", "Teddy"), 2.0),
    "middlebury-v2": ("middlebury-v2", ("tsukuba", "venus", "teddy", "cones"), 2.0),
    "middlebury-2001": ("middlebury-2001", ("bull",), 2.0),
}
SCENES = [(name, scene, most) for name, (_, scenes, most) in REAL.items() for scene in scenes]


def planes_of(truth: np.ndarray, resolution: float = 0.25) -> Planes:
    truth = truth.astype(np.float32)
    known = np.isfinite(truth)
    return find_planes(fill_rows(truth), known, resolution, value_step(truth), GeometryParameters())


@functools.cache
def found_in(scene: sg.Scene) -> Planes:
    return planes_of(scene.gt, scene.resolution)


@functools.cache
def preset(name: str) -> SyntheticScene:
    return next(iter(load_synthetic(name)))


def overlap(first: np.ndarray, second: np.ndarray) -> float:
    return np.count_nonzero(first & second) / np.count_nonzero(first | second)


def assert_no_slices(scene: sg.Scene) -> None:
    """No two touching planes less than 2° apart of which one plane holds everything within twice the tolerance."""
    found = found_in(scene)
    tolerance = GeometryParameters().at(scene.resolution).plane_tolerance + value_step(scene.gt) / 2
    for first, second in itertools.combinations(range(len(found.coefficients)), 2):
        masks = [found.labels == number + 1 for number in (first, second)]
        touch = (cv2.dilate(masks[0].astype(np.uint8), np.ones((3, 3), np.uint8)) > 0) & masks[1]
        angle = angle_between(*(tuple(found.coefficients[number]) for number in (first, second)))
        if not touch.any() or angle >= 2:
            continue
        y, x = np.nonzero(masks[0] | masks[1])
        system = np.column_stack([x, y, np.ones(x.size)])
        plane = np.linalg.lstsq(system, scene.gt[y, x], rcond=None)[0]
        assert np.abs(scene.gt[y, x] - system @ plane).max() > 2 * tolerance, (first, second, angle)


@pytest.mark.parametrize(("name", "scene", "most"), SCENES)
def test_the_ground_truth_is_parallel_to_its_own_planes(data_root: Path, name: str, scene: str, most: float) -> None:
    real = sg.load_dataset(name.strip(), data_root / REAL[name][0])[scene]
    sets = SceneRegions(real, sg.load_protocol("hci")).geometry
    assert sets.plane_floors[2] < most
    assert len(sets.planes) >= 2
    assert_no_slices(real)


@pytest.mark.parametrize("name", PRESETS)
def test_every_known_plane_is_found_whole_and_nothing_curved_is(name: str) -> None:
    """Planes of at least 1 % of the image; a lattice of thin bars is a fine structure and no surface."""
    scene = preset(name)
    labels, truth = found_in(scene).labels, scene.planes
    wide = truth * ~scene.mask("thin")
    for number in np.unique(wide[wide > 0]):
        mask = truth == number
        if mask.mean() >= 0.01:
            assert max(overlap(labels == found, mask) for found in range(1, labels.max() + 1)) >= 0.9, number
    curved = truth == 0
    assert np.count_nonzero((labels > 0) & curved) <= 0.01 * np.count_nonzero(curved)
    assert_no_slices(scene)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_domes_and_columns_carry_no_plane(seed: int) -> None:
    scene = next(iter(load_synthetic("curved", seed=seed)))
    curved = scene.planes == 0
    assert np.count_nonzero((found_in(scene).labels > 0) & curved) <= 0.01 * np.count_nonzero(curved)
    assert len(found_in(scene).coefficients) == 2


def test_the_wall_and_the_floor_of_antinous_are_planes_and_the_bust_is_none(data_root: Path) -> None:
    """Wall and floor are exact planes and fill two thirds of the image."""
    (scene,) = sg.load_dataset("hci", data_root / "hci-4dlf")
    found = found_in(scene)
    assert len(found.coefficients) == 2
    rows, columns = np.indices(scene.shape)
    distances = [np.abs(scene.gt - a * columns - b * rows - c) for a, b, c in found.coefficients]
    bust = np.min(distances, axis=0) > 0.3
    assert 0.2 < bust.mean() < 0.4
    assert not (found.labels[bust] > 0).any()


@pytest.mark.parametrize("sagitta", [0.4, 1.0, 5.0])
def test_a_bent_wall_is_no_plane(sagitta: float) -> None:
    bent = 30 + 0.02 * X - sagitta * ((X - WIDTH / 2) / (WIDTH / 2)) ** 2
    assert len(planes_of(bent).coefficients) == 0


def test_a_wall_with_a_slight_bow_is_a_plane_and_the_bowed_board_beside_it_is_none() -> None:
    """A bow of 0.05 px (root mean square) over 280 px is flat at a tolerance of 0.125 px, however smooth it is."""
    across, along = np.clip(X / 280, 0, 1), Y / HEIGHT
    bow = 0.05 / np.sqrt(4 / 45) * (2 * across - 1) ** 2
    wall = 20 + 0.005 * X + bow
    board = 45 + 3.0 * (2 * (X - 290) / 110 - 1) ** 2 + 0.002 * along
    found = planes_of(np.where(X < 285, wall, board))
    assert len(found.coefficients) == 1
    assert overlap(found.labels == 1, X < 281) >= 0.97


def test_a_slice_of_a_wavy_bowed_board_is_no_plane() -> None:
    """No quadratic describes the board, but where it leaves a plane it does so gradually, not at an edge."""
    wall = 20 + 0.005 * X
    board = wall + ((Y - 150) / 150) ** 2 + 0.12 * np.sin(X / 10) - 0.05
    found = planes_of(np.where(X < 200, wall, np.where(X < 203, 45, board)))
    assert len(found.coefficients) == 1
    assert overlap(found.labels == 1, X < 200) >= 0.97


@pytest.mark.parametrize(("lean", "noise"), [(0.02, 0.0), (0.02, 0.02), (0.035, 0.0), (0.035, 0.04), (0.1, 0.04)])
def test_two_walls_that_meet_at_a_small_angle_are_two_planes(lean: float, noise: float) -> None:
    """At a small angle each leaves the other's plane as gradually as a curved surface, but is flat up to the corner."""
    beyond = np.maximum(X - 140, 0)
    found = planes_of(30 + 0.02 * X + lean * beyond + np.random.default_rng(1).normal(0, noise, X.shape))
    assert len(found.coefficients) == 2
    for wall in (beyond == 0, beyond > 0):
        assert max(overlap(found.labels == number, wall) for number in (1, 2)) > 0.85


@pytest.mark.parametrize("offset", [0.35, 0.5, 2.0])
def test_a_picture_on_a_wall_and_the_wall_are_two_planes(offset: float) -> None:
    """Even where it stands out so little that the rim of each lies within three tolerances of the other."""
    picture = (X > 80) & (X < 220) & (Y > 60) & (Y < 200)
    found = planes_of(30 + 0.02 * X + 0.01 * Y + offset * picture)
    assert len(found.coefficients) == 2
    for surface in (picture, ~picture):
        assert max(overlap(found.labels == number, surface) for number in (1, 2)) > 0.95


@pytest.mark.parametrize(("height", "level"), [(6, 0.9), (6, 0.6), (8, 1.6)])
def test_flat_ground_among_hills_is_found(height: float, level: float) -> None:
    """A tenth of a region that is steady all over: three points of the image lie on it once in a thousand times."""
    hills = 30 + 0.02 * X + height * np.sin(X / 50) * np.cos(Y / 40)
    ground = 30 - level + 0.02 * X + 0.004 * Y
    valley = (X > 60) & (X < 230) & (Y > 40) & (Y < 190)
    found = planes_of(np.where(valley, np.maximum(hills, ground), hills))
    assert len(found.coefficients) == 1
    assert np.mean(found.labels[valley & (hills < ground)] == 1) > 0.9


def test_a_rough_wall_is_one_plane() -> None:
    random = np.random.default_rng(0)
    found = planes_of(30 + 0.02 * X + 0.01 * Y + random.normal(0, 0.04, X.shape))
    assert len(found.coefficients) == 1
    assert np.mean(found.labels == 1) > 0.99
    assert found.coefficients[0] == pytest.approx([0.02, 0.01, 30], abs=5e-3)


def test_a_corrugated_wall_is_no_plane() -> None:
    assert len(planes_of(30 + 0.02 * X + 0.2 * np.sin(X / 4)).coefficients) == 0


@pytest.mark.parametrize("step", [0.25, 1.0])
def test_quantisation_does_not_cut_a_slanted_wall_into_slices(step: float) -> None:
    slanted = np.round((30 + 0.03 * X + 0.02 * Y) / step) * step
    assert value_step(slanted.astype(np.float32)) == step
    found = planes_of(slanted)
    assert len(found.coefficients) == 1
    assert np.mean(found.labels == 1) > 0.98


@pytest.mark.parametrize("bars", [0, 6])
def test_a_wall_behind_bars_is_one_plane(bars: int) -> None:
    truth = 30 + 0.02 * X + 0.01 * Y
    for left in np.linspace(30, WIDTH - 30, bars).astype(int):
        truth[:, left : left + 4] = 70.0
    found = planes_of(truth)
    assert len(found.coefficients) == 1
    assert np.mean(found.labels[truth < 60] == 1) > 0.99


def test_a_large_map_has_the_planes_of_a_small_one() -> None:
    """At full size the search runs at a fraction of it; every pixel is assigned at full size."""
    y, x = np.mgrid[:600, :3000].astype(np.float64)
    card = (x > 1000) & (x < 2200) & (y > 150) & (y < 450)
    found = planes_of(np.where(card, 150 - 0.05 * x + 0.04 * y, 60 + 0.02 * x), resolution=1.0)
    assert len(found.coefficients) == 2
    order = np.argsort(found.coefficients[:, 2])
    assert found.coefficients[order] == pytest.approx(np.array([[0.02, 0, 60], [-0.05, 0.04, 150]]), abs=1e-2)
    assert overlap(found.labels == order[1] + 1, card) > 0.99


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([5, 6, 7, 9, 12, 14], 1.0),
        ([12.5, 14, 14.25, 20, 30.75], 0.25),
        ([5.1, 6.37, 7.02, 9.9, 10.8], 0.0),
        ([20, 60], 0.0),
        ([np.nan, np.nan], 0.0),
    ],
)
def test_the_step_of_the_values_is_measured(values: list[float], step: float) -> None:
    assert value_step(np.array([values], np.float32)) == step


def test_the_steps_of_real_ground_truths(data_root: Path) -> None:
    old = sg.load_dataset("middlebury-v2", data_root / "middlebury-v2")
    new = sg.load_dataset("middlebury-v3", data_root / "middlebury-2014")
    assert [value_step(old[name].gt) for name in ("tsukuba", "teddy", "cones")] == [1.0, 0.25, 0.25]
    assert value_step(new["Adirondack"].gt) == value_step(new["Pipes"].gt) == 0.0
