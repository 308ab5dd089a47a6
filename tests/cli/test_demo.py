"""`stereogauge demo`, from nothing to table, pictures and a store."""

from __future__ import annotations

from pathlib import Path

import pytest

import stereogauge as sg
from stereogauge.cli import main


def test_the_demonstration_leaves_maps_pictures_and_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "demo"
    with pytest.raises(SystemExit) as stopped:
        main(["demo", "--out", str(out)])
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    for name in ("census SGM", "OpenCV SGBM", "OpenCV BM", "d-fat", "bad@1"):
        assert name in printed
    assert (
        printed.rstrip()
        .splitlines()[-1]
        .startswith("For driver assistance, census SGM has the best score on motorcycle")
    )
    page = (out / "report" / "report.html").read_text(encoding="utf-8")
    assert page.index('id="answer"') < page.index('id="scores"')
    assert "One scene does not show whether it would lead on others" in page
    pictures = {path.name for path in (out / "pictures").iterdir()}
    assert {"ground-truth.png", "census-SGM.png", "OpenCV-SGBM-d-fat.png", "OpenCV-BM-bad@2.png"} <= pictures
    with sg.open_store(out / "demo.sqlite", read_only=True) as store:
        table = store.scores()
    # The undamaged parts of the truth are exact, real matchers are not, and block matching is the worst of them.
    bad = {name: table.value("bad@2", "nonocc", algorithm=name) for name in table.algorithms}
    assert bad["census SGM"] < bad["OpenCV BM"]
    assert table.value("rms", "nonocc", algorithm="truth with holes") == 0
    assert table.value("invalid", "nonocc", algorithm="truth with holes") > 5
