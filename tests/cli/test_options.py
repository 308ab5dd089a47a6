"""Options that several commands share."""

from __future__ import annotations

import time

import pytest

import stereogauge as sg
from stereogauge.cli.options import listed
from stereogauge.cli.output import announce_memory, working
from stereogauge.evaluation.progress import TimeLeft
from stereogauge.matching.declaration import matchers
from stereogauge.ranking.profile import parse_weights


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
    assert parse_weights(["bad@1:depth@2,30=1,d-fat=2", "p-off:depth@2,30&planar=.5"]) == {
        "bad@1:depth@2,30": 1.0,
        "d-fat": 2.0,
        "p-off:depth@2,30&planar": 0.5,
    }
    with pytest.raises(sg.StereogaugeError, match="METRIC=NUMBER"):
        parse_weights(["d-fat,rms=2"])


def test_what_takes_longer_than_two_seconds_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stereogauge.evaluation.progress.SHOWN_AFTER", 0.05)
    monkeypatch.setattr("stereogauge.cli.output.LINE_EVERY", 0.05)
    with working("measuring"):
        time.sleep(0.3)
    assert capsys.readouterr().err.startswith("measuring …\nmeasuring … 0 s\n")
    with working("measuring"):
        pass
    assert capsys.readouterr().err == ""


def test_a_step_that_begins_later_is_said_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stereogauge.evaluation.progress.SHOWN_AFTER", 0.05)
    with working("report") as tell:
        tell("tables")
        time.sleep(0.3)
        tell("figure ranks")
        tell("report.html")
    assert capsys.readouterr().err == "tables …\nfigure ranks …\nreport.html …\n"
    with working("report") as tell:
        tell("tables")
    assert capsys.readouterr().err == ""


def test_time_left_is_said_where_it_is_known(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stereogauge.evaluation.progress.SHOWN_AFTER", 0.05)
    monkeypatch.setattr("stereogauge.cli.output.LINE_EVERY", 0.05)
    ahead = TimeLeft()
    ahead.expect({"reading": 10.0, "planes": 90.0})
    with working("measuring mine", ahead):
        with ahead("reading"):
            time.sleep(0.2)
        with ahead("planes"):
            time.sleep(0.2)
    lines = capsys.readouterr().err.splitlines()
    assert "measuring mine (reading): 0%, about 100 s left" in lines
    left = [float(line.split()[-3]) for line in lines if line.startswith("measuring mine (planes):")]
    # Reading took a fraction of what is usual, which counts as much as the tenth that is taken for granted: 90 s / 2.
    assert left
    assert all(44 < seconds < 60 for seconds in left)


def test_much_memory_is_said_beforehand(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stereogauge.evaluation.memory.free_memory", lambda: 12 * 2**30)
    sgbm = matchers()["opencv-sgbm"]
    assert sgbm.memory is not None
    needed = {
        mode: sgbm.memory(3000, 4000, 400, **{**sgbm.complete({}), "mode": mode, "full_width": False})
        for mode in ("hh", "3way")
    }
    assert 19.1e9 < needed["hh"] < 19.3e9
    announce_memory(needed["3way"], "opencv-sgbm")
    assert capsys.readouterr().err == ""
    announce_memory(needed["hh"], "opencv-sgbm")
    told = capsys.readouterr().err
    assert told.startswith("note: opencv-sgbm needs about 17.9 GiB of memory; 12.0 GiB are free, so that")
