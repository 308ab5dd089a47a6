"""Middlebury evaluation v2: the official masks, pixel for pixel, and the published bad-pixel percentages of one entry.

The percentages of PatchMatch Stereo (entry 117) stand on the Middlebury v2 result page, as restated in csukuangfj/ppm;
the estimates are the maps published there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.io import DisparityFile
from stereogauge.masks.standard import check_partition

SCALES = {"tsukuba": 16, "venus": 8, "teddy": 4, "cones": 4}
SIZES = {
    "tsukuba": {"all": 87696, "nonocc": 85438, "disc": 15790, "boundary": 15790, "interior": 69648, "occluded": 2258},
    "venus": {"all": 150282, "nonocc": 147513, "disc": 10540, "boundary": 10540, "interior": 136973, "occluded": 2769},
    "teddy": {"all": 165344, "nonocc": 147651, "disc": 40517, "boundary": 40517, "interior": 107134, "occluded": 17693},
    "cones": {"all": 163321, "nonocc": 143926, "disc": 47189, "boundary": 47189, "interior": 96737, "occluded": 19395},
}
THRESHOLDS = ("0.5", "0.75", "1", "1.5", "2")
REGIONS = ("nonocc", "all", "disc")
PUBLISHED = {
    "tsukuba": "15.0 15.4 20.3  15.0 15.4 20.3  2.09 2.33 9.31  2.09 2.33 9.31  1.77 1.92 7.85",
    "venus": "1.00 1.34 7.75  0.41 0.64 4.38  0.21 0.39 2.62  0.13 0.24 1.76  0.12 0.20 1.72",
    "teddy": "5.66 11.8 16.5  3.84 9.48 12.0  2.99 8.16 9.62  2.28 6.56 7.53  1.80 5.36 5.99",
    "cones": "3.80 10.2 10.2  2.81 8.55 7.95  2.47 7.80 7.11  2.19 6.86 6.46  1.99 6.17 5.93",
}


@pytest.fixture(scope="module")
def middlebury(data_root: Path) -> sg.Dataset:
    return sg.load_dataset("middlebury-v2", data_root / "middlebury-v2")


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("scene", SCALES)
def test_official_masks_are_reproduced_pixel_for_pixel(middlebury: sg.Dataset, scene: str, region: str) -> None:
    ours = sg.regions(middlebury[scene], [region], rule="middlebury-v2")[region]
    official = middlebury[scene].mask(region)
    assert np.count_nonzero(ours != official) == 0


@pytest.mark.parametrize("scene", SCALES)
def test_the_partition_has_the_known_sizes_and_is_one(middlebury: sg.Dataset, scene: str) -> None:
    masks = sg.regions(middlebury[scene], list(SIZES[scene]), rule="middlebury-v2")
    assert {name: int(mask.sum()) for name, mask in masks.items()} == SIZES[scene]
    check_partition({name: masks[name] for name in ("boundary", "interior", "occluded")}, masks["all"], scene)


@pytest.mark.parametrize("scene", SCALES)
def test_published_bad_pixel_percentages_of_patchmatch_to_the_printed_digit(
    middlebury: sg.Dataset, data_root: Path, scene: str
) -> None:
    path = data_root / "middlebury-v2" / "results" / "PatchMatch-alg117" / f"{scene}.png"
    estimate = DisparityFile(path, encoding="middlebury", scale=SCALES[scene])
    table = sg.evaluate(estimate, middlebury[scene], protocol="middlebury-v2")
    printed = PUBLISHED[scene].split()
    ours = [table.value(f"bad@{t}", region) for t in THRESHOLDS for region in REGIONS]
    for value, text in zip(ours, printed, strict=True):
        digits = len(text.partition(".")[2])
        assert f"{value:.{digits}f}" == text, (value, text)
