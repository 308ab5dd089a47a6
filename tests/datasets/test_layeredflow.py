"""LayeredFlow from a made folder of its official layout: points on layers, read without running the pickle."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.datasets import load_dataset
from stereogauge.errors import FileError
from stereogauge.io.content import Content
from stereogauge.io.files import content_hash
from stereogauge.io.points import points_of
from stereogauge.store.sources import paths_of, scene_of_text, scene_text

Write = Callable[..., Path]
ANNOTATIONS = {
    (0, 0): (True, "Transparent", 0),
    (0, 1): (True, "Diffuse", 1),
    (1, 0): (True, "Reflective", 0),
    (1, 1): (False, "Diffuse", 0),
    (1, 2): (True, "Diffuse", 0),
    (2, 0): (np.bool_(True), "Diffuse", np.int64(2)),
}
LEFT = {
    (0, 0): (5.75, 2.5),
    (0, 1): (5.25, 2.25),
    (1, 0): (np.float64(7.5), np.float64(4.0)),
    (1, 1): (3.0, 3.0),
    (1, 2): (8.0, 1.0),
    (2, 0): (np.float32(6.5), 0.5),
}
RIGHT = {
    (0, 0): (2.5, 2.5),
    (0, 1): (4.25, 2.25),
    (1, 0): (np.float64(5.0), np.float64(5.5)),
    (1, 1): (1.0, 3.0),
    (1, 2): (6.0, 4.0),
    (2, 0): (np.float32(6.25), 0.5),
}


def points(places: dict[Any, Any]) -> list[Any]:
    return [(*name, place) for name, place in places.items()]


def annotation(**changed: Any) -> dict[str, Any]:
    four = [points(LEFT), points(RIGHT), points({(1, 0): (4.0, 4.0)}), points({(1, 0): (1.0, 4.0)})]
    return {"optical_points": four, "stereo_points": four, "annotations": ANNOTATIONS, **changed}


@pytest.fixture
def folder(tmp_path: Path, picture: Write) -> Path:
    """Scenes 2 and 10 of the validation set, and one of the test set, which has no ground truth."""
    for scene in ("val/2", "val/10", "test/0"):
        for name in ("0_0", "0_1", "3_0", "3_1"):
            picture(tmp_path / scene / f"{name}.png", 9)
    for scene in ("2", "10"):
        (tmp_path / "val" / scene / "gt.pickle").write_bytes(pickle.dumps(annotation()))
    return tmp_path


def known(disparity: np.ndarray) -> dict[tuple[int, int], float]:
    return {(int(x), int(y)): float(disparity[y, x]) for y, x in np.argwhere(np.isfinite(disparity))}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("layeredflow", {(5, 2): 3.25, (7, 4): 2.5}),
        ("layeredflow:second", {(5, 2): 1.0}),
        ("layeredflow:third", {(6, 0): 0.25}),
        ("layeredflow:last", {(5, 2): 1.0, (7, 4): 2.5, (6, 0): 0.25}),
    ],
)
def test_the_variant_is_the_surface_that_counts(folder: Path, name: str, expected: dict[Any, float]) -> None:
    for root in (folder, folder / "val"):
        data = load_dataset(name, root)
        assert data.name == name
        assert data.ids == ("2-0", "2-3", "10-0", "10-3")
    scene = data["2-0"]
    assert known(scene.gt) == expected, "invalid points, and those whose rows do not meet, are unknown"
    assert scene.gt.shape == scene.left.shape[:2]
    assert scene.calibration.focal is None, "none is published"
    again = scene_of_text(scene_text(scene), scene.id, scene.dataset)
    assert np.array_equal(again.gt, scene.gt, equal_nan=True)
    assert np.array_equal(again.mask("label:diffuse"), scene.mask("label:diffuse"))


def test_materials_are_regions(folder: Path) -> None:
    scene = load_dataset("layeredflow", folder)["2-0"]
    regions = ["all", "label:transparent", "label:reflective", "label:transparent | label:reflective"]
    estimate = np.full(scene.gt.shape, 3.0, np.float32)
    table = sg.evaluate(estimate, scene, ["mae"], regions)
    assert [table.value("mae", region) for region in regions] == pytest.approx([0.375, 0.25, 0.5, 0.375])


def test_of_two_points_on_a_pixel_the_nearer_counts(folder: Path) -> None:
    places = {(0, 0): (5.1, 2.0), (1, 0): (5.9, 2.0)}
    others = {(0, 0): (4.1, 2.0), (1, 0): (1.9, 2.0)}
    written = annotation(stereo_points=[points(places), points(others), [], []])
    (folder / "val" / "2" / "gt.pickle").write_bytes(pickle.dumps(written))
    scene = load_dataset("layeredflow", folder)["2-0"]
    assert known(scene.gt) == {(5, 2): 4.0}
    assert scene.mask("label:reflective")[2, 5]
    assert not scene.mask("label:transparent").any()
    later = load_dataset("layeredflow", folder)["2-3"]
    assert np.isnan(later.gt).all(), "no points are no ground truth"


def test_layer_and_pair_are_in_the_hash(folder: Path) -> None:
    first, last = (load_dataset(name, folder) for name in ("layeredflow", "layeredflow:last"))
    sources = [first["2-0"].source("gt"), first["2-3"].source("gt"), last["2-0"].source("gt")]
    sources += [first["2-0"].mask_source(f"label:{name}") for name in ("diffuse", "transparent")]
    assert len({content_hash(source) for source in sources}) == len(sources)
    assert content_hash(first["2-0"].source("gt")) == content_hash(first["10-0"].source("gt")), "the same content"
    assert len(paths_of(sources[0])) == 2, "the annotation, and the image whose size the map has"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_numbers_of_numpy_are_read_in_every_kind_of_pickle(folder: Path, protocol: int) -> None:
    places = [(0, 0, np.array([5.75, 2.5])), (1, 0, np.array([7, 4], ">i4"))]
    others = [(0, 0, np.array([2.5, 2.5], np.float32)), (1, 0, [np.float16(5.5), np.uint8(5)])]
    written = annotation(stereo_points=[places, others, [], []])
    (folder / "val" / "2" / "gt.pickle").write_bytes(pickle.dumps(written, protocol))
    assert known(load_dataset("layeredflow", folder)["2-0"].gt) == {(5, 2): 3.25, (7, 4): 1.5}


class Attack:
    """Pickled, it asks the reader to make a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_code_in_a_pickle_is_refused_and_never_run(folder: Path, protocol: int) -> None:
    made = folder / "made by the pickle"
    for written in (Attack(made), annotation(annotations=Attack(made)), {"more": [Attack(made)], **annotation()}):
        (folder / "val" / "2" / "gt.pickle").write_bytes(pickle.dumps(written, protocol))
        with pytest.raises(FileError, match=r"gt\.pickle: the pickle is not read: it names \w+\.mkdir, and only"):
            _ = load_dataset("layeredflow", folder)["2-0"].gt
        assert not made.exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"not a pickle", "not a Python pickle, or a damaged one"),
        (pickle.dumps(annotation())[:200], "not a Python pickle, or a damaged one"),
        (pickle.dumps([1, 2]), "not an annotation of LayeredFlow: it should hold stereo_points"),
        (pickle.dumps(annotation(stereo_points=[[]])), "not an annotation of LayeredFlow"),
        (pickle.dumps(annotation(annotations={})), "not an annotation of LayeredFlow"),
        (pickle.dumps(annotation(annotations={**ANNOTATIONS, (0, 0): (True, 7, 0)})), "not an annotation"),
        (pickle.dumps(annotation(stereo_points=[points(LEFT), [], [], []])), "not an annotation"),
        (pickle.dumps(annotation(stereo_points=[[(0, 0, (np.nan, 1))], [(0, 0, (1, 1))]])), "not an annotation"),
        (pickle.dumps(annotation(stereo_points=[[(0, 0, (10**400, 1))], [(0, 0, (1, 1))]])), "not an annotation"),
        (pickle.dumps(annotation(stereo_points=[points(RIGHT), points(LEFT), [], []])), "are they swapped"),
        (b"\x80\x02}r\xff\xff\xff\x7f.", "not an annotation"),
        (b"\x80\x02c__main__\nSecret\n)\x81.", "it names __main__.Secret"),
        (b"\x80\x02cnumpy\nndarray\n)\x81.", "its step NEWOBJ has no place among plain values"),
        (b"\x80\x02}K\x01\x85R.", "it calls something that is no name"),
    ],
    ids=range(14),
)
def test_another_file_is_one_sentence(folder: Path, content: bytes, said: str) -> None:
    (folder / "val" / "2" / "gt.pickle").write_bytes(content)
    with pytest.raises(FileError, match=r"gt\.pickle: .*" + said):
        _ = load_dataset("layeredflow", folder)["2-0"].gt


def test_a_key_that_would_take_forever_to_compare_is_refused(folder: Path) -> None:
    doubled = b"".join(b"\x94h" + bytes([step]) + b"\x86" for step in range(60))  # t = (t, t), sixty times
    key = b"K\x00\x85" + doubled
    (folder / "val" / "2" / "gt.pickle").write_bytes(b"\x80\x04}" + key + b"K\x01s.")
    with pytest.raises(FileError, match="a key of a dictionary is neither a number nor text"):
        _ = load_dataset("layeredflow", folder)["2-0"].gt


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_damaged_pickles_are_one_sentence(protocol: int) -> None:
    whole = pickle.dumps(annotation(), protocol)
    draw = random.Random(protocol)
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 5)):
            place = draw.randrange(len(data))
            data[place : place + draw.randint(0, 2)] = bytes(draw.randrange(256) for _ in range(draw.randint(0, 2)))
        try:
            points_of(Content("gt.pickle", memoryview(bytes(data)), ".pickle"), 0)
        except FileError:
            refused += 1
    assert refused > 100


def test_the_command_line_says_how_to_get_it(capsys: pytest.CaptureFixture[str]) -> None:
    from stereogauge.cli import main

    with pytest.raises(SystemExit):
        main(["datasets", "show", "layeredflow"])
    said = " ".join(capsys.readouterr().out.split())
    assert "layeredflow.cs.princeton.edu" in said
    assert "the first surface that is not transparent" in said
