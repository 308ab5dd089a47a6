"""The definition of a study: everything that its trials depend on, stored with it as plain values."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning

from stereogauge.errors import StoreError
from stereogauge.matching.run import without_parameters
from stereogauge.scores.column import Column
from stereogauge.tuning.objectives import Objective

DEFINITION, BASELINE, HELD_OUT, FORMAT = "stereogauge", "stereogauge:baseline", "stereogauge:held-out", 2


@dataclass(frozen=True)
class Definition:
    """What is searched for, where, and how; `judge` picks one parameter set among those that none dominates.

    `scenes` are all scenes with the hash of their ground truth in `truths`; `folds` the ids held out in each search,
    and `held_out` those of this study (empty for the search on all scenes). `protocol` is its TOML text.
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
        """Eight digits that stand for all of it."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:8]

    @property
    def text(self) -> str:
        """One JSON document."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def of_text(cls, text: str) -> Definition:
        """The definition that `text` made."""
        plain = json.loads(text)
        plain.pop("format")
        plain["objectives"] = tuple(Objective(**objective) for objective in plain["objectives"])
        plain["judge"] = None if plain["judge"] is None else Objective(**plain["judge"])
        for name in ("scenes", "truths", "columns", "ranges", "held_out"):
            plain[name] = tuple(plain[name])
        plain["folds"] = tuple(tuple(fold) for fold in plain["folds"])
        return cls(**plain)


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
        with warnings.catch_warnings():
            # The names are for optuna-dashboard; nothing here depends on them.
            warnings.simplefilter("ignore", ExperimentalWarning)
            study.set_metric_names([objective.name for objective in definition.objectives])
    elif found != definition.text:
        there, here = json.loads(found), json.loads(definition.text)
        other = ", ".join(key for key in here if there.get(key) != here[key])
        raise StoreError(
            f"The study {name!r} of this store was made with another {other}; give this one another --name."
        )
    return study
