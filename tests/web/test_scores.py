"""Answers about scores are those of the library, number for number."""

from __future__ import annotations

import csv
import io
import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.web.small import MARKUP, METRICS, PROTOCOL, REGIONS, SCENES, serving, serving_store

import stereogauge as sg
from stereogauge import open_store
from stereogauge.masks.declaration import declared_regions
from stereogauge.metrics.registry import metrics
from stereogauge.ranking.bootstrap import bootstrap
from stereogauge.ranking.relations import determination, scatter, score_histogram
from stereogauge.ranking.significance import friedman, wilcoxon_pairs
from stereogauge.scores.aggregation import aggregated
from stereogauge.scores.cube import ScoreCube
from stereogauge.store import Store
from stereogauge.web.app import create_app
from stereogauge.web.scores.catalogue import formula_picture
from stereogauge.web.site import Site
from stereogauge.web.source import StoreSource


@pytest.fixture(scope="module")
def client(opened: Store) -> Iterator[httpx.Client]:
    """The site with nothing hidden: scores of hidden scenes are rounded, see test_hiding."""
    with (
        serving_store(opened) as base,
        httpx.Client(base_url=f"{base}/api/v1/", timeout=60) as one,
    ):
        yield one


@pytest.fixture(scope="module")
def cube(opened: Store) -> ScoreCube:
    return opened.cube()


@pytest.mark.parametrize(
    ("model", "query", "options"),
    [
        ("middlebury", {"metrics": ["bad@1"]}, {"metrics": ["bad@1"]}),
        ("middlebury", {"metrics": ["rms"], "ties": "average"}, {"metrics": ["rms"], "ties": "average"}),
        ("extended", {"regions": ["nonocc", "all"]}, {"regions": ["nonocc", "all"]}),
        ("extended", {"tau": 2.5, "missing": "worst"}, {"tau": 2.5, "missing": "worst"}),
        ("a-star", {"scenes": ["alpha", "beta"]}, {"scenes": ["alpha", "beta"]}),
        ("a-star", {"algorithms": ["good", "rough", MARKUP]}, {"algorithms": ["good", "rough", MARKUP]}),
        ("weighted", {"weights": ["rms=2", "bad@1=1"]}, {"weights": {"rms": 2.0, "bad@1": 1.0}}),
        ("weighted", {"profile": "balanced", "normalisation": "max"}, {"profile": "balanced", "normalisation": "max"}),
    ],
)
def test_rank_answers_as_the_library_does(
    client: httpx.Client, cube: ScoreCube, model: str, query: dict[str, object], options: dict[str, object]
) -> None:
    answer = client.get("rank", params={"model": model, **query}).raise_for_status().json()
    expected = sg.rank(cube, model, **options)
    assert [row["algorithm"] for row in answer["rows"]] == list(expected.algorithms)
    assert [row["rank"] for row in answer["rows"]] == expected.rank.tolist()
    np.testing.assert_array_equal([row["value"] for row in answer["rows"]], expected.value)
    assert len(answer["dropped"]) == len(expected.selection.dropped)


def test_rank_relations_name_rows(client: httpx.Client, cube: ScoreCube) -> None:
    answer = client.get("rank", params={"model": "extended"}).json()
    alike = sg.rank(cube, "extended").arrays["alike"]
    for place, others in enumerate(answer["alike"]):
        assert sorted([*others, place]) == np.flatnonzero(alike[place]).tolist()


def test_intervals_of_a_weighted_score_are_those_of_the_answer(client: httpx.Client) -> None:
    asked = {"weights": ["rms=1", "bad@1=1"], "missing": "drop-algorithm", "regions": "all"}
    ranked = client.get("rank", params={**asked, "model": "weighted", "draws": 2000}).json()["intervals"]
    drawn = {one["algorithm"]: one for one in ranked}
    places = client.get("answer", params=asked).json()["places"]
    assert len(places) > 1
    for place in places:
        one = drawn[place["algorithm"]]
        assert one["value_low"] == pytest.approx(place["score_low"])
        assert one["value_high"] == pytest.approx(place["score_high"])


def test_intervals_come_on_request_and_are_the_bootstraps(client: httpx.Client, cube: ScoreCube) -> None:
    assert client.get("rank").json()["intervals"] is None
    answer = client.get("rank", params={"model": "extended", "draws": 200}).json()["intervals"]
    expected = bootstrap(cube, "extended", draws=200)
    assert [one["algorithm"] for one in answer] == list(expected.algorithms)
    assert [one["rank_high"] for one in answer] == expected.rank_high.tolist()


def test_a_single_scene_has_no_interval_and_says_why(client: httpx.Client) -> None:
    answer = client.get("rank", params={"scenes": "alpha", "draws": 100}).json()
    assert answer["intervals"] is None
    assert "at least two" in answer["intervals_note"]


@pytest.mark.parametrize("how", ["mean", "pooled"])
def test_table_aggregates_as_score_tables_do(client: httpx.Client, opened: Store, how: str) -> None:
    scores = opened.scores()
    answer = client.get("table", params={"aggregation": how, "algorithms": ["good", "rough"]}).json()
    for row, algorithm in enumerate(answer["algorithms"]):
        for place, column in enumerate(answer["columns"]):
            used = "mean" if how == "pooled" and not column["pools"] else how
            expected = scores.aggregate(column["metric"], column["region"], algorithm=algorithm, how=used)
            assert answer["values"][row][place] == pytest.approx(expected, rel=1e-12)


def test_a_gap_is_null_and_counted_never_averaged_away(client: httpx.Client) -> None:
    answer = client.get("table", params={"column": "rms:all"}).json()
    row = answer["algorithms"].index("partial")
    assert set(answer["values"][row]) == {None}
    assert set(answer["gaps"][row]) == {1}
    assert answer["scene_column"]["values"][row][2] is None
    assert answer["scene_column"]["values"][row][0] > 0


def test_a_scene_where_nobody_has_a_score_does_not_count_in_that_column() -> None:
    values = np.array([[[1.0, 2.0], [3.0, np.nan]], [[5.0, 6.0], [np.nan, np.nan]]])
    from stereogauge.scores.column import Column

    small = ScoreCube(("a", "b"), ("s", "t"), (Column("rms", "all"), Column("mae", "all")), values)
    np.testing.assert_array_equal(aggregated(small, "mean"), [[2.0, 2.0], [np.nan, 6.0]])


def test_best_values_follow_the_direction_of_the_metric(client: httpx.Client) -> None:
    answer = client.get("table", params={"regions": "all", "algorithms": ["good", "rough", "biased"]}).json()
    for place, column in enumerate(answer["columns"]):
        values = [row[place] for row in answer["values"]]
        best = {"lower": min(values), "higher": max(values), "zero": min(values, key=abs)}[column["direction"]]
        assert all(values[row] == best for row in column["best"])
        assert column["best"]


def test_significance_is_friedmans_with_its_critical_distance(client: httpx.Client, cube: ScoreCube) -> None:
    answer = client.get("significance").json()
    expected = friedman(cube)
    assert answer["algorithms"] == list(expected.algorithms)
    assert answer["critical_distance"] == pytest.approx(expected.critical_distance)
    assert [tuple(pair) for pair in answer["cliques"]] == list(expected.cliques)


def test_head_to_head_shows_every_scene_with_wilcoxon(client: httpx.Client, cube: ScoreCube) -> None:
    question = {"first": "good", "second": "rough", "column": "psnr:all"}
    pair = client.get("significance", params=question).json()["pair"]
    assert [row["scene"] for row in pair["scenes"]] == list(SCENES)
    for place, row in enumerate(pair["scenes"]):
        good, rough = cube.select(metrics=["psnr:all"], algorithms=["good", "rough"]).values[:, place, 0]
        assert row["difference"] == pytest.approx(rough - good)  # higher is better: costs are negated
    assert pair["wins"] == 3
    assert pair["probability"] == 1.0
    assert pair["units"] == cube.unit_of.max() + 1
    both = cube.select(metrics=["psnr:all"], algorithms=["good", "rough"])
    expected = wilcoxon_pairs(both, "psnr", [("good", "rough")])[0]
    assert pair["p_value"] == pytest.approx(expected.p_value)


def test_correlation_and_scatter_are_the_analysis(client: httpx.Client, cube: ScoreCube) -> None:
    answer = client.get("correlation", params={"scatter": "rms:all~bad@1:all"}).json()
    expected = determination(cube).r_squared
    for row, line in enumerate(answer["r_squared"]):
        for place, value in enumerate(line):
            assert (value is None) == math.isnan(expected[row, place])
            assert value is None or value == pytest.approx(expected[row, place])
    fits = scatter(cube, "rms:all", "bad@1:all").fits
    assert [fit["slope"] for fit in answer["scatter"][0]["fits"]] == pytest.approx([fit.slope for fit in fits])


def test_scatter_plots_start_with_the_pairs_that_tell_most(client: httpx.Client) -> None:
    answer = client.get("correlation", params={"mark": "good"}).json()
    least, most = answer["scatter"]
    between = [
        answer["r_squared"][row][place]
        for row, first in enumerate(answer["columns"])
        for place, second in enumerate(answer["columns"])
        if first.partition("@")[0].partition(":")[0] != second.partition("@")[0].partition(":")[0]
    ]
    known = [value for value in between if value is not None]
    assert (least["r_squared"], most["r_squared"]) == pytest.approx((min(known), max(known)))
    assert least["coloured"] == ["good"]
    assert client.get("correlation", params={"mark": "nobody"}).status_code == 422


def test_answers_hold_the_librarys_charts(client: httpx.Client, cube: ScoreCube) -> None:
    """Numbers and names in them are those of `stereogauge.figures`; title and style are the page's own."""
    three = ["good", "rough", "biased"]
    difference = client.get("significance", params={"algorithms": three}).json()["figure"]
    order = list(friedman(cube.select(algorithms=three)).algorithms)
    assert [row["algorithm"] for row in difference["data"]["values"]] == order
    relations = client.get("correlation", params={"scatter": "rms:all~bad@1:all"}).json()
    assert len(relations["figure"]["data"]["values"]) == len(relations["columns"]) ** 2
    points = relations["scatter"][0]["figure"]
    assert {row["scene"] for row in points["data"]["values"]} == set(SCENES)
    assert points["layer"][-1]["encoding"]["shape"]["scale"]["domain"] == list(cube.algorithms)
    histogram = client.get("histogram", params={"metric": "rms:all", "mark": "good"}).json()["figure"]
    assert histogram["layer"][-1]["data"]["values"][0]["mark"] == "good (mean of scenes)"
    assert all("config" not in one for one in (difference, histogram))


def test_shapes_hold_the_ranks_of_the_table(client: httpx.Client) -> None:
    table, shapes = (client.get(name, params={"regions": "all"}).json() for name in ("table", "shapes"))
    rows = shapes["radar"]["rank"]["data"]["values"]
    place = [column["id"] for column in table["columns"]].index(shapes["columns"][0])
    radii = {row["algorithm"]: row["radius"] for row in rows if row["place"] == 0}
    for name, ranks in zip(table["algorithms"], table["ranks"], strict=True):
        # An algorithm without a rank on an axis is not drawn as a fragment; it is named.
        assert (name in shapes["lacking"]) == (name not in radii)
        if name in radii:
            assert radii[name] == pytest.approx(ranks[place] / len(table["algorithms"]))
    assert {row["column"] for row in shapes["parallel"]["data"]["values"]} == {row["axis"] for row in rows}


def test_histogram_counts_every_score(client: httpx.Client, cube: ScoreCube) -> None:
    answer = client.get("histogram", params={"metric": "rms:all", "mark": "good", "bins": 7}).json()
    expected = score_histogram(cube, "rms:all", ("good",), 7)
    assert answer["counts"] == expected.counts.tolist()
    assert sum(answer["counts"]) == 13  # one of 14 covers too little of its pixels
    assert answer["marked"]["good"] == expected.marked["good"].tolist()


def test_stability_covers_weights_and_thresholds(client: httpx.Client) -> None:
    answer = client.get("stability").json()
    assert sum(answer["first"]) == pytest.approx(1.0)
    assert [one["threshold"] for one in answer["thresholds"]] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("parameter", "allowed"),
    [
        ("scenes", set(SCENES)),
        ("regions", set(REGIONS)),
        ("algorithms", {"good", "rough", "biased", "partial", MARKUP}),
        ("metrics", {*METRICS}),
        ("protocol", {"small", PROTOCOL.scoring_hash}),
    ],
)
@pytest.mark.parametrize(
    "call", ["rank", "table", "significance", "correlation", "stability", "histogram?metric=rms:all"]
)
def test_unknown_names_are_refused_with_the_allowed_ones(
    client: httpx.Client, call: str, parameter: str, allowed: set[str]
) -> None:
    path, _, query = call.partition("?")
    answer = client.get(path, params=[(parameter, "nothing"), *([tuple(query.split("="))] if query else [])])
    assert answer.status_code == 422
    assert allowed <= set(answer.json()["allowed"])


@pytest.mark.parametrize(
    "question",
    [
        "rank?model=best", "rank?model=weighted&profile=no", "rank?model=weighted&weights=rms", "rank?aggregation=sum",
        "rank?model=extended&ties=coin", "rank?model=extended&tau=-1", "rank?draws=99999", "table?column=rms",
        "histogram", "histogram?metric=rms:nowhere", "correlation?scatter=rms", "significance?first=good&second=x",
        "table?aggregation=weighted", "rank?model=middlebury", "significance?first=good&second=good",
        "stability?family=best", "rank?missing=never", "significance?alpha=nan", "scenes/alpha/pixel?x=left&y=1",
        "scenes/alpha/layers/front.png", "scenes/alpha/layers/error.png?algorithm=good&range=-1", "rank.xls",
        "scenes/alpha/blocks?algorithm=good&metric=seconds", "scenes/alpha/cloud?points=1", "confidence?threshold=0",
    ],
)  # fmt: skip
def test_impossible_choices_are_refused_in_a_sentence(client: httpx.Client, question: str) -> None:
    answer = client.get(question)
    assert answer.status_code == 422
    assert re.fullmatch(r"['A-Zτ].*[.?]", answer.json()["detail"])


def test_a_parameter_with_few_values_names_them(client: httpx.Client) -> None:
    answer = client.get("rank?missing=never").json()
    assert answer["detail"] == "Unknown missing 'never'; known are: common, drop-algorithm, drop-column, worst."
    assert answer["allowed"] == ["common", "drop-algorithm", "drop-column", "worst"]
    assert client.get("scenes/alpha/pixel?y=1").json()["detail"] == "The parameter x is missing."


def test_a_wrong_address_or_method_is_answered_in_a_sentence(client: httpx.Client) -> None:
    nowhere, wrong = client.get("scenes/alpha"), client.post("rank")
    assert (nowhere.status_code, wrong.status_code) == (404, 405)
    assert "nothing at this address" in nowhere.json()["detail"]
    assert wrong.json()["detail"] == "POST is not possible here; GET is."


def test_protocols_with_the_same_scoring_share_their_scores_under_every_name(small_store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    shutil.copy(small_store, copy)
    with open_store(copy) as store:
        store.write(list(store.scores(algorithms=["good"])), protocol=PROTOCOL.replace(name="twin", metrics=["rms"]))
        with serving_store(store) as base:
            known = httpx.get(f"{base}/api/v1/catalogue").json()["protocols"]
            assert [(entry["name"], entry["also"]) for entry in known] == [("small", ["twin"])]
            ranks = [httpx.get(f"{base}/api/v1/rank", params={"protocol": name}).json() for name in ("small", "twin")]
            assert ranks[0] == ranks[1]


def test_csv_holds_the_table_with_every_digit(client: httpx.Client) -> None:
    question = {"model": "extended", "regions": "all"}
    rank = client.get("rank", params=question).json()
    table = client.get("table", params={"regions": "all", "scenes": rank["scene_names"]}).json()
    text = client.get("rank.csv", params=question).text
    lines = list(csv.reader(io.StringIO("\n".join(line for line in text.splitlines() if not line.startswith("#")))))
    heads = lines[0][3:]
    ids = [column["id"] for column in table["columns"]]
    assert [head.split(" [")[0].split(" (")[0] for head in heads[: len(ids)]] == ids
    assert "coverage of rms:all" in heads[len(ids) :]
    assert heads[0] == "bad@1:all [%]"
    for line, row in zip(lines[1:], rank["rows"], strict=True):
        assert line[1] == row["algorithm"]
        values = table["values"][table["algorithms"].index(row["algorithm"])]
        cells = [float(cell) if cell else None for cell in line[3 : 3 + len(values)]]
        assert cells == values


@pytest.mark.parametrize("model", ["extended", "a-star"])
def test_downloads_hold_what_the_model_found(client: httpx.Client, model: str) -> None:
    """Ranks by metric, who performs alike and τ of the extended model; who dominates and the sizes of A* groups."""
    question = {"model": model, "regions": ["nonocc", "all"], "metrics": ["bad@1", "rms"]}
    rank = client.get("rank", params=question).json()
    assert rank["shared_regions"] == ["nonocc", "all"]
    text = client.get("rank.csv", params=question).text
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert [f"# {note}" for note in rank["notes"]] == comments[3:]
    assert ("τ = 2" if model == "extended" else "A*₁") in comments[3]
    lines = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    for line, row in zip(lines, rank["rows"], strict=True):
        assert {name: line[name] for name in row["extra"]} == {name: str(value) for name, value in row["extra"].items()}
    latex = client.get("rank.tex", params=question).text
    for name in rank["rows"][0]["extra"]:
        assert name in latex
    assert latex.count("\n% ") == len(rank["notes"])


def test_latex_escapes_names(client: httpx.Client) -> None:
    text = client.get(
        "rank.tex", params={"algorithms": ["good", "rough", MARKUP], "metrics": "rms", "least_coverage": 0.5}
    ).text
    assert r"\textless{}b\textgreater{}bold\textless{}/b\textgreater{} \& " in text
    assert text.count(r" \\") == 6  # names, regions and units, then three algorithms
    assert r"\textbf{" in text


def test_catalogue_holds_every_declaration_and_draws_every_formula(client: httpx.Client) -> None:
    answer = client.get("catalogue").json()
    assert {one["id"] for one in answer["metrics"]} == set(metrics())
    assert {one["id"] for one in answer["regions"]} == set(declared_regions())
    assert answer["protocols"][0]["key"] == PROTOCOL.scoring_hash
    for kind in ("metrics", "regions"):
        for one in answer[kind]:
            drawn = formula_picture(kind, one["id"])
            assert b"<svg" in drawn
            assert drawn.count(b"<use") > 0 or drawn.count(b"<path") > 0


def test_lists_show_gaps(client: httpx.Client, address: str) -> None:
    assert client.get("scenes").json()[2]["gaps"] == ["partial"]
    assert {one["name"]: one["gaps"] for one in client.get("algorithms").json()}["partial"] == ["gamma"]
    assert httpx.get(f"{address}/api/v1/datasets").json() == [
        {
            "name": "small",
            "title": "small",
            "scenes": list(SCENES),
            "hidden": 1,
            "protocols": [PROTOCOL.scoring_hash],
        }
    ]


def test_datasets_are_those_of_every_protocol(small_store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    shutil.copy(small_store, copy)
    truth = np.ones((6, 8), np.float32)
    with open_store(copy) as store:
        store.write(sg.evaluate({"A": truth}, sg.Scene("one", gt=truth, dataset="other")))
        with serving_store(store, hidden=["beta"]) as base:
            found = httpx.get(f"{base}/api/v1/datasets").json()
            assert [(one["name"], one["scenes"], one["hidden"]) for one in found] == [
                ("small", list(SCENES), 1),
                ("other", ["one"], 0),
            ]
            again = httpx.get(f"{base}/api/v1/datasets", params={"protocol": found[1]["protocols"][0]}).json()
            assert again == found[1:]


def test_openapi_describes_every_call(client: httpx.Client) -> None:
    paths = client.get("openapi.json").json()["paths"]
    calls = "catalogue datasets scenes algorithms table rank significance correlation histogram stability confidence"
    assert {f"/api/v1/{call}" for call in calls.split()} <= set(paths)
    assert "/api/v1/scenes/{scene}/layers/{layer}.png" in paths


def test_a_store_without_studies_says_so(client: httpx.Client) -> None:
    assert client.get("tuning").json() == []
    answer = client.get("tuning/none")
    assert (answer.status_code, answer.json()["allowed"]) == (422, [])


def test_studies_are_those_of_the_store(small_store: Path, opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading studies is tested where they are made; here, that the site passes on what is read."""
    entries = [{"name": "first", "matcher": "sgm"}]
    monkeypatch.setattr("stereogauge.tuning.studies", lambda store: entries if store == str(small_store) else [])
    monkeypatch.setattr("stereogauge.tuning.study_summary", lambda store, name: {"name": name, "trials": []})
    with serving_store(opened, store_url=str(small_store)) as base:
        assert httpx.get(f"{base}/api/v1/tuning").json() == entries
        assert httpx.get(f"{base}/api/v1/tuning/first").json() == {"name": "first", "trials": []}
        assert httpx.get(f"{base}/api/v1/tuning/second").json()["allowed"] == ["first"]


def test_an_answer_that_has_not_changed_is_not_sent_again(client: httpx.Client) -> None:
    first = client.get("rank")
    again = client.get("rank", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_changed_store_changes_the_answer(small_store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    shutil.copy(small_store, copy)
    with open_store(copy) as store:
        source = StoreSource(store, clock=iter(range(10_000)).__next__)
        with serving(create_app(Site(source))) as base:
            before = httpx.get(f"{base}/api/v1/rank", params={"missing": "drop-column"}).json()
            store.delete_algorithm("rough")
            after = httpx.get(f"{base}/api/v1/rank", params={"missing": "drop-column"}).json()
    assert {row["algorithm"] for row in before["rows"]} - {row["algorithm"] for row in after["rows"]} == {"rough"}


def test_an_empty_store_answers_with_what_to_do(tmp_path: Path) -> None:
    with open_store(tmp_path / "empty.sqlite") as store, serving_store(store) as base:
        assert httpx.get(f"{base}/api/v1/catalogue").json()["protocols"] == []
        assert httpx.get(f"{base}/api/v1/scenes").json() == []
        answer = httpx.get(f"{base}/api/v1/rank")
        assert answer.status_code == 422
        assert "stereogauge evaluate" in answer.json()["detail"]
