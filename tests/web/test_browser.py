"""The page in a real Chromium: what a visitor does, and that the console stays silent."""

from __future__ import annotations

import csv
import functools
import io
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.web import uploads
from tests.web.small import MARKUP, SCENES, serving, truth
from tests.web.visitor import BROWSER, PULL, Visitor

from stereogauge import open_store
from stereogauge.web.app import create_app
from stereogauge.web.site import Site
from stereogauge.web.source import StoreSource
from stereogauge.web.submissions.api import HostedSubmissions
from stereogauge.web.submissions.jobs import Rules

TITLES = "row => [...row.querySelectorAll('[data-column]')].map(one => [one.dataset.column, one.dataset.full ?? null])"
BARS_AS_SEEN = """() => [...document.querySelectorAll(".bars [data-bar]")]
  .map((name) => [name, name.nextElementSibling, name.nextElementSibling.nextElementSibling])
  .sort(([one], [other]) => one.getBoundingClientRect().top - other.getBoundingClientRect().top)
  .map(([name, track, total]) => [
    name.textContent, total.textContent,
    ...[...track.children].map((piece) => Math.round(piece.getBoundingClientRect().width)),
  ])"""
VIEWS = ("leaderboard", "compare", "scene", "metrics", "confidence", "tuning", "protocol", "submit")

pytestmark = BROWSER


@pytest.fixture(scope="module")
def accepting(small_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, HostedSubmissions]]:
    """A site with submissions, on a copy of the store."""
    folder = tmp_path_factory.mktemp("browser")
    shutil.copy(small_store, folder / "scores.sqlite")
    with open_store(folder / "scores.sqlite") as store:
        source = StoreSource(store)
        submissions = HostedSubmissions(store, source, folder / "submissions", Rules(per_period=50, hidden=("beta",)))
        with serving(create_app(Site(source, ("beta",), submissions))) as base:
            yield base, submissions


def test_an_order_on_nested_regions_offers_exclusive_ones(visitor: Visitor) -> None:
    visitor.go("#leaderboard?model=extended&metrics=bad@1&regions=nonocc&regions=all&regions=disc")
    assert "a pixel counts up to 3 times" in visitor.page.locator("#notes").inner_text()
    visitor.page.click("#exclusive")
    assert visitor.ready().page.url.endswith("regions=boundary&regions=interior&regions=occluded")
    assert "share pixels" not in visitor.page.locator("#notes").inner_text()
    assert visitor.page.locator("#exclusive").count() == 0


def test_the_leaderboard_stands_in_the_order_of_the_api(visitor: Visitor) -> None:
    selection = "model=extended&regions=all&missing=drop-algorithm"
    visitor.go(f"#leaderboard?{selection}")
    rows = visitor.ask("rank", selection)["rows"]
    assert visitor.algorithms() == [row["algorithm"] for row in rows]
    assert visitor.page.locator("[data-unranked=partial]").count() == 1


def test_names_with_markup_are_shown_as_text(visitor: Visitor) -> None:
    visitor.go("#leaderboard?regions=all")
    assert any(MARKUP in text for text in visitor.texts("#board td.text"))
    assert visitor.page.locator("#board b, #board script").count() == 0


def test_choosing_a_region_changes_table_and_address(visitor: Visitor) -> None:
    visitor.go("#leaderboard?regions=all&metrics=rms")
    before = visitor.texts("#board tbody td")
    visitor.choose("regions", "regions:disc")
    assert "regions=disc" in visitor.page.url
    visitor.until("document.querySelectorAll('#board thead th').length >= 6")
    assert visitor.texts("#board tbody td") != before


def test_no_page_narrows_the_scope_by_itself_and_chips_remove_what_does(visitor: Visitor) -> None:
    visitor.go("#leaderboard")
    assert "regions" not in visitor.page.url
    sort = "all => all.map(one => one.dataset.sort)"
    assert {"rms:all", "rms:nonocc", "rms:occluded"} <= set(visitor.page.eval_on_selector_all("[data-sort]", sort))
    visitor.choose("regions", "regions:occluded")
    assert "rms:occluded" not in visitor.page.eval_on_selector_all("[data-sort]", sort)
    assert [text.split(" ✕")[0] for text in visitor.texts(".filter")] == ["without occluded"]
    visitor.page.keyboard.press("Escape")
    assert visitor.page.is_hidden("#sheet")
    visitor.page.click(".filter")
    visitor.ready()
    assert "regions" not in visitor.page.url
    assert "rms:occluded" in visitor.page.eval_on_selector_all("[data-sort]", sort)


def test_sorting_by_a_column_goes_up_down_and_back(visitor: Visitor) -> None:
    visitor.go("#leaderboard?regions=all&metrics=rms&missing=drop-column&model=extended")
    table = visitor.ask("table", "regions=all&metrics=rms")
    value = {name: table["values"][row][0] for row, name in enumerate(table["algorithms"])}
    known = [name for name in visitor.algorithms() if value[name] is not None]
    start = visitor.algorithms()
    visitor.page.click('[data-sort="rms:all"]')
    visitor.ready()
    up = [name for name in visitor.algorithms() if name in known]
    assert up == sorted(known, key=lambda name: value[name])
    visitor.page.click('[data-sort="rms:all"]')
    visitor.ready()
    assert [name for name in visitor.algorithms() if name in known] == up[::-1]
    visitor.page.click('[data-sort="rms:all"]')
    visitor.ready()
    assert visitor.algorithms() == start


def test_a_header_explains_itself(visitor: Visitor) -> None:
    visitor.go("#leaderboard?regions=all&metrics=rms")
    visitor.page.click("#board th button.about")
    text = visitor.page.inner_text("#popup")
    assert "Root mean squared error" in text
    assert "Scharstein" in text
    assert visitor.page.eval_on_selector("#popup img", "one => one.decode().then(() => one.naturalWidth)") > 20
    visitor.page.keyboard.press("Escape")
    assert visitor.page.locator("#popup").is_hidden()


def test_the_csv_equals_the_table(visitor: Visitor) -> None:
    visitor.go("#leaderboard?model=extended&regions=all")
    with visitor.page.expect_download() as waiting:
        visitor.page.click("#csv")
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    lines = list(csv.reader(io.StringIO("\n".join(line for line in text.splitlines() if not line.startswith("#")))))
    assert [line[1] for line in lines[1:]] == visitor.algorithms()
    shown = visitor.page.eval_on_selector_all("#board tr[data-algorithm]", f"all => all.map({TITLES})")
    places = {name.split(" ")[0]: place for place, name in enumerate(lines[0])}
    for line, cells in zip(lines[1:], shown, strict=True):
        assert cells
        for column, value in cells:
            written = line[places[column]]
            assert (value is None) == (written == "")
            assert value is None or float(value) == float(written)


def test_a_cell_opens_its_scene(visitor: Visitor) -> None:
    visitor.go("#leaderboard?regions=all&metrics=rms&scenewise=open")
    visitor.page.click('tr[data-algorithm="rough"] [data-scene="gamma"]')
    visitor.page.wait_for_selector("[data-pane='1'][data-loaded]")
    assert visitor.page.input_value("#scene-choice") == "gamma"
    assert "rough" in visitor.page.url
    assert visitor.page.locator("[data-role=algorithm]").first.input_value() == "rough"


def test_dragging_a_weight_reorders_the_bars_as_the_api_says(visitor: Visitor) -> None:
    selection = "regions=all&missing=drop-column&least_coverage=0.5&weights=density%3D1&weights=bias%3D1"
    visitor.go(f"#compare?{selection}")
    visitor.page.click("details.weights summary")
    slider = visitor.page.locator('[data-weight="bias"]')
    seen = {tuple(visitor.texts("[data-bar]"))}
    box = slider.bounding_box()
    visitor.page.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2)
    visitor.page.mouse.down()
    for share in (0.7, 0.4, 0.02):
        visitor.page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)
        visitor.ready()
    visitor.page.mouse.up()
    visitor.ready()
    hash_query = visitor.page.url.split("?", 1)[1]
    expected = visitor.ask("rank", f"{hash_query}&model=weighted")
    bars = visitor.page.eval_on_selector_all("[data-bar]", "all => all.map(one => one.dataset.bar)")
    assert bars == [row["algorithm"] for row in expected["rows"]]
    assert expected["weights"][expected["terms"].index("density")] > 0.4
    seen.add(tuple(visitor.texts("[data-bar]")))
    assert len(seen) == 2  # the order did change


def test_bars_move_with_a_weight_and_are_drawn_again_at_rest(visitor: Visitor) -> None:
    weights = "weights=rms%3D1&weights=bad%401%3D1&weights=bad%402%3D1"
    visitor.go(f"#compare?regions=all&missing=drop-algorithm&bars=terms&{weights}")
    visitor.page.click("details.weights summary")
    visitor.page.evaluate("document.querySelector('.bars').dataset.stands = 'still'")
    with visitor.holding("rms") as slider:
        slider.evaluate(PULL, 5)
        visitor.page.wait_for_selector(".bars[data-following]")
        assert visitor.page.locator(".bars[data-stands]").count() == 1  # moved, not drawn again
        followed = visitor.page.evaluate(BARS_AS_SEEN)
    assert visitor.page.locator(".bars[data-following]").count() == 0
    assert visitor.page.evaluate(BARS_AS_SEEN) == followed
    rested = visitor.page.inner_html("#bars")
    visitor.page.reload()
    visitor.ready()
    assert visitor.page.inner_html("#bars") == rested


def test_compare_draws_every_figure(visitor: Visitor) -> None:
    visitor.go("#compare?regions=all&algorithms=good&algorithms=rough&algorithms=biased")
    for label in ("Radar chart", "Parallel coordinates"):
        visitor.page.wait_for_selector(f'svg[aria-label="{label}"]')
    visitor.page.wait_for_selector('[aria-label="Critical-difference diagram"] .mark-symbol')
    visitor.page.wait_for_selector("#verdict")
    visitor.page.select_option("#duel-first", "biased")
    visitor.until("document.getElementById('verdict').innerText.includes('beats biased')")
    second = visitor.page.input_value("#duel-second")
    visitor.page.select_option("#duel-column", "bad@1:all")
    visitor.until("document.getElementById('verdict').innerText.includes('bad@1:all')")
    pair = visitor.ask("significance", f"regions=all&first=biased&second={second}&column=bad@1:all")["pair"]
    said = f"{second} beats biased on the bad@1:all with probability {1 - pair['probability']:.2f}"
    assert said in visitor.page.inner_text("#verdict")
    assert visitor.texts(".duel tbody td:first-child") == list(SCENES)


def test_all_panes_pan_and_zoom_together_and_the_address_follows(visitor: Visitor) -> None:
    visitor.go("#scene?scene=alpha&pane=truth&pane=estimate~good")
    visitor.page.wait_for_selector("[data-pane='1'][data-loaded]")
    shots = [visitor.page.locator(f"[data-pane='{place}'] canvas").screenshot() for place in (0, 1)]
    box = visitor.page.locator("[data-pane='0'] canvas").bounding_box()
    visitor.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    visitor.page.focus("[data-pane='0'] canvas")
    visitor.page.mouse.wheel(0, -600)
    visitor.page.mouse.down()
    visitor.page.mouse.move(box["x"] + box["width"] / 2 - 60, box["y"] + box["height"] / 2 - 20, steps=4)
    visitor.page.mouse.up()
    visitor.until("location.hash.includes('at=')")
    assert all(visitor.page.locator(f"[data-pane='{place}'] canvas").screenshot() != shots[place] for place in (0, 1))
    x, y, zoom = (float(part) for part in re.search(r"at=([\d.]+)%2C([\d.]+)%2C([\d.]+)", visitor.page.url).groups())  # type: ignore[union-attr]
    assert zoom > 2
    assert x > 56 / 2
    assert y > 40 / 2
    visitor.page.dblclick("[data-pane='1'] canvas")
    visitor.until("!location.hash.includes('at=')")


def test_the_inspector_reads_the_arrays_value(visitor: Visitor) -> None:
    visitor.go("#scene?scene=gamma&pane=estimate~biased")
    visitor.page.wait_for_selector("[data-pane='0'][data-loaded]")
    canvas = visitor.page.locator("[data-pane='0'] canvas")
    box = canvas.bounding_box()
    scale = min(box["width"] / 56, box["height"] / 40)
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    visitor.page.mouse.move(middle[0] + (34.5 - 28) * scale, middle[1] + (15.5 - 20) * scale)
    visitor.page.wait_for_selector('#inspector[data-pixel="34,15"]')
    cells = visitor.page.eval_on_selector_all("#inspector [data-value]", "all => all.map(one => one.dataset.value)")
    values = [float(text) for text in cells]
    assert values[0] == float(truth(2)[15, 34])
    assert values[1] == pytest.approx(float(truth(2)[15, 34]) + 1.6, abs=1e-5)
    assert "nonocc" in visitor.texts("#inspector .chip")


def test_digits_switch_layers_and_arrows_pan(visitor: Visitor) -> None:
    visitor.go("#scene?scene=alpha&pane=left&at=28,20,4")
    visitor.page.wait_for_selector("[data-pane='0'][data-loaded]")
    visitor.page.focus("[data-pane='0'] canvas")
    visitor.page.keyboard.press("ArrowRight")
    visitor.until("Number(location.hash.match(/at=([0-9.]+)/)[1]) > 28")
    visitor.page.keyboard.press("3")
    visitor.until("location.hash.includes('pane=truth')")
    visitor.until("document.querySelector('[data-pane]').dataset.loaded.includes('truth')")
    assert visitor.page.locator("[data-pane]").count() == 1


def test_swipe_overlay_and_point_cloud(visitor: Visitor) -> None:
    visitor.go("#scene?scene=alpha&pane=truth&pane=estimate~rough&swipe=on&overlay=disc&cloud=truth")
    visitor.page.wait_for_selector("[data-pane='0'][data-loaded]")
    assert visitor.page.locator("[data-pane]").count() == 1
    visitor.page.wait_for_selector("#cloud[data-points]")
    before = visitor.page.locator("[data-pane='0'] canvas").screenshot()
    box = visitor.page.locator("[data-pane='0'] canvas").bounding_box()
    visitor.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    visitor.page.mouse.down()
    visitor.page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] / 2, steps=3)
    visitor.page.mouse.up()
    assert visitor.page.locator("[data-pane='0'] canvas").screenshot() != before
    assert "at=" not in visitor.page.url  # the divider moved, not the picture
    visitor.page.mouse.move(0, 0)
    visitor.page.focus("[data-pane='0'] canvas")
    before = visitor.page.locator("[data-pane='0'] canvas").screenshot()
    visitor.page.keyboard.press("]")
    assert visitor.page.locator("[data-pane='0'] canvas").screenshot() != before


def test_an_object_is_chosen_and_a_region_is_typed(visitor: Visitor) -> None:
    visitor.go("#scene?scene=alpha&pane=set~-~normals&pane=error~rough")
    visitor.page.wait_for_selector("[data-pane='1'][data-loaded]")
    visitor.page.click("#by-object")
    visitor.page.click("#objects summary >> nth=0")
    visitor.page.click("#objects td button >> nth=0")
    visitor.until("location.hash.includes('overlay=plane%401') || location.hash.includes('overlay=object%401')")
    visitor.page.wait_for_selector("#overlay-text")
    visitor.page.fill("#overlay-text", "near & nonocc")
    visitor.page.press("#overlay-text", "Enter")
    visitor.until("location.hash.includes('near+%26+nonocc')")
    visitor.page.wait_for_selector("text=on pixels near & nonocc")
    visitor.page.fill("#overlay-text", "near & nonoc")
    visitor.page.press("#overlay-text", "Enter")
    visitor.page.wait_for_selector("text=Did you mean 'nonocc'?")
    assert "near+%26+nonoc&" in f"{visitor.page.url}&"


def test_a_hidden_scene_offers_no_ground_truth(visitor: Visitor) -> None:
    visitor.go("#scene?scene=beta")
    visitor.page.wait_for_selector("[data-pane='0'][data-loaded]")
    layers = visitor.page.eval_on_selector_all("[data-role=layer] option", "all => all.map(one => one.value)")
    assert not {"truth", "region", "metric"} & set(layers)
    assert "hidden" in visitor.page.inner_text("#content")


def test_metrics_show_relations_and_a_point_opens_its_scene(visitor: Visitor) -> None:
    visitor.go("#metrics?regions=all&plot=rms%3Aall&plot=bad%401%3Aall")
    shown = visitor.ask("correlation", "regions=all")
    row, column = (shown["columns"].index(name) for name in ("rms:all", "bad@1:all"))
    visitor.page.wait_for_selector("#r-squared .mark-text")
    cells = visitor.page.eval_on_selector_all("#r-squared .mark-text text", "all => all.map(one => one.textContent)")
    assert f"{shown['r_squared'][row][column]:.2f}" in cells
    visitor.page.wait_for_selector("#scatter .mark-symbol")
    visitor.page.wait_for_selector("#histogram .mark-rect")
    assert set(visitor.texts("#scatter-key .algorithm")) >= {"good", MARKUP}
    visitor.page.locator("#scatter").scroll_into_view_if_needed()
    x, y = visitor.first_point("#scatter")
    visitor.page.mouse.move(x, y)
    assert visitor.page.inner_text("#scatter .tip").splitlines()[1].removeprefix("scene ") in SCENES
    visitor.page.mouse.click(x, y)
    visitor.until("location.hash.startsWith('#scene')")
    visitor.ready()
    assert "column=rms%3Aall" in visitor.page.url
    assert "rms" in visitor.page.url.split("pane=metric", 1)[1]
    assert visitor.page.inner_text("#carried").startswith("rms:all of ")


def test_an_algorithm_is_highlighted_in_the_figures_of_metrics(visitor: Visitor) -> None:
    visitor.go("#metrics")
    visitor.page.select_option("#mark", "rough")
    visitor.ready()
    assert "mark=rough" in visitor.page.url
    assert visitor.page.input_value("#mark") == "rough"


def test_figures_of_single_scenes_do_not_name_an_aggregation(visitor: Visitor) -> None:
    visitor.go("#metrics?aggregation=pooled")
    captions = visitor.texts("#content .take .caption")
    assert len(captions) >= 3
    for caption in captions:
        assert "scene by scene" in caption
        assert "pooled" not in caption


def test_a_long_name_leaves_the_window_of_a_phone_as_it_is(visitor: Visitor) -> None:
    visitor.page.set_viewport_size({"width": 390, "height": 900})
    visitor.go("#metrics")
    # The same page with a name of 80 letters in its lists.
    visitor.page.evaluate("document.querySelector('#mark option').textContent = 'A long name '.repeat(7)")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_confidence_tuning_and_protocol_have_their_states(visitor: Visitor) -> None:
    visitor.go("#confidence")
    assert "No algorithm here has confidence maps" in visitor.page.inner_text("#content")
    visitor.go("#tuning")
    assert "stereogauge tune" in visitor.page.inner_text("#content")
    visitor.go("#protocol")
    assert 'name = "small"' in visitor.page.inner_text("#protocol-text")
    assert visitor.page.inner_text("#scoring-hash") == visitor.ask("catalogue", "")["protocols"][0]["key"]
    visitor.go("#submit")
    assert "takes no submissions" in visitor.page.inner_text("#content")


def test_a_copied_link_reproduces_the_view(visitor: Visitor, chromium: Any) -> None:
    visitor.go("#leaderboard?regions=all")
    visitor.page.select_option("#model", "extended")
    visitor.ready()
    visitor.choose("algorithms", "algorithms:biased")
    visitor.page.keyboard.press("Escape")
    visitor.page.click('[data-sort="algorithm"]')
    visitor.ready()
    other = Visitor(chromium.new_page(), visitor.base)
    other.page.goto(visitor.page.url)
    other.ready()
    assert other.algorithms() == visitor.algorithms()
    assert other.texts("#board thead th") == visitor.texts("#board thead th")
    other.page.close()


def test_a_link_to_something_that_is_gone_says_so(visitor: Visitor) -> None:
    for view in ("leaderboard", "compare", "metrics"):
        visitor.go(f"#{view}?scenes=lost")
        assert visitor.page.inner_text("#content").count("Unknown scene 'lost'") == 1
        assert "another rule" not in visitor.page.inner_text("#content")
    visitor.page.click("text=Start from the whole selection")
    visitor.page.wait_for_selector("#scatter .mark-symbol")


def test_scores_that_no_model_can_order_are_still_shown(visitor: Visitor) -> None:
    visitor.go("#leaderboard?model=middlebury&regions=all")
    assert "takes one metric" in visitor.page.inner_text("#no-order")
    assert visitor.algorithms() == []
    assert visitor.page.locator("#board tr[data-unranked]").count() == 5
    visitor.page.select_option("#model", "extended")
    visitor.ready()
    assert len(visitor.algorithms()) == 5  # all are ranked, on the two scenes that all have
    assert visitor.page.inner_text("#no-order") == ""


@pytest.mark.parametrize("width", [1400, 700, 400])
def test_no_label_of_a_diagram_is_cut_off(visitor: Visitor, width: int) -> None:
    visitor.page.set_viewport_size({"width": width, "height": 900})
    shown = "&".join(f"algorithms={quote(name)}" for name in ("good", "rough", MARKUP))
    visitor.go(f"#compare?{shown}&least_coverage=0.5")
    difference = '[aria-label="Critical-difference diagram"]'
    visitor.page.wait_for_selector(f"{difference} .mark-symbol")
    outside = """all => all.flatMap(chart => [...chart.querySelectorAll("text")].filter(text => {
        const [own, frame] = [text.getBoundingClientRect(), chart.getBoundingClientRect()];
        return own.left < frame.left - 1 || own.right > frame.right + 1 || own.top < frame.top - 1;
    }).map(text => text.textContent))"""
    for label in ("Radar chart", "Parallel coordinates"):
        visitor.page.wait_for_selector(f'svg[aria-label="{label}"]')
    assert visitor.page.eval_on_selector_all("svg.figure", outside) == []
    names = visitor.page.eval_on_selector_all(
        f"{difference} .role-axis-label text", "all => all.map(one => one.textContent)"
    )
    assert "good" in names
    assert all(MARKUP.startswith(name.rstrip("…")) for name in names if name.startswith("<"))
    assert any(name.startswith("<b>bold") for name in names)  # a name with markup is shown as text


def test_everything_is_reached_by_keyboard(visitor: Visitor) -> None:
    visitor.go("#leaderboard?regions=all&metrics=rms")
    reached = set()
    for _ in range(80):
        visitor.page.keyboard.press("Tab")
        reached.add(visitor.page.evaluate("document.activeElement.tagName + '#' + document.activeElement.id"))
    assert {"SELECT#model", "BUTTON#csv", "DIV#board", "BUTTON#theme"} <= reached
    visitor.page.focus("#model")
    outline = visitor.page.evaluate("getComputedStyle(document.getElementById('model')).outlineStyle")
    assert outline != "none"


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_is_wider_than_a_narrow_window(visitor: Visitor, view: str) -> None:
    visitor.page.set_viewport_size({"width": 700, "height": 900})
    visitor.go(f"#{view}?regions=all")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 700


def test_light_and_dark(visitor: Visitor) -> None:
    visitor.go("#leaderboard?regions=all")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light = visitor.page.evaluate(paper)
    visitor.page.click("#theme")
    assert visitor.page.evaluate(paper) != light


def test_the_page_loads_nothing_from_elsewhere(visitor: Visitor) -> None:
    hosts: set[str] = set()
    visitor.page.on("request", lambda request: hosts.add(httpx.URL(request.url).host))
    visitor.go("#metrics?regions=all")
    visitor.page.wait_for_selector("#scatter .mark-symbol")
    assert hosts - {""} == {"127.0.0.1"}


@pytest.fixture(scope="module")
def copied(exported: Path) -> Iterator[str]:
    """The address of a static copy on a plain web server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietFiles, directory=str(exported)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class QuietFiles(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


def test_a_static_copy_shows_shipped_selections_and_refuses_others(chromium: Any, copied: str, address: str) -> None:
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    visitor = Visitor(context.new_page(), copied).go("#leaderboard?regions=all")
    model = httpx.get(f"{address}/api/v1/scope").json()["model"]
    expected = httpx.get(f"{address}/api/v1/rank?regions=all&model={model}").json()["rows"]
    assert visitor.algorithms() == [row["algorithm"] for row in expected]
    live = Visitor(context.new_page(), address).go("#leaderboard?regions=all")
    assert visitor.texts("#board tbody td") == live.texts("#board tbody td")
    assert "Compared on 2 of 3 scenes" in visitor.page.inner_text("#lacking")
    live.page.close()
    visitor.page.select_option("#model", "extended")
    visitor.ready()
    visitor.choose("copies")
    assert "fixed copy" in visitor.page.inner_text("#sheet")
    visitor.go("#compare?regions=all")
    visitor.page.wait_for_selector("[data-bar]")
    visitor.page.wait_for_selector("#steadiness")
    visitor.go("#scene?scene=alpha&pane=truth&pane=estimate~good")
    visitor.page.wait_for_selector("[data-pane='1'][data-loaded]")
    visitor.go("#scene?scene=alpha&pane=metric~good~bad%25401&pane=error~good&overlay=disc")
    visitor.page.wait_for_selector("[data-pane='1'][data-loaded]")
    assert "off by more than 1 px" in visitor.page.inner_text("[data-pane='0'] .pane-foot")
    assert "5.00 px" in visitor.page.inner_text("[data-pane='1'] .pane-foot")
    assert visitor.page.locator("#blocks li").count() > 3
    visitor.go("#metrics?regions=all")
    visitor.page.wait_for_selector("#scatter .mark-symbol")
    visitor.go("#leaderboard?regions=all&algorithms=good&algorithms=rough")
    assert "was not exported" in visitor.page.inner_text("#content")
    assert visitor.complaints == []
    context.close()


def test_submitting_in_the_page(chromium: Any, accepting: tuple[str, HostedSubmissions], tmp_path: Path) -> None:
    base, submissions = accepting
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    visitor = Visitor(context.new_page(), base).go("#submit")
    visitor.page.fill("#token", "sg_wrong")
    visitor.page.click("#use-token")
    visitor.page.wait_for_selector("text=This token is not known here.")
    visitor.page.fill("#token", submissions.tokens.issue("ada"))
    visitor.page.click("#use-token")
    visitor.page.wait_for_selector("#drop")
    bad = {
        "notzip": b"hello",
        "slip": uploads.zipped({"../x.pfm": b"x"}),
        "size": uploads.wrong_size(),
        "part": uploads.incomplete(),
        "lying": uploads.lying_pfm(),
    }
    for name, data in bad.items():
        (tmp_path / f"{name}.zip").write_bytes(data)
        visitor.page.fill("#submission-name", f"bad {name}")
        visitor.page.set_input_files("#submission-file", tmp_path / f"{name}.zip")
        visitor.page.click("#upload")
        sign = "[data-refused]" if name in ("notzip", "slip") else "[data-state=invalid] .findings li"
        visitor.page.wait_for_selector(sign)
        visitor.page.eval_on_selector_all("[data-refused], [data-state]", "all => all.forEach(one => one.remove())")
    visitor.page.wait_for_selector("text=50 submissions left in this period")  # what is invalid does not count
    (tmp_path / "good.zip").write_bytes(uploads.good())
    visitor.page.fill("#submission-name", "from the page")
    visitor.page.set_input_files("#submission-file", tmp_path / "good.zip")
    visitor.page.click("#upload")
    visitor.page.wait_for_selector("[data-state=done]")
    assert visitor.page.locator("#submission-scores tbody tr").count() > 5
    visitor.page.click("text=see it in the leaderboard")
    visitor.page.wait_for_selector('tr[data-algorithm="from the page"]')
    visitor.page.go_back()
    visitor.page.click("text=open >> nth=0")
    visitor.page.click("#publish")
    visitor.page.wait_for_selector("[data-state=published]")
    assert "from the page" in [one["name"] for one in httpx.get(f"{base}/api/v1/algorithms").json()]
    visitor.page.click("#withdraw")
    assert "Click again" in visitor.page.inner_text("#withdraw")  # one click withdraws nothing
    assert "from the page" in [one["name"] for one in httpx.get(f"{base}/api/v1/algorithms").json()]
    visitor.page.click("#withdraw")
    visitor.until("!document.querySelector('#submission [data-state]')")
    assert "from the page" not in [one["name"] for one in httpx.get(f"{base}/api/v1/algorithms").json()]
    assert visitor.complaints == []
    context.close()
