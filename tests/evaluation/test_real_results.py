"""Every real result at hand goes into one store, by one command a dataset."""

from __future__ import annotations

from pathlib import Path

import pytest

from stereogauge import open_store
from stereogauge.cli import main

MANIFESTS = Path(__file__).parents[2] / "docs" / "manifests"
COMMANDS = (
    ("middlebury-v2:{data}/middlebury-v2", "{data}/middlebury-v2/results", "middlebury-v2", 41),
    ("middlebury-v3:Q:{data}/middlebury-2014", "{data}/middlebury-2014/results", "middlebury-v3", 9),
    ("kitti-2012:{data}/kitti2012", "{data}/kitti2012/results", "kitti-2012", 16),
    ("kitti-2015:{data}/kitti2015", "{data}/kitti2015/results", "kitti-2015", 15),
)


@pytest.fixture(scope="module")
def store_path(data_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "all.sqlite"
    for dataset, results, protocol, _ in COMMANDS:
        words = ["evaluate", dataset.format(data=data_root), results.format(data=data_root), "--protocol", protocol]
        words += ["--manifest", str(MANIFESTS / f"{protocol}.toml"), "--store", str(path), "--jobs", "1"]
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0
    return path


def test_one_store_holds_the_results_of_all_datasets(store_path):
    with open_store(store_path, read_only=True) as store:
        assert store.counts()["cells"] == sum(cells for *_, cells in COMMANDS)
        assert len(store.algorithms()) == 24
        assert store.failures() == []


def test_the_published_percentages_come_out_of_the_store(store_path):
    with open_store(store_path, read_only=True) as store:
        cube = store.cube(
            dataset="middlebury-v2",
            protocol="middlebury-v2",
            algorithms=["PatchMatch-alg117"],
            columns=["bad@1:nonocc", "bad@1:all", "bad@1:disc"],
        )
    published = [[2.09, 2.33, 9.31], [0.21, 0.39, 2.62], [2.99, 8.16, 9.62], [2.47, 7.80, 7.11]]
    assert cube.scenes == ("tsukuba", "venus", "teddy", "cones")
    assert cube.values[0].round(2).tolist() == published
