"""`tune`: a search on all scenes and one per fold, then the best parameters of each fold on its held-out scenes."""

from __future__ import annotations

import math
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

from stereogauge.datasets.declaration import search_range
from stereogauge.datasets.places import independent_units
from stereogauge.errors import MatcherError, StereogaugeError
from stereogauge.evaluation.executors import InProcess
from stereogauge.evaluation.fingerprints import ContentHashes, scene_contents
from stereogauge.evaluation.processes import LocalProcesses
from stereogauge.evaluation.progress import Progress
from stereogauge.matching.declaration import Matcher
from stereogauge.matching.run import as_matcher, without_parameters
from stereogauge.model import Dataset, Scene
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.scores.column import Column
from stereogauge.scores.facts import SceneFacts, usual_maximum
from stereogauge.tuning.definition import (
    BASELINE,
    FOLDS,
    HELD_OUT,
    Definition,
    Prepared,
    PreparedScene,
    default_name,
    fold_name,
    open_study,
    scene_folds,
    scene_groups,
    tuning_protocol,
)
from stereogauge.tuning.objectives import Objective, objective_columns, parse_objective, profile_objective
from stereogauge.tuning.result import TuningResult, read_result, trials_of
from stereogauge.tuning.search import Bench, TrialSearch, forget_scenes
from stereogauge.tuning.space import SpaceSource, declared_space, sampler_name, search_sampler, stated_space
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
    # Every mistake in the request is found before anything is computed.
    if trials < 1:
        raise StereogaugeError(f"A tuning needs at least one trial; found {trials}.")
    declared, fixed = as_matcher(matcher)
    searched = declared_space(declared, fixed) if space is None else stated_space(space, declared, fixed)
    goals, judge = _objectives(profile, objectives)
    chosen = tuning_protocol() if protocol is None else load_protocol(protocol)
    columns = objective_columns([*goals, *([judge] if judge else [])], chosen.regions)
    chosen = chosen.replace(metrics=[str(column) for column in columns])
    listed = _usable_scenes(scenes)
    truths, contents = _content(listed)
    ranges = tuple(search_range(scene, ndisp) for scene in listed)
    scenes_ready = tuple(
        PreparedScene(f"{content} {chosen.scoring_hash}", scene, chosen, columns, disparities)
        for scene, content, disparities in zip(listed, contents, ranges, strict=True)
    )
    groups = scene_groups(truths)
    count = (FOLDS if len(groups) >= FOLDS else 0) if folds is None else folds
    held = scene_folds(groups, count, seed)
    definition = Definition(
        matcher=matcher if isinstance(matcher, str) else declared.id,
        dataset=scenes.name if isinstance(scenes, Dataset) else listed[0].dataset,
        scenes=tuple(scene.id for scene in listed),
        truths=tuple(truths),
        contents=" ".join(content[:12] for content in contents),
        columns=tuple(str(column) for column in columns),
        objectives=goals,
        judge=judge,
        space=searched.to_plain(),
        sampler=sampler_name(sampler, len(goals)),
        seed=seed,
        prune=prune,
        protocol=chosen.to_toml(),
        ranges=ranges,
        time_limit=time_limit,
        folds=tuple(tuple(listed[index].id for index in fold) for fold in held),
        maxima=tuple(tuple(_maxima(scene, columns)) for scene in listed),
    )
    # Parameters in the text of a matcher are part of the space.
    bare = without_parameters(matcher) if isinstance(matcher, str) else declared
    prepared = Prepared(bare, searched, scenes_ready, definition, trials)
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


def _objectives(
    profile: str | Path | Mapping[str, float] | None, objectives: Iterable[str]
) -> tuple[tuple[Objective, ...], Objective | None]:
    named = tuple(dict.fromkeys(objectives))
    if named:
        return tuple(map(parse_objective, named)), None if profile is None else profile_objective(profile)
    only = profile_objective("balanced" if profile is None else profile)
    return (only,), only


def _usable_scenes(scenes: Dataset | Sequence[Scene] | Scene) -> list[Scene]:
    listed = [scenes] if isinstance(scenes, Scene) else list(scenes)
    usable = [scene for scene in listed if all(scene.has(part) for part in ("gt", "left", "right"))]
    if not usable:
        raise StereogaugeError(
            f"Tuning needs scenes with both images and ground truth; none of these {len(listed)} has all three."
        )
    return usable


def _content(scenes: Sequence[Scene]) -> tuple[list[str], list[str]]:
    """For each scene the hash of the first ground truth of its place, and that of its own ground truth and images."""
    hashes = ContentHashes(None)
    truths = _known(hashes.of([scene.source("gt") for scene in scenes]))
    names, tags, datasets = zip(*((scene.id, scene.tags, scene.dataset) for scene in scenes), strict=True)
    units = independent_units(names, truths, tags, datasets)
    first = {unit: truths[place] for place, unit in reversed(list(enumerate(units.tolist())))}
    return [first[unit] for unit in units.tolist()], _known(scene_contents(scenes, hashes).values())


def _known(answers: Iterable[str | StereogaugeError]) -> list[str]:
    found: list[str] = []
    for answer in answers:
        if isinstance(answer, StereogaugeError):
            raise answer
        found.append(answer)
    return found


def _maxima(scene: Scene, columns: Sequence[Column]) -> Iterator[float | None]:
    facts = SceneFacts.of_scene(scene)
    for column in columns:
        known = usual_maximum(column, facts)
        yield known if math.isfinite(known) else None


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
