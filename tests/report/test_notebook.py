"""What a notebook shows of every result, what `.save()` writes, and what `help()` says."""

from __future__ import annotations

import base64
import inspect
import pydoc
import re
import webbrowser
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pandas as pd
import pytest

import stereogauge as sg


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    left = np.random.default_rng(0).integers(0, 255, (60, 90), np.uint8)
    truth = np.full(left.shape, 5, np.float32)
    scene = sg.Scene("shift", gt=truth, left=left)
    match = sg.match(left, np.roll(left, -5, 1), "sgm", ndisp=16)
    table = sg.evaluate({"sgm": match, "off <by> 2": truth + 2}, scene, ["bad@1", "mae"], ["all"])
    confidence = sg.confidence(match, ["peak-ratio", "lr-difference"])
    return {
        "match": match,
        "table": table,
        "ranking": sg.rank(table, "a-star"),
        "regions": sg.regions(scene, ["all", "nonocc"]),
        "confidence": confidence,
        "curve": sg.sparsify(confidence["peak-ratio"], truth + np.arange(90, dtype=np.float32) / 50, truth),
        "picture": sg.picture(truth + 2, scene, "mae"),
        "answer": sg.answer(table, weights={"mae": 1}),
        "explanation": sg.explain(table, "sgm", "off <by> 2", weights={"mae": 1}),
    }


@pytest.mark.parametrize("name", ["table", "ranking", "answer", "explanation"])
def test_tables_are_tables_with_names_escaped(results: dict[str, Any], name: str) -> None:
    shown = results[name]._repr_html_()
    assert "<table>" in shown
    assert "off &lt;by&gt; 2" in shown


def test_scores_by_object_are_one_table_per_kind(tmp_path: Path) -> None:
    truth = np.full((120, 160), 8, np.float32)
    truth[30:80, 40:90] = 20
    table = sg.evaluate(truth + 0.3, sg.Scene("step", gt=truth, resolution=1.0), by="object")
    assert "<figcaption>Planes</figcaption>" in table._repr_html_()
    assert "| plane@1 |" in table.save(tmp_path / "objects.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["match", "regions", "confidence", "curve", "picture"])
def test_maps_and_curves_are_pictures(results: dict[str, Any], name: str) -> None:
    found = re.fullmatch(r'<img alt="\w+" src="data:image/png;base64,([^"]+)">', results[name]._repr_html_())
    assert found is not None
    image = cv2.imdecode(np.frombuffer(base64.b64decode(found[1]), np.uint8), cv2.IMREAD_COLOR)
    assert min(image.shape[:2]) > 100
    assert image.std() > 10, "an empty picture"


SAVED = {
    "table": ["csv", "json", "html", "md", "tex"],
    "ranking": ["csv", "json", "html", "md", "tex"],
    "match": ["pfm", "npy", "png", "svg", "pdf"],
    "regions": ["npz", "png"],
    "confidence": ["npz", "png"],
    "curve": ["csv", "svg"],
    "picture": ["npy", "png"],
    "answer": ["csv", "json", "html", "md", "tex"],
    "explanation": ["csv", "json", "html", "md", "tex"],
}


@pytest.mark.parametrize(("name", "suffix"), [(name, suffix) for name, kinds in SAVED.items() for suffix in kinds])
def test_saving_by_suffix(results: dict[str, Any], tmp_path: Path, name: str, suffix: str) -> None:
    path = results[name].save(tmp_path / "new" / f"result.{suffix}")
    assert path.stat().st_size > 0


def test_what_is_saved_reads_back(results: dict[str, Any], tmp_path: Path) -> None:
    results["match"].save(tmp_path / "map.pfm")
    assert np.array_equal(sg.read_disparity(tmp_path / "map.pfm"), results["match"].disparity)
    frame = pd.read_csv(results["table"].save(tmp_path / "scores.csv"))
    assert frame["value"].dtype == float
    curve = pd.read_csv(results["curve"].save(str(tmp_path / "curve.csv")))
    assert curve["bad"].iloc[-1] == results["curve"].bad_pixels
    with np.load(results["regions"].save(tmp_path / "masks.npz")) as masks:
        assert set(masks) == {"all", "nonocc"}


@pytest.mark.parametrize(("name", "suffix"), [("table", ".png"), ("match", ".jpg"), ("curve", "")])
def test_another_suffix_is_refused_with_those_that_work(
    results: dict[str, Any], tmp_path: Path, name: str, suffix: str
) -> None:
    with pytest.raises(sg.StereogaugeError, match=r"is saved as \."):
        results[name].save(tmp_path / f"result{suffix}")


def test_outside_a_notebook_a_page_is_opened(
    results: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    results["table"].show()
    path = Path(capsys.readouterr().err.removesuffix(" written\n"))
    assert opened == [path.as_uri()]
    assert "<table>" in path.read_text(encoding="utf-8")
    path.unlink()


@pytest.mark.parametrize(
    "name", [name for name in sg.__all__ if callable(getattr(sg, name)) and not inspect.isclass(getattr(sg, name))]
)
def test_help_names_the_parameters(name: str) -> None:
    parameters = inspect.signature(getattr(sg, name)).parameters.values()
    assert any(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)
    text = pydoc.plain(pydoc.render_doc(getattr(sg, name)))
    assert f"{name}(" in text
    assert next(iter(inspect.signature(getattr(sg, name)).parameters)) in text


def test_every_result_is_one_short_line_at_a_prompt(results: dict[str, Any]) -> None:
    for name in ("match", "table", "ranking", "curve", "picture"):
        assert len(repr(results[name])) < 120
    assert repr(results["match"]).startswith("MatchResult(sgm: 90×60, 16 disparities, ")


def test_whatever_a_notebook_has_at_hand_is_an_estimate(results: dict[str, Any], tmp_path: Path) -> None:
    match, truth = results["match"], np.full((60, 90), 5, np.float32)
    scene = sg.Scene("shift", gt=truth)
    path = match.save(tmp_path / "saved.pfm")
    table = sg.evaluate([match, path], scene, ["mae"], ["all"])
    assert table.value("mae", algorithm="sgm") == table.value("mae", algorithm="saved")
    assert (sg.picture(match, scene, "mae").values == sg.picture(path, scene, "mae").values).all()
    for nothing in ({}, [], None):
        with pytest.raises(sg.StereogaugeError, match="No estimate was given"):
            sg.evaluate(nothing, scene, ["mae"])
    with pytest.raises(sg.StereogaugeError, match="Maps in a list have no names"):
        sg.evaluate([truth, truth], scene, ["mae"])
