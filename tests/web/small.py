"""A small dataset, results and store on disk, and a way to serve a site, for all tests of the site."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import uvicorn
from fastapi import FastAPI

import stereogauge as sg
from stereogauge import Dataset, ResultSet, load_dataset, open_store, write_disparity
from stereogauge.evaluation.run import make_plan, run_plan
from stereogauge.store import Store
from stereogauge.web.app import create_app
from stereogauge.web.hiding import Hidden
from stereogauge.web.server import server_config
from stereogauge.web.site import Site
from stereogauge.web.source import StoreSource

SCENES = ("alpha", "beta", "gamma")
SHAPE = (40, 56)
MARKUP = '<b>bold</b> & "quoted" <script>boom()</script>'
METRICS = ("bad@1", "bad@2", "rms", "bias", "psnr", "density")
REGIONS = ("nonocc", "all", "disc", "boundary", "interior", "occluded")
PROTOCOL = sg.load_protocol("default").replace(name="small", metrics=list(METRICS), regions=list(REGIONS), peak=24.0)
MANIFEST = """
name = "small"
[paths]
ground_truth = "{scene}/disp.pfm"
left = "{scene}/left.png"
right = "{scene}/right.png"
[calibration]
focal = 100.0
baseline = 0.1
ndisp = 24
[scenes]
resolution = 0.02
"""


def truth(place: int) -> np.ndarray:
    """A slanted background with a near box, and a few unknown pixels."""
    height, width = SHAPE
    disparity = np.tile(np.linspace(4, 6, width, dtype=np.float32), (height, 1))
    disparity[10:28, 20 + 4 * place : 36 + 4 * place] = 13.0
    disparity[:2, :5] = np.nan
    return disparity


def estimates(place: int) -> dict[str, np.ndarray]:
    """Maps of five algorithms, from good to bad; one has holes, one lacks the last scene."""
    random = np.random.default_rng(place)
    real = np.nan_to_num(truth(place), nan=5.0)
    holes = real + random.normal(0, 0.4, SHAPE).astype(np.float32)
    holes[random.random(SHAPE) < 0.1] = np.nan
    maps = {
        "good": real + random.normal(0, 0.2, SHAPE).astype(np.float32),
        "rough": real + random.normal(0, 1.0, SHAPE).astype(np.float32),
        "biased": real + np.float32(1.6),
        MARKUP: holes,
    }
    if place < 2:
        maps["partial"] = real + random.normal(0, 0.6, SHAPE).astype(np.float32)
    return {name: np.asarray(values, np.float32) for name, values in maps.items()}


def write_dataset(root: Path) -> Dataset:
    """The dataset as files."""
    for place, scene in enumerate(SCENES):
        folder = root / scene
        folder.mkdir(parents=True)
        write_disparity(folder / "disp.pfm", truth(place))
        texture = np.random.default_rng(10 + place).integers(0, 255, (*SHAPE, 3), np.uint8)
        cv2.imwrite(str(folder / "left.png"), texture)
        cv2.imwrite(str(folder / "right.png"), np.roll(texture, -5, axis=1))
    (root / "stereogauge.toml").write_text(MANIFEST, encoding="utf-8")
    return load_dataset("folder", root)


def write_results(root: Path) -> list[ResultSet]:
    """The maps as files; folders are numbered, since a name may hold anything."""
    maps: dict[str, dict[str, Path]] = {}
    for place, scene in enumerate(SCENES):
        for number, (name, values) in enumerate(estimates(place).items()):
            path = root / f"algorithm-{number}" / f"{scene}.pfm"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_disparity(path, values)
            maps.setdefault(name, {})[scene] = path
    return [ResultSet(name, own) for name, own in maps.items()]


def make_store(folder: Path, location: str | None = None) -> str:
    """A store of all results, with everything behind it on disk; a file in the folder unless told otherwise."""
    dataset, results = write_dataset(folder / "data"), write_results(folder / "results")
    place = location or str(folder / "small.sqlite")
    with open_store(place) as store:
        run_plan(make_plan(store, dataset, results, PROTOCOL), store)
    return place


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """The application on a free port of this machine; gives its address."""
    server = uvicorn.Server(server_config(app, port=0, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def serving_store(store: Store, hidden: Sequence[str] | Hidden = (), **options: Any) -> AbstractContextManager[str]:
    """The site of a store, served as by `serving`; `options` are those of `Site`."""
    return serving(create_app(Site(StoreSource(store), hidden, **options)))
