"""Our semi-global matching equals the formulas, bit for bit."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.matching import reference

from stereogauge.errors import MatcherError
from stereogauge.kernels.library import available_levels
from stereogauge.matching.sgm import WINDOWS, census, semi_global_matching


def noise(seed: int, height: int, width: int, dtype: Any = np.uint8) -> NDArray[Any]:
    return np.random.default_rng(seed).integers(0, np.iinfo(dtype).max, (height, width), dtype=dtype, endpoint=True)


def expected_sums(left: NDArray[Any], right: NDArray[Any], ndisp: int, **p: Any) -> NDArray[np.int64]:
    width, height = WINDOWS[p.get("window", "7x7")]
    costs = reference.census_costs(left, right, ndisp, width, height)
    guide = left if p.get("adapt") else None
    return reference.aggregate(costs, p.get("p1", 20), p.get("p2", 100), p.get("paths", 8), guide)


@pytest.mark.parametrize("window", ["5x5", "7x7", "9x7"])
def test_census_codes_differ_in_as_many_bits_as_comparisons(window: str) -> None:
    left, right = noise(1, 11, 17), noise(2, 11, 17)
    width, height = WINDOWS[window]
    expected = reference.census_costs(left, right, 1, width, height)[:, :, 0]
    differing = np.bitwise_count(census(left, window) ^ census(right, window)).sum(axis=0)
    assert np.array_equal(differing, expected)
    mirrored = census(right, window, mirrored=True, margin=5)
    assert np.array_equal(mirrored[:, :, 16::-1], census(right, window))
    assert not mirrored[:, :, 17:].any()


@pytest.mark.parametrize("paths", [4, 5, 8])
@pytest.mark.parametrize("threads", [1, 2])
def test_aggregated_costs_are_those_of_the_formula(paths: int, threads: int) -> None:
    left, right = noise(3, 13, 45), noise(4, 13, 45)
    found = semi_global_matching(left, right, 37, paths=paths, threads=threads, right_view="diagonal")
    expected = expected_sums(left, right, 37, paths=paths)
    assert found.costs is not None
    assert np.array_equal(found.costs, expected)
    assert np.array_equal(found.winners, expected.argmin(axis=2))
    np.testing.assert_allclose(found.disparity, reference.refined(expected, "parabola"), atol=1e-5)
    np.testing.assert_allclose(
        found.right_disparity, reference.refined(reference.right_costs(expected), "parabola"), atol=1e-5
    )
    assert np.array_equal(found.right_minimum, reference.right_costs(expected).min(axis=2))


@pytest.mark.parametrize("p2", [206, 207, 8000])
def test_large_penalties_use_wider_path_costs_and_stay_exact(p2: int) -> None:
    left, right = noise(5, 9, 40), noise(6, 9, 40)
    found = semi_global_matching(left, right, 34, p1=p2 - 1, p2=p2, right_view="none")
    assert np.array_equal(found.costs, expected_sums(left, right, 34, p1=p2 - 1, p2=p2))


@pytest.mark.parametrize("paths", [4, 5, 8])
def test_penalties_adapted_to_the_gradient(paths: int) -> None:
    left, right = noise(7, 8, 30) // 40, noise(8, 8, 30) // 40
    found = semi_global_matching(left, right, 20, paths=paths, adapt=True, right_view="none")
    expected = expected_sums(left, right, 20, paths=paths, adapt=True)
    assert np.array_equal(found.costs, expected)
    assert not np.array_equal(expected, expected_sums(left, right, 20, paths=paths))


@pytest.mark.parametrize("paths", [4, 5, 8])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("right_view", ["diagonal", "second-run"])
def test_streaming_gives_the_same_maps_without_the_volume(paths: int, threads: int, right_view: str) -> None:
    left, right = noise(9, 50, 500), noise(10, 50, 500)
    common = {"paths": paths, "threads": threads, "right_view": right_view, "keep": "summary"}
    whole = semi_global_matching(left, right, 60, memory_limit=4, **common)
    streamed = semi_global_matching(left, right, 60, memory_limit=0.0022 if paths == 4 else 0.0033, **common)
    for one, other in (
        (whole.disparity, streamed.disparity),
        (whole.right_disparity, streamed.right_disparity),
        (whole.winners, streamed.winners),
        *zip(whole.summary, streamed.summary, strict=True),  # type: ignore[arg-type]
    ):
        assert np.array_equal(one, other)


def test_right_run_is_the_left_run_of_the_mirrored_pair() -> None:
    left, right = noise(11, 12, 40), noise(12, 12, 40)
    found = semi_global_matching(left, right, 16, right_view="second-run")
    mirrored = semi_global_matching(right[:, ::-1], left[:, ::-1], 16, right_view="none")
    assert np.array_equal(found.right_disparity, mirrored.disparity[:, ::-1])
    assert mirrored.right_disparity is None


@pytest.mark.parametrize("method", ["none", "parabola", "v-fit"])
def test_refinement_of_the_winner(method: str) -> None:
    left, right = noise(13, 9, 40), noise(14, 9, 40)
    found = semi_global_matching(left, right, 24, subpixel=method)
    np.testing.assert_allclose(found.disparity, reference.refined(expected_sums(left, right, 24), method), atol=1e-5)
    assert np.abs(found.disparity - found.winners).max() <= 0.5


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    height=st.integers(1, 7),
    width=st.integers(1, 40),
    ndisp=st.integers(1, 70),
    paths=st.sampled_from([4, 5, 8]),
    window=st.sampled_from(["5x5", "7x7", "9x7"]),
    penalties=st.tuples(st.integers(0, 150), st.integers(1, 120)),
    levels=st.sampled_from([1, 2, 256]),
    threads=st.integers(1, 3),
)
def test_any_size_range_and_penalty(
    height: int, width: int, ndisp: int, paths: int, window: str, penalties: tuple[int, int], levels: int, threads: int
) -> None:
    left, right = (noise(seed, height, width, np.uint16) % levels for seed in (height, width))
    p1, p2 = penalties[0], sum(penalties)
    found = semi_global_matching(
        left, right, ndisp, paths=paths, window=window, p1=p1, p2=p2, threads=threads, right_view="diagonal"
    )
    expected = expected_sums(left, right, ndisp, paths=paths, window=window, p1=p1, p2=p2)
    assert np.array_equal(found.costs, expected)
    assert np.array_equal(found.winners, expected.argmin(axis=2))
    right_expected = reference.refined(reference.right_costs(expected), "parabola")
    np.testing.assert_allclose(found.right_disparity, right_expected, atol=1e-5)


@pytest.mark.parametrize("paths", [4, 5, 8])
def test_real_crop(data_root: Path, paths: int) -> None:
    folder = data_root / "middlebury-v2" / "teddy"
    images = [cv2.imread(str(folder / name), cv2.IMREAD_GRAYSCALE) for name in ("im2.png", "im6.png")]
    left, right = (np.ascontiguousarray(image[200:230, 220:310]) for image in images)
    found = semi_global_matching(left, right, 60, paths=paths, right_view="diagonal")
    expected = expected_sums(left, right, 60, paths=paths)
    assert np.array_equal(found.costs, expected)
    np.testing.assert_allclose(found.disparity, reference.refined(expected, "parabola"), atol=1e-5)


def test_costs_that_do_not_fit_are_refused_with_the_size_they_need() -> None:
    left = noise(15, 64, 256)
    with pytest.raises(MatcherError, match=r"need 0\.0\d+ GiB; raise memory_limit"):
        semi_global_matching(left, left, 256, keep="costs", memory_limit=0.001)
    with pytest.raises(MatcherError, match="need at least"):
        semi_global_matching(left, left, 256, memory_limit=0.001)


def test_a_part_of_kept_costs_outlives_the_result_and_later_matches() -> None:
    """Costs are never written over while anything refers to a part of them."""
    left, right = noise(18, 40, 300), noise(19, 40, 300)
    first = semi_global_matching(left, right, 64, right_view="none").costs
    assert first is not None
    expected, part = first.copy(), first[3:5, 10:]
    del first
    second = semi_global_matching(right, left, 64, right_view="none").costs
    assert second is not None
    assert np.array_equal(part, expected[3:5, 10:])
    third = semi_global_matching(left, right, 64, right_view="none").costs
    assert third is not None
    assert np.array_equal(third, expected)
    assert np.array_equal(part, expected[3:5, 10:])


ELSEWHERE = "from tests.matching.test_sgm import fingerprint; print(fingerprint())"


def fingerprint() -> str:
    """A hash of what matching gives for a range of disparities that is no multiple of any vector's length."""
    left, right = noise(16, 20, 130), noise(17, 20, 130)
    found = semi_global_matching(left, right, 97, threads=1, right_view="diagonal")
    digest = hashlib.sha256()
    for array in (found.costs, found.disparity, found.right_disparity):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("level", available_levels())
def test_every_level_of_the_processor_gives_the_same(level: str) -> None:
    environment = os.environ | {"STEREOGAUGE_NATIVE_LEVEL": level}
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], env=environment, cwd=root, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == [fingerprint()]
