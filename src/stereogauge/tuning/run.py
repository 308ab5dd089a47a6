"""`tune`: a search on all scenes and one per fold, then the best parameters of each fold on its held-out scenes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import optuna
from msgspec.structs import replace
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
from stereogauge.tuning.storage import counted_trials, open_storage, quiet


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
    given = [scenes] if isinstance(scenes, Scene) else list(scenes)
    listed = [scene for scene in given if all(scene.has(part) for part in ("gt", "left", "right"))]
    if not listed:
        raise StereogaugeError(
            f"Tuning needs scenes with both images and ground truth; none of these {len(given)} has all three."
        )
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
        maxima=tuple(
            tuple(known if math.isfinite(known) else None for known in (usual_maximum(one, facts) for one in columns))
            for facts in map(SceneFacts.of_scene, listed)
        ),
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


def _run(
    prepared: Prepared,
    store: str | os.PathLike[str] | None,
    name: str | None,
    executor: Executor,
    progress: Progress | None,
) -> TuningResult:
    """Run what is not in the store yet, and read the result from it."""
    title = name or default_name(prepared.definition)
    with quiet(), open_storage(store) as storage:
        try:
            _run_searches(prepared, storage, title, Bench(prepared, executor), progress or Progress())
            return read_result(storage, title)
        finally:
            forget_scenes()


def _run_searches(prepared: Prepared, storage: BaseStorage, name: str, bench: Bench, progress: Progress) -> None:
    """Every search of a tuning, then the scores of the best parameters of each fold on the scenes that it held out."""
    whole = prepared.definition
    folds = {fold_name(name, fold): replace(whole, held_out=held) for fold, held in enumerate(whole.folds, 1)}
    name_of_sampler = sampler_name(whole.sampler, len(whole.objectives))
    sampler = search_sampler(name_of_sampler, prepared.space, prepared.points, whole.seed, prepared.trials)
    parts = [
        (open_study(storage, title, definition, sampler), definition)
        for title, definition in {name: whole, **folds}.items()
    ]
    for study, _ in parts:
        for trial in trials_of(study):
            bench.remember(dict(trial.parameters), trial.scores)
    baseline = _baseline(parts[0][0], bench, progress)
    done = sum(trial.state.is_finished() for study, _ in parts for trial in counted_trials(study.get_trials()))
    progress.start(prepared.planned * len(parts) - done, done)
    try:
        for study, definition in parts:
            functions = definition.objective_functions(bench.matrix(baseline), definition.objectives)
            TrialSearch(study, storage, bench, functions, definition.tuned_on, progress).run()
    finally:
        progress.finish()
    for fold, (study, definition) in enumerate(parts[1:]):
        best = read_result(storage, name).folds[fold].best
        known = study.user_attrs.get(HELD_OUT)
        if best is None or (known is not None and known["trial"] == best.number):
            continue
        progress.scene(f"held-out scenes of fold {fold + 1}")
        scores = bench.scores(dict(best.parameters), [whole.scenes.index(scene) for scene in definition.held_out])
        study.set_user_attr(HELD_OUT, {"trial": best.number, "scores": scores})


def _baseline(study: optuna.Study, bench: Bench, progress: Progress) -> dict[str, Any]:
    """The scores of the default parameters on every scene."""
    defaults = bench.space.defaults
    found: dict[str, Any] | None = study.user_attrs.get(BASELINE)
    if found is not None:
        bench.remember(defaults, found)
        return found
    progress.scene("default parameters")
    try:
        scores = bench.scores(defaults, range(len(bench.scenes)))
    except MatcherError as problem:
        raise MatcherError(f"The default parameters, which tuning is compared with, fail: {problem}") from problem
    study.set_user_attr(BASELINE, scores)
    return scores
