"""Leaving out never wins: an adversary who knows the truth and deletes the worst gains by no profile or model."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pandas
import pytest
from numpy.typing import NDArray
from tests.metrics.test_deletions import damaged, synthetic

import stereogauge as sg
from stereogauge import open_store
from stereogauge.ranking.profile import load_profile, shipped_profiles
from stereogauge.scores.aggregation import charged
from stereogauge.web.scores.rankings import rank_answer
from stereogauge.web.scores.reader import ScoreReader
from stereogauge.web.selection import SelectionQuery
from stereogauge.web.source import StoreSource

SHARES = (1, 5, 9.5, 20, 50)
TERMS = tuple(dict.fromkeys(term for name in shipped_profiles() for term in load_profile(name).weights))
OTHERS = ("mae", "mre", "bias", "p-bump-rel", "bad-valid@1", "z-mae", "z-abs-rel", "d-fuz", "mse-100")
WITHOUT_SUMS = ("quantile@50", "quantile@95", "quantile-100@25", "psnr")
METRICS = (*TERMS, *OTHERS, *WITHOUT_SUMS)


@functools.cache
def scene() -> sg.Scene:
    return synthetic(more=False).scene


def without_worst(estimate: NDArray[np.float32], percent: float) -> NDArray[np.float32]:
    """The map without its worst pixels."""
    error = np.nan_to_num(np.abs(estimate - scene().gt))
    limit = np.quantile(error, 1 - percent / 100)
    return np.where(error > limit, np.float32(np.nan), estimate)


@functools.cache
def scores(percent: float) -> sg.ScoreTable:
    """Two honest maps and one that leaves out its worst pixels; all estimates are inside the scene's range."""
    truth = scene().gt
    it = damaged(truth, 1)
    better = np.clip(truth + 0.7 * (it - truth), truth.min(), truth.max()).astype(np.float32)
    maps = {"it": without_worst(it, percent) if percent else it, "better": better, "worse": damaged(truth, 9)}
    return sg.evaluate(maps, [scene()], METRICS, ["all"], protocol="hci")


@pytest.mark.parametrize("percent", SHARES)
def test_no_profile_scores_it_better(percent: float) -> None:
    for profile in shipped_profiles():
        whole, cut = (sg.rank(scores(p), "weighted", profile=profile) for p in (0, percent))
        was, now = (float(r.value[r.algorithms.index("it")]) for r in (whole, cut))
        assert now >= was - 1e-12, f"{profile}: {was} → {now}"
        assert cut.rank[cut.algorithms.index("it")] >= whole.rank[whole.algorithms.index("it")]


@pytest.mark.parametrize("percent", SHARES)
def test_no_model_places_it_better(percent: float) -> None:
    for model, chosen in [("extended", None), ("a-star", None), *(("middlebury", [name]) for name in METRICS)]:
        whole, cut = (sg.rank(scores(p), model, metrics=chosen) for p in (0, percent))
        was, now = (int(r.rank[r.algorithms.index("it")]) for r in (whole, cut))
        assert now >= was, f"{model} {chosen}: place {was} → {now}"


@pytest.mark.parametrize("percent", SHARES)
def test_no_charged_score_improves(percent: float) -> None:
    before, after = (charged(scores(p).cube) for p in (0, percent))
    for place, column in enumerate(before.columns):
        was, now = (cube.values[cube.algorithms.index("it"), 0, place] for cube in (before, after))
        was, now = (-was, -now) if column.declared.metric.direction == "higher" else (abs(was), abs(now))
        assert not now < was - 1e-9, f"{column}: {was} → {now}"


def test_uncharged_it_would_win_and_the_order_says_so() -> None:
    """Without the charge the same deletion gains, and both orders mention the other."""
    plain = {p: sg.rank(scores(p), "middlebury", metrics=["rms"], missing_pixels="left out") for p in (0, 9.5)}
    places = {p: int(r.rank[r.algorithms.index("it")]) for p, r in plain.items()}
    assert places[9.5] < places[0]
    assert any("would change if they were charged" in note for note in plain[9.5].notes)
    fair = sg.rank(scores(9.5), "middlebury", metrics=["rms"])
    assert any("would change if they were left out" in note for note in fair.notes)
    assert (plain[9.5].changed_if, fair.changed_if) == ("charged", "left out")


def test_the_site_offers_the_other_order(tmp_path: Path) -> None:
    """The answer names the rule under which the order changes, and gives that order and its intervals on request."""
    tables = [scores(9.5).to_pandas().assign(scene=name) for name in ("first", "second")]
    with open_store(tmp_path / "scores.sqlite") as store:
        store.write(sg.ScoreTable.from_pandas(pandas.concat(tables)))
        reader = ScoreReader(StoreSource(store))
        query = SelectionQuery(metrics=("rms",))
        fair = rank_answer(reader, query, "middlebury", {})
        assert (fair["missing_pixels"], fair["changed_if"]) == ("charged", "left out")
        other = rank_answer(reader, query, "middlebury", {}, fair["changed_if"], draws=50)
        assert (other["missing_pixels"], other["changed_if"]) == ("left out", "charged")
    assert fair["rows"][0]["algorithm"] == "better"
    assert other["rows"][0]["algorithm"] == "it"
    assert {one["algorithm"]: one["first"] for one in other["intervals"]}["it"] == 1


def test_the_charge_does_not_depend_on_who_else_is_compared() -> None:
    """Adding the last-placed algorithm swaps no two others."""
    everybody = sg.rank(scores(20), "weighted", profile="balanced")
    last = everybody.algorithms[-1]
    kept = [name for name in everybody.algorithms if name != last]
    fewer = sg.rank(scores(20), "weighted", profile="balanced", algorithms=kept)
    assert list(fewer.algorithms) == kept
    assert fewer.value.tolist() == everybody.value[:-1].tolist()
