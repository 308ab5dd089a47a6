"""Regions that are put together from others."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import stereogauge as sg
from stereogauge.errors import UnknownNameError
from stereogauge.io import content_hash, load_mask
from stereogauge.io.files import LabelImage
from stereogauge.masks import expression
from stereogauge.masks.expression import check_region, parse_region, region_id, region_version
from stereogauge.scores.column import Column
from stereogauge.store.sources import source_of_text, source_text

CALIBRATION = sg.Calibration(focal=100, baseline=0.1)  # Z = 10 / d metres


def scene(**changes: object) -> sg.Scene:
    truth = np.full((4, 10), 4.0, np.float32)  # 2.5 m
    truth[:, 5:] = 2.0  # 5 m
    truth[0, :] = 0.0  # infinitely far
    road = np.zeros(truth.shape, np.bool_)
    road[2:] = True
    sky = np.zeros(truth.shape, np.bool_)
    sky[0] = True
    parts = {"gt": truth, "calibration": CALIBRATION, "masks": {"road": road, "my-sky": sky}} | changes
    return sg.Scene("s", **parts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "pixels"),
    [
        ("depth@2,30", 30),
        ("depth@2,5", 15),  # the far limit belongs to the next range
        ("depth@5,inf", 25),
        ("depth@5", 25),
        ("all-my-sky", 30),
        ("all - my-sky", 30),
        ("all-mask:my-sky", 30),
        ("mask:road&depth@2,3", 10),
        ("road|my-sky", 30),
        ("all-(road|my-sky)", 10),
        ("all-road&my-sky", 10),  # minus binds first, as for Python's sets
        ("my-sky&all-road", 10),
    ],
)
def test_a_combined_region_holds_the_pixels_that_its_text_says(text: str, pixels: int) -> None:
    assert sg.regions(scene(), [text])[text].sum() == pixels


def test_depth_ranges_that_touch_divide_all_known_pixels() -> None:
    masks = sg.regions(scene(), ["depth@0,2.5", "depth@2.5,5", "depth@5"])
    np.testing.assert_array_equal(sum(mask.astype(int) for mask in masks.values()), 1)


def test_a_hyphen_inside_a_known_name_is_no_minus() -> None:
    assert [part.name for part in parse_region("disc-background-sky").parts] == ["disc-background", "sky"]
    assert [part.name for part in parse_region("disc-my-sky", ("my-sky",)).parts] == ["disc", "my-sky"]
    assert [part.name for part in parse_region("my-sky-near", ("my-sky",)).parts] == ["my-sky", "near"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("planar&textureles", "part of the region 'planar&textureles': 'textureles'.*Did you mean 'textureless'?"),
        ("all-mi-sky", "part of the region 'all-mi-sky': 'mi-sky'.*Did you mean 'my-sky'?"),
        ("all&mask:rod", "'mask:rod'; known are: mask:my-sky, mask:road. Did you mean 'mask:road'?"),
        ("rood", "Unknown region 'rood'.*Did you mean 'road'?"),
        ("planar&", "the name of a region is missing at the end"),
        ("&planar", "the name of a region is missing before '&'"),
        ("(planar", r"there is a '\(' without its '\)'"),
        ("planar)", r"there is a '\)' without its '\('"),
        ("depth", "needs its near"),
        ("depth@five", "what follows @ must be a number"),
        ("depth@5,2", "the first depth must be less than the second"),
    ],
)
def test_what_is_wrong_with_an_expression_is_said_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UnknownNameError, match=sentence):
        sg.regions(scene(), [text])
    with pytest.raises(UnknownNameError):
        sg.evaluate(np.ones((4, 10)), scene(), metrics=["mae"], regions=[text])


def test_metres_without_a_calibration_are_a_gap_with_the_reason() -> None:
    table = sg.evaluate(np.ones((4, 10)), scene(calibration=None), metrics=["mae"], regions=["depth@2,30"])
    assert np.isnan(table.value("mae", "depth@2,30"))
    assert "needs a calibration" in table.score("mae", "depth@2,30").note


def test_a_column_has_one_name_however_it_was_typed() -> None:
    regions = ["( all - my-sky ) & road", "depth@2,5.0"]
    table = sg.evaluate(scene().gt + 1, scene(), metrics=["mae", "bad@1:depth@2.0,3"], regions=regions)
    assert table.regions == ("all-my-sky&road", "depth@2,5", "depth@2,3")
    assert table.value("mae", "all - my-sky & road") == 1.0
    assert table.value("bad@1:depth@2,3.0") == 0.0
    assert region_id("all-(my-sky&road)") == "all-(my-sky&road)"


def test_a_column_is_computed_again_when_any_declared_part_changes() -> None:
    assert region_version("near&textureless") == region_version("near") + region_version("textureless")
    assert Column("mae", "road-near").versioned.region_version == region_version("near")
    assert region_version("road") == 0


def test_an_expression_reads_in_words() -> None:
    assert check_region("planar&(textureless|all-road)", ("road",)).words == (
        "planar surfaces and (textureless or (all known pixels without mask road))"
    )
    assert parse_region("depth@2,30").words == "between two depths (near 2 m, far 30 m)"


def test_protocols_take_combined_regions_and_hash_them() -> None:
    plain = sg.load_protocol("default")
    combined = plain.replace(regions=["all-my-sky"])
    assert combined.hash != plain.hash
    assert combined.scoring_hash == plain.scoring_hash
    assert sg.evaluate(scene().gt, scene(), protocol=combined).value("mae", "all-my-sky") == 0.0


def palette_png(path: Path, indices: NDArray[np.uint8]) -> Path:
    image = Image.fromarray(indices).convert("P")
    image.putdata(indices.ravel().tolist())
    image.putpalette([200, 0, 0, 0, 200, 0, 0, 0, 200])
    image.save(path)
    return path


def test_a_class_of_a_label_image_is_a_region(tmp_path: Path) -> None:
    labels = np.zeros((4, 10), np.uint8)
    labels[1:3, 2:5] = 2
    for source in (labels, palette_png(tmp_path / "labels.png", labels)):
        labelled = scene(labels=LabelImage(source, {"glass": 2, "rest": (0, 1)}))
        masks = sg.regions(labelled, ["label:glass", "all-label:glass", "label:rest&road"])
        assert [int(mask.sum()) for mask in masks.values()] == [6, 34, 17]
    with pytest.raises(UnknownNameError, match="Did you mean 'label:glass'"):
        sg.regions(labelled, ["all-label:glas"])


def test_scores_on_a_class_are_kept_and_computed_again_when_its_values_change(tmp_path: Path) -> None:
    path = palette_png(tmp_path / "labels.png", np.tile(np.uint8([0, 1]), (4, 5)))
    first, second = (content_hash(LabelImage(path, {"glass": value}).masks["label:glass"]) for value in (0, 1))
    assert first != second
    source = LabelImage(path, {"glass": (0, 2)}).masks["label:glass"]
    np.testing.assert_array_equal(source_of_text(source_text(source)).read(), load_mask(source))


def test_endless_expressions_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="at most"):
        parse_region("(" * 5000)
    with pytest.raises(UnknownNameError, match="at most"):
        parse_region("-".join(["all"] * 5000))


def test_the_examples_in_the_documentation_work() -> None:
    assert doctest.testmod(expression).failed == 0
