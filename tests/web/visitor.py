"""A visitor of the site: a tab of a real Chromium that hears every complaint of the console."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
PATIENCE = 60_000  # ms; machines that run tests are busy
NAME = "one => one.dataset.algorithm"

WIGGLE = """(input, frames) => new Promise((resolve) => {
  const value = () => document.querySelector("#board td.value").textContent;
  let [frame, changes, last] = [0, 0, value()];
  const step = () => {
    if (value() !== last) changes += 1;
    last = value();
    if (frame === frames) return resolve(changes);
    input.value = 20 + (frame * 7) % 80;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    frame += 1;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""
PULL = "(input, value) => { input.value = value; input.dispatchEvent(new Event('input', { bubbles: true })); }"

FIRST_POINT = """(path) => {
  const frame = path.getBoundingClientRect();
  return [frame.left + frame.width / 2, frame.top + frame.height / 2];
}"""

BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium found; install the system's package `chromium`"),
    # Playwright leaves its event loop to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Visitor:
    """A tab; everything that the console complains about is kept."""

    def __init__(self, page: Any, base: str) -> None:
        self.page = page
        self.base = base
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self.hear(message))
        page.on("pageerror", lambda problem: self.complaints.append(str(problem)))

    def hear(self, message: Any) -> None:
        # A refused question is an answer of the page's; the browser notes its status in the console all the same.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def go(self, state: str = "") -> Visitor:
        self.page.goto(f"{self.base}/{state}")
        return self.ready()

    def ready(self) -> Visitor:
        """Until everything that the address asks for is drawn: the page says so itself, in one attribute."""
        self.until("document.getElementById('content').dataset.ready === (location.hash || '#')")
        return self

    def choose(self, part: str, choice: str | None = None) -> Visitor:
        """Open a part of the question bar, and take one of its choices."""
        if not self.page.is_visible(f'#sheet [data-part="{part}"]'):
            self.page.click(f'[data-open="{part}"]')
        self.page.wait_for_selector(f'#sheet [data-part="{part}"]')
        if choice is not None:
            self.page.click(f'#sheet [data-choice="{choice}"]')
            self.ready()
        return self

    def until(self, condition: str) -> None:
        """Poll from outside: the page's own policy forbids evaluating text, also to Playwright's waiting."""
        end = time.monotonic() + PATIENCE / 1000
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"never came true: {condition}"
            self.page.wait_for_timeout(30)

    @contextmanager
    def holding(self, weight: str) -> Iterator[Any]:
        """A slider under a finger: the page follows it, and takes its weight when the finger is lifted."""
        slider = self.page.locator(f"[data-weight='{weight}']")
        slider.dispatch_event("pointerdown")
        yield slider
        slider.dispatch_event("change")
        self.ready()

    def wiggle(self, weight: str, frames: int = 40) -> int:
        """Move a slider in each of some frames; the number of those in which the table changed."""
        with self.holding(weight) as slider:
            return int(slider.evaluate(WIGGLE, frames))

    def first_point(self, selector: str) -> tuple[float, float]:
        """The place of the first point of a chart in the window."""
        x, y = self.page.locator(f"{selector} .mark-symbol path").first.evaluate(FIRST_POINT)
        return float(x), float(y)

    def texts(self, selector: str) -> list[str]:
        self.ready()
        return list(self.page.eval_on_selector_all(selector, "all => all.map(one => one.innerText.trim())"))

    def algorithms(self) -> list[str]:
        self.ready()
        return list(self.page.eval_on_selector_all("#board tr[data-algorithm]", f"all => all.map({NAME})"))

    def ask(self, path: str, query: str) -> Any:
        return httpx.get(f"{self.base}/api/v1/{path}?{query}", timeout=60).json()
