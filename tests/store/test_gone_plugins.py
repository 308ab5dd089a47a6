"""A store that holds scores of a metric whose plug-in is not loaded stays readable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge import load_protocol
from stereogauge.cli import main
from stereogauge.registry import PluginWarning
from stereogauge.scores.column import Column, VersionedColumn
from stereogauge.scores.score import CellScores
from stereogauge.web.source import StoreSource

PROTOCOL = load_protocol("default").replace(metrics=("bad@1", "gone"), regions=("all",))
COLUMNS = (VersionedColumn("bad@1", 1, "all", 1), VersionedColumn("gone", 1, "all", 1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Scores of bad@1 and of `gone`, which nothing here declares, under a protocol that asks for both."""
    cells = [
        CellScores(
            *("made", scene, algorithm, PROTOCOL.scoring_hash, COLUMNS),
            values=np.array([value, 7.0]),
            sums=np.array([value, 7.0]),
            counts=np.array([100, 1]),
            missing=np.array([0, 0]),
        )
        for scene in ("one", "two")
        for algorithm, value in (("near", 12.5), ("far", 50.0))
    ]
    with sg.open_store(tmp_path / "scores.sqlite") as store:
        store.write(cells, protocol=PROTOCOL)
    return tmp_path / "scores.sqlite"


def test_the_other_scores_are_read_with_one_warning(path: Path) -> None:
    with sg.open_store(path) as store:
        with pytest.warns(PluginWarning, match=r"scores of gone are left out: .* --plugin FILE"):
            cube = store.cube()
        assert cube.columns == (Column("bad@1", "all"),)
        assert cube.values[:, :, 0].tolist() == [[12.5, 12.5], [50.0, 50.0]]
        assert store.protocol(cube.protocol, cube.columns) == PROTOCOL
        exported = [cell.columns for cell in store.cells()]
        assert all(COLUMNS[1] in columns for columns in exported), "nothing is lost"


@pytest.mark.filterwarnings("default::stereogauge.registry.PluginWarning")
@pytest.mark.parametrize("words", [["table"], ["rank"], ["answer"], ["gate", "--baseline", "{}", "--max", "bad@1=+1"]])
def test_commands_say_so_and_go_on(path: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([words[0], str(path), *(word.format(path) for word in words[1:])])
    printed = capsys.readouterr()
    assert not ended.value.code
    assert "scores of gone are left out" in printed.err
    assert "Unknown metric" not in printed.out + printed.err


def test_the_site_shows_the_others(path: Path) -> None:
    with sg.open_store(path, read_only=True) as store:
        source = StoreSource(store)
        with pytest.warns(PluginWarning, match="scores of gone are left out"):
            records = source.protocols()
        assert source.cube(records[0].key).metrics == ("bad@1",)
