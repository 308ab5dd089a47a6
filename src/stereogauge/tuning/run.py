"""`tune`: a search on all scenes and one per fold, then the best parameters of each fold on its held-out scenes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from msgspec.structs import replace
from optuna.exceptions import StorageInternalError
from optuna.storages import BaseStorage

from stereogauge.errors import MatcherError
from stereogauge.evaluation.executors import InProcess
from stereogauge.evaluation.processes import LocalProcesses
from stereogauge.evaluation.progress import Progress
from stereogauge.matching.declaration import Matcher
from stereogauge.model import Dataset, Scene
from stereogauge.protocol import Protocol
from stereogauge.tuning.definition import (
    BASELINE,
    HELD_OUT,
    Definition,
    Prepared,
    default_name,
    fold_name,
    open_study,
    prepare,
)
from stereogauge.tuning.result import TuningResult, read_result, trials_of
from stereogauge.tuning.search import Bench, TrialSearch, forget_scenes
from stereogauge.tuning.space import SpaceSource, sampler_name, search_sampler
from stereogauge.tuning.storage import close_storage, counted_trials, open_storage, quiet, store_error


def tune(
    matcher: str | Matcher | Callable[..., Any],
    scenes: Dataset | Sequence[Scene] | Scene,
    profile: str | Path | Mapping[str, float] | None = None,
    trials: int = 100,
    *,
    objectives: Iterable[str] = (),
    sampler: str | None = None,
    folds: int | None = None,
    space: SpaceSource | None = None,
    protocol: Protocol | str | None = None,
    store: str | os.PathLike[str] | None = None,
    name: str | None = None,
    seed: int = 0,
    prune: bool = True,
    time_limit: float | None = None,
    ndisp: int | None = None,
    jobs: int | None = None,
    executor: Executor | Callable[[Prepared], Executor] | None = None,
    progress: Progress | None = None,
) -> TuningResult:
    """Search the matcher's parameters for an application, and measure the gain on scenes that the search did not see.

    `profile` names the weights of metrics that are optimised (a shipped profile, a TOML file or a mapping);
    `objectives` are metrics or profiles that are traded off against each other instead, the profile then picking
    one point of the front. With neither, the profile is "balanced". `trials` are run in every search: one on all
    scenes and one for each of `folds` (default 3, or none below three scenes), which holds its scenes out. `space`
    states the parameters to search where the matcher's declaration does not. With a `store` the studies are kept, and
    the same call continues where it stopped. `jobs` worker processes shield this one from crashes and enforce
    `time_limit` (seconds per trial); without them, everything runs here. An `executor` takes their place, or a
    function that makes one for the prepared scenes, which is shut down at the end.

    >>> left = np.random.default_rng(0).integers(0, 255, (40, 60), dtype=np.uint8)
    >>> right = np.roll(left, -5, axis=1)
    >>> scene = sg.Scene("plane", gt=np.full((40, 60), 5.0), left=left, right=right)
    >>> space = {"parameters": {"block": {"low": 5, "high": 15}}}
    >>> result = sg.tune("opencv-bm", scene, {"bad@1": 1}, 4, space=space, sampler="grid", ndisp=16, protocol="default")
    >>> [trial.parameters["block"] for trial in result.trials]
    [15, 5, 9]
    >>> result.matcher
    'opencv-bm:block=5'
    """
    prepared = prepare(
        matcher,
        scenes,
        profile,
        trials,
        objectives=objectives,
        sampler=sampler,
        folds=folds,
        space=space,
        protocol=protocol,
        seed=seed,
        prune=prune,
        time_limit=time_limit,
        ndisp=ndisp,
    )
    if isinstance(executor, Executor):
        return _run(prepared, store, name, executor, progress)

    def local(_: Prepared) -> Executor:
        return InProcess() if jobs is None else LocalProcesses(jobs)

    running = (executor or local)(prepared)
    finished = False
    try:
        result = _run(prepared, store, name, running, progress)
        finished = True
    finally:
        running.shutdown(wait=True, cancel_futures=not finished)
    return result


def _run(
    prepared: Prepared,
    store: str | os.PathLike[str] | None,
    name: str | None,
    executor: Executor,
    progress: Progress | None,
) -> TuningResult:
    """Run what is not in the store yet, and read the result from it."""
    title = name or default_name(prepared.definition)
    with quiet(), _opened(store) as storage:
        try:
            _Run(prepared, storage, title, executor, progress or Progress()).run()
            return read_result(storage, title)
        finally:
            forget_scenes()


@contextmanager
def _opened(store: str | os.PathLike[str] | None) -> Iterator[BaseStorage]:
    storage = open_storage(store)
    try:
        yield storage
    except StorageInternalError as problem:
        if store is None:
            raise
        raise store_error(store, problem) from problem
    finally:
        close_storage(storage)


class _Run:
    """The searches of one tuning in one storage."""

    def __init__(
        self, prepared: Prepared, storage: BaseStorage, name: str, executor: Executor, progress: Progress
    ) -> None:
        self.prepared, self.storage, self.name, self.progress = prepared, storage, name, progress
        self.definition = prepared.definition
        self.bench = Bench(prepared.matcher, prepared.space, prepared.scenes, executor, prepared.definition.time_limit)

    def run(self) -> None:
        parts = [self._study(self.name, self.definition)]
        for fold, held_out in enumerate(self.definition.folds, 1):
            parts.append(self._study(fold_name(self.name, fold), replace(self.definition, held_out=held_out)))
        for study, _ in parts:
            for trial in trials_of(study):
                self.bench.remember(dict(trial.parameters), trial.scores)
        baseline = self._baseline(parts[0][0])
        done = sum(trial.state.is_finished() for study, _ in parts for trial in counted_trials(study.get_trials()))
        self.progress.start(self.prepared.planned * len(parts) - done, done)
        try:
            for study, definition in parts:
                self._search(study, definition, baseline)
        finally:
            self.progress.finish()
        for fold, (study, definition) in enumerate(parts[1:]):
            self._hold_out(study, definition, fold)

    def _study(self, name: str, definition: Definition) -> tuple[optuna.Study, Definition]:
        sampler = search_sampler(
            sampler_name(definition.sampler, len(definition.objectives)),
            self.prepared.space,
            self.prepared.points,
            definition.seed,
            self.prepared.trials,
        )
        return open_study(self.storage, name, definition, sampler), definition

    def _baseline(self, study: optuna.Study) -> dict[str, Any]:
        found: dict[str, Any] | None = study.user_attrs.get(BASELINE)
        if found is not None:
            self.bench.remember(self.prepared.space.defaults, found)
            return found
        self.progress.scene("default parameters")
        try:
            scores = self.bench.scores(self.prepared.space.defaults, range(len(self.prepared.scenes)))
        except MatcherError as problem:
            raise MatcherError(f"The default parameters, which tuning is compared with, fail: {problem}") from problem
        study.set_user_attr(BASELINE, scores)
        return scores

    def _search(self, study: optuna.Study, definition: Definition, baseline: dict[str, Any]) -> None:
        functions = definition.objective_functions(self.bench.matrix(baseline), definition.objectives)
        TrialSearch(
            study,
            self.storage,
            self.bench,
            functions,
            definition.tuned_on,
            trials=self.prepared.planned,
            prune=definition.prune,
            progress=self.progress,
        ).run()

    def _hold_out(self, study: optuna.Study, definition: Definition, fold: int) -> None:
        """Keep the scores of a fold's best parameters on the scenes that it did not see."""
        best = read_result(self.storage, self.name).folds[fold].best
        known = study.user_attrs.get(HELD_OUT)
        if best is None or (known is not None and known["trial"] == best.number):
            return
        indices = [definition.scenes.index(scene) for scene in definition.held_out]
        self.progress.scene(f"held-out scenes of fold {fold + 1}")
        scores = self.bench.scores(dict(best.parameters), indices)
        study.set_user_attr(HELD_OUT, {"trial": best.number, "scores": scores})
