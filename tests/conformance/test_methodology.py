"""The arithmetic of the papers' own tables, with their slips."""

from __future__ import annotations

import numpy as np
import pytest

from stereogauge import StereogaugeError
from stereogauge.ranking.ranks import final_ranks
from stereogauge.ranking.relations import nested, partition

# Cabezas et al., Sigma-Z-Error, table 5: average rank and rank by SZE, then by BMP, of 15 algorithms in 12 columns.
TABLE_5 = """
GC+SegmBorder 1.17 1 9.58 11
SubPixDoubleBP 5.25 2 8.50 9
CoopRegion 5.92 3 5.33 3
SurfaceStereo 7.00 4 8.00 8
FeatureGC 7.67 5 8.75 10
CostFilter 7.83 6 11.25 15
ObjectStereo 8.08 7 7.92 7
AdaptingBP 8.42 8 4.83 2
Undr+OvrSeg 8.50 9 10.08 13
DoubleBP 8.83 10 6.33 4
WarpMat 9.75 11 9.75 12
GlobalGCP 9.83 12 10.92 14
OutlierConf 10.00 13 7.25 5
RDP 10.42 14 7.42 6
ADCensus 11.33 15 4.08 1
"""
NUMBERS = np.array([row.split()[1:] for row in TABLE_5.split("\n") if row], np.float64)
COLUMNS = 12

# Cabezas et al., An evaluation methodology, table 1: errors on Venus by region.
ALGORITHMS = ("AdaptingBP", "CoopRegion", "SurfaceStereo", "ADCensus", "WarpMat")
CONVENTIONAL = np.array([[152, 162, 275, 121, 257], [152, 163, 275, 129, 267], [319, 310, 418, 382, 367]]).T
CONVENTIONAL_TOTAL = [623, 635, 968, 632, 891]
INTRODUCED = np.array([[152, 162, 275, 121, 257], [0, 1, 0, 8, 10], [197, 147, 143, 253, 100]]).T
INTRODUCED_TOTAL = [319, 310, 418, 382, 367]


@pytest.mark.parametrize(("metric", "average", "place"), [("SZE", 0, 1), ("BMP", 2, 3)])
class TestAverageRanks:
    def test_they_are_integers_over_twelve(self, metric: str, average: int, place: int) -> None:
        sums = NUMBERS[:, average] * COLUMNS
        assert np.abs(sums - np.rint(sums)).max() <= 0.005 * COLUMNS + 1e-9

    def test_they_sum_to_1440_twelfths(self, metric: str, average: int, place: int) -> None:
        assert np.rint(NUMBERS[:, average] * COLUMNS).sum() == 1440 == COLUMNS * sum(range(1, 16))

    def test_sorting_them_gives_the_printed_places(self, metric: str, average: int, place: int) -> None:
        assert final_ranks(NUMBERS[:, average]).tolist() == NUMBERS[:, place].astype(int).tolist()


def test_conventional_regions_are_nested_and_count_errors_repeatedly() -> None:
    found = nested(ALGORITHMS, ("disc", "nonocc", "all"), CONVENTIONAL)
    assert found.counted.tolist() == CONVENTIONAL_TOTAL
    assert found.distinct.tolist() == INTRODUCED_TOTAL
    assert np.round(found.repeated_share, 1).tolist() == [47.6, 52.6, 65.8, 33.8, 72.8]


def test_introduced_regions_add_up_for_all_but_one_column() -> None:
    sums = INTRODUCED.sum(axis=1)
    agrees = dict(zip(ALGORITHMS, sums == INTRODUCED_TOTAL, strict=True))
    assert [name for name, right in agrees.items() if not right] == ["AdaptingBP"]


def test_the_occluded_entry_of_adapting_bp_must_be_167_instead_of_197() -> None:
    with pytest.raises(StereogaugeError, match="AdaptingBP: their errors add up to 349, the union has 319"):
        partition(ALGORITHMS, ("boundary", "interior", "occluded"), INTRODUCED, np.array(INTRODUCED_TOTAL))
    corrected = INTRODUCED.copy()
    corrected[0, 2] = 167
    found = partition(ALGORITHMS, ("boundary", "interior", "occluded"), corrected, np.array(INTRODUCED_TOTAL))
    assert found.counted.tolist() == INTRODUCED_TOTAL
    assert not found.repeated.any()


def test_introduced_regions_are_the_differences_of_the_conventional_ones() -> None:
    disc, nonocc, everything = CONVENTIONAL.T
    assert INTRODUCED[:, 0].tolist() == disc.tolist()
    assert INTRODUCED[:, 1].tolist() == (nonocc - disc).tolist()
    assert (everything - nonocc).tolist() == [167, 147, 143, 253, 100]
