"""Everything that a score depends on is in a hash that is printed with it, and what was assumed is said."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from msgspec.structs import replace

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.evaluation.fingerprints import assumptions, inputs_hash

TRUTH = np.tile(np.linspace(5, 30, 60, dtype=np.float32), (40, 1))
MASK = np.ones((40, 60), bool)
SCENES = {
    "as it is": sg.Scene("a", gt=TRUTH),
    "resolution": sg.Scene("a", gt=TRUTH, resolution=0.25),
    "mask": sg.Scene("a", gt=TRUTH, masks={"nonocc": MASK}),
    "border": sg.Scene("a", gt=TRUTH, border=3),
    "calibration": sg.Scene("a", gt=TRUTH, calibration=sg.Calibration(focal=100, baseline=0.1)),
    "left image": sg.Scene("a", gt=TRUTH, left=np.zeros((40, 60), np.uint8)),
    "right truth": sg.Scene("a", gt=TRUTH, gt_right=TRUTH),
    "drawn planes": sg.Scene("a", gt=TRUTH, metadata={"planes": MASK.astype(np.uint8)}),
    "truth": sg.Scene("a", gt=TRUTH + 1),
}


def test_every_input_changes_the_hash() -> None:
    assert len({inputs_hash([scene]) for scene in SCENES.values()}) == len(SCENES)
    assert inputs_hash([SCENES["as it is"]]) == inputs_hash([sg.Scene("a", gt=TRUTH.copy())])


def test_what_was_assumed_is_one_line_and_what_was_stated_is_not_in_it() -> None:
    protocol = sg.load_protocol("default")
    assert "nonocc from the ground truth by z-buffer; resolution " in assumptions([SCENES["as it is"]], protocol)
    assert "resolution" not in assumptions([SCENES["resolution"]], protocol)
    assert "from the dataset's mask" in assumptions([SCENES["mask"]], protocol)
    fixed = protocol.replace(**{"region_rules.rule": "z-buffer"})
    assert assumptions([SCENES["resolution"]], fixed) == ""
    assert "nonocc" not in assumptions([SCENES["as it is"]], replace(protocol, regions=("all",)))


def test_compare_prints_another_hash_for_another_resolution_or_mask(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sg.write_disparity(tmp_path / "gt.pfm", TRUTH)
    sg.write_disparity(tmp_path / "mine.pfm", TRUTH + 1)
    cv2.imwrite(str(tmp_path / "nonocc.png"), np.where(TRUTH < 20, 255, 0).astype(np.uint8))
    words = ["compare", str(tmp_path / "gt.pfm"), str(tmp_path / "mine.pfm"), "-m", "mae", "-r", "nonocc"]
    seen = {}
    for name, more in {
        "plain": [],
        "resolution": ["--resolution", "0.25"],
        "mask": ["--mask", f"nonocc={tmp_path / 'nonocc.png'}"],
    }.items():
        with pytest.raises(SystemExit):
            main([*words, *more])
        seen[name] = capsys.readouterr().err
        with pytest.raises(SystemExit):
            main([*words, *more, "-f", "json"])
        assert f"scenes {json.loads(capsys.readouterr().out)['inputs']}" in seen[name]
    assert "assumed: nonocc from the ground truth by z-buffer; resolution" in seen["plain"]
    assert "resolution" not in seen["resolution"]
    lines = [line for text in seen.values() for line in text.splitlines() if line.startswith("protocol")]
    assert len(set(lines)) == 3


def test_the_pixels_that_all_maps_have_are_in_the_hash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    holes = TRUTH.copy()
    holes[:10] = np.nan
    for name, values in (("gt", TRUTH), ("mine", TRUTH + np.arange(40)[:, None]), ("holes", holes)):
        sg.write_disparity(tmp_path / f"{name}.pfm", values.astype(np.float32))
    files = [str(tmp_path / f"{name}.pfm") for name in ("gt", "mine", "holes")]
    found = {}
    for words in (("--common",), ("--set", "invalid=exclude")):
        with pytest.raises(SystemExit):
            main(["compare", *files, "-m", "mae", "-r", "all", "-f", "json", *words])
        document = json.loads(capsys.readouterr().out)
        found[document["inputs"]] = document["scores"][0]["value"]
    assert len(found) == 2, "two scores under one hash"
    assert len(set(found.values())) == 2
