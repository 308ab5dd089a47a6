"""A report holds everything, says what it could not show, and opens from a file without a network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.errors import unknown_name
from stereogauge.ranking import ScoreCube
from stereogauge.ranking.profile import Profile
from stereogauge.report import content as content_module
from stereogauge.report.analyses import ANALYSES, one_column_each
from stereogauge.report.build import build, weights_in_force
from stereogauge.report.content import (
    AnalysisOptions,
    Content,
    Provenance,
    ReportOptions,
    reason_text,
    to_html,
    write_report,
)
from stereogauge.report.maps import Origins, galleries
from stereogauge.tables.formats import latex_table
from stereogauge.tables.table import Table

OPTIONS = ReportOptions(title="Report & <test>", draws=50, profiles=("balanced", "3d-metrology"))
ORIGIN = Provenance(
    "made-up",
    "name = 'made-up'",
    "scores.sqlite",
    (("Census", "ours <3", "javascript:alert(1)"),),
    ("BM & co on s: failed",),
)


@pytest.fixture(scope="module")
def content(scores: ScoreCube) -> Content:
    return build(scores, OPTIONS, ORIGIN)


@pytest.fixture(scope="module")
def folder(content: Content, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report")
    write_report(content, place, formats=("png",), made="Made for a test.")
    return place


class TestContent:
    def test_every_part_is_there(self, content: Content) -> None:
        names = {entry.name for section in content.sections for entry in section.entries}
        tables = {
            "scores-1",
            "rank-extended",
            "rank-a-star",
            "rank-middlebury",
            "orders",
            "weights-balanced",
            "weight-stability-balanced",
            "beats",
            "pairs",
            "threshold-stability",
            "subsets",
            "double-counting",
        }
        figures = {
            "alike",
            "a-star",
            "agreement",
            "rank-map",
            "bars-balanced",
            "radar-rank",
            "radar-score",
            "critical-difference",
            "intervals",
            "determination",
            "scatter",
            "histograms",
            "double-counting",
        }
        assert tables | figures <= names
        assert [note for section in content.sections for note in section.notes] == []

    def test_the_answer_stands_first(self, content: Content) -> None:
        assert content.answer is not None
        first = content.sections[0]
        assert first.id == "answer"
        assert first.prose == content.answer.sentence
        assert first.unknown[: len(content.answer.unknown)] == content.answer.unknown
        assert [entry.name for entry in first.entries][:2] == ["answer", "why"]

    def test_names_of_tables_and_of_figures_are_unique(self, content: Content) -> None:
        assert len({table.name for table in content.tables}) == len(content.tables)
        assert len({figure.name for figure in content.figures}) == len(content.figures)

    def test_what_the_scores_do_not_allow_is_left_out_with_thereason_text(self, scores: ScoreCube) -> None:
        alone = build(
            scores.select(scenes=["scene_0"], metrics=["bad@1:all"], algorithms=["Census", "Deep_1"]), OPTIONS
        )
        notes = " ".join(note for section in alone.sections for note in section.notes)
        assert "Friedman's test needs at least three algorithms" in notes
        assert "A bootstrap draws scenes and needs at least two" in notes
        assert "A radar chart needs at least three columns" in notes

    def test_one_column_each_takes_families_first(self, scores: ScoreCube) -> None:
        assert one_column_each(scores)[:3] == ["bad@1:all", "rms:all", "sze:all"]
        assert one_column_each(scores)[-1] == "bad@2:all"


class TestFiles:
    def test_tables_figures_and_scores_are_files(self, folder: Path, content: Content) -> None:
        for table in content.tables:
            assert (folder / "tables" / f"{table.name}.tex").read_text(encoding="utf-8") == latex_table(table)
            assert (folder / "tables" / f"{table.name}.csv").is_file()
        for figure in content.figures:
            assert (folder / "figures" / f"{figure.name}.png").stat().st_size > 5000
        lines = (folder / "scores.csv").read_text(encoding="utf-8").splitlines()
        assert len(lines) == 1 + 5 * 6 * 13

    def test_the_page_needs_nothing_from_outside(self, folder: Path) -> None:
        page = (folder / "report.html").read_text(encoding="utf-8")
        ours = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
        assert not re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', ours)
        assert not re.findall(r"url\((?!data:)", ours)

    def test_names_from_outside_are_escaped(self, folder: Path) -> None:
        page = (folder / "report.html").read_text(encoding="utf-8")
        ours = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
        assert "<b>SGM" not in page
        assert "&lt;b&gt;SGM&lt;/b&gt;" in ours
        assert "ours &lt;3" in ours
        assert 'href="javascript' not in page
        assert "Report &amp; &lt;test&gt;" in ours

    def test_protocol_failures_and_maker_are_named(self, folder: Path) -> None:
        page = (folder / "report.html").read_text(encoding="utf-8")
        assert "<pre>name = &#39;made-up&#39;</pre>" in page
        for words in ("1 evaluations failed", "Made for a test.", "0123456789abcdef"):
            assert words in page


class TestGalleries:
    def origins(self, folder: Path, calls: list[str]) -> Origins:
        scene = sg.Scene("box", gt=folder / "gt.pfm")

        def source(algorithm: str, name: str) -> Any:
            calls.append(algorithm)
            return folder / f"{algorithm}.pfm"

        return Origins(lambda name: scene, source, sg.load_protocol("default"))

    def cube(self, folder: Path) -> ScoreCube:
        scene = sg.Scene("box", gt=folder / "gt.pfm")
        maps = {name: {"box": folder / f"{name}.pfm"} for name in ("bad", "good")}
        dataset = sg.Dataset("made", [scene])
        return ScoreCube.of(sg.evaluate(maps, dataset, metrics=["bad@1", "rms"], regions=["all"]))

    def test_maps_stand_from_best_to_worst(self, map_folder: Path) -> None:
        calls: list[str] = []
        found, reasons = galleries(self.cube(map_folder), self.origins(map_folder, calls), ["bad@1"])
        assert reasons == []
        (entry,) = found
        assert entry.name == "box-bad-1"
        (_, _), (good, pictures), (bad, _) = entry.data.cards
        assert [heading.splitlines()[0] for heading in (good, bad)] == ["1. good", "2. bad"]
        assert pictures[1].shape == (60, 80, 3)  # a small image is shown whole
        assert good.splitlines()[2:] == ["rms:all: rank 1"]
        assert "data:image/webp" in to_html(build(self.cube(map_folder), OPTIONS, galleries=found))

    def test_the_truth_stands_in_front_and_a_legend_says_what_colours_mean(self, map_folder: Path) -> None:
        (entry,) = galleries(self.cube(map_folder), self.origins(map_folder, []), ["bad@1"])[0]
        assert entry.data.cards[0][0] == "above: ground truth"
        assert [heading.splitlines()[0] for heading, _ in entry.data.cards[1:]] == ["1. good", "2. bad"]
        meanings = [one.text for one in entry.data.legend]
        assert sum(text.startswith("disparity ") and text.endswith(" px") for text in meanings) == 3
        assert len(set(meanings)) == len(meanings) >= 5
        page = to_html(build(self.cube(map_folder), OPTIONS, galleries=[entry]))
        assert all(f"</i>{text}</span>" in page for text in meanings)

    def test_one_gallery_per_property_without_a_choice(self, map_folder: Path) -> None:
        found, _ = galleries(self.cube(map_folder), self.origins(map_folder, []))
        assert [entry.name for entry in found] == ["box-bad-1"]  # bad@1 and rms are both about accuracy

    def test_maps_that_are_gone_give_a_reason_instead_of_a_gallery(self, map_folder: Path, tmp_path: Path) -> None:
        found, reasons = galleries(self.cube(map_folder), self.origins(tmp_path, []), ["bad@1"])
        assert found == []
        assert "box by bad@1" in reasons[0]


def test_a_profile_is_described_as_it_is_meant_only_where_it_is_measured(scores: ScoreCube) -> None:
    mine = Profile("mine", "Mine", "Half and half.", {"rms": 0.5, "bad@1": 0.5})
    assert weights_in_force(mine, sg.rank(scores, "weighted", weights=mine.weights)) == "Half and half."
    more = Profile("more", "More", "A third each.", {"rms": 1 / 3, "bad@1": 1 / 3, "mae": 1 / 3})
    text = weights_in_force(more, sg.rank(scores, "weighted", weights=more.weights))
    assert "third" not in text
    assert "mae" in text
    assert "accuracy 100 %" in text


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_gives_tables_with_their_numbers(scores: ScoreCube, name: str) -> None:
    found = ANALYSES[name](scores, AnalysisOptions("bad@1", mark=("Census",)))
    tables = [one for one in found if isinstance(one, Table)]
    assert tables
    for table in tables:
        assert table.rows
        assert table.numeric


@pytest.mark.slow
def test_tables_compile_with_a_real_tex(folder: Path) -> None:
    compiler = shutil.which("pdflatex")
    if compiler is None:
        pytest.skip("no pdflatex on this machine")
    run = subprocess.run(
        [compiler, "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=folder / "tables",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout[-2000:]
    assert (folder / "tables" / "all.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.browser
def test_the_page_opens_from_a_file_offline_without_console_errors(folder: Path, tmp_path: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    chromium = os.environ.get("STEREOGAUGE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on this machine")
    problems: list[str] = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_context(offline=True, viewport={"width": 1280, "height": 900}).new_page()
        page.on(
            "console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(("file:", "data:", "blob:")) else problems.append(request.url)
            ),
        )
        page.goto((folder / "report.html").as_uri())
        page.wait_for_selector("body[data-ready=true]", timeout=60_000)
        assert page.title() == "Report & <test>"
        plots = page.locator(".plot")
        assert plots.count() >= 12
        assert page.locator(".plot svg.marks").count() >= plots.count()
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        heading = page.locator("#table-orders thead th").nth(1)
        heading.click()
        assert heading.get_attribute("aria-sort") == "ascending"
        shown = page.locator("#table-orders tbody tr td:nth-child(2)").all_inner_texts()
        assert [int(text.rstrip("*")) for text in shown] == sorted(int(text.rstrip("*")) for text in shown)
        for part in ("#table-scores-1", "#figure-a-star", "#figure-critical-difference", "#figure-bars-balanced"):
            picture = page.locator(part).screenshot(path=tmp_path / "part.png")
            assert distinct_colours(picture) > 20
        page.emulate_media(media="print")
        assert page.locator(".plot svg.marks").first.is_visible()
        assert not page.locator(".plot details").first.is_visible()
        browser.close()
    assert problems == []


def distinct_colours(picture: bytes) -> int:
    """An empty plot is one or two colours."""
    import cv2

    pixels = cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR)
    return len(np.unique(np.asarray(pixels).reshape(-1, 3), axis=0))


@pytest.mark.browser
def test_scores_are_numbers_and_are_sorted_as_numbers(folder: Path) -> None:
    for file in [folder / "report.html", *folder.rglob("*.csv")]:
        assert "np.float" not in file.read_text(encoding="utf-8"), file
    sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    chromium = os.environ.get("STEREOGAUGE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_context(offline=True).new_page()
        page.goto((folder / "report.html").as_uri())
        page.wait_for_selector("body[data-ready=true]", timeout=60_000)
        heading = page.locator("#table-scores-1 thead th").nth(1)
        for direction in ("ascending", "descending"):
            heading.click()
            assert heading.get_attribute("aria-sort") == direction
            shown = page.locator("#table-scores-1 tbody tr td:nth-child(2)").all_inner_texts()
            values = [float(re.sub(r"[^0-9.eE+-]", "", text)) for text in shown]
            assert len(set(values)) > 3
            assert max(values) >= 10 > min(values), "sorted as text these would stand in another order"
            assert values == sorted(values, reverse=direction == "descending")
        browser.close()


def test_a_metric_that_was_not_measured_is_no_misspelling() -> None:
    problem = unknown_name("metric of these scores", "rms:all", ["mae"])
    assert reason_text(problem) == "rms:all was not measured; evaluate with --metrics rms:all."
    other = unknown_name("model", "x", ["y"])
    assert reason_text(other) == str(other)


@pytest.mark.browser
def test_names_under_pictures_fit_on_a_narrow_page_and_no_card_stands_alone() -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    chromium = os.environ.get("STEREOGAUGE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on this machine")
    style = (Path(content_module.__file__).parent / "assets" / "page.css").read_text(encoding="utf-8")
    pictures = "".join(f"<div><img><span>Motorcycle{letter}: 14.5 %</span></div>" for letter in "ABCDEFGH")
    cards = '<div class="card"><p>5. OpenCV SGBM<br>rms:disc-background: rank 5</p></div>' * 6
    body = f'<div class="row" style="--columns: 8">{pictures}</div><div class="cards">{cards}</div>'
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 700, "height": 900})
        page.set_content(f"<style>{style}</style><main>{body}</main>")
        wide = "[...document.querySelectorAll('.row div')].map(e => e.scrollWidth - e.clientWidth)"
        tops = "new Set([...document.querySelectorAll('SELECTOR')].map(e => e.getBoundingClientRect().top)).size"
        assert max(page.evaluate(wide)) == 0, "no name runs into the next one"
        page.set_viewport_size({"width": 1400, "height": 900})
        assert page.evaluate(tops.replace("SELECTOR", ".row div")) == 1
        assert page.evaluate(tops.replace("SELECTOR", ".card")) == 1, "ground truth and five algorithms in one row"
        browser.close()
