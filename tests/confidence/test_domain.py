"""The paper's evaluation domain, pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.confidence_measures.run import (
    ConfidenceChoices,
    evaluation_domain,
    inner_pixels,
    run_scene,
)
from stereogauge.datasets.declaration import search_range
from stereogauge.errors import NotApplicable
from stereogauge.matching.postprocess import OCCLUDED, left_right_check


@pytest.fixture(scope="module")
def scene() -> sg.Scene:
    """A textured plane at 3 with a square at 9 before it."""
    rng = np.random.default_rng(0)
    height, width, border = 60, 120, 20
    texture = rng.integers(0, 255, (height, width + border)).astype(np.uint8)
    gt = np.full((height, width), 3.0, np.float32)
    gt[20:40, 50:80] = 9
    right = texture[:, 3 : width + 3].copy()
    left = texture[:, :width].copy()
    right[20:40, 41:71] = rng.integers(0, 255, (20, 30))
    left[20:40, 50:80] = right[20:40, 41:71]
    gt[:5] = np.nan
    return sg.Scene("square", gt=gt, left=left, right=right, calibration=sg.Calibration(ndisp=16))


def test_inner_pixels_have_costs_for_every_disparity() -> None:
    inside = inner_pixels((10, 30), ndisp=8, radius=2)
    rows, columns = np.nonzero(inside)
    assert (rows.min(), rows.max()) == (2, 7)
    assert (columns.min(), columns.max()) == (10, 27)


def test_domain_leaves_out_unknown_border_and_occluded_pixels(scene: sg.Scene) -> None:
    result = sg.match(scene.left, scene.right, ndisp=16)
    domain = evaluation_domain(result, scene.gt)
    assert result.right_disparity is not None
    labels = left_right_check(result.raw, result.right_disparity, 16)
    assert not domain[:5].any()
    assert not domain[:, : 16 + 3].any()
    assert not domain[:, -3:].any()
    assert not domain[-3:].any()
    assert not domain[labels == OCCLUDED].any()
    expected = np.isfinite(scene.gt) & inner_pixels(scene.shape, 16, 3) & (labels != OCCLUDED)
    assert np.array_equal(domain, expected)
    assert (labels[22:38, 45:50] == OCCLUDED).mean() > 0.5  # left of the square the right view sees nothing


def test_domain_needs_a_right_map(scene: sg.Scene) -> None:
    result = sg.match(scene.left, scene.right, ndisp=16, right_view="none")
    with pytest.raises(NotApplicable, match="no right map"):
        evaluation_domain(result, scene.gt)


def test_a_run_gives_curves_on_the_chosen_domain(scene: sg.Scene) -> None:
    run = run_scene(scene, ConfidenceChoices(threshold=1.0))
    curves = run.curves()
    assert curves.curves["product"].pixels == evaluation_domain(run.result, scene.gt).sum()
    assert curves.bound is not None
    everywhere = run_scene(scene, ConfidenceChoices(threshold=1.0, domain="all", measures=("entropy",)))
    assert everywhere.curves().curves["entropy"].pixels == np.isfinite(scene.gt).sum()
    assert everywhere.curves().bound is None
    assert run.without_costs().result.costs is None


def test_search_range_is_wanted_or_calibrated_or_measured(scene: sg.Scene) -> None:
    assert search_range(scene, 40) == 40
    assert search_range(scene) == 16
    assert search_range(sg.Scene("bare", gt=scene.gt), by_truth=True) == 10
    assert search_range(sg.Scene("000122_10", gt=scene.gt, dataset="kitti-2012:colour")) == 128


def test_the_domain_does_not_depend_on_post_processing(scene: sg.Scene) -> None:
    plain = sg.match(scene.left, scene.right, ndisp=16)
    smooth = sg.match(scene.left, scene.right, ndisp=16, median=5, speckle=100)
    assert np.array_equal(evaluation_domain(plain, scene.gt), evaluation_domain(smooth, scene.gt))


def test_a_domain_without_pixels_is_said_with_its_reason(scene: sg.Scene) -> None:
    with pytest.raises(NotApplicable, match="118 disparities at a width of 120"):
        run_scene(scene, ConfidenceChoices(ndisp=118))


def test_ground_truth_without_a_value_has_no_range() -> None:
    with pytest.raises(NotApplicable, match="holds no value"):
        search_range(sg.Scene("empty", gt=np.full((4, 5), np.nan, np.float32)), by_truth=True)
