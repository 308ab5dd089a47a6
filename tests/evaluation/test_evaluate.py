"""`evaluate` and the table that it returns."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge import StereogaugeError
from stereogauge.errors import ProtocolError, SizeError
from stereogauge.tables.formats import latex_tabular
from stereogauge.tables.score_table import score_table
from stereogauge.text import number_text


@pytest.fixture
def scenes() -> list[sg.Scene]:
    rng = np.random.default_rng(1)
    return [sg.Scene(name, gt=rng.uniform(2, 20, (8, 12)).astype(np.float32), dataset="made") for name in ("a", "b")]


def test_one_map_on_one_scene(scenes: list[sg.Scene]) -> None:
    table = sg.evaluate(scenes[0].gt + 1, scenes[0], metrics=["bad@1", "mae"], regions=["all"])
    assert table.value("bad@1", "all") == 0
    assert table.value("mae", "all") == pytest.approx(1)
    assert table.algorithms == ("estimate",)


def test_algorithms_by_scenes_with_a_gap(scenes: list[sg.Scene]) -> None:
    maps = {"exact": {s.id: s.gt for s in scenes}, "half": {"a": scenes[0].gt + 3}}
    table = sg.evaluate(maps, scenes, ["mae"], ["all"])
    gap = table.score("mae", "all", scene="b", algorithm="half")
    assert math.isnan(gap.value)
    assert gap.note == "no estimate for this scene"
    assert math.isnan(table.aggregate("mae", "all", algorithm="half"))
    assert table.aggregate("mae", "all", algorithm="exact") == 0


def test_the_long_form_has_the_promised_columns(scenes: list[sg.Scene]) -> None:
    frame = sg.evaluate(scenes[0].gt, scenes[0], ["mae"], ["all"]).to_pandas()
    promised = ["dataset", "scene", "algorithm", "metric", "region", "value", "count", "missing", "protocol"]
    assert list(frame.columns)[:9] == promised
    assert frame.iloc[0]["dataset"] == "made"


def test_a_region_in_the_id_overrides_the_list(scenes: list[sg.Scene]) -> None:
    table = sg.evaluate(scenes[0].gt, scenes[0], ["mae:all", "rms"], ["nonocc"])
    assert table.columns == (("mae", "all"), ("rms", "nonocc"))


def test_maps_may_be_paths(scenes: list[sg.Scene], tmp_path: Path) -> None:
    sg.write_disparity(tmp_path / "e.pfm", scenes[0].gt + 2)
    assert sg.evaluate(tmp_path / "e.pfm", scenes[0], ["mae"], ["all"]).value("mae") == pytest.approx(2)


def test_sizes_must_agree_unless_resizing_is_asked_for(scenes: list[sg.Scene]) -> None:
    small = np.full((4, 6), 3, np.float32)
    with pytest.raises(SizeError, match="Scene 'a': The map has 6 × 4 pixels, the ground truth 12 × 8"):
        sg.evaluate(small, scenes[0])
    scene = sg.Scene("flat", gt=np.full((8, 12), 6, np.float32))
    assert sg.evaluate(small, scene, ["mae"], ["all"], resize=True).value("mae") == 0


def test_misspelt_names_are_found_before_anything_is_computed(scenes: list[sg.Scene]) -> None:
    with pytest.raises(StereogaugeError, match="Did you mean 'a'"):
        sg.evaluate({"x": {"aa": scenes[0].gt}}, scenes)
    with pytest.raises(StereogaugeError, match="Did you mean 'bad'"):
        sg.evaluate(scenes[0].gt, scenes[0], ["bat@1"])
    with pytest.raises(StereogaugeError, match="write bad@VALUE"):
        sg.evaluate(scenes[0].gt, scenes[0], ["bad"])
    with pytest.raises(StereogaugeError, match="must be a number"):
        sg.evaluate(scenes[0].gt, scenes[0], ["bad@one"])
    with pytest.raises(StereogaugeError, match="between 0 and 100"):
        sg.evaluate(scenes[0].gt, scenes[0], ["quantile@101"])
    with pytest.raises(StereogaugeError, match="Unknown region 'nonoc'"):
        sg.evaluate(scenes[0].gt, scenes[0], ["mae"], ["nonoc"])
    with pytest.raises(SizeError, match="one map for 2 scenes"):
        sg.evaluate(scenes[0].gt, scenes)


def test_pooling_weighs_by_pixels_and_quantiles_refuse_it() -> None:
    small, large = np.full((2, 2), 9, np.float32), np.full((6, 6), 9, np.float32)
    scenes = [sg.Scene("small", gt=small), sg.Scene("large", gt=large)]
    maps = {"x": {"small": small + 4, "large": large}}
    table = sg.evaluate(maps, scenes, ["mae", "quantile@50", "rms"], ["all"])
    assert table.aggregate("mae", "all", how="mean") == 2
    assert table.aggregate("mae", "all", how="pooled") == pytest.approx(16 / 40)
    assert table.aggregate("rms", "all", how="pooled") == pytest.approx(math.sqrt(64 / 40))
    with pytest.raises(ProtocolError, match="cannot be pooled"):
        table.aggregate("quantile@50", "all", how="pooled")


def test_a_scene_without_such_pixels_does_not_count_and_a_gap_does() -> None:
    flat = sg.Scene("flat", gt=np.full((4, 6), 9, np.float32), masks={"part": np.zeros((4, 6), bool)})
    full = sg.Scene("full", gt=np.full((4, 6), 9, np.float32), masks={"part": np.ones((4, 6), bool)})
    maps = {"x": {"flat": flat.gt + 1, "full": full.gt + 2}, "y": {"flat": flat.gt}}
    table = sg.evaluate(maps, [flat, full], ["mae"], ["part"])
    assert table.aggregate("mae", "part", algorithm="x") == 2
    assert math.isnan(table.aggregate("mae", "part", algorithm="y"))


def test_an_ambiguous_value_asks_for_more(scenes: list[sg.Scene]) -> None:
    table = sg.evaluate({"x": {s.id: s.gt for s in scenes}}, scenes, ["mae"], ["all", "nonocc"])
    with pytest.raises(StereogaugeError, match="matches 4 scores"):
        table.value("mae")


def test_json_has_the_protocol_and_no_bare_infinity(scenes: list[sg.Scene]) -> None:
    protocol = sg.load_protocol().replace(peak=64.0)
    table = sg.evaluate({"x": {"a": scenes[0].gt}}, scenes, ["psnr"], ["all"], protocol=protocol)
    document = json.loads(table.to_json(), parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert document["protocol"]["hash"] == table.protocol.hash  # type: ignore[union-attr]
    assert [score["value"] for score in document["scores"]] == ["inf", None]


def test_latex_escapes_names_and_marks_the_best(scenes: list[sg.Scene]) -> None:
    table = sg.evaluate({"my_best&": scenes[0].gt, "other": scenes[0].gt + 1}, scenes[0], ["mae", "bad@0.5"], ["all"])
    text = latex_tabular(score_table(table.cube))
    assert r"my\_best\&" in text
    assert r"\textbf{0.00}" in text
    assert r"[\%]" in text


def test_one_name_is_a_list_of_one_and_a_metric_may_carry_its_region(scenes: list[sg.Scene]) -> None:
    table = sg.evaluate(scenes[0].gt + 2, scenes[0], "bad@1", "all")
    assert (table.metrics, table.regions) == (("bad@1",), ("all",))
    assert table.value("bad@1:all") == table.value("bad@1", "all") == 100
    assert list(sg.regions(scenes[0], "nonocc")) == ["nonocc"]
    both = sg.evaluate(scenes[0].gt + 2, scenes[0], ["mae"], ["all", "nonocc"])
    assert both.score("mae:nonocc").region == "nonocc"


def test_resizing_brings_both_views_to_the_scenes_size() -> None:
    half = np.full((4, 10), 2.0)
    result = sg.ResultSet("half", {"s": half}, right_maps={"s": half})
    scene = sg.Scene("s", gt=np.full((8, 20), 4.0))
    table = sg.evaluate(result, scene, ["mae", "lr-consistency@1"], ["nonocc"], resize=True)
    assert [score.value for score in table] == [0, 0]


def test_what_is_no_scene_is_named(scenes: list[sg.Scene]) -> None:
    for wrong, kind in ((scenes[0].gt, "ndarray"), ("disp0GT.pfm", "str")):
        with pytest.raises(StereogaugeError, match=f"found {kind}"):
            sg.evaluate(scenes[0].gt, wrong)  # type: ignore[arg-type]


def test_every_score_says_which_rule_made_its_region() -> None:
    truth = np.full((6, 9), 2.0)
    kinds = {
        "dataset": sg.Scene("own", gt=truth, masks={"nonocc": np.ones((6, 9), bool)}),
        "bidirectional": sg.Scene("both", gt=truth, gt_right=truth),
        "z-buffer": sg.Scene("left", gt=truth),
        "": sg.Scene("none", left=np.zeros((6, 9), np.uint8)),
    }
    for rule, scene in kinds.items():
        table = sg.evaluate(truth, scene, ["bad@1", "smooth-gradient@1"], ["all", "nonocc"])
        assert set(table.to_pandas()["rule"]) == {rule}
    official = sg.evaluate(truth, kinds["z-buffer"], protocol="middlebury-v2")
    assert {score.rule for score in official} == {"middlebury-v2"}


def test_a_protocol_may_name_its_scenes(scenes: list[sg.Scene]) -> None:
    maps = {"one": {scene.id: scene.gt + 1 for scene in scenes}}
    protocol = sg.load_protocol().replace(scenes=["b"])
    assert sg.evaluate(maps, scenes, ["mae"], ["all"], protocol).scenes == ("b",)
    assert sg.evaluate(scenes[0].gt, scenes[0], ["mae"], ["all"], protocol).scenes == ("a",)
    assert protocol.scoring_hash == sg.load_protocol().scoring_hash
    assert protocol.hash != sg.load_protocol().hash
    with pytest.raises(StereogaugeError, match="Unknown scene of the protocol 'c'"):
        sg.evaluate(maps, scenes, ["mae"], ["all"], protocol.replace(scenes=["c"]))


def test_a_column_that_is_averaged_among_pooled_ones_says_so(scenes: list[sg.Scene]) -> None:
    maps = {"one": {scene.id: scene.gt + 1 for scene in scenes}}
    pooled = sg.load_protocol().replace(aggregation="pooled")
    cube = sg.evaluate(maps, scenes, ["mae", "quantile@50"], ["all"], pooled).cube
    assert "[px] & [px, mean of scenes]" in latex_tabular(score_table(cube, "pooled"))
    assert "mean of scenes" not in latex_tabular(score_table(cube))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.00"),
        (1.23456, "1.23"),
        (-4.567, "-4.57"),
        (99.96, "100"),
        (123.4, "123"),
        (0.01234, "0.0123"),
        (2.5e-7, "2.50e-7"),
        (math.nan, "–"),
        (math.inf, "∞"),
    ],
)
def test_numbers_have_three_significant_digits(value: float, text: str) -> None:
    assert number_text(value) == text


def test_a_pickled_scene_carries_its_sources_and_not_its_arrays(tmp_path: Path) -> None:
    sg.write_disparity(tmp_path / "gt.pfm", np.ones((300, 300), np.float32))
    scene = sg.Scene("s", gt=tmp_path / "gt.pfm")
    assert scene.gt.shape == (300, 300)
    packed = pickle.dumps(scene)
    assert len(packed) < 2000
    assert pickle.loads(packed).gt.sum() == 90000


def test_arrays_of_a_scene_are_read_only_and_the_callers_stay_writable() -> None:
    mine = np.ones((3, 3), np.float32)
    scene = sg.Scene("s", gt=mine)
    with pytest.raises(ValueError, match="read-only"):
        scene.gt[0, 0] = 5
    mine[0, 0] = 5


def test_estimates_that_are_no_maps_are_refused(scenes: list[sg.Scene]) -> None:
    with pytest.raises(SizeError, match="two dimensions"):
        sg.evaluate(np.zeros((8, 12, 3)), scenes[0])
    with pytest.raises(SizeError, match="empty"):
        sg.evaluate(np.zeros((0, 12)), scenes[0])
    with pytest.raises(StereogaugeError, match="real numbers"):
        sg.evaluate(np.zeros((8, 12), complex), scenes[0])


def test_infinite_and_negative_estimates_are_unknown_and_measured() -> None:
    scene = sg.Scene("s", gt=np.full((1, 3), 4, np.float32))
    table = sg.evaluate(np.array([[np.inf, -4, 4]]), scene, ["mae", "density"], ["all"])
    assert table.value("mae") == 4
    assert table.value("density") == pytest.approx(200 / 3)


class TestCommonPixels:
    """Semi-dense maps compared on the pixels that all of them estimate."""

    truth = np.tile(np.linspace(5, 9, 10, dtype=np.float32), (6, 1))

    def test_only_pixels_of_all_maps_count(self) -> None:
        first, second = self.truth + 1, self.truth + 2
        first[:3] = np.nan
        second[:, :5] = np.nan
        table = sg.evaluate(
            {"a": first, "b": second}, sg.Scene("s", gt=self.truth), ["mae", "bad@1.5"], ["all"], common=True
        )
        assert [score.count for score in table] == [15] * 4
        assert [score.value for score in table] == pytest.approx([1, 0, 2, 100], abs=1e-6)
        assert table.protocol is not None
        assert table.protocol.invalid == "exclude"

    def test_maps_of_two_sizes_have_no_common_pixels(self) -> None:
        with pytest.raises(StereogaugeError, match="5×6 and 10×6"):
            sg.evaluate({"a": self.truth, "b": self.truth[:, :5]}, sg.Scene("s", gt=self.truth), ["mae"], common=True)
