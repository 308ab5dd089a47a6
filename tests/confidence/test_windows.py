"""Measures from windows, from one image and from the shape of all costs, against plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.confidence.test_measures import local_minima, result_of
from tests.matching import reference

import stereogauge as sg
from stereogauge.errors import NotApplicable

RNG = np.random.default_rng(4)


def test_inflection_points_are_the_local_minima() -> None:
    for levels in (900, 4, 1):
        costs = RNG.integers(0, levels, (5, 12, 19))
        found = sg.confidence(result_of(costs), ["inflection-points"])["inflection-points"]
        expected = [[len(local_minima(pixel)) for pixel in row] for row in costs.tolist()]
        assert found.tolist() == expected
    with pytest.raises(NotApplicable, match="keep=costs"):
        sg.confidence(result_of(costs, costs=None), ["inflection-points"])


def test_attainable_likelihood_orders_as_the_perturbation_of_its_scale() -> None:
    costs = RNG.integers(0, 500, (4, 9, 12))
    maps = sg.confidence(result_of(costs), ["attainable-likelihood@30", "perturbation@30"])
    pixel = costs[2, 3]
    total = sum(math.exp(-(((c - pixel.min()) / 30) ** 2)) for c in pixel)
    assert maps["attainable-likelihood@30"][2, 3] == pytest.approx(1 - 1 / total, abs=1e-6)
    orders = [np.argsort(values.reshape(-1), kind="stable") for values in maps.values()]
    assert np.array_equal(*orders)


def test_a_repeated_pattern_is_not_distinct() -> None:
    image = RNG.integers(0, 255, (20, 64)).astype(np.uint8)
    image[:, 32:48] = image[:, 16:32]  # every point of it occurs twice within 16 px
    result = result_of(np.zeros((20, 64, 17)), left=image)
    found = sg.confidence(result, ["distinctiveness"])["distinctiveness"]
    assert (found[5:15, 36:44] == 0).all()
    assert np.median(found[5:15, 52:60]) < -5
    near = sg.confidence(result_of(np.zeros((20, 64, 9)), left=image), ["distinctiveness"])["distinctiveness"]
    assert np.median(near[5:15, 36:44]) < -5  # the other one is out of reach
    both = sg.confidence(result, ["distinctive-similarity"])["distinctive-similarity"]
    np.testing.assert_allclose(both, found)  # A₀ = 0


@pytest.mark.parametrize(("width", "ndisp"), [(40, 17), (9, 64), (30, 2)])
def test_distinctiveness_is_the_distance_to_the_most_similar_pixel_of_the_row(width: int, ndisp: int) -> None:
    image = RNG.integers(0, 6, (8, width)).astype(np.uint8)
    found = sg.confidence(result_of(np.zeros((8, width, ndisp)), left=image), ["distinctiveness"])["distinctiveness"]
    costs = reference.census_costs(image, image, min(ndisp, width), 7, 7)  # of x and x − d
    for (y, x), value in np.ndenumerate(found):
        before = [costs[y, x, d] for d in range(1, min(ndisp, x + 1))]
        after = [costs[y, x + d, d] for d in range(1, min(ndisp, width - x))]
        assert value == -min(before + after)


def test_windows_of_the_disparity_map_by_definition() -> None:
    disparity = RNG.integers(3, 7, (13, 17)).astype(np.float32)
    disparity[6, 8] = np.nan
    result = result_of(np.zeros((13, 17, 9)), raw=disparity, disparity=disparity)
    maps = sg.confidence(result, ["disparity-agreement", "disparity-scattering", "disparity-variance"])
    for y, x in ((0, 0), (5, 9), (12, 16), (7, 2)):
        window = disparity[max(0, y - 4) : y + 5, max(0, x - 4) : x + 5]
        known = window[np.isfinite(window)]
        agreeing = np.count_nonzero(np.abs(known - disparity[y, x]) <= 1) / window.size
        assert maps["disparity-agreement"][y, x] == pytest.approx(1 - agreeing, abs=1e-6)
        assert maps["disparity-scattering"][y, x] == pytest.approx(len(np.unique(known)) / known.size)
        assert maps["disparity-variance"][y, x] == pytest.approx(known.var(), rel=1e-5)
    assert maps["disparity-agreement"][6, 8] == maps["disparity-scattering"][6, 8] == 1
    assert np.isnan(maps["disparity-variance"][6, 8])


def test_distance_to_a_step_and_shared_matches() -> None:
    disparity = np.full((9, 12), 2.0, np.float32)
    disparity[:, 6:] = 5
    result = result_of(np.zeros((9, 12, 9)), raw=disparity, disparity=disparity)
    assert sg.confidence(result, ["distance-discontinuity"])["distance-discontinuity"][4].tolist() == pytest.approx(
        [-5, -4, -3, -2, -1, 0, 0, -1, -2, -3, -4, -5]
    )
    costs = np.full((1, 4, 3), 9)
    costs[0, 1, 0], costs[0, 2, 1], costs[0, 3, 0] = 1, 0, 2  # 1 and 2 match the same pixel, 2 at a lower cost
    costs[0, 0, 2] = 0  # leaves the image
    assert sg.confidence(result_of(costs), ["uniqueness"])["uniqueness"].tolist() == [[1, 1, 0, 0]]


def test_pixels_at_the_same_distance_from_a_step_are_equally_confident() -> None:
    disparity = np.full((70, 110), 2.0, np.float32)
    disparity[RNG.random(disparity.shape) < 0.03] = 9
    result = result_of(np.zeros((*disparity.shape, 12)), raw=disparity, disparity=disparity)
    found = sg.confidence(result, ["distance-discontinuity"])["distance-discontinuity"]
    squared = np.rint(found.astype(np.float64) ** 2)
    assert np.array_equal(found, -np.sqrt(squared).astype(np.float32))


def test_the_structure_tensor_wants_texture_in_every_direction() -> None:
    image = np.zeros((30, 60), np.uint8)
    image[:, 15:20] = 255  # an edge
    image[:, 40:] = RNG.integers(0, 255, (30, 20))
    found = sg.confidence(result_of(np.zeros((30, 60, 3)), left=image), ["structure-tensor"])["structure-tensor"]
    assert found[15, 5] == 1
    assert found[15, 17] == pytest.approx(1, abs=0.01)
    assert found[15, 50] < found[15, 17]


def test_all_of_them_on_a_real_match() -> None:
    left = RNG.integers(0, 255, (40, 80)).astype(np.uint8)
    result = sg.match(left, np.roll(left, -5, axis=1), ndisp=16)
    names = ["attainable-likelihood", "inflection-points", "distinctiveness", "distinctive-similarity", "uniqueness"]
    names += ["disparity-agreement", "disparity-scattering", "disparity-variance", "distance-discontinuity"]
    for name, values in sg.confidence(result, [*names, "structure-tensor"]).items():
        assert values.shape == (40, 80), name
        assert np.isfinite(values).all(), name
