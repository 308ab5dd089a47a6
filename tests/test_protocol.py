"""Protocols: every choice explicit, hashed and printable."""

from __future__ import annotations

from pathlib import Path

import pytest

import stereogauge as sg
from stereogauge import StereogaugeError, load_protocol
from stereogauge.errors import ProtocolError
from stereogauge.metrics.registry import parse_column
from stereogauge.protocol import choice_names, parse_override, preset_names
from stereogauge.scores.column import columns_of

SHIPPED = {
    "default",
    "middlebury-v2",
    "middlebury-v3",
    "kitti-2012",
    "kitti-2015",
    "eth3d",
    "cabezas",
    "sigma-z-2011",
    "hci",
}


def test_the_promised_presets_are_there() -> None:
    assert set(preset_names()) >= SHIPPED


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_round_trips_through_its_own_text(name: str, tmp_path: Path) -> None:
    protocol = load_protocol(name)
    path = tmp_path / "mine.toml"
    path.write_text(protocol.to_toml(), encoding="utf-8")
    again = load_protocol(path)
    assert again.hash == protocol.hash
    assert again.name == protocol.name == name
    for text in protocol.metrics:
        parse_column(text)


def test_a_scoring_choice_changes_both_hashes_and_a_selection_only_one() -> None:
    base = load_protocol()
    scoring, selection = base.replace(invalid="exclude"), base.replace(metrics=["mae"])
    assert scoring.scoring_hash != base.scoring_hash
    assert scoring.hash != base.hash
    assert selection.scoring_hash == base.scoring_hash
    assert selection.hash != base.hash
    assert base.replace(name="other").hash == base.hash


def test_every_nested_choice_reaches_the_hash() -> None:
    base = load_protocol()
    for name in ("sigma_z.mu", "region_rules.consistency", "region_rules.texture_threshold"):
        owner, part = name.split(".")
        assert base.replace(**{name: getattr(getattr(base, owner), part) * 2}).scoring_hash != base.scoring_hash


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("invalid=ignore", "invalid must be 'count', 'exclude' or 'fill'; found 'ignore'"),
        ("sigma_z.mue=1", "Unknown protocol choice 'sigma_z.mue'"),
        ("clip_to_range=3", "clip_to_range must be true or false; found 3"),
        ("metrics=bad@1", "metrics must be a list of texts; found 'bad@1'"),
        (
            "max_disparity=far",
            r"max_disparity must be a number in px .*; none: any\); found 'far'",
        ),
        ("sigma_z=3", "sigma_z must be a table with mu, metric, literal; found 3"),
        ("invalid", "written CHOICE=VALUE"),
        ("peak=0", r"peak must be a number greater than 0 in px \(signal range of psnr; none: ndisp\); found 0"),
        ("border=-1", r"border must be a whole number of at least 0 in px \(margin\) or 'dataset' or 'hci'; found -1"),
        ("border=wide", r"border must be .* or 'dataset' or 'hci'; found 'wide'"),
        ("max_disparity=nan", "max_disparity must be a number .*; found nan"),
        ("sigma_z.mu=-1", "sigma_z.mu must be a number of at least 0 .*; found -1"),
        (
            "region_rules.discontinuity_gap=nan",
            "discontinuity_gap must be a number of at least 0 .*; found nan",
        ),
    ],
)
def test_an_impossible_choice_says_what_is_allowed(override: str, sentence: str) -> None:
    with pytest.raises(StereogaugeError, match=sentence):
        load_protocol().replace(**dict([parse_override(override)]))


def test_a_file_may_extend_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "strict.toml"
    path.write_text('name = "strict"\nextends = "middlebury-v3"\ninvalid = "exclude"\n[scene_weights]\nShelves = 2.0\n')
    protocol = load_protocol(path)
    assert (protocol.name, protocol.invalid, protocol.clip_to_range) == ("strict", "exclude", True)
    assert protocol.scene_weights == {"Shelves": 2.0}


@pytest.mark.parametrize("text", ["name = ", "nonsense = 3\n", "[region_rules]\nrule = 7\n"])
def test_a_broken_file_gives_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text)
    with pytest.raises(StereogaugeError):
        load_protocol(path)


def test_unknown_presets_and_files_are_named() -> None:
    with pytest.raises(StereogaugeError, match="Did you mean 'kitti-2015'"):
        load_protocol("kitti-2051")
    with pytest.raises(ProtocolError, match="cannot be read"):
        load_protocol("nowhere/none.toml")


def test_choices_are_listed_by_dotted_name() -> None:
    assert {"invalid", "sigma_z.mu", "region_rules.rule"} <= set(choice_names())


def test_scores_under_different_protocols_do_not_share_a_table() -> None:
    import numpy as np

    scene = sg.Scene("s", gt=np.ones((3, 3), np.float32))
    first = sg.evaluate(scene.gt, scene, ["mae"], ["all"])
    second = sg.evaluate(scene.gt, scene, ["mae"], ["all"], protocol=load_protocol().replace(invalid="exclude"))
    with pytest.raises(ProtocolError, match="2 different protocols"):
        sg.ScoreTable([*first, *second])


def test_kitti_2012_takes_the_kits_five_thresholds_filled_and_estimated_only() -> None:
    metrics = load_protocol("kitti-2012").metrics
    assert {f"{kind}@{pixels}" for kind in ("bad", "bad-valid") for pixels in range(1, 6)} <= set(metrics)
    assert {"mae", "mae-valid", "density"} <= set(metrics)


def test_scenes_that_a_protocol_leaves_out_are_evaluated_only_when_named() -> None:
    hci = load_protocol("hci")
    scenes = ["Adirondack", "MotorcycleE", "PianoL", "Pipes"]
    assert hci.selected(scenes, "middlebury-v3:Q") == ["Adirondack", "Pipes"]
    assert hci.selected(scenes, "my-garden") == scenes  # they are imperfect on purpose only there
    assert hci.selected(["PianoL"]) == ["PianoL"]
    named = hci.replace(scenes=["PianoL"])
    assert named.selected(["Adirondack", "PianoL"]) == ["PianoL"]
    assert named.scoring_hash == hci.scoring_hash


def test_the_hci_protocol_measures_rms_on_the_pixels_of_each_metric() -> None:
    columns = {str(column) for column in columns_of(load_protocol("hci").metrics, load_protocol("hci").regions)}
    for region in ("disc-background", "disc-foreground", "disc-edge", "planar", "fine", "fine-surround"):
        assert f"rms:{region}" in columns
