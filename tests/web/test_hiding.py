"""What scores and pictures tell about hidden ground truth: the attack that read it out, and the stated bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.web import uploads
from tests.web.small import PROTOCOL, SHAPE, estimates, serving, serving_store, truth, write_dataset, write_results
from tests.web.submitters import RULES, SameProcess
from tests.web.test_submissions import benchmark_at

import stereogauge as sg
from stereogauge import open_store, read_disparity, write_disparity
from stereogauge.evaluation.run import make_plan, run_plan
from stereogauge.scores.cube import ScoreCube
from stereogauge.store import Store
from stereogauge.web.app import create_app
from stereogauge.web.hiding import Hidden, most_bits, supported
from stereogauge.web.site import Site
from stereogauge.web.source import StoreSource

HIDDEN = Hidden(["beta"])
STEP = 3.0
PROBED = 60


@pytest.fixture(scope="module")
def two_hidden(opened: Store) -> Iterator[httpx.Client]:
    with (
        serving_store(opened, Hidden(["beta", "gamma"])) as base,
        httpx.Client(base_url=f"{base}/api/v1/", timeout=60) as one,
    ):
        yield one


def probed(scene: sg.Scene, published: Hidden) -> int:
    """How many hidden disparities an attacker reads from pairs of scores: the squares of two errors, e and e + STEP.

    Of maps that differ by STEP in one pixel, n (rms₂² − rms₁²) = 2 e STEP + STEP², which gives e.
    """
    real = truth(1)
    base = np.full(SHAPE, 6.0, np.float32)
    places = np.argwhere(np.isfinite(real))[:: real.size // PROBED][:PROBED]
    maps = {"base": base}
    for number, (y, x) in enumerate(places):
        maps[f"probe {number}"] = base.copy()
        maps[f"probe {number}"][y, x] += STEP
    table = sg.evaluate({name: {"beta": values} for name, values in maps.items()}, scene, ["rms"], ["all"], PROTOCOL)
    cube = published.rounded(ScoreCube.of(table))
    square = dict(zip(cube.algorithms, cube.values[:, 0, 0] ** 2, strict=True))
    pixels = np.isfinite(real).sum()
    found = 0
    for number, (y, x) in enumerate(places):
        error = (pixels * (square[f"probe {number}"] - square["base"]) - STEP**2) / (2 * STEP)
        found += abs(base[y, x] - error - real[y, x]) < 0.25
    return found


def test_pairs_of_scores_tell_no_hidden_disparity(opened: Store) -> None:
    scene = opened.scene("small", "beta")
    assert probed(scene, Hidden()) == PROBED  # what scores with all their digits would tell
    assert probed(scene, HIDDEN) <= PROBED // 20


def test_an_error_that_nearly_cancels_tells_no_hidden_disparity(opened: Store) -> None:
    """A map whose signed errors sum to nearly 0, and the same one without a pixel: the sum is that pixel's error."""
    scene, real = opened.scene("small", "beta"), truth(1)
    base = np.full(SHAPE, np.float32(np.nanmean(real)), np.float32)
    places = np.argwhere(np.isfinite(real))[::250][:8]
    maps = {"base": base, **{f"probe {number}": base.copy() for number in range(len(places))}}
    for number, (y, x) in enumerate(places):
        maps[f"probe {number}"][y, x] = np.nan
    given = {name: {"beta": values} for name, values in maps.items()}
    table = sg.evaluate(given, scene, ["bias"], ["all"], PROTOCOL)

    def read(cube: ScoreCube) -> int:
        assert cube.sums is not None
        assert cube.counts is not None
        sums = [cube.values[:, 0, 0] * cube.counts[:, 0, 0], cube.sums[:, 0, 0]]
        found = 0
        for number, (y, x) in enumerate(places):
            guesses = [base[y, x] - (whole[0] - whole[number + 1]) for whole in sums]
            found += min(abs(guess - real[y, x]) for guess in guesses) < 0.25
        return found

    assert read(ScoreCube.of(table)) == len(places)
    hidden = HIDDEN.rounded(ScoreCube.of(table))
    assert read(hidden) <= 1
    assert len(np.unique(hidden.counts)) == 1


def test_values_outside_of_the_search_range_are_clipped_before_scoring(small_store: Path, tmp_path: Path) -> None:
    """Pairs of maps with one pixel far outside made its true disparity stand out from all other errors."""
    real, base = truth(1), np.full(SHAPE, 6.0, np.float32)
    places = [(12, 12), (15, 30), (30, 40)]
    with benchmark_at(small_store, tmp_path, RULES, SameProcess) as one:
        for y, x in places:
            read = []
            for value in (215.0, -215.0):
                probe = base.copy()
                probe[y, x] = value
                files = {**uploads.maps(), "beta.pfm": uploads.pfm(probe)}
                done = one.outcome(uploads.zipped(files), "probe")
                assert done["state"] == "done", done
                assert any("1 values outside of 0 … 24 px are clipped" in one["sentence"] for one in done["findings"])
                kept = read_disparity(one.taken.folder / done["id"] / "maps" / "beta.pfm")
                assert kept.min() >= 0
                assert kept.max() <= 24
                asked = {"submission": done["id"], "scenes": "beta", "metrics": "rms", "regions": "all"}
                scores = one.call("GET", "table", params=asked).json()
                read.append(scores["values"][scores["algorithms"].index("probe")][0])
            pixels = np.isfinite(real).sum()
            guess = -(pixels * (read[0] ** 2 - read[1] ** 2)) / (4 * 215.0)
            assert abs(guess - real[y, x]) > 0.25


def test_a_score_of_few_chosen_pixels_is_withheld(opened: Store) -> None:
    few = np.full(SHAPE, np.nan, np.float32)
    few[20, 20] = 5.0
    scene = opened.scene("small", "beta")
    table = sg.evaluate({"few": {"beta": few}}, scene, ["rms", "bad@1"], ["all"], PROTOCOL)
    assert np.isfinite(ScoreCube.of(table).values).any()
    assert np.isnan(HIDDEN.rounded(ScoreCube.of(table)).values).all()


def test_digits_follow_the_number_of_pixels() -> None:
    values = np.full(4, 0.123456789)
    assert supported(values, np.array([10.0, 1e4, 1e6, 1e9])).tolist() == [0.12, 0.12, 0.123, 0.1235]
    odd = np.array([np.nan, 0.0, -4.5678, 1e-9, 0.00234, 1e12])
    np.testing.assert_array_equal(supported(odd, np.full(6, 1e6)), [np.nan, 0.0, -4.57, 0.0, 0.002, 1e6])


def test_no_answer_has_more_digits_of_a_hidden_scene(client: httpx.Client) -> None:
    """Means with the public scenes give the hidden value back, rounded."""
    params = {"metrics": "rms", "regions": "all", "algorithms": ["good", "rough"]}
    alone = client.get("table", params={**params, "scenes": "beta"}).json()["values"]
    for (value,) in alone:
        assert value == float(f"{value:.2g}")
    all_scenes = client.get("table", params={**params, "aggregation": "pooled"}).json()["values"]
    assert all(math.isfinite(value) for (value,) in all_scenes)


def test_hidden_scenes_are_shown_together_only(two_hidden: httpx.Client) -> None:
    assert two_hidden.get("rank", params={"scenes": "beta"}).status_code == 403
    assert two_hidden.get("table", params={"scenes": ["alpha", "gamma"]}).status_code == 403
    assert two_hidden.get("rank", params={"scenes": ["beta", "gamma"]}).status_code == 200
    listed = two_hidden.get("table", params={"column": "rms:all"}).json()["scene_column"]["values"]
    assert all(row[1] is None and row[2] is None for row in listed)
    assert any(row[0] is not None for row in listed)
    pair = two_hidden.get("significance", params={"first": "good", "second": "rough"}).json()["pair"]
    assert [row["first"] is None for row in pair["scenes"]] == [False, True, True]
    plot = two_hidden.get("correlation", params={"scatter": "rms:all~bad@1:all"}).json()["scatter"][0]
    assert all(row[1] is None and row[2] is None for row in plot["x_values"])
    marked = two_hidden.get("histogram", params={"metric": "rms:all", "mark": "good"}).json()["marked"]["good"]
    assert sum(value is not None for value in marked) == 1


def test_an_order_compares_hidden_scenes_together_only(two_hidden: httpx.Client) -> None:
    """Whoever lacks one of them is left out, so that the scores of the compared scenes can be shown."""
    params: dict[str, list[str]] = {"regions": ["all"], "metrics": ["bad@1", "rms"]}
    order = two_hidden.get("rank", params={**params, "model": "weighted"}).json()
    assert order["scene_names"] == ["alpha", "beta", "gamma"]
    (left_out,) = (one for one in order["dropped"] if "hidden scene" in one["reason"])
    assert left_out["name"] not in [row["algorithm"] for row in order["rows"]]
    table = two_hidden.get("table", params={**params, "scenes": order["scene_names"]}).json()
    assert [left_out["name"]] in [one["algorithms"] for one in table["lacking"]]
    ranked = [table["algorithms"].index(row["algorithm"]) for row in order["rows"]]
    assert len(ranked) > 2
    assert not any(table["gaps"][row][column] for row in ranked for column in range(2))
    tested = two_hidden.get("significance", params=params).json()["algorithms"]
    assert left_out["name"] not in tested


def test_choosing_blocks_of_published_maps_needs_the_maps(two_hidden: httpx.Client) -> None:
    """The best map per block cannot be put together: neither are errors shown by block, nor are maps exact."""
    params = {"algorithm": "good"}
    assert two_hidden.get("scenes/beta/layers/error.png", params=params).status_code == 403
    assert "error" not in two_hidden.get("scenes/beta/about").json()["layers"]
    exact = estimates(1)["good"]
    shown = [
        two_hidden.get("scenes/beta/pixel", params={"x": x, "y": 20, "algorithms": "good"}).json()["estimates"][0]
        for x in range(8, 16)
    ]
    assert len({one["disparity"] for one in shown}) == 1
    assert len(set(exact[20, 8:16].tolist())) == 8


def test_the_stated_bound_counts_every_number_that_leaves_the_server() -> None:
    # 15 scenes, 12 columns, 10 submissions per day: the example of docs/guide/hosting.md
    assert most_bits(1, 12, 15) == pytest.approx(15 * (48 * math.log2(128_002) + 4))
    assert most_bits(10, 12, 15) == 10 * most_bits(1, 12, 15)
    assert most_bits(10, 12, 15) < 0.001 * 15 * 1_500_000 * 6  # of 6 bits for each of 1.5 million pixels per scene


def test_explanations_tell_hidden_scenes_apart_nowhere(two_hidden: httpx.Client) -> None:
    """Neither in numbers nor in words such as "most on beta", which would tell the order of the scenes."""
    for asked in ("explain?first=good&second=rough", "explain?first=good&second=biased&profile=balanced"):
        answer = two_hidden.get(asked)
        assert answer.status_code == 200, answer.text
        assert "beta" not in answer.text, asked
        assert "gamma" not in answer.text, asked
        assert [piece["name"] for piece in answer.json()["scenes"]] == ["alpha", "hidden scenes"]


@pytest.mark.parametrize(
    "asked",
    [
        "scenes/beta/objects?algorithms=good",
        "scenes/beta/contrast?first=good&second=rough&column=bad@1:all",
        "scenes/beta/blocks?algorithm=good",
        "scenes/beta/cloud",
        "scenes/beta/layers/hard.png?metric=bad@1:all",
        "scenes/beta/layers/contrast.png?algorithm=good&other=rough&metric=bad@1:all",
        "scenes/beta/layers/closer?algorithm=good&other=rough&metric=bad@1:all",
        "scenes/beta/layers/set?region=planes",
        "confidence?scene=beta",
        "explain?first=good&second=rough&scenes=beta",
        "answer?scenes=gamma",
        "density?scenes=beta",
    ],
)
@pytest.mark.parametrize("condition", [{}, {"If-None-Match": "*"}, {"Range": "bytes=0-99"}])
def test_every_way_to_a_hidden_scene_is_closed(two_hidden: httpx.Client, asked: str, condition: dict[str, str]) -> None:
    refused = two_hidden.get(asked, headers=condition)
    assert refused.status_code == 403
    assert "etag" not in refused.headers


ASKED = ("rank", "rank.csv", "table", "significance", "correlation", "histogram?metric=rms:all", "stability", "shapes",
         "answer?profile=balanced", "explain?first=good&second=rough", "density", "scope", "catalogue", "datasets",
         "scenes", "algorithms", "health", "confidence", "rank?draws=50", "rank?model=extended", "rank?scenes=beta",
         "table?scenes=beta", "table?column=rms:all", "answer?scenes=beta", "scenes/beta/about",
         "scenes/beta/pixel?x=9&y=9&algorithms=good", "scenes/beta/layers/left.png", "scenes/beta/layers/truth.png",
         "scenes/beta/blocks?algorithm=good", "scenes/beta/layers/estimate.png?algorithm=good", "scenes/beta/cloud",
         "scenes/beta/layers/estimate?algorithm=good", "scenes/beta/layers/estimate.csv?algorithm=good",
         "scenes/beta/cloud?algorithm=good", "scenes/beta/objects?algorithms=good")  # fmt: skip


def test_servers_that_differ_in_hidden_truth_alone_answer_alike(tmp_path: Path) -> None:
    """Where the rounded scores are the same, no byte of any answer tells one hidden truth from another."""
    answers, cubes = [], []
    for name, noise in (("first", 0.0), ("second", 0.0005)):
        dataset, results = write_dataset(tmp_path / name / "data"), write_results(tmp_path / name / "results")
        other = truth(1) + np.random.default_rng(3).uniform(-noise, noise, SHAPE).astype(np.float32)
        write_disparity(tmp_path / name / "data" / "beta" / "disp.pfm", other)
        with open_store(tmp_path / name / "small.sqlite") as store:
            run_plan(make_plan(store, dataset, results, PROTOCOL), store)
            site = Site(StoreSource(store), HIDDEN)
            with serving(create_app(site)) as base, httpx.Client(base_url=f"{base}/api/v1/", timeout=60) as client:
                answers.append({asked: client.get(asked).content for asked in ASKED})
            cubes.append(store.cube())
    first, second = answers
    assert not np.array_equal(cubes[0].values, cubes[1].values, equal_nan=True)
    np.testing.assert_array_equal(HIDDEN.rounded(cubes[0]).values, HIDDEN.rounded(cubes[1]).values)
    assert [asked for asked in ASKED if first[asked] != second[asked]] == []
