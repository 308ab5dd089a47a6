"""Regions: hand-worked scenes for each rule, the partition, and what happens where a rule cannot work."""

from __future__ import annotations

import doctest
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import stereogauge as sg
from stereogauge import StereogaugeError
from stereogauge.errors import NotApplicable, ProtocolError, SizeError
from stereogauge.masks import scene_regions
from stereogauge.masks.declaration import declared_regions
from stereogauge.masks.standard import PARTITION, check_partition

NAN = np.nan


def step(width: int = 40, height: int = 20, background: float = 4, foreground: float = 10) -> np.ndarray:
    """A nearer block on the right half."""
    truth = np.full((height, width), background, np.float32)
    truth[:, width // 2 :] = foreground
    return truth


def test_z_buffer_hides_what_a_nearer_surface_covers_and_what_leaves_the_image() -> None:
    visible = sg.regions(sg.Scene("s", gt=step()), ["nonocc"], rule="z-buffer")["nonocc"][0]
    # Columns 0…3 leave to the left; columns 14…19 are covered by the block, which is 6 px nearer.
    assert np.flatnonzero(~visible).tolist() == [0, 1, 2, 3, 14, 15, 16, 17, 18, 19]


def test_bidirectional_needs_both_views_to_agree() -> None:
    left = np.full((1, 8), 2, np.float32)
    right = np.array([[2, 2, 2, 5, NAN, 2, 2, 2]], np.float32)
    scene = sg.Scene("s", gt=left, gt_right=right)
    visible = sg.regions(scene, ["nonocc", "occluded"], rule="bidirectional")
    assert np.flatnonzero(visible["nonocc"][0]).tolist() == [2, 3, 4, 7]
    assert np.flatnonzero(visible["occluded"][0]).tolist() == [0, 1, 5, 6]


def test_the_rule_is_chosen_by_what_the_scene_has() -> None:
    truth = step()
    own = np.zeros(truth.shape, bool)
    own[:, 5] = True
    with_mask = sg.regions(sg.Scene("s", gt=truth, masks={"nonocc": own}), ["nonocc"])["nonocc"]
    assert np.array_equal(with_mask, own)
    assert sg.regions(sg.Scene("s", gt=truth, gt_right=np.full_like(truth, 99)), ["nonocc"])["nonocc"].sum() == 0
    both = [sg.regions(sg.Scene("s", gt=truth), ["nonocc"], rule=rule)["nonocc"] for rule in ("auto", "z-buffer")]
    assert np.array_equal(*both)


def test_a_rule_that_cannot_work_says_what_to_do() -> None:
    with pytest.raises(ProtocolError, match="has only the left one's; use rule 'z-buffer'"):
        sg.regions(sg.Scene("s", gt=step()), ["nonocc"], rule="bidirectional")
    with pytest.raises(ProtocolError, match="dataset's own occlusion mask"):
        sg.regions(sg.Scene("s", gt=step()), ["nonocc"], rule="dataset")


def test_all_pixels_need_no_occlusion_mask() -> None:
    scene = sg.Scene("s", gt=step())
    table = sg.evaluate(step() + 4, scene, ["d1", "bad@3"], ["all"], protocol="kitti-2015")
    assert [score.value for score in table] == [100, 100]
    with pytest.raises(ProtocolError, match="dataset's own occlusion mask"):
        sg.evaluate(step(), scene, ["d1"], ["nonocc"], protocol="kitti-2015")


def test_discontinuities_lie_within_the_radius_of_a_jump() -> None:
    near = sg.regions(sg.Scene("s", gt=step(width=450, height=30)), ["disc", "nonocc"], rule="z-buffer")
    columns = np.flatnonzero(near["disc"][10])
    assert columns.min() >= 224 - 4
    assert columns.max() == 225 + 4
    assert not (near["disc"] & ~near["nonocc"]).any()


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 14), st.integers(1, 30)),
        elements=st.one_of(st.just(float("nan")), st.floats(0, 12, width=32)),
    ),
    st.sampled_from(["middlebury-v2", "z-buffer", "bidirectional"]),
)
def test_boundary_interior_and_occluded_are_always_a_partition(truth: np.ndarray, rule: str) -> None:
    scene = sg.Scene("s", gt=truth, gt_right=truth[:, ::-1].copy())
    masks = sg.regions(scene, [*PARTITION, "all"], rule=rule)
    check_partition({name: masks[name] for name in PARTITION}, masks["all"])


def test_overlapping_regions_are_no_partition_and_the_overlap_is_named() -> None:
    masks = sg.regions(sg.Scene("s", gt=step()), ["nonocc", "disc", "all"], rule="z-buffer")
    overlap = int((masks["nonocc"] & masks["disc"]).sum())
    with pytest.raises(ProtocolError, match=f"overlap in {overlap} pixels"):
        check_partition({name: masks[name] for name in ("nonocc", "disc")}, masks["all"])
    with pytest.raises(ProtocolError, match="leave out"):
        check_partition({"nonocc": masks["nonocc"]}, masks["all"])


def test_the_datasets_own_mask_of_all_pixels_holds_every_region() -> None:
    truth = step()
    inner = np.zeros(truth.shape, bool)
    inner[3:-3, 3:-3] = True
    nonocc = inner & (np.arange(40) > 8)
    masks = sg.regions(sg.Scene("s", gt=truth, masks={"all": inner, "nonocc": nonocc}), [*PARTITION, "all", "far"])
    assert np.array_equal(masks["all"], inner)
    check_partition({name: masks[name] for name in PARTITION}, masks["all"])
    assert int(masks["occluded"].sum()) == int((inner & ~nonocc).sum())
    assert not (masks["far"] & ~inner).any()
    # The margin that the mask leaves out is not evaluated; it is not occluded, and nothing beside it is a boundary.
    assert not masks["boundary"][3, 25:37].any()
    alone = sg.Scene("s", gt=truth, masks={"all": inner})
    assert np.array_equal(sg.regions(alone, ["all"])["all"], inner)
    assert sg.regions(alone, ["all"], rule="z-buffer")["all"].all()


@pytest.mark.parametrize("scene", ["tsukuba", "venus", "teddy", "cones"])
def test_official_masks_are_a_partition_under_the_default_protocol(data_root: Path, scene: str) -> None:
    masks = sg.regions(sg.load_dataset("middlebury-v2", data_root / "middlebury-v2")[scene], [*PARTITION, "all"])
    union = np.logical_or.reduce([masks[name] for name in PARTITION])
    assert np.array_equal(union, masks["all"])


@pytest.mark.parametrize("name", ["all", "nonocc", "disc", "fg", "bg", "sky"])
def test_a_mask_of_another_size_is_refused_with_both_sizes(name: str) -> None:
    masks = {"nonocc": np.ones((20, 40), bool), name: np.ones((7, 9), bool)}
    with pytest.raises(SizeError, match=f"mask '{name}' of scene 's' is 9×7, its ground truth 40×20"):
        sg.regions(sg.Scene("s", gt=step(), masks=masks), [name])


def test_a_right_view_or_image_of_another_size_is_refused() -> None:
    with pytest.raises(SizeError, match="right ground truth of scene 's' is 9×7"):
        sg.regions(sg.Scene("s", gt=step(), gt_right=np.ones((7, 9))), ["nonocc"])
    with pytest.raises(SizeError, match="left image of scene 's' is 9×7"):
        sg.regions(sg.Scene("s", gt=step(), left=np.ones((7, 9, 3), np.uint8)), ["textured"])


def test_a_region_without_its_image_is_a_gap_beside_the_others() -> None:
    table = sg.evaluate(step(), sg.Scene("s", gt=step()), metrics=["bad@1"], regions=["all", "textureless"])
    assert table.value("bad@1", "all") == 0
    assert np.isnan(table.value("bad@1", "textureless"))
    assert "needs the left image" in table.score("bad@1", "textureless").note


def test_textureless_is_opencvs_rule_on_coloured_images() -> None:
    left = np.random.default_rng(3).integers(96, 124, (60, 80, 3)).astype(np.uint8)
    found = sg.regions(sg.Scene("s", gt=np.full((60, 80), 5.0), left=left), ["textureless"])["textureless"]
    slope = cv2.Sobel(cv2.cvtColor(left, cv2.COLOR_RGB2GRAY), cv2.CV_32F, 1, 0) / 8
    assert np.array_equal(found, cv2.boxFilter(slope**2, cv2.CV_32F, (3, 3)) < 4)
    assert 0.1 < found.mean() < 0.9
    # 16-bit images differ from 8-bit ones only in the factor.
    deep = sg.Scene("s", gt=np.full((60, 80), 5.0), left=np.repeat(left[..., :1], 3, 2).astype(np.uint16) * 257)
    flat = sg.Scene("s", gt=np.full((60, 80), 5.0), left=np.ascontiguousarray(left[..., 0]))
    assert np.array_equal(*(sg.regions(s, ["textureless"])["textureless"] for s in (deep, flat)))


def test_the_protocols_border_counts_beside_the_scenes_own_under_the_v2_rule() -> None:
    scene = sg.Scene("s", gt=step(), border=2)
    for border, margin in ((0, 2), ("dataset", 2), (5, 5)):
        protocol = sg.load_protocol().replace(border=border)
        known = sg.regions(scene, ["all"], rule="middlebury-v2", protocol=protocol)["all"]
        assert int(known.sum()) == (20 - 2 * margin) * (40 - 2 * margin)


def test_texture_divides_the_known_pixels() -> None:
    left = np.full((20, 40), 100, np.uint8)
    left[:, 20:] = np.where(np.arange(20) % 4 < 2, 60, 200)
    scene = sg.Scene("s", gt=step(), left=left)
    masks = sg.regions(scene, ["textureless", "textured", "all"])
    assert masks["textureless"][:, :18].all()
    assert masks["textured"][:, 23:37].all()
    assert np.array_equal(masks["textureless"] ^ masks["textured"], masks["all"])


def test_near_mid_and_far_by_terciles_and_by_metres() -> None:
    truth = np.array([[10, 20, 30, 40, 50, 60]], np.float32)
    thirds = sg.regions(sg.Scene("s", gt=truth), ["near", "mid", "far"])
    assert [int(m.sum()) for m in thirds.values()] == [2, 2, 2]
    assert thirds["near"][0, -1]
    assert thirds["far"][0, 0]
    scene = sg.Scene("s", gt=truth, calibration=sg.Calibration(focal=600, baseline=1))
    limits = sg.load_protocol().replace(**{"region_rules.near": 15.0, "region_rules.far": 25.0})
    by_metres = sg.regions(scene, ["near", "mid", "far"], protocol=limits)  # depths 60, 30, 20, 15, 12, 10
    assert [int(m.sum()) for m in by_metres.values()] == [2, 2, 2]
    with pytest.raises(NotApplicable, match="calibration"):
        sg.regions(sg.Scene("s", gt=truth), ["near"], protocol=limits)


def test_user_masks_are_regions_by_their_name() -> None:
    mine = np.zeros((20, 40), bool)
    mine[3:5, 3:5] = True
    scene = sg.Scene("s", gt=step(), masks={"mine": mine})
    assert sg.regions(scene, ["mine"])["mine"].sum() == 4
    with pytest.raises(SizeError, match="40×20"):
        sg.regions(sg.Scene("s", gt=step(), masks={"mine": mine[:5]}), ["mine"])
    with pytest.raises(StereogaugeError, match="Did you mean 'nonocc'"):
        sg.regions(scene, ["noncc"])


def test_objects_without_an_object_map_do_not_apply() -> None:
    with pytest.raises(NotApplicable, match="object map"):
        sg.regions(sg.Scene("s", gt=step()), ["fg"])


def test_border_and_largest_disparity_are_left_out_of_every_region() -> None:
    protocol = sg.load_protocol().replace(border=3, max_disparity=5.0)
    mask = sg.regions(sg.Scene("s", gt=step()), ["all"], protocol=protocol)["all"]
    expected = np.zeros((20, 40), bool)
    expected[3:17, 3:20] = True
    assert np.array_equal(mask, expected)


def test_the_middlebury_rule_uses_the_scene_border_only_there() -> None:
    scene = sg.Scene("s", gt=step(), border=2)
    assert sg.regions(scene, ["all"], rule="middlebury-v2")["all"].sum() == 16 * 36
    assert sg.regions(scene, ["all"], rule="z-buffer")["all"].sum() == 20 * 40


def test_scene_flow_occlusion_agrees_with_the_datasets_own_mask(data_root: Path) -> None:
    """Both views are dense there: the bidirectional rule finds the shipped mask but for the subpixel rim of objects."""
    scene = next(iter(sg.load_dataset("sceneflow", data_root / "sceneflow")))
    ours = sg.regions(scene, ["nonocc"], rule="bidirectional")["nonocc"]
    theirs = sg.regions(scene, ["nonocc"], rule="dataset")["nonocc"]
    assert np.mean(ours == theirs) > 0.97


@pytest.mark.parametrize("name", sorted(declared_regions()))
def test_every_declaration_is_complete(name: str) -> None:
    region = declared_regions()[name]
    assert region.name
    assert region.definition
    assert region.source
    assert region.description


def test_the_example_in_the_documentation_works() -> None:
    assert doctest.testmod(scene_regions).failed == 0
