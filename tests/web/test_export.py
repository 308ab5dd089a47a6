"""A static copy holds the application's own answers under the questions that the page asks."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from tests.web.small import MARKUP

from stereogauge import StereogaugeError, open_store
from stereogauge.store import Store
from stereogauge.web.export import address, export_site
from stereogauge.web.site import Site
from stereogauge.web.source import StoreSource


def index(folder: Path) -> dict[str, str]:
    return dict(json.loads((folder / "answers.json").read_text(encoding="utf-8")))


def test_answers_are_those_of_the_server(exported: Path, client: httpx.Client) -> None:
    files = index(exported)
    ranks = ("rank?model=a-star", "rank?model=a-star&regions=nonocc")
    for asked in ("catalogue", "scope", *ranks, "table?column=bad%401%3Aall&regions=all"):
        assert (exported / files[asked]).read_bytes() == client.get(asked).content


def test_the_page_knows_that_it_is_a_copy(exported: Path) -> None:
    assert 'name="stereogauge-mode" content="static"' in (exported / "index.html").read_text(encoding="utf-8")
    assert "vegaEmbed" in (exported / "static" / "vega.js").read_text(encoding="utf-8")  # a copy needs no network


def test_pictures_are_there_but_no_hidden_truth(exported: Path) -> None:
    files = index(exported)
    assert "scenes/alpha/layers/truth.png" in files
    assert address("scenes/alpha/layers/error.png", (("algorithm", MARKUP),)) in files
    assert address("scenes/alpha/layers/metric.png", (("algorithm", "good"), ("metric", "rms"))) in files
    assert "scenes/alpha/layers/region.png?region=disc" in files
    for hidden in (
        "truth.png",
        "signed.png?algorithm=good",
        "metric.png?algorithm=good&metric=rms",
        "region.png?region=disc",
    ):
        assert f"scenes/beta/layers/{hidden}" not in files
    assert "scenes/beta/blocks?algorithm=good" not in files
    assert "scenes/beta/layers/left.png" in files


def test_every_picture_has_its_legend(exported: Path, client: httpx.Client) -> None:
    files = index(exported)
    pictures = [asked for asked in files if ".png" in asked]
    assert len(pictures) > 100
    assert all(asked.replace(".png", "") in files for asked in pictures)
    asked = "scenes/alpha/layers/error?algorithm=good"
    assert json.loads((exported / files[asked]).read_text())["limits"] == client.get(asked).json()["limits"] == [0, 5]


def test_formulas_are_those_of_the_columns(exported: Path, client: httpx.Client) -> None:
    """The page defines only metrics and regions with scores."""
    columns = client.get("scope").json()["columns"]
    wanted = {f"metrics/{one['metric'].partition('@')[0]}" for one in columns}
    drawn = {name.removeprefix("catalogue/").removesuffix(".svg") for name in index(exported) if name.endswith(".svg")}
    assert {name for name in drawn if name.startswith("metrics/")} == wanted
    assert "regions/nonocc" in drawn


def test_pictures_of_metrics_stay_within_their_room(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exported: Path
) -> None:
    monkeypatch.setattr("stereogauge.web.export.MOST_METRIC_BYTES", 1)
    export_site(site, tmp_path / "small")
    assert sum("layers/metric.png" in asked for asked in index(tmp_path / "small")) == 1
    assert sum("layers/metric.png" in asked for asked in index(exported)) > 30


def test_questions_are_spelled_as_browsers_spell_them() -> None:
    # new URLSearchParams([["b", "x y~*'(é"], ["a", "1"]]) sorted by name, as Chromium writes it
    assert address("rank", (("b", "x y~*'(é"), ("a", "1"))) == "rank?a=1&b=x+y%7E*%27%28%C3%A9"


def test_an_empty_store_has_nothing_to_export(tmp_path: Path) -> None:
    with open_store(tmp_path / "empty.sqlite") as store, pytest.raises(StereogaugeError, match="no scores"):
        export_site(Site(StoreSource(store)), tmp_path / "out")


def pictures_of(folder: Path, scene: str) -> set[bytes]:
    """Every picture of a scene in an export, whatever it is called there."""
    return {(folder / name).read_bytes() for asked, name in index(folder).items() if f"scenes/{scene}/" in asked}


def test_an_export_over_an_open_one_leaves_nothing_of_it(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stereogauge.web.export._export_scope", lambda *_: [])  # rankings take long and show no truth
    monkeypatch.setattr("stereogauge.web.export.MOST_METRIC_BYTES", 1)
    target = tmp_path / "site"
    export_site(Site(StoreSource(opened)), target)
    shown = {data for data in pictures_of(target, "beta") if data.startswith(b"\x89PNG")}
    shown -= pictures_of(target, "alpha") | pictures_of(target, "gamma")
    assert len(shown) > 10
    truth = (target / index(target)["scenes/beta/layers/truth.png"]).read_bytes()
    allowed = {(target / index(target)[f"scenes/beta/layers/{side}.png"]).read_bytes() for side in ("left", "right")}
    written = export_site(Site(StoreSource(opened), hidden=["beta"]), target)
    files = [file for file in target.rglob("*") if file.is_file()]
    assert len(files) == written
    contents = {file.read_bytes() for file in files}
    assert truth not in contents
    assert not contents & (shown - allowed)
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    assert json.loads((target / "export.json").read_text()) == sorted(f.relative_to(target).as_posix() for f in files)


def test_a_folder_with_other_files_is_refused(site: Site, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(StereogaugeError, match=r"thesis\.tex"):
        export_site(site, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
