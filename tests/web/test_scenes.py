"""Pictures, pixels and points are those of the arrays behind them."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import cv2
import httpx
import numpy as np
import pytest
from tests.web.small import MARKUP, PROTOCOL, SHAPE, estimates, serving, truth

import stereogauge as sg
from stereogauge.figures.pictures import picture_crops, render_disparity
from stereogauge.store import Store
from stereogauge.web.app import create_app
from stereogauge.web.hiding import Hidden, coarse
from stereogauge.web.scenes.layers import in_even_blocks, most_confident
from stereogauge.web.site import Site
from stereogauge.web.source import StoreSource


def decoded(response: httpx.Response) -> np.ndarray:
    response.raise_for_status()
    image = cv2.imdecode(np.frombuffer(response.content, np.uint8), cv2.IMREAD_UNCHANGED)
    return cv2.cvtColor(image, cv2.COLOR_BGRA2RGBA if image.shape[2] == 4 else cv2.COLOR_BGR2RGB)


def limits() -> tuple[float, float]:
    return float(np.nanmin(truth(0))), float(np.nanmax(truth(0)))


def test_ground_truth_and_estimates_share_one_range(client: httpx.Client) -> None:
    picture = decoded(client.get("scenes/alpha/layers/truth.png"))
    np.testing.assert_array_equal(picture, render_disparity(truth(0), limits()))
    picture = decoded(client.get("scenes/alpha/layers/estimate.png", params={"algorithm": MARKUP}))
    np.testing.assert_array_equal(picture, render_disparity(estimates(0)[MARKUP], limits()))


def test_errors_are_black_without_truth_and_hatched_without_estimate(client: httpx.Client) -> None:
    picture = decoded(client.get("scenes/alpha/layers/error.png", params={"algorithm": MARKUP, "range": 3}))
    assert (picture[np.isnan(truth(0))] == 0).all()
    holes = np.isnan(estimates(0)[MARKUP]) & np.isfinite(truth(0))
    assert {tuple(colour) for colour in picture[holes]} == {(225, 225, 225), (120, 120, 120)}
    legend = client.get("scenes/alpha/layers/error", params={"algorithm": MARKUP, "range": 3}).json()
    assert legend["limits"] == [0.0, 3.0]
    assert legend["unit"] == "px"
    assert [one["text"] for one in legend["legend"]] == ["no estimate", "no ground truth"]


def test_a_region_is_an_overlay_of_its_mask(client: httpx.Client, opened: Store) -> None:
    picture = decoded(client.get("scenes/alpha/layers/region.png", params={"region": "disc"}))
    mask = sg.regions(opened.scene("small", "alpha"), ["disc"], protocol=PROTOCOL)["disc"]
    np.testing.assert_array_equal(picture[..., 3] > 0, mask)
    assert mask.any()


def test_every_metric_with_a_picture_has_its_layer(client: httpx.Client) -> None:
    for metric in ("bad@1", "rms", "bias", "psnr"):
        answer = client.get("scenes/alpha/layers/metric.png", params={"algorithm": "rough", "metric": metric})
        assert decoded(answer).shape[:2] == SHAPE


def test_the_picture_of_a_metric_has_the_score_of_the_pixels_that_it_shows(client: httpx.Client, opened: Store) -> None:
    scores = sg.evaluate(estimates(0)["rough"], opened.scene("small", "alpha"), ["bad@1", "d-fat"], protocol=PROTOCOL)
    for metric, region in (("bad@1", "nonocc"), ("bad@1", "all"), ("d-fat", None)):
        asked = {"algorithm": "rough", "metric": metric} | ({} if region is None else {"region": region})
        legend = client.get("scenes/alpha/layers/metric", params=asked).json()
        assert legend["score"] == pytest.approx(scores.value(metric, region or "disc-background"))
    assert client.get("scenes/alpha/layers/truth").json()["score"] is None


def test_a_small_set_of_pixels_has_crops_that_hold_all_of_it() -> None:
    """A pole of 30 rows × 2 px in an image of 120 × 200 px, a second one far from it."""
    disparity = np.full((120, 200), 4.0, np.float32)
    disparity[20:50, 60:62] = disparity[60:90, 150:152] = 12.0
    left = np.full((*disparity.shape, 3), 90, np.uint8)
    scene = sg.Scene("poles", gt=disparity, left=left, masks={"nonocc": disparity > 0}, resolution=0.25)
    found = picture_crops(sg.picture(disparity, scene, "f-por"))
    assert [pixels for _, pixels in found] == [60, 60]
    for crop, _ in found:
        assert (disparity[crop.inside] > 4).sum() == 60


def test_photographs_are_shown_as_they_are(client: httpx.Client, opened: Store) -> None:
    np.testing.assert_array_equal(
        decoded(client.get("scenes/alpha/layers/left.png")), opened.scene("small", "alpha").left
    )


def test_the_pixel_under_the_pointer_has_the_arrays_values(client: httpx.Client, opened: Store) -> None:
    answer = client.get("scenes/gamma/pixel", params={"x": 33, "y": 15, "algorithms": ["good", "biased"]}).json()
    assert answer["truth"] == float(truth(2)[15, 33]) == 13.0
    assert answer["depth"] == pytest.approx(100 * 0.1 / 13.0)
    good, biased = answer["estimates"]
    assert good["disparity"] == float(estimates(2)["good"][15, 33])
    assert good["error"] == pytest.approx(good["disparity"] - 13.0)
    assert biased["depth"] == pytest.approx(10.0 / biased["disparity"])
    masks = sg.regions(opened.scene("small", "gamma"), ["all", "nonocc", "disc", "interior"], protocol=PROTOCOL)
    for name, mask in masks.items():
        assert (name in answer["regions"]) == bool(mask[15, 33])


def test_a_pixel_without_estimate_says_so(client: httpx.Client) -> None:
    y, x = np.argwhere(np.isnan(estimates(0)[MARKUP]))[0]
    answer = client.get("scenes/alpha/pixel", params={"x": int(x), "y": int(y), "algorithms": MARKUP}).json()
    assert answer["estimates"][0]["disparity"] is None
    assert answer["estimates"][0]["note"] == "no estimate"


def test_an_algorithm_without_the_scene_is_a_gap_not_an_error(client: httpx.Client) -> None:
    answer = client.get("scenes/gamma/pixel", params={"x": 3, "y": 3, "algorithms": "partial"}).json()
    assert "no map of partial" in answer["estimates"][0]["note"]
    assert "partial" not in client.get("scenes/gamma/about").json()["algorithms"]
    assert client.get("scenes/gamma/layers/estimate.png", params={"algorithm": "partial"}).status_code == 422


@pytest.mark.parametrize(("x", "y"), [(-1, 0), (0, 40), (56, 0), (10**9, 1)])
def test_a_pixel_outside_is_refused(client: httpx.Client, x: int, y: int) -> None:
    assert client.get("scenes/alpha/pixel", params={"x": x, "y": y}).status_code == 422


def test_the_point_cloud_lies_where_the_calibration_puts_it(client: httpx.Client) -> None:
    answer = client.get("scenes/alpha/cloud", params={"points": 200_000}).json()
    points = np.frombuffer(base64.b64decode(answer["positions"]), "<f4").reshape(-1, 3)
    assert len(points) == answer["points"] == np.isfinite(truth(0)).sum()
    assert answer["unit"] == "m"
    places = sg.Calibration(focal=100.0, baseline=0.1).points(truth(0))
    np.testing.assert_allclose(points, places[np.isfinite(places[..., 2])], rtol=1e-5, atol=1e-7)
    thinned = client.get("scenes/alpha/cloud", params={"points": 100, "algorithm": "good"}).json()
    assert thinned["points"] <= 140


def test_blocks_point_to_where_the_error_is(client: httpx.Client) -> None:
    blocks = client.get("scenes/alpha/blocks", params={"algorithm": "biased"}).json()
    shares = [block["share"] for block in blocks]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1


def test_blocks_lie_inside_the_region_that_was_asked_for(client: httpx.Client, opened: Store) -> None:
    asked = {"algorithm": "rough", "metric": "bad@1", "region": "near - disc"}
    blocks = client.get("scenes/alpha/blocks", params=asked).json()
    mask = sg.regions(opened.scene("small", "alpha"), ["near-disc"], protocol=PROTOCOL)["near-disc"]
    assert blocks
    for block in blocks:
        size = block["size"]
        assert mask[block["y"] : block["y"] + size, block["x"] : block["x"] + size].any()
    refused = client.get("scenes/alpha/blocks", params={"algorithm": "rough", "metric": "bad@1:near&dis"})
    assert "Did you mean 'disc'?" in refused.text


def test_a_combined_region_is_an_overlay_that_reads_in_words(client: httpx.Client) -> None:
    info = client.get("scenes/alpha/layers/region", params={"region": "near&nonocc"}).json()
    assert info["legend"][0]["text"] == "near&nonocc: near and not occluded"
    refused = client.get("scenes/alpha/layers/region", params={"region": "near&nonoc"})
    assert refused.status_code in (400, 404, 422)
    assert "Did you mean 'nonocc'?" in refused.text


def test_every_object_has_a_place_and_scores(client: httpx.Client) -> None:
    objects = client.get("scenes/alpha/objects", params={"algorithms": ["good", "rough"]}).json()
    assert objects
    for one in objects:
        assert one["x"] + one["width"] <= SHAPE[1]
        assert one["y"] + one["height"] <= SHAPE[0]
        assert {score["algorithm"] for score in one["scores"]} == {"good", "rough"}
        assert client.get("scenes/alpha/layers/region.png", params={"region": one["region"]}).status_code == 200
    assert client.get("scenes/beta/objects").status_code == 403


def test_geometry_sets_and_the_steps_to_them_are_layers(client: httpx.Client) -> None:
    about = client.get("scenes/alpha/about").json()
    assert "set" in about["layers"]
    assert {"normals", "gradient", "extrapolated-foreground", "extrapolated-background"} <= set(about["sets"])
    for name in ("discontinuities", "extrapolated-background", "normals", "gradient", "direction-change", "thin-runs"):
        assert decoded(client.get("scenes/alpha/layers/set.png", params={"region": name})).shape[:2] == SHAPE
    title = client.get("scenes/alpha/layers/set", params={"region": "extrapolated-foreground"}).json()["title"]
    assert title.startswith("D_f")
    assert "normals" in client.get("scenes/alpha/layers/set", params={"region": "normal"}).text
    assert client.get("scenes/beta/layers/set.png", params={"region": "normals"}).status_code == 403


def test_most_confident_keeps_the_share_that_was_asked_for() -> None:
    values = np.arange(10, dtype=np.float32).reshape(2, 5)
    assert most_confident(values, 0.3).sum() == 4  # the pixel at the limit stays
    assert most_confident(values, 1.0).all()


@pytest.mark.parametrize(
    "question",
    [
        "layers/truth.png", "layers/signed.png?algorithm=good", "layers/region.png?region=all", "cloud",
        "layers/metric.png?algorithm=good&metric=rms", "blocks?algorithm=good", "layers/error.png?algorithm=good",
    ],
)  # fmt: skip
def test_hidden_ground_truth_is_not_shown(client: httpx.Client, question: str) -> None:
    answer = client.get(f"scenes/beta/{question}")
    assert answer.status_code == 403
    assert "hidden" in answer.json()["detail"]


@pytest.fixture(scope="module")
def generous(opened: Store) -> Iterator[httpx.Client]:
    """The site of a host who shows coarse blocks of errors on hidden scenes."""
    site = Site(StoreSource(opened), Hidden(["beta"], ["blocks"]))
    with serving(create_app(site)) as base, httpx.Client(base_url=f"{base}/api/v1/") as one:
        yield one


def test_estimates_on_a_hidden_scene_are_coarse(client: httpx.Client) -> None:
    picture = decoded(client.get("scenes/beta/layers/estimate.png", params={"algorithm": "rough"}))
    np.testing.assert_array_equal(picture, render_disparity(coarse(estimates(1)["rough"]), (0.0, 24.0)))
    pixel = client.get("scenes/beta/pixel", params={"x": 20, "y": 20, "algorithms": "rough"}).json()
    assert pixel["estimates"][0]["disparity"] == coarse(estimates(1)["rough"])[20, 20]
    cloud = client.get("scenes/beta/cloud", params={"points": 200_000, "algorithm": "rough"}).json()
    depths = np.frombuffer(base64.b64decode(cloud["positions"]), "<f4").reshape(-1, 3)[:, 2]
    assert len(np.unique(depths)) <= -(-SHAPE[0] // 8) * -(-SHAPE[1] // 8)


def test_errors_of_a_hidden_scene_are_coarse_blocks_where_the_host_shows_any(generous: httpx.Client) -> None:
    client = generous
    picture = decoded(client.get("scenes/beta/layers/error.png", params={"algorithm": "rough"}))
    side = -(-max(SHAPE) // 16)
    for top in range(0, SHAPE[0], side):
        for left in range(0, SHAPE[1], side):
            block = picture[top : top + side, left : left + side].reshape(-1, 3)
            assert len(np.unique(block, axis=0)) == 1
    legend = client.get("scenes/beta/layers/error", params={"algorithm": "rough"}).json()
    assert "hidden" in legend["note"]
    finer = client.get("scenes/beta/layers/error.png", params={"algorithm": "rough", "range": 0.3})
    np.testing.assert_array_equal(decoded(finer), picture)


@pytest.mark.parametrize("shape", [(17, 33), (375, 450), (5, 241)])
def test_no_block_of_a_hidden_scene_is_a_sliver_and_none_is_left_out(shape: tuple[int, int]) -> None:
    values = np.random.default_rng(0).random(shape).astype(np.float32)
    side = -(-max(shape) // 16)
    blocks, sizes = np.unique(in_even_blocks(values, side), return_counts=True)
    assert np.isfinite(blocks).all()
    assert sizes.min() >= min(side, *shape) * side / 4


def test_a_block_of_a_hidden_scene_with_few_known_pixels_is_not_shown() -> None:
    values = np.full((8, 8), np.nan, np.float32)
    values[:4, :2] = 1.0
    values[4:, :3] = 2.0
    shown = in_even_blocks(values, 4)
    assert (shown[:4, :4] == 1.0).all()
    assert (shown[4:, :4] == 2.0).all()
    assert np.isnan(shown[:, 4:]).all()
    values[0, 0] = np.nan
    assert np.isnan(in_even_blocks(values, 4)[:4]).all()


def test_the_pixel_of_a_hidden_scene_tells_only_the_estimate(client: httpx.Client) -> None:
    answer = client.get("scenes/beta/pixel", params={"x": 20, "y": 20, "algorithms": "good"}).json()
    assert (answer["truth"], answer["depth"], answer["regions"]) == (None, None, [])
    assert answer["estimates"][0]["error"] is None
    assert answer["estimates"][0]["disparity"] is not None


def test_the_range_of_a_hidden_scene_is_that_of_the_search(client: httpx.Client) -> None:
    assert client.get("scenes/beta/about").json()["limits"] == [0.0, 24.0]
    assert client.get("scenes/beta/layers/estimate", params={"algorithm": "good"}).json()["limits"] == [0.0, 24.0]
