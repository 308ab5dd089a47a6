"""Presets give the numbers of the code that people train and benchmark with.

Each check is a second implementation in plain NumPy, written from reading that project's evaluation, on real maps.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import stereogauge as sg
from stereogauge import load_protocol
from stereogauge.io import DisparityFile

Map = NDArray[np.float32]
Pair = tuple[Map, Map]
"""An estimate and its ground truth, NaN = unknown."""
CLOSE = 2e-6
"""The evaluators average in single precision, we in double."""


@pytest.fixture(scope="module")
def kitti(data_root: Path) -> dict[str, Pair]:
    """Four frames of KITTI 2015 with a block matcher's whole-pixel maps, and one of 2012 with a network's."""
    frames = sg.load_dataset("kitti-2015", data_root / "kitti2015")
    folder = data_root / "kitti2015/results/BM-8bit"
    pairs: dict[str, Pair] = {}
    for frame in frames:
        path = folder / f"{frame.id}.png"
        if path.exists():
            pairs[frame.id] = DisparityFile(path, "middlebury", 1.0).read(), frame.gt
    frame = sg.load_dataset("kitti-2012", data_root / "kitti2012")["000000_10"]
    path = data_root / "kitti2012/results/MC-CNN-8bit/000000_10.png"
    pairs["mc-cnn"] = DisparityFile(path, "middlebury", 255 / 70).read(), frame.gt
    # Networks give a value everywhere.
    return {name: (np.nan_to_num(estimate, nan=0.0), truth) for name, (estimate, truth) in pairs.items()}


@pytest.fixture(scope="module")
def middlebury(data_root: Path) -> dict[str, tuple[Map, sg.Scene]]:
    """Quarter-size scenes with disparities of the full size, some of them beyond 192 px, and semi-dense maps."""
    found = {}
    for scene in sg.load_dataset("middlebury-v3", data_root / "middlebury-2014"):
        steps = -(-(scene.calibration.ndisp or 0) // 16) * 16
        path = data_root / f"middlebury-2014/results/semidense-8bit/{scene.id}.png"
        estimate = DisparityFile(path, "middlebury", 255 / steps).read() * np.float32(4)
        larger = sg.Scene(scene.id, gt=scene.gt * np.float32(4), masks={"nonocc": scene.mask("nonocc")})
        found[scene.id] = estimate, larger
    return found


def table(pairs: Mapping[str, Any], protocol: Any) -> sg.ScoreTable:
    scenes = [pair if isinstance(pair, sg.Scene) else sg.Scene(name, gt=pair) for name, (_, pair) in pairs.items()]
    return sg.evaluate({"A": {name: pair[0] for name, pair in pairs.items()}}, scenes, protocol=protocol)


def known(truth: Map, below: float = np.inf, above: float = -np.inf) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        return np.isfinite(truth) & (truth < below) & (truth > above)


def errors(pair: Pair, mask: NDArray[np.bool_]) -> Map:
    return np.abs(pair[0] - pair[1])[mask]


def test_raft_stereo_averages_the_error_over_images_and_pools_its_d1(kitti: dict[str, Pair]) -> None:
    scores = table(kitti, "raft-stereo")
    each = [errors(pair, known(pair[1])) for pair in kitti.values()]
    assert scores.aggregate("mae", "all") == pytest.approx(np.mean([one.mean() for one in each]), rel=CLOSE)
    together = np.concatenate(each)
    assert scores.aggregate("bad@3", "all") == pytest.approx(100 * np.mean(together > 3), rel=1e-12)
    assert scores.aggregate("bad@3", "all", how="mean") != scores.aggregate("bad@3", "all")
    assert scores.aggregate("bad@1", "all") == pytest.approx(100 * np.mean([np.mean(e > 1) for e in each]), rel=1e-12)


def test_raft_stereo_takes_occluded_pixels_on_middlebury(middlebury: Any) -> None:
    pairs = {name: (np.nan_to_num(estimate), scene) for name, (estimate, scene) in middlebury.items()}
    scores = table(pairs, "raft-stereo")
    each = [errors((estimate, scene.gt), known(scene.gt)) for estimate, scene in pairs.values()]
    assert scores.aggregate("bad@2", "all") == pytest.approx(100 * np.mean([np.mean(e > 2) for e in each]), rel=1e-12)
    assert scores.aggregate("mae", "all") == pytest.approx(np.mean([one.mean() for one in each]), rel=CLOSE)


def test_igev_and_things_leave_out_192_px_and_more(middlebury: Any) -> None:
    pairs = {name: (np.nan_to_num(estimate), scene) for name, (estimate, scene) in middlebury.items()}
    assert any((scene.gt >= 192).any() for _, scene in pairs.values())
    seen = [
        errors((estimate, scene.gt), known(scene.gt, 192) & scene.mask("nonocc")) for estimate, scene in pairs.values()
    ]
    every = [errors((estimate, scene.gt), known(scene.gt, 192)) for estimate, scene in pairs.values()]
    igev = table(pairs, "igev")
    assert igev.aggregate("mae", "nonocc") == pytest.approx(np.mean([one.mean() for one in seen]), rel=CLOSE)
    assert igev.aggregate("bad@2", "nonocc") == pytest.approx(100 * np.mean([np.mean(e > 2) for e in seen]), rel=1e-12)
    assert igev.aggregate("bad@3", "all") == pytest.approx(100 * np.mean(np.concatenate(every) > 3), rel=1e-12)
    things = table(pairs, "raft-stereo-things")
    assert things.aggregate("bad@1", "all") == pytest.approx(100 * np.mean(np.concatenate(every) > 1), rel=1e-12)


def outliers(pair: Pair, mask: NDArray[np.bool_]) -> float:
    error, truth = errors(pair, mask), pair[1][mask]
    return 100 * float(np.mean((error > 3) & (error / np.abs(truth) > np.float32(0.05))))


def test_gwcnet_skips_images_of_which_little_remains_and_openstereo_does_not(kitti: dict[str, Pair]) -> None:
    near = kitti["mc-cnn"][1].copy()
    near[np.isfinite(near)] += 200
    near.flat[np.flatnonzero(np.isfinite(near))[:50]] = 100.0  # the only ones below 192 px
    wall = np.broadcast_to(np.linspace(89, 91, near.shape[1], dtype=np.float32), near.shape).copy()
    pairs = {**kitti, "near": (wall, near)}
    each = {name: outliers(pair, known(pair[1], 192, 0)) for name, pair in pairs.items()}
    gwcnet, openstereo = table(pairs, "gwcnet"), table(pairs, "openstereo")
    assert openstereo.aggregate("d1", "all") == pytest.approx(np.mean(list(each.values())), rel=1e-6)
    assert gwcnet.aggregate("d1", "all") == pytest.approx(np.mean([each[name] for name in kitti]), rel=1e-6)
    for pixels in (1, 2, 3):
        every = [np.mean(errors(pair, known(pair[1], 192, 0)) > pixels) for pair in kitti.values()]
        assert gwcnet.aggregate(f"bad@{pixels}", "all") == pytest.approx(100 * np.mean(every), rel=1e-12)


def test_stereo_toolbox_has_occluded_visible_and_all_pixels_below_191(middlebury: Any) -> None:
    pairs = {name: (np.nan_to_num(estimate), scene) for name, (estimate, scene) in middlebury.items()}
    scores = table(pairs, "stereo-toolbox")
    shares: dict[str, list[float]] = {"occluded": [], "nonocc": [], "all": []}
    for estimate, scene in pairs.values():
        every = known(scene.gt, 191, 0)
        parts = {"occluded": every & ~scene.mask("nonocc"), "nonocc": every & scene.mask("nonocc"), "all": every}
        for region, mask in parts.items():
            shares[region].append(100 * float(np.mean(errors((estimate, scene.gt), mask) > 2)))
    for region, expected in shares.items():
        assert scores.aggregate("bad@2", region) == pytest.approx(np.mean(expected), rel=1e-12)


def test_psmnet_counts_exactly_3_px_and_5_percent_as_bad(kitti: dict[str, Pair]) -> None:
    shares = []
    for estimate, truth in kitti.values():
        mask = known(truth, above=0)
        error = np.abs(truth - estimate)[mask]
        correct = (error < 3) | (error < truth[mask] * np.float32(0.05))
        shares.append(100 * (1 - correct.mean()))
    psmnet = table(kitti, "psmnet").aggregate("outlier@3,0.05", "all")
    assert psmnet == pytest.approx(np.mean(shares), rel=1e-12)
    strict = table(kitti, load_protocol("psmnet").replace(**{"errors.comparison": ">"}))
    assert strict.aggregate("outlier@3,0.05", "all") < psmnet  # some errors are 3 px exactly


def test_leastereo_counts_from_1_px_on(kitti: dict[str, Pair]) -> None:
    each = [errors(pair, known(pair[1], 192)) for pair in kitti.values()]
    scores = table(kitti, "leastereo")
    assert scores.aggregate("bad@1", "all") == pytest.approx(100 * np.mean([np.mean(e >= 1) for e in each]), rel=1e-12)
    assert scores.aggregate("mae", "all") == pytest.approx(np.mean([one.mean() for one in each]), rel=CLOSE)


def filled(disparity: Map) -> Map:
    """Argoverse's interpolation, gap by gap."""
    done = np.where(np.isnan(disparity), -1, disparity)
    for row in done:
        places = np.flatnonzero(row >= 0)
        for left, right in itertools.pairwise(places):
            row[left + 1 : right] = min(row[left], row[right])
        if places.size:
            row[: places[0]], row[places[-1] + 1 :] = row[places[0]], row[places[-1]]
    for column in done.T:
        places = np.flatnonzero(column >= 0)
        if places.size:
            column[: places[0]], column[places[-1] + 1 :] = column[places[0]], column[places[-1]]
    return done


def test_argoverse_pools_outliers_of_three_sizes_on_objects_and_background(data_root: Path) -> None:
    frame = sg.load_dataset("kitti-2012", data_root / "kitti2012")["000001_10"]
    path = data_root / "kitti2012/results/xiyu/data/000001_10.png"
    estimate, truth = DisparityFile(path, "middlebury", 1.0).read(), frame.gt / np.float32(8)  # many below 1 px
    estimate = estimate / np.float32(8)
    objects = np.zeros(truth.shape, np.bool_)
    objects[150:300, 400:800] = True
    scene = sg.Scene("frame", gt=truth, masks={"fg": objects, "bg": ~objects})
    scores = sg.evaluate(estimate, scene, protocol="argoverse")
    dense = filled(estimate)
    error = np.abs(dense - truth)
    relative = error / np.maximum(truth, 1)
    for region, inside in {"all": np.ones_like(objects), "fg": objects, "bg": ~objects}.items():
        mask, given = inside & np.isfinite(truth), inside & np.isfinite(truth) & np.isfinite(estimate)
        for pixels in (10, 5, 3):
            bad = (error > pixels) & (relative > np.float32(0.1))
            assert scores.value(f"outlier@{pixels},0.1,1", region) == pytest.approx(100 * bad[mask].mean(), rel=1e-12)
            valid = scores.value(f"outlier-valid@{pixels},0.1,1", region)
            assert valid == pytest.approx(100 * bad[given].mean(), rel=1e-12)


def test_eth3d_drops_what_is_beyond_the_width_and_takes_whole_quantiles(middlebury: Any) -> None:
    estimate, scene = middlebury["Pipes"]
    estimate = estimate.copy()
    estimate[:40] = 5000.0
    estimate[40:50] = -5000.0
    scores = sg.evaluate(estimate, scene, protocol="eth3d")
    for region in ("nonocc", "all"):
        mask = known(scene.gt) & (scene.mask("nonocc") if region == "nonocc" else True)
        given = mask & np.isfinite(estimate) & (np.abs(estimate) <= scene.gt.shape[1])
        error = np.sort(np.abs(estimate - scene.gt)[given])
        assert scores.value("density", region) == pytest.approx(100 * given.sum() / mask.sum(), rel=1e-12)
        for pixels in (0.5, 1.0, 2.0, 4.0):
            assert scores.value(f"bad@{pixels:g}", region) == pytest.approx(100 * np.mean(error > pixels), rel=1e-12)
        for share in (0.5, 0.9, 0.95, 0.99):
            place = int(np.floor(np.float32(error.size) * np.float32(share)))
            assert scores.value(f"quantile@{100 * share:g}", region) == error[place]
        double = error.astype(np.float64)
        assert scores.value("rms", region) == pytest.approx(np.sqrt(np.mean(double**2)), rel=1e-9)


def test_the_light_field_benchmark_has_a_margin_and_exact_thresholds(data_root: Path) -> None:
    scene = sg.load_dataset("hci", data_root / "hci-4dlf")["antinous"]
    noise = np.random.default_rng(3).normal(0, 0.03, scene.gt.shape).astype(np.float32)
    estimate = scene.gt + noise
    estimate[200:260, 100:200] = np.nan
    scores = sg.evaluate(estimate, scene, protocol="hci-4dlf")
    inside = np.zeros(scene.shape, np.bool_)
    inside[15:-15, 15:-15] = True
    difference = estimate - scene.gt
    with np.errstate(invalid="ignore"):
        for limit in (0.07, 0.03, 0.01):
            bad = np.abs(difference) > limit  # a missing estimate is not
            assert scores.value(f"wrong@{limit}", "all") == pytest.approx(100 * bad[inside].mean(), rel=1e-9)
    valid = inside & np.isfinite(estimate)
    squared = np.square(difference[valid].astype(np.float64))
    assert scores.value("mse-100", "all") == pytest.approx(100 * squared.mean(), rel=1e-9)
    ordered = np.sort(np.abs(difference[valid]) * 100)
    assert scores.value("quantile-100@25", "all") == pytest.approx(ordered[int(ordered.size * 25 / 100.0)], rel=1e-6)


@pytest.mark.parametrize("alignment", ["none", "median", "scale-shift"])
def test_eigen_depth_crops_and_caps(data_root: Path, alignment: str) -> None:
    frame = sg.load_dataset("kitti-2015", data_root / "kitti2015")["000000_10"]
    estimate = DisparityFile(data_root / "kitti2015/results/BM-8bit/000000_10.png", "middlebury", 1.0).read()
    estimate[100:140, 300:900] = 0.5  # far beyond 80 m
    protocol = load_protocol("eigen-depth").replace(**{"depth.alignment": alignment})
    scores = sg.evaluate(estimate, frame, protocol=protocol)
    product = frame.calibration.focal_baseline or 0.0
    depth = product / np.where(np.isfinite(frame.gt), frame.gt, np.nan).astype(np.float64)
    height, width = depth.shape
    crop = np.array([0.40810811 * height, 0.99189189 * height, 0.03594771 * width, 0.96405229 * width]).astype(np.int32)
    mask = (depth > 1e-3) & (depth < 80) & np.isfinite(estimate)
    inside = np.zeros(mask.shape, np.bool_)
    inside[crop[0] : crop[1], crop[2] : crop[3]] = True
    mask &= inside
    truth, disparity = depth[mask], estimate[mask].astype(np.float64)
    if alignment == "scale-shift":
        disparity = np.polyval(np.polyfit(disparity, frame.gt[mask].astype(np.float64), 1), disparity)
    found = product / disparity
    if alignment == "median":
        found *= np.median(truth) / np.median(found)
    found = np.clip(found, 1e-3, 80)
    ratio = np.maximum(truth / found, found / truth)
    expected = {
        "z-abs-rel": np.mean(np.abs(truth - found) / truth),
        "z-sq-rel": np.mean((truth - found) ** 2 / truth),
        "z-rms": np.sqrt(np.mean((truth - found) ** 2)),
        "z-log-rms": np.sqrt(np.mean((np.log(truth) - np.log(found)) ** 2)),
        "z-delta@1.25": np.mean(ratio < 1.25),
        "z-delta@1.5625": np.mean(ratio < 1.25**2),
        "z-delta@1.953125": np.mean(ratio < 1.25**3),
    }
    for metric, value in expected.items():
        assert scores.value(metric, "all") == pytest.approx(value, rel=2e-6), metric


def test_reflective_surfaces_are_a_region_of_kitti_2012() -> None:
    truth = np.full((20, 30), 9.0, np.float32)
    estimate = truth + np.where(np.arange(30) < 10, 4.5, 0.0).astype(np.float32)
    shiny, seen = np.zeros(truth.shape, np.bool_), np.ones(truth.shape, np.bool_)
    shiny[:, 5:15], seen[:, :8] = True, False
    scene = sg.Scene("frame", gt=truth, masks={"reflective": shiny, "nonocc": seen})
    scores = sg.evaluate(estimate, scene, protocol="kitti-2012-reflective")
    assert scores.value("bad@4", "reflective") == 50.0
    assert scores.value("bad@4", "reflective&nonocc") == pytest.approx(100 * 2 / 7)
    assert scores.value("bad@5", "reflective") == 0.0


def test_scared_skips_frames_with_little_ground_truth() -> None:
    truth = np.full((20, 30), 50.0, np.float32)
    sparse = np.where(np.arange(600).reshape(20, 30) < 59, truth, np.nan).astype(np.float32)
    camera = sg.Calibration(focal=1000, baseline=0.004)
    scenes = [sg.Scene("known", gt=truth, calibration=camera), sg.Scene("sparse", gt=sparse, calibration=camera)]
    maps = {"known": truth + 1, "sparse": truth + 30}
    scores = sg.evaluate({"A": maps}, scenes, protocol="scared")
    assert scores.aggregate("mae", "all") == 1.0
    assert scores.aggregate("z-mae", "all") == pytest.approx(4 / 50 - 4 / 51)
