"""`tune`: the search on all scenes and one for every fold, then the best parameters of each fold on its own scenes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import StorageInternalError
from optuna.storages import BaseStorage

from stereogauge.errors import MatcherError, StereogaugeError
from stereogauge.evaluation.executors import InProcess, LocalProcesses
from stereogauge.evaluation.fingerprints import ContentHashes, scene_contents
from stereogauge.evaluation.matchers import search_range
from stereogauge.evaluation.progress import Progress, Silent
from stereogauge.matching.declaration import Matcher, MatcherParameter
from stereogauge.matching.run import as_matcher
from stereogauge.model import Dataset, Scene
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.tuning.bench import Bench
from stereogauge.tuning.definition import BASELINE, HELD_OUT, Definition, fold_name, open_study
from stereogauge.tuning.folds import scene_folds, scene_groups
from stereogauge.tuning.goals import Goal, Wish, profile_wish, wish, wished_columns
from stereogauge.tuning.reading import read_result
from stereogauge.tuning.result import TuningResult, trials_of
from stereogauge.tuning.sampling import sampler_name, search_sampler
from stereogauge.tuning.scoring import Ground, forget_scenes
from stereogauge.tuning.search import Search
from stereogauge.tuning.space import Parameters, SearchSpace, declared_space, grid, stated_space, sweep
from stereogauge.tuning.storage import close_storage, open_storage, quiet, store_error
from stereogauge.tuning.tickets import Pulse, counted

PROTOCOL = "hci"
FOLDS = 3


def tuning_protocol() -> Protocol:
    """The protocol of a tuning unless another is given: HCI's, with gaps filled.

    Planar and magnitude metrics leave missing estimates out, so a search would learn to leave out what is difficult.
    """
    return load_protocol(PROTOCOL).replace(invalid="fill")


@dataclass(frozen=True)
class Prepared:
    """A tuning that is ready to run."""

    matcher: Any
    space: SearchSpace
    grounds: tuple[Ground, ...]
    definition: Definition
    trials: int

    @property
    def points(self) -> list[Parameters]:
        """The parameters that are known beforehand: the defaults, then those of a grid or sweep."""
        makers = {"grid": grid, "sweep": sweep}
        maker = makers.get(self.definition.sampler)
        return [self.space.defaults, *(maker(self.space, self.trials - 1) if maker and self.trials > 1 else [])]

    @property
    def planned(self) -> int:
        """Trials of each search: as many as were asked for, unless the grid, sweep or whole space is smaller."""
        if self.definition.sampler in ("grid", "sweep"):
            return len(self.points)
        return int(min(self.trials, self.space.size))

    @property
    def searches(self) -> int:
        """How many searches are run: one on all scenes, one for every fold."""
        return 1 + len(self.definition.folds)


def tune(
    matcher: str | Matcher | Callable[..., Any],
    scenes: Dataset | Sequence[Scene] | Scene,
    profile: str | Path | Mapping[str, float] | None = None,
    trials: int = 100,
    *,
    objectives: Iterable[str] = (),
    sampler: str | None = None,
    folds: int | None = None,
    space: str | Path | Mapping[str, Any] | Sequence[MatcherParameter] | None = None,
    protocol: Protocol | str | None = None,
    store: str | os.PathLike[str] | None = None,
    name: str | None = None,
    seed: int = 0,
    prune: bool = True,
    time_limit: float | None = None,
    ndisp: int | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> TuningResult:
    """Search the matcher's parameters for an application, and say how much that gains on scenes not searched on.

    `profile` names the weights of metrics that are to become better (a shipped profile, a TOML file or a mapping);
    `objectives` are metrics or profiles that are traded off against each other instead, the profile then picking
    one point of the front. With neither, the profile is "balanced". `trials` are run in every search: one on all
    scenes and one for each of `folds` (default 3, or none below three scenes), which holds its scenes out. `space`
    states the parameters to search where the matcher's declaration does not. With a `store` the studies are kept, and
    the same call goes on where it was. `jobs` worker processes shield this one from crashes and enforce `time_limit`
    (seconds a trial); without, everything runs here.
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
    owned = executor is None
    running = executor or (InProcess() if jobs is None else LocalProcesses(jobs))
    finished = False
    try:
        result = run_prepared(prepared, store=store, name=name, executor=running, progress=progress or Silent())
        finished = True
    finally:
        if owned:
            running.shutdown(wait=True, cancel_futures=not finished)
    return result


def prepare(
    matcher: str | Matcher | Callable[..., Any],
    scenes: Dataset | Sequence[Scene] | Scene,
    profile: str | Path | Mapping[str, float] | None,
    trials: int,
    *,
    objectives: Iterable[str],
    sampler: str | None,
    folds: int | None,
    space: str | Path | Mapping[str, Any] | Sequence[MatcherParameter] | None,
    protocol: Protocol | str | None,
    seed: int,
    prune: bool,
    time_limit: float | None,
    ndisp: int | None,
) -> Prepared:
    """Everything that can be wrong with a request is found here, before anything is computed."""
    if trials < 1:
        raise StereogaugeError(f"A tuning needs at least one trial; found {trials}.")
    declared, fixed = as_matcher(matcher)
    searched = declared_space(declared, fixed) if space is None else stated_space(space, declared, fixed)
    wishes, judge = _wishes(profile, objectives)
    chosen = tuning_protocol() if protocol is None else load_protocol(protocol)
    columns = wished_columns([*wishes, *([judge] if judge else [])], chosen.regions)
    chosen = chosen.replace(metrics=[str(column) for column in columns])
    listed = _usable_scenes(scenes)
    truths, contents = _content(listed)
    ranges = tuple(search_range(scene, ndisp) for scene in listed)
    grounds = tuple(
        Ground(f"{content} {chosen.scoring_hash}", scene, chosen, columns, reach)
        for scene, content, reach in zip(listed, contents, ranges, strict=True)
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
        wishes=wishes,
        judge=judge,
        space=searched.to_plain(),
        sampler=sampler_name(sampler, len(wishes)),
        seed=seed,
        prune=prune,
        protocol=chosen.to_toml(),
        ranges=ranges,
        time_limit=time_limit,
        folds=tuple(tuple(listed[place].id for place in fold) for fold in held),
    )
    callable_matcher = matcher if isinstance(matcher, str | Matcher) else declared
    return Prepared(_bare(callable_matcher), searched, grounds, definition, trials)


def _bare(matcher: str | Matcher) -> str | Matcher:
    """The matcher without parameters in its text: they are part of the space."""
    if isinstance(matcher, Matcher) or matcher.startswith("cmd:"):
        return matcher
    return matcher.partition(":")[0]


def _wishes(
    profile: str | Path | Mapping[str, float] | None, objectives: Iterable[str]
) -> tuple[tuple[Wish, ...], Wish | None]:
    named = tuple(dict.fromkeys(objectives))
    if named:
        return tuple(wish(text) for text in named), None if profile is None else profile_wish(profile)
    only = profile_wish("balanced" if profile is None else profile)
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
    """Hashes of each scene's ground truth, and of ground truth and images together."""
    hashes = ContentHashes(None)
    truths: list[str] = []
    for answer in hashes.of([scene.source("gt") for scene in scenes]):
        if isinstance(answer, StereogaugeError):
            raise answer
        truths.append(answer)
    contents: list[str] = []
    for found in scene_contents(scenes, hashes).values():
        if isinstance(found, StereogaugeError):
            raise found
        contents.append(found)
    return truths, contents


def run_prepared(
    prepared: Prepared,
    *,
    store: str | os.PathLike[str] | None,
    name: str | None,
    executor: Executor,
    progress: Progress,
) -> TuningResult:
    """Run what is not in the store yet, and read the result from it."""
    title = name or default_name(prepared.definition)
    with quiet(), _opened(store) as storage:
        try:
            _Run(prepared, storage, title, executor, progress).run()
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


def default_name(definition: Definition) -> str:
    """A name that says what the study is about and is the same for the same request."""
    judged = definition.judge or definition.wishes[0]
    matcher = definition.matcher.partition(":")[0] if not definition.matcher.startswith("cmd:") else "program"
    goal = judged.name if definition.judge else " and ".join(wished.name for wished in definition.wishes)
    return f"{matcher} for {goal} on {definition.dataset or 'scenes'} {definition.digest}"


class _Run:
    """The searches of one tuning in one storage."""

    def __init__(
        self, prepared: Prepared, storage: BaseStorage, name: str, executor: Executor, progress: Progress
    ) -> None:
        self.prepared, self.storage, self.name, self.progress = prepared, storage, name, progress
        self.definition = prepared.definition
        self.bench = Bench(prepared.matcher, prepared.space, prepared.grounds, executor, prepared.definition.time_limit)

    def run(self) -> None:
        parts = [self._study(self.name, self.definition)]
        for fold, held_out in enumerate(self.definition.folds, 1):
            parts.append(self._study(fold_name(self.name, fold), replace(self.definition, held_out=held_out)))
        for study, _ in parts:
            for trial in trials_of(study):
                self.bench.remember(dict(trial.parameters), trial.scores)
        baseline = self._baseline(parts[0][0])
        done = sum(trial.state.is_finished() for study, _ in parts for trial in counted(study.get_trials()))
        self.progress.start(self.prepared.planned * len(parts) - done, done)
        try:
            with Pulse() as pulse:
                for study, definition in parts:
                    self._search(study, definition, baseline, pulse)
        finally:
            self.progress.finish()
        for fold, (study, definition) in enumerate(parts[1:]):
            self._hold_out(study, definition, fold)

    def _study(self, name: str, definition: Definition) -> tuple[optuna.Study, Definition]:
        sampler = search_sampler(
            sampler_name(definition.sampler, len(definition.wishes)),
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
            scores = self.bench.scores(self.prepared.space.defaults, range(len(self.prepared.grounds)))
        except MatcherError as problem:
            raise MatcherError(f"The default parameters, which tuning is compared with, fail: {problem}") from problem
        study.set_user_attr(BASELINE, scores)
        return scores

    def _search(self, study: optuna.Study, definition: Definition, baseline: dict[str, Any], pulse: Pulse) -> None:
        goals = [Goal(wished, definition.column_list, self.bench.matrix(baseline)) for wished in definition.wishes]
        Search(
            study,
            self.bench,
            goals,
            definition.tuned_on,
            trials=self.prepared.planned,
            prune=definition.prune,
            progress=self.progress,
            pulse=pulse,
        ).run()

    def _hold_out(self, study: optuna.Study, definition: Definition, fold: int) -> None:
        """Keep the scores of a fold's best parameters on the scenes that it did not see."""
        best = read_result(self.storage, self.name).folds[fold].best
        known = study.user_attrs.get(HELD_OUT)
        if best is None or (known is not None and known["trial"] == best.number):
            return
        places = [definition.scenes.index(scene) for scene in definition.held_out]
        self.progress.scene(f"held-out scenes of fold {fold + 1}")
        scores = self.bench.scores(dict(best.parameters), places)
        study.set_user_attr(HELD_OUT, {"trial": best.number, "scores": scores})
