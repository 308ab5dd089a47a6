"""Error over density: maps cut by their own confidence, points for the others, orders at equal density only."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import stereogauge as sg
from stereogauge import StereogaugeError, open_store
from stereogauge.cli import main
from stereogauge.evaluation.run import make_plan, run_plan
from stereogauge.figures.confidence import error_density_data
from stereogauge.tables.score_table import density_table

SHAPE = (40, 50)
TRUTH = np.tile(np.linspace(5, 15, SHAPE[1], dtype=np.float32), (SHAPE[0], 1))


def scene(name: str = "flat", **more: object) -> sg.Scene:
    return sg.Scene(name, gt=TRUTH, dataset="made", **more)  # type: ignore[arg-type]


def wrong(share: float, seed: int = 0) -> np.ndarray:
    """Errors of 0.25 px everywhere and of 4 px in a share of the pixels."""
    gone = np.random.default_rng(seed).random(SHAPE) < share
    return np.where(gone, np.float32(4), np.float32(0.25))


def with_holes(values: np.ndarray, share: float) -> np.ndarray:
    return np.where(np.random.default_rng(9).random(SHAPE) < share, np.float32(np.nan), values)


def results() -> list[sg.ResultSet]:
    good, worse = wrong(0.3), wrong(0.2, 1)
    noise = np.random.default_rng(2).random(SHAPE).astype(np.float32)
    return [
        sg.ResultSet("knows", {"flat": TRUTH + good}, confidence={"flat": good}, confidence_better="lower"),
        sg.ResultSet("guesses", {"flat": TRUTH + worse}, confidence={"flat": noise}, confidence_better="higher"),
        sg.ResultSet("sparse", {"flat": with_holes(TRUTH + wrong(0.1, 3), 0.4)}),
    ]


def test_a_good_confidence_brings_the_error_down_and_a_random_one_does_not() -> None:
    found = sg.error_density(results(), scene(), "bad@1", "all", steps=10)
    assert found.curves["knows"][:6].max() == 0  # the surest 60 % are all right
    assert found.curves["knows"][-1] == pytest.approx(100 * (wrong(0.3) > 1).mean())
    assert np.ptp(found.curves["guesses"][2:]) < 5
    assert set(found.curves) == {"knows", "guesses"}
    assert found.points["sparse"].density == pytest.approx(0.6, abs=0.05)
    assert found.notes == ("sparse: a point only, since it brings no confidence map",)


def test_the_end_of_a_curve_is_the_score_of_the_map() -> None:
    for metric in ("mae", "rms", "bad@1", "bad@2", "quantile@90", "bias"):
        found = sg.error_density(results(), scene(), metric, "all", steps=4)
        plain = sg.evaluate(results(), scene(), [metric], ["all"], sg.Protocol().replace(invalid="exclude"))
        for name, point in found.points.items():
            assert point.value == plain.value(metric, algorithm=name)
        for name, curve in found.curves.items():
            assert curve[-1] == found.points[name].value


def test_orders_stand_at_equal_density_only() -> None:
    """At its own 60 % density `sparse` beats both dense maps; cut to that density, `knows` beats it."""
    found = sg.error_density(results(), scene(), "bad@1", "all")
    own = {name: point.value for name, point in found.points.items()}
    assert min(own, key=lambda name: own[name]) == "sparse"
    common, at_sparse = found.equal
    assert common.density == 1
    assert common.reasons == {"sparse": "no confidence map to cut it by"}
    assert at_sparse.reference == ("sparse",)
    assert at_sparse.density == found.points["sparse"].density
    assert sorted(at_sparse.values, key=lambda name: at_sparse.values[name]) == ["knows", "sparse", "guesses"]
    shown = density_table(found)
    best = {row[0].value: [cell.emphasis for cell in row[1:]] for row in shown.rows}
    assert best["sparse"] == ["", "", "", "second"]  # its own density is no reason to be marked
    assert best["knows"][-1] == "best"


def test_deleting_pixels_of_a_map_with_confidence_wins_nothing_at_equal_density() -> None:
    """Keeping only the surest half moves along the curve; at the density of another map it is a gap."""
    whole, _, other = results()
    order = np.argsort(whole.confidence["flat"].ravel(), kind="stable")
    kept = np.full(SHAPE, np.nan, np.float32).ravel()
    kept[order[: kept.size // 2]] = np.asarray(whole.maps["flat"]).ravel()[order[: kept.size // 2]]
    cut = sg.ResultSet("cut", {"flat": kept.reshape(SHAPE)}, confidence=whole.confidence, confidence_better="lower")
    found = sg.error_density([whole, cut, other], scene(), "rms", "all", steps=10)
    assert found.curves["cut"][:5] == pytest.approx(found.curves["knows"][:5], rel=0.05)
    assert np.isnan(found.curves["cut"][5:]).all()
    assert found.equal[0].density == pytest.approx(0.5)
    assert found.equal[1].reasons == {"cut": "does not reach this density"}


def test_ties_do_not_depend_on_where_the_pixels_stand() -> None:
    half = np.repeat([[0.25, 4.0]], SHAPE[1] // 2, axis=1).reshape(1, -1).repeat(SHAPE[0], axis=0).astype(np.float32)
    flat = np.ones(SHAPE, np.float32)
    same = [
        sg.ResultSet("a", {"flat": TRUTH + e}, confidence={"flat": flat}, confidence_better="lower") for e in (half,)
    ]
    found = sg.error_density(same, scene(), "bad@1", "all", steps=4)
    assert found.curves["a"] == pytest.approx([50] * 4, abs=4)


def test_several_scenes_are_cut_to_the_same_density_and_a_lacking_scene_is_a_gap() -> None:
    first, second, third = results()
    maps = {"flat": first.maps["flat"], "other": with_holes(np.asarray(first.maps["flat"]), 0.5)}
    both = sg.ResultSet(
        "both", maps, confidence=dict.fromkeys(maps, first.confidence["flat"]), confidence_better="lower"
    )
    found = sg.error_density([both, second], [scene(), scene("other")], "mae", "all", steps=10)
    reached = int(10 * np.isfinite(maps["other"]).mean())
    assert np.isnan(found.curves["both"][reached:]).all()
    assert np.isfinite(found.curves["both"][:reached]).all()
    assert np.isnan(found.points["guesses"].value)
    assert third.name not in found.points


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [("seconds", "against ground truth; seconds is none"), ("ause@3", "ause@3 is none"), ("bda@1", "Unknown metric")],
)
def test_what_has_no_curve_says_so(metric: str, sentence: str) -> None:
    with pytest.raises(StereogaugeError, match=sentence):
        sg.error_density(results(), scene(), metric, "all")


def test_a_confidence_without_direction_is_no_order() -> None:
    unsure = sg.ResultSet("unsure", {"flat": TRUTH}, confidence={"flat": TRUTH})
    found = sg.error_density([unsure], scene(), "mae", "all")
    assert not found.curves
    assert "better = …" in found.notes[0]


def test_figures_and_records() -> None:
    found = [sg.error_density(results(), scene(), metric, "all", steps=5) for metric in ("bad@1", "rms")]
    chart = error_density_data(found)
    assert {row["algorithm"] for row in chart.rows} == {"knows", "guesses", "sparse"}
    drawn = chart.encoded("svg").decode()
    assert all(text in drawn for text in ("bad@1 [%]", "rms [px]", "knows", "guesses", "sparse"))
    frame = found[0].to_pandas()
    assert list(frame.columns) == ["algorithm", "kind", "density", "value"]
    assert len(frame) == 2 * 5 + 3 + 3 * len(found[0].equal)


def test_the_command_line_compares_at_equal_density(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "data"
    (root / "flat").mkdir(parents=True)
    sg.write_disparity(root / "flat" / "disp.pfm", TRUTH)
    stored = []
    for result in results():
        folder = tmp_path / "results" / result.name
        (folder / "confidence").mkdir(parents=True)
        sg.write_disparity(folder / "flat.pfm", np.asarray(result.maps["flat"]))
        confidence = {}
        if result.confidence:
            sg.write_disparity(folder / "confidence" / "flat.pfm", result.confidence["flat"])
            confidence = {"flat": folder / "confidence" / "flat.pfm"}
        stored.append(
            sg.ResultSet(
                result.name,
                {"flat": folder / "flat.pfm"},
                confidence=confidence,
                confidence_better=result.confidence_better,
            )
        )
    data = sg.Dataset("made", [sg.Scene("flat", gt=root / "flat" / "disp.pfm", dataset="made")])
    protocol = sg.load_protocol("default").replace(metrics=["mae"], regions=["all"])
    address = str(tmp_path / "s.sqlite")
    with open_store(address) as store:
        run_plan(make_plan(store, data, stored, protocol), store)
    with pytest.raises(SystemExit) as end:
        main(["table", address, "--need", "sure", "--format", "csv", "--figure", str(tmp_path / "curve.svg")])
    assert end.value.code == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out))
    at_equal = printed[printed["table"] == "density-mae-all"].set_index("algorithm")
    expected = sg.error_density(results(), scene(), "mae", "all")
    assert set(at_equal.index) == {one.name for one in results()}
    assert expected.equal[1].values["knows"] in at_equal.loc["knows"].tolist()
    assert (tmp_path / "curve.svg").stat().st_size > 1000
    with pytest.raises(SystemExit) as end:
        main(["table", address, "--figure", str(tmp_path / "curve.svg")])
    assert end.value.code == 2
    assert "--need sure" in capsys.readouterr().err
