"""A tuning before it runs: the request checked, scenes prepared and dealt to folds, and the definition of its study.

The definition is everything that trials depend on, stored with the study as plain values.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import optuna
from msgspec import Struct
from msgspec.structs import asdict

from stereogauge.datasets.declaration import search_range
from stereogauge.datasets.places import independent_units
from stereogauge.errors import StereogaugeError, StoreError
from stereogauge.evaluation.fingerprints import ContentHashes, scene_contents
from stereogauge.matching.declaration import Matcher
from stereogauge.matching.run import as_matcher, without_parameters
from stereogauge.model import Dataset, Scene
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.scores.column import Column
from stereogauge.scores.cube import Values
from stereogauge.scores.facts import SceneFacts
from stereogauge.scores.maxima import usual_maximum
from stereogauge.tuning.objectives import (
    Objective,
    ObjectiveFunction,
    objective_columns,
    parse_objective,
    profile_objective,
)
from stereogauge.tuning.space import (
    Parameters,
    SearchSpace,
    SpaceSource,
    declared_space,
    grid,
    sampler_name,
    stated_space,
    sweep,
)


def scene_groups(truths: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Indices of scenes of one place, which share an entry of `Definition.truths`, in order of appearance."""
    groups: dict[str, list[int]] = {}
    for index, truth in enumerate(truths):
        groups.setdefault(truth, []).append(index)
    return tuple(tuple(group) for group in groups.values())


def scene_folds(groups: Sequence[Sequence[int]], folds: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """The scenes held out in each fold; every scene in exactly one, the groups dealt out at random by `seed`."""
    if folds < 2:
        return ()
    if len(groups) < folds:
        raise StereogaugeError(
            f"{folds} folds need at least as many scenes of different places; found {len(groups)}. "
            "Give fewer folds, or 0 for none."
        )
    dealt = np.random.default_rng(seed).permutation(len(groups))
    return tuple(
        tuple(sorted(scene for group in dealt[fold::folds] for scene in groups[group])) for fold in range(folds)
    )


DEFINITION, BASELINE, HELD_OUT, FORMAT = "stereogauge", "stereogauge:baseline", "stereogauge:held-out", 2


class Definition(Struct, frozen=True):
    """What is searched for, where, and how; `judge` picks one parameter set among those that none dominates.

    `scenes` are all scenes; `truths` holds for each the hash of the ground truth of the first scene of its place.
    `folds` are the ids held out in each search, and `held_out` those of this study (empty for the search on all
    scenes). `protocol` is its TOML text. `maxima` are those of each scene's columns, None where they are not known.
    """

    matcher: str
    dataset: str
    scenes: tuple[str, ...]
    truths: tuple[str, ...]
    contents: str
    columns: tuple[str, ...]
    objectives: tuple[Objective, ...]
    judge: Objective | None
    space: Mapping[str, Any]
    sampler: str
    seed: int
    prune: bool
    protocol: str
    ranges: tuple[int, ...]
    time_limit: float | None = None
    folds: tuple[tuple[str, ...], ...] = ()
    held_out: tuple[str, ...] = ()
    maxima: tuple[tuple[float | None, ...], ...] = ()

    def objective_functions(self, baseline: Values, objectives: Sequence[Objective]) -> tuple[ObjectiveFunction, ...]:
        """Objectives as functions of scores, with the scores of the default parameters."""
        known = np.array(self.maxima, np.float64) if self.maxima else None
        return tuple(ObjectiveFunction(one, self.column_list, baseline, known) for one in objectives)

    @property
    def column_list(self) -> tuple[Column, ...]:
        """The columns as metric and region."""
        return tuple(Column(*text.split(":", 1)) for text in self.columns)

    @property
    def matcher_name(self) -> str:
        """The matcher without its parameters; of an outside program only the program."""
        return self.matcher.split()[0] if self.matcher.startswith("cmd:") else without_parameters(self.matcher)

    @property
    def tuned_on(self) -> tuple[int, ...]:
        """Indices of the scenes that the search sees."""
        return tuple(index for index, scene in enumerate(self.scenes) if scene not in self.held_out)

    @property
    def digest(self) -> str:
        """Eight digits of the hash of all of it."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:8]

    @property
    def text(self) -> str:
        """One JSON document."""
        return json.dumps({"format": FORMAT, **asdict(self)}, default=asdict)

    @classmethod
    def of_text(cls, text: str) -> Definition:
        """The definition that `text` made."""
        return msgspec.json.decode(text, type=cls)  # the key "format" is no field and is skipped


def definition_of(study: optuna.Study) -> Definition | None:
    """A study's definition; None for studies of other programs and of other versions of this one."""
    text = study.user_attrs.get(DEFINITION)
    known = text is not None and json.loads(text)["format"] == FORMAT
    return Definition.of_text(str(text)) if known else None


def fold_name(name: str, fold: int) -> str:
    """The name of the study that holds out a fold, counted from 1."""
    return f"{name} fold {fold}"


def open_study(
    storage: optuna.storages.BaseStorage, name: str, definition: Definition, sampler: optuna.samplers.BaseSampler
) -> optuna.Study:
    """The study called `name`, made if it does not exist; one that was made for something else is an error."""
    study = optuna.create_study(
        storage=storage,
        study_name=name,
        sampler=sampler,
        pruner=optuna.pruners.NopPruner(),
        directions=[objective.direction for objective in definition.objectives],
        load_if_exists=True,
    )
    found = study.user_attrs.get(DEFINITION)
    if found is None:
        study.set_user_attr(DEFINITION, definition.text)
        # The names are for optuna-dashboard; nothing here depends on them.
        study.set_metric_names([objective.name for objective in definition.objectives])
    elif found != definition.text:
        there, here = json.loads(found), json.loads(definition.text)
        other = ", ".join(key for key in here if there.get(key) != here[key])
        raise StoreError(
            f"The study {name!r} of this store was made with another {other}; give this one another --name."
        )
    return study


PROTOCOL = "hci"
FOLDS = 3


def tuning_protocol() -> Protocol:
    """The protocol of a tuning unless another is given: HCI's, with gaps filled.

    Planar and magnitude metrics leave missing estimates out, so a search would learn to leave out what is difficult.
    """
    return load_protocol(PROTOCOL).replace(invalid="fill")


class PreparedScene(Struct, frozen=True, eq=False):
    """A scene under a protocol, as all trials use it. `token` identifies its content."""

    token: str
    scene: Scene
    protocol: Protocol
    columns: tuple[Column, ...]
    ndisp: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PreparedScene) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.token, self.columns, self.ndisp


class Prepared(Struct, frozen=True):
    """A tuning that is ready to run."""

    matcher: Any
    space: SearchSpace
    scenes: tuple[PreparedScene, ...]
    definition: Definition
    trials: int

    @property
    def pixels(self) -> int:
        """Pixels of all scenes together."""
        return sum(math.prod(one.scene.shape) for one in self.scenes)

    @property
    def points(self) -> list[Parameters]:
        """The parameters that are known beforehand: the defaults, then those of a grid or sweep."""
        makers = {"grid": grid, "sweep": sweep}
        maker = makers.get(self.definition.sampler)
        return [self.space.defaults, *(maker(self.space, self.trials - 1) if maker and self.trials > 1 else [])]

    @property
    def planned(self) -> int:
        """Trials of each search: as many as requested, unless the grid, sweep or whole space is smaller."""
        if self.definition.sampler in ("grid", "sweep"):
            return len(self.points)
        return int(min(self.trials, self.space.size))


def prepare(
    matcher: str | Matcher | Callable[..., Any],
    scenes: Dataset | Sequence[Scene] | Scene,
    profile: str | Path | Mapping[str, float] | None,
    trials: int,
    *,
    objectives: Iterable[str],
    sampler: str | None,
    folds: int | None,
    space: SpaceSource | None,
    protocol: Protocol | str | None,
    seed: int,
    prune: bool,
    time_limit: float | None,
    ndisp: int | None,
) -> Prepared:
    """Check a request and prepare its scenes: every mistake in it is found before anything is computed."""
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
    return Prepared(bare, searched, scenes_ready, definition, trials)


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


def default_name(definition: Definition) -> str:
    """A name that describes the study and is the same for the same request."""
    matcher = "program" if definition.matcher.startswith("cmd:") else definition.matcher_name
    objectives = (definition.judge,) if definition.judge else definition.objectives
    goal = " and ".join(objective.name for objective in objectives)
    return f"{matcher} for {goal} on {definition.dataset or 'scenes'} {definition.digest}"
