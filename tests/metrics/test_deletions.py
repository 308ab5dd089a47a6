"""Nobody wins by leaving out: what removing estimates does to every metric under the shipped protocols.

A `counted` or `charged` score never improves, whatever is removed. A `left out` score stays the same on average when
pixels are removed at random, and its coverage tells how many are left.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

import stereogauge as sg
from stereogauge.confidence_measures.files import ConfidenceSource
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.errors import NotApplicable
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.declaration import MISSING, BoundMetric, Metric, Statistic
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.registry import metrics, parse_metric
from stereogauge.protocol import preset_names

Map = NDArray[np.float32]
REGIONS = ("all", "nonocc")
FREE = ("default", "cabezas", "haeusler-klette", "hci", "sigma-z-2011")
COUNTING = ("middlebury-v2", "middlebury-v3", "spring")
"""Official rules that count a missing estimate as wrong."""
FILLING = ("eth3d", "kitti-2012", "kitti-2015", "argoverse", "kitti-2012-reflective")
"""Official rules that leave missing estimates out or fill them first."""
OF_PROJECTS = (
    *("eigen-depth", "gwcnet", "hci-4dlf", "igev", "leastereo", "openstereo"),
    *("psmnet", "raft-stereo", "raft-stereo-things", "scared", "stereo-toolbox"),
)
"""Evaluators of projects: the default's rules for missing estimates with other limits."""
SEEDS = 16
NONLINEAR = {"r-ssim"}
"""Means of ratios whose terms have fewer pixels where some are missing: no bias above the spread of a single draw."""
BOUND = [parse_metric(m.examples[0]) if m.examples else m.bind() for m in metrics().values()]
FACTS = {"seconds": 1.0, "cpu_seconds": 1.0, "peak_memory": 1.0}


def confidence_kind(metric: BoundMetric) -> str:
    """What the metric wants a confidence map to be."""
    if metric.metric.id.endswith(("gaussian", "laplace")):
        return "sigma"
    return "probability" if metric.metric.id in ("ece", "nll") else "order"


@dataclass(frozen=True, eq=False)
class Case:
    """A scene and an algorithm's maps of it, all estimates inside the scene's disparity range."""

    scene: sg.Scene
    estimate: Map
    right: Map | None
    doubt: Map
    following: Map | None = None

    @functools.cache  # noqa: B019 – as long-lived as the tests
    def regions(self, protocol: str) -> SceneRegions:
        return SceneRegions(self.scene, sg.load_protocol(protocol))

    def measured(
        self, protocol: str, gone: NDArray[np.bool_] | bool, kinds: Collection[str] = MISSING
    ) -> dict[tuple[BoundMetric, str], Statistic]:
        """The statistic of every metric of some kinds that the scene allows, without the estimates that are gone."""
        wanted = [metric for metric in BOUND if metric.metric.missing in kinds]
        sources = {
            "order": ConfidenceSource(self.doubt, "lower"),
            "sigma": ConfidenceSource(self.doubt, "lower", "sigma"),
            "probability": ConfidenceSource(np.exp(-self.doubt), "higher", "probability"),
        }
        measurements = {
            kind: Measurement(
                np.where(gone, np.float32(np.nan), self.estimate),
                self.regions(protocol),
                metrics=wanted,
                regions=REGIONS,
                right_estimate=self.right,
                next_estimate=self.following,
                confidence=source,
                extras=FACTS,
            )
            for kind, source in sources.items()
        }
        found = {}
        for metric in wanted:
            for region in metric.regions(REGIONS):
                try:
                    found[metric, region] = metric.measure(measurements[confidence_kind(metric)], region)
                except (NotApplicable, sg.StereogaugeError):
                    assert not self.scene.id.startswith("synthetic"), f"{metric} cannot be measured"
        return found


def damaged(truth: Map, seed: int) -> Map:
    """The truth fattened by a pixel, with noise and with wrong blocks, inside its own range."""
    random = np.random.default_rng(seed)
    low, high = truth.min(), truth.max()
    coarse = (truth.shape[0] // 6, truth.shape[1] // 6)
    wrong, values = (
        cv2.resize(a, truth.shape[::-1], interpolation=cv2.INTER_NEAREST)
        for a in (random.random(coarse), random.uniform(low, high, coarse))
    )
    noisy = cv2.dilate(truth, np.ones((3, 3))) + random.normal(0, 0.4, truth.shape)
    return np.clip(np.where(wrong < 0.12, values, noisy), low, high).astype(np.float32)


def doubt_of(estimate: Map, truth: Map) -> Map:
    error = np.nan_to_num(np.abs(estimate - truth), nan=1.0)
    return (error + np.random.default_rng(5).exponential(1.5, error.shape)).astype(np.float32)


@functools.cache
def synthetic(*, more: bool) -> Case:
    """Edges, planes and wires in two views; with `more`, a view between them and planes drawn by hand."""
    made = next(iter(load_synthetic("mixed", size=(150, 200), views=(0.5,))))
    near = made.gt > np.median(made.gt)
    drawn = np.zeros(made.shape, np.uint8)
    drawn[20:130, 20:90], drawn[20:130, 110:180] = 1, 2
    scene = sg.Scene(
        f"synthetic {more}",
        gt=made.gt,
        gt_right=made.gt_right,
        left=made.left,
        right=made.right,
        calibration=made.calibration,
        masks={"nonocc": made.mask("nonocc"), "fg": near, "bg": ~near},
        views={0.5: made.view(0.5)} if more else None,
        metadata={"planes": drawn} if more else None,
        resolution=made.resolution,
    )
    scene.precede(sg.Scene("next", gt=np.roll(made.gt, 2, axis=1)))
    estimate = damaged(made.gt, 1)
    following = damaged(np.roll(made.gt, 2, axis=1), 3)
    return Case(scene, estimate, damaged(made.gt_right, 2), doubt_of(estimate, made.gt), following)


@functools.cache
def real(root: Path) -> Case:
    """A published result on Teddy of Middlebury v2, clipped to the scene's range."""
    folder = root / "middlebury-v2"
    scene = sg.load_dataset("middlebury-v2", folder)["teddy"]
    given = sg.read_disparity(folder / "results" / "S08" / "teddy.png", encoding="middlebury", scale=4)
    estimate = np.clip(given, np.nanmin(scene.gt), np.nanmax(scene.gt))
    return Case(scene, estimate, None, doubt_of(estimate, scene.gt))


@pytest.fixture(params=["synthetic", "synthetic with more views", "teddy"])
def case(request: pytest.FixtureRequest) -> Case:
    if request.param == "teddy":
        return real(request.getfixturevalue("data_root"))
    return synthetic(more=request.param != "synthetic")


def at_random(case: Case, share: float, seed: int) -> NDArray[np.bool_]:
    return np.random.default_rng(seed).random(case.estimate.shape) < share


def small_patches(case: Case) -> NDArray[np.bool_]:
    """Right estimates that hang together in fewer than 12 px: fragments that somebody might wish to be rid of."""
    right = (np.abs(case.estimate - case.scene.gt) <= 0.5).astype(np.uint8)
    _, labels, facts, _ = cv2.connectedComponentsWithStats(right, connectivity=8)
    return (right == 1) & (facts[labels, cv2.CC_STAT_AREA] < 12)


def all_but_one_object(case: Case) -> NDArray[np.bool_]:
    near = (case.scene.gt > np.nanquantile(case.scene.gt, 0.8)).astype(np.uint8)
    _, labels, facts, _ = cv2.connectedComponentsWithStats(near)
    return np.asarray(labels != 1 + np.argmax(facts[1:, cv2.CC_STAT_AREA]))


def beyond(values: Map, quantile: float) -> NDArray[np.bool_]:
    return np.asarray(values >= np.nanquantile(values, quantile))


DELETIONS: dict[str, Callable[[Case], NDArray[np.bool_]]] = {
    "5 % at random": lambda c: at_random(c, 0.05, 1),
    "50 % at random": lambda c: at_random(c, 0.5, 2),
    "95 % at random": lambda c: at_random(c, 0.95, 3),
    "the worst 10 %": lambda c: beyond(np.abs(c.estimate - c.scene.gt), 0.9),
    "the worst 50 %": lambda c: beyond(np.abs(c.estimate - c.scene.gt), 0.5),
    "the least sure 30 %": lambda c: beyond(c.doubt, 0.7),
    "the left half": lambda c: np.broadcast_to(np.arange(c.scene.shape[1]) < c.scene.shape[1] // 2, c.scene.shape),
    "small patches": small_patches,
    "everything but one object": all_but_one_object,
    "everything": lambda c: np.ones(c.scene.shape, np.bool_),
}


def cost(metric: Metric, value: float) -> float:
    return {"lower": value, "higher": -value, "zero": abs(value)}[metric.direction]


def test_every_shipped_protocol_is_one_of_these() -> None:
    assert sorted((*FREE, *COUNTING, *FILLING, *OF_PROJECTS)) == preset_names()
    assert {sg.load_protocol(name).invalid for name in (*FREE, *COUNTING, *OF_PROJECTS)} == {"count"}


@pytest.mark.parametrize("protocol", [*FREE, *COUNTING])
def test_no_deletion_improves_a_counted_or_charged_score(case: Case, protocol: str) -> None:
    kinds = ("counted", "always counted", "charged")
    before = case.measured(protocol, False, kinds)
    known = {key: key[0].metric.value_of(one) for key, one in before.items()}
    known = {key: value for key, value in known.items() if not np.isnan(value)}
    assert len(known) >= (17 if case.right is None else 23)
    for name, delete in DELETIONS.items():
        after = case.measured(protocol, delete(case), kinds)
        for (bound, region), value in known.items():
            metric = bound.metric
            whole, rest = cost(metric, value), cost(metric, metric.value_of(after[bound, region]))
            assert rest >= whole - 1e-9 * abs(whole), f"{bound}:{region} without {name}: {whole} → {rest}"


@pytest.mark.parametrize(
    "protocol", ["hci", *(pytest.param(name, marks=pytest.mark.slow) for name in FREE if name != "hci")]
)
def test_a_random_deletion_leaves_left_out_scores_where_they_are(case: Case, protocol: str) -> None:
    """The mean over draws lies within four standard errors of the score of the whole map."""
    kinds = ("left out", "only in the count")
    whole = case.measured(protocol, False, kinds)
    draws = [case.measured(protocol, at_random(case, 0.05, 100 + seed), kinds) for seed in range(SEEDS)]
    compared = 0
    for (metric, region), statistic in whole.items():
        if statistic.count < 2 * metric.metric.least_support(case.scene.resolution):
            continue
        rest = [draw[metric, region] for draw in draws]
        values = np.array([per_estimate(metric.metric, one) for one in rest])
        coverage = metric.metric.coverage([r.count for r in rest], [r.missing for r in rest], "count")
        full = metric.metric.coverage(statistic.count, statistic.missing, "count")
        assert (coverage < full).all(), f"{metric}:{region} covers {coverage} of {full}"
        assert coverage.mean() <= 0.955 * full, f"{metric}:{region} covers {coverage.mean()} of {full}"
        if np.isnan(values).any():
            assert np.nanmax(coverage, initial=0.0) < 0.9, f"{metric}:{region} has no value"
            continue
        spread = values.std(ddof=1)
        bound = (1.75 if metric.metric.id in NONLINEAR else 4 / np.sqrt(SEEDS)) * spread
        shift = values.mean() - per_estimate(metric.metric, statistic)
        assert abs(shift) <= bound + 1e-9, f"{metric}:{region} moves by {shift}, spread {spread}"
        compared += 1
    assert compared >= 40


def per_estimate(metric: Metric, statistic: Statistic) -> float:
    """The score, over the estimated pixels also where the metric divides by all of them."""
    value = metric.value_of(statistic)
    if metric.missing == "only in the count":
        return value / float(metric.coverage(statistic.count, statistic.missing, "count"))
    return value


@pytest.mark.parametrize("protocol", ["default", "eth3d", "kitti-2012"])
def test_coverage_is_the_share_of_the_region_that_has_an_estimate(protocol: str) -> None:
    """Exactly, for metrics of single pixels; what needs a neighbour covers less, and a filled map all."""
    case = synthetic(more=False)
    gone = at_random(case, 0.3, 7)
    given = {region: 1 - gone[case.regions(protocol).mask(region)].mean() for region in REGIONS}
    invalid = sg.load_protocol(protocol).invalid
    as_given = ("density", "invalid", "mae-valid", "bad-valid", "d1-valid")
    single = ("bad", "wrong", "d1", "mae", "mse", "rms", "bias", "mre", "quantile", "psnr", "sze", "z-mae", "bad-z")
    for (metric, region), statistic in case.measured(protocol, gone).items():
        if metric.metric.counts != "pixels" or metric.metric.region is not None:
            continue
        coverage = metric.metric.coverage(statistic.count, statistic.missing, invalid)
        if metric.metric.id in as_given:
            assert coverage == pytest.approx(given[region]), metric
        elif metric.metric.id in single:
            assert coverage == pytest.approx(1.0 if invalid == "fill" else given[region]), metric
        elif invalid != "fill" and not np.isnan(coverage):
            assert coverage <= given[region] + 0.02, metric
