"""The site for 100 algorithms × 200 scenes × 60 columns: a new selection within 100 ms, the first page within 1 s.

Every question is a new selection, so that no answer comes from a cache. Measured over loopback, with the server in a
process of its own; what a reader waits for in a browser is the group `pages`.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection

import httpx
import numpy as np

from benchmarks.report import Report
from benchmarks.timing import Times, amounts
from stereogauge.model import Scene
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube
from stereogauge.store.listing import StoredAlgorithm
from stereogauge.web.source import Maps, ProtocolRecord, ScenePlace, StoreSource

ALGORITHMS, SCENES = 100, 200
METRICS = ("bad@0.5", "bad@1", "bad@2", "bad@4", "mae", "rms", "mse", "mre", "sze", "invalid", "density", "bias",
            "quantile@50", "quantile@90", "quantile@95")  # fmt: skip
REGIONS = ("all", "nonocc", "disc", "occluded")
QUESTIONS = 50
LIMIT, FIRST_PAGE_LIMIT = 0.1, 1.0
FIRST_PAGE = ("/", "/static/css/base.css", "/static/js/main.js", "/static/js/views/leaderboard.js", "/api/v1/catalogue",
              "/api/v1/scenes", "/api/v1/algorithms", "/api/v1/table", "/api/v1/rank")  # fmt: skip


class CubeSource(StoreSource):
    """Scores that were never measured: a cube in memory, without scenes behind it."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        columns = tuple(Column(metric, region) for metric in METRICS for region in REGIONS)
        skill = random.gamma(3, 1, (ALGORITHMS, 1, 1))
        values = (
            skill
            * random.gamma(3, 1, (1, SCENES, len(columns)))
            * random.gamma(8, 0.1, (ALGORITHMS, SCENES, len(columns)))
        )
        self._cube = ScoreCube(
            algorithms=tuple(f"algorithm {place:03d}" for place in range(ALGORITHMS)),
            scenes=tuple(f"scene {place:03d}" for place in range(SCENES)),
            columns=columns,
            values=values,
            sums=values * 1e5,
            counts=np.full(values.shape, 1e5),
            missing=np.zeros(values.shape),
            protocol="benchmark",
            datasets=("benchmark",) * SCENES,
        )

    def version(self) -> str:
        return "benchmark"

    def protocols(self) -> tuple[ProtocolRecord, ...]:
        return (ProtocolRecord("benchmark", "benchmark", None),)

    def cube(self, key: str, dataset: str | None = None) -> ScoreCube:
        return self._cube

    def algorithms(self) -> tuple[StoredAlgorithm, ...]:
        return tuple(StoredAlgorithm(name, "", "", "", {}, 0.0, None) for name in self._cube.algorithms)

    def scene(self, place: ScenePlace) -> Scene:
        return Scene(place.scene)

    def maps(self, algorithm: str, place: ScenePlace) -> Maps:
        return Maps()

    def with_confidence(self, algorithm: str, places: Mapping[str, ScenePlace]) -> list[str]:
        return []


def _serve(line: Connection, source: Callable[[], StoreSource]) -> None:
    import asyncio

    import uvicorn

    from stereogauge.web.app import create_app
    from stereogauge.web.server import server_config
    from stereogauge.web.site import Site

    server = uvicorn.Server(server_config(create_app(Site(source())), port=0, log_level="error"))

    async def main() -> None:
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.02)
        line.send(server.servers[0].sockets[0].getsockname()[1])
        await serving

    asyncio.run(main())


@contextmanager
def served(source: Callable[[], StoreSource] = CubeSource) -> Iterator[tuple[str, int]]:
    """The address of a server in a process of its own, which calls `source` for its scores, and that process's id."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, source), daemon=True)
    process.start()
    there.close()  # so that nobody waits for a server that could not start
    try:
        port = here.recv()
        assert process.pid is not None
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.kill()
        process.join()


def selections(count: int, seed: int) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Different questions, each about most of the scores: (call, parameters)."""
    random = np.random.default_rng(seed)
    models = ("a-star", "extended", "weighted", "middlebury")
    for place in range(count):
        model = models[place % len(models)]
        scenes = random.choice(SCENES, int(random.integers(SCENES // 2, SCENES)), replace=False)
        params = [("scenes", f"scene {scene:03d}") for scene in sorted(scenes)]
        if model == "middlebury":
            params.append(("metrics", str(random.choice(METRICS))))
        elif model == "weighted":
            params += [("weights", f"{metric}={random.random():.3f}") for metric in METRICS]
        yield "rank", [("model", model), *params]


def answer_times(base: str, questions: list[tuple[str, list[tuple[str, str]]]]) -> Times:
    """Seconds of each answer."""
    times = []
    with httpx.Client(base_url=f"{base}/api/v1/", timeout=60) as client:
        for call, params in questions:
            start = time.perf_counter()
            client.get(call, params=params).raise_for_status()
            times.append(time.perf_counter() - start)
    return Times(tuple(times))


def first_page() -> float:
    """Seconds of everything that the first page asks of a server that was just started."""
    with served() as (base, _), httpx.Client(base_url=base, timeout=60) as client:
        start = time.perf_counter()
        for path in FIRST_PAGE:
            client.get(path).raise_for_status()
        return time.perf_counter() - start


def run(report: Report) -> None:
    with served() as (base, _):
        answer_times(base, list(selections(4, seed=99)))
        size = f"{ALGORITHMS} × {SCENES} × {len(METRICS) * len(REGIONS)}, {QUESTIONS} new selections"
        report.limit(f"rank, {size}", answer_times(base, list(selections(QUESTIONS, seed=1))), LIMIT)
        tables = [
            ("table", [pair for pair in params if pair[0] == "scenes"]) for _, params in selections(QUESTIONS, seed=2)
        ]
        report.limit(f"table, {size}", answer_times(base, tables), LIMIT)
        weights = [
            ("rank", [("model", "weighted"), ("weights", f"rms={place + 1}"), ("weights", "bad@1=7")])
            for place in range(QUESTIONS)
        ]
        report.limit(f"dragging a weight, {QUESTIONS} steps", answer_times(base, weights), LIMIT)
    firsts = amounts({"first": first_page}, rounds=2)
    report.limit("first page, cold server", firsts["first"], FIRST_PAGE_LIMIT)
