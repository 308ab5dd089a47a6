"""axe-core finds nothing above moderate on any page, in both themes and at every width."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.visitor import BROWSER, Visitor

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
GRAVE = ("serious", "critical")
WEIGHTS = "weights=bad%401%3D2&weights=rms%3D1"
PAGES = (
    f"answer?{WEIGHTS}",
    "leaderboard?regions=all",
    "compare?regions=all",
    "scene?scene=alpha",
    "metrics?regions=all",
    "confidence",
    "tuning",
    "protocol",
    "submit",
    "algorithm?name=rough",
    f"versus?first=good&second=biased&{WEIGHTS}",
)
RUN = "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"

pytestmark = [
    *BROWSER,
    pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed; scripts/lint-javascript.sh installs it"),
]


@pytest.fixture(scope="module", params=["light", "dark"])
def tab(request: pytest.FixtureRequest, chromium: Any, address: str) -> Iterator[Visitor]:
    """A visitor whose page may run the checker: its own policy allows scripts of the site only."""
    context = chromium.new_context(color_scheme=request.param, bypass_csp=True)
    context.add_init_script("localStorage.setItem('stereogauge-tour', 'seen')")
    yield Visitor(context.new_page(), address)
    context.close()


@pytest.mark.parametrize("width", [390, pytest.param(700, marks=pytest.mark.slow), 1400])
def test_nothing_grave_is_found(tab: Visitor, width: int) -> None:
    tab.page.set_viewport_size({"width": width, "height": 900})
    found = []
    for page in PAGES:
        tab.go(f"#{page}")
        tab.page.wait_for_timeout(300)
        tab.page.evaluate(AXE.read_text(encoding="utf-8"))
        found += [
            f"{page}: {one['id']} at {one['nodes'][0]['target']}: {one['help']}"
            for one in tab.page.evaluate(RUN)
            if one["impact"] in GRAVE
        ]
        wide = tab.page.evaluate("document.documentElement.scrollWidth")
        found += [f"{page}: {wide} px wide at {width}"] if wide > width else []
        found += [f"{page}: no h1"] if tab.page.locator("#content h1").count() == 0 else []
    assert not found, "\n".join(found)
    assert tab.complaints == []
