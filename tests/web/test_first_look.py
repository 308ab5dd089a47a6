"""What a visitor sees and does first: five answers without scrolling, the way by keyboard, colours on dark paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.figures.vision import VISION, nearest
from tests.web.visitor import BROWSER, Visitor

from stereogauge.figures.palette import algorithm_styles

pytestmark = BROWSER
WEIGHTS = "weights=bad%401%3D2&weights=rms%3D1"
FOLD = 900  # px: what a window of 1400 × 900 shows
FOCUSED = "document.activeElement"


@pytest.fixture
def fresh(chromium: Any, address: str) -> Iterator[Visitor]:
    """A visitor at 1400 × 900 who has seen the tour."""
    context = chromium.new_context(viewport={"width": 1400, "height": FOLD})
    context.add_init_script("localStorage.setItem('stereogauge-tour', 'seen')")
    one = Visitor(context.new_page(), address)
    yield one
    assert one.complaints == []
    context.close()


@pytest.mark.parametrize("tour", [False, True])
def test_five_questions_are_answered_without_scrolling(fresh: Visitor, tour: bool) -> None:
    page = fresh.go(f"#answer?{WEIGHTS}").page
    if tour:
        page.add_init_script("localStorage.removeItem('stereogauge-tour')")
        page.reload()
        fresh.ready()
    page.wait_for_selector("#crops .crop-row img")
    page.wait_for_selector("#why tfoot")
    places = {
        "what is this": "#about",
        "which is best": "#answer h1",
        "how sure is that": "#answer .rest",
        "why": "#why table",
        "where does it fail": "#crops .crop-row:nth-of-type(1)",
    }
    for question, place in places.items():
        box = page.locator(place).first.bounding_box()
        assert box is not None, question
        assert box["y"] + box["height"] <= FOLD, f"{question}: {box}"
        assert page.locator(place).first.inner_text().strip(), question
    assert page.inner_text("#about").startswith("Which stereo matcher is right for you, and why")
    assert page.evaluate("scrollY") == 0


class Keyboard:
    """Somebody without a mouse: Tab until something has the focus, then keys."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.press = visitor.page.keyboard.press

    def reach(self, selector: str, most: int = 80, key: str = "Tab") -> None:
        for _ in range(most):
            self.press(key)
            if self.visitor.page.evaluate(f"{FOCUSED}.matches({selector!r})"):
                return
        raise AssertionError(f"{most} tabs do not reach {selector}")

    def enter(self, selector: str, most: int = 80, key: str = "Tab") -> None:
        self.reach(selector, most, key)
        self.press("Enter")


def test_the_reasons_are_reached_by_keyboard(fresh: Visitor) -> None:
    page = fresh.go("").page
    keyboard = Keyboard(fresh)
    keyboard.enter(".skip", most=1)
    keyboard.enter("[data-open=purpose]", most=16, key="Shift+Tab")
    for _ in range(10):  # the focus stays in the list while the page follows each choice
        keyboard.press("ArrowDown")
        fresh.ready()
        if page.evaluate(f"{FOCUSED}.dataset.choice") == "purpose:balanced":
            break
    assert "profile=balanced" in page.url
    keyboard.press("Escape")
    assert page.evaluate(f"{FOCUSED}.dataset.open") == "purpose"
    page.wait_for_selector("#why .links a")
    keyboard.enter("#why .links a", most=40)
    fresh.ready()
    page.wait_for_selector("#why h2")
    assert "#versus?" in page.url
    assert page.inner_text("#why h2").startswith("What separates ")
    assert page.locator("#why [data-term]").count() > 0


def test_the_pixels_of_a_score_are_reached_by_keyboard(fresh: Visitor) -> None:
    page = fresh.go("").page
    keyboard = Keyboard(fresh)
    keyboard.enter("#views a[href^='#leaderboard']", most=6)
    fresh.ready()
    keyboard.enter(".skip", most=6, key="Shift+Tab")
    keyboard.enter("#scenewise", most=160)
    fresh.ready()
    keyboard.enter("#board button.cell", most=90)
    fresh.ready()
    page.wait_for_selector("#carried [data-carried]")
    assert "#scene?" in page.url
    keyboard.reach("[data-pane='0'] canvas", most=60)
    keyboard.press("+")
    keyboard.press("ArrowRight")
    page.wait_for_selector("#inspector table")
    assert page.locator("#inspector tbody tr").count() >= 2
    outline = page.evaluate(f"getComputedStyle({FOCUSED}).outlineStyle")
    assert outline != "none"


def test_colours_that_share_a_marker_differ_on_dark_paper_too(fresh: Visitor) -> None:
    """The page lightens dark colours there; what is left between them is a CIEDE2000 of at least 12, for everybody."""
    page = fresh.go("#protocol").page
    styles = list(algorithm_styles(f"{number:02d}" for number in range(60)).values())
    page.click("#theme")
    shown = page.evaluate(
        """async (colours) => {
          const theme = await import(`${location.origin}/static/js/theme.js`);
          if (!theme.isDark()) throw new Error("the page is light");
          return colours.map(theme.shown);
        }""",
        [style.colour for style in styles],
    )
    for vision in VISION:
        seen = [(as_hex(text), style.marker) for text, style in zip(shown, styles, strict=True)]
        assert nearest(seen, vision) >= 12, vision


def as_hex(colour: str) -> str:
    """A colour as the page writes it, #rrggbb or rgb(r,g,b), as the former."""
    if colour.startswith("#"):
        return colour
    return "#" + "".join(f"{int(part):02x}" for part in colour[4:-1].split(","))


def test_the_data_set_is_named_first_and_columns_in_words(fresh: Visitor) -> None:
    page = fresh.go("#leaderboard?regions=all&metrics=rms&metrics=bad%401").page
    assert page.inner_text("#question .part >> nth=0").lower().startswith("data set")
    assert "small" in page.inner_text("[data-open=dataset]")
    assert page.inner_text("#headline h1").startswith("small")
    heads = fresh.texts("#board thead th.words")
    assert any(text.replace("\n", " ").startswith("bad pixels (1 px) bad@1:all") for text in heads)
    assert any("root mean squared error" in text.replace("\n", " ") and "rms" in text for text in heads)
    fresh.choose("metrics")
    labels = fresh.texts("[data-part=metrics] .choice .name")
    assert "root mean squared error" in labels


def test_density_stands_in_the_table_and_gaps_leave_it_full(fresh: Visitor) -> None:
    page = fresh.go("#leaderboard?regions=all&metrics=rms").page
    assert "pixels with a value" in page.inner_text("#board thead th.pin1")
    assert all(text.endswith("%") for text in fresh.texts("#board tbody td.pin1 .complete"))
    coverage = fresh.ask("table", "regions=all&metrics=rms&algorithms=good")["coverage"][0][0]
    assert page.inner_text("#board tr[data-algorithm=good] .complete") == (
        "100 %" if coverage == 1 else f"{100 * coverage:.3g} %"
    )
    rows = page.locator("#board tbody tr").count()
    assert rows == 5  # "partial" lacks a scene and is still there
    assert page.locator("#other-rules a").count() >= 2
    page.locator("#other-rules a").first.click()
    fresh.ready()
    assert "missing=" in page.url
    assert page.locator("#board tbody tr").count() == rows
