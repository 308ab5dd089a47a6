"""From a number to the pixels that it counts, and numbers that can be true, in a real Chromium."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from tests.web.small import MARKUP, PROTOCOL, SHAPE, estimates, serving_store, truth
from tests.web.visitor import BROWSER, Visitor

import stereogauge as sg
from stereogauge import ResultSet, load_dataset, open_store, write_disparity
from stereogauge.evaluation.run import make_plan, run_plan
from stereogauge.store import Store

pytestmark = BROWSER

WIDE = (40, 130)
OTHER = PROTOCOL.replace(
    name="other",
    peak=20.0,
    metrics=["bad@1", "bad@2", "bad@4", "rms", "mae", "bias", "mre", "density", "d1-fg"],
    regions=["nonocc", "all"],
)
MANIFEST = 'name = "wide"\n[paths]\nground_truth = "{scene}/disp.pfm"\nleft = "{scene}/left.png"\n'


def add_wide(folder: Path) -> None:
    """A second dataset, as wide as a road, in the store of the folder, under a protocol of its own."""
    real = np.tile(np.linspace(4, 6, WIDE[1], dtype=np.float32), (WIDE[0], 1))
    (folder / "wide" / "road").mkdir(parents=True)
    write_disparity(folder / "wide" / "road" / "disp.pfm", real)
    cv2.imwrite(str(folder / "wide" / "road" / "left.png"), np.full((*WIDE, 3), 90, np.uint8))
    (folder / "wide" / "stereogauge.toml").write_text(MANIFEST, encoding="utf-8")
    results = []
    for name, error in (("good", 0.3), ("rough", 3.0)):
        path = folder / f"{name}.pfm"
        write_disparity(path, real + np.float32(error))
        results.append(ResultSet(name, {"road": path}))
    with open_store(folder / "scores.sqlite") as store:
        run_plan(make_plan(store, load_dataset("folder", folder / "wide"), results, OTHER), store)


@pytest.fixture(scope="module")
def two_protocols(small_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site with two protocols, each with more columns than a first table shows."""
    folder = tmp_path_factory.mktemp("two")
    shutil.copy(small_store, folder / "scores.sqlite")
    with ThreadPoolExecutor(1) as elsewhere:
        elsewhere.submit(add_wide, folder).result()
    with (
        open_store(folder / "scores.sqlite", read_only=True) as store,
        serving_store(store) as base,
    ):
        yield base


@pytest.fixture
def elsewhere(chromium: Any, two_protocols: str) -> Iterator[Visitor]:
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    one = Visitor(context.new_page(), two_protocols)
    yield one
    assert one.complaints == []
    context.close()


def columns(visitor: Visitor) -> list[str]:
    shown = visitor.page.eval_on_selector_all("#board [data-sort]", "all => all.map(one => one.dataset.sort)")
    return [one for one in shown if ":" in one]


def test_another_protocol_starts_with_everything_that_it_measured(elsewhere: Visitor) -> None:
    visitor = elsewhere.go("#leaderboard?protocol=small&regions=nonocc")
    assert all(one.endswith(":nonocc") for one in columns(visitor))
    visitor.choose("dataset")
    visitor.page.click("#sheet [data-part=dataset] input:not(:checked)")
    visitor.until("!location.hash.includes('regions=')")
    visitor.ready()
    assert "protocol other" in visitor.page.inner_text("#sheet [data-part=dataset]")
    assert len(columns(visitor)) > 8
    assert "Without any score here: D1 outliers, foreground" in visitor.page.inner_text("#content")


def test_a_profile_and_the_model_agree_wherever_it_was_chosen(elsewhere: Visitor) -> None:
    visitor = elsewhere.go("#leaderboard?protocol=small&regions=nonocc&model=extended")
    visitor.page.click("#views >> text=Answer")
    visitor.ready()
    visitor.choose("purpose", "purpose:driver-assistance")
    visitor.page.keyboard.press("Escape")
    visitor.page.click("#views >> text=Leaderboard")
    visitor.ready()
    assert "profile=driver-assistance" in visitor.page.url
    assert "model=extended" not in visitor.page.url
    assert visitor.page.input_value("#model") == "weighted"
    assert "driver assistance" in visitor.page.inner_text("[data-open=purpose]")


def test_rows_follow_a_weight_although_another_metric_has_no_score(elsewhere: Visitor) -> None:
    visitor = elsewhere.go("#leaderboard?protocol=other&regions=nonocc")
    visitor.page.select_option("#model", "weighted")
    visitor.ready()
    visitor.page.click("details.weights summary")
    assert visitor.page.locator("[data-weight='d1-fg']").count() == 0  # nobody said what the foreground is
    assert visitor.wiggle("rms", frames=40) >= 0.7 * 40


def test_wide_panes_stand_below_each_other_at_full_width(elsewhere: Visitor) -> None:
    visitor = elsewhere.go("#scene?scene=road&protocol=other&pane=estimate~good&pane=error~rough")
    first, second = (visitor.page.locator(f"[data-pane='{place}']").bounding_box() for place in (0, 1))
    assert second["y"] >= first["y"] + first["height"]
    assert first["width"] > 0.9 * visitor.page.locator(".panes").bounding_box()["width"]


def expected(costs: np.ndarray, side: int = 8) -> list[tuple[int, int, float]]:
    """(x, y, share) of the blocks of `side` pixels with most of the costs, of blocks side by side only the worst."""
    sums = costs.reshape(SHAPE[0] // side, side, SHAPE[1] // side, side).sum(axis=(1, 3))
    order = np.argsort(-sums, axis=None, kind="stable")
    found: list[tuple[int, int, float]] = []
    for y, x in zip(*np.unravel_index(order, sums.shape), strict=True):
        apart = all(max(abs(x * side - left), abs(y * side - top)) > side for left, top, _ in found)
        if sums[y, x] > 0 and apart:
            found.append((int(x) * side, int(y) * side, float(sums[y, x] / sums.sum())))
    return found[:8]


@pytest.mark.parametrize(("metric", "name"), [("bad@1", "rough"), ("rms", MARKUP)])
def test_the_blocks_of_a_clicked_score_hold_only_pixels_that_it_counts(
    visitor: Visitor, opened: Store, metric: str, name: str
) -> None:
    column = f"{metric}:nonocc".replace("@", "%40").replace(":", "%3A")
    visitor.go(f"#leaderboard?metrics={column}&scenewise=open&column={column}&missing=worst&least_coverage=0.5")
    row = visitor.page.locator("#board tr", has_text=name).first
    row.locator("button.cell[data-scene=alpha]").click()
    visitor.ready()
    visitor.page.wait_for_selector("#blocks li")
    titles = visitor.page.eval_on_selector_all("#blocks li button", "all => all.map(one => one.title)")
    said = [f"{share} {place}" for share, place in zip(visitor.texts("#blocks li"), titles, strict=True)]
    found = [re.fullmatch(r"([\d.]+) % at (\d+), (\d+)", text) for text in said]
    visitor.until("[...document.querySelectorAll('#blocks li img')].slice(0, 3).every(one => one.naturalWidth > 0)")
    mask = sg.regions(opened.scene("small", "alpha"), ["nonocc"], protocol=PROTOCOL)["nonocc"]
    error = np.where(mask, np.abs(estimates(0)[name] - truth(0)), 0.0)
    if metric == "rms":
        assert np.isnan(error).any()  # holes in the region: they are not what a root mean square counts
        costs = np.nan_to_num(error) ** 2
    else:
        costs = (error > 1).astype(float)
    wanted = expected(costs)
    assert len(wanted) > 3
    for line, (_, _, share) in zip(found, wanted, strict=True):
        assert line is not None
        assert float(line.group(1)) == pytest.approx(100 * share, rel=0.01)
        assert mask[int(line.group(3)) :, int(line.group(2)) :][:8, :8].any()
    assert (int(found[0].group(2)), int(found[0].group(3))) == wanted[0][:2]  # type: ignore[union-attr]
    words = f"largest share of {metric} of {name} on pixels not occluded"
    assert words in visitor.page.inner_text("#blocks")
    assert "outside nonocc: not counted" in visitor.page.inner_text("[data-pane='1'] .pane-foot")


def contrast(visitor: Visitor) -> float:
    """The difference in colour between the near box and the background, as the pane shows them."""
    data = np.frombuffer(visitor.page.locator("[data-pane='0'] canvas").screenshot(), np.uint8)
    picture = cv2.imdecode(data, cv2.IMREAD_COLOR).astype(float)
    height, width = picture.shape[:2]
    box, ground = (picture[y * height // SHAPE[0], x * width // SHAPE[1]] for x, y in ((28, 20), (50, 34)))
    return float(np.linalg.norm(box - ground))


def test_the_map_is_still_read_below_an_overlay(visitor: Visitor) -> None:
    visitor.go("#scene?scene=alpha&pane=truth")
    plain = contrast(visitor)
    visitor.go("#scene?scene=alpha&pane=truth&overlay=all")
    covered = contrast(visitor)
    assert plain > 100
    assert 0.5 * plain < covered < plain


def test_numbers_that_can_be_true(visitor: Visitor) -> None:
    def without_doubt(route: Any) -> None:
        answer = route.fetch()
        body = answer.json()
        route.fulfill(response=answer, body=json.dumps({**body, "pair": {**body["pair"], "p_value": 0.0}}))

    visitor.page.route("**/significance?**first=**", without_doubt)
    visitor.go("#compare?regions=all&metrics=rms&first=biased&second=good")
    visitor.page.wait_for_selector("#verdict")
    assert "p < 0.0001" in visitor.page.inner_text("#verdict")
    visitor.page.unroute_all()
    visitor.go("#leaderboard?regions=all&model=extended")
    cells = visitor.texts("#board tr[data-algorithm] td.value")
    least = len(columns(visitor))  # each rank is at least 1
    intervals = [re.fullmatch(r"[\d.]+ ([\d.]+)–([\d.]+)", cell) for cell in cells]
    assert len(intervals) == 5
    for one in intervals:
        assert one is not None
        assert least <= float(one.group(1)) <= float(one.group(2)) <= 5 * least
