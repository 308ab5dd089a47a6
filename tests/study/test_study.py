"""Studies: responses, selectivity, and what each metric can and cannot tell apart."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.io import DisparityFile, MaskFile
from stereogauge.study.run import (
    GEOMETRY_METRICS,
    Sensitivity,
    Study,
    named_damages,
    run_sensitivity,
    run_study,
    sensitivity_of,
    worsening,
)


@pytest.fixture(scope="module")
def small() -> Study:
    scene = load_synthetic("planes", size=(96, 128))["planes-0"]
    strengths = {"salt-pepper-small": (0.1,), "holes": (0.1, 0.3)}
    return run_study(
        scene, ["bad@1", "mae", "r-ssim"], damage_ids=["salt-pepper-small", "holes"], strengths=strengths, seed=3
    )


def test_a_study_holds_every_metric_damage_and_strength(small: Study) -> None:
    assert small.damages == ("salt-pepper-small", "holes")
    assert small.metrics == ("bad@1:nonocc", "mae:nonocc", "r-ssim:nonocc")
    assert len(small.responses) == 3 * 3


def test_curves_start_at_the_truth(small: Study) -> None:
    assert small.curve("bad@1:nonocc", "holes")[0] == (0.0, 0.0)
    strengths = [strength for strength, _ in small.curve("bad@1:nonocc", "holes")]
    assert strengths == [0.0, 0.1, 0.3]


def test_responses_are_positive_when_a_map_got_worse_whatever_the_direction(small: Study) -> None:
    speckled = {r.metric: r.response for r in small.responses if r.damage == "salt-pepper-small"}
    assert speckled["bad@1"] == pytest.approx(10, abs=1.5)
    assert speckled["mae"] == pytest.approx(0.2, abs=0.03)
    assert speckled["r-ssim"] > 0
    assert worsening("r-ssim", 0.7, 1.0) == pytest.approx(0.3)
    assert worsening("bias", -3.0, 1.0) == 2.0


def test_a_study_is_written_as_csv_and_json(small: Study) -> None:
    rows = list(csv.DictReader(io.StringIO(small.to_csv())))
    assert [float(row["strength"]) for row in rows if row["metric"] == "mae"] == [0.1, 0.1, 0.3]
    document = json.loads(small.to_json())
    assert document["scene"] == "planes-0"
    assert len(document["responses"]) == len(rows)


def test_progress_counts_the_maps() -> None:
    scene = load_synthetic("planes", size=(64, 96))["planes-0"]
    calls: list[tuple[int, int]] = []
    run_study(scene, ["mae"], damage_ids=["blur"], progress=lambda done, total: calls.append((done, total)))
    assert calls == [(i, 5) for i in range(1, 6)]


def test_both_normalisations_on_a_matrix_by_hand() -> None:
    """Rows (3, 4) and (0, 8) scale to (0.75, 1) and (0, 1); columns then to length 1."""
    found = Sensitivity(
        ("d-fat", "d-thin"), ("fatten-foreground", "thin-foreground"), np.array([[3.0, 4.0], [0.0, 8.0]])
    )
    assert found.scaled == pytest.approx(np.array([[0.75, 1.0], [0.0, 1.0]]))
    assert found.selective == pytest.approx(np.array([[1.0, math.sqrt(0.5)], [0.0, math.sqrt(0.5)]]))
    assert found.strongest() == {"d-fat": "fatten-foreground", "d-thin": "thin-foreground"}
    assert all(found.namesakes().values())
    assert found.margin("d-fat") == pytest.approx(1 - math.sqrt(0.5))


def test_improvements_and_unknown_values_do_not_count_as_responses() -> None:
    found = Sensitivity(("mae", "rms"), ("blur", "holes"), np.array([[2.0, -1.0], [np.nan, np.nan]]))
    assert found.scaled[0].tolist() == [1.0, 0.0]
    assert found.selective[1].tolist() == [0.0, 0.0]
    assert json.loads(found.to_json())["responses"][1] == [None, None]


def test_the_reference_strength_is_taken_from_a_longer_study() -> None:
    scene = load_synthetic("planes", size=(64, 96))["planes-0"]
    study = run_study(scene, ["bad@1"], damage_ids=["guesses"], strengths={"guesses": (0.02, 0.1, 0.4)})
    expected = next(r.response for r in study.responses if r.strength == 0.1)
    assert sensitivity_of(study).responses[0, 0] == expected


@pytest.mark.parametrize(("preset", "seed"), [("anatomy", 0), ("mixed", 3), ("thin", 1)])
def test_every_geometry_metric_reacts_most_to_the_damage_that_it_is_named_after(preset: str, seed: int) -> None:
    scene = load_synthetic(preset, size=(480, 640), seed=seed)[f"{preset}-{seed}"]
    found = run_sensitivity(scene)
    assert found.damages == named_damages()
    assert found.namesakes() == dict.fromkeys(GEOMETRY_METRICS, True)
    assert min(found.margin(metric) for metric in GEOMETRY_METRICS) > 0.1


def test_the_same_holds_on_a_real_scene() -> None:
    scene = next(iter(sg.load_dataset("motorcycle")))
    assert run_sensitivity(scene).namesakes() == dict.fromkeys(GEOMETRY_METRICS, True)


def tsukuba(root: Path) -> sg.Scene:
    folder = root / "middlebury-v2" / "tsukuba"
    return sg.Scene(
        "tsukuba",
        gt=DisparityFile(folder / "groundtruth.png", "middlebury", 16),
        masks={"nonocc": MaskFile(folder / "nonocc.png")},
    )


def test_bad_pixels_cannot_tell_small_speckles_from_large_ones_and_magnitudes_can(data_root: Path) -> None:
    """Cabezas & Trujillo 2013, figure 3, on the same scene: 5 % of the pixels off by 2 px or by ¾ of the range."""
    strengths = {"salt-pepper-small": (0.05,), "salt-pepper-large": (0.05,)}
    study = run_study(
        tsukuba(data_root),
        ["bad@1", "mae", "mse", "sze-mean"],
        damage_ids=list(strengths),
        strengths=strengths,
    )
    small, large = ({r.metric: r.value for r in study.responses if r.damage == d} for d in strengths)
    assert small["bad@1"] == large["bad@1"] == pytest.approx(5.0, abs=0.3)
    assert large["mae"] > 3 * small["mae"]
    assert large["mse"] > 10 * small["mse"]
    assert large["sze-mean"] > 2 * small["sze-mean"]


def test_a_damage_that_finds_nothing_to_strike_is_named_and_has_no_response() -> None:
    scene = load_synthetic("boxes", size=(240, 320))["boxes-0"]
    study = run_study(scene, ["bad@1"], damage_ids=["cuts", "holes"])
    assert study.idle == ("cuts",)
    assert study.damages == ("holes",)
    assert json.loads(study.to_json())["idle"] == ["cuts"]


def test_a_scene_without_thin_structures_has_a_smaller_square() -> None:
    scene = load_synthetic("boxes", size=(240, 320))["boxes-0"]
    found = run_sensitivity(scene)
    assert not {"pores", "cuts", "fatten-fine"} & set(found.damages)
    assert set(found.namesakes()) == {"d-fat", "d-thin", "d-fuz-rel", "p-bump", "p-off", "p-mis"}
