"""Pixels in some bins of the histogram are found whatever the bins, the width of the map and the level."""

from __future__ import annotations

import numpy as np
import pytest

from stereogauge.kernels.pixelwise import BINS, FINE_IGNORED, FINE_MISSING, KEYS, PARTS
from stereogauge.metrics.tally import ErrorsInBins, collect_bins


def collected(bins: list[int], shape: tuple[int, int], seed: int) -> tuple[ErrorsInBins, np.ndarray, np.ndarray]:
    """All pixels of these bins in random maps of two slots, with the errors and slots of all pixels."""
    random = np.random.default_rng(seed)
    common = random.choice(bins, shape)
    chosen = np.where(random.random(shape) < 0.1, common, random.integers(0, BINS, shape))
    keys = (chosen * PARTS + random.integers(0, PARTS, shape)).astype(np.uint16)
    keys[random.random(shape) < 0.1] = FINE_MISSING
    keys[random.random(shape) < 0.1] = FINE_IGNORED
    slots = random.integers(0, 2, shape).astype(np.uint8)
    histogram = np.zeros((2, KEYS), np.uint32)
    np.add.at(histogram, (slots, np.minimum(keys // PARTS, BINS)), np.uint32(1))
    # Any errors that grow with the key will do.
    errors = keys.astype(np.float32)
    estimate, truth = errors, np.zeros(shape, np.float32)
    members = np.array([[True, True], [False, True]])
    for one in (estimate, truth):
        one.flags.writeable = False
    return collect_bins(bins, (estimate, truth, slots), keys, histogram, members, lambda: None), errors, slots


@pytest.mark.parametrize("shape", [(3, 16), (40, 63), (25, 64), (30, 200)])
@pytest.mark.parametrize("count", [1, 2, 9, 60, 700])
@pytest.mark.usefixtures("processor_level")
def test_every_error_of_every_bin_is_found_at_its_rank(shape: tuple[int, int], count: int) -> None:
    bins = sorted(np.random.default_rng(count).choice(BINS, count, replace=False).tolist())
    found, errors, slots = collected(bins, shape, count)
    places = np.where(errors < FINE_MISSING, errors // PARTS, -1).astype(int)
    for index in bins[:: max(count // 9, 1)]:
        for region, inside in enumerate((slots >= 0, slots == 1)):
            expected = np.sort(errors[inside & (places == index)])
            ranks = np.arange(expected.size)
            if not ranks.size:
                continue
            read = found.order_statistics(np.full(ranks.size, region), np.full(ranks.size, index), ranks)
            assert read.tolist() == expected.tolist()
            assert found.above(region, index, float(expected[0])) == int((expected > expected[0]).sum())
