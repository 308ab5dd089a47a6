"""Proportions are part of the scope: one composition on the command line, in the API and on the page."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.web.small import PROTOCOL, make_store, serving_store
from tests.web.test_one_scope import add
from tests.web.visitor import BROWSER, Visitor

from stereogauge import open_store
from stereogauge.masks.geometric import PARTS

PROPORTIONS = "disc=0.6,textureless=0.4"
SCOPE = {"dataset": "parts", "proportions": PROPORTIONS}
PAIR = {"first": "good", "second": "rough"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("proportions")
    make_store(made)
    protocol = PROTOCOL.replace(name="by-part", metrics=["bad@1", "mae"], regions=["all", *PARTS])
    add(made, "parts", ("alpha", "beta", "gamma"), protocol, 90)
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


@pytest.fixture(scope="module")
def printed(folder: Path) -> dict[str, Any]:
    """What the command line says under the same scope."""

    def said(command: str, *more: str) -> Any:
        scope = ("--dataset", "parts", "--proportions", PROPORTIONS, "--format", "json")
        whole = [sys.executable, "-m", "stereogauge", command, str(folder / "small.sqlite"), *more, *scope]
        return json.loads(subprocess.run(whole, capture_output=True, text=True, check=True).stdout)

    return {
        "answer": said("answer"),
        "rank": said("rank", "--model", "weighted"),
        "explain": said("explain", "good", "rough", "--no-maps"),
    }


def test_the_api_composes_the_scores_of_the_command_line(client: httpx.Client, printed: dict[str, Any]) -> None:
    answer = client.get("answer", params=SCOPE).json()
    scores = {one["algorithm"]: one["score"] for one in answer["places"]}
    assert scores == {one["algorithm"]: one["score"] for one in printed["answer"]["places"]}
    assert len(set(scores.values())) == len(scores)
    weights = {one["term"]: one["stated"] for one in answer["terms"]}
    assert weights == pytest.approx(
        {"bad@1:part-background": 0.15, "bad@1:part-foreground": 0.15, "bad@1:part-textureless": 0.2}
        | {"mae:part-background": 0.15, "mae:part-foreground": 0.15, "mae:part-textureless": 0.2}
    )
    rank = client.get("rank", params=SCOPE | {"model": "weighted"}).json()
    assert {row["algorithm"]: row["value"] for row in rank["rows"]} == pytest.approx(scores)
    assert {row["algorithm"]: row["value"] for row in printed["rank"]["ranking"]} == pytest.approx(scores)
    why = client.get("explain", params=SCOPE | PAIR).json()
    assert why["scores"] == pytest.approx([scores["good"], scores["rough"]])
    assert why["scores"] == printed["explain"]["scores"]
    assert client.get("significance", params=SCOPE).json()["of"] == "weighted score"
    assert client.get("scope", params=SCOPE).json()["composed"] == pytest.approx(weights)


def test_proportions_beside_a_profile_or_on_no_part_are_refused(client: httpx.Client) -> None:
    both = client.get("answer", params=SCOPE | {"profile": "balanced"}).json()
    assert both["refused"]
    assert "the profile 'balanced'" in both["sentence"]
    elsewhere = client.get("answer", params={"dataset": "small", "proportions": "planar=1"}).json()
    assert "Nothing is measured on part-planar" in elsewhere["sentence"]
    assert client.get("rank", params=SCOPE | {"model": "weighted", "weights": "mae=1"}).status_code == 422


class TestPage:
    """The field of the question bar."""

    pytestmark = BROWSER

    def test_the_bar_takes_proportions_and_a_chip_removes_them(
        self, chromium: Any, base: str, printed: dict[str, Any]
    ) -> None:
        context = chromium.new_context(viewport={"width": 1400, "height": 900})
        context.add_init_script("localStorage.setItem('stereogauge-tour', 'seen')")
        visitor = Visitor(context.new_page(), base)
        scores = "all => all.map(one => [one.dataset.place, Number(one.querySelector('[data-full]').dataset.full)])"
        visitor.go("#answer?dataset=parts&profile=balanced")
        visitor.choose("regions").page.fill("#proportions", PROPORTIONS)
        visitor.page.keyboard.press("Enter")
        visitor.until("location.hash.includes('proportions=')")
        visitor.ready()
        assert "profile=" not in visitor.page.url
        assert "my proportions" in visitor.page.inner_text("[data-open=purpose]")
        shown = dict(visitor.page.eval_on_selector_all("#places tr[data-place]", scores))
        assert shown == {one["algorithm"]: pytest.approx(one["score"]) for one in printed["answer"]["places"]}
        visitor.page.click("#views >> text=Leaderboard")
        visitor.ready()
        assert visitor.algorithms() == [one["algorithm"] for one in printed["answer"]["places"]]
        visitor.page.click(".filter >> text=proportions")
        visitor.until("!location.hash.includes('proportions=')")
        visitor.ready()
        assert visitor.complaints == []
        context.close()
