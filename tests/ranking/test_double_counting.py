"""Errors that are counted more than once."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from stereogauge import StereogaugeError
from stereogauge.masks.standard import PARTITION
from stereogauge.ranking import Column, ScoreCube
from stereogauge.ranking.relations import NESTED, DoubleCounting, double_counting, nested, partition

REGIONS = (*NESTED, *PARTITION)


def from_masks(errors: list[np.ndarray], regions: dict[str, np.ndarray], algorithms: list[str]) -> DoubleCounting:
    """Any regions of one scene: `errors` marks the wrong pixels of each algorithm, `regions` the sets."""
    masks = np.stack(list(regions.values()))
    multiplicity = masks.sum(axis=0)
    by_region = np.array([[np.count_nonzero(wrong & mask) for mask in masks] for wrong in errors], np.int64)
    distinct = np.array([np.count_nonzero(wrong & (multiplicity > 0)) for wrong in errors], np.int64)
    repeated = np.array([np.count_nonzero(wrong & (multiplicity > 1)) for wrong in errors], np.int64)
    return DoubleCounting(tuple(algorithms), tuple(regions), by_region, distinct, repeated)


def cube(errors: object) -> ScoreCube:
    counted = np.array(errors, np.float64)
    return ScoreCube(
        ("A", "B")[: len(counted)],
        tuple(f"scene{place}" for place in range(counted.shape[1])),
        tuple(Column("bad@1", region) for region in REGIONS),
        counted / 10,
        sums=counted,
        counts=np.full_like(counted, 1000),
    )


def test_nested_regions_count_again_and_a_partition_does_not() -> None:
    """Two scenes: 3 + 1 errors near discontinuities, 2 + 0 elsewhere visible, 5 + 4 occluded."""
    chained, parted = double_counting(cube([[[3, 5, 10, 3, 2, 5], [1, 1, 5, 1, 0, 4]]]))
    assert chained.errors.tolist() == [[4, 6, 15]]
    assert chained.counted.tolist() == [25]
    assert chained.distinct.tolist() == parted.distinct.tolist() == [15]
    assert chained.repeated.tolist() == [6]
    assert chained.repeated_share.tolist() == [40]
    assert parted.counted.tolist() == [15]
    assert parted.repeated_share.tolist() == [0]
    assert chained.selection is not None


def test_regions_that_overlap_are_no_partition() -> None:
    with pytest.raises(StereogaugeError, match="add up to 11, the union has 10"):
        double_counting(cube([[[3, 5, 10, 3, 3, 5]]]))


def test_a_chain_in_the_wrong_order_is_refused() -> None:
    with pytest.raises(StereogaugeError, match="not a chain"):
        nested(["A"], ["all", "disc"], np.array([[10, 3]]))


def test_a_perfect_map_has_no_share() -> None:
    assert np.isnan(partition(["A"], ["all"], np.array([[0]]), np.array([0])).repeated_share[0])


def test_masks_of_any_shape_are_counted_pixel_by_pixel() -> None:
    left, top = np.zeros((4, 4), bool), np.zeros((4, 4), bool)
    left[:, :2], top[:2] = True, True
    found = from_masks([np.ones((4, 4), bool), np.eye(4, dtype=bool)], {"left": left, "top": top}, ["A", "B"])
    assert found.errors.tolist() == [[8, 8], [2, 2]]
    assert found.distinct.tolist() == [12, 2]
    assert found.repeated.tolist() == [4, 2]


def test_masks_and_sums_agree_on_nested_regions() -> None:
    random = np.random.default_rng(0)
    occluded, near, wrong = (random.random((20, 20)) < share for share in (0.2, 0.3, 0.4))
    everything = np.ones((20, 20), bool)
    masks = {"disc": near & ~occluded, "nonocc": ~occluded, "all": everything}
    exact = from_masks([wrong], masks, ["A"])
    chained = nested(["A"], NESTED, exact.errors)
    assert chained.distinct.tolist() == exact.distinct.tolist()
    assert chained.repeated.tolist() == exact.repeated.tolist()


def test_lost_sums_are_refused_and_so_is_nothing_in_common() -> None:
    whole = cube([[[3, 5, 10, 3, 2, 5]]])
    with pytest.raises(StereogaugeError, match="without their sums"):
        double_counting(replace(whole, sums=np.full_like(whole.sums, np.nan)))
    gap = whole.values.copy()
    gap[0, 0, 0] = np.nan
    with pytest.raises(StereogaugeError, match="No scene has scores"):
        double_counting(replace(whole, values=gap))


def test_a_gap_costs_its_scene_and_is_named() -> None:
    both = cube([[[3, 5, 10, 3, 2, 5]] * 2, [[1, 2, 4, 1, 1, 2]] * 2])
    gap = both.values.copy()
    gap[1, 0, 2] = np.nan
    chained, parted = double_counting(replace(both, values=gap))
    assert chained.distinct.tolist() == parted.distinct.tolist() == [10, 4]
    assert chained.selection is not None
    assert [(what.kind, what.name) for what in chained.selection.dropped] == [("scene", both.scenes[0])]


@pytest.mark.parametrize("metric", ["rms", "density"])
def test_a_metric_that_counts_no_errors_is_refused(metric: str) -> None:
    whole = cube([[[3, 5, 10, 3, 2, 5]]])
    other = replace(whole, columns=tuple(Column(metric, column.region) for column in whole.columns))
    with pytest.raises(StereogaugeError, match="does not count erroneous pixels"):
        double_counting(other, metric)


def test_the_table_has_one_row_an_algorithm() -> None:
    frame = double_counting(cube([[[3, 5, 10, 3, 2, 5]]]))[0].to_pandas()
    assert frame.columns.tolist() == [
        "algorithm",
        "errors disc",
        "errors nonocc",
        "errors all",
        "counted",
        "distinct",
        "repeated",
        "repeated %",
    ]
