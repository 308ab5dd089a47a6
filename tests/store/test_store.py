"""What goes into a store comes out of it, whatever the database."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sql
from msgspec.structs import replace
from tests.cells import same_scores

import stereogauge as sg
from stereogauge import Calibration, Dataset, ResultSet, Scene, open_store
from stereogauge.errors import StoreError, UnknownNameError
from stereogauge.io import DisparityFile, MaskFile
from stereogauge.scores.column import VersionedColumn
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.score import CellScores, Failure
from stereogauge.store import Store, schema
from stereogauge.store.write import MapRecord

BAD_ALL = VersionedColumn("bad@1", 1, "all", 1)
MAE_ALL = VersionedColumn("mae", 1, "all", 1)


def rows(store: Store, table: sql.Table) -> int:
    with store._database.reading() as connection:
        return int(connection.execute(sql.select(sql.func.count()).select_from(table)).scalar_one())


def test_cells_come_back_bit_for_bit(store, make_cell):
    written = [make_cell(algorithm, scene) for algorithm in "AB" for scene in "st"]
    store.write(written)
    found = {(cell.algorithm, cell.scene): cell for cell in store.cells()}
    assert len(found) == 4
    assert all(same_scores(cell, found[cell.algorithm, cell.scene]) for cell in written)
    assert all(found[cell.algorithm, cell.scene].inputs == cell.inputs for cell in written)


def test_a_table_of_evaluate_comes_back_with_its_protocol(store):
    truth = np.tile(np.arange(1, 9, dtype=np.float32), (6, 1))
    table = sg.evaluate({"worse": truth + 2, "better": truth}, Scene("one", gt=truth, dataset="made"))
    store.write(table)
    again = store.scores()
    assert sorted(map(repr, again)) == sorted(repr(replace(score, rule="")) for score in table)
    assert again.protocol == table.protocol
    assert again.value("bad@1", "all", algorithm="worse") == 100.0


def test_a_cube_has_gaps_where_there_is_no_score(store, make_cell):
    store.write([make_cell("A", "s"), make_cell("A", "t"), make_cell("B", "t")])
    cube = store.cube()
    assert (cube.algorithms, cube.scenes) == (("A", "B"), ("s", "t"))
    assert [str(column) for column in cube.columns] == ["bad@1:all", "bad@1:nonocc", "mae:all", "mae:nonocc"]
    assert np.isnan(cube.values[1, 0]).all()
    np.testing.assert_array_equal(cube.values[0, 1], make_cell("A", "t").values)
    np.testing.assert_array_equal(cube.counts[0, 0], make_cell("A", "s").counts)
    np.testing.assert_array_equal(cube.missing[1, 1], make_cell("B", "t").missing)


def test_the_cube_equals_the_cube_of_the_single_scores(store, make_cell):
    store.write([make_cell(algorithm, scene, dataset=name) for algorithm in "BCA" for name in "xy" for scene in "ts"])
    cube, slow = store.cube(), ScoreCube.of(store.scores())
    part = slow.select(algorithms=cube.algorithms, scenes=cube.scenes)
    assert cube.scenes == part.scenes
    for name in ("values", "sums", "counts", "missing"):
        np.testing.assert_array_equal(getattr(cube, name), getattr(part, name))


def test_a_cube_holds_only_what_was_asked_for_in_that_order(store, make_cell):
    store.write([make_cell(algorithm, scene) for algorithm in "ABC" for scene in "st"])
    cube = store.cube(algorithms=["C", "A"], scenes=["t"], columns=["mae:nonocc", "bad@1"])
    assert cube.algorithms == ("C", "A")
    assert cube.scenes == ("t",)
    assert [str(column) for column in cube.columns] == ["mae:nonocc", "bad@1:all", "bad@1:nonocc"]
    assert cube.values[0, 0, 1] == make_cell("C", "t").values[0]


@pytest.mark.parametrize(
    ("selection", "word"),
    [
        ({"dataset": "q"}, "dataset"),
        ({"algorithms": ["q"]}, "algorithm"),
        ({"scenes": ["q"]}, "scene"),
        ({"protocol": "q"}, "protocol"),
        ({"columns": ["rms"]}, "column"),
    ],
)
def test_a_name_that_the_store_does_not_hold_is_an_error(store, make_cell, selection, word):
    store.write([make_cell()])
    with pytest.raises(UnknownNameError, match=f"Unknown {word}"):
        store.cube(**selection)


def test_scores_of_two_protocols_are_never_mixed(store, make_cell):
    store.write([make_cell(protocol="p1"), make_cell(protocol="p2")])
    with pytest.raises(StoreError, match=r"several protocols.*p1.*p2"):
        store.cube()
    assert store.cube(protocol="p2").protocol == "p2"


def test_a_protocol_is_found_by_name_and_by_either_hash(store):
    truth = np.ones((4, 4), np.float32)
    protocol = sg.load_protocol("middlebury-v2")
    table = sg.evaluate(truth, Scene("one", gt=truth, dataset="made"), protocol=protocol)
    store.write(table)
    for name in ("middlebury-v2", protocol.hash, protocol.scoring_hash, protocol):
        assert store.cube(protocol=name).protocol == protocol.scoring_hash
    assert store.protocol("middlebury-v2") == protocol
    assert store.protocols()[0].scoring_hash == protocol.scoring_hash


def test_protocols_that_share_scores_but_not_the_aggregation_mean_their_own(store):
    truth = np.full((30, 40), 9.0, np.float32)
    rough = truth + np.where(np.arange(40) % 7 == 0, 4, 0.5).astype(np.float32)
    older, newer = sg.load_protocol("kitti-2012"), sg.load_protocol("kitti-2015")
    assert older.scoring_hash == newer.scoring_hash
    for protocol, dataset in ((older, "city"), (newer, "road")):
        masks = {"nonocc": np.ones(truth.shape, bool)}
        scenes = [Scene(name, gt=truth, dataset=dataset, masks=masks) for name in ("one", "two")]
        for algorithm, estimate in (("good", truth), ("rough", rough)):
            for scene in scenes:
                store.write(sg.evaluate({algorithm: {scene.id: estimate}}, scene, protocol=protocol))
    own = store.cube(protocol="kitti-2015")
    assert set(own.datasets) == {"road"}
    assert set(own.metrics) <= set(newer.metrics)
    assert set(store.cube(protocol="kitti-2012").metrics) <= set(older.metrics)
    assert store.protocol(own.protocol, own.columns).aggregation == "pooled"
    chosen = store.cube(dataset="city")
    assert store.protocol(chosen.protocol, chosen.columns).aggregation == "mean"
    assert store.scores(protocol="kitti-2015").protocol == newer
    everything = store.cube(protocol=newer.scoring_hash)
    assert set(everything.datasets) == {"road", "city"}


def test_a_variant_of_a_protocol_used_on_another_dataset_does_not_make_its_name_ambiguous(store):
    truth = np.ones((4, 4), np.float32)
    protocol = sg.load_protocol("default")
    variant = protocol.replace(invalid="exclude")
    store.write(sg.evaluate(truth, Scene("one", gt=truth, dataset="x"), protocol=protocol))
    store.write(sg.evaluate(truth, Scene("one", gt=truth, dataset="y"), protocol=variant))
    assert store.cube(dataset="x", protocol="default").protocol == protocol.scoring_hash
    assert store.cube(dataset="y", protocol="default").protocol == variant.scoring_hash
    with pytest.raises(StoreError, match="several protocols"):
        store.cube(protocol="default")


def test_writing_the_same_cell_again_changes_nothing_but_the_run(store, make_cell):
    store.write([make_cell()])
    store.write([make_cell()])
    assert rows(store, schema.scores) == 1
    assert len(store.runs()) == 2
    assert same_scores(store.cells()[0], make_cell())


def test_more_columns_join_a_cell(store, make_cell):
    store.write([make_cell(columns=(BAD_ALL,))])
    store.write([make_cell(columns=(MAE_ALL,))])
    (cell,) = store.cells()
    assert set(cell.columns) == {BAD_ALL, MAE_ALL}


def test_a_column_that_is_written_again_replaces_only_itself(store, make_cell):
    store.write([make_cell(columns=(BAD_ALL, MAE_ALL))])
    store.write([make_cell(columns=(MAE_ALL,), seed=1)])
    (cell,) = store.cells()
    values = dict(zip(cell.columns, cell.values, strict=True))
    assert values[BAD_ALL] == make_cell(columns=(BAD_ALL, MAE_ALL)).values[0]
    assert math.isnan(values[MAE_ALL])
    assert len(cell.columns) == 2


def test_scores_of_other_inputs_make_room(store, make_cell):
    store.write([make_cell(columns=(BAD_ALL,), inputs=1), make_cell("B", columns=(BAD_ALL,), inputs=1)])
    store.write([make_cell(columns=(MAE_ALL,), inputs=2)])
    assert {(cell.algorithm, cell.columns) for cell in store.cells()} == {("A", (MAE_ALL,)), ("B", (BAD_ALL,))}


def test_only_the_newest_version_of_a_metric_is_read(store, make_cell):
    newer = VersionedColumn("bad@1", 2, "all", 1)
    store.write([make_cell("A", columns=(BAD_ALL, MAE_ALL)), make_cell("B", columns=(BAD_ALL, MAE_ALL))])
    store.write([make_cell("A", columns=(newer, MAE_ALL), seed=3)])
    cube = store.cube()
    assert [str(column) for column in cube.columns].count("bad@1:all") == 1
    place = [str(column) for column in cube.columns].index("bad@1:all")
    assert cube.values[0, 0, place] == make_cell("A", columns=(newer, MAE_ALL), seed=3).values[0]
    assert np.isnan(cube.values[1, 0, place])


def test_stored_says_what_is_missing_for_which_inputs(store, make_cell):
    store.write([make_cell(columns=(BAD_ALL,), inputs=5)])
    stored = store.stored("d", "p1")
    assert stored.missing("s", "A", 5, (BAD_ALL, MAE_ALL)) == (MAE_ALL,)
    assert stored.missing("s", "A", 5, (BAD_ALL,)) == ()
    assert stored.missing("s", "A", 6, (BAD_ALL,)) == (BAD_ALL,)
    assert stored.missing("s", "B", 5, (BAD_ALL,)) == (BAD_ALL,)
    assert store.stored("d", "another").missing("s", "A", 5, (BAD_ALL,)) == (BAD_ALL,)


def test_failures_are_kept_until_the_cell_succeeds(store, make_cell):
    failure = Failure("d", "s", "A", "p1", "it rained", "a long story")
    store.write([], failures=[failure, Failure("d", "t", "A", "p1", "snow")])
    assert [(found.scene, found.reason, found.detail) for found in store.failures()] == [
        ("s", "it rained", "a long story"),
        ("t", "snow", ""),
    ]
    store.write([make_cell()])
    assert [found.scene for found in store.failures()] == ["t"]


def test_a_deleted_algorithm_leaves_nothing_behind(store, make_cell):
    extra = (*make_cell().columns, VersionedColumn("rms", 1, "all", 1))
    record = MapRecord("d", "s", "A", "hash", '"/maps/a.pfm"')
    store.write([make_cell("B")])
    before = {table.name: rows(store, table) for table in schema.metadata.tables.values()}
    store.write([make_cell("A", columns=extra)], maps=[record], failures=[Failure("d", "t", "A", "p1", "no")])
    store.remember_hashes({'"/maps/a.pfm"': ("1:2", "hash")})
    store.delete_algorithm("A")
    after = {table.name: rows(store, table) for table in schema.metadata.tables.values()}
    kept = {"runs", "scenes", "score_columns"}
    assert {name: after[name] for name in before if name not in kept} == {
        name: amount for name, amount in before.items() if name not in kept
    }
    assert [entry.name for entry in store.algorithms()] == ["B"]
    with pytest.raises(UnknownNameError, match="Unknown algorithm"):
        store.delete_algorithm("A")


def test_what_is_known_of_algorithms_is_kept_and_changed(store, make_cell):
    dataset = Dataset("d", [Scene("s", dataset="d")])
    result = ResultSet("A", {}, description="first", colour="#123456", about={"authors": "A. Author"})
    store.register(dataset, {"s": "content"}, [result], sg.load_protocol("default"))
    store.register(dataset, {"s": "content"}, [ResultSet("A", {})], sg.load_protocol("default"))
    assert store.algorithms()[0].metadata == {"authors": "A. Author"}
    store.describe_algorithm("A", link="https://example.org", metadata={"year": 2014})
    store.write([], maps=[MapRecord("d", "s", "A", "h", "", extras={"seconds": 3.0})])
    (entry,) = store.algorithms()
    assert (entry.description, entry.link, entry.colour) == ("first", "https://example.org", "#123456")
    assert entry.metadata == {"year": 2014}
    assert entry.seconds == 3.0


def test_scenes_and_maps_are_found_again_where_they_lay(store, tmp_path):
    truth = tmp_path / "truth.pfm"
    sg.write_disparity(truth, np.full((4, 5), 2, np.float32))
    scene = Scene(
        "s",
        gt=DisparityFile(truth, encoding="pfm"),
        calibration=Calibration(focal=100.0, baseline=0.1, ndisp=16),
        masks={"nonocc": MaskFile(tmp_path / "mask.png", value=(1, 2), invert=True)},
        views={0.5: tmp_path / "middle.png"},
        dataset="d",
        resolution=0.5,
        border=3,
        metadata={"scale": 4},
    )
    store.register(Dataset("d", [scene], root=tmp_path), {"s": "x"}, [], sg.load_protocol("default"))
    again = store.scene("d", "s")
    np.testing.assert_array_equal(again.gt, scene.gt)
    assert again.source("gt") == DisparityFile(str(truth), encoding="pfm")
    assert again.mask_source("nonocc") == MaskFile(str(tmp_path / "mask.png"), value=(1, 2), invert=True)
    assert (again.calibration, again.resolution, again.border, again.views) == (scene.calibration, 0.5, 3, (0.5,))
    store.write([], maps=[MapRecord("d", "s", "A", "h", '{"kind": "disparity", "path": "/m.png", "scale": 4.0}')])
    assert store.map_source("A", "d", "s") == DisparityFile("/m.png", scale=4.0)
    assert store.map_source("A", "d", "other") is None
    with pytest.raises(UnknownNameError, match="scene of d"):
        store.scene("d", "other")


def test_a_run_says_versions_and_host(store, make_cell):
    run = store.begin_run("stereogauge evaluate …")
    store.write([make_cell()], run=run)
    (entry,) = store.runs()
    assert entry.command == "stereogauge evaluate …"
    assert entry.versions["stereogauge"] == sg.__version__
    assert entry.finished is None
    store.finish_run(run)
    assert store.runs()[0].finished >= entry.started


def test_file_hashes_are_remembered(store):
    store.remember_hashes({"one": ("1:1", "aa"), "two": ("2:2", "bb")})
    store.remember_hashes({"one": ("1:9", "cc")})
    assert store.known_hashes(["one", "two", "three"]) == {"one": ("1:9", "cc"), "two": ("2:2", "bb")}
    store.remember_hashes({f"file {number}": ("3:3", "dd") for number in range(20)})
    assert store.known_hashes(["one", "three"]) == {"one": ("1:9", "cc")}, "a few of many"
    assert store.known_hashes(["one", *(f"file {number}" for number in range(15))])["file 9"] == ("3:3", "dd")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_an_export_imports_as_the_same_cells(store, make_cell, tmp_path, suffix):
    cells = [make_cell(a, s, protocol=p, inputs=-(2**63) + 1) for a in "AB" for s in "st" for p in ("p1", "p2")]
    store.write(cells)
    path = tmp_path / f"scores.{suffix}"
    assert getattr(store, f"export_{suffix}")(path) == 4 * len(cells)
    with open_store(tmp_path / "other.sqlite") as other:
        assert getattr(other, f"import_{suffix}")(path) == 4 * len(cells)
        found = {(c.algorithm, c.scene, c.protocol): c for c in other.all_cells()}
        assert len(found) == len(cells)
        assert all(same_scores(cell, found[cell.algorithm, cell.scene, cell.protocol]) for cell in cells)
        assert {cell.inputs for cell in found.values()} == {-(2**63) + 1}


def test_a_parquet_export_brings_its_protocols(store, tmp_path):
    truth = np.ones((4, 4), np.float32)
    store.write(sg.evaluate(truth, Scene("one", gt=truth, dataset="made"), protocol="sigma-z-2011"))
    store.export_parquet(tmp_path / "scores.parquet")
    with open_store(tmp_path / "other.sqlite") as other:
        other.import_parquet(tmp_path / "scores.parquet")
        assert other.protocol("sigma-z-2011") == sg.load_protocol("sigma-z-2011")


def test_an_export_may_be_of_one_protocol(store, make_cell, tmp_path):
    store.write([make_cell(protocol="p1"), make_cell(protocol="p2")])
    assert store.export_csv(tmp_path / "one.csv", protocol="p1") == 4
    lines = (tmp_path / "one.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("dataset,scene,algorithm,metric,region,value,sum,count,missing,protocol")
    assert len(lines) == 5


def test_a_merge_brings_what_is_absent(store, make_cell, tmp_path):
    store.write([make_cell("A", columns=(BAD_ALL,))])
    with open_store(tmp_path / "other.sqlite") as other:
        other.write(
            [make_cell("A", columns=(BAD_ALL, MAE_ALL)), make_cell("B", scene="t")],
            protocol=sg.load_protocol("default"),
            maps=[MapRecord("d", "t", "B", "hash", '"/maps/b.pfm"', extras={"seconds": 2.0})],
        )
        other.describe_algorithm("B", description="the other")
        assert store.merge(other) == 2
        assert store.merge(other) == 0
    found = {(cell.algorithm, cell.scene): cell for cell in store.cells(protocol="p1")}
    assert set(found["A", "s"].columns) == {BAD_ALL, MAE_ALL}
    assert same_scores(found["B", "t"], make_cell("B", scene="t"))
    assert store.map_source("B", "d", "t") == "/maps/b.pfm"
    assert [entry.description for entry in store.algorithms()] == ["", "the other"]
    assert store.protocols()[0].name == "default"


def test_a_merge_keeps_the_later_of_two_states(store, make_cell, tmp_path):
    with open_store(tmp_path / "older.sqlite") as older, open_store(tmp_path / "newer.sqlite") as newer:
        older.write([make_cell(inputs=1)])
        store.write([make_cell(inputs=2, seed=2)])
        newer.write([make_cell(inputs=3, seed=3)])
        assert store.merge(older) == 0
        assert same_scores(store.cells()[0], make_cell(seed=2))
        assert store.merge(newer) == 1
        assert same_scores(store.cells()[0], make_cell(seed=3))
        with pytest.raises(StoreError, match="into itself"):
            newer.merge(newer)


def test_a_reader_sees_the_last_complete_state_while_a_writer_writes(location, store, make_cell):
    store.write([make_cell("A")])
    with open_store(location, read_only=True) as reader:
        with store._database.writing() as connection:
            connection.execute(schema.algorithms.insert().values(name="half", added=0.0))
            assert [entry.name for entry in reader.algorithms()] == ["A"]
        assert [entry.name for entry in reader.algorithms()] == ["A", "half"]


def test_counts_count(store, make_cell):
    store.write([make_cell("A", "s"), make_cell("A", "t"), make_cell("B", "s", columns=(BAD_ALL,))])
    counts = store.counts()
    assert (counts["cells"], counts["scores"], counts["algorithms"], counts["scenes"]) == (3, 9, 2, 2)


def test_an_import_that_is_not_one_says_so(tmp_path):
    (tmp_path / "bad.csv").write_text("dataset,scene\nd,s\n", encoding="utf-8")
    (tmp_path / "bad.parquet").write_bytes(b"no")
    with open_store(tmp_path / "s.sqlite") as store:
        with pytest.raises(sg.StereogaugeError, match="no column 'algorithm'"):
            store.import_csv(tmp_path / "bad.csv")
        with pytest.raises(sg.StereogaugeError, match="cannot be read as Parquet"):
            store.import_parquet(tmp_path / "bad.parquet")
        with pytest.raises(sg.StereogaugeError, match="cannot be read as CSV"):
            store.import_csv(tmp_path / "absent.csv")


def test_nothing_is_stored_of_an_import_with_one_bad_row(tmp_path, make_cell):
    with open_store(tmp_path / "s.sqlite") as store:
        store.write([make_cell()])
        store.export_csv(tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    text[2] = text[2].rsplit(",", 1)[0] + ",seven"
    (tmp_path / "out.csv").write_text("\n".join(text), encoding="utf-8")
    with open_store(tmp_path / "t.sqlite") as other:
        with pytest.raises(sg.StereogaugeError, match="row 2 is not a score"):
            other.import_csv(tmp_path / "out.csv")
        assert other.counts()["scores"] == 0


def test_opening_for_reading_never_makes_a_file(tmp_path: Path):
    with pytest.raises(StoreError, match="no such store"):
        open_store(tmp_path / "absent.sqlite", read_only=True)
    assert not (tmp_path / "absent.sqlite").exists()


def test_take_keeps_notes_with_their_columns(make_cell):
    cell: CellScores = make_cell()
    part = cell.take([3, 0])
    assert part.notes == {0: cell.notes[3]}
    assert part.columns == (cell.columns[3], cell.columns[0])
