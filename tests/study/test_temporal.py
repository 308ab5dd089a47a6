"""Temporal consistency: maps are compared along the motion, and what moves away is no change."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.errors import FileError, SizeError
from stereogauge.study.robustness import along_flow, estimated_flow, read_flow, robustness_table

SHAPE = (60, 90)


def moved(values: np.ndarray, by: int) -> np.ndarray:
    """Everything shifts to the right; new columns appear on the left."""
    shifted = np.roll(values, by, axis=1)
    shifted[:, :by] = values[:, :1]
    return shifted


@pytest.fixture
def frames() -> tuple[np.ndarray, np.ndarray]:
    image = cv2.GaussianBlur(np.random.default_rng(0).integers(0, 255, SHAPE, np.uint8), (0, 0), 1.5)
    return image, moved(image, 4)


def test_the_flow_of_a_shifted_image_is_found(frames: tuple[np.ndarray, np.ndarray]) -> None:
    flow = estimated_flow(*frames)
    inside = flow[10:-10, 15:-15]
    assert np.nanmedian(inside[..., 0]) == pytest.approx(4, abs=0.2)
    assert np.nanmedian(np.abs(inside[..., 1])) < 0.2


def test_a_map_that_moves_with_the_scene_is_consistent() -> None:
    first = np.tile(np.linspace(5, 40, SHAPE[1], dtype=np.float32), (SHAPE[0], 1))
    flow = np.zeros((*SHAPE, 2), np.float32)
    flow[..., 0] = 4
    maps = {
        "steady": {"0": first, "1": moved(first, 4)},
        "stuck": {"0": first, "1": first},
    }
    results = [sg.ResultSet(name, frames) for name, frames in maps.items()]
    pairs = {"step 1": ("0", "1")}
    table = robustness_table(results, pairs, flows=lambda first, second: flow).set_index("algorithm")
    assert table.loc["steady", "changed"] == 0
    assert table.loc["stuck", "changed"] == 100
    assert table["lost"].tolist() == [0, 0], "what leaves the image is not lost"
    still = robustness_table(results, pairs).set_index("algorithm")
    assert still.loc["stuck", "changed"] == 0


def test_the_true_change_is_subtracted() -> None:
    """Everything comes nearer by 3 px of disparity: an exact map changes by nothing beyond that."""
    truth = {"0": np.full(SHAPE, 10, np.float32), "1": np.full(SHAPE, 13, np.float32)}
    flow = np.zeros((*SHAPE, 2), np.float32)
    results = [sg.ResultSet("exact", truth)]
    options = {"flows": lambda first, second: flow, "truths": truth.__getitem__}
    assert robustness_table(results, {"step": ("0", "1")}, **options)["mean"].tolist() == [0]
    assert robustness_table(results, {"step": ("0", "1")}, flows=options["flows"])["mean"].tolist() == [3]


def test_flow_files(tmp_path: Path) -> None:
    flow = np.zeros((2, 3, 2), np.float32)
    flow[..., 0], flow[..., 1] = 1.5, -2
    np.save(tmp_path / "flow.npy", flow)
    header = np.array([202021.25], "<f4").tobytes() + np.array([3, 2], "<i4").tobytes()
    (tmp_path / "flow.flo").write_bytes(header + flow.tobytes())
    stored = np.ones((2, 3, 3), np.uint16)
    stored[..., 2], stored[..., 1] = 32768 + 96, 32768 - 128  # OpenCV writes blue, green, red
    stored[0, 0, 0] = 0
    cv2.imwrite(str(tmp_path / "flow.png"), stored)
    for suffix in ("npy", "flo", "png"):
        found = read_flow(tmp_path / f"flow.{suffix}")
        assert found[1, 2].tolist() == [1.5, -2]
    assert np.isnan(found[0, 0]).all()
    (tmp_path / "bad.flo").write_bytes(b"nothing of the kind")
    with pytest.raises(FileError, match=r"bad.flo: cannot be read as optical flow \(not a .flo file"):
        read_flow(tmp_path / "bad.flo")
    with pytest.raises(SizeError, match="both must have one size"):
        along_flow(np.zeros((4, 4), np.float32), flow)


def test_the_command_follows_the_motion(
    tmp_path: Path, frames: tuple[np.ndarray, np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    first = np.tile(np.linspace(5, 40, SHAPE[1], dtype=np.float32), (SHAPE[0], 1))
    for number, (image, disparity) in enumerate(zip(frames, (first, moved(first, 4)), strict=True)):
        folder = tmp_path / "data" / f"frame{number}"
        folder.mkdir(parents=True)
        for name in ("im0", "im1"):
            cv2.imwrite(str(folder / f"{name}.png"), image)
        (tmp_path / "results" / "net").mkdir(parents=True, exist_ok=True)
        sg.write_disparity(tmp_path / "results" / "net" / f"frame{number}.pfm", disparity)
    manifest = 'name = "clip"\n[paths]\nleft = "{scene}/im0.png"\nright = "{scene}/im1.png"\n'
    (tmp_path / "data" / "stereogauge.toml").write_text(manifest)
    words = ["robustness", f"folder:{tmp_path / 'data'}", str(tmp_path / "results"), "--sequence", "frame0,frame1"]
    changed = {}
    for name, more in (("still", []), ("moving", ["--flow", "estimated"])):
        with pytest.raises(SystemExit) as ended:
            main([*words, *more, "--threshold", "0.5", "--format", "json"])
        printed = capsys.readouterr()
        assert ended.value.code == 0, printed.err
        changed[name] = json.loads(printed.out)[0]["changed"]
    assert changed["still"] > 90
    assert changed["moving"] < 10
