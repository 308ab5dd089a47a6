"""`stereogauge convert`, as a user calls it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.datasets.validation import inspect_file
from stereogauge.io import ENCODINGS

VALUES = np.array([[1.5, np.nan, 20.25], [3, 4, 5]], np.float32)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["convert", *(str(word) for word in words)])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


@pytest.fixture
def source(tmp_path: Path) -> Path:
    sg.write_disparity(tmp_path / "map.pfm", VALUES)
    return tmp_path / "map.pfm"


def test_one_file_to_another_says_what_was_done(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    target = source.with_name("map.png")
    code, out, err = run(capsys, source, target, "--to", "kitti")
    assert (code, err) == (0, "")
    assert out == f"{source} → {target}: 3 × 2, 83.3% known, 1.5 to 20.25 px\n"
    assert np.array_equal(sg.read_disparity(target), VALUES, equal_nan=True)


def test_an_eight_bit_png_with_scale_and_offset(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    png, npy = source.with_name("map.png"), source.with_name("map.npy")
    assert run(capsys, source, png, "--to", "middlebury", "--to-scale", 4)[0] == 0
    assert run(capsys, png, npy, "--encoding", "middlebury", "--scale", 4, "--offset", 1)[0] == 0
    assert np.array_equal(sg.read_disparity(npy), VALUES + 1, equal_nan=True)


def test_a_file_is_replaced_only_by_force(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    target = source.with_name("map.npy")
    target.write_bytes(b"precious")
    code, out, err = run(capsys, source, target)
    assert (code, out) == (2, "")
    assert err == f"stereogauge: {target}: exists already; give --force to replace it.\n"
    assert target.read_bytes() == b"precious"
    assert run(capsys, source, target, "--force")[0] == 0
    assert np.array_equal(sg.read_disparity(target), VALUES, equal_nan=True)


def test_many_files_into_a_new_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sources = [tmp_path / f"{number}.npy" for number in range(3)]
    for number, path in enumerate(sources):
        sg.write_disparity(path, VALUES + number)
    code, out, _ = run(capsys, *sources, tmp_path / "new" / "folder", "--to", "tiff")
    assert code == 0
    assert len(out.splitlines()) == 3
    for number in range(3):
        read = sg.read_disparity(tmp_path / "new" / "folder" / f"{number}.tif")
        assert np.array_equal(read, VALUES + number, equal_nan=True)


def test_a_bad_file_among_many_does_not_stop_the_others(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    bad, good = source.with_name("bad.pfm"), source.with_name("good.pfm")
    bad.write_bytes(b"Pf\n")
    sg.write_disparity(good, VALUES)
    code, out, err = run(capsys, source, bad, good, source.with_name("out"), "--to", "npy")
    assert code == 2
    assert len(out.splitlines()) == 2
    assert err.splitlines()[0].startswith(f"stereogauge: {bad}: the PFM header is broken")
    assert err.splitlines()[1] == "1 of 3 maps were not converted."
    assert sorted(path.name for path in source.with_name("out").iterdir()) == ["good.npy", "map.npy"]


def test_sintel_masks_are_applied(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import cv2

    cv2.imwrite(str(tmp_path / "a.png"), np.array([[[0, 0, 1], [0, 0, 2]]], np.uint8))
    cv2.imwrite(str(tmp_path / "occluded.png"), np.array([[0, 255]], np.uint8))
    words = (tmp_path / "a.png", tmp_path / "a.pfm", "--encoding", "sintel", "--mask", tmp_path / "occluded.png")
    assert run(capsys, *words)[0] == 0
    assert np.array_equal(sg.read_disparity(tmp_path / "a.pfm"), [[4, np.nan]], equal_nan=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["map.pfm"], "Give at least one map to read and, last, the file or folder to write."),
        (["map.pfm", "map.png"], "a PNG can hold several encodings; give --to kitti, or --to middlebury"),
        (["map.pfm", "map.png", "--to", "middlebury"], "give --to-scale, for example 4"),
        (["map.pfm", "map.png", "--to", "kiti"], "Unknown encoding 'kiti'"),
        (["map.pfm", "map.pfm", "folder"], "a folder does not say the encoding; give --to"),
        (["map.pfm", "map.pfm", "folder", "--to", "npy"], "several inputs would be written to this file"),
        (["none.pfm", "a.npy"], "none.pfm: there is no such file."),
    ],
)
def test_each_mistake_gets_its_sentence(
    capsys: pytest.CaptureFixture[str], source: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(source.parent)
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_the_help_lists_every_encoding(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")
    assert code == 0
    words = "".join(out.split())
    assert all(f"{encoding}:" in words for encoding in ENCODINGS)


def test_single_files_are_validated_one_by_one(source: Path) -> None:
    sg.write_disparity(source, VALUES / 16)
    empty = source.with_name("empty.npy")
    np.save(empty, np.full((2, 2), np.nan, np.float32))
    seen, findings = inspect_file(source)
    assert seen is not None
    assert findings == []
    assert (seen.name, seen.encoding, seen.width, seen.height) == (str(source), "pfm", 3, 2)
    assert (round(seen.valid_share, 3), seen.minimum, seen.percentiles[50]) == (0.833, 0.09375, 0.25)
    assert seen.maximum == pytest.approx(1.26562, abs=1e-5)
    assert [finding.sentence for finding in inspect_file(empty)[1]] == ["No pixel has a disparity."]
    absent, findings = inspect_file(source.with_name("none.pfm"))
    assert absent is None
    assert [finding.sentence for finding in findings] == [f"{source.with_name('none.pfm')}: there is no such file."]
