"""Curves on the page are those of the library; confidence maps are found beside the results."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import httpx
import numpy as np
import pytest
from tests.web.small import PROTOCOL, SHAPE, estimates, serving, truth, write_dataset

from stereogauge.confidence.sparsification import sparsify
from stereogauge.evaluation.plan import make_plan
from stereogauge.evaluation.run import run_plan
from stereogauge.io import write_disparity
from stereogauge.model import ResultSet
from stereogauge.store import Store, open_store
from stereogauge.web.app import create_app
from stereogauge.web.site import Site
from stereogauge.web.source import StoreSource


def confidence(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(SHAPE).astype(np.float32)


@pytest.fixture(scope="module")
def confident(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One algorithm with two confidence measures on one scene."""
    folder = tmp_path_factory.mktemp("confident")
    dataset = write_dataset(folder / "data")
    path = folder / "results" / "sure" / "alpha.pfm"
    for measure, seed in (("first", 1), ("second", 2)):
        file = path.parent / "confidence" / measure / "alpha.pfm"
        file.parent.mkdir(parents=True)
        write_disparity(file, confidence(seed))
    write_disparity(path, estimates(0)["rough"])
    shutil.copytree(path.parent, folder / "results" / "unsure", ignore=shutil.ignore_patterns("confidence"))
    results = [ResultSet(name, {"alpha": folder / "results" / name / "alpha.pfm"}) for name in ("sure", "unsure")]
    with open_store(folder / "scores.sqlite") as store:
        run_plan(make_plan(store, dataset.subset(["alpha"]), results, PROTOCOL), store)
        yield store


@pytest.fixture(scope="module")
def base(confident: Store) -> Iterator[str]:
    with serving(create_app(Site(StoreSource(confident)))) as address:
        yield f"{address}/api/v1/"


def test_curves_are_the_sparsification_of_the_map(base: str) -> None:
    answer = httpx.get(base + "confidence", params={"threshold": 1.5}).json()
    assert answer["available"] == [["sure", "alpha"]]
    assert [curve["measure"] for curve in answer["curves"]] == ["first", "second"]
    expected = sparsify(confidence(1), estimates(0)["rough"], truth(0), 1.5, higher_is_better=True)
    assert answer["curves"][0]["auc"] == pytest.approx(expected.auc)
    assert answer["curves"][0]["bad"] == pytest.approx(expected.rates(answer["density"]).tolist())
    assert answer["curves"][0]["oracle"][50] == 0.0


def test_a_hidden_scene_has_no_curves_and_is_not_offered(confident: Store) -> None:
    with serving(create_app(Site(StoreSource(confident), hidden=["alpha"]))) as address:
        answer = httpx.get(f"{address}/api/v1/confidence")
        assert answer.json()["available"] == answer.json()["curves"] == []
        assert httpx.get(f"{address}/api/v1/confidence?scene=alpha").status_code == 403


def test_two_measures_have_a_bound_below_both(base: str) -> None:
    answer = httpx.get(base + "confidence").json()
    assert len(answer["bounds"]) == 1
    assert answer["bounds"][0]["density"][-1] == 1.0
    assert answer["bounds"][0]["density"][50] < 0.5


def test_the_map_at_a_density_shows_its_most_confident_pixels(base: str) -> None:
    address = base + "scenes/alpha/layers/confidence"
    shown = httpx.get(address + ".png", params={"algorithm": "sure", "metric": "first", "density": 0.25})
    assert shown.headers["content-type"] == "image/png"
    assert httpx.get(address, params={"algorithm": "sure", "metric": "third"}).json()["allowed"] == ["first", "second"]
