"""The pages in a real Chromium: how long a visitor waits, and how smoothly a dragged weight is followed.

Two stores are visited: one of 60 algorithms on 30 scenes, made here with scores that were never measured and maps that
several algorithms share, and the store that STEREOGAUGE_STORE names, which `scripts/evaluate-data.sh` makes. Every page
is opened in a fresh browser with an empty cache, on a server in a process of its own; the times are taken by the page
itself, from the start of the navigation until the view is drawn, and until nothing on it changes any more.
"""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from benchmarks.bench_web import served
from benchmarks.report import Report
from benchmarks.simulate_scale import MadeUpHashes
from stereogauge.datasets import load_dataset
from stereogauge.evaluation.run import make_plan
from stereogauge.evaluation.worker import CellGroup
from stereogauge.io import write_disparity
from stereogauge.metrics.registry import parse_column
from stereogauge.model import ResultSet
from stereogauge.protocol import load_protocol
from stereogauge.ranking.profile import load_profile, shipped_profiles
from stereogauge.scores.score import CellScores
from stereogauge.store import open_store
from stereogauge.store.sources import source_text
from stereogauge.store.write import MapRecord
from stereogauge.web.source import StoreSource

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ALGORITHMS, SCENES, MAPS = 60, 30, 6
SHAPE = (375, 450)
METRICS = sorted(
    {metric for name in shipped_profiles() for metric in load_profile(name).weights} | {"bad@2", "density"}
)
PROTOCOL = load_protocol("default").replace(name="pages", metrics=METRICS, regions=["nonocc", "all", "disc"])
PAGES = {
    "answer": "",
    "leaderboard": "#leaderboard",
    "leaderboard, A*": "#leaderboard?model=a-star",
    "compare": "#compare",
    "scene": "#scene",
    "metrics": "#metrics",
    "confidence": "#confidence",
    "tuning": "#tuning",
    "protocol": "#protocol",
    "submit": "#submit",
    "algorithm": "#algorithm",
    "A against B": "#versus",
}
LIMITS = {"leaderboard": 1.0, "answer": 1.5}
LIMIT, SCENE_CHANGE, FRAME = 2.0, 0.5, 1 / 30
MANIFEST = """
name = "pages"
[paths]
ground_truth = "{scene}/disp.pfm"
left = "{scene}/left.png"
right = "{scene}/right.png"
[calibration]
focal = 500.0
baseline = 0.2
ndisp = 64
"""
WATCH = """
globalThis.watched = { ready: null, change: 0 };
new MutationObserver(() => {
  watched.change = performance.now();
  if (watched.ready === null && document.getElementById("content")?.dataset.ready) watched.ready = watched.change;
}).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
"""
DONE = """() => ({
  ready: watched.ready,
  last: Math.max(watched.change, ...performance.getEntriesByType("resource").map((one) => one.responseEnd)),
})"""
DRAG = """(input) => new Promise((resolve) => {
  const value = () => [...document.querySelectorAll("#board td.value")].map((one) => one.textContent).join();
  let [frames, changes, last] = [0, 0, value()];
  const start = performance.now();
  const step = () => {
    if (value() !== last) changes += 1;
    last = value();
    const seconds = (performance.now() - start) / 1000;
    if (seconds > 2) return resolve(changes / seconds);
    input.value = 20 + (frames * 7) % 80;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    frames += 1;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""
CHANGE = """(list) => new Promise((resolve) => {
  const start = performance.now();
  list.value = list.options[list.selectedIndex ? 0 : 1].value;
  list.dispatchEvent(new Event("change"));
  const step = () => {
    const { ready } = document.getElementById("content").dataset;
    if (ready === location.hash) return resolve((performance.now() - start) / 1000);
    return requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


def made_scenes(root: Path) -> None:
    """A slanted background with boxes before it, its images, and a few maps with more and more noise."""
    height, width = SHAPE
    for number in range(SCENES):
        random = np.random.default_rng(number)
        folder = root / f"scene-{number:02d}"
        folder.mkdir(parents=True)
        truth = np.tile(np.linspace(8, 20, width, dtype=np.float32), (height, 1))
        for _ in range(6):
            top, left = random.integers(0, height - 90), random.integers(0, width - 90)
            truth[top : top + 80, left : left + 70] = random.uniform(22, 50)
        texture = cv2.GaussianBlur(random.integers(0, 255, (height, width, 3)).astype(np.uint8), (5, 5), 0)
        write_disparity(folder / "disp.pfm", truth)
        cv2.imwrite(str(folder / "left.png"), texture)
        cv2.imwrite(str(folder / "right.png"), np.roll(texture, -15, axis=1))
        for place in range(MAPS):
            noise = random.normal(0, 0.3 + 0.5 * place, SHAPE)
            write_disparity(folder / f"map-{place}.pfm", (truth + noise).astype(np.float32))
    (root / "stereogauge.toml").write_text(MANIFEST, encoding="utf-8")


def made_cells(group: CellGroup, skill: dict[str, float]) -> tuple[list[CellScores], list[MapRecord]]:
    """Scores of one scene: skill of the algorithm × difficulty of the scene × chance, within what metrics can give."""
    random = np.random.default_rng(abs(hash(group.scene.id)) % 2**32)
    columns = group.cells[0].columns
    tops = np.array([(parse_column(str(one))[0].metric.heuristic_range or (0.0, 10.0))[1] for one in columns])
    hard = random.gamma(8, 0.1, len(columns))
    count = np.full(len(columns), SHAPE[0] * SHAPE[1])
    cells: list[CellScores] = []
    maps: list[MapRecord] = []
    for cell in group.cells:
        values = np.minimum(0.3 * skill[cell.algorithm] * hard * random.gamma(30, 1 / 30, len(columns)), 1) * tops
        cells.append(
            CellScores(
                group.scene.dataset, group.scene.id, cell.algorithm, group.protocol.scoring_hash, columns, values,
                values * count, count, np.zeros_like(count), inputs=cell.inputs, host="benchmark",
            )
        )  # fmt: skip
        source = source_text(cell.estimate)
        maps.append(MapRecord(group.scene.dataset, group.scene.id, cell.algorithm, cell.content, source))
    return cells, maps


def make_large(folder: Path) -> Path:
    """A store of 60 algorithms on 30 scenes, with everything behind it on disk."""
    root, path = folder / "data", folder / "large.sqlite"
    made_scenes(root)
    dataset = load_dataset("folder", root)
    names = [f"algorithm {place:02d}" for place in range(ALGORITHMS)]
    random = np.random.default_rng(0)
    skill = {name: float(random.gamma(4, 0.25)) for name in names}
    rank = {name: place * MAPS // ALGORITHMS for place, name in enumerate(sorted(names, key=lambda name: skill[name]))}
    results = [
        ResultSet(name, {scene.id: root / scene.id / f"map-{rank[name]}.pfm" for scene in dataset}) for name in names
    ]
    with open_store(path) as store:
        plan = make_plan(store, dataset, results, PROTOCOL, hashes=MadeUpHashes(None))
        store.register(dataset, plan.contents, results, PROTOCOL)
        run = store.begin_run("benchmark")
        for group in plan.scenes:
            cells, maps = made_cells(group, skill)
            store.write(cells, maps=maps, run=run)
        store.finish_run(run)
    return path


def opened(path: str) -> StoreSource:
    """The scores of a store; it stays open as long as its process."""
    return StoreSource(open_store(path, read_only=True))


class Browser:
    """A Chromium that opens each page as a first visitor."""

    def __init__(self, chromium: Any, base: str) -> None:
        self._chromium = chromium
        self._base = base

    @contextmanager
    def page(self, state: str) -> Iterator[Any]:
        context = self._chromium.new_context(viewport={"width": 1400, "height": 900})
        context.add_init_script("localStorage.setItem('stereogauge-tour', 'seen')")
        context.add_init_script(WATCH)
        page = context.new_page()
        page.goto(f"{self._base}/{state}")
        page.wait_for_load_state("networkidle")
        while page.evaluate("watched.ready") is None:
            page.wait_for_timeout(50)
        page.wait_for_timeout(300)  # drawing goes on after the last answer
        yield page
        context.close()

    def times(self, state: str) -> tuple[float, float]:
        """Seconds until the view was drawn, and until nothing changed any more."""
        with self.page(state) as page:
            found = page.evaluate(DONE)
            return found["ready"] / 1000, found["last"] / 1000


def measure(report: Report, name: str, path: str, limits: dict[str, float]) -> None:
    """Rows of one store: the first visitor of a server, every page, another scene, a dragged weight."""
    from playwright.sync_api import sync_playwright

    source = functools.partial(opened, path)
    with sync_playwright() as tool:
        chromium = tool.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for title in ("leaderboard", "answer"):
            with served(source) as (base, _):
                ready, last = Browser(chromium, base).times(PAGES[title])
            work = f"{name}: {title}, first visitor of a server"
            report.limit(work, ready, limits.get(title, LIMIT), f"everything {last:.2f} s")
        with served(source) as (base, _):
            browser = Browser(chromium, base)
            browser.times("")
            for title, state in PAGES.items():
                ready, last = browser.times(state)
                report.limit(f"{name}: {title}", ready, limits.get(title, LIMIT), f"everything {last:.2f} s")
            for _ in range(2):
                with browser.page("#scene") as page:
                    change = page.locator("#scene-choice").evaluate(CHANGE)
            report.limit(f"{name}: another scene, which somebody saw before", change, SCENE_CHANGE)
            with browser.page("#leaderboard") as page:
                rate = page.locator("[data-weight]").first.evaluate(DRAG)
            report.limit(f"{name}: a dragged weight, each redrawing", 1 / rate, FRAME, f"{rate:.0f} per second")
        chromium.close()


def run(report: Report) -> None:
    if CHROMIUM is None:
        report.miss("pages", "no Chromium found; install the system's package `chromium`")
        return
    with tempfile.TemporaryDirectory(prefix="stereogauge-pages-") as folder:
        measure(report, f"{ALGORITHMS} × {SCENES}", str(make_large(Path(folder))), {})
    real = os.environ.get("STEREOGAUGE_STORE")
    if real:
        measure(report, "real store", real, LIMITS)
    else:
        report.miss("pages of a real store", "STEREOGAUGE_STORE names no store that scripts/evaluate-data.sh made")
