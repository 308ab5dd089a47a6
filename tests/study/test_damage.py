"""Damages do what their names say, where they say it, and nothing at strength 0."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.study.damage import GroundTruth, damage_called, damages, ground_truth_of
from stereogauge.study.run import GEOMETRY_METRICS, run_study


@pytest.fixture(scope="module")
def truth() -> GroundTruth:
    return ground_truth_of(load_synthetic("anatomy", size=(480, 640))["anatomy-0"])


def step_map(height: int = 40, width: int = 60, jump: float = 20.0) -> GroundTruth:
    """Background 10 on the left, foreground 10 + jump on the right, no planes, nothing thin."""
    truth = np.full((height, width), 10.0, np.float32)
    truth[:, width // 2 :] += jump
    jumps = np.zeros(truth.shape, bool)
    jumps[:, width // 2 - 1 : width // 2 + 1] = True
    nothing = np.zeros(truth.shape, np.int32)
    return GroundTruth(truth, nothing, nothing, nothing > 0, jumps, reach=5.0, step=4.0)


def changed(truth: GroundTruth, name: str, strength: float, seed: int = 0) -> np.ndarray:
    damaged = damage_called(name).apply(truth, strength, seed)
    return ~((damaged == truth.disparity) | (np.isnan(damaged) & np.isnan(truth.disparity)))


@pytest.mark.parametrize("name", damages())
def test_strength_zero_is_the_truth(truth: GroundTruth, name: str) -> None:
    assert np.array_equal(damage_called(name).apply(truth, 0.0), truth.disparity)


@pytest.mark.parametrize("name", damages())
def test_the_same_seed_gives_the_same_map(truth: GroundTruth, name: str) -> None:
    kind = damage_called(name)
    first, again = (kind.apply(truth, kind.reference, seed=7) for _ in range(2))
    assert np.array_equal(first, again, equal_nan=True)
    assert first.dtype == np.float32


@pytest.mark.parametrize("name", damages())
def test_a_damage_keeps_to_its_zone_and_does_something_there(truth: GroundTruth, name: str) -> None:
    kind = damage_called(name)
    touched = changed(truth, name, kind.reference)
    assert touched.any()
    assert not (touched & ~kind.zone(truth)).any()


@pytest.mark.parametrize("name", damages())
def test_more_strength_hurts_more(truth: GroundTruth, name: str) -> None:
    kind = damage_called(name)
    errors = []
    for strength in (kind.strengths[0], kind.strengths[-1]):
        damaged = kind.apply(truth, strength)
        error = np.where(np.isnan(damaged), 100.0, np.abs(damaged - truth.disparity))
        errors.append(float(error.mean()))
    assert errors[1] > errors[0] > 0


@pytest.mark.parametrize(("name", "share"), [("salt-pepper-small", 0.1), ("salt-pepper-large", 0.3), ("guesses", 0.2)])
def test_speckles_strike_the_share_that_was_asked_for(truth: GroundTruth, name: str, share: float) -> None:
    assert changed(truth, name, share).mean() == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("name", ["holes", "blobs"])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
def test_round_spots_cover_the_share_that_was_asked_for(truth: GroundTruth, name: str, share: float) -> None:
    assert changed(truth, name, share).mean() == pytest.approx(share, rel=0.15)


def test_small_and_large_speckles_strike_the_same_pixels(truth: GroundTruth) -> None:
    assert np.array_equal(changed(truth, "salt-pepper-small", 0.1), changed(truth, "salt-pepper-large", 0.1))


def test_fattening_moves_the_edge_by_whole_pixels() -> None:
    """A strength of 0.6 reaches of 5 px is 3 px: columns 27 to 29 turn from background to foreground."""
    touched = changed(step_map(), "fatten-foreground", 0.6)
    assert np.array_equal(np.flatnonzero(touched.any(axis=0)), [27, 28, 29])
    assert touched[:, 27:30].all()


def test_thinning_moves_the_edge_the_other_way() -> None:
    touched = changed(step_map(), "thin-foreground", 0.4)
    assert np.array_equal(np.flatnonzero(touched.all(axis=0)), [30, 31])


def test_a_fractional_radius_lies_between_the_two_whole_ones() -> None:
    counts = [int(changed(step_map(200, 60), "fatten-foreground", s).sum()) for s in (0.4, 0.5, 0.6)]
    assert counts[0] < counts[1] < counts[2]


def test_fuzzy_edges_keep_the_mean_of_a_step_and_lose_its_slope() -> None:
    truth = step_map()
    damaged = damage_called("fuzzy-edges").apply(truth, 0.2)
    assert np.abs(np.diff(damaged, axis=1)).max() < 10
    assert damaged.mean() == pytest.approx(truth.disparity.mean(), abs=0.01)


def test_staircase_leaves_only_multiples(truth: GroundTruth) -> None:
    damaged = damage_called("staircase").apply(truth, 0.5)
    assert np.array_equal(damaged * 2, np.rint(damaged * 2))


def test_planes_shift_as_a_whole(truth: GroundTruth) -> None:
    damaged = damage_called("plane-offset").apply(truth, 0.2)
    for plane in range(1, int(truth.planes.max()) + 1):
        inside = (truth.planes == plane) & truth.plane_zone
        moved = (damaged - truth.disparity)[inside]
        assert np.abs(moved) == pytest.approx(0.2 * truth.reach, abs=1e-4)
        assert np.ptp(moved) < 1e-4


def test_facets_tilt_about_their_centres(truth: GroundTruth) -> None:
    error = (damage_called("plane-tilt").apply(truth, 0.2) - truth.disparity)[truth.plane_zone]
    assert abs(error.mean()) < 0.02
    assert error.std() > 0.2


@pytest.mark.parametrize("name", ["pores", "cuts"])
def test_thin_structures_lose_about_the_share_that_was_asked_for(truth: GroundTruth, name: str) -> None:
    lost = changed(truth, name, 0.2)
    assert lost[truth.fine > 0].mean() == pytest.approx(0.2, abs=0.06)
    damaged = damage_called(name).apply(truth, 0.2)
    assert np.array_equal(damaged[lost], truth.behind_fine[lost])


@pytest.mark.parametrize("name", ["salt-pepper-small", "guesses", "holes", "blobs", "pores", "cuts"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_larger_share_contains_a_smaller_one(truth: GroundTruth, name: str, seed: int) -> None:
    kind = damage_called(name)
    struck = [kind.apply(truth, share, seed) != truth.disparity for share in (0.01, 0.03, 0.1, 0.3, 0.35, 0.7)]
    for smaller, larger in itertools.pairwise(struck):
        assert not (smaller & ~larger).any()


def test_fragmentation_grows_with_cuts() -> None:
    scene = load_synthetic("anatomy", size=(480, 640))["anatomy-0"]
    shares = tuple(np.linspace(0.05, 0.9, 12))
    study = run_study(scene, ["f-frag"], damage_ids=["cuts"], strengths={"cuts": shares}, protocol="hci")
    values = [value for _, value in study.curve("f-frag", "cuts")]
    assert values == sorted(values)
    assert values[-1] > 0.5


def test_what_is_lost_of_a_structure_is_not_replaced_by_the_part_that_is_not_evaluated() -> None:
    """The left half of a pole is hidden from the right camera: it is no background of the other half."""
    truth = np.full((200, 400), 20.0, np.float32)
    truth[:, 200:208] = 60.0
    visible = np.ones(truth.shape, bool)
    visible[:, 200:204] = False
    found = ground_truth_of(sg.Scene("pole", gt=truth, masks={"nonocc": visible}, resolution=0.25), "hci")
    assert (found.fine > 0).any()
    assert (found.behind_fine[found.fine > 0] == 20).all()


def test_every_geometry_metric_has_exactly_one_damage_named_after_it() -> None:
    assert sorted(d.metric for d in damages().values() if d.metric) == sorted([*GEOMETRY_METRICS, "f-thin"])


def test_impossible_strengths_and_unknown_names_are_refused(truth: GroundTruth) -> None:
    with pytest.raises(sg.StereogaugeError, match=r"'holes' takes a strength from 0 to 1 share; found 1\.5"):
        damage_called("holes").apply(truth, 1.5)
    with pytest.raises(sg.StereogaugeError, match="found -1"):
        damage_called("bumps").apply(truth, -1)
    with pytest.raises(sg.StereogaugeError, match=r"Unknown damage 'hole'.*Did you mean 'holes'"):
        damage_called("hole")


FREE = [("fatten", "fatten-foreground"), ("noise", "bumps"), ("facets", "plane-tilt")]


@pytest.mark.parametrize(("free", "confined"), FREE)
def test_a_damage_without_a_zone_strikes_outside_the_zone_of_its_namesake_too(free: str, confined: str) -> None:
    truth = ground_truth_of(load_synthetic("anatomy", size=(240, 320))["anatomy-0"])
    zone, kind = damages()[confined].zone(truth), damages()[free]
    assert kind.zone(truth).all()
    changed = kind.apply(truth, kind.reference) != truth.disparity
    assert (changed & zone).any()
    assert (changed & ~zone).any()
