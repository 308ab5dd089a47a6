"""The values behind pictures of sets, plane segmentations and direction histograms."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.errors import UnknownNameError
from stereogauge.figures.galleries import most_different_crop
from stereogauge.figures.geometry import (
    direction_histograms_data,
    plane_segmentation_data,
    region_picture,
    set_pictures,
)
from stereogauge.figures.pictures import picture_figure, set_crops, shown_pixels
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture

HEIGHT, WIDTH = 160, 220
Y, X = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)


@pytest.fixture(scope="module")
def scene_regions() -> SceneRegions:
    """A card tilted along x in front of a wall tilted along y."""
    truth = 20 + np.float32(0.1) * Y
    truth[50:120, 60:150] = (80 - np.float32(0.2) * X)[50:120, 60:150]
    image = np.full((HEIGHT, WIDTH, 3), 120, np.uint8)
    return SceneRegions(
        sg.Scene("card", gt=truth, left=image, masks={"nonocc": np.ones(truth.shape, bool)}), sg.Protocol()
    )


def test_the_picture_of_a_region_shows_its_pixels(scene_regions: SceneRegions) -> None:
    mask = scene_regions.mask("planar")
    drawn = region_picture(scene_regions, "planar", mask)
    assert np.array_equal(drawn.values == 1, mask)
    assert f"{np.count_nonzero(mask)} pixels" in drawn.title


def test_extrapolated_maps_differ_from_the_ground_truth_on_their_band_only(scene_regions: SceneRegions) -> None:
    pictures = set_pictures(scene_regions)
    steps = {"planes", "gradient", "direction-change", "thin-runs"}
    assert set(pictures) == {"discontinuities", "extrapolated-background", "extrapolated-foreground", "normals"} | steps
    assert set(set_pictures(scene_regions, ["normals"])) == {"normals"}
    with pytest.raises(UnknownNameError, match="Did you mean 'normals'"):
        set_pictures(scene_regions, ["normal"])
    changed = pictures["extrapolated-background"].values != scene_regions.scene.gt
    assert np.array_equal(changed, scene_regions.mask("disc-foreground"))


def test_a_segmentation_names_each_plane_at_a_pixel_inside_it(scene_regions: SceneRegions) -> None:
    data = plane_segmentation_data(scene_regions)
    assert data is not None
    planes = set_pictures(scene_regions, ["planes"])["planes"]
    drawn = html.unescape(data.encoded("svg").decode())
    places = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)".*?<text [^>]*>(\d+)</text>', drawn)
    assert [(planes.values[round(float(y)), round(float(x))], int(n)) for x, y, n in places] == [(1, 1), (2, 2)]
    normals = np.array(
        [re.findall(r"[-\d.]+", text.partition("(")[2]) for text in re.findall(r"n = [^<]+", drawn)], float
    )
    tilts = sorted((-normals[:, :2] / normals[:, 2:]).round(2).tolist())
    assert np.array(tilts) == pytest.approx(np.array([[-0.2, 0.0], [0.0, 0.1]]), abs=1e-6)
    assert data.encoded("png")[:4] == b"\x89PNG"


def test_a_scene_without_planes_has_no_segmentation() -> None:
    rough = np.random.default_rng(0).uniform(10, 60, (HEIGHT, WIDTH)).astype(np.float32)
    scene = sg.Scene("rough", gt=rough, masks={"nonocc": np.ones(rough.shape, bool)})
    assert plane_segmentation_data(SceneRegions(scene, sg.Protocol())) is None


def test_direction_histograms_peak_where_the_planes_lean(scene_regions: SceneRegions) -> None:
    """The wall's disparity rises downwards (90°), the card's to the left (180° = −180°)."""
    flipped = np.ascontiguousarray(scene_regions.scene.gt[:, ::-1])
    data = direction_histograms_data(
        {"same": Measurement(scene_regions.scene.gt, scene_regions), "mirrored": Measurement(flipped, scene_regions)}
    )
    same, mirrored = (view["title"]["text"] for view in data.view["concat"])
    assert same == "same (0.0°)"
    assert float(re.findall(r"[\d.]+", mirrored)[0]) > 10
    truth = sorted((row for row in data.rows if row["map"] == ""), key=lambda row: row["pixels"])
    assert {(row["from"] + row["to"]) / 2 for row in truth[-2:]} == {90.0, -180.0}
    assert sum(row["pixels"] for row in truth) == scene_regions.mask("planar").sum()
    assert data.encoded("png")[:4] == b"\x89PNG"


def test_a_small_set_is_shown_as_crops_that_hold_all_of_it() -> None:
    values = np.full((300, 400), np.nan, np.float32)
    values[20:24, 30:33] = values[250:260, 350:352] = 1.0
    picture = Picture(
        "poles", values, "labels", legend={1: ("pole", "#0072b2")}, backdrop=np.zeros((300, 400), np.uint8)
    )
    crops = set_crops(shown_pixels(picture))
    assert len(crops) == 2
    assert sum(np.count_nonzero(shown_pixels(picture)[crop.inside]) for crop in crops) == 4 * 3 + 10 * 2
    panels = [panel for row in picture_figure(picture).rows for panel in row]
    assert [panel.picture.shape[1] for panel in panels] == [400, crops[0].width, crops[1].width]
    values[:, :200] = 1.0
    assert len(picture_figure(picture).rows) == 1


def test_a_crop_of_a_gallery_holds_a_pixel_of_the_metric_where_nothing_differs() -> None:
    costs = np.full((100, 200), np.nan)
    costs[80:, 5:9] = 0.0
    crop = most_different_crop([costs, costs], 0.2)
    assert np.isfinite(costs[crop.inside]).any()


def test_the_picture_of_turning_gradients_shows_what_the_search_for_planes_starts_from() -> None:
    """A jump turns no gradient beside it: the search smooths over flat pixels only, and so does the picture."""
    y, x = np.mgrid[0:200, 0:300].astype(np.float32)
    board = (x > 100) & (x < 200) & (y > 50) & (y < 150)
    truth = np.where(board, 90 + 0.03 * y, 30 + 0.05 * x).astype(np.float32)
    scene = sg.Scene("board", gt=truth, masks={"nonocc": np.ones(truth.shape, bool)}, resolution=0.25)
    regions = SceneRegions(scene, sg.load_protocol("hci"))
    picture = set_pictures(regions, ["direction-change"])["direction-change"]
    limit = regions.protocol.geometry.plane_direction_change
    surface = regions.geometry.mask(regions.geometry.surface)
    assert surface[20:-20, 20:-20].mean() > 0.9
    assert np.mean(picture.values[surface] >= limit) < 0.001
