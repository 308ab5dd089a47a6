"""The front page answers: who to take, how sure that is, why, in which pixels, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.web.small import MARKUP, make_store, serving_store
from tests.web.visitor import BROWSER, Visitor

import stereogauge as sg
from stereogauge import open_store

pytestmark = BROWSER
WEIGHTS = "weights=bad%401%3D2&weights=rms%3D1"


def test_the_bare_address_is_the_answer(visitor: Visitor) -> None:
    visitor.go("")
    page = visitor.page
    page.wait_for_selector("#answer h1, #answer .problem")
    assert page.inner_text("#about").startswith(
        "Which stereo matcher is right for you, and why: 5 algorithms on 3 scenes"
    )
    visitor.choose("purpose")
    assert page.locator("#sheet [data-part=purpose] input:checked").count() == 1
    names = visitor.texts("#sheet [data-part=purpose] .choice .name")
    assert {"Balanced", "Driver assistance", "My own weights", "My requirements"} <= set(names)


def test_sentence_places_and_reasons_are_those_of_the_library(visitor: Visitor, small_store: Path) -> None:
    visitor.go(f"#answer?{WEIGHTS}")
    page = visitor.page
    found = sg.answer(str(small_store), weights={"bad@1": 2, "rms": 1})
    head = page.inner_text("#answer h1")
    undecided = found.claims[0].kind in ("ahead", "equal")
    if undecided:
        assert head.startswith("Too close to call")
        assert all(name in head for name in found.claims[0].names[:5])
    assert found.statement.headline in page.inner_text("#answer").replace("\n", " ")
    assert visitor.texts("#places [data-place] td:nth-child(2)") == [one.algorithm for one in found.places]
    page.wait_for_selector("#why [data-term]")
    rival = found.rivals[0] if found.rivals else found.places[1].algorithm
    unsure = undecided or found.claims[0].kind in ("one-scene", "few-scenes")
    title = f"What separates {found.leader} and {rival}" if unsure else f"Why {found.leader} above {rival}"
    assert page.inner_text("#why h2") == title
    amounts = page.eval_on_selector_all("#why [data-term]", "all => all.map(one => Number(one.dataset.amount))")
    told = visitor.ask("explain", f"{WEIGHTS}&first={found.leader}&second={rival}")
    assert sum(amounts) == pytest.approx(told["difference"])
    words = page.inner_text("#in-words")
    assert told["text"].endswith(words)
    assert unsure == ("is better than" not in words)
    # Scores of the hidden scene are rounded on the site.
    expected = sg.explain(str(small_store), found.leader, rival, weights={"bad@1": 2, "rms": 1})
    assert told["difference"] == pytest.approx(expected.difference, rel=0.01)
    for sentence in visitor.ask("answer", WEIGHTS)["unknown"]:
        assert sentence in page.inner_text("#unknown")


def test_what_counts_is_what_is_said_and_sums_to_the_score(visitor: Visitor) -> None:
    """The numbers of the sentences are those of the table, and properties add up to the total score."""
    visitor.go(f"#versus?first=good&second={quote(MARKUP)}&{WEIGHTS}")
    page = visitor.page
    page.wait_for_selector("#why [data-term]")
    heads = page.eval_on_selector_all(
        "#why tr[data-property]",
        "all => all.map(one => [...one.cells].slice(2, 4).map(cell => Number(cell.innerText)))",
    )
    total = page.eval_on_selector_all("#why [data-score]", "all => all.map(one => Number(one.dataset.score))")
    assert [sum(column) for column in zip(*heads, strict=True)] == pytest.approx(total, rel=0.01)
    counted = page.inner_text("#why tr[data-term='bad@1']")
    told = visitor.ask("explain", f"{WEIGHTS}&first=good&second={quote(MARKUP)}")
    term = next(one for one in told["terms"] if one["term"] == "bad@1")
    assert f"{term['first']:.3g}" in counted
    assert f"{term['second']:.3g}" in counted
    assert f"{term['second']:.3g} %" in page.inner_text("#in-words")  # pixels without a value are charged
    share = next(claim for claim in told["claims"] if claim["kind"] == "unattributed")["numbers"]["share"]
    assert share == pytest.approx(abs(told["regions"][-1]["amount"] / told["difference"]))
    # Below a term are its scores of each region; one button hides them, another the whole property.
    measured = page.locator("#why tr.measured")
    assert measured.first.is_visible()
    page.click("#why tr[data-term='bad@1'] button.group")
    assert measured.first.is_hidden()
    page.click("#why tr[data-property] button.group")
    assert page.locator("#why tr[data-term='bad@1']").is_hidden()


def test_long_names_leave_the_sums_in_view(visitor: Visitor) -> None:
    visitor.go(f"#versus?first=good&second={quote(MARKUP)}&{WEIGHTS}")
    table = visitor.page.locator("#why .scroll")
    assert table.evaluate("one => one.scrollWidth <= one.clientWidth")
    names = visitor.page.locator("#why thead bdi").all_inner_texts()
    assert names == ["good", MARKUP]


def test_names_with_markup_are_text_on_every_new_page(visitor: Visitor) -> None:
    visitor.go(f"#answer?{WEIGHTS}")
    assert any(MARKUP in text for text in visitor.texts("#places td.text, #glance td.text"))
    visitor.go(f"#algorithm?name={quote(MARKUP)}")
    assert MARKUP in visitor.page.inner_text("h1")
    visitor.go(f"#versus?first=good&second={quote(MARKUP)}&{WEIGHTS}")
    assert MARKUP in visitor.page.inner_text("h1")
    assert visitor.page.locator("#content b, #content script").count() == 0


def test_the_crops_show_where_the_two_differ_and_lead_to_the_scene(visitor: Visitor) -> None:
    visitor.go(f"#answer?{WEIGHTS}")
    page = visitor.page
    page.wait_for_selector("#crops .crop-row img")
    assert page.locator("#crops .crop-row").first.locator("figure").count() == 6
    page.locator("#crops .crop-row a").first.click()
    visitor.ready()
    assert "#scene?" in page.url
    assert "column=bad%401" in page.url
    assert page.locator("[data-pane]").count() == 4


def test_the_grid_has_a_picture_per_map_and_opens_it_with_its_column(visitor: Visitor) -> None:
    visitor.go(f"#answer?{WEIGHTS}&glance=bad%401%3Anonocc")
    page = visitor.page
    page.wait_for_selector("#glance .thumb img")
    assert page.locator("#glance tbody tr").count() == 5
    visitor.until("[...document.querySelectorAll('#glance .thumb img')].slice(0, 3).every(one => one.naturalWidth > 0)")
    page.locator("#glance .thumb").first.click()
    visitor.ready()
    page.wait_for_selector("#carried [data-carried]")
    assert page.inner_text("#carried").startswith("bad@1:nonocc of good")


def test_requirements_are_asked_in_a_form_and_refused_in_one_sentence(visitor: Visitor) -> None:
    visitor.go("#answer")
    page = visitor.page
    visitor.choose("purpose", "purpose:requirements")
    page.keyboard.press("Escape")
    page.wait_for_selector("form#requirements")
    page.fill("[name='distances.near']", "20")
    page.click("form#requirements button")
    visitor.ready()
    sentence = page.inner_text("#answer .problem")
    assert "near" in sentence
    assert sentence.count("\n") == 0


def test_a_pair_has_a_page_of_its_own(visitor: Visitor) -> None:
    visitor.go(f"#versus?first=good&second=biased&{WEIGHTS}")
    page = visitor.page
    assert page.inner_text("h1") == "good against biased"
    page.wait_for_selector("#contrast img")
    assert "both right at" in page.inner_text("#contrast")
    captions = page.inner_text("#contrast figcaption")
    assert "only good right" in captions
    assert visitor.texts("#content h2")[1:3] == ["By scene", "By region"]


def test_an_algorithm_has_a_page_with_place_scores_and_neighbours(visitor: Visitor) -> None:
    visitor.go("#algorithm?name=rough&regions=all")
    page = visitor.page
    page.wait_for_selector("#scores tbody tr")
    weights = visitor.ask("scope", "")["purpose"]["weights"]
    weighed = "&".join(f"weights={quote(term)}%3D{weight:g}" for term, weight in weights.items())
    rank = visitor.ask("rank", f"regions=all&model=weighted&{weighed}")
    row = next(one for one in rank["rows"] if one["algorithm"] == "rough")
    assert f"Rank {row['rank']} of {len(rank['rows'])}" in page.inner_text("#standing")
    assert page.locator("#scores tbody tr").count() == 6
    page.locator(".neighbours a").first.click()
    visitor.ready()
    assert "#algorithm?" in page.url
    visitor.go("#algorithm?name=rough&regions=all&least_coverage=1")
    assert page.locator("#scores td.faint").count() == 0
    visitor.go(f"#algorithm?name={quote(MARKUP)}&regions=all&metrics=rms&least_coverage=1")
    assert page.locator("#scores td.faint").count() == 1
    assert "too incomplete to be ranked: they cover less than 100 %" in page.inner_text("#scores")


def test_the_tour_has_three_steps_and_comes_once(visitor: Visitor) -> None:
    visitor.go(f"#answer?{WEIGHTS}")
    page = visitor.page
    for step in ("1 of 3", "2 of 3", "3 of 3"):
        assert page.inner_text(".tour").startswith(step)
        page.click("#tour-next")
    assert page.locator(".tour").is_hidden()
    page.reload()
    visitor.ready()
    assert page.locator(".tour").is_hidden()


def test_a_view_can_be_embedded_by_other_sites_and_nothing_else(visitor: Visitor, address: str) -> None:
    import httpx

    embedded = httpx.get(f"{address}/embed")
    assert "frame-ancestors *" in embedded.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in httpx.get(f"{address}/").headers["content-security-policy"]
    visitor.page.goto(f"{address}/embed#leaderboard?regions=all")
    visitor.ready()
    assert visitor.page.locator("#board tr[data-algorithm]").count() > 2
    assert visitor.page.locator("header").is_hidden()
    assert visitor.page.locator("#question").is_hidden()
    visitor.page.goto(f"{address}/embed#submit")
    visitor.ready()
    assert "on the site itself" in visitor.page.inner_text("#content")


def test_answers_are_compressed(address: str) -> None:
    import httpx

    for path in ("api/v1/table", "static/js/views/scene.js"):
        assert httpx.get(f"{address}/{path}").headers["content-encoding"] == "gzip"


@pytest.fixture(scope="module")
def without_profile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    location = make_store(tmp_path_factory.mktemp("profiles"))
    with open_store(location) as store, serving_store(store) as base:
        yield base


def test_a_profile_that_is_not_measured_says_how_to_measure_it(chromium: Any, without_profile: str) -> None:
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    visitor = Visitor(context.new_page(), without_profile).go("#answer?profile=driver-assistance")
    page = visitor.page
    assert page.locator("#other-purposes a").count() >= 1  # no dead end
    visitor.choose("purpose")
    assert "measured" in page.inner_text("#sheet [data-part=purpose]")
    text = page.inner_text("#answer")
    assert "stereogauge evaluate" in text or "not measured" in text
    assert visitor.complaints == []
    context.close()


@pytest.mark.parametrize("width", [390, 700, 1000, 1400])
def test_no_new_page_is_wider_than_the_window(visitor: Visitor, width: int) -> None:
    visitor.page.set_viewport_size({"width": width, "height": 900})
    for view in (
        f"answer?{WEIGHTS}",
        f"versus?first=good&second=biased&{WEIGHTS}",
        "algorithm?name=rough",
        "scene?scene=alpha",
    ):
        visitor.go(f"#{view}")
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width, view


def test_printed_pages_fit_the_paper(visitor: Visitor) -> None:
    visitor.page.set_viewport_size({"width": 1032, "height": 700})  # A4 across, between its margins
    for view in (f"answer?{WEIGHTS}", "leaderboard"):
        visitor.go(f"#{view}")
        visitor.page.emulate_media(media="print")
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 1032, view
        visitor.page.emulate_media(media="screen")


def test_a_static_copy_answers_for_the_shipped_profiles(exported: Path) -> None:
    import json

    index = json.loads((exported / "answers.json").read_text(encoding="utf-8"))
    assert {f"answer?profile={name}" for name in ("balanced", "driver-assistance")} <= set(index)
