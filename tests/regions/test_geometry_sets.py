"""Sets of scenes whose geometry is known analytically, and what must hold for any ground truth."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from stereogauge import Protocol, Scene
from stereogauge.errors import NotApplicable, ProtocolError, SizeError
from stereogauge.masks.geometry.edges import distance_to, smoothed
from stereogauge.masks.geometry.planes import plane_normals
from stereogauge.masks.geometry.sets import GeometrySets, geometry_sets
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.protocol import GeometryParameters

HEIGHT, WIDTH = 300, 400
EVERYWHERE = np.ones((HEIGHT, WIDTH), bool)
Y, X = np.mgrid[:HEIGHT, :WIDTH].astype(float)


def sets_of(truth: np.ndarray, resolution: float = 1.0, base: np.ndarray | None = None) -> GeometrySets:
    mask = np.ones(truth.shape, bool) if base is None else base
    return geometry_sets(truth.astype(np.float32), mask, resolution, GeometryParameters())


def overlap(first: np.ndarray, second: np.ndarray) -> float:
    return np.count_nonzero(first & second) / np.count_nonzero(first | second)


def box(top: int, bottom: int, left: int, right: int) -> np.ndarray:
    mask = np.zeros((HEIGHT, WIDTH), bool)
    mask[top:bottom, left:right] = True
    return mask


@pytest.fixture(scope="module")
def slanted() -> GeometrySets:
    """A slanted rectangle of 180 × 240 px in front of a slanted wall."""
    wall, card = 20 + 0.02 * X + 0.01 * Y, 70 - 0.05 * X + 0.04 * Y
    return sets_of(np.where(box(60, 240, 90, 330), card, wall))


@pytest.fixture(scope="module")
def pole() -> GeometrySets:
    """A pole 4 px wide, 40 px nearer than the wall."""
    return sets_of(np.where(box(0, HEIGHT, 150, 154), 60.0, 20.0))


@pytest.fixture(scope="module")
def grid() -> tuple[GeometrySets, np.ndarray]:
    """Upright wires 3 px wide every 16 px, crossed by lying ones; fine are the upright ones between crossings."""
    upright = np.zeros((HEIGHT, WIDTH), bool)
    for left in range(20, WIDTH - 20, 16):
        upright |= box(0, HEIGHT, left, left + 3)
    lying = box(40, 43, 0, WIDTH) | box(150, 153, 0, WIDTH)
    return sets_of(np.where(upright | lying, 60.0, 20.0)), upright & ~lying


def test_the_discontinuity_is_the_pair_of_pixels_at_the_rim(slanted: GeometrySets) -> None:
    rim = box(60, 240, 90, 330) & ~box(61, 239, 91, 329)
    outside = (box(59, 241, 90, 330) | box(60, 240, 89, 331)) & ~box(60, 240, 90, 330)
    assert np.array_equal(slanted.mask(slanted.discontinuity), rim | outside)


def test_the_bands_are_twenty_pixels_on_either_side(slanted: GeometrySets) -> None:
    """Counted from the first pixel outside the discontinuity, of which each band has its own side."""
    foreground = box(60, 240, 90, 330) & ~box(81, 219, 111, 309)
    background = (box(39, 261, 90, 330) | box(60, 240, 69, 351)) & ~box(60, 240, 90, 330)
    assert overlap(slanted.mask(slanted.foreground), foreground) >= 0.99
    assert overlap(slanted.mask(slanted.background), background) >= 0.95


def test_extrapolated_maps_hold_the_disparity_from_beyond_the_edge(slanted: GeometrySets) -> None:
    wall, card = 20 + 0.02 * X + 0.01 * Y, 70 - 0.05 * X + 0.04 * Y
    beyond = slanted.spread(slanted.foreground, slanted.extrapolated_background)
    assert beyond[120, 91] == pytest.approx(wall[120, 88], abs=1e-4)
    assert beyond[120, 110] == pytest.approx(wall[120, 88], abs=1e-4)
    before = slanted.spread(slanted.background, slanted.extrapolated_foreground)
    assert before[120, 88] == pytest.approx(card[120, 91], abs=1e-4)
    assert before[40, 150] == pytest.approx(card[61, 150], abs=1e-4)


def test_both_planes_are_found_with_their_normals_and_pixels(slanted: GeometrySets) -> None:
    true = np.array([[0.02, 0.01, 20.0], [-0.05, 0.04, 70.0]])
    assert len(slanted.planes) == 2
    order = np.argsort(slanted.planes[:, 2])
    assert slanted.planes[order] == pytest.approx(true, abs=1e-3)
    normals = plane_normals(true)
    angles = np.degrees(np.arccos(np.clip((slanted.plane_normals[order] * normals).sum(axis=1), -1, 1)))
    assert (angles <= 0.5).all()
    labels = np.zeros(HEIGHT * WIDTH, int)
    labels[slanted.planar] = slanted.planar_label
    labels = labels.reshape(HEIGHT, WIDTH)
    inner, around = box(81, 219, 111, 309), box(39, 261, 69, 351)
    assert overlap(labels == order[1] + 1, inner) >= 0.95
    assert overlap(labels == order[0] + 1, ~around) >= 0.95
    assert not np.intersect1d(slanted.planar, slanted.edge).size


def test_plane_points_lie_on_their_planes(slanted: GeometrySets) -> None:
    x, y, d = slanted.plane_points.T
    a, b, c = slanted.planes.T
    assert d == pytest.approx(a * x + b * y + c)


def test_an_exactly_planar_scene_has_floors_of_zero(slanted: GeometrySets) -> None:
    bumpiness, offset, _ = slanted.plane_floors
    assert bumpiness < 1e-4
    assert offset < 1e-4


def test_a_pole_is_one_fine_structure_with_background_beside_it(pole: GeometrySets) -> None:
    """Two columns between its rims are no majority of a 5 × 5 window: the foreground is the rims alone."""
    assert np.array_equal(pole.mask(pole.fine), box(0, HEIGHT, 150, 154))
    assert set(pole.fine_label) == {1}
    assert np.array_equal(pole.mask(pole.foreground), box(0, HEIGHT, 150, 151) | box(0, HEIGHT, 153, 154))
    assert np.array_equal(pole.mask(pole.background), box(0, HEIGHT, 129, 150) | box(0, HEIGHT, 154, 175))


def test_the_median_of_the_bands_labels_fills_gaps_and_drops_specks() -> None:
    """A label image worked by hand: a hole in the foreground, a lone background pixel in it, a band of two columns."""
    side = np.zeros((20, 40), np.int8)
    side[:, 5:15] = 1
    side[10, 8], side[4, 12] = 0, -1
    side[:, 25:27] = -1
    beyond = np.where(side == 1, 7.0, 3.0).astype(np.float32)
    smoothed(side, beyond, 5, np.zeros(side.shape, bool))
    expected = np.zeros((20, 40), np.int8)
    expected[:, 5:15] = 1
    assert np.array_equal(side, expected)
    assert (beyond[side == 1] == 7.0).all()


def test_beside_a_pole_lie_ten_background_pixels_with_the_poles_disparity(pole: GeometrySets) -> None:
    assert np.array_equal(pole.mask(pole.surround), box(0, HEIGHT, 140, 150) | box(0, HEIGHT, 154, 164))
    assert (pole.extrapolated_structure == 60.0).all()


def test_the_gaps_of_a_grid_of_wires_belong_to_no_structure(grid: tuple[GeometrySets, np.ndarray]) -> None:
    sets, wires = grid
    assert overlap(sets.mask(sets.fine), wires) >= 0.99
    assert not (sets.mask(sets.surround) & sets.mask(sets.fine)).any()
    assert sets.mask(sets.surround)[100, 23:36].all()


def test_a_wider_bar_is_no_fine_structure() -> None:
    assert not sets_of(np.where(box(0, HEIGHT, 100, 149), 60.0, 20.0)).fine.size
    assert sets_of(np.where(box(0, HEIGHT, 100, 148), 60.0, 20.0)).fine.size == 48 * HEIGHT


@pytest.mark.parametrize(
    ("rows", "width", "whole"), [(60, 60, True), (60, 72, True), (60, 73, False), (160, 60, False)]
)
def test_a_stick_that_is_thin_for_most_of_its_length_is_one_structure(rows: int, width: int, whole: bool) -> None:
    """A stick 20 px wide with a handle of `rows` rows that is wider than 48 px."""
    stick = box(0, HEIGHT, 100, 120) | box(100, 100 + rows, 100, 100 + width)
    sets = sets_of(np.where(stick, 60.0, 20.0))
    expected = stick if whole else stick & ~box(100, 100 + rows, 0, WIDTH)
    assert np.array_equal(sets.mask(sets.fine), expected)
    assert sets.fine_label.max() == (1 if whole else 2)


def test_a_dark_slit_is_no_fine_structure() -> None:
    assert not sets_of(np.where(box(0, HEIGHT, 100, 104), 20.0, 60.0)).fine.size


def test_structures_are_labelled_again_after_the_evaluation_mask_divides_them() -> None:
    base = EVERYWHERE.copy()
    base[100:104] = False
    sets = sets_of(np.where(box(0, HEIGHT, 150, 154), 60.0, 20.0), base=base)
    assert sets.fine_label.max() == 2


def test_thresholds_scale_with_the_resolution() -> None:
    """A jump of 12 px is none at full size (gradient 6 < 8) and one at half size (6 > 4)."""
    step = np.where(X < 160, 20.0, 32.0)
    assert not sets_of(step).discontinuity.size
    half = sets_of(step, 0.5)
    assert half.discontinuity.size == 2 * HEIGHT
    assert np.array_equal(half.mask(half.foreground), box(0, HEIGHT, 160, 171))


def test_unknown_pixels_at_an_edge_are_filled_from_the_background_and_then_left_out() -> None:
    truth = np.where(X < 160, 20.0, 60.0)
    truth[:, 155:160] = np.nan
    sets = sets_of(truth)
    assert np.array_equal(sets.mask(sets.discontinuity), box(0, HEIGHT, 160, 161))
    assert np.array_equal(sets.mask(sets.background), box(0, HEIGHT, 139, 155))
    assert (sets.extrapolated_foreground == 60.0).all()


def test_a_staircase_pixel_belongs_to_the_nearer_edge() -> None:
    """Three levels 30 px apart: the middle one is foreground of the first edge and background of the second."""
    sets = sets_of(np.select([X < 100, X < 130], [20.0, 60.0], 100.0))
    assert sets.mask(sets.foreground)[:, 101:115].all()
    assert sets.mask(sets.background)[:, 115:129].all()


small_truth = arrays(
    np.float32,
    st.tuples(st.integers(1, 20), st.integers(1, 24)),
    elements=st.one_of(st.sampled_from([5.0, 6.0, 20.0, 40.0]), st.just(np.nan)),
)


@settings(max_examples=80, deadline=None)
@given(small_truth, st.sampled_from([0.25, 1.0]))
def test_sets_of_any_ground_truth_are_disjoint_parts_of_the_evaluation_mask(
    truth: np.ndarray, resolution: float
) -> None:
    base = np.isfinite(truth)
    base[:1] = False
    sets = geometry_sets(
        truth, base, resolution, GeometryParameters(fine_share=0.0, plane_share=0.05, least_coverage=0.3)
    )
    near, far, jump = (sets.mask(part) for part in (sets.foreground, sets.background, sets.discontinuity))
    assert not (near & far).any()
    assert np.array_equal(near | far | jump, sets.mask(sets.edge))
    assert not (sets.mask(sets.fine) & sets.mask(sets.surround)).any()
    for part in (sets.edge, sets.planar, sets.fine, sets.surround):
        assert not (sets.mask(part) & ~base).any()
    for values in (sets.extrapolated_background, sets.extrapolated_foreground, sets.extrapolated_structure):
        assert np.isfinite(values).all()
    assert (sets.extrapolated_structure > truth.ravel()[sets.surround]).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_distances_are_the_same_however_many_threads_opencv_has(threads: int) -> None:
    mask = np.random.default_rng(5).random((333, 517)) < 0.0005
    before = cv2.getNumThreads()
    try:
        cv2.setNumThreads(threads)
        found = distance_to(mask)
    finally:
        cv2.setNumThreads(before)
    assert np.array_equal(found, ndimage.distance_transform_edt(~mask).astype(np.float32))


@settings(max_examples=20, deadline=None)
@given(small_truth)
def test_sets_are_deterministic(truth: np.ndarray) -> None:
    first, second = (sets_of(truth).arrays() for _ in range(2))
    for name, value in first.items():
        assert np.array_equal(value, second[name], equal_nan=value.dtype.kind == "f"), name


@pytest.mark.parametrize(
    "truth",
    [
        np.full((40, 50), np.nan),
        np.where(np.arange(2000).reshape(40, 50) == 777, 5.0, np.nan),
    ],
    ids=["none known", "one known"],
)
def test_ground_truth_too_sparse_is_refused_with_its_coverage(truth: np.ndarray) -> None:
    sets = sets_of(truth)
    assert sets.refusal.startswith("not applicable: ground truth covers 0")
    assert not sets.edge.size
    assert not sets.planar.size
    assert not sets.fine.size


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (2, 2), (3, 40)])
def test_images_of_a_few_pixels_have_sets_without_a_crash(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(0)
    sets = sets_of(random.choice([5.0, 60.0], size=shape))
    assert not sets.refusal


def test_a_flat_scene_is_one_plane_and_has_no_edge() -> None:
    sets = sets_of(np.full((HEIGHT, WIDTH), 30.0))
    assert not sets.edge.size
    assert sets.planar.size == HEIGHT * WIDTH
    assert sets.plane_normals == pytest.approx(np.array([[0.0, 0.0, 1.0]]), abs=1e-6)


def test_drawn_planes_need_only_a_few_known_pixels() -> None:
    """One pixel in a hundred is known: no dense set, but the plane of the drawn region."""
    truth = np.where((X % 10 == 0) & (Y % 10 == 0), 30 + 0.1 * X - 0.05 * Y, np.nan).astype(np.float32)
    drawn = np.where(box(50, 200, 50, 300), 7, 0)
    sets = geometry_sets(truth, EVERYWHERE, 1.0, GeometryParameters(), drawn)
    assert "covers 1 %" in sets.refusal
    assert not sets.edge.size
    assert sets.planes == pytest.approx(np.array([[0.1, -0.05, 30.0]]), abs=1e-4)
    assert sets.planar.size == 150 * 250
    assert sets.planes_drawn


def test_a_known_outlier_leaves_its_drawn_region() -> None:
    truth = (30 + 0.1 * X).astype(np.float32)
    truth[100:110, 100:110] += 20
    sets = geometry_sets(truth, EVERYWHERE, 1.0, GeometryParameters(), np.where(box(50, 200, 50, 300), 1, 0))
    assert sets.planar.size == 150 * 250 - 100


def test_drawn_planes_without_any_ground_truth_have_no_plane_yet() -> None:
    sets = geometry_sets(None, EVERYWHERE, 1.0, GeometryParameters(), np.where(box(50, 200, 50, 300), 1, 0))
    assert sets.planar.size == 150 * 250
    assert np.isnan(sets.planes).all()
    assert np.isnan(sets.plane_floors).all()


def test_drawn_planes_of_another_size_are_refused() -> None:
    with pytest.raises(SizeError, match="10×5"):
        geometry_sets(None, EVERYWHERE, 1.0, GeometryParameters(), np.zeros((5, 10), int))


def test_sets_are_regions_inside_the_margin() -> None:
    truth = np.where(box(60, 180, 90, 230), 60.0, 20.0).astype(np.float32)
    scene_regions = SceneRegions(Scene("card", gt=truth, masks={"nonocc": EVERYWHERE}, resolution=1.0), Protocol())
    near, far = scene_regions.mask("disc-foreground"), scene_regions.mask("disc-background")
    assert np.array_equal(near | far | scene_regions.mask("disc-jump"), scene_regions.mask("disc-edge"))
    assert not scene_regions.mask("planar")[:20].any()
    assert scene_regions.mask("planar")[20:, 20:300].any()
    assert not scene_regions.mask("fine").any()
    assert not scene_regions.mask("fine-surround").any()


def test_a_region_of_too_sparse_ground_truth_says_why() -> None:
    truth = np.where((X % 2 == 0) & (Y % 2 == 0), 30.0, np.nan).astype(np.float32)
    scene_regions = SceneRegions(Scene("sparse", gt=truth, masks={"nonocc": EVERYWHERE}, resolution=1.0), Protocol())
    with pytest.raises(NotApplicable, match="not applicable: ground truth covers 25 %"):
        scene_regions.mask("disc-edge")


def test_the_margin_is_the_papers_and_scales() -> None:
    parameters = GeometryParameters()
    assert parameters.border_width(1000, 1.0) == 20
    assert parameters.border_width(2964, 1.0) == 30
    assert parameters.border_width(741, 0.25) == 7


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"band_median": 4}, "band_median must be 1, 3 or 5 .*; found 4"),
        ({"plane_share": 1.5}, "plane_share must be a number from 0 to 1"),
        ({"fine_width": -1.0}, "at least 0"),
        ({"band_length": float("nan")}, "band_length must be a number .*; found nan"),
        ({"discontinuity_gradient": 0.0}, "greater than 0"),
    ],
)
def test_impossible_parameters_are_refused(change: dict[str, float], sentence: str) -> None:
    with pytest.raises(ProtocolError, match=sentence):
        GeometryParameters(**change)


def test_an_impossible_resolution_is_refused() -> None:
    with pytest.raises(ProtocolError, match="resolution is a positive number"):
        GeometryParameters().at(0.0)
