"""What a tuning is before it runs: its scenes, their folds, and the definition of its study.

The definition is everything that trials depend on, stored with the study as plain values.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import optuna
from msgspec import Struct
from msgspec.structs import asdict

from stereogauge.errors import StereogaugeError, StoreError
from stereogauge.matching.run import without_parameters
from stereogauge.model import Scene
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.scores.column import Column
from stereogauge.scores.cube import Values
from stereogauge.tuning.objectives import Objective, ObjectiveFunction
from stereogauge.tuning.space import Parameters, SearchSpace, grid, sweep


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
        columns = [Column(*text.split(":", 1)) for text in self.columns]
        return tuple(ObjectiveFunction(one, columns, baseline, known) for one in objectives)

    @property
    def matcher_name(self) -> str:
        """The matcher without its parameters; of an outside program only the program."""
        return self.matcher.split()[0] if self.matcher.startswith("cmd:") else without_parameters(self.matcher)

    @property
    def tuned_on(self) -> tuple[int, ...]:
        """Indices of the scenes that the search sees."""
        return tuple(index for index, scene in enumerate(self.scenes) if scene not in self.held_out)

    @property
    def text(self) -> str:
        """One JSON document."""
        return json.dumps({"format": FORMAT, **asdict(self)}, default=asdict)


def definition_of(study: optuna.Study) -> Definition | None:
    """A study's definition; None for studies of other programs and of other versions of this one."""
    text = study.user_attrs.get(DEFINITION)
    known = text is not None and json.loads(text)["format"] == FORMAT
    # The key "format" is no field and is skipped.
    return msgspec.json.decode(str(text), type=Definition) if known else None


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
    """A scene under a protocol, as all trials use it. `token` identifies both, so that processes prepare them once."""

    token: str
    scene: Scene
    protocol: Protocol
    columns: tuple[Column, ...]
    ndisp: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PreparedScene) and self.token == other.token

    def __hash__(self) -> int:
        return hash(self.token)


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


def default_name(definition: Definition) -> str:
    """A name that describes the study and is the same for the same request."""
    matcher = "program" if definition.matcher.startswith("cmd:") else definition.matcher_name
    objectives = (definition.judge,) if definition.judge else definition.objectives
    goal = " and ".join(objective.name for objective in objectives)
    digest = hashlib.sha256(definition.text.encode()).hexdigest()[:8]
    return f"{matcher} for {goal} on {definition.dataset or 'scenes'} {digest}"
