"""`stereogauge datasets` as a user calls it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from stereogauge.cli import main
from stereogauge.datasets import Archive, families


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    output = capsys.readouterr()
    return int(stop.value.code or 0), output.out, output.err


def test_the_list_names_every_dataset_and_how_to_get_it(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _run(capsys, "datasets")
    assert (code, err) == (0, "")
    for name, family in families().items():
        assert name in out
        assert family.obtain in out
    code, out, _ = _run(capsys, "datasets", "--format", "json")
    assert [row["id"] for row in json.loads(out)] == sorted(families())


def test_show_prints_layout_terms_and_citation(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, "datasets", "show", "kitti-2015")
    assert code == 0
    for word in ("disp_occ_0/", "BY-NC-SA", "Menze", "truth: occ"):
        assert word in out
    code, out, _ = _run(capsys, "datasets", "show", "kitti-2015", "--format", "json")
    assert json.loads(out)["id"] == "kitti-2015"


def test_a_wrong_name_ends_with_one_line_and_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _run(capsys, "datasets", "show", "kiti-2015")
    assert (code, out) == (2, "")
    assert "Did you mean 'kitti-2015'" in err
    assert err.count("\n") == 1


def test_what_may_not_be_fetched_is_told_how_to_get(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = _run(capsys, "datasets", "fetch", "eth3d", "--out", str(tmp_path))
    assert code == 2
    assert "two_view_training.7z" in err


def test_fetch_says_what_it_did_with_the_folder_alone_on_standard_output(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stereogauge.datasets import download

    def no_network(url: str, path: Path, **options: object) -> download.Fetched:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"P5")
        progress = options["progress"]
        assert callable(progress)
        progress(2, 2)
        return download.Fetched(url, 2, hashlib.sha256(b"P5").hexdigest(), False)

    monkeypatch.setattr("stereogauge.datasets.download.download", no_network)
    family = families()["middlebury-2001"]
    one = {"": (Archive("https://example.org/im2.ppm", target="bull/im2.ppm", unpack=False),)}
    monkeypatch.setattr("stereogauge.datasets.download.family_of", lambda name: (replace(family, archives=one), ""))
    code, out, err = _run(capsys, "datasets", "fetch", "middlebury-2001", "--out", str(tmp_path))
    assert (code, out) == (0, f"{tmp_path}\n")
    assert "no hash is published" in err
    assert "downloading im2.ppm (2 bytes)" in err
    assert "Please cite" in err
    assert (tmp_path / "bull" / "im2.ppm").exists()
