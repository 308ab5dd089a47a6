"""Only where it is sure: error over density, scores with their coverage, tags and weights, on the API and the page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from tests.web.small import PROTOCOL, SCENES, estimates, serving_store, truth, write_dataset, write_results
from tests.web.visitor import BROWSER, Visitor

import stereogauge as sg
from stereogauge import open_store, write_disparity
from stereogauge.evaluation.run import make_plan, run_plan
from stereogauge.metrics.declaration import COUNTS
from stereogauge.metrics.registry import metrics

TAGS = {"good": {"technique": "global"}, "rough": {"technique": "learned", "trained-on": ["here", "there"]}}


def doubt(place: int) -> np.ndarray:
    error = np.abs(estimates(place)["rough"] - np.nan_to_num(truth(place), nan=5.0))
    return (error + np.random.default_rng(place).random(error.shape)).astype(np.float32)


@pytest.fixture(scope="module")
def sure_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The small store; `rough` brings confidence maps, some algorithms and scenes have tags, one scene is hidden."""
    folder = tmp_path_factory.mktemp("sure")
    data = write_dataset(folder / "data")
    manifest = folder / "data" / "stereogauge.toml"
    manifest.write_text(manifest.read_text() + '[tags]\nweather = { alpha = "rain", beta = "sun", gamma = "sun" }\n')
    data = sg.load_dataset("folder", folder / "data")
    results = []
    for result in write_results(folder / "results"):
        confidence: dict[str, Path] = {}
        if result.name == "rough":
            for place, scene in enumerate(SCENES):
                confidence[scene] = folder / "doubt" / f"{scene}.pfm"
                confidence[scene].parent.mkdir(exist_ok=True)
                write_disparity(confidence[scene], doubt(place))
        results.append(
            sg.ResultSet(
                result.name,
                result.maps,
                confidence=confidence,
                confidence_better="lower",
                tags=TAGS.get(result.name, {}),
            )
        )
    with open_store(folder / "s.sqlite") as store:
        run_plan(make_plan(store, data, results, PROTOCOL), store)
        with serving_store(store, ("gamma",)) as base:
            yield base


def asked(base: str, question: str) -> Any:
    return httpx.get(f"{base}/api/v1/{question}", timeout=60).json()


def test_curves_are_the_librarys_on_public_scenes(sure_site: str) -> None:
    answer = asked(sure_site, "density?column=rms:all&algorithms=good&algorithms=rough")
    assert answer["scenes"] == ["alpha", "beta"]  # gamma is hidden
    assert "rms:all" in answer["columns"]
    scenes = [sg.Scene(name, gt=truth(place)) for place, name in enumerate(SCENES[:2])]
    results = [
        sg.ResultSet("good", {name: estimates(place)["good"] for place, name in enumerate(SCENES[:2])}),
        sg.ResultSet(
            "rough",
            {name: estimates(place)["rough"] for place, name in enumerate(SCENES[:2])},
            confidence={name: doubt(place) for place, name in enumerate(SCENES[:2])},
            confidence_better="lower",
        ),
    ]
    found = sg.error_density(results, scenes, "rms", "all", PROTOCOL, steps=10)
    drawn = [row for row in answer["figure"]["data"]["values"] if row["algorithm"] == "rough" and not row["whole"]]
    assert [row["value"] for row in drawn] == pytest.approx(found.curves["rough"].tolist())
    assert answer["curves"] == 1
    cells = {row["algorithm"]: row["cells"] for row in answer["rows"]}
    assert cells["rough"][1]["value"] == pytest.approx(found.points["rough"].value)
    assert "good: a point only, since it brings no confidence map" in answer["notes"]


def test_what_has_no_curve_is_told(sure_site: str) -> None:
    assert "can be measured on part of a map" in asked(sure_site, "density?metrics=psnr")["note"]
    assert asked(sure_site, "density?scenes=gamma")["note"] == "The ground truth of these scenes is hidden."
    assert httpx.get(f"{sure_site}/api/v1/density?column=psnr:all", timeout=60).status_code == 422


def test_nothing_is_ordered_where_values_are_needed_only_where_sure(sure_site: str) -> None:
    for call in ("rank", "significance", "stability"):
        refused = httpx.get(f"{sure_site}/api/v1/{call}?need=sure", timeout=60)
        assert refused.status_code == 422
        assert "make no order" in refused.json()["detail"]
    table = asked(sure_site, "table?need=sure&scenes=alpha")
    for place, column in enumerate(table["columns"]):
        left_out = metrics()[column["metric"].partition("@")[0]].left_out("count")
        assert bool(column["best"]) != left_out, column["id"]
        assert all((row[place] is None) == left_out for row in table["ranks"])
    assert not any(any(row) for row in table["faint"])


def test_tags_select_algorithms_and_scenes(sure_site: str) -> None:
    table = asked(sure_site, "table?algorithms=tag:trained-on=there&algorithms=biased&scenes=tag:weather=sun")
    assert table["algorithms"] == ["rough", "biased"]
    assert table["scenes"] == ["beta", "gamma"]
    entries = {one["name"]: one["tags"] for one in asked(sure_site, "algorithms")}
    assert entries["rough"] == {"technique": ["learned"], "trained-on": ["here", "there"]}
    assert {one["name"]: one["tags"] for one in asked(sure_site, "scenes")}["alpha"] == {"weather": ["rain"]}
    refused = httpx.get(f"{sure_site}/api/v1/rank?algorithms=tag:technique=magic", timeout=60)
    assert refused.status_code == 422
    assert "known are: global, learned" in refused.json()["detail"]


def test_infinity_is_a_text_in_every_answer(sure_site: str, tmp_path: Path) -> None:
    """A perfect map has an infinite PSNR; null would say that it has none."""
    entry = next(one for one in asked(sure_site, "catalogue")["metrics"] if one["id"] == "rms")
    assert entry["range"] == [0.0, "inf"]
    scores = sg.evaluate(
        {"perfect": truth(0), "good": estimates(0)["good"]}, sg.Scene("alpha", gt=truth(0)), ["psnr"], ["all"], PROTOCOL
    )
    assert math.isinf(scores.value("psnr", algorithm="perfect"))
    with open_store(tmp_path / "s.sqlite") as store:
        store.write(scores)
        with serving_store(store) as base:
            table = asked(base, "table?column=psnr:all")
            assert table["values"][0] == ["inf"]
            assert table["scene_column"]["values"][0] == ["inf"]
            pair = asked(base, "significance?first=perfect&second=good&column=psnr:all")["pair"]
            assert pair["scenes"][0]["first"] == "inf"


def test_the_catalogue_says_what_is_counted(sure_site: str) -> None:
    found = {one["id"]: one["counts"] for one in asked(sure_site, "catalogue")["metrics"]}
    assert found == {name: COUNTS[metric.counts] for name, metric in metrics().items()}


class TestInTheBrowser:
    pytestmark = BROWSER

    def test_a_visitor_asks_for_sure_values_by_tag_and_sees_what_weights_mean(
        self, chromium: Any, sure_site: str
    ) -> None:
        context = chromium.new_context(viewport={"width": 1400, "height": 900})
        visitor = Visitor(context.new_page(), sure_site).go("#compare?regions=all&metrics=rms&metrics=bad@1")
        page = visitor.page
        assert visitor.texts("#weights-mean tr[data-term='rms'] td")[1] == "50.0 %"
        said = page.inner_text("#steadiness")
        assert "would lead" in said or "No other weight" in said
        visitor.choose("algorithms")
        page.click("[data-tag='algorithms:technique=learned']")
        visitor.ready()
        assert "algorithms=rough" in page.url
        page.click("[data-tag='algorithms:technique=learned']")
        visitor.ready()
        assert "algorithms=" not in page.url
        page.keyboard.press("Escape")
        visitor.choose("need", "need:sure")
        assert page.locator("#equal-density [data-density='rough']").count() == 1
        assert page.locator(".bars").count() == 0
        assert "make no order" in page.inner_text("#only-equal")
        assert page.locator("#density-chart .mark-symbol").count() > 0
        visitor.go("#leaderboard?regions=all&metrics=rms&need=sure")
        assert page.locator("[data-unranked='rough'] td .pm").count() > 0
        assert "100 %" in page.inner_text("[data-unranked='rough']")
        assert visitor.complaints == []
        context.close()
