"""Curves on the page are those of the library; confidence maps are found beside the results."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from tests.web.small import PROTOCOL, SHAPE, estimates, serving_store, truth, write_dataset

import stereogauge as sg
from stereogauge import ResultSet, open_store, write_disparity
from stereogauge.confidence_measures.evaluation import combination_bound
from stereogauge.confidence_measures.paper import PAPER
from stereogauge.confidence_measures.sparsification import is_bad, sparsify_by
from stereogauge.datasets.declaration import dataset_threshold
from stereogauge.evaluation.run import make_plan, run_plan
from stereogauge.store import Store

get = functools.partial(httpx.get, timeout=60)


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
    with serving_store(confident) as address:
        yield f"{address}/api/v1/"


def test_curves_are_the_sparsification_of_the_map(base: str) -> None:
    answer = get(base + "confidence", params={"threshold": 1.5}).json()
    assert answer["available"] == [["sure", "alpha"]]
    assert [curve["measure"] for curve in answer["curves"]] == ["first", "second"]
    expected = sg.sparsify(confidence(1), estimates(0)["rough"], truth(0), 1.5, higher_is_better=True)
    assert answer["curves"][0]["auc"] == pytest.approx(expected.auc)
    assert answer["curves"][0]["bad"] == pytest.approx(expected.rates(answer["density"]).tolist())
    assert answer["curves"][0]["oracle"][50] == 0.0


def test_a_hidden_scene_has_no_curves_and_is_not_offered(confident: Store) -> None:
    with serving_store(confident, hidden=["alpha"]) as address:
        answer = get(f"{address}/api/v1/confidence")
        assert answer.json()["available"] == answer.json()["curves"] == []
        assert get(f"{address}/api/v1/confidence?scene=alpha").status_code == 403


def test_the_bound_is_drawn_at_the_density_of_each_measure(base: str) -> None:
    """Bad pixels that both keep at φ, relative to the φ·N pixels that each keeps: below both curves, at φ."""
    answer = get(base + "confidence").json()
    (bound,) = answer["bounds"]
    assert bound["density"] == answer["density"]
    assert bound["kept"][50] < 0.5
    for curve in answer["curves"]:
        assert all(s <= bad + 1e-9 for s, bad in zip(bound["bad"][1:], curve["bad"][1:], strict=True))
    maps = {"first": -confidence(1), "second": -confidence(2)}
    bad = is_bad(estimates(0)["rough"], truth(0), 1.0)
    expected = combination_bound(maps, bad, np.isfinite(truth(0)))
    assert bound["bad"][50] == pytest.approx(expected.at(0.5) / (0.5 * np.isfinite(truth(0)).sum()))


def test_curves_follow_other_errors(base: str) -> None:
    answer = get(base + "confidence", params={"error": "mae"}).json()
    expected = sparsify_by("mae", -confidence(1), estimates(0)["rough"], truth(0))
    assert (answer["error"], answer["unit"], answer["bounds"]) == ("mae", "px", [])
    assert answer["curves"][0]["ause"] == pytest.approx(expected.ause)
    assert "known" in get(base + "confidence", params={"error": "mea"}).json()["detail"]


def test_a_declared_direction_is_read_so(confident: Store, tmp_path_factory: pytest.TempPathFactory) -> None:
    """results.toml above the maps: lower is better for one of two."""
    folder = tmp_path_factory.mktemp("directed")
    dataset = write_dataset(folder / "data")
    own = folder / "results" / "sure"
    for measure, seed in (("first", 1), ("second", 2)):
        (own / "confidence" / measure).mkdir(parents=True)
        write_disparity(own / "confidence" / measure / "alpha.pfm", confidence(seed))
    write_disparity(own / "alpha.pfm", estimates(0)["rough"])
    directions = '[algorithms.sure.confidence]\nbetter = {first = "lower", second = "higher"}\n'
    (folder / "results" / "results.toml").write_text(directions, encoding="utf-8")
    with open_store(folder / "scores.sqlite") as store:
        results = [ResultSet("sure", {"alpha": own / "alpha.pfm"})]
        run_plan(make_plan(store, dataset.subset(["alpha"]), results, PROTOCOL), store)
        with serving_store(store) as address:
            answer = get(f"{address}/api/v1/confidence", params={"threshold": 1.5}).json()
    given = [(curve["measure"], curve["better"], curve["declared"]) for curve in answer["curves"]]
    assert given == [("first", "lower", True), ("second", "higher", True)]
    for curve, values in zip(answer["curves"], (confidence(1), -confidence(2)), strict=True):
        expected = sg.sparsify(values, estimates(0)["rough"], truth(0), 1.5)
        assert curve["auc"] == pytest.approx(expected.auc)


def test_measures_of_our_matcher_take_their_scales(base: str) -> None:
    asked = {"sgm": "entropy,entropy@8", "scene": "alpha", "temperature": 8}
    answer = get(base + "confidence", params=asked)
    curves = [curve for curve in answer.json()["curves"] if curve["algorithm"] == "census SGM"]
    assert [curve["measure"] for curve in curves] == ["entropy", "entropy@8"]
    assert curves[0]["auc"] == curves[1]["auc"]
    assert get(base + "confidence", params={"sgm": "entropie", "scene": "alpha"}).status_code == 422


@pytest.mark.parametrize(("name", "needs"), [("learned", "a trained model"), ("oracle", "the ground truth")])
def test_a_measure_of_the_command_line_alone_is_refused_without_options_of_its_own(
    base: str, name: str, needs: str
) -> None:
    refused = get(base + "confidence", params={"sgm": name, "scene": "alpha"})
    assert refused.status_code == 422
    assert f"needs {needs}, which the site does not use" in refused.json()["detail"]
    assert "--model" not in refused.text


def test_no_curve_has_the_colour_of_a_reference_line(base: str) -> None:
    """Measures of one algorithm differ by colour, also from oracle, random line and bound."""
    asked = {"scene": "alpha", "sgm": "entropy,curvature,peak-ratio,perturbation"}
    answer = get(base + "confidence", params=asked).json()
    scale = next(one for one in found_scales(answer["figure"]) if "oracle of census SGM" in one["domain"])
    colours = dict(zip(scale["domain"], scale["range"], strict=True))
    curves = [colours.pop(f"{one['algorithm']} {one['measure']}") for one in answer["curves"]]
    assert len(set(curves)) == len(curves)
    assert not {*curves} & {*colours.values()}


def found_scales(value: Any) -> Iterator[dict[str, Any]]:
    """The colour scales of a chart."""
    if isinstance(value, dict):
        if isinstance(value.get("color"), dict) and "domain" in value["color"].get("scale", {}):
            yield value["color"]["scale"]
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        yield from found_scales(one)


def test_the_map_at_a_density_shows_its_most_confident_pixels(base: str) -> None:
    address = base + "scenes/alpha/layers/confidence"
    shown = get(address + ".png", params={"algorithm": "sure", "metric": "first", "density": 0.25})
    assert shown.headers["content-type"] == "image/png"
    assert get(address, params={"algorithm": "sure", "metric": "third"}).json()["allowed"] == ["first", "second"]


def test_the_page_opens_with_the_threshold_of_the_dataset() -> None:
    assert (dataset_threshold("kitti-2012:colour"), dataset_threshold("middlebury-v2"), dataset_threshold("")) == (
        3,
        1,
        1,
    )


def test_domain_search_range_and_densities_are_parameters(base: str) -> None:
    asked = {"scene": "alpha", "sgm": "entropy,curvature,product"}
    answer = get(base + "confidence", params={**asked, "ndisp": 8, "low": 0.5, "high": 0.9}).json()
    assert (answer["ndisp"], answer["ndisp_from"], answer["density_range"]) == (8, "request", [0.5, 0.9])
    (bound,) = [one for one in answer["bounds"] if one["algorithm"] == "census SGM"]
    assert bound["measures"] == ["entropy", "curvature"]  # what was requested, without their combination
    first = next(one for one in answer["curves"] if one["measure"] == "first")
    expected = sg.sparsify(confidence(1), estimates(0)["rough"], truth(0), 1.0, higher_is_better=True)
    assert first["range_mean"] == pytest.approx(expected.area(0.5, 0.9) / 0.4)
    assert get(base + "confidence", params={**asked, "low": 0.9, "high": 0.5}).status_code == 422
    paper = get(base + "confidence", params={**asked, "ndisp": 8, "region": "haeusler-klette"})
    assert paper.status_code == 200
    assert paper.json()["curves"]
    alone = get(base + "confidence", params={"scene": "alpha", "region": "haeusler-klette", "ndisp": 8}).json()
    assert [one["measure"] for one in alone["curves"] if one["algorithm"] == "census SGM"] == [*PAPER, "product"]
