"""Geometry-aware metrics on real scenes.

Exact zeros, the published reactions, and agreement with plain NumPy and SciPy.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.datasets.synthetic.scene import PRESETS
from stereogauge.kernels.edges import fill_rows
from stereogauge.masks.geometry.edges import thin_structures
from stereogauge.masks.geometry.sets import geometry_sets
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.registry import parse_metric
from stereogauge.study.damage import damages
from stereogauge.study.run import run_study

SCENES = ("Adirondack", "ArtL", "Motorcycle", "MotorcycleE", "Piano", "PianoL", "Pipes", "Teddy")
EXACT = ("d-fat", "d-thin", "d-fuz", "d-fuz-rel", "p-bump-rel", "f-por", "f-frag", "f-missing", "f-thin", "f-fat")
NINE = ("d-fat", "d-thin", "d-fuz", "p-bump", "p-off", "p-mis", "f-por", "f-frag", "f-fat")


@functools.cache
def plain() -> ModuleType:
    """The NumPy and SciPy version that the benchmarks use as peer."""
    path = Path(__file__).parents[2] / "benchmarks" / "geometry_numpy.py"
    specification = importlib.util.spec_from_file_location("geometry_numpy", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["geometry_numpy"] = module  # dataclasses look their module up by name
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def motorcycle() -> sg.Scene:
    (scene,) = sg.load_dataset("motorcycle")
    return scene


@pytest.fixture(scope="module")
def scene_regions(motorcycle: sg.Scene) -> SceneRegions:
    return SceneRegions(motorcycle, sg.load_protocol("hci"))


def scores(estimate: np.ndarray, scene: sg.Scene, metrics: tuple[str, ...] = NINE) -> dict[str, float]:
    return {score.metric: score.value for score in sg.evaluate(estimate, scene, metrics, ["nonocc"], "hci")}


def assert_exactly_zero(scene: sg.Scene) -> None:
    """0 wherever the scene has such pixels, NaN where it has none."""
    for score in sg.evaluate(scene.gt, scene, EXACT, ["nonocc"], "hci"):
        assert (score.value == 0.0) == (score.count > 0), (scene.id, score.metric, score.value)
    counts = {score.metric: score.count for score in sg.evaluate(scene.gt, scene, EXACT, ["nonocc"], "hci")}
    assert counts["d-fat"] > 0
    assert counts["p-bump-rel"] > 0


@pytest.mark.parametrize("name", SCENES)
def test_the_ground_truth_of_middlebury_2014_scores_exactly_zero(data_root: Path, name: str) -> None:
    assert_exactly_zero(sg.load_dataset("middlebury-v3", data_root / "middlebury-2014")[name])


def test_the_ground_truth_of_the_built_in_pair_scores_exactly_zero(motorcycle: sg.Scene) -> None:
    assert_exactly_zero(motorcycle)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_ground_truth_of_synthetic_scenes_scores_exactly_zero(preset: str) -> None:
    scene = next(iter(load_synthetic(preset, size=(240, 320))))
    for score in sg.evaluate(scene.gt, scene, EXACT, ["nonocc"], "hci"):
        assert (score.value == 0.0) == (score.count > 0), (score.metric, score.value)


def test_the_floors_of_motorcycle_at_a_quarter_are_the_known_ones(data_root: Path) -> None:
    scene = sg.load_dataset("middlebury-v3", data_root / "middlebury-2014")["Motorcycle"]
    bumpiness, offset, misorientation = SceneRegions(scene, sg.load_protocol("hci")).geometry.plane_floors
    assert bumpiness == pytest.approx(0.022, abs=0.004)
    assert offset == pytest.approx(0.046, abs=0.015)
    assert misorientation == pytest.approx(0.30, abs=0.1)


def test_dilating_the_foreground_fattens_and_does_not_thin(motorcycle: sg.Scene) -> None:
    """The bands are 5 px wide and begin on the discontinuity, which has intermediate values here and there."""
    filled = fill_rows(motorcycle.gt)
    fat = []
    for radius, expected in ((1, 1 / 6), (2, 2 / 6), (3, 3 / 6), (5, 5 / 6), (8, 1.0)):
        dilated = cv2.dilate(filled, np.ones((2 * radius + 1, 2 * radius + 1)))
        found = scores(dilated, motorcycle, ("d-fat", "d-thin"))
        assert found["d-fat"] == pytest.approx(expected, abs=0.13)
        assert found["d-thin"] < 0.01
        fat.append(found["d-fat"])
    assert fat == sorted(fat)
    assert 0.1 < fat[0] < 0.2
    assert fat[-1] > 0.95


def test_eroding_the_foreground_mirrors_it(motorcycle: sg.Scene) -> None:
    filled = fill_rows(motorcycle.gt)
    thin = []
    for radius in (1, 2, 3, 5, 8):
        eroded = cv2.erode(filled, np.ones((2 * radius + 1, 2 * radius + 1)))
        found = scores(eroded, motorcycle, ("d-fat", "d-thin"))
        assert found["d-fat"] < 0.01
        thin.append(found["d-thin"])
    assert thin == sorted(thin)
    assert 0.1 < thin[0] < 0.25
    assert thin[-1] > 0.95


def test_blur_and_noise_raise_fuzziness_and_noise_raises_bumpiness(motorcycle: sg.Scene) -> None:
    filled = fill_rows(motorcycle.gt)
    random = np.random.default_rng(0)
    blurred = [scores(cv2.GaussianBlur(filled, (0, 0), s), motorcycle, ("d-fuz",))["d-fuz"] for s in (1, 2, 4)]
    assert 1 < blurred[0] < blurred[1] < blurred[2]
    noisy = [
        scores((filled + s * random.normal(size=filled.shape)).astype(np.float32), motorcycle, ("d-fuz", "p-bump"))
        for s in (0.2, 0.5, 1.0)
    ]
    for metric in ("d-fuz", "p-bump"):
        values = [found[metric] for found in noisy]
        assert values == sorted(values)
        assert values[0] > 0.2


def test_relative_fuzziness_of_one_map_hardly_depends_on_its_size(data_root: Path) -> None:
    """Within a factor of 1.7 at quarter, half and full size, and in the paper's range; the plain one grows."""
    scene = sg.load_dataset("middlebury-v3", data_root / "middlebury-2014")["Adirondack"]
    estimate = sg.match(scene.left, scene.right, matcher="opencv-sgbm", ndisp=scene.calibration.ndisp).disparity
    found: dict[str, list[float]] = {"d-fuz": [], "d-fuz-rel": []}
    for factor in (1, 2, 4):
        truth, grown, visible = (
            cv2.resize(part, None, fx=factor, fy=factor, interpolation=cv2.INTER_NEAREST)
            for part in (scene.gt, estimate, scene.mask("nonocc").astype(np.uint8))
        )
        larger = sg.Scene("larger", gt=truth * factor, masks={"nonocc": visible > 0}, resolution=0.25 * factor)
        for name, value in scores(grown * factor, larger, ("d-fuz", "d-fuz-rel")).items():
            found[name].append(value)
    assert max(found["d-fuz-rel"]) < 1.7 * min(found["d-fuz-rel"])
    assert all(0.5 < value < 3.4 for value in found["d-fuz-rel"])
    assert found["d-fuz"] == sorted(found["d-fuz"])
    assert found["d-fuz"][-1] > 2 * found["d-fuz"][0]


def test_the_old_scenes_and_light_fields_have_discontinuities(data_root: Path) -> None:
    """Their sizes are not stated: with s = 1 none of them had any."""
    found = [sg.load_dataset("middlebury-v2", data_root / "middlebury-v2")[name] for name in ("tsukuba", "venus")]
    found += [*sg.load_dataset("middlebury-2001", data_root / "middlebury-2001")]
    found += [*sg.load_dataset("hci", data_root / "hci-4dlf")]
    for scene in found:
        assert scene.resolution == scene.shape[1] / 3000
        assert SceneRegions(scene, sg.load_protocol("hci")).geometry.discontinuity.size > 500


def test_an_offset_on_planes_moves_only_the_offset(motorcycle: sg.Scene, scene_regions: SceneRegions) -> None:
    exact, moved = (scores(motorcycle.gt + np.float32(d), motorcycle, ("p-bump", "p-off", "p-mis")) for d in (0, 3))
    sets = scene_regions.geometry
    component = sets.plane_normals[sets.planar_label - 1, 2].mean()
    assert moved["p-off"] == pytest.approx(3 * component, abs=0.05)
    assert moved["p-bump"] == pytest.approx(exact["p-bump"], abs=1e-4)
    assert moved["p-mis"] == pytest.approx(exact["p-mis"], abs=1e-3)


def test_erosion_raises_porosity_up_to_the_diagonals_logarithm(motorcycle: sg.Scene) -> None:
    filled = fill_rows(motorcycle.gt)
    porosity = [scores(cv2.erode(filled, np.ones((r, r))), motorcycle, ("f-por",))["f-por"] for r in (1, 3, 5, 9)]
    assert porosity == sorted(porosity)
    assert porosity[0] == 0.0
    assert porosity[-1] <= np.log1p(np.hypot(*filled.shape))


def test_sets_and_metrics_agree_with_plain_numpy_and_scipy(motorcycle: sg.Scene, scene_regions: SceneRegions) -> None:
    parameters, base = scene_regions.protocol.geometry, scene_regions.geometry_base
    rows, columns = slice(60, 320), slice(150, 560)
    truth, base = np.ascontiguousarray(motorcycle.gt[rows, columns]), np.ascontiguousarray(base[rows, columns])
    ours = geometry_sets(truth, base, 0.25, parameters)
    theirs = plain().geometry_sets(truth, base, 0.25, parameters)
    for name in ("discontinuity", "foreground", "background", "edge", "surround"):
        assert np.array_equal(ours.mask(getattr(ours, name)), getattr(theirs, name)), name
    assert np.array_equal(ours.extrapolated_background, theirs.extrapolated_background.ravel()[ours.foreground])
    assert np.array_equal(ours.extrapolated_foreground, theirs.extrapolated_foreground.ravel()[ours.background])
    assert np.array_equal(ours.extrapolated_structure, theirs.extrapolated_structure.ravel()[ours.surround])
    assert ours.edge_to_discontinuity == pytest.approx(theirs.to_discontinuity.ravel()[ours.edge], rel=1e-5)
    assert ours.edge_to_outside == pytest.approx(theirs.to_outside.ravel()[ours.edge], rel=1e-5)
    assert np.array_equal(ours.mask(ours.fine), theirs.structures > 0)
    assert ours.fine_label.max() == theirs.structures.max()
    # A pixel more or less in a component (filters round differently) draws other random triples: not exactly equal.
    planar, other = ours.mask(ours.planar), theirs.plane_labels > 0
    assert np.count_nonzero(planar & other) >= 0.9 * np.count_nonzero(planar | other)

    random = np.random.default_rng(1)
    estimate = (cv2.dilate(fill_rows(truth), np.ones((5, 5))) + 0.4 * random.standard_t(2, truth.shape)).astype(
        np.float32
    )
    estimate[random.random(truth.shape) < 0.05] = np.nan
    theirs.plane_labels = np.zeros(truth.shape, np.int16)
    theirs.plane_labels.ravel()[ours.planar] = ours.planar_label
    theirs.planes = ours.planes
    expected = plain().metrics(estimate, truth, theirs, 0.25, parameters)
    scene = sg.Scene("crop", gt=truth, masks={"nonocc": base}, resolution=0.25)
    whole = SceneRegions(scene, sg.load_protocol("default"))
    whole.__dict__["geometry"] = ours
    measurement = Measurement(estimate, whole)
    for name, value in expected.items():
        metric = parse_metric(name)
        assert metric.value(measurement, str(metric.metric.region)) == pytest.approx(value, rel=2e-5), name


FINE = ("f-por", "f-frag", "f-missing", "f-thin", "f-fat")
PLACES = [
    *(("middlebury-v3", "middlebury-2014", name) for name in SCENES if name != "Adirondack"),
    *(("middlebury-v2", "middlebury-v2", name) for name in ("tsukuba", "teddy", "cones")),
    *(("middlebury-2006", "middlebury-2006", name) for name in ("Cloth3", "Reindeer")),
    ("sceneflow", "sceneflow", "A-0032-0006"),
]
"""All scenes with fine structures and two images."""


def attacked(estimate: np.ndarray, scene: sg.Scene, share: float) -> np.ndarray:
    """The map with the true background on all structures and beside them, but for a share of what it finds of each.

    Of every structure at least one found pixel stays.
    """
    protocol = sg.load_protocol("hci")
    sets = SceneRegions(scene, protocol).geometry
    filled, known = fill_rows(scene.gt), np.isfinite(scene.gt)
    fine = thin_structures(filled, known, scene.resolution, protocol.geometry)
    background = fill_rows(np.where(fine, np.float32(np.nan), filled)).ravel()
    tolerance = protocol.geometry.at(scene.resolution).fine_tolerance
    found = np.abs(estimate.ravel()[sets.fine] - scene.gt.ravel()[sets.fine]) <= tolerance
    erased = (fine | sets.mask(sets.surround)).ravel()
    for number in range(1, sets.fine_label.max() + 1):
        own = sets.fine[(sets.fine_label == number) & found]
        erased[own[: max(1, round(share * own.size))]] = False
    return np.where(erased, background, estimate.ravel()).reshape(scene.shape).astype(np.float32)


@pytest.mark.parametrize("place", PLACES, ids=[place[-1] for place in PLACES])
@pytest.mark.parametrize("matcher", ["opencv-sgbm", "opencv-bm"])
def test_erasing_structures_and_their_surroundings_never_pays(
    data_root: Path, place: tuple[str, str, str], matcher: str
) -> None:
    """All but one found pixel per structure are erased: nothing improves. Before, three scores became perfect."""
    dataset, folder, name = place
    scene = sg.load_dataset(dataset, data_root / folder)[name]
    ndisp = (scene.calibration and scene.calibration.ndisp) or int(np.nanmax(scene.gt)) + 8
    estimate = sg.match(scene.left, scene.right, matcher=matcher, ndisp=ndisp).disparity
    maps = {"whole": {name: estimate}, "erased": {name: attacked(estimate, scene, 0.0)}}
    table = sg.evaluate(maps, [scene], FINE, ["nonocc"], "hci")
    before, one = (scores(maps[kind][name], scene, FINE) for kind in maps)
    for metric in FINE:
        assert one[metric] >= before[metric], metric
    assert one["f-missing"] > 0.9
    assert one["f-frag"] > 0.9
    assert one["f-fat"] > 0.95
    for model in ("weighted", "extended", "a-star"):
        order = sg.rank(table, model=model, metrics=FINE).to_pandas().set_index("algorithm")["rank"]
        assert order["whole"] < order["erased"], model


def resized(values: np.ndarray, factor: int) -> np.ndarray:
    """A map at a larger size: surfaces are interpolated, edges stay where they are (nearest pixels)."""
    grown = {
        rule: cv2.resize(part.astype(np.float32), None, fx=factor, fy=factor, interpolation=rule)
        for rule, part in ((cv2.INTER_NEAREST, values), (cv2.INTER_LINEAR, np.nan_to_num(values, nan=-1e6)))
    }
    known = np.nan_to_num(values, nan=-1e6).astype(np.float32)
    jumps = cv2.dilate(known, np.ones((3, 3))) - cv2.erode(known, np.ones((3, 3))) > 1
    edges = cv2.resize(jumps.astype(np.uint8), None, fx=factor, fy=factor, interpolation=cv2.INTER_NEAREST) > 0
    nearest = grown[cv2.INTER_NEAREST]
    return np.where(edges | np.isnan(nearest), nearest, grown[cv2.INTER_LINEAR]) * np.float32(factor)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Adirondack", "Motorcycle", "Piano"])
def test_one_map_scores_alike_at_quarter_half_and_full_size(data_root: Path, name: str) -> None:
    scene = sg.load_dataset("middlebury-v3", data_root / "middlebury-2014")[name]
    estimate = sg.match(scene.left, scene.right, matcher="opencv-sgbm", ndisp=scene.calibration.ndisp).disparity
    found: dict[str, list[float]] = {}
    for factor in (1, 2, 4):
        visible = scene.mask("nonocc").repeat(factor, axis=0).repeat(factor, axis=1)
        larger = sg.Scene("x", gt=resized(scene.gt, factor), masks={"nonocc": visible}, resolution=0.25 * factor)
        for metric, value in scores(
            resized(estimate, factor), larger, ("p-mis", "p-bump-rel", "d-fat", "d-thin", "d-fuz-rel")
        ).items():
            found.setdefault(metric, []).append(value)
    for metric, values in found.items():
        assert max(values) < 1.7 * min(values), (metric, values)


OWN_DAMAGES = {damage.id: damage.metric for damage in damages().values() if damage.metric}
FLOAT_AND_QUANTISED = (
    *(("middlebury-v3", "middlebury-2014", name) for name in SCENES if not name.endswith(("E", "L")) or name == "ArtL"),
    *(("middlebury-v2", "middlebury-v2", name) for name in ("tsukuba", "venus", "teddy", "cones")),
    ("middlebury-2001", "middlebury-2001", "bull"),
    *(("middlebury-2006", "middlebury-2006", name) for name in ("Cloth3", "Reindeer")),
)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize("place", FLOAT_AND_QUANTISED, ids=[place[-1] for place in FLOAT_AND_QUANTISED])
def test_every_metric_rises_with_the_damage_that_it_is_named_after(
    data_root: Path, place: tuple[str, str, str], factor: int
) -> None:
    """Above the ground truth's own score: what its steps hide, such as 0.1 px on Tsukuba, is not measurable."""
    dataset, folder, name = place
    scene = sg.load_dataset(dataset, data_root / folder)[name]
    if factor > 1:
        visible = SceneRegions(scene, sg.load_protocol("hci")).visible
        masks = {"nonocc": visible.repeat(factor, axis=0).repeat(factor, axis=1)}
        scene = sg.Scene(name, gt=resized(scene.gt, factor), masks=masks, resolution=scene.resolution * factor)
    study = run_study(scene, tuple(OWN_DAMAGES.values()), damage_ids=tuple(OWN_DAMAGES), protocol="hci")
    falling = {}
    for damage, metric in OWN_DAMAGES.items():
        values = [value for _, value in study.curve(metric, damage) if np.isfinite(value)]
        above = [max(value, values[0]) for value in values]
        if above != sorted(above):
            falling[metric, damage] = values
    assert not falling


def test_sparse_lidar_ground_truth_is_not_applicable(data_root: Path) -> None:
    scene = next(iter(sg.load_dataset("kitti-2012", data_root / "kitti2012")))
    for score in sg.evaluate(np.full(scene.shape, 20.0, np.float32), scene, NINE, ["all"], "hci"):
        assert np.isnan(score.value)
        assert score.note.startswith("not applicable: ground truth covers ")


def test_a_drawn_road_is_measured_on_sparse_lidar_ground_truth(data_root: Path) -> None:
    """The ground plane before the car: the plane from lidar points, an offset found again."""
    scene = next(iter(sg.load_dataset("kitti-2012", data_root / "kitti2012")))
    height, width = scene.shape
    road = np.zeros(scene.shape, np.uint8)
    road[height - 60 : height - 20, width // 2 - 150 : width // 2 + 150] = 1
    drawn = sg.Scene(scene.id, gt=scene.gt, metadata={"planes": road}, masks={"nonocc": np.ones(scene.shape, bool)})
    sets = SceneRegions(drawn, sg.load_protocol("default")).geometry
    assert np.isfinite(sets.planes).all()
    y, x = np.mgrid[:height, :width]
    a, b, c = sets.planes[0]
    shifted = (a * x + b * y + c + 2.0).astype(np.float32)
    found = scores(shifted, drawn, ("p-bump", "p-off", "p-mis"))
    assert found["p-off"] == pytest.approx(2 * sets.plane_normals[0, 2], rel=1e-3)
    assert found["p-mis"] == pytest.approx(0.0, abs=0.01)
