"""The tables of the Sigma-Z-Error paper (Cabezas, Padilla, Trujillo, CIARP 2011) that need nothing but ground truth."""

from __future__ import annotations

from pathlib import Path

import pytest

import stereogauge as sg

TABLE_1_MAPE = {"tsukuba": 16.474, "venus": 14.316, "teddy": 4.117, "cones": 3.380}
TABLE_2_SZE = {"all": 218.905, "nonocc": 193.703, "disc": 66.945}


@pytest.fixture(scope="module")
def smooth_but_wrong(data_root: Path) -> sg.ScoreTable:
    """Ground truth − 1 on the four scenes: figure 1 of the paper."""
    data = sg.load_dataset("middlebury-v2", data_root / "middlebury-v2")
    return sg.evaluate({"gt - 1": {scene.id: scene.gt - 1 for scene in data}}, data, protocol="sigma-z-2011")


@pytest.mark.parametrize(("scene", "printed"), TABLE_1_MAPE.items())
def test_table_1(smooth_but_wrong: sg.ScoreTable, scene: str, printed: float) -> None:
    assert round(smooth_but_wrong.value("mape", "all", scene=scene), 3) == printed
    assert smooth_but_wrong.value("bad@1", "all", scene=scene) == 0
    assert smooth_but_wrong.value("mse", "all", scene=scene) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("region", "printed"), TABLE_2_SZE.items())
def test_table_2_inaccurate_row(smooth_but_wrong: sg.ScoreTable, region: str, printed: float) -> None:
    assert round(smooth_but_wrong.value("sze", region, scene="cones"), 3) == printed


def test_table_2_ground_truth_row(data_root: Path) -> None:
    cones = sg.load_dataset("middlebury-v2", data_root / "middlebury-v2")["cones"]
    table = sg.evaluate(cones.gt, cones, protocol="sigma-z-2011")
    assert [table.value(metric, region) for metric in ("sze", "bad@1") for region in TABLE_2_SZE] == [0] * 6
