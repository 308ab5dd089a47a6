"""axe-core finds nothing above moderate on any page, in both themes and at every width, and no page is too wide.

The pages are all that the page itself knows, those reached by links and a frame included.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.visitor import BROWSER, Visitor

from stereogauge.web.app import STATIC

ROOT = Path(__file__).parents[2]
AXE = Path(os.environ.get("STEREOGAUGE_NODE_MODULES", ROOT / "node_modules")) / "axe-core" / "axe.min.js"
GRAVE = ("serious", "critical")
WEIGHTS = "weights=bad%401%3D2&weights=rms%3D1"
PAGES = {
    "answer": f"#answer?{WEIGHTS}",
    "answer, requirements": "#answer?form=requirements",
    "leaderboard": "#leaderboard?regions=all",
    "compare": "#compare?regions=all",
    "scene": "#scene?scene=alpha",
    "metrics": "#metrics?regions=all",
    "confidence": "#confidence",
    "tuning": "#tuning",
    "protocol": "#protocol",
    "submit": "#submit",
    "algorithm": "#algorithm?name=rough",
    "versus": f"#versus?first=good&second=biased&{WEIGHTS}",
    "embedded leaderboard": "embed#leaderboard?regions=all",
    "embedded scene": "embed#scene?scene=alpha",
    "embedded versus": f"embed#versus?first=good&second=biased&{WEIGHTS}",
}
WIDTHS = (390, 700, 1000, 1400)
RUN = "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"

pytestmark = BROWSER


@pytest.fixture(scope="module", params=["light", "dark"])
def tab(request: pytest.FixtureRequest, chromium: Any, address: str) -> Iterator[Visitor]:
    """A visitor whose page may run the checker: its own policy allows scripts of the site only."""
    context = chromium.new_context(color_scheme=request.param, bypass_csp=True)
    context.add_init_script("localStorage.setItem('stereogauge-tour', 'seen')")
    yield Visitor(context.new_page(), address)
    context.close()


def opened(tab: Visitor, page: str, width: int) -> list[str]:
    """What is wrong with a page at a width, besides what the checker finds."""
    tab.page.set_viewport_size({"width": width, "height": 900})
    tab.go(PAGES[page])
    wide = tab.page.evaluate("document.documentElement.scrollWidth")
    found = [f"{page}: {wide} px wide at {width}"] if wide > width else []
    return found + ([f"{page}: no h1"] if tab.page.locator("#content h1").count() == 0 else [])


def grave(tab: Visitor, page: str) -> list[str]:
    """What axe-core finds above moderate."""
    tab.page.evaluate(AXE.read_text(encoding="utf-8"))
    return [
        f"{page}: {one['id']} at {one['nodes'][0]['target']}: {one['help']}"
        for one in tab.page.evaluate(RUN)
        if one["impact"] in GRAVE
    ]


def test_every_page_that_the_site_knows_is_looked_at() -> None:
    script = (STATIC / "js" / "state.js").read_text(encoding="utf-8")
    titles = re.search(r"export const VIEWS = \{(.*?)\};", script, re.DOTALL)
    assert titles is not None
    known = set(re.findall(r"^  (\w+):", titles.group(1), re.MULTILINE))
    assert known == {state.split("#")[1].split("?")[0] for state in PAGES.values()}


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed; scripts/lint-javascript.sh installs it")
@pytest.mark.parametrize("width", [None, *(pytest.param(width, marks=pytest.mark.slow) for width in WIDTHS)])
def test_nothing_grave_is_found(tab: Visitor, width: int | None) -> None:
    """Without a width every page is narrow in one theme and wide in the other, which is the cheap half of it all."""
    dark = tab.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    found = []
    for place, page in enumerate(PAGES):
        found += opened(tab, page, width or (390, 1400)[(place + dark) % 2])
        found += grave(tab, page)
    assert not found, "\n".join(found)
    assert tab.complaints == []
