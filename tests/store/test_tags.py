"""Tags of algorithms and scenes: given in files, kept in the store, read by selectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sql

import stereogauge as sg
from stereogauge import StereogaugeError, open_store
from stereogauge.datasets.results.find import find_results
from stereogauge.store import schema
from stereogauge.store.engine import Database
from stereogauge.store.migrations import prepare

TRUTH = np.tile(np.arange(40, dtype=np.float32), (40, 1))


def scores() -> sg.ScoreTable:
    scenes = [
        sg.Scene("street", gt=TRUTH, dataset="mine", tags={"weather": ["rain", "wind"]}),
        sg.Scene("garden", gt=TRUTH, dataset="mine", tags={"weather": "sun"}),
    ]
    results = [
        sg.ResultSet(
            name, {"street": TRUTH + error, "garden": TRUTH + 2 * error}, tags={} if how is None else {"technique": how}
        )
        for name, error, how in (("SGM", 1.5, "global"), ("GA-Net", 0.5, "learned"), ("BM", 3.0, None))
    ]
    return sg.evaluate(results, scenes, ["mae"], ["all"])


def test_selectors_name_what_carries_a_tag() -> None:
    table = scores()
    assert table.select(algorithm="tag:technique=learned").algorithms == ("GA-Net",)
    assert table.select(scene="tag:weather=wind").scenes == ("street",)
    ranking = sg.rank(table, "middlebury", algorithms=["tag:technique=global", "BM"], scenes=["tag:weather=sun"])
    assert ranking.algorithms == ("SGM", "BM")
    assert ranking.selection.scenes == ("garden",)


@pytest.mark.parametrize(
    ("selector", "sentence"),
    [
        ("tag:technique=magic", "Unknown value of the tag technique 'magic'; known are: global, learned."),
        ("tag:tecnique=learned", "Unknown tag of the algorithms 'tecnique'; known are: technique. Did you mean"),
        ("tag:technique", "a selector by tag is written tag:NAME=VALUE; names are technique."),
    ],
)
def test_an_unknown_tag_gets_a_sentence_with_those_that_exist(selector: str, sentence: str) -> None:
    with pytest.raises(StereogaugeError) as problem:
        sg.rank(scores(), algorithms=[selector])
    assert sentence in str(problem.value)
    bare = sg.evaluate({"A": TRUTH}, sg.Scene("x", gt=TRUTH), ["mae"], ["all"])
    with pytest.raises(StereogaugeError, match="no algorithm here has tags"):
        sg.rank(bare, algorithms=[selector])


def test_a_store_keeps_tags_through_export_import_and_merge(location: str, tmp_path: Path) -> None:
    with open_store(location) as store:
        store.write(scores())
        assert store.cube(algorithms=["tag:technique=global"], scenes=["tag:weather=rain"]).algorithms == ("SGM",)
        assert store.scores().select(scene="tag:weather=sun").scenes == ("garden",)
        assert {entry.name: dict(entry.tags) for entry in store.algorithms()}["GA-Net"] == {"technique": ("learned",)}
        store.describe_algorithm("BM", tags={"technique": "local", "code": ["C++", "CUDA"]})
        before = store.tags()
        for suffix in ("csv", "parquet"):
            getattr(store, f"export_{suffix}")(tmp_path / f"scores.{suffix}")
            with open_store(tmp_path / f"{suffix}.sqlite") as other:
                getattr(other, f"import_{suffix}")(tmp_path / f"scores.{suffix}")
                assert other.tags() == before
        with open_store(tmp_path / "merged.sqlite") as other:
            other.merge(store)
            assert other.tags() == before


def test_an_older_store_is_upgraded_and_keeps_its_scores(location: str) -> None:
    with open_store(location) as store:
        store.write(scores())
    database = Database(location, read_only=False, timeout=5.0)
    with database.writing() as connection:
        for table, column in (
            ("algorithms", "tags"), ("scenes", "tags"), ("maps", "confidence"), ("scores", "crc")
        ):  # fmt: skip
            connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.execute(sql.update(schema.schema_version).values(version=1))
    with pytest.raises(StereogaugeError, match=r"older schema version 1 .* run `stereogauge store upgrade .*` once"):
        open_store(location, read_only=True)
    prepare(database)
    database.close()
    with open_store(location, read_only=True) as store:
        assert store.cube().algorithms == ("SGM", "GA-Net", "BM")
        assert not store.tags()


def test_files_give_tags(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    manifest = tmp_path / "data" / "stereogauge.toml"
    for scene in ("first", "second"):
        sg.write_disparity(tmp_path / "data" / f"{scene}.pfm", TRUTH)
        for algorithm in ("A", "B"):
            (tmp_path / "results" / algorithm).mkdir(parents=True, exist_ok=True)
            sg.write_disparity(tmp_path / "results" / algorithm / f"{scene}.pfm", TRUTH)
    manifest.write_text(
        'name = "mine"\n[paths]\nground_truth = "{scene}.pfm"\n[tags]\ncamera = "rig 2"\nweather = { first = "rain" }\n'
    )
    data = sg.load_dataset("folder", tmp_path / "data")
    assert data["first"].tags == {"camera": ("rig 2",), "weather": ("rain",)}
    assert data["second"].tags == {"camera": ("rig 2",)}
    (tmp_path / "results" / "results.toml").write_text(
        '[tags]\nteam = "ours"\n[algorithms.A.tags]\ntechnique = "learned"\n[algorithms.B]\ndescription = "plain"\n'
    )
    (tmp_path / "results" / "B" / "results.toml").write_text('[tags]\nteam = "theirs"\n')
    found = {result.name: result.tags for result in find_results(tmp_path / "results", data).results}
    assert found == {"A": {"team": ("ours",), "technique": ("learned",)}, "B": {"team": ("theirs",)}}
    manifest.write_text('[paths]\nground_truth = "{scene}.pfm"\n[tags]\nweather = { thrid = "rain" }\n')
    with pytest.raises(StereogaugeError, match=r"Unknown scene under the tag weather .* 'thrid'"):
        sg.load_dataset("folder", tmp_path / "data")
    manifest.write_text('[paths]\nground_truth = "{scene}.pfm"\n[tags]\nweather = 3\n')
    with pytest.raises(StereogaugeError, match=r"tags.weather must be text or a list of texts or a table .*; found 3"):
        sg.load_dataset("folder", tmp_path / "data")


def test_scenes_are_deleted_by_tag(location: str) -> None:
    with open_store(location) as store:
        store.write(scores())
        store.delete_scenes(["tag:weather=rain"])
        assert store.cube().scenes == ("garden",)
