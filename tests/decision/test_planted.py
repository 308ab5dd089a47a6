"""Planted damage: the first cause and the first term that `explain` names are those of the damage.

Two maps differ by one known damage, on one generated scene of each kind. The cause is where the pixels are that make
the difference, so that every profile can name it. The term is the metric of the damage, which a profile can name only
if it weighs it: discontinuities and fine structures are not part of 3D metrology, bumps not of driver assistance.
"""

from __future__ import annotations

import functools

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.masks.geometric import PARTS
from stereogauge.model import DisparityMap
from stereogauge.ranking.profile import load_profile, shipped_profiles
from stereogauge.study.damage import GroundTruth, damage_called, ground_truth_of

TERMS = tuple(dict.fromkeys(term for name in shipped_profiles() for term in load_profile(name).weights))
SMOOTH, LOST, SHIFT = "smooth", "lost structures", "shift"
PLANTED = {
    "thin-foreground": ("foreground beside edges", "d-thin"),
    "fatten-foreground": ("background beside edges", "d-fat"),
    LOST: ("fine structures", "f-missing"),
    "bumps": ("planar", "p-bump-clip@1"),
    SHIFT: ("common shift", ""),
}
"""The cause and the metric of each damage; no metric is of a shift alone."""
WITHOUT_TERM = {
    "thin-foreground": "3d-metrology",
    "fatten-foreground": "3d-metrology",
    LOST: "3d-metrology",
    "bumps": "driver-assistance",
}
"""The profile that does not weigh the metric of the damage."""
BAD_SCENES = ("boxes-0", "mixed-0", "planes-0", "thin-0")


@pytest.fixture(autouse=True)
def supplement_maxima() -> None:
    """Normalise by the shipped maxima."""


def smooth(truth: GroundTruth) -> DisparityMap:
    """An error of 0.25 px that varies slowly, as of a good matcher."""
    noise = cv2.GaussianBlur(np.random.default_rng(5).normal(size=truth.disparity.shape), (0, 0), 6)
    return np.asarray(0.25 * noise / noise.std(), np.float32)


def damaged(kind: str, scene: str, truth: GroundTruth) -> DisparityMap:
    """The truth with one damage, at the reference strength of `study` where it has one."""
    if kind == LOST:
        return truth.behind_fine
    if kind == SHIFT:
        return truth.disparity + np.float32(0.6)
    if kind == "bad scenes":
        return damage_called("blobs").apply(truth, 0.1) if scene in BAD_SCENES else truth.disparity
    if kind == SMOOTH:
        return truth.disparity
    return damage_called(kind).apply(truth, damage_called(kind).reference)


@functools.cache
def scores(height: int) -> sg.ScoreTable:
    scenes = list(load_synthetic("all", size=(height, height * 4 // 3)))
    truths = {scene.id: ground_truth_of(scene, "hci") for scene in scenes}
    maps = {
        kind: {name: damaged(kind, name, truth) + smooth(truth) for name, truth in truths.items()}
        for kind in (SMOOTH, *PLANTED, "bad scenes")
    }
    edges = [f"d-fuz-rel:{part}" for part in PARTS]
    return sg.evaluate(maps, scenes, [*TERMS, *edges, "bias"], ["all", *PARTS], protocol="hci")


@pytest.mark.parametrize("height", [192, pytest.param(384, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", PLANTED)
@pytest.mark.parametrize("profile", shipped_profiles())
def test_the_planted_damage_is_the_first_reason(kind: str, height: int, profile: str) -> None:
    why = sg.explain(scores(height), SMOOTH, kind, profile=profile)
    cause, term = PLANTED[kind]
    assert min(why.causes, key=lambda piece: piece.amount).name == cause
    assert sum(piece.amount for piece in why.causes) == pytest.approx(why.difference)
    said = {claim.kind: claim for claim in why.claims if claim.names[:1] == (SMOOTH,)}
    if kind == SHIFT:
        assert said["common-shift"].numbers["shift"] == pytest.approx(0.6, abs=1e-3)
        assert "differ from those of smooth by +0.60 px" in why.text
        return
    assert said["lead-by-region"].names[1] == cause
    assert said["better-at"].names[1] == term or profile == WITHOUT_TERM[kind]


@pytest.mark.parametrize("profile", shipped_profiles())
def test_four_bad_scenes_are_found(profile: str) -> None:
    why = sg.explain(scores(192), SMOOTH, "bad scenes", profile=profile)
    order = sorted(why.scenes, key=lambda piece: piece.amount)
    assert {piece.name.rpartition("/")[2] for piece in order[:4]} == set(BAD_SCENES)
    assert [piece.amount for piece in order[4:]] == pytest.approx([0] * (len(order) - 4))
    ahead = next(claim for claim in why.claims if claim.kind == "ahead-on")
    assert ahead.numbers["ahead"] == 4
