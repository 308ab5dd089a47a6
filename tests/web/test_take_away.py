"""What a visitor takes away: maps as pictures and numbers with a caption; colours and numbers that agree everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.web.small import estimates, truth
from tests.web.visitor import BROWSER, Visitor

ERROR = "scenes/alpha/layers/error.csv"


def rows_of(text: str) -> np.ndarray:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return np.array([[float(value or "nan") for value in line.split(",")] for line in lines])


def test_the_numbers_of_a_map_are_its_errors(client: httpx.Client) -> None:
    found = rows_of(client.get(ERROR, params={"algorithm": "rough"}).text)
    expected = np.abs(estimates(0)["rough"] - truth(0))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    part = rows_of(client.get(ERROR, params={"algorithm": "rough", "crop": "3,4,8"}).text)
    np.testing.assert_array_equal(part, found[4:12, 3:11])


def test_numbers_outside_of_the_region_are_left_out(client: httpx.Client) -> None:
    whole = rows_of(client.get(ERROR, params={"algorithm": "rough"}).text)
    inside = rows_of(client.get(ERROR, params={"algorithm": "rough", "region": "disc"}).text)
    assert 0 < np.isfinite(inside).sum() < np.isfinite(whole).sum()


@pytest.mark.parametrize("path", ["scenes/alpha/layers/left.csv", "scenes/beta/layers/estimate.csv?algorithm=good"])
def test_photographs_and_hidden_scenes_have_no_numbers(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code in (403, 422)


def test_two_algorithms_keep_their_colours_in_the_map_of_who_is_right(client: httpx.Client) -> None:
    styles = {one["name"]: one["colour"].lower() for one in client.get("algorithms").json()}
    params = {"algorithm": "good", "other": "rough", "metric": "bad@1:all"}
    legend = client.get("scenes/alpha/layers/contrast", params=params).json()["legend"]
    shown = {one["text"]: one["colour"].lower() for one in legend}
    assert shown["only good right"] == styles["good"]
    assert shown["only rough right"] == styles["rough"]
    assert shown["both wrong"] not in styles.values()


def test_the_worst_blocks_show_different_places(client: httpx.Client) -> None:
    blocks = client.get("scenes/alpha/blocks", params={"algorithm": "rough"}).json()
    assert len(blocks) > 3
    for place, one in enumerate(blocks):
        for other in blocks[:place]:
            assert max(abs(one["x"] - other["x"]), abs(one["y"] - other["y"])) > one["size"]


class TestInTheBrowser:
    pytestmark = BROWSER

    def test_a_map_is_saved_with_what_it_shows(self, visitor: Visitor, tmp_path: Path) -> None:
        visitor.go("#scene?scene=alpha&pane=error~rough")
        visitor.page.wait_for_selector("[data-take=error] button")
        texts = {}
        for kind in ("SVG", "CSV"):
            with visitor.page.expect_download() as saved:
                visitor.page.click(f'[data-take=error] button:text-is("{kind}")')
            saved.value.save_as(tmp_path / kind)
            texts[kind] = (tmp_path / kind).read_text(encoding="utf-8")
        for text in texts.values():
            for said in (
                "absolute error",
                "rough",
                "alpha",
                "protocol small",
                "regions",
                "scenes, mean",
                "Stereogauge",
            ):
                assert said in text
            assert "#scene?scene=alpha" in text
        assert "data:image/png;base64," in texts["SVG"]
        assert rows_of(texts["CSV"]).shape == truth(0).shape

    def test_reasons_show_scores_that_the_leaderboard_has(self, visitor: Visitor) -> None:
        asked = "first=good&second=rough&weights=bad%401%3D1&weights=rms%3D1"
        visitor.go(f"#versus?{asked}")
        visitor.until("document.querySelectorAll('#why [data-value]').length > 3")
        shown = visitor.page.eval_on_selector_all(
            "#why [data-value]", "all => all.map(one => [one.dataset.column, one.dataset.value])"
        )
        # One algorithm lacks a scene, which is left out for all; hidden scenes are compared under one name.
        named = {one["name"] for one in visitor.ask("explain", asked)["scenes"]}
        compared = [one["name"] for one in visitor.ask("scope", "")["scenes"] if one["hidden"] or one["name"] in named]
        assert f"over {len(compared)} scenes" in visitor.page.inner_text("#why")
        table = visitor.ask("table", "&".join(f"scenes={name}" for name in compared))
        columns = [one["id"] for one in table["columns"]]
        values = {
            (columns[place], value)
            for name in ("good", "rough")
            for place, value in enumerate(table["values"][table["algorithms"].index(name)])
        }
        assert {(column, float(value)) for column, value in shown} <= values

    def test_each_term_of_saved_bars_has_a_colour_of_its_own(self, visitor: Visitor, tmp_path: Path) -> None:
        terms = [f"{metric}:{region}" for metric in ("rms", "bad@1", "bad@2") for region in ("all", "nonocc", "disc")]
        visitor.go("#compare?missing=drop-algorithm&bars=terms&" + "&".join(f"weights={one}%3D1" for one in terms))
        with visitor.page.expect_download() as saved:
            visitor.page.click('[data-take=weighted-scores] button:text-is("SVG")')
        saved.value.save_as(tmp_path / "bars.svg")
        fills = re.findall(r'fill="#([0-9a-fA-F]{6})"', (tmp_path / "bars.svg").read_text(encoding="utf-8"))
        swatches = visitor.page.eval_on_selector_all(
            "#bars .key i.swatch", "all => all.map(one => getComputedStyle(one).backgroundColor.replaceAll(' ', ''))"
        )
        assert len(set(swatches)) == len(terms)
        assert set(swatches) <= {"rgb({},{},{})".format(*bytes.fromhex(one)) for one in fills}
