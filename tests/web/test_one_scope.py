"""One scope: every answer about a data set is about that data set, and a score has one value on every surface."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import httpx
import numpy as np
import pytest
from tests.web.small import PROTOCOL, SHAPE, make_store, serving_store, truth
from tests.web.visitor import BROWSER, Visitor

from stereogauge import ResultSet, load_dataset, open_store, write_disparity
from stereogauge.evaluation.run import make_plan, run_plan

FILLED = PROTOCOL.replace(name="filled", invalid="fill", metrics=["bad@1", "rms"], regions=["all"])
WEIGHED = PROTOCOL.replace(
    name="by-scene", metrics=["bad@1", "rms"], regions=["all"], aggregation="weighted", scene_weights={"alpha": 3.0}
)
MANIFEST = 'name = "{name}"\n[paths]\nground_truth = "{{scene}}/disp.pfm"\nleft = "{{scene}}/left.png"\n'
NAMES = ("good", "rough", "Smith et al.", "مطابق")
"""Names that end a sentence, and that are written from right to left."""


def add(folder: Path, name: str, scenes: tuple[str, ...], protocol: Any, shade: int) -> None:
    """Another dataset in the store of the folder; its scenes have the given ids and a left image of one shade."""
    maps: dict[str, dict[str, Path]] = {}
    for place, scene in enumerate(scenes):
        (folder / name / scene).mkdir(parents=True)
        write_disparity(folder / name / scene / "disp.pfm", truth(place))
        cv2.imwrite(str(folder / name / scene / "left.png"), np.full((*SHAPE, 3), shade, np.uint8))
        for number, own in enumerate(NAMES):
            path = folder / f"{name}-{number}" / f"{scene}.pfm"
            path.parent.mkdir(exist_ok=True)
            noise = np.random.default_rng([place, number]).normal(0, 0.3 + 0.4 * number, SHAPE)
            write_disparity(path, np.asarray(np.nan_to_num(truth(place), nan=5.0) + noise, np.float32))
            maps.setdefault(own, {})[scene] = path
    (folder / name / "stereogauge.toml").write_text(MANIFEST.format(name=name), encoding="utf-8")
    results = [ResultSet(own, paths) for own, paths in maps.items()]
    with open_store(folder / "small.sqlite") as store:
        run_plan(make_plan(store, load_dataset("folder", folder / name), results, protocol), store)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three datasets: two share the id `alpha`, one has filled holes, one weighs its scenes."""
    made = tmp_path_factory.mktemp("several")
    make_store(made)
    add(made, "filled", ("alpha", "delta"), FILLED, 40)
    add(made, "weighed", ("alpha", "beta", "gamma", "delta", "epsilon", "zeta"), WEIGHED, 200)
    return made


@pytest.fixture(scope="module")
def base(folder: Path) -> Iterator[str]:
    with (
        open_store(folder / "small.sqlite", read_only=True) as store,
        serving_store(store) as address,
    ):
        yield address


@pytest.fixture(scope="module")
def client(base: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{base}/api/v1/", timeout=60) as one:
        yield one


def test_every_pixel_answers_for_the_data_set_that_was_asked_for(client: httpx.Client) -> None:
    refused = client.get("answer", params={"dataset": "small", "need": "every-pixel", "profile": "balanced"})
    assert refused.status_code == 422
    assert "small" in refused.json()["detail"]
    assert "invalid=fill" in refused.json()["detail"]
    asked = {"dataset": "filled", "need": "every-pixel", "weights": ["bad@1=1", "rms=1"]}
    answer = client.get("answer", params=asked).json()
    assert set(answer["scenes"]) == {"alpha", "delta"}
    pair = {"first": "good", "second": "rough"}
    assert client.get("explain", params=asked | pair).json()["scores"][0] == pytest.approx(answer["places"][0]["score"])


def test_scenes_with_one_id_in_two_data_sets_are_two_scenes(client: httpx.Client) -> None:
    pictures = {}
    for name, shade in (("filled", 40), ("weighed", 200)):
        about = client.get("scenes/alpha/about", params={"dataset": name}).json()
        assert about["dataset"] == name
        data = client.get("scenes/alpha/layers/left.png", params={"dataset": name}).content
        pictures[name] = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE)
        assert (pictures[name] == shade).all()
    assert client.get("scenes/delta/about", params={"dataset": "small"}).status_code == 422


def test_a_site_opens_on_the_data_set_with_most_maps_of_what_is_measured(client: httpx.Client) -> None:
    names = [one["name"] for one in client.get("datasets").json()]
    assert names.index("weighed") < names.index("filled")  # the same metrics on six scenes and on two


def test_one_score_in_every_answer_and_the_protocols_own_aggregation(client: httpx.Client) -> None:
    scope = {"dataset": "weighed", "weights": ["bad@1=1", "rms=1"]}
    answer = client.get("answer", params=scope).json()
    scores = {one["algorithm"]: one["score"] for one in answer["places"]}
    rank = client.get("rank", params=scope | {"model": "weighted"}).json()
    assert {row["algorithm"]: pytest.approx(row["value"]) for row in rank["rows"]} == scores
    why = client.get("explain", params=scope | {"first": "good", "second": "rough"}).json()
    assert why["scores"] == pytest.approx([scores["good"], scores["rough"]])
    assert client.get("significance", params=scope).json()["of"] == "weighted score"
    # Scenes are weighed as the protocol says, in tables and in curves; another way is one parameter.
    own, mean = (
        client.get("table", params={"dataset": "weighed"} | more).json() for more in ({}, {"aggregation": "mean"})
    )
    assert own["aggregation"] == "weighted"
    assert own["values"] != mean["values"]
    density = client.get("density", params={"dataset": "weighed", "column": "bad@1:all", "need": "sure"}).json()
    place = [column["id"] for column in own["columns"]].index("bad@1:all")
    good = next(row for row in density["rows"] if row["algorithm"] == "good")
    assert own["values"][own["algorithms"].index("good")][place] in [
        pytest.approx(cell["value"]) for cell in good["cells"] if cell["value"] is not None
    ]


@pytest.mark.parametrize("how", [None, "mean", "pooled", "weighted"])
def test_the_total_score_follows_the_aggregation_as_the_columns_do(
    client: httpx.Client, folder: Path, how: str | None
) -> None:
    scope = {"dataset": "weighed", "weights": ["bad@1=1"]} | ({"aggregation": how} if how else {})
    table = client.get("table", params=scope).json()
    place = [column["id"] for column in table["columns"]].index("bad@1:all")
    values = {name: row[place] for name, row in zip(table["algorithms"], table["values"], strict=True)}
    answer = client.get("answer", params=scope).json()
    scores = {one["algorithm"]: one["score"] for one in answer["places"]}
    assert scores["good"] / scores["rough"] == pytest.approx(values["good"] / values["rough"])
    rank = client.get("rank", params=scope | {"model": "weighted"}).json()
    assert {row["algorithm"]: row["value"] for row in rank["rows"]} == pytest.approx(scores)
    why = client.get("explain", params=scope | {"first": "good", "second": "rough"}).json()
    assert why["scores"] == pytest.approx([scores["good"], scores["rough"]])
    assert sum(one["amount"] for one in why["scenes"]) == pytest.approx(scores["good"] - scores["rough"])
    words = ["answer", str(folder / "small.sqlite"), "--dataset", "weighed", "--weight", "bad@1=1", "--format", "json"]
    words += [] if how is None else ["--aggregation", how]
    done = subprocess.run([sys.executable, "-m", "stereogauge", *words], capture_output=True, text=True, check=True)
    assert {one["algorithm"]: one["score"] for one in json.loads(done.stdout)["places"]} == pytest.approx(scores)


def test_a_data_set_without_the_usual_measures_still_has_a_purpose(client: httpx.Client) -> None:
    scope = client.get("scope", params={"dataset": "filled"}).json()
    assert scope["purpose"]["profile"] is None
    weights = [f"{term}={weight}" for term, weight in scope["purpose"]["weights"].items()]
    answer = client.get("answer", params={"dataset": "filled", "weights": weights}).json()
    assert answer["leader"] == "good"
    assert answer["measured_share"] == 1
    # The visitor stated none of these weights, so the words are those of the purpose.
    assert answer["headline"].startswith("For accuracy as measured, ")
    own = client.get("answer", params={"dataset": "filled", "weights": weights[:1]}).json()
    assert own["headline"].startswith("With these weights, ")


def test_a_rank_that_the_answer_does_not_give_is_in_brackets(client: httpx.Client) -> None:
    asked = {"dataset": "small", "weights": ["rms=1"], "missing": "drop-algorithm"}
    need = {"need": "0.95"}  # one map lacks a tenth of its pixels
    answer = client.get("answer", params=asked | need).json()
    rank = client.get("rank", params=asked | need | {"model": "weighted"}).json()
    placed, ranked = ({one["algorithm"] for one in rows} for rows in (answer["places"], rank["rows"]))
    assert placed < ranked
    assert set(rank["not_considered"]) == ranked - placed
    reasons = [claim["texts"]["reason"] for claim in answer["unknown_claims"] if claim["kind"] == "not-compared"]
    assert set(rank["not_considered"].values()) <= set(reasons)
    assert client.get("rank", params=asked | {"model": "extended"}).json()["not_considered"] == {}


def test_a_region_without_pixels_is_not_called_right(client: httpx.Client) -> None:
    asked = {"dataset": "small", "algorithm": "good", "region": "near&far"}
    found = client.get("scenes/alpha/blocks", params=asked)
    assert found.status_code == 422
    assert found.json()["detail"]


def test_names_are_parts_of_a_headline(client: httpx.Client) -> None:
    asked = {"dataset": "weighed", "weights": ["bad@1=1"], "algorithms": ["Smith et al.", "مطابق"]}
    answer = client.get("answer", params=asked).json()
    named = {part["text"] for parts in answer["parts"] for part in parts if part["name"]}
    assert named <= set(NAMES)
    assert "Smith et al." in named
    assert "".join(part["text"] for part in answer["parts"][0]) == answer["headline"]


class TestPages:
    """The same in a browser."""

    pytestmark = BROWSER

    @pytest.fixture
    def visitor(self, chromium: Any, base: str) -> Iterator[Visitor]:
        context = chromium.new_context(viewport={"width": 1400, "height": 900})
        context.add_init_script("localStorage.setItem('stereogauge-tour', 'seen')")
        one = Visitor(context.new_page(), base)
        yield one
        assert one.complaints == []
        context.close()

    def test_fifty_numbers_are_those_of_the_command_line(self, visitor: Visitor, folder: Path) -> None:
        store = str(folder / "small.sqlite")

        def said(*arguments: str) -> Any:
            command = [sys.executable, "-m", "stereogauge", *arguments, "--format", "json"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            return json.loads(done.stdout)

        compared = 0
        visitor.go("#leaderboard?dataset=small&missing=worst")
        cells = visitor.page.eval_on_selector_all(
            "#board td[data-column][data-full]",
            "all => all.map(one => [one.closest('tr').dataset.algorithm ?? one.closest('tr').dataset.unranked,"
            " one.dataset.column, Number(one.dataset.full)])",
        )
        table = said("table", store, "--dataset", "small")["scores"]
        places = [name.split(" ")[0] for name in table["header"]]
        printed = {(row[0], column): value for row in table["rows"] for column, value in zip(places, row, strict=True)}
        for algorithm, column, value in cells:
            if isinstance(printed[algorithm, column], float):
                assert value == pytest.approx(printed[algorithm, column]), (algorithm, column)
                compared += 1
        visitor.go("#answer?dataset=weighed&weights=bad%401%3D1&weights=rms%3D1")
        shown = visitor.page.eval_on_selector_all(
            "#places tr[data-place]",
            "all => all.map(one => [one.dataset.place, Number(one.querySelector('[data-full]').dataset.full)])",
        )
        answer = said("answer", store, "--dataset", "weighed", "--weight", "bad@1=1", "--weight", "rms=1")
        assert dict(shown) == {one["algorithm"]: pytest.approx(one["score"]) for one in answer["places"]}
        assert compared + len(shown) >= 50

    def test_a_visit_to_another_page_changes_no_score(self, visitor: Visitor) -> None:
        scores = "#places td[data-full]"
        visitor.go("#answer?dataset=small")
        before = visitor.texts(scores)
        for page in ("Leaderboard", "Compare", "Metrics", "Answer"):
            visitor.page.click(f"#views >> text={page}")
            visitor.ready()
            assert "regions=" not in visitor.page.url
        assert visitor.texts(scores) == before

    def test_hostile_names_stay_in_place(self, visitor: Visitor) -> None:
        visitor.go("#compare?dataset=weighed")
        assert visitor.page.locator("bdi", has_text="مطابق").count() > 0
        visitor.go("#algorithm?dataset=weighed&name=Nobody")
        assert "There is no algorithm called Nobody" in visitor.page.inner_text("#content")
        ids = visitor.page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
        assert len(ids) == len(set(ids))

    @pytest.mark.parametrize(
        ("address", "said"),
        [
            ("#versus?dataset=weighed&first=Nobody", "no algorithm called Nobody"),
            ("#compare?dataset=weighed&second=Nobody", "no algorithm called Nobody"),
            ("#metrics?dataset=weighed&mark=Nobody", "no algorithm called Nobody"),
            ("#leaderboard?dataset=weighed&column=bad@7:all", "no column called bad@7:all"),
            ("#metrics?dataset=weighed&plot=rms:all&plot=bad@7:all", "no column called bad@7:all"),
            ("#leader?dataset=weighed", "no page called leader"),
        ],
    )
    def test_names_that_are_not_here_are_not_replaced_silently(self, visitor: Visitor, address: str, said: str) -> None:
        visitor.go(address)
        assert said in visitor.page.inner_text("#strays")
        assert "others are shown" in visitor.page.inner_text("#strays")
        visitor.choose("dataset")
        visitor.page.locator("#sheet [data-part=dataset] input:not(:checked)").first.click()
        visitor.ready()
        assert visitor.page.inner_text("#strays") == ""

    def test_a_phone_has_one_button_and_short_rows(self, visitor: Visitor) -> None:
        visitor.page.set_viewport_size({"width": 390, "height": 800})
        visitor.go("#leaderboard?dataset=weighed")
        assert visitor.page.locator("#question .part:visible").count() == 0
        visitor.page.click("#question-all")
        assert visitor.page.locator("#sheet fieldset:visible").count() == 8
        visitor.page.keyboard.press("Escape")
        row = "#board tr[data-algorithm=good]"
        height = f"document.querySelector('{row}')?.getBoundingClientRect().height"
        visitor.until(f"{height} > 0")
        short = visitor.page.evaluate(height)
        visitor.page.click(f"{row} .expand")
        visitor.until(f"{height} > {2 * short}")
        visitor.page.evaluate("dispatchEvent(new Event('hashchange'))")
        visitor.ready()
        visitor.until(f"{height} > {2 * short}")

    def test_a_chart_is_taken_away_with_its_caption(self, visitor: Visitor) -> None:
        visitor.go("#compare?dataset=weighed&aggregation=mean")
        visitor.page.wait_for_selector("[data-take=critical-difference] button")
        for form, sign in (("SVG", "weighed"), ("CSV", "protocol by-scene"), ("PNG", None)):
            with visitor.page.expect_download() as waiting:
                visitor.page.click(f"[data-take=critical-difference] button:text-is('{form}')")
            data = Path(waiting.value.path()).read_bytes()
            assert data[:4] == b"\x89PNG" if sign is None else sign in data.decode()

    def test_only_weighs_one_property_and_the_purpose_says_so(self, visitor: Visitor) -> None:
        visitor.go("#answer?dataset=small&profile=balanced")
        visitor.page.wait_for_selector("#why [data-term]")
        slider = visitor.page.locator("#why [data-weight=rms]")
        slider.focus()
        visitor.page.keyboard.press("End")
        visitor.until("location.hash.includes('weights=')")
        visitor.ready()
        assert "my own weights" in visitor.page.inner_text("[data-open=purpose]")
        visitor.page.wait_for_selector("#why [data-term=rms]")
        assert visitor.page.evaluate("document.activeElement.dataset.weight") == "rms"

    def test_captions_say_how_scenes_become_a_total_score(self, visitor: Visitor) -> None:
        visitor.go("#answer?dataset=weighed&weights=bad%401%3D1")
        assert "as the protocol (weighted)" in visitor.page.inner_text('[data-open="aggregation"]')
        assert "6 scenes, weighted" in visitor.page.inner_text("#answer .take .caption")
        visitor.go("#leaderboard?dataset=weighed&weights=bad%401%3D1")
        assert "Scenes count by the protocol's weights." in visitor.page.inner_text("#notes")
        visitor.go("#leaderboard?dataset=weighed&weights=bad%401%3D1&aggregation=pooled")
        assert "Scenes count by their pixels." in visitor.page.inner_text("#notes")

    def test_a_heading_gives_no_reason_for_a_difference_that_may_be_chance(self, visitor: Visitor) -> None:
        visitor.go("#versus?dataset=filled&first=good&second=rough")
        assert visitor.page.inner_text("#why h2").startswith("What separates ")
        assert "too few to rule out chance" in visitor.page.inner_text("#in-words")
        visitor.go("#versus?dataset=weighed&first=good&second=rough&weights=bad%401%3D1")
        assert visitor.page.inner_text("#why h2").startswith("Why ")

    def test_one_scene_has_relations_between_metrics_too(self, visitor: Visitor) -> None:
        visitor.go("#metrics?dataset=weighed&scenes=alpha&algorithms=good")
        assert visitor.page.inner_text("#scatter")
        assert visitor.page.locator("#histogram svg").count() == 1
