"""Manners of the page that a visitor notices when they are missing, in a real Chromium."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.web.small import serving_store
from tests.web.visitor import BROWSER, PULL, Visitor

from stereogauge import open_store
from stereogauge.store import Store

pytestmark = BROWSER
WATCH_ROWS = """() => {
  globalThis.rowsMoved = 0;
  const watch = new MutationObserver((changes) => { rowsMoved += changes.length; });
  watch.observe(document.querySelector("#board tbody"), { childList: true });
}"""
AS_SEEN = """() => [...document.querySelectorAll("#board tr[data-algorithm]")]
  .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
  .map((row) => [row.dataset.algorithm, ...["td.pin0", "td.value"].map((cell) => row.querySelector(cell).innerText)])
  .map(([name, rank, value]) => [name, rank.split(" ")[0], value.split(" ")[0]])"""


def test_the_skip_link_leads_to_the_content_and_keeps_the_weights(visitor: Visitor) -> None:
    visitor.go("#leaderboard?regions=all&metrics=rms&metrics=bad%401&weights=rms%3D3&weights=bad%401%3D1")
    before = visitor.page.url
    visitor.page.focus(".skip")
    visitor.page.keyboard.press("Enter")
    assert visitor.page.url == before
    assert visitor.page.evaluate("document.activeElement.id") == "content"


def test_the_inspector_stays_after_wheel_pan_and_keys(visitor: Visitor) -> None:
    visitor.go("#scene?scene=alpha&pane=estimate~good&pane=error~rough")
    visitor.page.focus("[data-pane='0'] canvas")
    visitor.page.keyboard.press("+")
    visitor.page.wait_for_selector("#inspector table")
    pixel = visitor.page.get_attribute("#inspector", "data-pixel")
    visitor.until("location.hash.includes('at=')")
    visitor.ready()
    assert visitor.page.get_attribute("#inspector", "data-pixel") == pixel
    assert visitor.page.locator("#inspector tbody tr").count() == 3


def test_the_wheel_scrolls_the_page_over_a_pane_that_is_not_in_use(visitor: Visitor) -> None:
    visitor.page.set_viewport_size({"width": 1000, "height": 400})
    visitor.go("#scene?scene=alpha")
    box = visitor.page.locator("[data-pane='0'] canvas").bounding_box()
    visitor.page.mouse.move(box["x"] + 20, box["y"] + 20)
    visitor.page.mouse.wheel(0, 200)
    visitor.until("scrollY > 100")
    assert "at=" not in visitor.page.url


def test_a_hover_text_gives_the_share_that_is_covered_once(visitor: Visitor) -> None:
    visitor.go("#leaderboard?regions=all&metrics=rms&algorithms=good&algorithms=partial&missing=worst")
    table = visitor.ask("table", "regions=all&metrics=rms&algorithms=good")
    visitor.page.hover("#board tr[data-algorithm=good] td[data-cell]")
    visitor.page.wait_for_selector(".hover-card img")  # the errors, as a picture
    title = visitor.page.inner_text(".hover-card")
    assert not re.search(r"\d\.\d{8}", title)
    assert f"covers {100 * table['coverage'][0][0]:.3g}" in title
    assert f"{table['counts'][0][0]:.0f}pixels" in re.sub(r"\s", "", title)


def test_a_gap_does_not_empty_the_board(visitor: Visitor) -> None:
    visitor.go("#leaderboard?regions=all&metrics=rms&algorithms=good&algorithms=partial")
    assert visitor.algorithms() == ["good", "partial"]
    common = visitor.ask("table", "regions=all&metrics=rms&algorithms=good&scenes=alpha&scenes=beta")["values"][0][0]
    shown = visitor.page.locator("#board tr[data-algorithm=good] td").nth(3)
    assert float(shown.inner_text()) == pytest.approx(common, rel=0.01)
    text = visitor.page.inner_text("#lacking")
    assert text.startswith("Compared on 2 of 3 scenes, which all ranked algorithms have: alpha, beta.")
    assert "partial on gamma" in text


def test_the_interval_of_a_group_is_not_printed_as_one_of_dominators(visitor: Visitor) -> None:
    visitor.go("#leaderboard?regions=all&model=a-star&missing=drop-algorithm")
    titles = visitor.page.eval_on_selector_all("#board td.value", "all => all.map(one => one.title)")
    intervals = [line for title in titles for line in title.splitlines() if "interval" in line]
    assert intervals
    assert all(line.startswith("group") for line in intervals)


def test_the_old_picture_is_dimmed_until_the_new_one_is_there(visitor: Visitor) -> None:
    visitor.go("#scene?scene=alpha&pane=estimate~good")
    held: list[Any] = []
    visitor.page.route("**/layers/**algorithm=rough**", lambda route: held.append(route))
    visitor.page.select_option("[data-pane='0'] [data-role=algorithm]", "rough")
    visitor.page.wait_for_selector("[data-pane='0'].loading")
    assert float(visitor.page.eval_on_selector("[data-pane='0'] canvas", "one => getComputedStyle(one).opacity")) < 0.5
    end = time.monotonic() + 60
    while len(held) < 2 and time.monotonic() < end:
        visitor.page.wait_for_timeout(30)
    for route in held:
        route.continue_()
    visitor.ready()
    assert visitor.page.locator("[data-pane].loading").count() == 0
    visitor.page.unroute_all()


def test_the_test_of_differences_is_about_the_score_of_the_ranking(visitor: Visitor) -> None:
    asked: list[str] = []
    visitor.page.on("request", lambda one: asked.append(one.url) if "significance" in one.url else None)
    visitor.go("#leaderboard?regions=all&weights=rms%3D1&weights=bad%401%3D1")
    visitor.page.wait_for_selector("#content .beside h2")
    assert asked
    assert all("weights=rms%3D1" in url and "weights=bad%401%3D1" in url for url in asked)
    assert "of the weighted score" in visitor.page.inner_text("#content .beside h2")


def test_names_of_scenes_wrap(visitor: Visitor) -> None:
    for width in (1400, 390):
        visitor.page.set_viewport_size({"width": width, "height": 900})
        visitor.go("#leaderboard?regions=all&metrics=rms")
        visitor.page.wait_for_selector("#content .links a")
        links = "[...document.querySelectorAll('#content .links a')]"
        long = "{const all = %s; for (const one of all) one.textContent = 'a-scene-with-a-long-name '.repeat(9)}"
        visitor.page.evaluate(f"() => {long % links}")
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width


def test_head_to_head_names_the_winner_first(visitor: Visitor) -> None:
    visitor.go("#compare?regions=all&metrics=rms&first=biased&second=good&duel=rms%3Aall")
    visitor.page.wait_for_selector("#verdict")
    text = visitor.page.inner_text("#verdict")
    assert text.startswith("good beats biased on the rms:all with probability 1.00")
    assert "3 won, 0 lost" in text


def test_swipe_keeps_both_maps_at_hand_and_its_position_in_the_address(visitor: Visitor) -> None:
    visitor.go("#scene?scene=alpha&pane=estimate~good&pane=estimate~rough&swipe=0.25")
    choices = visitor.page.locator("[data-pane='0'] [data-role=algorithm]")
    assert choices.count() == 2
    visitor.page.focus("[data-pane='0'] canvas")
    visitor.page.keyboard.press("]")
    visitor.until("location.hash.includes('swipe=0.300')")
    visitor.page.wait_for_selector("#inspector table")
    rows = visitor.texts("#inspector tbody tr td:first-child")
    assert any("good" in row for row in rows)
    assert any("rough" in row for row in rows)
    choices.nth(1).select_option("biased")
    visitor.ready()
    assert "pane=estimate%7Ebiased" in visitor.page.url or "pane=estimate~biased" in visitor.page.url


def test_a_clicked_score_takes_its_column_to_the_pixels_that_it_counts(visitor: Visitor) -> None:
    visitor.go("#leaderboard?metrics=bad%401&regions=nonocc&scenewise=open&column=bad%401%3Anonocc&missing=worst")
    cell = visitor.page.locator("#board tr[data-algorithm=rough] button.cell[data-scene=alpha]")
    shown = cell.inner_text()
    cell.click()
    visitor.ready()
    visitor.page.wait_for_selector("#carried [data-carried]")
    text = visitor.page.inner_text("#carried")
    assert text.startswith("bad@1:nonocc of rough: ")
    assert shown in text
    assert "rank" in text
    assert visitor.page.locator("[data-pane='1']").get_attribute("data-loaded").find("region=nonocc") > 0
    assert "outside nonocc: not counted" in visitor.page.inner_text("[data-pane='1'] .pane-foot")


def test_a_model_without_weights_is_asked_for_without_them(visitor: Visitor) -> None:
    asked: list[str] = []
    visitor.page.on("request", lambda one: asked.append(one.url) if "rank?" in one.url else None)
    visitor.go("#leaderboard?regions=all&weights=rms%3D1")
    visitor.page.select_option("#model", "extended")
    visitor.ready()
    assert "model=extended" in visitor.page.url
    assert not any("weights" in url for url in asked if "extended" in url)
    visitor.go("#leaderboard?regions=all&weights=rms%3D1")
    assert visitor.page.input_value("#model") == "weighted"


def test_rows_follow_the_weights_frame_by_frame(visitor: Visitor) -> None:
    weights = "weights=rms%3D1&weights=bad%401%3D1&weights=bad%402%3D1"
    visitor.go(f"#leaderboard?regions=all&metrics=rms&metrics=bad%401&metrics=bad%402&missing=drop-algorithm&{weights}")
    drawn = visitor.page.inner_html("#board")
    assert visitor.wiggle("rms", frames=40) >= 0.7 * 40
    visitor.page.evaluate(WATCH_ROWS)
    with visitor.holding("rms") as slider:
        slider.evaluate(PULL, 100)
        visitor.page.wait_for_selector("#board table[data-following]")
        followed = visitor.page.evaluate(AS_SEEN)
        # Rows that change their place in the document are laid out again with all their cells, which takes a frame.
        assert visitor.page.evaluate("rowsMoved") == 0
    assert visitor.page.locator("#board table[data-following]").count() == 0
    rested, address = visitor.page.inner_html("#board"), visitor.page.url
    assert visitor.page.evaluate(AS_SEEN) == followed
    assert [name for name, *_ in followed] == visitor.algorithms()
    with visitor.holding("rms") as slider:
        for value in (30, 100):
            slider.evaluate(PULL, value)
    assert visitor.page.url == address
    assert visitor.page.inner_html("#board") == rested
    visitor.page.reload()
    visitor.ready()
    assert visitor.page.inner_html("#board") == rested
    assert rested != drawn


@pytest.fixture(scope="module")
def imported(opened: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site whose scores came from a CSV file: no protocol's text, no files."""
    folder: Path = tmp_path_factory.mktemp("imported")

    def make() -> Store:
        opened.export_csv(folder / "scores.csv")
        store = open_store(folder / "imported.sqlite")
        store.import_csv(folder / "scores.csv")
        return store

    with ThreadPoolExecutor(1) as elsewhere:
        store = elsewhere.submit(make).result()
    with store, serving_store(store) as base:
        yield base


def test_imported_scores_are_shown_and_their_scenes_say_why_not(chromium: Any, imported: str) -> None:
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    visitor = Visitor(context.new_page(), imported)
    visitor.go("#leaderboard?regions=all")
    assert "good" in visitor.algorithms()
    answer = httpx.get(f"{imported}/api/v1/scenes/alpha/about")
    assert answer.status_code == 422
    assert "not where its files lie" in answer.json()["detail"]
    visitor.go("#scene?scene=alpha")
    assert "evaluate the scene into this store" in visitor.page.inner_text(".panes")
    assert visitor.complaints == []
    context.close()
