"""Scores of real matchers on real scenes: what maxima, effective weights and decisions are measured on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import stereogauge as sg
from stereogauge.ranking.profile import load_profile, shipped_profiles
from stereogauge.scores.cube import ScoreCube

DATA = "STEREOGAUGE_DATA"
SETTINGS: dict[str, dict[str, Any]] = {
    "sgm": {"matcher": "sgm"},
    "sgm-strong": {"matcher": "sgm", "p1": 40, "p2": 300},
    "sgm-weak": {"matcher": "sgm", "p1": 5, "p2": 20},
    "sgm-4paths": {"matcher": "sgm", "paths": 4},
    "sgm-5x5": {"matcher": "sgm", "window": "5x5"},
    "sgm-whole": {"matcher": "sgm", "subpixel": "none"},
    "sgbm": {"matcher": "opencv-sgbm"},
    "sgbm-1": {"matcher": "opencv-sgbm", "block": 1, "p1": 20, "p2": 100},
    "sgbm-9": {"matcher": "opencv-sgbm", "block": 9, "p1": 600, "p2": 2400},
    "sgbm-rough": {"matcher": "opencv-sgbm", "p1": 20, "p2": 60},
    "sgbm-sgbm": {"matcher": "opencv-sgbm", "mode": "sgbm"},
    "bm": {"matcher": "opencv-bm"},
    "bm-9": {"matcher": "opencv-bm", "block": 9},
    "bm-31": {"matcher": "opencv-bm", "block": 31},
}
"""Matchers and their parameters, from good to poor."""
DATASETS = {
    "middlebury-v3": "middlebury-2014",
    "middlebury-2006": "middlebury-2006",
    "middlebury-2001": "middlebury-2001",
    "middlebury-v2": "middlebury-v2",
}


def data_root() -> Path:
    """The folder of real data."""
    named = os.environ.get(DATA, "")
    if not Path(named).is_dir() or not named:
        raise SystemExit(f"benchmarks: {DATA} names no folder with real data; found {named!r}.")
    return Path(named)


def profile_metrics() -> list[str]:
    """What the shipped profiles weigh, and what stands in for it where the ground truth is sparse."""
    profiles = [load_profile(name) for name in shipped_profiles()]
    weighed = [term for profile in profiles for term in profile.weights]
    return list(
        dict.fromkeys([*weighed, *(term for one in profiles for some in one.stand_ins.values() for term in some)])
    )


def real_store(store: Path, *, invalid: str = "count", say: Any = print) -> Path:
    """A store with the scores of every setting on every scene, by the metrics of all profiles; computed once."""
    from stereogauge.evaluation.run import make_plan, run_plan
    from stereogauge.model import ResultSet

    metrics = profile_metrics()
    protocol = sg.load_protocol("hci").replace(metrics=metrics, regions=["all"], invalid=invalid, left_out=())
    maps = store.parent / "maps"
    with sg.open_store(store) as opened:
        for dataset, folder in DATASETS.items():
            data = sg.load_dataset(dataset, data_root() / folder)
            results = [ResultSet(name, {}) for name in SETTINGS]
            for scene in data:
                if not scene.has("right"):
                    continue
                ndisp = scene.calibration.ndisp or 16 * -(-int(scene.gt[scene.gt == scene.gt].max() + 2) // 16)
                for result in results:
                    path = maps / dataset / result.name / f"{scene.id}.pfm"
                    if not path.is_file():
                        path.parent.mkdir(parents=True, exist_ok=True)
                        found = sg.match(scene.left, scene.right, ndisp=ndisp, **SETTINGS[result.name])
                        sg.write_disparity(path, found.disparity)
                    result.maps[scene.id] = path  # type: ignore[index]
                scene.release()
                say(f"{dataset} {scene.id}")
            run_plan(make_plan(opened, data, results, protocol), opened)
    return store


def read(store: Path, dataset: str | None = None) -> ScoreCube:
    """The scores of a store."""
    with sg.open_store(store, read_only=True) as opened:
        return opened.cube(dataset=dataset)
