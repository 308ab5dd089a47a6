"""Ground truth, calibration and arrays are doubted as files of estimates are: in Python and on the command line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main

RANDOM = np.random.default_rng(5)


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    return sg.load_dataset("motorcycle")["motorcycle"].gt


@pytest.fixture(scope="module")
def estimate(truth: np.ndarray) -> np.ndarray:
    return truth + np.random.default_rng(1).normal(0, 1.2, truth.shape).astype(np.float32)


def warned(*estimates: Any, **options: Any) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sg.evaluate(*estimates, metrics=["mae"], regions=["all"], **options)
    assert len(caught) <= 1
    return " ".join(str(one.message) for one in caught if one.category is sg.StereogaugeWarning)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(map(str, words)))
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def codes(value: float, share: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda values: np.where(RANDOM.random(values.shape) < share, np.float32(value), values)


def test_an_ordinary_pair_gives_no_warning(truth: np.ndarray, estimate: np.ndarray) -> None:
    assert warned((estimate, truth)) == ""


@pytest.mark.parametrize(
    ("of_estimate", "of_truth", "said"),
    [
        (lambda e: e * 16, lambda t: t, "16 times too large"),
        (lambda e: e * 1000, lambda t: t, "set scale to 1000"),
        (lambda e: -e, lambda t: t, "The sign is reversed"),
        (lambda e: e, codes(0, 0.75), "Ground truth: The value 0 fills 7.*set gt-unknown to 0"),
        (lambda e: e, codes(-1, 0.25), "set gt-unknown to -1"),
        (lambda e: e, codes(999, 0.25), "set gt-unknown to 999"),
        (lambda e: e, lambda t: codes(-1, 0.2)(codes(0, 0.2)(t)), "set gt-unknown to -1,0"),
        (lambda e: e, codes(255, 0.2), "set gt-unknown to 255"),
        (codes(10_000, 0.004), lambda t: t, "set unknown to 10000"),
        (lambda e: 192_000 / (e + 31), lambda t: 192_000 / (t + 31), "Ground truth: Half of the disparities"),
        (lambda e: e * 16, lambda t: t * 16, "Ground truth: .* as large as the image is wide"),
        (lambda e: e / 70, lambda t: t / 70, "Ground truth: No disparity is larger than 0.8"),
        (lambda e: np.nan_to_num(e * 16).astype(np.int64) % 256 / 16, lambda t: t, ""),
    ],
)
def test_arrays_are_doubted_as_files_are(
    of_estimate: Callable[[Any], Any], of_truth: Callable[[Any], Any], said: str, truth: Any, estimate: Any
) -> None:
    found = warned((of_estimate(estimate), of_truth(truth)))
    assert re.search(said, found)
    assert "offset to" not in found


def test_the_warning_can_be_made_an_error(truth: np.ndarray, estimate: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", sg.StereogaugeWarning)
        with pytest.raises(sg.StereogaugeWarning, match="16 times too large"):
            sg.evaluate((estimate * 16, truth), metrics=["mae"], regions=["all"])


def test_masked_confidences_are_the_least_sure_pixels(truth: np.ndarray, estimate: np.ndarray) -> None:
    order = np.abs(np.nan_to_num(estimate - truth))
    hidden = order < np.median(order)
    unknown, masked = np.where(hidden, np.nan, order), np.ma.masked_array(order, hidden)
    of_nan, of_masked = (sg.filter(estimate, one, density=0.4) for one in (unknown, masked))
    np.testing.assert_array_equal(of_masked, of_nan)
    assert not np.isfinite(of_masked[hidden]).any()
    assert sg.sparsify(masked, estimate, truth).auc == sg.sparsify(unknown, estimate, truth).auc


def test_maps_are_anything_that_numpy_reads_as_an_array(truth: np.ndarray, estimate: np.ndarray) -> None:
    class Wrapped:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            return estimate

    expected = sg.evaluate((estimate, truth), metrics=["mae"], regions=["all"]).value("mae")
    rows = [[float(value) for value in row] for row in estimate]
    for given in (rows, Wrapped(), memoryview(np.ascontiguousarray(estimate))):
        assert sg.evaluate((given, truth), metrics=["mae"], regions=["all"]).value("mae") == expected
    with pytest.raises(sg.StereogaugeError, match="Estimates alone have no truth"):
        sg.evaluate(([[1.0, 2.0], [3.0]], truth))


def test_masked_pixels_are_unknown(truth: np.ndarray, estimate: np.ndarray) -> None:
    hidden = np.random.default_rng(2).random(truth.shape) < 0.5
    plain = np.where(hidden, np.float32(np.nan), truth)
    masked = np.ma.masked_array(np.where(hidden, 999, truth), hidden | np.isnan(truth))
    wanted = sg.evaluate((estimate, plain), metrics=["mae", "bad@1"], regions=["all"])
    found = sg.evaluate((estimate, masked), metrics=["mae", "bad@1"], regions=["all"])
    assert [score.value for score in found] == [score.value for score in wanted]
    assert [score.count for score in found] == [score.count for score in wanted]
    holes = sg.evaluate((np.ma.masked_array(estimate, hidden), truth), metrics=["invalid"], regions=["all"])
    assert holes.value("invalid") > 45


def test_values_that_8_bits_could_not_hold_are_noticed(
    truth: np.ndarray, estimate: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sg.write_disparity(tmp_path / "gt.pfm", truth)
    stored = np.nan_to_num(np.rint(estimate * 6)).astype(np.int64)
    cv2.imwrite(str(tmp_path / "wrapped.png"), (stored % 256).astype(np.uint8))
    cv2.imwrite(str(tmp_path / "cut.png"), np.clip(stored, 0, 255).astype(np.uint8))
    maps = [tmp_path / "gt.pfm", tmp_path / "wrapped.png", tmp_path / "cut.png"]
    code, _, err = run(capsys, "compare", *maps, "--scale", 6, "-m", "mae", "-r", "all")
    assert code == 0
    assert "wrapped: " in err
    assert "overflowed 8 bits" in err
    assert "values were cut off" in err
    assert "set " not in err


def test_maps_of_swapped_images_get_no_advice_that_does_not_help(truth: np.ndarray) -> None:
    scene = sg.load_dataset("motorcycle")["motorcycle"]
    swapped = sg.match(scene.right, scene.left, matcher="opencv-sgbm", ndisp=64).disparity
    found = warned((np.nan_to_num(swapped), truth))
    assert "were the input images swapped" in found
    assert "unknown to" not in found


def test_options_for_maps_mean_the_estimates(
    truth: np.ndarray, estimate: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("gt", "est/mine"):
        (tmp_path / folder).mkdir(parents=True)
    sg.write_disparity(tmp_path / "gt" / "a.png", truth, encoding="kitti")
    raw = np.nan_to_num(np.rint(estimate * 16), nan=-16).astype(np.int16)
    np.save(tmp_path / "est" / "mine" / "a.npy", raw)
    exact = sg.evaluate((np.where(raw == -16, np.nan, raw / 16), sg.read_disparity(tmp_path / "gt" / "a.png")))
    options = ["--scale", 16, "--unknown", -16, "-m", "mae", "-r", "all"]
    for truths, maps in (
        (tmp_path / "gt" / "a.png", tmp_path / "est" / "mine" / "a.npy"),
        (tmp_path / "gt", tmp_path / "est"),
    ):
        code, out, err = run(capsys, "compare", truths, maps, *options, "-f", "csv")
        assert code == 0
        assert f"{exact.value('mae', 'all')}" in out
        assert "ground truth as kitti (v / 256; 0 = unknown)" in err
        assert "estimates as npy (v / 16; NaN and ±inf = unknown; -16 = unknown)" in err
        assert "note:" not in err


def test_how_maps_were_read_is_not_said_of_maps_that_cannot_be_read(
    truth: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("gt", "est/mine"):
        (tmp_path / folder).mkdir(parents=True)
    sg.write_disparity(tmp_path / "gt" / "a.png", truth, encoding="kitti")
    (tmp_path / "est" / "mine" / "a.png").write_bytes(b"no picture")
    store = tmp_path / "scores.sqlite"
    _, _, err = run(capsys, "evaluate", tmp_path / "gt", tmp_path / "est", "--store", store, "-m", "mae", "-r", "all")
    (read,) = [line for line in err.splitlines() if line.startswith("read: ")]
    assert read == "read: ground truth as kitti (v / 256; 0 = unknown)"


def test_a_scale_is_not_meant_for_a_format_that_fixes_its_encoding(
    truth: np.ndarray, estimate: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, write in (("exact", "a.pfm"), ("raw", "a.png")):
        (tmp_path / "est" / name).mkdir(parents=True)
        settings = {} if write == "a.pfm" else {"encoding": "middlebury", "scale": 3}
        sg.write_disparity(tmp_path / "est" / name / write, np.maximum(estimate, 1), **settings)
    (tmp_path / "gt").mkdir()
    sg.write_disparity(tmp_path / "gt" / "a.pfm", truth)
    maps = [tmp_path / "est" / "exact" / "a.pfm", tmp_path / "est" / "raw" / "a.png"]
    for words in ([tmp_path / "gt" / "a.pfm", *maps], [tmp_path / "gt", tmp_path / "est"]):
        code, _, err = run(capsys, "compare", *words, "--scale", 3, "-m", "mae", "-r", "all")
        assert code == 0
        assert "note:" not in err
        assert "pfm (value; ±inf and NaN = unknown)" in err
        assert "middlebury (v / 3; 0 = unknown)" in err


def test_a_scale_means_the_folder_that_needs_it(
    truth: np.ndarray, estimate: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("gt", "raw", "exact"):
        (tmp_path / folder).mkdir()
    sg.write_disparity(tmp_path / "gt" / "a.pfm", truth)
    sg.write_disparity(tmp_path / "exact" / "a.pfm", estimate)
    np.save(tmp_path / "raw" / "a.npy", estimate * 16)
    folders = [tmp_path / name for name in ("gt", "raw", "exact")]
    for command in (["compare"], ["evaluate", "--store", tmp_path / "s.sqlite", "--jobs", 1]):
        code, _, err = run(capsys, *command, *folders, "--scale", 16, "-m", "mae", "-r", "all")
        assert code == 0
        assert "note:" not in err
        assert "npy (v / 16; NaN and ±inf = unknown) for raw, pfm (value; ±inf and NaN = unknown) for exact" in err


def test_values_are_named_as_the_file_stores_them(
    truth: np.ndarray, estimate: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "gt.npy", np.where(RANDOM.random(truth.shape) < 0.3, -16, np.nan_to_num(truth, nan=9) * 16))
    sg.write_disparity(tmp_path / "mine.pfm", estimate)
    words = ["compare", tmp_path / "gt.npy", tmp_path / "mine.pfm", "--gt-scale", 16, "-m", "mae", "-r", "all"]
    assert "The value -1 fills" in (said := run(capsys, *words)[2])
    assert "set gt-unknown to -16" in said
    assert "note:" not in run(capsys, *words, "--gt-unknown", -16)[2]


def test_unknown_values_of_the_truth_can_be_stated(
    truth: np.ndarray, estimate: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "gt.npy", np.where(RANDOM.random(truth.shape) < 0.75, 0, np.nan_to_num(truth)))
    sg.write_disparity(tmp_path / "mine.pfm", estimate)
    words = ["compare", tmp_path / "gt.npy", tmp_path / "mine.pfm", "-m", "mae", "-r", "all"]
    assert "set gt-unknown to 0" in run(capsys, *words)[2]
    code, out, err = run(capsys, *words, "--gt-unknown", 0)
    assert code == 0
    assert "0.95" in out
    assert "note:" not in err
    code, out, _ = run(capsys, "validate", tmp_path / "gt.npy")
    assert code == 1
    assert "The value 0 fills" in out


def test_a_file_called_depth_is_noticed(truth: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("scene_depth.npy", "mine.npy"):
        np.save(tmp_path / name, truth)
    err = run(capsys, "compare", tmp_path / "scene_depth.npy", tmp_path / "mine.npy", "-m", "mae", "-r", "all")[2]
    assert "is called depth and was read as disparities" in err


def calib(
    width: int = 741, height: int = 500, doffs: float = 31.0, focal: float = 995.0, cx: float = 311, gap: float = 31
) -> str:
    lines = [f"cam0=[{focal} 0 {cx}; 0 {focal} 254; 0 0 1]", f"cam1=[{focal} 0 {cx + gap}; 0 {focal} 254; 0 0 1]"]
    return "\n".join(
        [*lines, f"doffs={doffs}", "baseline=193.001", f"width={width}", f"height={height}", "ndisp=70", ""]
    )


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (calib(), 0, ""),
        (calib(2964, 1988), 2, "for images of 2964 × 1988 pixels, and the map has 741 × 500"),
        (calib(doffs=-31.0), 2, "doffs is cx of cam1 − cx of cam0"),
        (calib(focal=0.004), 0, "A focal length of 0.004 px"),
        (calib(cx=1244), 0, "principal point (1244, 254) lies outside of the images of 741 × 500 pixels"),
        (calib(doffs=186, gap=186), 0, "doffs of 186 px is 3.1 times the largest disparity"),
    ],
)
def test_a_calibration_must_fit_the_maps(
    text: str, code: int, said: str, truth: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("gt.pfm", "mine.pfm"):
        sg.write_disparity(tmp_path / name, truth)
    (tmp_path / "calib.txt").write_text(text)
    words = ["compare", tmp_path / "gt.pfm", tmp_path / "mine.pfm", "--calib", tmp_path / "calib.txt", "-m", "z-mae"]
    found = run(capsys, *words, "-r", "all")
    assert found[0] == code
    assert said in found[2]
    assert ("note:" in found[2]) == (code == 0 and said != "")


def test_a_reversed_doffs_is_noticed_without_a_file(truth: np.ndarray, estimate: np.ndarray) -> None:
    camera = sg.Calibration(focal=995, baseline=0.193, doffs=-31)
    assert "is its sign reversed? Set doffs to 31" in warned(estimate, sg.Scene("x", gt=truth, calibration=camera))


def test_resized_maps_and_idle_options_are_noticed(
    truth: np.ndarray, estimate: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sg.write_disparity(tmp_path / "gt.pfm", truth)
    sg.write_disparity(tmp_path / "half.pfm", estimate[::2, ::2])
    words = ["compare", tmp_path / "gt.pfm", tmp_path / "half.pfm", "--resize", "-m", "mae", "-r", "all"]
    assert "2 times too large" in run(capsys, *words)[2]
    assert "times too large" not in run(capsys, *words, "--scale", 2)[2]
    err = run(capsys, *words, "--scale", 2, "--border", 100)[2]
    assert "--border 100 has no effect under the protocol default; add --set border=100" in err
    assert "no effect" not in run(capsys, *words, "--scale", 2, "--set", "border=100")[2]


def test_a_pfm_of_the_wrong_byte_order_is_refused(truth: np.ndarray, tmp_path: Path) -> None:
    sg.write_disparity(tmp_path / "a.pfm", truth)
    content = (tmp_path / "a.pfm").read_bytes()
    (tmp_path / "a.pfm").write_bytes(content.replace(b"\n-1\n", b"\n1\n", 1))
    with pytest.raises(sg.StereogaugeError, match="make sense only in the other byte order"):
        sg.read_disparity(tmp_path / "a.pfm")
