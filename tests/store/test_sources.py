"""Sources as text: the same text for the same file however it is written, and short cuts that change nothing."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from stereogauge.io import DisparityFile, ImageFile, MaskFile
from stereogauge.store.rows import further_name, names_sum
from stereogauge.store.sources import paths_of, source_of_text, source_text, source_values

PATHS = ["/a/b.pfm", "/a/./b.pfm", "/a/../c/b.pfm", "/b.pfm", "//b.pfm", "///b.pfm", "////b.pfm", "//a/b.pfm"]
PATHS += ["/a//b.pfm", "/a/b/", "/a/..", "/a/.", "/", "b.pfm", "a/b.pfm", "./b.pfm", "", '/a "quoted"/é.pfm']


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_written_in_its_usual_form(path: str) -> None:
    for given in (path, Path(path)):
        assert source_values(DisparityFile(given)) == {"kind": "disparity", "path": os.path.abspath(given)}
        assert json.loads(source_text(ImageFile(given))) == {"kind": "image", "path": os.path.abspath(given)}


def test_a_relative_path_is_that_of_the_present_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        assert source_values("maps/a.pfm") == str(tmp_path / name / "maps" / "a.pfm")


def test_what_is_said_of_a_file_is_kept() -> None:
    said = DisparityFile("/a.pfm", scale=0.5, masks=("/m.png",))
    assert source_of_text(source_text(said)) == said
    assert paths_of(said) == ("/a.pfm", "/m.png")
    assert source_values(MaskFile("/m.png")) == {"kind": "mask", "path": "/m.png"}
    assert paths_of(MaskFile("/m.png", 3)) == ("/m.png",)
    assert paths_of(None) == ()
    assert paths_of(SimpleNamespace(path="/p.xyz", image="/i.png")) == ("/p.xyz", "/i.png"), "a plug-in's own kind"


def test_check_sums_of_names_can_be_continued() -> None:
    assert zlib.crc32(further_name("é\ud800"), names_sum("p", "d", "s")) == names_sum("p", "d", "s", "é\ud800")
