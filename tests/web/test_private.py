"""An unpublished submission: its owner sees everything of it in API and page; to all others it does not exist."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from tests.web import uploads
from tests.web.small import SHAPE, truth
from tests.web.submitters import Benchmark, SameProcess, benchmark_on
from tests.web.test_scenes import decoded
from tests.web.visitor import BROWSER, Visitor

from stereogauge import open_store
from stereogauge.figures.pictures import render_disparity
from stereogauge.web.hiding import coarse

NAME, ERROR = "not yet public", 1.5
ESTIMATE = np.asarray(np.nan_to_num(truth(0), nan=5) + ERROR, np.float32)
SURE = np.random.default_rng(0).random(SHAPE).astype(np.float32)
QUESTIONS = (
    "scenes/alpha/about",
    f"scenes/alpha/layers/estimate.png?algorithm={NAME}",
    f"scenes/alpha/layers/error.png?algorithm={NAME}&region=nonocc&crop=4,4,16&width=64",
    f"scenes/alpha/layers/error?algorithm={NAME}",
    f"scenes/alpha/layers/metric.png?algorithm={NAME}&metric=bad@1",
    f"scenes/alpha/layers/contrast.png?algorithm=good&other={NAME}&metric=bad@1:nonocc",
    f"scenes/alpha/layers/confidence.png?algorithm={NAME}&metric=own&density=0.5",
    f"scenes/alpha/pixel?x=30&y=20&algorithms={NAME}",
    f"scenes/alpha/blocks?algorithm={NAME}&metric=rms&region=nonocc",
    f"scenes/alpha/contrast?first=good&second={NAME}&column=bad@1:nonocc",
    f"scenes/alpha/objects?algorithms={NAME}",
    f"scenes/alpha/cloud?algorithm={NAME}",
    f"explain?first=good&second={NAME}&profile=balanced&missing=drop-column",
    "table?regions=all",
    "rank.csv?regions=all",
    "confidence?scene=alpha",
    "density?regions=nonocc&metrics=bad@1",
    "significance?regions=all",
    "correlation?regions=all&scatter=rms:all~bad@1:all",
    f"histogram?metric=rms:all&mark={NAME}",
    "stability?regions=all",
)


@pytest.fixture(scope="module")
def bench(small_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Benchmark]:
    """A site with a finished and unpublished submission of ada's; scene beta is hidden."""
    folder = tmp_path_factory.mktemp("private")
    shutil.copy(small_store, folder / "scores.sqlite")
    with (
        open_store(folder / "scores.sqlite") as store,
        benchmark_on(store, folder / "submissions", make_worker=SameProcess) as one,
    ):
        yield one


@pytest.fixture(scope="module")
def own(bench: Benchmark) -> str:
    """The id of the submission."""
    files = {**uploads.maps(ERROR), "confidence/own/alpha.pfm": uploads.pfm(SURE)}
    done = bench.outcome(uploads.zipped(files), NAME)
    assert done["state"] == "done", done
    return str(done["id"])


def with_own(question: str, identifier: str) -> str:
    return f"{question}{'&' if '?' in question else '?'}submission={identifier}"


@pytest.mark.parametrize("question", QUESTIONS)
def test_its_owner_gets_every_answer_and_nobody_keeps_it(bench: Benchmark, own: str, question: str) -> None:
    answer = bench.call("GET", with_own(question, own))
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "private, no-store"
    assert "etag" not in answer.headers
    unknown = bench.call("GET", with_own(question, "0" * 24), "bob")
    for refused in (
        bench.call("GET", with_own(question, own), "bob"),
        bench.call("GET", with_own(question, own), "sg_nonsense"),
        httpx.get(bench.base + with_own(question, own)),
        unknown,
    ):
        assert refused.status_code == 404
        assert refused.json() == unknown.json()
        assert refused.headers["cache-control"] == "private, no-store"
    bench.taken.tokens._failures.clear()  # tokens are guessed here more often than anybody may
    public = httpx.get(bench.base + question)
    assert NAME not in public.text or "Unknown" in public.text  # a refusal quotes the name that was asked for


def test_pictures_and_pixels_are_those_of_its_maps(bench: Benchmark, own: str) -> None:
    params = {"algorithm": NAME, "submission": own}
    limits = (float(np.nanmin(truth(0))), float(np.nanmax(truth(0))))
    picture = decoded(bench.call("GET", "scenes/alpha/layers/estimate.png", params=params))
    np.testing.assert_array_equal(picture, render_disparity(ESTIMATE, limits))
    asked = {"x": 30, "y": 20, "algorithms": ["good", NAME], "submission": own}
    good, mine = bench.call("GET", "scenes/alpha/pixel", params=asked).json()["estimates"]
    assert mine["disparity"] == float(ESTIMATE[20, 30])
    assert mine["error"] == pytest.approx(ERROR, abs=1e-5)
    assert good["disparity"] is not None
    about = bench.call("GET", "scenes/alpha/about", params={"submission": own}).json()
    assert NAME in about["algorithms"]
    assert about["confidence"] == [NAME]
    curves = bench.call("GET", "confidence", params={"scene": "alpha", "submission": own}).json()["curves"]
    assert [(curve["algorithm"], curve["measure"]) for curve in curves] == [(NAME, "own")]
    question = {"regions": "nonocc", "metrics": "bad@1"}
    density = bench.call("GET", "density", params={**question, "submission": own}).json()
    assert NAME in [row["algorithm"] for row in density["rows"]]
    assert NAME in [row["algorithm"] for row in density["figure"]["data"]["values"]]
    public = bench.call("GET", "density", params=question).json()["rows"]
    assert [row for row in density["rows"] if row["algorithm"] != NAME] == public


def test_what_is_hidden_stays_hidden_from_its_owner(bench: Benchmark, own: str) -> None:
    params: dict[str, Any] = {"algorithm": NAME, "submission": own}
    for question in ("layers/error.png", "layers/signed.png", "layers/metric.png", "blocks"):
        refused = bench.call("GET", f"scenes/beta/{question}", params={"metric": "rms", **params})
        assert refused.status_code == 403, question
    picture = decoded(bench.call("GET", "scenes/beta/layers/estimate.png", params=params))
    shown = coarse(np.asarray(np.nan_to_num(truth(1), nan=5) + ERROR, np.float32))
    np.testing.assert_array_equal(picture, render_disparity(shown, (0.0, 24.0)))
    asked = {"x": 30, "y": 20, "algorithms": NAME, "submission": own}
    pixel = bench.call("GET", "scenes/beta/pixel", params=asked).json()
    assert (pixel["truth"], pixel["estimates"][0]["error"]) == (None, None)


def test_a_new_version_stands_beside_the_published_one(bench: Benchmark) -> None:
    first = bench.outcome(uploads.good(0.25), "mine")["id"]
    assert bench.call("POST", f"submissions/{first}/publish").status_code == 200
    second = bench.outcome(uploads.good(0.5), "mine")["id"]
    names = ["mine", "mine (submitted)"]
    asked = {"x": 30, "y": 20, "algorithms": names, "submission": second}
    found = bench.call("GET", "scenes/alpha/pixel", params=asked).json()["estimates"]
    assert [one["error"] for one in found] == pytest.approx([0.25, 0.5], abs=1e-5)
    assert set(names) <= set(bench.call("GET", f"scenes/alpha/about?submission={second}").json()["algorithms"])
    public = httpx.get(bench.base + "scenes/alpha/pixel", params={"x": 30, "y": 20, "algorithms": names}).json()
    assert [one["disparity"] is None for one in public["estimates"]] == [False, True]
    assert bench.call("POST", f"submissions/{second}/publish").status_code == 200
    after = bench.call("GET", f"scenes/alpha/about?submission={second}").json()["algorithms"]
    assert "mine" in after
    assert "mine (submitted)" not in after
    assert bench.call("DELETE", f"submissions/{second}").status_code == 204
    assert bench.call("GET", f"scenes/alpha/about?submission={second}").status_code == 404


@pytest.mark.browser
class TestInThePage:
    """The way from the link in the leaderboard to the pixels."""

    pytestmark = BROWSER

    def test_its_owner_sees_it_from_the_leaderboard_to_the_pixels(
        self, chromium: Any, bench: Benchmark, own: str
    ) -> None:
        base = bench.base.removesuffix("/api/v1/")
        context = chromium.new_context(viewport={"width": 1400, "height": 900})
        visitor = Visitor(context.new_page(), base)
        refused: list[str] = []
        visitor.page.on("response", lambda one: refused.append(one.url) if one.status >= 400 else None)
        visitor.go(f"#leaderboard?submission={own}&regions=nonocc&metrics=bad%401&scenewise=open")
        assert "You have no such submission" in visitor.page.inner_text("#content")
        visitor.page.click("text=Give your token")
        visitor.page.fill("#token", bench.tokens["ada"])
        visitor.page.click("#use-token")
        visitor.page.click("td:has-text('done') ~ td button")
        visitor.page.click("text=see it in the leaderboard")
        refused.clear()
        visitor.page.wait_for_selector(f'tr[data-algorithm="{NAME}"]')
        visitor.go(f"#leaderboard?submission={own}&regions=nonocc&metrics=bad%401&scenewise=open")
        visitor.page.click(f'tr[data-algorithm="{NAME}"] button.cell[data-scene="alpha"]')
        visitor.page.wait_for_selector("[data-pane='1'][data-loaded]")
        visitor.ready()
        assert visitor.texts(".pane-foot")[0].startswith(NAME)
        assert f"bad@1:nonocc of {NAME}" in visitor.page.inner_text("#carried")
        visitor.page.wait_for_selector("#blocks li")
        visitor.page.focus("[data-pane='0'] canvas")
        visitor.page.keyboard.press("+")
        visitor.page.wait_for_selector("#inspector [data-error]")
        row = visitor.page.locator("#inspector tbody tr", has_text=NAME)
        assert float(row.locator("[data-error]").get_attribute("data-error")) == pytest.approx(ERROR, abs=1e-5)
        visitor.go(f"#versus?submission={own}&first=good&second={NAME.replace(' ', '+')}&missing=drop-column")
        # Pictures below the window load when they are scrolled to, and have no size before.
        visitor.page.wait_for_selector("#contrast img", state="attached")
        visitor.page.wait_for_selector("#crops img >> nth=5", state="attached")
        for part in ("#contrast img", "#crops img"):
            all_shown = f"[...document.querySelectorAll('{part}')].every((one) => one.complete && one.naturalWidth > 0)"
            visitor.page.eval_on_selector_all(part, "all => all.forEach(one => one.scrollIntoView())")
            visitor.until(all_shown)
        visitor.go(f"#compare?submission={own}&regions=nonocc&metrics=bad%401&density=open")
        visitor.page.wait_for_selector(f'#equal-density [data-density="{NAME}"]')
        assert refused == []
        assert visitor.complaints == []
        context.close()
