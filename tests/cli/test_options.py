"""Options that several commands share."""

from __future__ import annotations

import pytest

from stereogauge.cli.options import listed
from stereogauge.cli.selected import weights
from stereogauge.errors import StereogaugeError


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["bad@1,mae", "rms"], ["bad@1", "mae", "rms"]),
        (["bad@1 mae, rms,"], ["bad@1", "mae", "rms"]),
        (["within@0.1,5,mae"], ["within@0.1,5", "mae"]),
        (["mae,within@1e-3,.5:nonocc,bad@2:all"], ["mae", "within@1e-3,.5:nonocc", "bad@2:all"]),
        (["within@1,2,3 bad@1"], ["within@1,2,3", "bad@1"]),
        (["bad@1,2view"], ["bad@1", "2view"]),
        (["bad@1:all,2"], ["bad@1:all", "2"]),
        (["000001_10,000002_10"], ["000001_10", "000002_10"]),
        (["bad@x,y"], ["bad@x", "y"]),
        (["all,depth@2,30&planar,road"], ["all", "depth@2,30&planar", "road"]),
        (["bad@1:depth@2,30,mae"], ["bad@1:depth@2,30", "mae"]),
        (["planar & textureless all - sky"], ["planar&textureless", "all-sky"]),
        (["depth@2,inf-mask:road"], ["depth@2,inf-mask:road"]),
        (["", ","], []),
    ],
)
def test_commas_and_spaces_separate_names_except_between_the_numbers_of_a_metric(
    values: list[str], names: list[str]
) -> None:
    assert listed(values) == names


def test_nothing_given_is_not_an_empty_list() -> None:
    assert listed(None) is None


def test_weights_may_name_regions_with_numbers() -> None:
    assert weights(["bad@1:depth@2,30=1,d-fat=2", "p-off:depth@2,30&planar=.5"]) == {
        "bad@1:depth@2,30": 1.0,
        "d-fat": 2.0,
        "p-off:depth@2,30&planar": 0.5,
    }
    with pytest.raises(StereogaugeError, match="METRIC=NUMBER"):
        weights(["d-fat,rms=2"])
