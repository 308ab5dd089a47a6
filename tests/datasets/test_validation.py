"""Everything that is wrong with results is said at once, and nothing is said of good ones."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stereogauge import Dataset, Scene, load_dataset, write_disparity
from stereogauge.datasets.plausibility import suspicion
from stereogauge.datasets.validation import Validation, check_map, inspect_file, validate_files, validate_results
from stereogauge.model import DisparityMap

Write = Callable[..., Path]
HEIGHT, WIDTH = 40, 120


def _steps() -> DisparityMap:
    """A background at 10 px with a foreground of 30 px: views differ, so that they can be told apart."""
    truth = np.full((HEIGHT, WIDTH), 10, np.float32)
    truth[5:35, 60:90] = 30
    return truth


def _right_view(truth: DisparityMap) -> DisparityMap:
    """Forward projection: the nearer point wins."""
    right = np.full(truth.shape, np.nan, np.float32)
    for y, x in np.argwhere(np.isfinite(truth)):
        target = x - int(truth[y, x])
        if target >= 0 and not right[y, target] >= truth[y, x]:
            right[y, target] = truth[y, x]
    return right


@pytest.fixture
def data() -> Dataset:
    return Dataset("made", [Scene(name, gt=_steps()) for name in ("one", "two", "three")])


def _kinds(validation: Validation) -> set[tuple[str, str, str]]:
    return {(finding.algorithm, finding.scene, finding.kind) for finding in validation.findings}


def test_good_results_have_no_finding(tmp_path: Path, data: Dataset, disparity: Write) -> None:
    noise = np.random.default_rng(1).normal(0, 0.5, (HEIGHT, WIDTH)).astype(np.float32)
    for scene in data.ids:
        disparity(tmp_path / "Good" / f"{scene}.pfm", _steps() + noise)
    seen: list[tuple[int, int]] = []
    validation = validate_results(tmp_path, data, progress=lambda done, total, what: seen.append((done, total)))
    assert validation.ok
    assert (validation.findings, validation.algorithms, validation.maps) == ((), ("Good",), 3)
    assert seen == [(1, 3), (2, 3), (3, 3)]


def _bad_results(root: Path, disparity: Write, text: Write) -> None:
    truth = _steps()
    disparity(root / "Many" / "one.pfm", -truth)
    disparity(root / "Many" / "two.pfm", truth * 16)
    disparity(root / "Many" / "three.pfm", truth[:, :-1])
    disparity(root / "More" / "one.pfm", np.zeros_like(truth))
    whole = disparity(root / "More" / "two.pfm", truth).read_bytes()
    (root / "More" / "two.pfm").write_bytes(whole[: len(whole) // 2])
    disparity(root / "More" / "three.pfm", _right_view(truth))
    disparity(root / "Few" / "one.pfm", np.full_like(truth, np.nan))
    disparity(root / "Few" / "four.pfm", truth)
    text(root / "Few" / "README.md", "hello")


EXPECTED = {
    ("Many", "one", "negated"),
    ("Many", "two", "wrong-scale"),
    ("Many", "three", "wrong-size"),
    ("More", "one", "no-values"),
    ("More", "two", "unreadable"),
    ("More", "three", "swapped-views"),
    ("Few", "one", "no-values"),
    ("Few", "", "missing-scenes"),
    ("", "", "unknown-scene"),
    ("", "", "unrecognised"),
}


def test_all_problems_are_reported_at_once(tmp_path: Path, data: Dataset, disparity: Write, text: Write) -> None:
    _bad_results(tmp_path, disparity, text)
    validation = validate_results(tmp_path, data)
    assert _kinds(validation) == EXPECTED
    assert not validation.ok
    sentences = {finding.kind: finding.sentence for finding in validation.findings}
    assert "16 times too large" in sentences["wrong-scale"]
    assert "119 × 40 pixels, the ground truth 120 × 40" in sentences["wrong-size"]
    assert "2 of 3 scenes have no map: two, three" in sentences["missing-scenes"]
    assert "Few/four.pfm; scenes are one, two, three" in sentences["unknown-scene"]
    assert "README.md" in sentences["unrecognised"]
    assert validation.findings[-1].severity == "note"


def test_a_zip_gets_the_same_findings(tmp_path: Path, data: Dataset, disparity: Write, text: Write) -> None:
    _bad_results(tmp_path / "in", disparity, text)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in (tmp_path / "in").rglob("*.*"):
            archive.write(path, path.relative_to(tmp_path / "in"))
    assert _kinds(validate_results(tmp_path / "all.zip", data)) == EXPECTED


def test_a_folder_without_results_is_told_of_templates(tmp_path: Path, data: Dataset, text: Write) -> None:
    text(tmp_path / "notes.txt", "")
    validation = validate_results(tmp_path, data)
    assert not validation.ok
    assert "path template" in validation.findings[0].sentence


@pytest.mark.parametrize("factor", [2, 3, 4, 8, 16, 64, 256, 1 / 2, 1 / 4, 1 / 16, 1 / 256])
def test_every_usual_factor_is_found_on_real_disparities(factor: float) -> None:
    truth = load_dataset("motorcycle")["motorcycle"].gt
    kind, sentence = suspicion((truth * factor).astype(np.float32), truth) or ("", "")
    assert kind == "wrong-scale"
    assert f"{max(factor, 1 / factor):.3g} times too {'large' if factor > 1 else 'small'}" in sentence


def test_a_real_map_is_suspected_only_when_damaged() -> None:
    truth = load_dataset("motorcycle")["motorcycle"].gt
    noisy = truth + np.random.default_rng(0).normal(0, 2, truth.shape).astype(np.float32)
    assert suspicion(noisy, truth) is None
    assert suspicion(np.clip(noisy, None, 40), truth) is None
    assert (suspicion(-noisy, truth) or ("",))[0] == "negated"
    half: NDArray[np.float32] = noisy.copy()
    half[::2] = np.nan
    assert suspicion(half, truth) is None
    assert (suspicion(np.full_like(truth, np.nan), truth) or ("",))[0] == "no-values"


def test_right_views_of_real_scenes_are_told_from_left_ones(data_root: Path) -> None:
    for name, folder in (("middlebury-v2", "middlebury-v2"), ("middlebury-2006", "middlebury-2006")):
        for scene in load_dataset(name, data_root / folder):
            if not scene.has("gt_right"):
                continue
            assert (suspicion(scene.gt_right, scene.gt) or ("",))[0] == "swapped-views", scene.id
            assert suspicion(scene.gt, scene.gt) is None


def test_real_submissions_have_no_false_alarm(data_root: Path) -> None:
    data = load_dataset("middlebury-v2", data_root / "middlebury-v2")
    validation = validate_results(data_root / "middlebury-v2" / "results", data)
    assert validation.maps == 41
    assert _kinds(validation) == {
        ("OpenCV-SGBM-HH4", "", "missing-scenes"),
        ("OpenCV-SGBM-HH4", "teddy", "wrong-scale"),
    }


def test_values_that_were_never_multiplied_by_256_are_found(data_root: Path) -> None:
    data = load_dataset("kitti-2012", data_root / "kitti2012")
    found = validate_results(data_root / "kitti2012" / "results" / "xiyu", data)
    scaled = [finding for finding in found.findings if finding.kind == "wrong-scale"]
    assert len(scaled) == 11
    assert all("times too small" in finding.sentence for finding in scaled)
    right = validate_results(data_root / "kitti2012" / "results" / "xiyu", data, encoding="middlebury", scale=1.0)
    assert {finding.kind for finding in right.findings} == {"missing-scenes", "unrecognised"}


def test_right_maps_handed_in_for_left_ones_are_found(data_root: Path) -> None:
    data = load_dataset("kitti-2015", data_root / "kitti2015")
    stage = data_root / "kitti2015" / "results" / "LuoNet-8bit" / "3-sgm"
    for side, expected in (("left", set()), ("right", {"swapped-views"})):
        found = validate_results(stage / side, data, scale=1.0, template="{scene}.png")
        assert {finding.kind for finding in found.findings if finding.scene} == expected


def test_maps_without_a_dataset_are_looked_at_one_by_one(tmp_path: Path, disparity: Write, picture: Write) -> None:
    disparity(tmp_path / "a.pfm", _steps())
    disparity(tmp_path / "b.pfm", np.zeros((4, 5), np.float32))
    picture(tmp_path / "c.png", 9)
    found = validate_files(tmp_path)
    assert [(finding.kind, Path(finding.file).name) for finding in found.findings] == [
        ("suspicious", "b.pfm"),
        ("unreadable", "c.png"),
    ]
    assert found.maps == 3
    assert [Path(finding.file).name for finding in validate_files(tmp_path, scale=2.0).findings] == ["b.pfm", "c.png"]
    (tmp_path / "empty").mkdir()
    assert validate_files(tmp_path / "empty").findings[0].kind == "no-results"


def test_a_single_file_gets_a_report_or_one_finding(tmp_path: Path) -> None:
    write_disparity(tmp_path / "a.pfm", _steps())
    report, findings = inspect_file(tmp_path / "a.pfm")
    assert report is not None
    assert (report.width, report.height, findings) == (WIDTH, HEIGHT, [])
    (tmp_path / "b.pfm").write_bytes(b"Pf\n5 5\n-1\n")
    report, findings = inspect_file(tmp_path / "b.pfm")
    assert report is None
    assert findings[0].kind == "unreadable"


def test_a_broken_ground_truth_is_a_finding_and_a_scene_without_one_is_checked_by_itself(tmp_path: Path) -> None:
    write_disparity(tmp_path / "a.pfm", _steps())
    broken = Scene("x", gt=tmp_path / "missing.pfm")
    assert check_map(tmp_path / "a.pfm", broken)[0].kind == "bad-ground-truth"
    without = Scene("x", left=np.zeros((4, 4), np.uint8))
    assert check_map(tmp_path / "a.pfm", without) == []
    assert check_map(-_steps(), without)[0].kind == "suspicious"
