"""Command line, report, site, CSV and LaTeX show the same digits for the same selection."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from html.parser import HTMLParser
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.web.small import serving_store

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.report.build import build
from stereogauge.report.content import ReportOptions
from stereogauge.scores.aggregation import aggregated
from stereogauge.tables.formats import csv_table, html_table, latex_table
from stereogauge.text import number_text

METRICS = ["bad@1", "rms", "quantile@50"]
TRUTH = np.tile(np.linspace(4, 9, 24, dtype=np.float32), (12, 1))


def scene(name: str, *, part: int) -> sg.Scene:
    """A scene with a mask of its own; on the third one the mask is empty."""
    mask = np.zeros(TRUTH.shape, bool)
    mask[:, :part] = True
    return sg.Scene(name, gt=TRUTH.copy(), dataset="made", masks={"mine": mask})


@pytest.fixture(scope="module", params=["mean", "pooled", "weighted"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three scenes, one of them without pixels of `mine`; one algorithm with holes, one that lacks a scene."""
    protocol = sg.load_protocol().replace(
        name=f"made-{request.param}",
        metrics=METRICS,
        regions=["all", "mine"],
        aggregation=request.param,
        **({"scene_weights": {"one": 0.5, "two": 2.0}} if request.param == "weighted" else {}),
    )
    scenes = [scene("one", part=10), scene("two", part=5), scene("three", part=0)]
    random = np.random.default_rng(3)
    noise = {name: random.normal(0, 1.2, TRUTH.shape).astype(np.float32) for name in ("one", "two", "three")}
    holes = {name: np.where(random.random(TRUTH.shape) < 0.2, np.nan, TRUTH + noise[name]) for name in noise}
    maps = {
        "full": {name: TRUTH + noise[name] / 2 for name in noise},
        "holes": holes,
        "partial": {name: TRUTH + noise[name] for name in ("one", "two")},
    }
    table = sg.evaluate(maps, scenes, protocol=protocol)
    path = tmp_path_factory.mktemp("surfaces") / "scores.sqlite"
    with sg.open_store(path) as opened:
        opened.write(table)
    return path


@pytest.fixture(scope="module")
def expected(store: Path) -> dict[str, dict[str, float]]:
    """{algorithm: {column: value}} by the one aggregation."""
    with sg.open_store(store, read_only=True) as opened:
        cube = opened.cube()
        protocol = opened.protocol(cube.protocol)
    assert protocol is not None
    values = aggregated(cube, protocol.aggregation, protocol.scene_weights)
    columns = [str(column) for column in cube.columns]
    found = {name: dict(zip(columns, values[row].tolist(), strict=True)) for row, name in enumerate(cube.algorithms)}
    assert np.isnan(found["partial"]["rms:all"])
    assert np.isfinite(found["partial"]["rms:mine"])  # the third scene has nothing to measure there
    assert np.isfinite(found["holes"]["rms:all"])
    return found


def command(*words: str) -> str:
    stream = io.StringIO()
    with redirect_stdout(stream), pytest.raises(SystemExit) as ending:
        main(words)
    assert ending.value.code == 0
    return stream.getvalue()


def same(shown: dict[str, dict[str, str]], expected: dict[str, dict[str, float]]) -> None:
    """Every value as every table prints it; the map with holes covers too little to be ranked by RMS, and is marked."""
    assert shown["holes"]["rms:all"].endswith("‡")
    plain = {name: {c: text.removesuffix("‡") for c, text in row.items()} for name, row in shown.items()}
    assert plain == {name: {c: number_text(v) for c, v in row.items()} for name, row in expected.items()}


def test_the_terminal(store: Path, expected: dict[str, dict[str, float]]) -> None:
    lines = [re.split(r"\s{2,}", line.strip()) for line in command("table", str(store)).splitlines()]
    head = next(place for place, line in enumerate(lines) if line[0] == "algorithm")
    rows = [line for line in lines[head:] if line[0] in expected]
    same({row[0]: dict(zip(expected[row[0]], row[1:], strict=True)) for row in rows}, expected)


def test_csv_of_the_command_line_has_every_digit_and_units(store: Path, expected: dict[str, dict[str, float]]) -> None:
    head, *rows = csv.reader(io.StringIO(command("table", str(store), "--format", "csv")))
    assert head[1].startswith("bad@1:all [%]")
    for row in rows:
        values = [float(cell) if cell else float("nan") for cell in row[1 : 1 + len(expected[row[0]])]]
        np.testing.assert_array_equal(values, list(expected[row[0]].values()))
    assert "coverage of rms:all" in head


def test_json_of_the_command_line(store: Path, expected: dict[str, dict[str, float]]) -> None:
    for row in json.loads(command("table", str(store), "--format", "json"))["scores"]["rows"]:
        values = [float("nan") if cell is None else cell for cell in row[1:]]
        np.testing.assert_array_equal(values, list(expected[row[0]].values()))


def tabular(text: str, expected: dict[str, dict[str, float]], skip: int, behind: int = 0) -> dict[str, dict[str, str]]:
    plain = (
        re.sub(r"\\(textbf|underline)\{([^}]*)\}", r"\2", text)
        .replace("--", "–")
        .replace("$^\\dagger$", "")
        .replace("$^\\ddagger$", "‡")
    )
    rows = [[cell.strip() for cell in line.removesuffix(r"\\").split(" & ")] for line in plain.splitlines()]
    cells = {row[skip]: row for row in rows if len(row) > skip and row[skip] in expected}
    width = len(next(iter(expected.values())))
    return {
        name: dict(zip(expected[name], row[-behind - width : len(row) - behind], strict=True))
        for name, row in cells.items()
    }


def test_latex_of_the_command_line(store: Path, expected: dict[str, dict[str, float]]) -> None:
    same(tabular(command("table", str(store), "--format", "latex"), expected, 0), expected)


class Rows(HTMLParser):
    """Cells of every table row of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attributes: object) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside and data != "†":
            self.rows[-1][-1] += data


def test_the_report(store: Path, expected: dict[str, dict[str, float]]) -> None:
    with sg.open_store(store, read_only=True) as opened:
        cube = opened.cube()
        protocol = opened.protocol(cube.protocol)
    content = build(cube, ReportOptions(missing="worst", draws=20), protocol=protocol)
    shown = next(table for table in content.tables if table.name == "scores")
    reader = Rows()
    reader.feed(html_table(shown))
    same({row[0]: dict(zip(expected[row[0]], row[1:], strict=True)) for row in reader.rows[1:]}, expected)
    same(tabular(latex_table(shown), expected, 0), expected)
    for row in list(csv.reader(io.StringIO(csv_table(shown))))[1:]:
        values = [float(cell) if cell else float("nan") for cell in row[1 : 1 + len(expected[row[0]])]]
        np.testing.assert_array_equal(values, list(expected[row[0]].values()))


@pytest.fixture(scope="module")
def client(store: Path) -> Iterator[httpx.Client]:
    with (
        sg.open_store(store, read_only=True) as opened,
        serving_store(opened) as base,
        httpx.Client(base_url=f"{base}/api/v1/", timeout=60) as one,
    ):
        yield one


def test_the_site_and_its_files(client: httpx.Client, store: Path, expected: dict[str, dict[str, float]]) -> None:
    with sg.open_store(store, read_only=True) as opened:
        protocol = opened.protocol(opened.cube().protocol)
    assert protocol is not None
    question = {"aggregation": protocol.aggregation, "missing": "worst", "model": "extended"}
    answer = client.get("table", params=question).json()
    for row, name in enumerate(answer["algorithms"]):
        values = [float("nan") if value is None else value for value in answer["values"][row]]
        np.testing.assert_array_equal(values, list(expected[name].values()))
    facts = client.get("rank", params=question).json()["rows"][0]["extra"]
    same(tabular(client.get("rank.tex", params=question).text, expected, 1, len(facts)), expected)
    text = client.get("rank.csv", params=question).text
    lines = list(csv.reader(line for line in text.splitlines() if not line.startswith("#")))
    first = lines[0].index(next(head for head in lines[0] if head.startswith("bad@1:all")))
    assert {line[1] for line in lines[1:]} == set(expected)
    for line in lines[1:]:
        values = [float(cell) if cell else float("nan") for cell in line[first : first + len(expected[line[1]])]]
        np.testing.assert_array_equal(values, list(expected[line[1]].values()))


def test_values_without_the_scenes_that_no_algorithm_has_say_so() -> None:
    """As on the command line and the site: the mean is of one of two scenes."""
    scenes = [scene("one", part=10), scene("two", part=5)]
    table = sg.evaluate({"a": {"one": TRUTH + 1}, "b": {"one": TRUTH}}, scenes, ["mae"], ["all"])
    for value in (table.aggregate, table.value):
        with pytest.warns(sg.StereogaugeWarning, match="mae:all over 1 of 2 scenes; the others have no score."):
            assert value("mae", "all", algorithm="a") == pytest.approx(1.0)
    assert "Mean of 1 of 2 scenes; the others have no score: two." in str(table)
    partial = sg.evaluate({"a": {"one": TRUTH + 1}, "b": {"one": TRUTH, "two": TRUTH}}, scenes, ["mae"], ["all"])
    assert np.isnan(partial.aggregate("mae", "all", algorithm="a"))
    assert partial.aggregate("mae", "all", algorithm="b") == 0
