"""The pass over pixels gives what NumPy gives pixel by pixel, on every level of the library."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stereogauge.kernels import pixelwise as kernels
from stereogauge.masks.labels import RegionLabels, group_slots
from stereogauge.metrics.tally import DepthScale, Tally, tally_map

NAN, INF = np.float32("nan"), np.float32("inf")
SCALE = DepthScale(doffs=20.0, mu=0.5, near=90.0, far=22.0, charge=True)
Floats = NDArray[np.float32]


def maps(kind: str, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """An estimate and a truth."""
    random = np.random.default_rng(5)
    truth = random.uniform(1, 60, shape).astype(np.float32)
    estimate = (truth + random.standard_t(2, shape)).astype(np.float32)
    if kind == "whole numbers":
        truth, estimate = truth.round(), estimate.round()
    if kind == "gaps":
        for one in (truth, estimate):
            one[random.random(shape) < 0.3] = NAN
    if kind == "extremes":
        estimate[random.random(shape) < 0.1] = -25
        truth[random.random(shape) < 0.1] = 0
        truth[random.random(shape) < 0.1] = -30
        estimate[0, :4] = [1e30, -1e30, 0, -0.0]
    if kind == "nothing known":
        truth[:] = NAN
    if kind == "equal":
        estimate = truth.copy()
    return estimate, truth


def reference_key(estimate: np.float32, truth: np.float32) -> int:
    """The key of a pixel in the histogram, from the definition."""
    if np.isnan(truth):
        return kernels.IGNORED_KEY
    if np.isnan(estimate):
        return kernels.MISSING_KEY
    guarded = np.float32(abs(estimate - truth) - kernels.GUARD)
    bits = int(max(guarded, np.float32(0)).view(np.uint32))
    index = min(max((max(bits - 1, 0) >> kernels.BIN_SHIFT) - int(kernels.FIRST_KEY), 0), kernels.BINS - 1)
    d1 = guarded > kernels.D1_PIXELS and guarded * kernels.D1_SHARE > abs(truth)
    return index + d1 * kernels.BINS


def reference(estimate: Floats, truth: Floats, slots: NDArray[np.uint8], scale: DepthScale) -> Tally:
    """The same sums and counts, pixel by pixel."""
    count = int(slots.max()) + 1
    sums = np.zeros((count, kernels.SUMS))
    histogram = np.zeros((count, kernels.KEYS), np.uint32)
    exclusions = np.zeros((count, kernels.EXCLUSIONS), np.int64)
    shift = scale.doffs + scale.mu
    ends = [1 / (scale.near + scale.mu), 1 / (scale.far + scale.mu)]
    for place in np.ndindex(truth.shape):
        e, d, slot = estimate[place], truth[place], slots[place]
        histogram[slot, reference_key(e, d)] += 1
        behind = [float(one) + scale.doffs <= 0 for one in (d, e)]
        only_estimate = behind[1] and not behind[0] and not np.isnan(d)
        exclusions[slot] += [d == 0, d == 0 and np.isnan(e), behind[0], behind[0] and np.isnan(e), only_estimate]
        if np.isnan(d):
            continue
        if not np.isnan(e):
            error = np.float32(e - d)
            share = float(np.float32(abs(error) / abs(d))) if d != 0 else 0.0
            sums[slot, :4] += [float(error), abs(float(error)), float(error) ** 2, share]
        if behind[0]:
            continue
        depth = 1 / (float(d) + shift)
        if np.isnan(e) or behind[1]:
            sums[slot, 4] += max(abs(end - depth) for end in ends) if scale.charge else 0
        else:
            sums[slot, 4] += abs(1 / (float(e) + shift) - depth)
    return Tally(sums, histogram, exclusions, np.empty((0, 0), np.uint16))


@pytest.mark.usefixtures("processor_level")
@pytest.mark.parametrize("kind", ["noise", "whole numbers", "gaps", "extremes", "nothing known", "equal"])
@pytest.mark.parametrize("shape", [(7, 16), (3, 45), (5, 64)])
@pytest.mark.parametrize("slot_type", [np.uint8, np.uint16])
@pytest.mark.parametrize("charge", [True, False])
def test_sums_and_histogram(kind: str, shape: tuple[int, int], slot_type: type[np.generic], charge: bool) -> None:
    estimate, truth = maps(kind, shape)
    random = np.random.default_rng(9)
    slots = random.integers(0, 3, shape).astype(slot_type)
    slots[1] = 1  # whole groups
    labels = RegionLabels(("a", "b"), slots, np.arange(int(slots.max()) + 1))
    scale = DepthScale(SCALE.doffs, SCALE.mu, SCALE.near, SCALE.far, charge)
    expected = reference(estimate, truth, slots, scale)
    found = tally_map(estimate, truth, labels, scale, depth=True, keys=True)
    assert (found.histogram == expected.histogram).all()
    assert (found.exclusions == expected.exclusions).all()
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12, atol=1e-12)
    without = tally_map(estimate, truth, labels, scale, depth=False, keys=False)
    assert (without.sums[:, :4] == found.sums[:, :4]).all()
    keyed = found.keys.astype(np.int64)
    bins = np.where(keyed < kernels.FINE_MISSING, keyed // kernels.PARTS, -1)
    keys = np.vectorize(reference_key)(estimate, truth)
    assert (bins == np.where(keys < 2 * kernels.BINS, keys % kernels.BINS, -1)).all()


def test_sums_have_the_same_digits_on_all_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    from stereogauge.kernels import library

    estimate, truth = maps("gaps", (60, 333))
    slots = np.random.default_rng(2).integers(0, 5, truth.shape).astype(np.uint8)
    labels = RegionLabels(("a",), slots, np.arange(5))
    found = []
    for level in library.available_levels():
        monkeypatch.setenv("STEREOGAUGE_NATIVE_LEVEL", level)
        library.level.cache_clear()
        found.append(tally_map(estimate, truth, labels, SCALE, depth=True, keys=True))
    library.level.cache_clear()
    assert all((one.sums == found[0].sums).all() and (one.keys == found[0].keys).all() for one in found)


def test_every_pixel_is_in_one_group() -> None:
    slots = np.random.default_rng(2).integers(0, 5, (9, 43)).astype(np.uint8)
    groups = group_slots(slots)
    assert sum(int(group & 255).bit_count() for group in groups.groups) == slots.size
